/* hooks.c - the variables of src/base/hooks.h, for the files that are compiled again for the tests. */
#include "base/hooks.h"

atomic_int kry_test_fail_at = -1;
bool kry_test_keep_buffers;
int kry_test_abort_at = -1;
int kry_test_stale_messages;

bool kry_test_fails(void)
{
    return atomic_load(&kry_test_fail_at) >= 0 && atomic_fetch_sub(&kry_test_fail_at, 1) == 0;
}

bool kry_test_aborts(void) { return kry_test_abort_at >= 0 && kry_test_abort_at-- == 0; }
