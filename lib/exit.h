/*
 * exit.h - how a function fails in what stands on the public headers of kry, its libraries, the program and papers: it leaves
 * through its single exit. `st` and the label `done` must exist.
 */
#ifndef KRY_EXIT_H
#define KRY_EXIT_H

#include <kry/status.h>

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

#define NOT_NULL(pointer) CHECK(pointer, KRY_ERR_ARGUMENT, "%s: %s is NULL", __func__, #pointer)

/* What an analyzer of one file at a time cannot see: a failure hands its status back. */
#if defined(__clang_analyzer__) || defined(__cppcheck__)
#define kry_fail(status, ...) ((void)kry_fail((status), __VA_ARGS__), (status))
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
