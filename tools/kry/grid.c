/*
 * grid.c - problems on a grid, without a matrix.
 */
#include "grid.h"

kry_status grid_operator(const kry_stencil_params *grid, kry_stencil_path path, kry_device *device,
                         kry_type type, kry_op **A)
{
    kry_stencil_params params = *grid;
    params.path = path;
    return kry_stencil_create(device, type, &params, A);
}

void grid_apply(const kry_stencil_params *grid, kry_type type, const double *x, double *y)
{
    if (kry_stencil_apply_host(grid, type, x, y) < 0) return; /* parameters of a kry_problem */
}
