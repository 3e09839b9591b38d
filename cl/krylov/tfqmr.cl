// tfqmr.cl - the vector work of an iteration of TFQMR and its scalars. It shares shadow.clh.
// Host: src/krylov/tfqmr.c, which compiles it with KRY_UNALIGNED. Launch: tfqmr_begin one group, the others
// kryi_chunks_of(x).groups. All vectors but y start at element 0. The scalars go back and forth between two blocks as
// in direction.clh: tfqmr_first reads `step` and writes `state`, tfqmr_update the other way.
// Words per unknown: 4 + 2, 3 + 1, 7 + 4, 4 + 1.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"
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

// Piece i of y2 := y1 - alpha v,  w := w - alpha u1
INLINED void first_half(long i, const int whole, REAL alpha, global const REAL *y1, global REAL *y2, global const REAL *v,
                        global const REAL *u1, global REAL *w, piece_sum *ww)
{
    const VEC w_i = load_piece(w, i, whole) - alpha * load_piece(u1, i, whole);
    store_piece(load_piece(y1, i, whole) - alpha * load_piece(v, i, whole), y2, i, whole);
    store_piece(w_i, w, i, whole);
    add_product(ww, w_i, w_i, whole);
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
    piece_sum ww;
    begin_sum(&ww);
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
    FOR_VEC_SUMMED(i, n) first_half(i, 1, alpha, y1, y2, v, u1, w, &ww);
    FOR_TAIL_SUMMED(i, n) first_half(i, 0, alpha, y1, y2, v, u1, w, &ww);
    TOTAL sum = group_sum(whole_sum(&ww), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[get_group_id(0)] = sum;
}

// Piece i of w := w - alpha u2
INLINED void second_half(long i, const int whole, REAL alpha, global const REAL *u2, global REAL *w, global const REAL *shadow,
                         piece_sum *ww, piece_sum *rho)
{
    const VEC w_i = load_piece(w, i, whole) - alpha * load_piece(u2, i, whole);
    store_piece(w_i, w, i, whole);
    add_product(ww, w_i, w_i, whole);
    add_product(rho, w_i, load_piece(shadow, i, whole), whole);
}

// w := w - alpha A M y2; part[group] := (w.shadow, w.w)
kernel void tfqmr_second(long n ROWS_PARAMS, global const ACC *restrict state,
                         global const REAL *restrict u2, global REAL *restrict w,
                         global const REAL *restrict shadow, global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    piece_sum ww, rho;
    const REAL alpha = (REAL)state[ALPHA];
    const int go_on = (int)state[STATE_STOP] == GO_ON;
    TAKE_ROWS(first)

    if (!go_on) n = 0;
    u2 += first, w += first, shadow += first;
    begin_sum(&ww), begin_sum(&rho);
    FOR_VEC_SUMMED(i, n) second_half(i, 1, alpha, u2, w, shadow, &ww, &rho);
    FOR_TAIL_SUMMED(i, n) second_half(i, 0, alpha, u2, w, shadow, &ww, &rho);
    TOTAL2 sums = group_sum2(BOTH(whole_sum(&rho), whole_sum(&ww)), lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sums;
}

// The factors by which tfqmr_update multiplies vectors.
typedef struct update_factors {
    REAL alpha, beta, c1, c2, eta1, eta2, back1, back2;
} update_factors;

// Piece i of tfqmr_update
INLINED void both_halves(long i, const int whole, const update_factors *by, global REAL *y1, global const REAL *y2,
                         global const REAL *u2, global const REAL *w, global REAL *d, global REAL *r, global REAL *y,
                         piece_sum *rr)
{
    const VEC w_i = load_piece(w, i, whole), y2_i = load_piece(y2, i, whole);
    VEC r_i = load_piece(r, i, whole);
    const VEC d1 = load_piece(y1, i, whole) + by->back1 * load_piece(d, i, whole), d2 = y2_i + by->back2 * d1;
    r_i += by->c1 * (w_i + by->alpha * load_piece(u2, i, whole) - r_i);
    r_i += by->c2 * (w_i - r_i);
    store_piece(load_piece(y, i, whole) + by->eta1 * d1 + by->eta2 * d2, y, i, whole);
    store_piece(d2, d, i, whole);
    store_piece(r_i, r, i, whole);
    store_piece(w_i + by->beta * y2_i, y1, i, whole);
    add_product(rr, r_i, r_i, whole);
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
    const ACC alpha = state[ALPHA], tau2 = state[TAU2];
    int stop = (int)state[STATE_STOP], go_on = stop == GO_ON;
    // theta^2 = ww / tau^2, c^2 = 1 / (1 + theta^2), tau^2 := c^2 ww
    const ACC theta1 = tau2 > 0 ? ww / tau2 : 0, c1 = 1 / (1 + theta1);
    const ACC middle = c1 * ww, theta2 = middle > 0 ? pair.y / middle : 0, c2 = 1 / (1 + theta2);
    const ACC eta2 = c2 * alpha, beta = pair.x / state[RHO];
    update_factors by;
    piece_sum rr;
    begin_sum(&rr);
    TAKE_ROWS(first)

    if (go_on) stop = check_product(pair.x, pair.y, state[SHADOW]);
    if (get_global_id(0) == 0) {
        for (int i = ALPHA; i < SCALARS; i++) step[i] = state[i];
        step[RHO] = pair.x, step[BETA] = beta;
        step[TAU2] = c2 * pair.y, step[BACK] = theta2 * eta2;
        step[STATE_STOP] = stop;
        step[STATE_ITERATION] = state[STATE_ITERATION] + (go_on ? 1 : 0);
        step[STATE_VALUE] = go_on ? pair.x : state[STATE_VALUE];
    }
    if (!go_on) n = 0; // if this is the last one, x and r are good all the same
    by.alpha = n ? (REAL)alpha : 0, by.beta = (REAL)beta, by.c1 = (REAL)c1, by.c2 = (REAL)c2;
    by.eta1 = (REAL)(c1 * alpha), by.eta2 = (REAL)eta2;
    by.back1 = n ? (REAL)(state[BACK] / alpha) : 0, by.back2 = (REAL)(theta1 * c1);
    y1 += first, y2 += first, u2 += first, w += first, d += first, r += first, y += y0 + first;
    FOR_VEC_SUMMED(i, n) both_halves(i, 1, &by, y1, y2, u2, w, d, r, y, &rr);
    FOR_TAIL_SUMMED(i, n) both_halves(i, 0, &by, y1, y2, u2, w, d, r, y, &rr);
    TOTAL sum = group_sum(whole_sum(&rr), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sum;
}

// Piece i of v := u1 + beta (u2 + beta v)
INLINED void image(long i, const int whole, REAL beta, global const REAL *u1, global const REAL *u2, global REAL *v,
                   global const REAL *shadow, piece_sum *vv, piece_sum *sigma)
{
    const VEC v_i = load_piece(u1, i, whole) + beta * (load_piece(u2, i, whole) + beta * load_piece(v, i, whole));
    store_piece(v_i, v, i, whole);
    add_product(vv, v_i, v_i, whole);
    add_product(sigma, v_i, load_piece(shadow, i, whole), whole);
}

// v := u1 + beta (u2 + beta v), which is A M y1 ... ; part[group] := (v.shadow, v.v)
kernel void tfqmr_image(long n ROWS_PARAMS, global const ACC *restrict step,
                        global const REAL *restrict u1, global const REAL *restrict u2,
                        global REAL *restrict v, global const REAL *restrict shadow,
                        global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    piece_sum vv, sigma;
    const REAL beta = (REAL)step[BETA];
    const int go_on = (int)step[STATE_STOP] == GO_ON;
    TAKE_ROWS(first)

    if (!go_on) n = 0;
    u1 += first, u2 += first, v += first, shadow += first;
    begin_sum(&vv), begin_sum(&sigma);
    FOR_VEC_SUMMED(i, n) image(i, 1, beta, u1, u2, v, shadow, &vv, &sigma);
    FOR_TAIL_SUMMED(i, n) image(i, 0, beta, u1, u2, v, shadow, &vv, &sigma);
    TOTAL2 sums = group_sum2(BOTH(whole_sum(&sigma), whole_sum(&vv)), lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sums;
}
