/*
 * stencil.h - what the files of grid operators share.
 */
#ifndef KRY_STENCIL_INTERNAL_H
#define KRY_STENCIL_INTERNAL_H

#include "../core/internal.h"
#include <kry/stencil.h>

/*
 * Row i of A is  sum over axes  f_low (x_i - x_low) + f_high (x_i - x_high).
 *
 * Constant coefficient: f = weight[axis]. Else face[axis][i] is f between cell i and its upper
 * neighbour (the wrapped one on a periodic axis; weight * k_i at any other high side), and at a
 * low side f = weight * coefficient[i].
 * A neighbour outside the grid is the ghost  g x_i  with g = kry_ghost(side), wrapped if periodic.
 */
typedef struct kry_stencil {
    kry_device *dev; /* borrowed: the operator holds it */
    kry_type type;
    kry_stencil_path path;
    int axes;           /* 2 or 3 */
    int64_t size[3], n; /* size[2] is 1 with two axes; n is their product */
    double weight[3];   /* diffusion / h^2 */
    double spacing[3];
    kry_side low[3], high[3];
    cl_mem coefficient; /* n numbers of `type`; NULL: constant */
    cl_mem face[3];     /* n numbers of `type` each */
    char defines[160];  /* for cl/stencil.cl */
    struct kry_stencil_resident *resident; /* resident.c; owned, NULL: not made */
} kry_stencil;

/* x outside a side that is not periodic, in units of the x beside it. */
static inline int kry_ghost(kry_side side)
{
    return side == KRY_NEUMANN ? 1 : side == KRY_DIRICHLET_FACE ? -1 : 0;
}

/* resident.c: run_cg of the operator's table, self is the stencil; and what it keeps. New
 * coefficients in the same buffers need nothing; buffers that change, a release before. */
kry_status kry_stencil_run_cg(void *self, kry_cg_run *run);
void kry_stencil_resident_release(kry_stencil *A);

/* The stencil behind an operator, or NULL. */
kry_stencil *kry_stencil_of(const kry_op *op);

#endif
