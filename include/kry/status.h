/*
 * status.h - the status that every call returns, and the message behind it.
 */
#ifndef KRY_STATUS_H
#define KRY_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* What KRY_PCG(.stop = { .rtol = 1e-8 }) and the like are made of: the address of a struct that lives as
 * long as the call it stands in (in C: as the block). C++ wants the fields in the order of the struct. */
#ifdef __cplusplus
template <class T> const T *kry_address(const T &params) { return &params; }
#ifdef __GNUC__
/* Without a word about the fields that KRY_PARAMS does not name, which -Wextra speaks of in C++. */
#pragma GCC system_header
#endif
#define KRY_PARAMS(type, ...) kry_address(type{ .struct_size = sizeof(type), __VA_ARGS__ })
extern "C" {
#else
#define KRY_PARAMS(type, ...) (&(type){ .struct_size = sizeof(type), __VA_ARGS__ })
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#define KRY_API          __attribute__((visibility("default")))
#define KRY_MUST_CHECK   __attribute__((warn_unused_result))
#define KRY_PRINTF(f, a) __attribute__((format(printf, f, a)))
#elif !defined(KRY_API)
#define KRY_API
#define KRY_MUST_CHECK
#define KRY_PRINTF(f, a)
#endif

/* One list, expanded into the enum, into the text table and into docs/troubleshooting.md.
 *   > 0  a solve ran but did not converge: read its result before using x. Only kry_solve returns
 *        these, and what waits for a solve; after any other call test `< 0`
 *   < 0  the call failed and changed nothing: outputs are NULL or zero */
#define KRY_STATUS_LIST(X)                                                         \
    X(KRY_OK, 0, "success")                                                        \
    X(KRY_NOT_CONVERGED, 1, "stopped at the iteration limit")                      \
    X(KRY_STOPPED, 2, "stopped by the monitor")                                    \
    X(KRY_BREAKDOWN, 3, "the recurrence broke down")                               \
    X(KRY_STAGNATED, 4, "the true residual stopped falling above the target")      \
    X(KRY_ERR_ARGUMENT, -1, "an argument is NULL or out of range")                 \
    X(KRY_ERR_SHAPE, -2, "sizes do not agree")                                     \
    X(KRY_ERR_TYPE, -3, "number types or operator kinds do not agree")             \
    X(KRY_ERR_DEVICE, -4, "an OpenCL call failed")                                 \
    X(KRY_ERR_BUILD, -5, "a kernel did not compile or was not found")              \
    X(KRY_ERR_MEMORY, -6, "out of host or device memory")                          \
    X(KRY_ERR_FILE, -7, "a file could not be read or written")                     \
    X(KRY_ERR_PARSE, -8, "a file or an option string is not in the stated format") \
    X(KRY_ERR_UNSUPPORTED, -9, "this operator or device cannot do that")           \
    X(KRY_ERR_CALLBACK, -10, "a caller's function failed")                         \
    X(KRY_ERR_SINGULAR, -11, "a matrix to be factorised or inverted is singular")  \
    X(KRY_ERR_CANCELLED, -12, "cancelled before it began")

typedef enum kry_status {
#define KRY_STATUS_ENUM(name, value, text) name = value,
    KRY_STATUS_LIST(KRY_STATUS_ENUM)
#undef KRY_STATUS_ENUM
        KRY_STATUS_FORCE_INT = 0x7fffffff
} kry_status;

/* Fixed English text for a status; never NULL. */
KRY_API const char *kry_status_text(kry_status status);

/* The message of the last call on this thread that returned something else than KRY_OK: the public
 * function, the offending values and their place, and the OpenCL error by name or the compiler's log; of
 * a solve that did not converge the `why` of its result. Valid until the next such call on this thread;
 * "" if there was none. Works before any device exists. It is UTF-8 without control characters, except for the
 * ends of lines and tabs of a compiler's log: other bytes, as of a file's name, became question marks. */
KRY_API const char *kry_last_error(void);

/* From which number messages count rows and columns, in the whole process: 0, as arrays in C do (default), or
 * 1, for programs whose users count so, as in Matrix Market files, which are always counted from 1. */
KRY_API void kry_messages_count_from(int first);

/* Record a message for kry_last_error and hand `status` back: for callers' own operators,
 *     return kry_fail(KRY_ERR_CALLBACK, "laplace: OpenCL error %d", err);              */
KRY_API kry_status kry_fail(kry_status status, const char *format, ...) KRY_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
