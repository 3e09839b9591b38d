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

#include "core/internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                            \
    do {                                                                    \
        kry_status status_ = (call);                                        \
        if (status_ != KRY_OK) fail_msg("%s: %s", #call, kry_last_error()); \
    } while (0)

#endif
