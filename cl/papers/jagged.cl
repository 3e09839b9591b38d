// jagged.cl - the products with jagged diagonals that Cevahir et al. compare with that of cl/formats/jds.cl.
// Host: papers/cevahir/jagged.c.
//
// Rows are sorted by falling length; position i holds row perm[i]. Jagged diagonal d has an entry of
// the first jd[2 d + 1] positions, from place jd[2 d] on.
//   basic      jagged_add for every diagonal, then jagged_reorder: a sum t per position goes to
//              memory and back with each of them
//   texture    jagged_texture: a position to a work-item, which adds up all its entries and writes y once; x is read as
//              an image (image.clh)
// JD_SPACE: where jd is, constant memory or global.
//
// Source: A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs, ICCS 2009.

#include "common/kry.clh"
#include "common/image.clh"

#define UPDATE(row, sum) \
    y[row] = beta == 0 ? alpha * (sum) : alpha * (sum) + beta * y[row];

#ifdef JD_SPACE

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void jagged_texture(int rows, int diagonals, JD_SPACE const int *jd,
                           global const int *restrict perm, global const int *restrict col,
                           global const REAL *restrict val, REAL alpha, read_only IMAGE x, int x_at, REAL beta,
                           global REAL *restrict y, long y0)
{
    y += y0;
    FOR_EACH(i, rows)
    {
        int d = 0, row = perm[i];
        REAL sum = 0;
        for (; d + 3 < diagonals && i < jd[2 * d + 7]; d += 4) {
            int j[4];
            REAL v[4];
            UNROLLED for (int u = 0; u < 4; u++)
            {
                j[u] = col[jd[2 * (d + u)] + i];
                v[u] = val[jd[2 * (d + u)] + i];
            }
            UNROLLED for (int u = 0; u < 4; u++) v[u] *= GET_TEXEL(j[u]);
            UNROLLED for (int u = 0; u < 4; u++) sum += v[u];
        }
        for (; d < diagonals && i < jd[2 * d + 1]; d++) {
            const int j = col[jd[2 * d] + i];
            sum += val[jd[2 * d] + i] * GET_TEXEL(j);
        }
        UPDATE(row, sum)
    }
}

#else

// t[i] += the entry of a jagged diagonal at position i times its x
kernel void jagged_add(int begin, int rows, global const int *restrict col,
                       global const REAL *restrict val, global const REAL *restrict x, long x0,
                       global REAL *restrict t)
{
    x += x0;
    FOR_EACH(i, rows) t[i] += val[begin + i] * x[col[begin + i]];
}

// y := alpha t + beta y in the order of rows; with beta == 0, y is not read.
kernel void jagged_reorder(int rows, global const int *restrict perm, global const REAL *restrict t,
                           REAL alpha, REAL beta, global REAL *restrict y, long y0)
{
    y += y0;
    FOR_EACH(i, rows)
    {
        int row = perm[i];
        UPDATE(row, t[i])
    }
}

#endif
