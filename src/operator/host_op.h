/*
 * host_op.h - operators in double whose numbers stay on the host: what mixed precision refines with
 * where the device has no double, and otherwise a slow way to the same product.
 */
#ifndef KRY_HOST_OP_H
#define KRY_HOST_OP_H

#include "operator/op.h"

typedef struct kry_host_op kry_host_op;
typedef struct kry_host_op_table {
    const char *kind;
    void (*product)(const kry_host_op *A, const double *x, double *y); /* y := A x */
    void (*diagonal)(const kry_host_op *A, double *d);
    kry_status (*twin)(kry_host_op *A, kry_type type, double factor, const double *scale,
                       kry_op **twin);
    kry_status (*update)(kry_host_op *A, const void *values);
    void (*destroy)(kry_host_op *A);      /* and free it */
    bool (*scales)(const kry_host_op *A); /* twins may be scaled by a diagonal */
} kry_host_op_table;

/* The first member of what such an operator is. */
struct kry_host_op {
    const kry_host_op_table *table;
    kry_device *dev; /* borrowed */
    int64_t n;
};

/* The operator around it; takes *A over. */
kry_status kry_host_op_create(kry_device *dev, kry_host_op **A, unsigned traits, kry_op **op);
/* What is behind an operator, or NULL. */
kry_host_op *kry_host_op_of(const kry_op *op);

#endif
