// wang.cl - y := alpha A x + beta y, A the five-point Laplacian of n x n points with zeros around
// them, x reached by one of the memory paths of Wang et al. Host: papers/wang/paths.c.
//
//   (nothing)   every neighbour from global memory
//   TILES       a group copies TX x TY points and their border to local memory
//   X_IMAGE     x is an image of one row, or of rows of 2^x_at numbers; see image.clh
//   X_PLANE     x is an image with the rows of the grid, and its sampler's border is the zeros
// With beta == 0, y is not read.

#include "common/kry.clh"
#include "common/image.clh"

#ifdef X_PLANE
constant sampler_t zeros_around =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define X               read_only image2d_t x, int x_at
#define AT_START
#define BESIDE(inside, di, dj) TEXEL(x, zeros_around, (int2)(i + (di), j + (dj)))
#elif defined(X_IMAGE)
#define X               read_only IMAGE x, int x_at
#define AT_START
#define BESIDE(inside, di, dj) ((inside) ? GET_TEXEL(p + (di) + n * (dj)) : (REAL)0)
#else
#define X        global const REAL *restrict x, long x_at
#define AT_START x += x_at;
#define BESIDE(inside, di, dj) ((inside) ? x[p + (di) + n * (dj)] : (REAL)0)
#endif

void store(global REAL *y, ACC alpha, ACC beta, REAL c, REAL west, REAL east, REAL south, REAL north)
{
    ACC ax = (c - west) + (c - east) + ((c - south) + (c - north));
    *y = (REAL)(beta == 0 ? alpha * ax : alpha * ax + beta * *y);
}

#ifndef TILES

kernel void wang_apply(int n, ACC alpha, X, ACC beta, global REAL *restrict y, long y_at)
{
    AT_START
    y += y_at;
    FOR_EACH(point, (long)n * n)
    {
        const int p = (int)point, i = p % n, j = p / n;
        store(y + p, alpha, beta, BESIDE(true, 0, 0), BESIDE(i > 0, -1, 0), BESIDE(i < n - 1, 1, 0),
              BESIDE(j > 0, 0, -1), BESIDE(j < n - 1, 0, 1));
    }
}

#else

#define TX  32
#define TY  16
#define ROW (TX + 2)

kernel void wang_apply(int n, ACC alpha, X, ACC beta, global REAL *restrict y, long y_at)
{
    local REAL tile[ROW * (TY + 2)];
    const int across = (n + TX - 1) / TX, tiles = across * ((n + TY - 1) / TY);
    AT_START
    y += y_at;
    for (int number = get_group_id(0); number < tiles; number += (int)get_num_groups(0)) {
        const int i0 = number % across * TX, j0 = number / across * TY;
        barrier(CLK_LOCAL_MEM_FENCE); // the tile may still be read
        for (int t = get_local_id(0); t < ROW * (TY + 2); t += WG) {
            const int i = i0 - 1 + t % ROW, j = j0 - 1 + t / ROW;
            tile[t] = i >= 0 && i < n && j >= 0 && j < n ? x[i + n * j] : (REAL)0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = get_local_id(0); l < TX * TY; l += WG) {
            const int i = i0 + l % TX, j = j0 + l / TX;
            local const REAL *at = tile + l % TX + 1 + ROW * (l / TX + 1);
            if (i < n && j < n)
                store(y + i + n * j, alpha, beta, at[0], at[-1], at[1], at[-ROW], at[ROW]);
        }
    }
}

#endif
