// window.cl - boxes of points of a grid that lie within larger ones, and points beside them. Host:
// src/multigrid/part_window.c, part_shell.c. A grid of nx points in a row and `plane` in a layer begins at `first`.

#include "common/kry.clh"

// y := alpha x + beta y at `n` points, sx in a row and sy rows in a layer, of two grids; with beta == 0, y is not
// read. Words: 2, with beta 3.
kernel void window_copy(int n, int sx, int sy, int from, int from_nx, int from_plane, int to, int to_nx,
                        int to_plane, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                        global REAL *restrict y, long y0)
{
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0 + from, y += y0 + to;
    FOR_EACH(at, n)
    {
        const int i = (int)at % sx, row = (int)at / sx, j = row % sy, k = row / sy;
        const SUM v = by * (SUM)x[i + from_nx * j + from_plane * k];
        const int own = i + to_nx * j + to_plane * k;
        y[own] = (REAL)(beta == 0 ? v : v + old * (SUM)y[own]);
    }
}

// y := what has come, at the given points
kernel void window_fill(long n, global const int *restrict point, global const REAL *restrict numbers,
                        global REAL *restrict y, long y0)
{
    y += y0;
    FOR_EACH(i, n) y[point[i]] = numbers[i];
}
