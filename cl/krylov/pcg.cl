// pcg.cl - the vector work of a conjugate-gradient step.
// Host: src/operator/direction.c.
// Launch: kryi_groups_for(n) groups of WG for each column, pcg_step kryi_chunks_of_columns(x).groups. All vectors but x start at
// element 0.
//
// Several columns have recurrences of their own, side by side: get_group_id(1) is the column. Their vectors are `pitch`
// numbers apart, x x_pitch; scalars and partial sums stand column by column, and so do the squared residuals of an
// iteration. A column that has stopped is left alone.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"

#pragma kry part steps

// p := z + beta old, unless the solve has stopped; old may be p. 2 + 1 words.
kernel void pcg_direction(DIRECTION_PARAMS, long n, global const REAL *z, global const REAL *old,
                          global REAL *p, long pitch)
{
    local TOTAL2 lane[WG];
    const long at = COLUMN_HERE * pitch;
    ACC b;
    TAKE_DIRECTION_OF(COLUMN_HERE)
    if (begin_direction(DIRECTION_PASS, lane, &b) != GO_ON) return;
    const REAL beta = (REAL)b;
    z += at, old += at, p += at;
    FOR_VEC(i, n) store_vector(load_vector(z, i) + beta * load_vector(old, i), i, p);
    FOR_TAIL(i, n) p[i] = z[i] + beta * old[i];
}

// The stopping test alone. One group for each column.
kernel void pcg_check(DIRECTION_PARAMS)
{
    local TOTAL2 lane[WG];
    ACC beta;
    TAKE_DIRECTION_OF(COLUMN_HERE)
    begin_direction(DIRECTION_PASS, lane, &beta);
}

#ifdef KRY_CPU
// Chunks are taken from the last to the first: of the vectors that the product before has left in the cache, and those that the
// direction behind it wants first, the most are there then.
#undef GROUP_HERE
#define GROUP_HERE ((int)get_num_groups(0) - 1 - (int)get_group_id(0))
#endif

typedef struct step_sums {
    piece_sum rz, rr, mean;
} step_sums;

// Piece i of pcg_step
INLINED void step_piece(long i, const int whole, int update, const step_scalars *s, global const REAL *p, global const REAL *old,
                        global const REAL *q, global REAL *x, global REAL *r, int scaled, global const REAL *d, global REAL *z,
                        long drift_n, REAL drift, step_sums *sums)
{
    const REAL alpha = (REAL)s->alpha, by_p = (REAL)s->by_p, by_z = (REAL)s->by_z, by_old = (REAL)s->by_old;
    VEC r_i = load_piece(r, i, whole);
    if (update != X_WAITS) {
        VEC x_i = load_piece(x, i, whole) + by_p * load_piece(p, i, whole);
        if (by_z != 0) x_i += by_z * (scaled ? load_piece(d, i, whole) * r_i : r_i);
        if (by_old != 0) x_i += by_old * load_piece(old, i, whole);
        store_piece(x_i, x, i, whole);
    }
    r_i -= alpha * load_piece(q, i, whole);
    if (drift_n) {
        r_i -= drift;
        add_piece(&sums->mean, r_i, whole);
    }
    store_piece(r_i, r, i, whole);
    VEC z_i = r_i;
    if (scaled) {
        z_i = load_piece(d, i, whole) * r_i;
        store_piece(z_i, z, i, whole);
    }
    add_product(&sums->rz, r_i, z_i, whole);
    add_product(&sums->rr, r_i, r_i, whole);
}

// alpha := rho / p.q,  x += alpha p,  r -= alpha q,  part[group] := (r.z, r.r) with z := d .* r, which is written for the
// next direction. d NULL: z is r itself; an M that is no diagonal sums again after its own launches. drift_n: see
// direction.clh. On CPUs x may wait for the next step (see begin_step).
// 4 + 2 words, with d 1 + 1 more; on CPUs 2 + 1, and 2 + 1 where x takes two directions.
kernel void pcg_step(long n ROWS_PARAMS, STEP_PARAMS, DRIFT_ARGUMENTS, global const REAL *restrict p,
                     global const REAL *restrict old, global const REAL *restrict q,
                     global REAL *restrict x, long x0, global REAL *restrict r,
                     global TOTAL2 *restrict part, global const REAL *restrict d,
                     global REAL *restrict z, long pitch, long x_pitch)
{
    local TOTAL2 lane[WG];
    const int column = COLUMN_HERE, groups = (int)get_num_groups(0), scaled = d != 0;
    step_scalars s;
#ifndef KRY_CPU
    update = X_ADDS;
#endif
    TAKE_STEP_OF(column)
    drift_part += column * drift_count, drift_out += column * groups, part += column * groups;
    const REAL drift = (REAL)finish_drift(drift_part, drift_count, drift_n, lane);
    const int stop = begin_step(STEP_PASS, lane, &s);
    TAKE_ROWS(first)
    if (stop != GO_ON) n = 0; // not a return: the barriers below are for all
    const long at = first + column * pitch;
    x += x0 + first + column * x_pitch, r += at, p += at, q += at, old += at, z += at, d += first;
    step_sums sums;
    begin_sum(&sums.rz), begin_sum(&sums.rr), begin_sum(&sums.mean);
    FOR_VEC_SUMMED(i, n) step_piece(i, 1, update, &s, p, old, q, x, r, scaled, d, z, drift_n, drift, &sums);
    FOR_TAIL_SUMMED(i, n) step_piece(i, 0, update, &s, p, old, q, x, r, scaled, d, z, drift_n, drift, &sums);

    const TOTAL2 sum = group_sum2(BOTH(whole_sum(&sums.rz), whole_sum(&sums.rr)), lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[GROUP_HERE] = sum;
    keep_drift(whole_sum(&sums.mean), stop == GO_ON, drift_out + GROUP_HERE, drift_n, lane);
}

#pragma kry part a beta of its own

// After a step, for the beta that the next direction takes: (r - old r).z / old rho, where
// r - old r is -alpha q. It is put in the place of old rho, so that rho over that is beta; 0, which
// begin_direction takes for a start, if beta is not positive, or if the step took so much that what
// is left are rounding errors, which nothing makes orthogonal to p. One group.
kernel void pcg_flexible(global const TOTAL2 *restrict rho_part, int rho_count,
                         global const TOTAL *restrict zq_part, int zq_count, global ACC *step)
{
    local TOTAL2 lane[WG];
    ACC rho = VALUES_OF(finish_sum2(rho_part, rho_count, lane)).x;
    ACC zq = VALUE_OF(finish_sum(zq_part, zq_count, (local TOTAL *)lane));
    if (get_local_id(0) != 0 || (int)step[STATE_STOP] != GO_ON) return;
    ACC change = -step[STATE_ALPHA] * zq; // (r - old r).z
    ACC old = step[STATE_RHO], noise = old * (ACC)(sizeof(REAL) == 4 ? 1e-9f : 1e-20f);
    step[STATE_RHO] = change > 0 && rho > noise ? old * (rho / change) : 0;
#ifndef KRY_FP64
    step[STATE_RHO_REST] = 0;
#endif
}

#pragma kry part several columns

// x += alpha p for the columns that have waited for it since the last step that was theirs. Steps count from iteration
// `start`, and x waits behind those with even numbers, whose direction is p.
kernel void pcg_add_lasts(long n, int start, global const ACC *restrict step, global const REAL *restrict p,
                          long pitch, global REAL *restrict x, long x0, long x_pitch)
{
    step += COLUMN_HERE * STATE_SIZE, p += COLUMN_HERE * pitch, x += x0 + COLUMN_HERE * x_pitch;
    // the one that found the reason to stop took no step
    const int done = (int)step[STATE_ITERATION] - start + ((int)step[STATE_STOP] == GO_ON);
    const REAL alpha = (REAL)step[STATE_ALPHA];
    if (done <= 0 || done % 2 == 0) return;
    FOR_EACH(i, n) x[i] += alpha * p[i];
}
