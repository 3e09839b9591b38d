/*
 * grid.c - problems on a grid, without a matrix.
 */
#include "grid.h"
#include "stencil/stencil.h"

kry_status grid_operator(const kry_stencil_params *grid, kry_stencil_path path, kry_device *device,
                         kry_type type, kry_op **A)
{
    kry_stencil_params params = *grid;
    params.path = path;
    return kry_stencil_create(device, type, &params, A);
}

/* x at the neighbour of point i that is `step` further, or what a side puts in its place. */
static double neighbour(const double *x, int64_t i, int64_t step, bool inside, kry_side side,
                        int64_t wrapped)
{
    if (inside) return x[i + step];
    return side == KRY_PERIODIC ? x[wrapped] : kry_ghost(side) * x[i];
}

kry_status grid_apply(const kry_stencil_params *grid, kry_type type, const double *x, double *y)
{
    kry_status st = KRY_OK;
    int axes = grid->size[2] ? 3 : 2;
    int64_t stride[3], at[3] = { 0, 0, 0 }, n = 1;
    double weight[3];
    CHECK(!grid->coefficient, KRY_ERR_UNSUPPORTED, "the coefficient of this problem varies");
    for (int a = 0; a < axes; a++) {
        stride[a] = n;
        n *= grid->size[a];
        weight[a] = grid->diffusion[a] / (grid->spacing[a] * grid->spacing[a]);
        if (type == KRY_F32) weight[a] = (float)weight[a];
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int a = 0; a < axes; a++) {
            int64_t last = grid->size[a] - 1, row = i - at[a] * stride[a];
            double below =
                neighbour(x, i, -stride[a], at[a] > 0, grid->low[a], row + last * stride[a]);
            double above = neighbour(x, i, stride[a], at[a] < last, grid->high[a], row);
            sum += weight[a] * ((x[i] - below) + (x[i] - above));
        }
        y[i] = sum;
        for (int a = 0; a < axes && ++at[a] == grid->size[a]; a++) at[a] = 0;
    }
done:
    return st;
}
