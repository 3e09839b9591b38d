/*
 * galerkin.h - what A makes of a subspace: A Z, as compact as it is sparse, and E = Z'A Z.
 */
#ifndef KRY_GALERKIN_H
#define KRY_GALERKIN_H

#include "precond/coarse.h"
#include "precond/subspace.h"

/*
 * Which unknowns the rows of an operator couple, on the host: of grids from their sides, of stored
 * matrices read back, of pinned ones those of the matrix (operator/pin.h), of others unknown. On a
 * part of a team unknowns of other parts that its rows meet are numbered behind its own.
 */
typedef struct kry_couplings {
    const struct kry_stencil *grid; /* borrowed; NULL: `rows` */
    kry_sparse rows;                /* the pattern, in any order; row_ptr NULL: not known */
} kry_couplings;

kry_status kry_couplings_of(const kry_op *A, kry_couplings *couplings);
void kry_couplings_release(kry_couplings *couplings);
static inline bool kry_couplings_known(const kry_couplings *c)
{
    return c->grid || c->rows.row_ptr;
}
/* How many unknowns of other parts the rows of A meet, and where they stand in the whole
 * (team/split.h): to be freed. */
kry_status kry_couplings_beyond(const kry_op *A, int64_t *count, int64_t **place);
/* The columns of row i, its own among them; `room`: 7 numbers, for what is not stored. Returns
 * their count. */
int64_t kry_couplings_at(const kry_couplings *couplings, int64_t i, int32_t room[7],
                         const int32_t **cols);

/* Which sub-domains may share one product with A: no row meets two of a colour. */
typedef struct kry_colours {
    int32_t *of_label; /* k */
    int32_t count;
} kry_colours;

typedef struct kry_galerkin {
    kry_sparse E;    /* k-by-k in double, both triangles */
    bool singular;   /* E times ones is zero */
    kry_sparse AZ_t; /* by labels: (AZ)', k-by-n in double */
    kry_vec *AZ;     /* of vectors: n-by-k, dense */
} kry_galerkin;

/* Colours for the labels of Z by the pattern of A. */
kry_status kry_colours_find(const kry_op *A, const kry_subspace *Z, kry_colours *colours);
void kry_colours_release(kry_colours *colours);

/* A := the sum of what each part of a team has of it, in the order of parts; alone, A stays as it
 * is. Collective. */
kry_status kry_sum_parts(kry_layout *layout, const char *who, kry_sparse *A);

/* Returns  KRY_ERR_MEMORY, KRY_ERR_DEVICE. Waits. */
kry_status kry_galerkin_create(const kry_op *A, kry_subspace *Z, const kry_colours *colours,
                               kry_galerkin *G);
void kry_galerkin_release(kry_galerkin *G);

#endif
