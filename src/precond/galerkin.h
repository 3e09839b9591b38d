/*
 * galerkin.h - what A makes of a subspace: A Z, as compact as it is sparse, and E = Z'A Z.
 */
#ifndef KRY_GALERKIN_H
#define KRY_GALERKIN_H

#include "precond/coarse.h"
#include "precond/subspace.h"

/* Which sub-domains may be told apart in one product with A: no row meets two of a colour. */
typedef struct kry_colours {
    int32_t *of_label; /* k */
    int32_t count;
} kry_colours;

typedef struct kry_galerkin {
    kry_coarse_matrix E; /* owned, both triangles */
    /* (AZ)', by labels: the rows that A Z_s touches; not of vectors. Owned */
    int64_t nnz, *ptr; /* k + 1 */
    int32_t *row;      /* nnz, ascending in a label */
    void *val;         /* nnz numbers of the subspace's type */
    kry_vec *AZ;       /* of vectors: n-by-k, dense */
} kry_galerkin;

/* Colours for the labels of Z by the pattern of A. */
kry_status kry_colours_find(const kry_op *A, const kry_subspace *Z, kry_colours *colours);
void kry_colours_release(kry_colours *colours);

/* Returns  KRY_ERR_MEMORY, KRY_ERR_DEVICE. Waits. */
kry_status kry_galerkin_create(const kry_op *A, kry_subspace *Z, const kry_colours *colours,
                               kry_galerkin *G);
void kry_galerkin_release(kry_galerkin *G);

#endif
