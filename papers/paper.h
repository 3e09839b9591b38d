/*
 * paper.h - what the kernels of papers share: they are written against the public headers alone.
 */
#ifndef KRY_PAPER_H
#define KRY_PAPER_H

#include "exit.h"
#include <kry/opencl.h>

/* What an OpenCL call returned, as a status; `call` names it. */
static inline kry_status paper_check(cl_int err, const char *call)
{
    if (err == CL_SUCCESS) return KRY_OK;
    return kry_fail(err == CL_MEM_OBJECT_ALLOCATION_FAILURE ? KRY_ERR_MEMORY : KRY_ERR_DEVICE,
                    "%s: OpenCL error %d", call, err);
}

#endif
