// stencil.cl - grid operators that store no matrix: y_i = sum over the faces f (x_i - x_neighbour).
// Host: src/grid/stencil.c. Rows are as struct kryi_stencil describes them; docs/matrices.md
// counts the words. The sweeps are those of sweep.clh, which says what the defines are.
//
// SUM       ACC where numbers are in single: for residuals, without steps
//
// LANES is 1 where vectors may start anywhere. The kernels ..._columns work on several columns at once, as ABREAST in kry.clh
// has them, whose vectors are `pitch` numbers apart, x_pitch and y_pitch those of callers; scalars and partial sums stand
// column by column.

#ifdef SUM
#define WITHOUT_STEPS
#endif
#define ABREAST
#include "common/kry.clh"
#include "common/direction.clh"
#include "grid/sweep.clh"

#define GET_X(K, i) AT_##K(x, i)

// ---- products and steps, of one column or of that which a group has ----

#define restrict // a promise of the kernels', which these are parts of

#define UPDATE(K, i, c, sum, diagonal) \
    PUT_##K(old == 0 ? by * sum : by * sum + old * AT_##K(y, i), y, i);

INLINED void multiply(GRID, ACC alpha, global const REAL *x, ACC beta, global REAL *y)
{
    WEIGHTS
    const SUM by = (SUM)alpha, old = (SUM)beta;
    SWEEP(GET_X, UPDATE)
}

#ifndef WITHOUT_STEPS

// Steps of conjugate gradients. The first launch forms p, also at the neighbours, from the residual and the old p, and sums p.Ap;
// the second forms A p again instead of reading it. Nothing is written once the solve has stopped:
// work becomes 0, not a return, for barriers are for all.

// In the plane and in single two rows in flight are worth their registers here, though not in products.
#if defined(cl_nv_pragma_unroll) && AXES == 2 && LANES == 4 && !defined(VARIABLE)
#undef ROLLED
#define ROLLED _Pragma("unroll 2")
#endif

#define GET_P(K, i) (AT_##K(z, i) + beta * AT_##K(old, i))

INLINED void make_direction(GRID, DIRECTION_PARAMS, global const REAL *z, global const REAL *old, global REAL *p,
                            global TOTAL *part, local TOTAL2 *lane)
{
    WEIGHTS
    SUMMED(dot)
    ACC ratio;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &ratio) == GO_ON;
    const SUM beta = (SUM)ratio;
    if (!go_on) work = 0;
#define DIRECTION(K, i, c, sum, diagonal) \
    PUT_##K(c, p, i);                     \
    ADD_PRODUCT_##K(dot, c, sum);
    SWEEP(GET_P, DIRECTION)
    TOTAL total = group_sum(SUM_OF(dot), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[SUM_PLACE] = total;
}

// singular: constants are kept out of r; 1 or 0 in the text of a kernel, since sums take 12 registers.
INLINED void make_step(GRID, STEP_PARAMS, DRIFT_ARGUMENTS, const int singular, global const REAL *p, global const REAL *old,
                       global REAL *x, global REAL *r, global TOTAL2 *part, int scaled, global const REAL *d,
                       global REAL *z, local TOTAL2 *lane)
{
    WEIGHTS
    SUMMED(rz)
    SUMMED(rr)
    SUMMED(mean)
    step_scalars s;
    SUM drift = 0;
    if (singular) drift = (SUM)finish_drift(drift_part, drift_count, drift_n, lane);
    const int go_on = begin_step(STEP_PASS, lane, &s) == GO_ON;
    const SUM alpha = (SUM)s.alpha, by_p = (SUM)s.by_p, by_z = (SUM)s.by_z, by_old = (SUM)s.by_old;
    if (!go_on) work = 0;
#define PRECONDITION(K, i, v) (scaled ? AT_##K(d, i) * (v) : (v))
#define STEP(K, i, c, sum, diagonal)                                                      \
    {                                                                                     \
        T_##K r_i = AT_##K(r, i);                                                         \
        if (update) {                                                                     \
            T_##K x_i = ANY_##K(x, i) + by_p * c;                                          \
            if (by_z != 0) x_i += by_z * PRECONDITION(K, i, r_i);                         \
            if (by_old != 0) x_i += by_old * AT_##K(old, i);                              \
            PUT_ANY_##K(x_i, x, i);                                                       \
        }                                                                                 \
        r_i -= alpha * sum;                                                               \
        if (singular) {                                                                   \
            r_i -= drift;                                                                 \
            ADD_##K(mean, r_i);                                                           \
        }                                                                                 \
        PUT_##K(r_i, r, i);                                                               \
        T_##K z_i = PRECONDITION(K, i, r_i);                                              \
        if (scaled) PUT_##K(z_i, z, i);                                                   \
        ADD_PRODUCT_##K(rz, r_i, z_i);                                                    \
        ADD_PRODUCT_##K(rr, r_i, r_i);                                                    \
    }
#define GET_STEP(K, i) AT_##K(p, i)
    SWEEP(GET_STEP, STEP)
    TOTAL2 total = group_sum2(BOTH(SUM_OF(rz), SUM_OF(rr)), lane);
    if (get_local_id(0) == 0 && go_on) part[SUM_PLACE] = total;
    if (singular) keep_drift(SUM_OF(mean), go_on, drift_out + GROUP_HERE, drift_n, lane);
}

#endif

#ifdef cl_nv_pragma_unroll
#undef ROLLED
#define ROLLED _Pragma("unroll 1")
#endif
#undef restrict

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void stencil_apply(GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    multiply(GRID_PASS, alpha, x + x0, beta, y + y0);
}

// d := diagonal of A
kernel void stencil_diagonal(GRID, global REAL *restrict d, long d0)
{
    WEIGHTS
    d += d0;
#define GET_ZERO(K, i)                   ((T_##K)0)
#define DIAGONAL_OF(K, i, c, sum, diagonal) PUT_##K(diagonal, d, i);
    SWEEP(GET_ZERO, DIAGONAL_OF)
}

// ---- making one ----

#ifdef VARIABLE
// Upper faces from the cells: weight times the harmonic mean of the cells on both sides; at a high
// side that does not wrap the cell's own coefficient. sides: of a box, as in its sweeps.
#define HARMONIC(k, l)  ((ACC)2 / ((ACC)1 / (k) + (ACC)1 / (l)))
#define UPPER_FACE(inside, step, wrap, side)                                      \
    ((inside)             ? HARMONIC((ACC)kappa[i], (ACC)kappa[i + (step)])       \
     : (side) == PERIODIC ? HARMONIC((ACC)kappa[i], (ACC)kappa[i - (wrap)])       \
                          : (ACC)kappa[i])
kernel void stencil_faces(int nx, int ny, int nz, ACC ax, ACC ay, ACC az, int sides,
                          global const REAL *restrict kappa, global REAL *restrict fx,
                          global REAL *restrict fy, global REAL *restrict fz)
{
    const int plane = nx * ny;
    FOR_EACH(point, (long)plane * nz)
    {
        const int i = (int)point, ix = i % nx, iy = i / nx % ny, iz = i / plane;
        fx[i] = (REAL)(ax * UPPER_FACE(ix < nx - 1, 1, nx - 1, XH));
        fy[i] = (REAL)(ay * UPPER_FACE(iy < ny - 1, nx, plane - nx, YH));
#if AXES == 3
        fz[i] = (REAL)(az * UPPER_FACE(iz < nz - 1, plane, plane * nz - plane, ZH));
#endif
    }
}
#endif

// b += weight (times the cell's coefficient) times given, for the `count` points of a side: from
// `first` on, `across` of them `step` apart, then the next such row `stride` further.
kernel void stencil_side(int count, int first, int across, int step, int stride, ACC weight,
                         global const REAL *restrict given, global REAL *restrict b, long b0
#ifdef VARIABLE
                         , int by_cell, global const REAL *restrict kappa
#endif
)
{
    b += b0;
    FOR_EACH(j, count)
    {
        const int i = first + (int)j % across * step + (int)j / across * stride;
        ACC f = weight;
#ifdef VARIABLE
        if (by_cell) f *= (ACC)kappa[i];
#endif
        b[i] += (REAL)(f * (ACC)given[j]);
    }
}

#pragma kry part residuals and steps

// r := b - A x; r may be b. With `sums`, part[group] := r.r
kernel void stencil_residual(GRID, global const REAL *b, long b0, global const REAL *restrict x,
                             long x0, global REAL *r, long r0, int sums,
                             global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    WEIGHTS
    SUMMED(rr)
    b += b0, x += x0, r += r0;
#define RESIDUAL(K, i, c, sum, diagonal)       \
    {                                          \
        T_##K r_i = AT_##K(b, i) - sum;        \
        PUT_##K(r_i, r, i);                    \
        ADD_PRODUCT_##K(rr, r_i, r_i);         \
    }
    SWEEP(GET_X, RESIDUAL)
    TOTAL total = group_sum(SUM_OF(rr), lane);
    if (sums && get_local_id(0) == 0) part[SUM_PLACE] = total;
}

#ifndef WITHOUT_STEPS

// p := z + beta old, part[group] := p.Ap; 3 words
kernel void stencil_direction(GRID, DIRECTION_PARAMS, global const REAL *restrict z, global const REAL *restrict old,
                              global REAL *restrict p, global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    make_direction(GRID_PASS, DIRECTION_PASS, z, old, p, part, lane);
}

// alpha := rho / p.Ap,  r -= alpha A p,  part[group] := (r.z, r.r), where z is d .* r if `scaled`,
// else r; and x, which the last step's share may still be missing from (see begin_step). 5 words, 3
// where x waits; 2 more with a diagonal.
kernel void stencil_step(GRID, STEP_PARAMS, global const REAL *restrict p, global const REAL *restrict old,
                         global REAL *restrict x, long x0, global REAL *restrict r, global TOTAL2 *restrict part, int scaled,
                         global const REAL *restrict d, global REAL *restrict z)
{
    local TOTAL2 lane[WG];
    make_step(GRID_PASS, STEP_PASS, 0, 0, 0, 0, 0, p, old, x + x0, r, part, scaled, d, z, lane);
}

#endif

#pragma kry part steps of singular grids

#ifndef WITHOUT_STEPS

// A step where A maps constants to zero: what rounding leaves of them in r is taken out (see finish_drift).
kernel void stencil_step_singular(GRID, STEP_PARAMS, DRIFT_ARGUMENTS, global const REAL *restrict p,
                                  global const REAL *restrict old, global REAL *restrict x, long x0,
                                  global REAL *restrict r, global TOTAL2 *restrict part, int scaled,
                                  global const REAL *restrict d, global REAL *restrict z)
{
    local TOTAL2 lane[WG];
    make_step(GRID_PASS, STEP_PASS, drift_part, drift_count, drift_out, drift_n, 1, p, old, x + x0, r, part, scaled, d, z, lane);
}

#endif

#pragma kry part columns

// The product of each column
kernel void stencil_apply_columns(WHOLE_GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                                  global REAL *restrict y, long y0, long x_pitch, long y_pitch)
{
    WHOLE
    multiply(GRID_PASS, alpha, x + x0 + COLUMN_HERE * x_pitch, beta, y + y0 + COLUMN_HERE * y_pitch);
}

#ifndef WITHOUT_STEPS

// The direction of each column
kernel void stencil_direction_columns(WHOLE_GRID, DIRECTION_PARAMS, global const REAL *restrict z,
                                      global const REAL *restrict old, global REAL *restrict p,
                                      global TOTAL *restrict part, long pitch)
{
    WHOLE
    local TOTAL2 lane[WG];
    const long at = COLUMN_HERE * pitch;
    TAKE_DIRECTION_OF(COLUMN_HERE)
    make_direction(GRID_PASS, DIRECTION_PASS, z + at, old + at, p + at, part + COLUMN_HERE * (int)get_num_groups(0), lane);
}

// The step of each column
kernel void stencil_step_columns(WHOLE_GRID, STEP_PARAMS, global const REAL *restrict p, global const REAL *restrict old,
                                 global REAL *restrict x, long x0, global REAL *restrict r, global TOTAL2 *restrict part,
                                 int scaled, global const REAL *restrict d, global REAL *restrict z, long pitch, long x_pitch)
{
    WHOLE
    local TOTAL2 lane[WG];
    const long at = COLUMN_HERE * pitch;
    TAKE_STEP_OF(COLUMN_HERE)
    make_step(GRID_PASS, STEP_PASS, 0, 0, 0, 0, 0, p + at, old + at, x + x0 + COLUMN_HERE * x_pitch, r + at,
              part + COLUMN_HERE * (int)get_num_groups(0), scaled, d, z + at, lane);
}

#endif

#pragma kry part steps of columns on singular grids

#ifndef WITHOUT_STEPS

kernel void stencil_step_columns_singular(WHOLE_GRID, STEP_PARAMS, DRIFT_ARGUMENTS, global const REAL *restrict p,
                                          global const REAL *restrict old, global REAL *restrict x, long x0,
                                          global REAL *restrict r, global TOTAL2 *restrict part, int scaled,
                                          global const REAL *restrict d, global REAL *restrict z, long pitch, long x_pitch)
{
    WHOLE
    local TOTAL2 lane[WG];
    const long at = COLUMN_HERE * pitch;
    TAKE_STEP_OF(COLUMN_HERE)
    drift_part += COLUMN_HERE * drift_count, drift_out += COLUMN_HERE * (int)get_num_groups(0);
    make_step(GRID_PASS, STEP_PASS, drift_part, drift_count, drift_out, drift_n, 1, p + at, old + at,
              x + x0 + COLUMN_HERE * x_pitch, r + at, part + COLUMN_HERE * (int)get_num_groups(0), scaled, d, z + at, lane);
}

#endif
