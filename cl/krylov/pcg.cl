// pcg.cl - the vector work of a conjugate-gradient step.
// Host: src/operator/direction.c (pcg_direction, pcg_check and those of several columns), src/krylov/pcg.c (the
// others).
// Launch: kry_groups_for(n) groups of WG, pcg_step kry_chunks_of(x).groups. All vectors but x start at element 0.

#include "common/kry.clh"
#include "common/direction.clh"

// p := z + beta old, unless the solve has stopped; old may be p.
#define restrict // a promise of the kernel's, which is inlined: Oclgrind does not take it here
INLINED void one_direction(DIRECTION_PARAMS, long n, global const REAL *z, global const REAL *old,
                   global REAL *p, local TOTAL2 *lane)
{
    ACC b;
    if (begin_direction(DIRECTION_PASS, lane, &b) != GO_ON) return;
    REAL beta = (REAL)b;
    FOR_VEC(i, n) STV(LDV(z, i) + beta * LDV(old, i), i, p);
    FOR_TAIL(i, n) p[i] = z[i] + beta * old[i];
}
#undef restrict

// alpha := rho / p.q,  x += alpha p,  r -= alpha q,  part[group] := (r.z, r.r), where z is
//   DIAGONAL   d .* r, written for the next direction
//   otherwise  r itself; a preconditioner that is no diagonal sums again after its own launches
// On CPUs x may wait for the next step (see begin_step), and chunks are taken from the last to the first: of the vectors that the
// product before has left in the cache, and those that the direction behind it wants first, the most are there then.
#ifdef DIAGONAL
#define DIAGONAL_PARAMS , global const REAL *restrict d, global REAL *restrict z
#define DIAGONAL_PASS   , d, z
#define Z_OF(LOAD, v)   (LOAD(d) * (v))
#define PRECONDITION(LOAD, STORE) z_i = Z_OF(LOAD, r_i), STORE(z_i, z)
#else
#define DIAGONAL_PARAMS
#define DIAGONAL_PASS
#define Z_OF(LOAD, v) (v)
#define PRECONDITION(LOAD, STORE) z_i = r_i
#endif
#ifdef KRY_CPU
#undef GROUP_HERE
#define GROUP_HERE ((int)get_num_groups(0) - 1 - (int)get_group_id(0))
#define OLD_PARAM  , global const REAL *restrict old
#define OLD_PASS   , old
#define ADD_TO_X(TYPE, LOAD, STORE)                          \
    if (update) {                                            \
        TYPE x_i = LOAD(x) + by_p * LOAD(p);                 \
        if (by_z != 0) x_i += by_z * Z_OF(LOAD, r_i);        \
        if (by_old != 0) x_i += by_old * LOAD(old);          \
        STORE(x_i, x);                                       \
    }
#else
#define OLD_PARAM
#define OLD_PASS
#define ADD_TO_X(TYPE, LOAD, STORE) STORE(LOAD(x) + alpha * LOAD(p), x);
#endif
#ifdef DRIFT
#define DRIFT_STEP(V, sum) r_i -= drift, ADD##V(sum, r_i);
#else
#define DRIFT_STEP(V, sum)
#endif
#define restrict // a promise of the kernel's, which is inlined: Oclgrind does not take it here
INLINED void one_step(long n ROWS_PARAMS, STEP_PARAMS DRIFT_PARAMS, global const REAL *restrict p OLD_PARAM,
              global const REAL *restrict q, global REAL *restrict x, global REAL *restrict r,
              global TOTAL2 *restrict part DIAGONAL_PARAMS, local TOTAL2 *lane)
{
    step_scalars s;
    const REAL drift = (REAL)DRIFT_OF(lane);
    int stop = begin_step(STEP_PASS, lane, &s);
    REAL alpha = (REAL)s.alpha;
    TAKE_ROWS(first)
    if (stop != GO_ON) n = 0; // not a return: the barriers below are for all
    TOTALV srz = NO_TOTALV, srr = NO_TOTALV, mean = NO_TOTALV;
    TOTAL trz = NO_TOTAL, trr = NO_TOTAL, rest = NO_TOTAL;
    x += first, r += first, p += first, q += first;
#ifdef KRY_CPU
    const REAL by_p = (REAL)s.by_p, by_z = (REAL)s.by_z, by_old = (REAL)s.by_old;
    old += first;
#endif
#ifdef DIAGONAL
    d += first, z += first;
#endif
#define STEP(TYPE, LOAD, STORE, V, rz, rr, rm)         \
    {                                                  \
        TYPE z_i, r_i = LOAD(r);                       \
        ADD_TO_X(TYPE, LOAD, STORE)                    \
        r_i -= alpha * LOAD(q);                        \
        DRIFT_STEP(V, rm)                              \
        STORE(r_i, r);                                 \
        PRECONDITION(LOAD, STORE);                     \
        ADD_PRODUCT##V(rz, r_i, z_i);                  \
        ADD_PRODUCT##V(rr, r_i, r_i);                  \
    }
    FOR_VEC_SUMMED(i, n) STEP(VEC, VLOAD, VSTORE, V, srz, srr, mean)
    FOR_TAIL_SUMMED(i, n) STEP(REAL, SLOAD, SSTORE, , trz, trr, rest)

    TOTAL2 sum = group_sum2(BOTH(ALL_LANES(srz, trz), ALL_LANES(srr, trr)), lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[GROUP_HERE] = sum;
#ifdef DRIFT
    KEEP_DRIFT(ALL_LANES(mean, rest), lane, stop == GO_ON)
#endif
}
#undef restrict

#pragma kry part steps

kernel void pcg_direction(DIRECTION_PARAMS, long n, global const REAL *z, global const REAL *old,
                          global REAL *p)
{
    local TOTAL2 lane[WG];
    one_direction(DIRECTION_PASS, n, z, old, p, lane);
}

kernel void pcg_step(long n ROWS_PARAMS, STEP_PARAMS DRIFT_PARAMS, global const REAL *restrict p OLD_PARAM,
                     global const REAL *restrict q, global REAL *restrict x, long x0,
                     global REAL *restrict r, global TOTAL2 *restrict part DIAGONAL_PARAMS)
{
    local TOTAL2 lane[WG];
    one_step(n ROWS_PASS, STEP_PASS DRIFT_PASS, p OLD_PASS, q, x + x0, r, part DIAGONAL_PASS, lane);
}

// The stopping test alone. One group.
kernel void pcg_check(DIRECTION_PARAMS)
{
    local TOTAL2 lane[WG];
    ACC beta;
    begin_direction(DIRECTION_PASS, lane, &beta);
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

// ---- several columns ----
//
// Recurrences side by side, each with groups of its own: vectors are `pitch` numbers apart, x x_pitch; scalars and
// partial sums stand column by column, and so do the squared residuals of an iteration. A column that has stopped
// is left alone.

#ifdef COLUMNS

// 2 + 1 words for each column that goes on.
kernel void pcg_directions(DIRECTION_PARAMS, long n, global const REAL *z, global const REAL *old,
                           global REAL *p, long pitch)
{
    local TOTAL2 lane[WG];
    const long at = COLUMN_HERE * pitch;
    TAKE_DIRECTION_OF(COLUMN_HERE)
    one_direction(DIRECTION_PASS, n, z + at, old + at, p + at, lane);
}

// The stopping tests alone. One group for each column.
kernel void pcg_checks(DIRECTION_PARAMS)
{
    local TOTAL2 lane[WG];
    ACC beta;
    TAKE_DIRECTION_OF(COLUMN_HERE)
    begin_direction(DIRECTION_PASS, lane, &beta);
}

// 4 + 2 words for each column that goes on; DIAGONAL 1 + 1 more.
kernel void pcg_steps(long n ROWS_PARAMS, STEP_PARAMS DRIFT_PARAMS, global const REAL *restrict p OLD_PARAM,
                      global const REAL *restrict q, global REAL *restrict x, long x0,
                      global REAL *restrict r, global TOTAL2 *restrict part DIAGONAL_PARAMS, long pitch,
                      long x_pitch)
{
    local TOTAL2 lane[WG];
    const long at = COLUMN_HERE * pitch;
    TAKE_STEP_OF(COLUMN_HERE)
    TAKE_DRIFT_OF(COLUMN_HERE)
#ifdef DIAGONAL
    z += at;
#endif
#ifdef KRY_CPU
    old += at;
#endif
    x += x0 + COLUMN_HERE * x_pitch, part += COLUMN_HERE * (int)get_num_groups(0);
    one_step(n ROWS_PASS, STEP_PASS DRIFT_PASS, p + at OLD_PASS, q + at, x, r + at, part DIAGONAL_PASS, lane);
}

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

#endif
