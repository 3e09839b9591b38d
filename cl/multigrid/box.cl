// box.cl - products and relaxation with a stored stencil. Host: src/multigrid/box.c. The sweeps are those
// of sweep.clh; box.clh says how the numbers lie.
//
// COLUMNS  products and relaxation go by columns, in pieces of `length` points: column.clh

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"
#include "multigrid/column.clh"

#define BOX_PARAMS BOX_GRID, BOX_NUMBERS

#pragma kry part sweeps in place

// x += omega D^-1 (b - A x) in place for the points of a colour, none of which touches another: along each
// axis every second one from first_x, first_y, first_z on, count_x of them in a row and count_y rows in a
// layer. All colours together: 5 or 14 words of A, 2 of b and x, as often as a colour is in every row: twice.
kernel void box_colour(BOX_PARAMS, int points, int first_x, int first_y, int first_z, int count_x,
                       int count_y, ACC omega, global const REAL *restrict b, long b0,
                       global REAL *x, long x0)
{
    const SUM w = (SUM)omega;
    const int plane = nx * ny;
    b += b0, x += x0;
#define GET_IN_PLACE(K, i, dx, dy, dz) AT_##K(x, i)
#define RELAX_IN_PLACE(K, i, c, sum, diagonal) \
    x[i] = (REAL)(c + w / diagonal * (AT_##K(b, i) - sum));
    FOR_EACH(at, points)
    {
        const int ix = first_x + 2 * ((int)at % count_x);
        const int iy = first_y + 2 * ((int)at / count_x % count_y);
        const int iz = first_z + 2 * ((int)at / (count_x * count_y));
        const int i = ix + nx * iy + plane * iz;
        BOX_POINT(ONE, GET_IN_PLACE, RELAX_IN_PLACE)
    }
}

#pragma kry part products and relaxation

// d := the diagonal of A
kernel void box_diagonal(BOX_PARAMS, global REAL *d, long d0)
{
    d += d0;
    FOR_EACH(at, work)
    {
        const int i = (int)at, ix = i % nx;
        d[i] = (REAL)COEFFICIENT_ONE(0, i);
    }
}

// B: what a kernel reads of b at a point that it meets
#ifdef COLUMNS
#define MEET(again, GET, B, BODY) COLUMN_SWEEP(GET, B, BODY)
#define MET(K, B, i)              fetched
#else
#define MEET(again, GET, B, BODY) BOX_SWEEP(again, BOX_POINT, GET, BODY)
#define MET(K, B, i)              B(K, i)
#endif

// y := alpha A x + beta b; with beta == 0, b is not read. b may be y. Words: 5 or 14 of A, 2, and 1 of b.
kernel void box_apply(BOX_PARAMS, int length, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                      global const REAL *b, long b0, global REAL *y, long y0)
{
    const SUM by = (SUM)alpha, by_b = (SUM)beta;
    x += x0, b += b0, y += y0;
#define GET_X(K, i, dx, dy, dz) AT_##K(x, i)
#define APPLY(K, i, c, sum, diagonal) \
    PUT_##K(by * sum + MET(K, B_OF_APPLY, i), y, i);
#define B_OF_APPLY(K, i) (by_b == 0 ? (T_##K)0 : by_b * AT_##K(b, i))
    MEET(by_b == 0 || b != y, GET_X, B_OF_APPLY, APPLY)
}

#define LEAVE_SUMS                                                                        \
    TOTAL2 total = group_sum2(BOTH(SUM_OF(products), SUM_OF(squares)), lane);             \
    if (get_local_id(0) == 0 && sums == 1) part[get_group_id(0)] = total.y;               \
    if (get_local_id(0) == 0 && sums == 2) ((global TOTAL2 *)part)[get_group_id(0)] = total;

// y := x + c0 (x - old) + c1 D^-1 (b - A x), where x stands for x_scale x and old for old_scale old;
// old counts as zero without has_old, and may be y; all of x does without has_x. With `sums` 1,
// part[group] := the squares of b - A x; with 2, the pair (b.y, b.b). Words: 5 or 14 of A, 3, and 1 of
// old; without x 3.
kernel void box_relax(BOX_PARAMS, int length, ACC c1, global const REAL *restrict b, long b0, global REAL *y,
                      long y0, int sums, global TOTAL *restrict part, ACC c0, int has_x,
                      ACC x_scale, global const REAL *restrict x, long x0, int has_old,
                      ACC old_scale, global const REAL *old, long old0)
{
    local TOTAL2 lane[WG];
    SUMMED(products)
    SUMMED(squares)
    const SUM by_step = (SUM)c0, by_residual = (SUM)c1, by_x = (SUM)x_scale;
    const SUM by_old = (SUM)old_scale;
    const int again = sums == 0 && !has_old;
    b += b0, x += x0, old += old0, y += y0;
#ifdef COLUMNS
#define OVER_ONE(by, diagonal) ((by) * inverse)
#else
#define OVER_ONE(by, diagonal) ((by) / (diagonal))
#endif
#ifdef UNIFORM
#define OVER_MANY(by, diagonal) ((T_MANY)((by) / (diagonal).s0))
#else
#define OVER_MANY(by, diagonal) ((by) / (diagonal))
#endif
#define RELAX(K, i, c, sum, diagonal)                                                     \
    {                                                                                     \
        T_##K x_i = by_x * c, b_i = MET(K, B_OF_RELAX, i), r_i = b_i - by_x * sum;                 \
        T_##K y_i = x_i + OVER_##K(by_residual, diagonal) * r_i;                          \
        if (by_step != 0) y_i += by_step * (has_old ? x_i - by_old * AT_##K(old, i) : x_i); \
        PUT_##K(y_i, y, i);                                                          \
        ADD_PRODUCT_##K(products, b_i, y_i);                                              \
        T_##K s_i = sums == 1 ? r_i : b_i;                                                \
        ADD_PRODUCT_##K(squares, s_i, s_i);                                               \
    }
#define B_OF_RELAX(K, i) AT_##K(b, i)
#define SCALE_POINT(K, GET, BODY)                                                         \
    T_##K c = 0, sum = 0, diagonal = COEFFICIENT_##K(0, i), inverse = 1 / diagonal;       \
    T_##K fetched = B_OF_RELAX(K, i);                                                     \
    BODY(K, i, c, sum, diagonal)
    if (has_x) {
        MEET(again, GET_X, B_OF_RELAX, RELAX)
    } else {
        BOX_SWEEP(again, SCALE_POINT, GET_X, RELAX)
    }
    LEAVE_SUMS
}
