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

// ---- products and steps, of one column or of that which a group has ----

#define restrict // a promise of the kernels', which these are parts of

INLINED void multiply(const grid *G, SUM alpha, global const REAL *x, SUM beta, global REAL *y)
{
    const factor v = { OF_X, x, 0, 0 };
    line at;
    FOR_POINTS(at, G, &v)
    {
        read_around(G, &v, &at);
        const points sum = sum_of_faces(&at);
        write_at(&at, y, beta == 0 ? alpha * sum : alpha * sum + beta * read_at(&at, y));
    }
}

#ifndef WITHOUT_STEPS

// Steps of conjugate gradients. The first launch forms p, also at the neighbours, from the residual and the old p, and sums p.Ap;
// the second forms A p again instead of reading it. Nothing is written once the solve has stopped:
// work becomes 0, not a return, for barriers are for all.

// In the plane and in single two rows in flight are worth their registers from here on, though not in products.
#if defined(cl_nv_pragma_unroll) && AXES == 2 && LANES == 4 && !defined(VARIABLE)
#undef ROLLED
#define ROLLED _Pragma("unroll 2")
#endif

INLINED void make_direction(grid *G, DIRECTION_PARAMS, global const REAL *z, global const REAL *old, global REAL *p,
                            global TOTAL *part, local TOTAL2 *lane)
{
    ACC beta;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &beta) == GO_ON;
    const factor v = { OF_DIRECTION, z, old, (SUM)beta };
    totals dot = NO_TOTALS_YET;
    line at;
    if (!go_on) G->work = 0;
    FOR_POINTS(at, G, &v)
    {
        read_around(G, &v, &at);
        const points sum = sum_of_faces(&at);
        write_at(&at, p, at.c);
        add_product(at.whole, &dot, at.c, sum);
    }
    const TOTAL total = group_sum(total_of_points(dot), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[GROUP_HERE] = total;
}

// singular: constants are kept out of r; 1 or 0 in the text of a kernel, since sums take 12 registers.
INLINED void make_step(grid *G, STEP_PARAMS, DRIFT_ARGUMENTS, const int singular, global const REAL *p, global const REAL *old,
                       global REAL *x, global REAL *r, global TOTAL2 *part, int scaled, global const REAL *d,
                       global REAL *z, local TOTAL2 *lane)
{
    const factor v = { OF_X, p, 0, 0 };
    totals rz = NO_TOTALS_YET, rr = NO_TOTALS_YET, mean = NO_TOTALS_YET;
    step_scalars s;
    line at;
    SUM drift = 0;
    if (singular) drift = (SUM)finish_drift(drift_part, drift_count, drift_n, lane);
    const int go_on = begin_step(STEP_PASS, lane, &s) == GO_ON;
    const SUM alpha = (SUM)s.alpha, by_p = (SUM)s.by_p, by_z = (SUM)s.by_z, by_old = (SUM)s.by_old;
    if (!go_on) G->work = 0;
    FOR_POINTS(at, G, &v)
    {
        read_around(G, &v, &at);
        const points sum = sum_of_faces(&at);
        points r_i = read_at(&at, r);
        if (update) {
            points x_i = load_anywhere(at.whole, x, at.i) + by_p * at.c;
            if (by_z != 0) x_i += by_z * (scaled ? read_at(&at, d) * r_i : r_i);
            if (by_old != 0) x_i += by_old * read_at(&at, old);
            store_anywhere(at.whole, x, at.i, x_i);
        }
        r_i -= alpha * sum;
        if (singular) {
            r_i -= drift;
            add(at.whole, &mean, r_i);
        }
        write_at(&at, r, r_i);
        const points z_i = scaled ? read_at(&at, d) * r_i : r_i;
        if (scaled) write_at(&at, z, z_i);
        add_product(at.whole, &rz, r_i, z_i);
        add_product(at.whole, &rr, r_i, r_i);
    }
    const TOTAL2 total = group_sum2(BOTH(total_of_points(rz), total_of_points(rr)), lane);
    if (get_local_id(0) == 0 && go_on) part[GROUP_HERE] = total;
    if (singular) keep_drift(total_of_points(mean), go_on, drift_out + GROUP_HERE, drift_n, lane);
}

#endif

#undef restrict

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void stencil_apply(GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    const grid G = GRID_PASS;
    multiply(&G, (SUM)alpha, x + x0, (SUM)beta, y + y0);
}

// d := diagonal of A
kernel void stencil_diagonal(GRID, global REAL *restrict d, long d0)
{
    const grid G = GRID_PASS;
    const factor v = { OF_NOTHING, 0, 0, 0 };
    line at;
    d += d0;
    FOR_POINTS(at, &G, &v)
    {
        read_around(&G, &v, &at);
        write_at(&at, d, diagonal_of(&G, &at));
    }
}

// ---- making one ----

#ifdef VARIABLE
// The weight of the face between a cell and the one `to` further on: `weight` times the harmonic mean of both, or of the cell alone
// at a high side that does not wrap.
INLINED REAL upper_face(const grid *G, const int k, int where, int i, ACC weight)
{
    const int inside = is_inside(G, k, where), wraps = side_of(G, k) == PERIODIC;
    const ACC own = (ACC)G->kappa[i];
    if (!inside && !wraps) return (REAL)(weight * own);
    return (REAL)(weight * ((ACC)2 / ((ACC)1 / own + (ACC)1 / (ACC)G->kappa[i + (inside ? step_towards(G, k) : step_round(G, k))])));
}

kernel void stencil_faces(int nx, int ny, int nz, ACC ax, ACC ay, ACC az, int sides,
                          global const REAL *restrict kappa, global REAL *restrict fx,
                          global REAL *restrict fy, global REAL *restrict fz)
{
    const grid G = { 0, 0, 0, nx, ny, nz, 0, 0, 0, sides, 0, 0, 0, 0, kappa, 0, 0, 0 };
    FOR_EACH(point, (long)(nx * ny) * nz)
    {
        const int i = (int)point;
        fx[i] = upper_face(&G, EAST, i % nx, i, ax);
        fy[i] = upper_face(&G, NORTH, i / nx % ny, i, ay);
        if (AXES == 3) fz[i] = upper_face(&G, ABOVE, i / (nx * ny), i, az);
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
    const grid G = GRID_PASS;
    const factor v = { OF_X, x + x0, 0, 0 };
    totals rr = NO_TOTALS_YET;
    line at;
    b += b0, r += r0;
    FOR_POINTS(at, &G, &v)
    {
        read_around(&G, &v, &at);
        const points sum = sum_of_faces(&at), r_i = read_at(&at, b) - sum;
        write_at(&at, r, r_i);
        add_product(at.whole, &rr, r_i, r_i);
    }
    const TOTAL total = group_sum(total_of_points(rr), lane);
    if (sums && get_local_id(0) == 0) part[SUM_PLACE] = total;
}

#ifndef WITHOUT_STEPS

// p := z + beta old, part[group] := p.Ap; 3 words
kernel void stencil_direction(GRID, DIRECTION_PARAMS, global const REAL *restrict z, global const REAL *restrict old,
                              global REAL *restrict p, global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    grid G = GRID_PASS;
    make_direction(&G, DIRECTION_PASS, z, old, p, part + sums_at, lane);
}

// alpha := rho / p.Ap,  r -= alpha A p,  part[group] := (r.z, r.r), where z is d .* r if `scaled`,
// else r; and x, which the last step's share may still be missing from (see begin_step). 5 words, 3
// where x waits; 2 more with a diagonal.
kernel void stencil_step(GRID, STEP_PARAMS, global const REAL *restrict p, global const REAL *restrict old,
                         global REAL *restrict x, long x0, global REAL *restrict r, global TOTAL2 *restrict part, int scaled,
                         global const REAL *restrict d, global REAL *restrict z)
{
    local TOTAL2 lane[WG];
    grid G = GRID_PASS;
    make_step(&G, STEP_PASS, 0, 0, 0, 0, 0, p, old, x + x0, r, part + sums_at, scaled, d, z, lane);
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
    grid G = GRID_PASS;
    make_step(&G, STEP_PASS, drift_part, drift_count, drift_out, drift_n, 1, p, old, x + x0, r, part + sums_at, scaled, d, z,
              lane);
}

#endif

#pragma kry part columns

// The product of each column
kernel void stencil_apply_columns(WHOLE_GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                                  global REAL *restrict y, long y0, long x_pitch, long y_pitch)
{
    const grid G = WHOLE_GRID_PASS;
    multiply(&G, (SUM)alpha, x + x0 + COLUMN_HERE * x_pitch, (SUM)beta, y + y0 + COLUMN_HERE * y_pitch);
}

#ifndef WITHOUT_STEPS

// The direction of each column
kernel void stencil_direction_columns(WHOLE_GRID, DIRECTION_PARAMS, global const REAL *restrict z,
                                      global const REAL *restrict old, global REAL *restrict p,
                                      global TOTAL *restrict part, long pitch)
{
    local TOTAL2 lane[WG];
    grid G = WHOLE_GRID_PASS;
    const long at = COLUMN_HERE * pitch;
    TAKE_DIRECTION_OF(COLUMN_HERE)
    make_direction(&G, DIRECTION_PASS, z + at, old + at, p + at, part + COLUMN_HERE * (int)get_num_groups(0), lane);
}

// The step of each column
kernel void stencil_step_columns(WHOLE_GRID, STEP_PARAMS, global const REAL *restrict p, global const REAL *restrict old,
                                 global REAL *restrict x, long x0, global REAL *restrict r, global TOTAL2 *restrict part,
                                 int scaled, global const REAL *restrict d, global REAL *restrict z, long pitch, long x_pitch)
{
    local TOTAL2 lane[WG];
    grid G = WHOLE_GRID_PASS;
    const long at = COLUMN_HERE * pitch;
    TAKE_STEP_OF(COLUMN_HERE)
    make_step(&G, STEP_PASS, 0, 0, 0, 0, 0, p + at, old + at, x + x0 + COLUMN_HERE * x_pitch, r + at,
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
    local TOTAL2 lane[WG];
    grid G = WHOLE_GRID_PASS;
    const long at = COLUMN_HERE * pitch;
    TAKE_STEP_OF(COLUMN_HERE)
    drift_part += COLUMN_HERE * drift_count, drift_out += COLUMN_HERE * (int)get_num_groups(0);
    make_step(&G, STEP_PASS, drift_part, drift_count, drift_out, drift_n, 1, p + at, old + at,
              x + x0 + COLUMN_HERE * x_pitch, r + at, part + COLUMN_HERE * (int)get_num_groups(0), scaled, d, z + at, lane);
}

#endif
