/* hooks.c - what every test program has: the variables of src/base/hooks.h, for the files that are
 * compiled again for the tests, and how PoCL compiles kernels and on which device they run. */
#include "base/hooks.h"
#include <stdio.h>
#include <stdlib.h>

atomic_int kryi_test_fail_at = -1;
bool kryi_test_keep_buffers;
bool kryi_test_poison;
int kryi_test_abort_at = -1;
int kryi_test_stale_messages;

bool kryi_test_fails(void)
{
    return atomic_load(&kryi_test_fail_at) >= 0 && atomic_fetch_sub(&kryi_test_fail_at, 1) == 0;
}

/* calloc of the queue, which knows nothing of kryi_alloc. */
void *kryi_test_calloc(size_t count, size_t size);
void *kryi_test_calloc(size_t count, size_t size)
{
    return kryi_test_fails() ? NULL : calloc(count, size);
}

bool kryi_test_aborts(void) { return kryi_test_abort_at >= 0 && kryi_test_abort_at-- == 0; }

/* PoCL takes half of the time to compile kernels if it does not optimise them, and half of that again with a
 * short header (pocl_builtins.py); tests ask for results, not for speed. With KRY_FULL it optimises and takes its
 * own header; where tests/meson.build says so, it optimises. */
__attribute__((constructor)) static void choose_build_flags(void)
{
    const char *given = getenv("POCL_EXTRA_BUILD_FLAGS"), *header = getenv("KRY_TEST_BUILTINS");
    char flags[1000];

    if (getenv("KRY_FULL")) return;
    snprintf(flags, sizeof flags, "%s%s%s", given ? given : "-cl-opt-disable",
             header ? " -DKRY_TESTING\t-include\t" : "", header ? header : "");
    setenv("POCL_EXTRA_BUILD_FLAGS", flags, 1);
    unsetenv("KRY_TEST_BUILTINS"); /* programs that this one starts have the flags already */
}

/* Kernels are tried through OpenCL, unless the environment says otherwise. */
__attribute__((constructor)) static void choose_device(void) { setenv("KRY_DEVICE", "opencl", 0); }

int kryi_test_large = 64;
int kryi_test_parts;
bool kryi_test_keep_pocl;
