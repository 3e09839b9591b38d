// stencil_relax.cl - relaxation and preconditioners on grids, one program for each of
//   RELAX     sweeps from one vector to another
//   COLOURS   sweeps in place, red and black
//   POISSON   the incomplete Poisson inverse
// Host: src/stencil/relax.c. The sweeps are those of sweep.clh; COLOURS and POISSON have LANES 1 and
// loops of their own.

#if defined(RELAX)

// y := c1 D^-1 b. With `sums` 1, part[group] := the sum of b.b; with 2, the pair (b.y, b.b).
#define RELAX_PARAMS                                                                         \
    GRID, ACC c1, global const REAL *restrict b, long b0, global REAL *y, long y0, int sums, \
        global ACC *restrict part

kernel void stencil_scale(RELAX_PARAMS)
{
    local ACC2 lane[WG];
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
        by_##K += ACC_##K(b_i) * ACC_##K(y_i);          \
        bb_##K += ACC_##K(b_i) * ACC_##K(b_i);          \
    }
    SWEEP(GET_NOTHING, SCALE)
    ACC2 total = group_sum2((ACC2)(SUM_OF(by), SUM_OF(bb)), lane);
    if (get_local_id(0) == 0 && sums == 1) part[get_group_id(0)] = total.y;
    if (get_local_id(0) == 0 && sums == 2) vstore2(total, get_group_id(0), part);
}

// y := x + c0 (x - old) + c1 D^-1 (b - A x), where x stands for x_scale x and old for old_scale old;
// old counts as zero without has_old, and may be y. With `sums` 1, part[group] := the squares of
// b - A x; with 2, the pair (b.y, b.b). 3 words, 4 with old; 1 less for each of x and old that is b.
kernel void stencil_relax(RELAX_PARAMS, ACC c0, ACC x_scale, global const REAL *restrict x, long x0,
                          int has_old, ACC old_scale, global const REAL *old, long old0)
{
    local ACC2 lane[WG];
    WEIGHTS
    SUMMED(by)
    SUMMED(squares)
    const SUM by_step = (SUM)c0, by_residual = (SUM)c1, by_x = (SUM)x_scale;
    const SUM by_old = (SUM)old_scale;
    b += b0, x += x0, old += old0, y += y0;
#define GET_RELAXED(K, i) (by_x * AT_##K(x, i))
#define RELAX_POINT(K, i, c, sum, diagonal)                                  \
    {                                                                        \
        T_##K b_i = AT_##K(b, i), r_i = b_i - sum;                           \
        T_##K y_i = c + by_residual / diagonal * r_i;                        \
        if (by_step != 0) y_i += by_step * (has_old ? c - by_old * AT_##K(old, i) : c); \
        PUT_##K(y_i, y, i);                                                  \
        if (sums == 2) {                                                     \
            by_##K += ACC_##K(b_i) * ACC_##K(y_i);                           \
            squares_##K += ACC_##K(b_i) * ACC_##K(b_i);                      \
        } else if (sums == 1) {                                              \
            squares_##K += ACC_##K(r_i) * ACC_##K(r_i);                      \
        }                                                                    \
    }
    SWEEP(GET_RELAXED, RELAX_POINT)
    ACC2 total = group_sum2((ACC2)(SUM_OF(by), SUM_OF(squares)), lane);
    if (get_local_id(0) == 0 && sums == 1) part[get_group_id(0)] = total.y;
    if (get_local_id(0) == 0 && sums == 2) vstore2(total, get_group_id(0), part);
}

#elif defined(COLOURS)

// x += omega D^-1 (b - A x) where ix + iy + iz + colour is even, in place: the neighbours of such a
// point have the other colour. CPUs: `work` rows. GPUs: `work` pieces of columns that are two points
// wide, so that work-items side by side read side by side.
kernel void stencil_colour(GRID, int colour, ACC omega, global const REAL *restrict b, long b0,
                           global REAL *x, long x0)
{
    WEIGHTS
    const int plane = nx * ny;
    const SUM w = (SUM)omega;
    b += b0, x += x0;
#define GET_IN_PLACE(K, i) AT_##K(x, i)
#define RELAX_IN_PLACE(K, i, c, sum, diagonal) \
    x[i] = (REAL)(c + w / diagonal * (AT_##K(b, i) - sum));
#ifdef KRY_CPU
    FOR_EACH(row, work)
    {
        const int iy = (int)row % ny, iz = (int)row / ny;
        for (int ix = (iy + iz + colour) & 1; ix < nx; ix += 2) {
            const int i = ix + nx * (int)row;
            POINT(ONE, GET_IN_PLACE, RELAX_IN_PLACE)
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
            if (ix < nx) {
                POINT(ONE, GET_IN_PLACE, RELAX_IN_PLACE)
            }
        }
    }
#endif
}

#elif defined(POISSON)

// y := alpha M x + beta y with M = K' D^-1 K, K = I - L D^-1, L the strict lower triangle of A: the
// neighbours with smaller numbers. The vector in the middle is not stored: each point forms it for
// itself and for its neighbours with larger numbers.
//
// SCALAR    D^-1 is the number `inverse`, else the vector d

#ifdef SCALAR
#define INVERSE(K, j) by_diagonal
#else
#define INVERSE(K, j) AT_##K(d, j)
#endif
#ifdef VARIABLE
#define FACE_OF(K, f, w, j) AT_##K(f, j)
#else
#define FACE_OF(K, f, w, j) (w)
#endif
#define NOTHING(K) ((T_##K)0)

#define SCALED(K, j) (INVERSE(K, j) * AT_##K(x, j))

// -L D^-1 x of point j along an axis where it is number `at` of `size`: the one before, and on an
// axis that wraps the first for the last.
#define LOWER_ALONG(K, j, at, size, step, side, f, w)                                         \
    (((at) > 0 ? FACE_OF(K, f, w, (j) - (step)) * SCALED(K, (j) - (step)) : NOTHING(K)) +     \
     ((side) == PERIODIC && (at) == (size) - 1 && (size) > 1                                  \
          ? FACE_OF(K, f, w, j) * SCALED(K, (j) - (step) * ((size) - 1))                      \
          : NOTHING(K)))
#if AXES == 3
#define LOWER_Z(K, j, jz) + LOWER_ALONG(K, j, jz, nz, plane, ZH, fz, wz)
#else
#define LOWER_Z(K, j, jz)
#endif
// D^-1 K x at point j
#define HALF_WAY(K, j, jx, jy, jz)                                                           \
    (INVERSE(K, j) *                                                                         \
     (AT_##K(x, j) + LOWER_ALONG(K, j, jx, nx, 1, XH, fx, wx) +                              \
      LOWER_ALONG(K, j, jy, ny, nx, YH, fy, wy) LOWER_Z(K, j, jz)))

// -L' times that, along an axis: NEXT is the point after, WRAPPED on an axis that wraps the last
// one for the first.
#define UPPER_ALONG(K, at, size, step, side, f, w, NEXT, WRAPPED)                            \
    (((at) < (size) - 1 ? FACE_OF(K, f, w, i) * NEXT : NOTHING(K)) +                         \
     ((side) == PERIODIC && (at) == 0 && (size) > 1                                          \
          ? FACE_OF(K, f, w, i + (step) * ((size) - 1)) * WRAPPED                            \
          : NOTHING(K)))
#define UPPER_X(K)                                                                           \
    UPPER_ALONG(K, ix, nx, 1, XL, fx, wx, HALF_WAY(K, i + 1, ix + 1, iy, iz),                \
                HALF_WAY(K, i + nx - 1, nx - 1, iy, iz))
#define UPPER_Y(K, NEXT)                                                                     \
    UPPER_ALONG(K, iy, ny, nx, YL, fy, wy, NEXT, HALF_WAY(K, i + plane - nx, ix, ny - 1, iz))
#define UPPER_Z(K, NEXT)                                                                     \
    UPPER_ALONG(K, iz, nz, plane, ZL, fz, wz, NEXT,                                          \
                HALF_WAY(K, i + plane * (nz - 1), ix, iy, nz - 1))

// Half way at the point itself is `here`; at the next one along the last axis, if there is one,
// AHEAD.
#define HALF_NORTH(K) HALF_WAY(K, i + nx, ix, iy + 1, iz)
#if AXES == 3
#define HALF_AHEAD(K)   HALF_WAY(K, i + plane, ix, iy, iz + 1)
#define UPPER(K, AHEAD) UPPER_X(K) + UPPER_Y(K, HALF_NORTH(K)) + UPPER_Z(K, AHEAD)
#else
#define HALF_AHEAD(K)   HALF_NORTH(K)
#define UPPER(K, AHEAD) UPPER_X(K) + UPPER_Y(K, AHEAD)
#endif
#define INCOMPLETE(K, HERE, AHEAD)                                                           \
    {                                                                                        \
        T_##K x_i = AT_##K(x, i);                                                            \
        T_##K y_i = HERE + INVERSE(K, i) * (UPPER(K, AHEAD));                                \
        if (sums) {                                                                          \
            xy_##K += ACC_##K(x_i) * ACC_##K(y_i);                                           \
            xx_##K += ACC_##K(x_i) * ACC_##K(x_i);                                           \
        }                                                                                    \
        PUT_##K(old == 0 ? by * y_i : by * y_i + old * AT_##K(y, i), y, i);                  \
    }
// A point by itself.
#define INCOMPLETE_POINT(K) INCOMPLETE(K, HALF_WAY(K, i, ix, iy, iz), HALF_AHEAD(K))

kernel void stencil_incomplete(GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                               global REAL *restrict y, long y0, ACC inverse,
                               global const REAL *restrict d, long d0, int sums,
                               global ACC *restrict part)
{
    local ACC2 lane[WG];
    WEIGHTS
    SUMMED(xy)
    SUMMED(xx)
    const int plane = nx * ny;
    const SUM by = (SUM)alpha, old = (SUM)beta, by_diagonal = (SUM)inverse;
    x += x0, y += y0, d += d0;
#ifdef KRY_CPU
    // As in the sweeps, but the point after a vector is inside, too: its lower neighbours are asked
    // for.
    const int last = (int)chunk_end(work);
    for (int i = (int)chunk_begin(work); i < last;) {
        const int iy = i / nx % ny, iz = i / plane, row = i - i % nx;
        const int row_end = min(row + nx, last), inner_end = min(row_end, row + nx - 2);
        while (i < row_end) {
            if (i > row && i + LANES <= inner_end) {
                const int ix = 1; // inside
                INCOMPLETE_POINT(MANY)
                i += LANES;
            } else {
                const int ix = i - row;
                INCOMPLETE_POINT(ONE)
                i++;
            }
        }
    }
#else
    // Pieces of columns, as in the sweeps: what was ahead of a point is here at the next.
#if AXES == 3
    const int columns = plane, last = nz, stride = plane;
#define AT_COLUMN iy = base / nx, iz = at
#else
    const int columns = nx, last = ny, stride = nx;
#define AT_COLUMN iy = at, iz = 0
#endif
    for (int column = get_global_id(0); column < work; column += (int)get_global_size(0)) {
        const int base = column % columns, ix = base % nx, first = column / columns * length;
        const int end = min(first + length, last);
        SUM here = 0, ahead = 0;
        for (int at = first, i = base + stride * first; at < end; at++, i += stride) {
            const int AT_COLUMN;
            here = at > first ? ahead : HALF_WAY(ONE, i, ix, iy, iz);
            if (at < last - 1) ahead = HALF_AHEAD(ONE);
            INCOMPLETE(ONE, here, ahead)
        }
    }
#endif
    ACC2 total = group_sum2((ACC2)(SUM_OF(xy), SUM_OF(xx)), lane);
    if (get_local_id(0) == 0 && sums) vstore2(total, get_group_id(0), part);
}

#endif
