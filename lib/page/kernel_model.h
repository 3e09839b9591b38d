/*
 * kernel_model.h - the bytes and flops of a kernel of a solve, by a model.
 */
#ifndef KRY_KERNEL_MODEL_H
#define KRY_KERNEL_MODEL_H

#include "page/page.h"

/* What the model needs to know of a solve. */
typedef struct system_model {
    const char *problem; /* its name, for whoever prints it; borrowed */
    int64_t n, nnz;
    double number;       /* bytes */
    double matrix_bytes; /* of a stored A; 0: there is none, or several kernels read it */
    double faces;        /* words to an unknown */
    bool stored;
    bool flux;   /* three flops to an entry in place of two */
    bool varies; /* A's diagonal */
    bool jacobi, chebyshev;
    bool makes_old;       /* the old direction is made of other vectors that are at hand */
    bool pairs_steps;     /* with a stored A, too, x is updated in every second step */
    bool several_sizes;   /* kernels that others share multiply with other matrices, too */
    bool several_columns; /* right-hand sides: some launches take one, others all */
} system_model;

/* *m := what bytes of kernels are reckoned by, in a solve with A, by a preconditioner of this kind ("none", "jacobi", "chebyshev:4", ...), with a second level or
 * without. */
kry_status kryi_kernel_model_of(const kry_op *A, const char *precond, bool deflated,
                                system_model *m);
/* Bytes and operations of one call of `kernel`; NaN: not known. */
void kryi_kernel_cost(const system_model *m, const char *kernel, double *bytes, double *flops);

#endif
