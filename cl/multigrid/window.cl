// window.cl - boxes of points of a grid that lie within larger ones, and points beside them. Host:
// src/multigrid/part_window.c, part_shell.c. A grid of nx points in a row and `plane` in a layer begins at `first`.

#include "common/kry.clh"

// y := x at `n` points, sx in a row and sy rows in a layer, of two grids. Words: 2.
kernel void window_copy(int n, int sx, int sy, int from, int from_nx, int from_plane, int to, int to_nx,
                        int to_plane, global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    x += x0 + from, y += y0 + to;
    FOR_EACH(at, n)
    {
        const int i = (int)at % sx, row = (int)at / sx, j = row % sy, k = row / sy;
        y[i + to_nx * j + to_plane * k] = x[i + from_nx * j + from_plane * k];
    }
}

// y := what has come, at the given points
kernel void window_fill(long n, global const int *restrict point, global const REAL *restrict numbers,
                        global REAL *restrict y, long y0)
{
    y += y0;
    FOR_EACH(i, n) y[point[i]] = numbers[i];
}
