/*
 * paper.h - what the kernels of papers share: they are written against the public headers alone.
 */
#ifndef KRY_PAPER_H
#define KRY_PAPER_H

#include <kry/opencl.h>

/* Leave a function through its single exit: `st` and the label `done` must exist. */
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What an OpenCL call returned, as a status; `call` names it. */
static inline kry_status paper_check(cl_int err, const char *call)
{
    if (err == CL_SUCCESS) return KRY_OK;
    return kry_fail(err == CL_MEM_OBJECT_ALLOCATION_FAILURE ? KRY_ERR_MEMORY : KRY_ERR_DEVICE,
                    "%s: OpenCL error %d", call, err);
}

#endif
