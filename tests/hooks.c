/* hooks.c - what every test program has: the variables of src/base/hooks.h, for the files that are
 * compiled again for the tests, and how PoCL compiles kernels. */
#include "base/hooks.h"
#include <stdlib.h>

atomic_int kry_test_fail_at = -1;
bool kry_test_keep_buffers;
bool kry_test_poison;
int kry_test_abort_at = -1;
int kry_test_stale_messages;

bool kry_test_fails(void)
{
    return atomic_load(&kry_test_fail_at) >= 0 && atomic_fetch_sub(&kry_test_fail_at, 1) == 0;
}

bool kry_test_aborts(void) { return kry_test_abort_at >= 0 && kry_test_abort_at-- == 0; }

/* PoCL takes half of the time to compile kernels if it does not optimise them, and tests ask for results,
 * not for speed. With KRY_FULL, and where tests/meson.build says so, it does. */
__attribute__((constructor)) static void choose_build_flags(void)
{
    if (!getenv("KRY_FULL")) setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 0);
}
int kry_test_parts;
