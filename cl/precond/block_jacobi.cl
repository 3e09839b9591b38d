// block_jacobi.cl - small dense blocks along the diagonal, each times its piece of a vector.
// Host: src/precond/block_jacobi.c. Launch: kryi_groups_for_sums(n), or kryi_groups_for(n) without
// sums, groups of WG, for each of several columns, which are x_pitch and y_pitch apart.
//
// Entry j of row i, counted from the first column of the row's block, lies at i by_row + j by_col:
// GPUs store the blocks column by column over all rows, so that work-items side by side read side by
// side; CPUs row by row. A work-item owns a row; the `rows` of a block share a line of x.

#include "common/kry.clh"

// y := alpha M x + beta y; with beta == 0, y is not read. With `sums`, part[group] := the pair
// (x.y, x.x), of one column.
kernel void block_jacobi(long n, int rows, long by_row, long by_col,
                         global const REAL *restrict inverse, ACC alpha,
                         global const REAL *restrict x, long x0, long x_pitch, ACC beta,
                         global REAL *restrict y, long y0, long y_pitch, int sums,
                         global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    const REAL by = (REAL)alpha, old = (REAL)beta;
    TOTAL xy = NO_TOTAL, xx = NO_TOTAL;
    x += x0 + COLUMN_HERE * x_pitch, y += y0 + COLUMN_HERE * y_pitch;
    FOR_EACH(i, n)
    {
        const int first = (int)i / rows * rows, count = min(rows, (int)n - first);
        global const REAL *entry = inverse + i * by_row;
        global const REAL *piece = x + first;
        REAL sum = 0, x_i = x[i];
        for (int j = 0; j < count; j++) sum += entry[j * by_col] * piece[j];
        REAL y_i = old == 0 ? by * sum : by * sum + old * y[i];
        y[i] = y_i;
        if (sums) {
            ADD_PRODUCT(xy, x_i, y_i);
            ADD_PRODUCT(xx, x_i, x_i);
        }
    }
    TOTAL2 total = group_sum2(BOTH(xy, xx), lane);
    if (get_local_id(0) == 0 && sums) ((global TOTAL2 *)part)[get_group_id(0)] = total;
}
