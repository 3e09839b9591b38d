/*
 * grid.h - problems on a grid, without a matrix.
 */
#ifndef KRY_GRID_H
#define KRY_GRID_H

#include "common.h"

/* y = A x on the host, A as a device has it in `type`, summed in double; n numbers each. */
void grid_apply(const kry_stencil_params *grid, kry_type type, const double *x, double *y);

#endif
