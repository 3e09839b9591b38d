/*
 * dist.h - a sparse matrix of which each part has some rows, on the host.
 *
 * The columns of all parts are numbered as the places of a vector that lies on them: each part has those that follow the
 * ones of the part before it. A part keeps entries in its own columns apart from those in far ones, as hypre's ParCSR does.
 */
#ifndef KRY_DIST_H
#define KRY_DIST_H

#include "operator/halo.h"
#include "sparse/csr.h"

/* A part's rows. */
typedef struct kryi_dist {
    kryi_csr own;   /* in the part's own columns, */
    kryi_csr far;   /* and in those of other parts that they have entries in */
    int64_t first;  /* place of the first own column */
    int64_t *place; /* far.cols, ascending: places of the far ones; owned. NULL: nobody asks */
    kryi_halo
        *halo; /* brings the numbers of a vector that are there; owned. NULL: there is none yet */
} kryi_dist;

void kryi_dist_release(kryi_dist *M);
/* M->halo := for vectors of which part r has places first[r] ... first[r + 1] - 1. Collective. Waits. */
kry_status kryi_dist_connect(kry_device *dev, kry_type type, const int64_t *first, kryi_dist *M);
/* In double: theirs := for each far column of A the row of B that another part has. Collective. Waits. */
kry_status kryi_dist_fetch(const kryi_dist *A, const kryi_dist *B, kryi_dist *theirs);
/* In double: C := A B, without a halo. theirs: what kryi_dist_fetch brings for A and B. */
kry_status kryi_dist_multiply(const kryi_dist *A, const kryi_dist *B, const kryi_dist *theirs,
                              kryi_dist *C);

/* Let places ascend, each once. Returns how many are left. */
int64_t kryi_places_sort(int64_t *place, int64_t count);
/* Where `wanted`, which is one of them, is among ascending places. */
int64_t kryi_places_find(const int64_t *place, int64_t count, int64_t wanted);

#endif
