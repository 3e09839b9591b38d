/*
 * grid.c - problems on a grid, without a matrix.
 */
#include "grid.h"

void grid_apply(const kry_stencil_params *grid, kry_type type, const double *x, double *y)
{
    if (kry_stencil_apply_host(grid, type, x, y) < 0) return; /* parameters of a kry_problem */
}
