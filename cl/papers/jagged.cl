// jagged.cl - the products with jagged diagonals of Cevahir et al.
// Host: tools/papers/cevahir/jagged.c.
//
// Rows are sorted by falling length; position i holds row perm[i]. Jagged diagonal d has an entry of
// the first jd[2 d + 1] positions, from place jd[2 d] on.
//   basic      jagged_add for every diagonal, then jagged_reorder: a sum t per position goes to
//              memory and back with each of them
//   proposed   jagged_rows: a position to a work-item, which adds up all its entries and writes y once
//   texture    the same, but x is read as an image (image.clh)
// JD_SPACE: where jd is, constant memory or global.
//
// Source: A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs, ICCS 2009.

#include "kry.clh"
#include "image.clh"

#define UPDATE(row, sum) \
    y[row] = beta == 0 ? alpha * (sum) : alpha * (sum) + beta * y[row];

#ifdef JD_SPACE

#ifdef X_IMAGE
#define X read_only IMAGE x, int x_at
#else
#define X global const REAL *restrict x, long x_at
#define GET_TEXEL(j) x[(j) + x_at]
#endif

#define FOUR(DO) DO(0) DO(1) DO(2) DO(3)
#define LOAD(u)                         \
    int j##u = col[jd[2 * (d + u)] + i]; \
    REAL v##u = val[jd[2 * (d + u)] + i];
#define TERM(u) sum += v##u * GET_TEXEL(j##u);

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void jagged_rows(int rows, int diagonals, JD_SPACE const int *jd,
                        global const int *restrict perm, global const int *restrict col,
                        global const REAL *restrict val, REAL alpha, X, REAL beta,
                        global REAL *restrict y, long y0)
{
    y += y0;
    FOR_EACH(i, rows)
    {
        int d = 0, row = perm[i];
        REAL sum = 0;
        for (; d + 3 < diagonals && i < jd[2 * d + 7]; d += 4) {
            FOUR(LOAD)
            FOUR(TERM)
        }
        for (; d < diagonals && i < jd[2 * d + 1]; d++) {
            LOAD(0)
            TERM(0)
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
