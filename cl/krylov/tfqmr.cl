// tfqmr.cl - the vector work of an iteration of TFQMR and its scalars. It shares shadow.clh.
// Host: src/krylov/tfqmr.c, which compiles it with KRY_UNALIGNED. Launch: tfqmr_begin one group, the others
// kryi_chunks_of(x).groups. All vectors but y start at element 0. The scalars go back and forth between two blocks as
// in direction.clh: tfqmr_first reads `step` and writes `state`, tfqmr_update the other way.
// Words per unknown: 4 + 2, 3 + 1, 7 + 4, 4 + 1.

#include "common/kry.clh"
#include "common/direction.clh"
#include "krylov/shadow.clh"

// Behind STATE_VALUE: alpha, rho, the square of tau, theta^2 eta of the last half, beta, and the square of the
// shadow's norm, 0 if it is not known.
enum { ALPHA = STATE_VALUE + 1, RHO, TAU2, BACK, BETA, SHADOW, SCALARS };

// The scalars of a cycle. part: the pair (r.shadow, r.r). is_r: the shadow is r. One group.
kernel void tfqmr_begin(int iteration, global const TOTAL2 *restrict part, int count, int is_r,
                        global ACC *restrict step)
{
    local TOTAL2 lane[WG];
    ACC2 sums = VALUES_OF(finish_sum2(part, count, lane));
    if (get_local_id(0) != 0) return;
    for (int i = ALPHA; i < SCALARS; i++) step[i] = 0;
    step[RHO] = sums.x, step[TAU2] = sums.y, step[SHADOW] = is_r ? sums.y : 0;
    step[STATE_VALUE] = sums.x, step[STATE_ITERATION] = (ACC)iteration;
    step[STATE_STOP] = sums.y == 0 ? GO_ON : check_product(sums.x, sums.y, step[SHADOW]);
}

// Test the residual; alpha := rho / (v.shadow), y2 := y1 - alpha v, w := w - alpha A M y1; part[group] := w.w. sigma:
// the pair (v.shadow, v.v). With n = 0 the stopping test alone.
kernel void tfqmr_first(long n ROWS_PARAMS, int iteration, int slot, ACC target2,
                        global const TOTAL *restrict rr_part, int rr_count,
                        global const TOTAL2 *restrict sigma_part, int sigma_count,
                        global const ACC *restrict step, global ACC *restrict state,
                        global ACC *restrict history, global const REAL *restrict y1,
                        global REAL *restrict y2, global const REAL *restrict v,
                        global const REAL *restrict u1, global REAL *restrict w,
                        global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    ACC2 sigma = VALUES_OF(finish_sum2(sigma_part, sigma_count, lane));
    ACC rr = VALUE_OF(finish_sum(rr_part, rr_count, (local TOTAL *)lane));
    int stop = (int)step[STATE_STOP], fresh = stop == GO_ON;
    // What broke the last iteration down leaves a good x, which may be at the target.
    int tested = fresh || (stop != STOP_CONVERGED && iteration == (int)step[STATE_ITERATION]);
    TOTALV sums = NO_TOTALV;
    TOTAL rest = NO_TOTAL;
    TAKE_ROWS(first)

    if (tested && rr <= target2) stop = STOP_CONVERGED;
    if (fresh && stop == GO_ON)
        stop = isfinite(rr) ? check_product(sigma.x, sigma.y, step[SHADOW]) : STOP_NOT_FINITE;
    if (get_global_id(0) == 0) {
        for (int i = ALPHA; i < SCALARS; i++) state[i] = step[i];
        state[ALPHA] = step[RHO] / sigma.x;
        state[STATE_STOP] = stop;
        state[STATE_ITERATION] = tested ? (ACC)iteration : step[STATE_ITERATION];
        state[STATE_VALUE] = fresh ? sigma.x : step[STATE_VALUE];
        if (tested) history[slot] = rr;
    }
    if (stop != GO_ON) n = 0; // not a return: the barriers below are for all
    const REAL alpha = n ? (REAL)(step[RHO] / sigma.x) : 0;
    y1 += first, y2 += first, v += first, u1 += first, w += first;
#define FIRST(TYPE, LOAD, STORE, V, total)          \
    {                                               \
        TYPE w_i = LOAD(w) - alpha * LOAD(u1);      \
        STORE(LOAD(y1) - alpha * LOAD(v), y2);      \
        STORE(w_i, w);                              \
        ADD_PRODUCT##V(total, w_i, w_i);            \
    }
    FOR_VEC_SUMMED(i, n) FIRST(VEC, VLOAD, VSTORE, V, sums)
    FOR_TAIL_SUMMED(i, n) FIRST(REAL, SLOAD, SSTORE, , rest)
    TOTAL sum = group_sum(ALL_LANES(sums, rest), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[get_group_id(0)] = sum;
}

// w := w - alpha A M y2; part[group] := (w.shadow, w.w)
kernel void tfqmr_second(long n ROWS_PARAMS, global const ACC *restrict state,
                         global const REAL *restrict u2, global REAL *restrict w,
                         global const REAL *restrict shadow, global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    TOTALV sww = NO_TOTALV, srho = NO_TOTALV;
    TOTAL tww = NO_TOTAL, trho = NO_TOTAL;
    const REAL alpha = (REAL)state[ALPHA];
    const int go_on = (int)state[STATE_STOP] == GO_ON;
    TAKE_ROWS(first)

    if (!go_on) n = 0;
    u2 += first, w += first, shadow += first;
#define SECOND(TYPE, LOAD, STORE, V, ww, rho)       \
    {                                               \
        TYPE w_i = LOAD(w) - alpha * LOAD(u2);      \
        STORE(w_i, w);                              \
        ADD_PRODUCT##V(ww, w_i, w_i);               \
        ADD_PRODUCT##V(rho, w_i, LOAD(shadow));     \
    }
    FOR_VEC_SUMMED(i, n) SECOND(VEC, VLOAD, VSTORE, V, sww, srho)
    FOR_TAIL_SUMMED(i, n) SECOND(REAL, SLOAD, SSTORE, , tww, trho)
    TOTAL ww = ALL_LANES(sww, tww), rho = ALL_LANES(srho, trho);
    TOTAL2 sums = group_sum2(BOTH(rho, ww), lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sums;
}

// Both halves of the minimal quasi-residual: d := y1 + .. d, y += eta d, r := r + c^2 (w - r), with y1 and the w before
// tfqmr_second, then with y2 and w; y1 := w + beta y2; part[group] := r.r. ww: of the first half; pair: (w.shadow, w.w)
kernel void tfqmr_update(long n ROWS_PARAMS, global const TOTAL *restrict ww_part, int ww_count,
                         global const TOTAL2 *restrict pair_part, int pair_count,
                         global const ACC *restrict state, global ACC *restrict step,
                         global REAL *restrict y1, global const REAL *restrict y2,
                         global const REAL *restrict u2, global const REAL *restrict w,
                         global REAL *restrict d, global REAL *restrict r, global REAL *restrict y, long y0,
                         global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    ACC2 pair = VALUES_OF(finish_sum2(pair_part, pair_count, lane));
    ACC ww = VALUE_OF(finish_sum(ww_part, ww_count, (local TOTAL *)lane));
    const ACC alpha_ = state[ALPHA], tau2 = state[TAU2];
    int stop = (int)state[STATE_STOP], go_on = stop == GO_ON;
    // theta^2 = ww / tau^2, c^2 = 1 / (1 + theta^2), tau^2 := c^2 ww
    const ACC theta1 = tau2 > 0 ? ww / tau2 : 0, c1_ = 1 / (1 + theta1), eta1_ = c1_ * alpha_;
    const ACC middle = c1_ * ww, theta2 = middle > 0 ? pair.y / middle : 0, c2_ = 1 / (1 + theta2);
    const ACC eta2_ = c2_ * alpha_, beta_ = pair.x / state[RHO];
    TOTALV sums = NO_TOTALV;
    TOTAL rest = NO_TOTAL;
    TAKE_ROWS(first)

    if (go_on) stop = check_product(pair.x, pair.y, state[SHADOW]);
    if (get_global_id(0) == 0) {
        for (int i = ALPHA; i < SCALARS; i++) step[i] = state[i];
        step[RHO] = pair.x, step[BETA] = beta_;
        step[TAU2] = c2_ * pair.y, step[BACK] = theta2 * eta2_;
        step[STATE_STOP] = stop;
        step[STATE_ITERATION] = state[STATE_ITERATION] + (go_on ? 1 : 0);
        step[STATE_VALUE] = go_on ? pair.x : state[STATE_VALUE];
    }
    if (!go_on) n = 0; // if this is the last one, x and r are good all the same
    const REAL alpha = n ? (REAL)alpha_ : 0, beta = (REAL)beta_;
    const REAL c1 = (REAL)c1_, c2 = (REAL)c2_, eta1 = (REAL)eta1_, eta2 = (REAL)eta2_;
    const REAL back1 = n ? (REAL)(state[BACK] / alpha_) : 0, back2 = (REAL)(theta1 * c1_);
    y1 += first, y2 += first, u2 += first, w += first, d += first, r += first, y += y0 + first;
#define UPDATE(TYPE, LOAD, STORE, V, total)                                    \
    {                                                                          \
        TYPE w_i = LOAD(w), y2_i = LOAD(y2), r_i = LOAD(r);                    \
        TYPE d1 = LOAD(y1) + back1 * LOAD(d), d2 = y2_i + back2 * d1;          \
        r_i += c1 * (w_i + alpha * LOAD(u2) - r_i);                            \
        r_i += c2 * (w_i - r_i);                                               \
        STORE(LOAD(y) + eta1 * d1 + eta2 * d2, y);                             \
        STORE(d2, d);                                                          \
        STORE(r_i, r);                                                         \
        STORE(w_i + beta * y2_i, y1);                                          \
        ADD_PRODUCT##V(total, r_i, r_i);                                       \
    }
    FOR_VEC_SUMMED(i, n) UPDATE(VEC, VLOAD, VSTORE, V, sums)
    FOR_TAIL_SUMMED(i, n) UPDATE(REAL, SLOAD, SSTORE, , rest)
    TOTAL sum = group_sum(ALL_LANES(sums, rest), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sum;
}

// v := u1 + beta (u2 + beta v), which is A M y1 ... ; part[group] := (v.shadow, v.v)
kernel void tfqmr_image(long n ROWS_PARAMS, global const ACC *restrict step,
                        global const REAL *restrict u1, global const REAL *restrict u2,
                        global REAL *restrict v, global const REAL *restrict shadow,
                        global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    TOTALV svv = NO_TOTALV, ssigma = NO_TOTALV;
    TOTAL tvv = NO_TOTAL, tsigma = NO_TOTAL;
    const REAL beta = (REAL)step[BETA];
    const int go_on = (int)step[STATE_STOP] == GO_ON;
    TAKE_ROWS(first)

    if (!go_on) n = 0;
    u1 += first, u2 += first, v += first, shadow += first;
#define IMAGE(TYPE, LOAD, STORE, V, vv, sigma)                          \
    {                                                                   \
        TYPE v_i = LOAD(u1) + beta * (LOAD(u2) + beta * LOAD(v));       \
        STORE(v_i, v);                                                  \
        ADD_PRODUCT##V(vv, v_i, v_i);                                   \
        ADD_PRODUCT##V(sigma, v_i, LOAD(shadow));                       \
    }
    FOR_VEC_SUMMED(i, n) IMAGE(VEC, VLOAD, VSTORE, V, svv, ssigma)
    FOR_TAIL_SUMMED(i, n) IMAGE(REAL, SLOAD, SSTORE, , tvv, tsigma)
    TOTAL vv = ALL_LANES(svv, tvv), sigma = ALL_LANES(ssigma, tsigma);
    TOTAL2 sums = group_sum2(BOTH(sigma, vv), lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sums;
}
