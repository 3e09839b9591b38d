/*
 * common.h - what every file of the program uses: how a function fails, memory, the clock.
 *
 * The program knows the library by its public headers alone.
 */
#ifndef KRY_PROGRAM_COMMON_H
#define KRY_PROGRAM_COMMON_H

#include <kry/opencl.h>
#include <stdbool.h>

/* ---- leaving a function through its single exit: `st` and the label `done` must exist ---- */

#define TRY(call)              \
    do {                       \
        st = (call);           \
        if (st < 0) goto done; \
    } while (0)

#define CHECK(cond, status, ...)                  \
    do {                                          \
        if (!(cond)) {                            \
            st = kry_fail((status), __VA_ARGS__); \
            goto done;                            \
        }                                         \
    } while (0)

/* What an analyzer of one file at a time cannot see: a failure hands its status back. */
#if defined(__clang_analyzer__) || defined(__cppcheck__)
#define kry_fail(status, ...) ((void)kry_fail((status), __VA_ARGS__), (status))
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

kry_status allocate(size_t count, size_t size, void *address_of_pointer); /* zeroed */
/* As many items as `count` in place of those there are; new ones are not zeroed. */
kry_status reallocate(size_t count, size_t size, void *address_of_pointer);
double now(void); /* seconds, from a clock that only goes forward */

#endif
