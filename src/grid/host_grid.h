/*
 * host_grid.h - the operator that grid parameters describe, on the host: no device is needed.
 */
#ifndef KRY_STENCIL_HOST_H
#define KRY_STENCIL_HOST_H

#include "operator/op.h"
#include <kry/stencil.h>

typedef struct kry_host_grid {
    const kry_stencil_params *params; /* borrowed */
    kry_type type;                    /* of a device: numbers are rounded as there */
    int axes;                         /* 2 or 3 */
    int64_t size[3], stride[3], n;    /* size[2] is 1 with two axes */
    double weight[3];                 /* diffusion / h^2 */
} kry_host_grid;

kry_host_grid kry_host_grid_of(const kry_stencil_params *params, kry_type type);

/* A face of a cell. Row i of A is the sum over its faces of  weight (x_i - x_out), where x_out is
 * x_cell, or ghost x_i if there is none. */
typedef struct kry_host_face {
    double weight;
    double ghost; /* as kry_ghost in stencil.h has it */
    int64_t cell; /* the neighbour; -1: none */
} kry_host_face;

/* That of cell i, which is number `at` along the axis, towards its lower or upper neighbour; in
 * double to the bit what kry_stencil_matrix makes of it. */
kry_host_face kry_host_face_of(const kry_host_grid *g, int64_t i, int64_t at, int axis, bool high);

/* y := A x, n numbers each, A as a device has it in the grid's type, summed in double. */
void kry_host_product(const kry_host_grid *g, const double *x, double *y);

#endif
