/*
 * kernel_model.h - the bytes and flops of a kernel of a solve, by a model.
 */
#ifndef KRY_KERNEL_MODEL_H
#define KRY_KERNEL_MODEL_H

#include "bench.h"

/* What the model needs to know of a solve. */
typedef struct system_model {
    const char *problem; /* its name; borrowed */
    int64_t n, nnz;
    double number;       /* bytes */
    double matrix_bytes; /* of a stored A; 0: there is none, or several kernels read it */
    double faces;        /* words to an unknown */
    bool stored;
    bool flux;   /* three flops to an entry in place of two */
    bool varies; /* A's diagonal */
    bool jacobi, chebyshev;
    bool makes_old;     /* the old direction is made of other vectors that are at hand */
    bool several_sizes; /* kernels that others share multiply with other matrices, too */
} system_model;

/* The model of a solve with A by the preconditioner of this name. b: its device, type, form and options. */
kry_status kernel_model_of(const bench *b, const char *precond, const kry_op *A, system_model *m);
/* Of one call; NaN: not known. */
void kernel_cost(const system_model *m, const char *kernel, double *bytes, double *flops);

#endif
