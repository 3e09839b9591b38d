/* operators.h - a matrix on a device and a preconditioner of it, for commands that look at them. */
#ifndef KRY_TOOL_OPERATORS_H
#define KRY_TOOL_OPERATORS_H

#include "source.h"
#include <kry/kry.h>

typedef struct operators {
    uint64_t seed;
    source src;
    kry_device *device;
    kry_op *A, *M; /* M NULL: the word is "none" */
} operators;

/* ops: all zero. Release it whatever this returns. */
kry_status operators_open(const options *o, const char *precond, operators *ops);
void operators_release(operators *ops);

#endif
