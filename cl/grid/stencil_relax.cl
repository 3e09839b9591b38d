// stencil_relax.cl - relaxation on grids: sweeps from one vector to another, sweeps in place, red and black, and a sweep
// from a vector in single to one in double. Host: src/grid/stencil_relax.c. The sweeps are those of sweep.clh; those in
// place have loops of their own.

#include "common/kry.clh"
#include "grid/sweep.clh"

#define RELAX_PARAMS                                                                         \
    GRID, ACC c1, global const REAL *restrict b, long b0, global REAL *y, long y0, int sums, \
        global TOTAL *restrict part

// part[group] := the squares alone, or both sums
#define LEAVE_SUMS(products, squares)                                                        \
    TOTAL2 total = group_sum2(BOTH(SUM_OF(products), SUM_OF(squares)), lane);                \
    if (get_local_id(0) == 0 && sums == 1) part[SUM_PLACE] = total.y;                        \
    if (get_local_id(0) == 0 && sums == 2) ((global TOTAL2 *)part)[SUM_PLACE] = total;

#pragma kry part scaling

// y := c1 D^-1 b. With `sums` 1, part[group] := the sum of b.b; with 2, the pair (b.y, b.b).
kernel void stencil_scale(RELAX_PARAMS)
{
    local TOTAL2 lane[WG];
    WEIGHTS
    SUMMED(by)
    SUMMED(bb)
    const SUM by_residual = (SUM)c1;
    b += b0, y += y0;
#define GET_NOTHING(K, i) ((T_##K)0)
#define SCALE(K, i, c, sum, diagonal)                   \
    {                                                   \
        T_##K b_i = AT_##K(b, i);                       \
        T_##K y_i = by_residual / diagonal * b_i;       \
        PUT_##K(y_i, y, i);                             \
        ADD_PRODUCT_##K(by, b_i, y_i);                  \
        ADD_PRODUCT_##K(bb, b_i, b_i);                  \
    }
    SWEEP(GET_NOTHING, SCALE)
    LEAVE_SUMS(by, bb)
}

#pragma kry part sweeps

// y := x + c0 (x - old) + c1 D^-1 (b - A x), where x stands for x_scale x and old for old_scale old;
// old counts as zero without has_old, and may be y. With `sums` 1, part[group] := the squares of
// b - A x; with 2, the pair (b.y, b.b). 3 words, 4 with old; 1 less for each of x and old that is b.
kernel void stencil_relax(RELAX_PARAMS, ACC c0, ACC x_scale, global const REAL *restrict x, long x0,
                          int has_old, ACC old_scale, global const REAL *old, long old0)
{
    local TOTAL2 lane[WG];
    WEIGHTS
    SUMMED(by)
    SUMMED(squares)
    const SUM by_step = (SUM)c0, by_residual = (SUM)c1, by_x = (SUM)x_scale;
    const SUM by_old = (SUM)old_scale;
    b += b0, x += x0, old += old0, y += y0;
#define GET_RELAXED(K, i) (by_x * AT_##K(x, i))
#undef FROM_HALO
#define FROM_HALO(v) (by_x * (v))
#define RELAX_POINT(K, i, c, sum, diagonal)                                  \
    {                                                                        \
        T_##K b_i = AT_##K(b, i), r_i = b_i - sum;                           \
        T_##K y_i = c + by_residual / diagonal * r_i;                        \
        if (by_step != 0) y_i += by_step * (has_old ? c - by_old * AT_##K(old, i) : c); \
        PUT_##K(y_i, y, i);                                                  \
        if (sums == 2) {                                                     \
            ADD_PRODUCT_##K(by, b_i, y_i);                                   \
            ADD_PRODUCT_##K(squares, b_i, b_i);                              \
        } else if (sums == 1) {                                              \
            ADD_PRODUCT_##K(squares, r_i, r_i);                              \
        }                                                                    \
    }
    SWEEP(GET_RELAXED, RELAX_POINT)
    LEAVE_SUMS(by, squares)
#undef FROM_HALO
#define FROM_HALO(v) (v)
}

#pragma kry part colours

// x += omega D^-1 (b - A x) where ix + iy + iz + colour is even, in place: the neighbours of such a
// point have another colour. rings: a bit for each axis along which the last point meets the first one, and both would
// have the same colour; only points that are the last of `ends` such axes are taken. CPUs: `work` rows. GPUs: `work` pieces of columns that are two points
// wide, so that work-items side by side read side by side.
kernel void stencil_colour(GRID, int colour, int rings, int ends, ACC omega, global const REAL *restrict b, long b0,
                           global REAL *x, long x0)
{
    WEIGHTS
    const int plane = nx * ny;
    const SUM w = (SUM)omega;
    b += b0, x += x0;
#define GET_IN_PLACE(K, i) AT_##K(x, i)
#define ENDS_HERE                                                                          \
    ((rings & 1 && ix == nx - 1) + (rings & 2 && iy == ny - 1) + (rings & 4 && iz == nz - 1) == ends)
#define RELAX_IN_PLACE(K, i, c, sum, diagonal) \
    x[i] = (REAL)(c + w / diagonal * (AT_##K(b, i) - sum));
#ifdef KRY_CPU
    FOR_EACH(row, work)
    {
        const int iy = (int)row % ny, iz = (int)row / ny;
        ROW
        for (int ix = (iy + iz + colour) & 1; ix < nx; ix += 2) {
            const int i = ix + nx * (int)row;
            if (ENDS_HERE) {
                POINT(ONE, GET_IN_PLACE, RELAX_IN_PLACE)
            }
        }
    }
#else
    const int pairs = (nx + 1) / 2;
#if AXES == 3
    const int columns = pairs * ny;
#define COLUMN_END(first) min(first + length, nz)
#define ALONG         iy = base / pairs, iz = at
#else
    const int columns = pairs;
#define COLUMN_END(first) min(first + length, ny)
#define ALONG         iy = at, iz = 0
#endif
    FOR_EACH(column, work)
    {
        const int base = (int)column % columns, left = base % pairs * 2;
        const int first = (int)column / columns * length, end = COLUMN_END(first);
        for (int at = first; at < end; at++) {
            const int ALONG, ix = left + ((iy + iz + colour) & 1);
            const int i = ix + nx * iy + plane * iz;
            if (ix < nx && ENDS_HERE) {
                POINT(ONE, GET_IN_PLACE, RELAX_IN_PLACE)
            }
        }
    }
#endif
}

#pragma kry part from single to double

#ifdef KRY_FP64

#define OUTER_ONE          double
#define OUTER_AT_ONE(p, i) (p)[i]
#define OUTER_PUT_ONE(v, p, i) (p)[i] = (v)
#define ROUND_ONE          (SUM)
#define WIDEN_ONE          (double)
#if LANES > 1
#define OUTER_MANY         KRY_JOIN(double, LANES)
#define ROUND_MANY         KRY_JOIN(convert_, T_MANY)
#define WIDEN_MANY         KRY_JOIN(convert_, OUTER_MANY)
#ifdef KRY_CPU
#define OUTER_AT_MANY(p, i)     KRY_JOIN(vload, LANES)(0, (p) + (i))
#define OUTER_PUT_MANY(v, p, i) KRY_JOIN(vstore, LANES)(v, 0, (p) + (i))
#else
#define OUTER_AT_MANY(p, i)     (*(global const OUTER_MANY *)((p) + (i)))
#define OUTER_PUT_MANY(v, p, i) *(global OUTER_MANY *)((p) + (i)) = (v)
#endif
#endif

// y := unit[1] (x + c1 D^-1 (unit[0] b - A x)), b and y in double;  part[group] := the sums of (b y, b b). 5 words of
// 4 bytes. REAL is float.
kernel void stencil_finish(GRID, ACC c1, global const double *restrict unit, global const double *restrict b,
                           long b0, global const REAL *restrict x, global double *restrict y, long y0,
                           global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    WEIGHTS
    SUMMED(by)
    SUMMED(bb)
    const SUM by_residual = (SUM)c1;
    const double into = unit[0], back = unit[1];
    b += b0, y += y0;
#define GET_X(K, i) AT_##K(x, i)
#define FINISH(K, i, c, sum, diagonal)                                                    \
    {                                                                                     \
        const OUTER_##K b_i = OUTER_AT_##K(b, i);                                         \
        const T_##K v = c + by_residual / diagonal * (ROUND_##K(into * b_i) - sum);       \
        const OUTER_##K y_i = back * WIDEN_##K(v);                                        \
        OUTER_PUT_##K(y_i, y, i);                                                         \
        ADD_PRODUCT_##K(by, b_i, y_i);                                                    \
        ADD_PRODUCT_##K(bb, b_i, b_i);                                                    \
    }
    SWEEP(GET_X, FINISH)
    const TOTAL2 total = group_sum2(BOTH(SUM_OF(by), SUM_OF(bb)), lane);
    if (get_local_id(0) == 0) part[SUM_PLACE] = total;
}

#endif
