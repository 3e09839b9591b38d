/* unit.h - cmocka with the headers it needs before it, and the check that every test uses. */
#ifndef KRY_UNIT_H
#define KRY_UNIT_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "base/hooks.h"
#include "operator/op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Leave a test that has nothing to test here. cmocka's skip() says "not ok", which Meson takes
 * for a failure. */
#define SKIP(why)                          \
    do {                                   \
        print_message("# SKIP %s\n", why); \
        return;                            \
    } while (0)

#define OK(call)                                                                                  \
    do {                                                                                          \
        kry_status ok_ = (call);                                                                  \
        if (ok_ != KRY_OK) fail_msg("%s: %s: %s", #call, kry_status_text(ok_), kry_last_error()); \
    } while (0)

#endif
