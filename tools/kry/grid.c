/*
 * grid.c - problems on a grid, without a matrix.
 */
#include "grid.h"
#include "grid/host_grid.h"

void grid_apply(const kry_stencil_params *grid, kry_type type, const double *x, double *y)
{
    const kry_host_grid g = kry_host_grid_of(grid, type);
    kry_host_product(&g, x, y);
}
