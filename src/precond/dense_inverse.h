/*
 * dense_inverse.h - a symmetric matrix G on the device, k-by-k and dense, to multiply by: the
 * inverse of a coarse matrix.
 */
#ifndef KRY_DENSE_INVERSE_H
#define KRY_DENSE_INVERSE_H

#include "operator/op.h"

/* How it is kept and multiplied by. */
typedef enum kry_coarse_product {
    KRY_COARSE_OWN,   /* the faster of the two */
    KRY_COARSE_FULL,  /* one launch reads k^2 numbers */
    KRY_COARSE_PACKED /* GPUs: two launches read half of them */
} kry_coarse_product;

typedef struct kry_dense_inverse {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t k;
    kry_coarse_product product; /* FULL or PACKED */
    kry_vec *G;                 /* stride-by-k, or its tiles; NULL: not formed */
    kry_vec *part;              /* packed, TILE-by-blocks-by-blocks: each tile's share of c */
    kry_kernel *tiles, *add;    /* packed; the device's */
} kry_dense_inverse;

/* Columns j ... j + m - 1 of G, k numbers each. */
typedef kry_status kry_column_solver(void *user, int64_t j, int64_t m, double *columns);

/* Choose the product for a G that is formed later.
 * Returns  KRY_ERR_UNSUPPORTED for KRY_COARSE_PACKED where its kernels do not run */
kry_status kry_dense_inverse_choose(kry_dense_inverse *D, kry_coarse_product product);
/* What G takes on the device, and the least bytes that a product moves. */
double kry_dense_inverse_bytes(const kry_dense_inverse *D);
double kry_dense_inverse_moved(const kry_dense_inverse *D);
/* Form G, rounded to the type, and compile and allocate what a product needs. Waits. */
kry_status kry_dense_inverse_form(kry_dense_inverse *D, kry_column_solver *solve, void *user);
/* c := G w, vectors that start anywhere and do not overlap. Does not wait. */
kry_status kry_dense_inverse_apply(const kry_dense_inverse *D, const kry_vec *w, kry_vec *c);
void kry_dense_inverse_release(kry_dense_inverse *D);

#endif
