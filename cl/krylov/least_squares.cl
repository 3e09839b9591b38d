// least_squares.cl - the vector work of a step of LSQR and of LSMR.
// Host: src/krylov/least_squares.c, which compiles it with KRY_UNALIGNED. Launch: ..._begin one group, the others
// kryi_chunks_of(...).groups, bidiagonal_left of u's rows, the rest of x's. All vectors but x start at element 0.
// u and v are beta and alpha times the vectors of the bidiagonalisation. The scalars go back and forth between
// two blocks as in direction.clh: bidiagonal_left reads `step` and writes `state`, the update the other way.
// Words: bidiagonal_left 2 + 1 a row of A, bidiagonal_right 2 + 1 a column, lsqr_update 3 + 2, lsmr_update 4 + 3.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"

// Behind STATE_VALUE. Both methods: alpha, beta, ||r||, ||A'r||, the sum of squares that estimates ||A||^2, what w
// has to be multiplied by; rho, the entries on the diagonal of the bidiagonal matrix, of which alphabar is to become the
// next (rhobar in LSQR's paper), and rhobar, those of LSMR's second one, with the rotation that made it and the largest and
// the smallest but for the last, which estimate the condition number: -1 where there are none. Then those of LSMR, or of
// LSQR, by the names of the papers.
enum {
    ALPHA = STATE_VALUE + 1, BETA, NORM_R, NORM_AR, NORM_A2, W_SCALE, RHO, ALPHABAR, RHOBAR, CBAR, SBAR, LARGEST,
    SMALLEST,
    ZETA, ZETABAR, BETADD, BETAD, RHOD_OLD, TAUTILDE_OLD, THETATILDE,
    SCALARS,
    PHIBAR = ZETA // of LSQR
};

// The first scalars of both. Returns whether the work-item is the one that writes the others.
int begin(global const TOTAL *u_part, int u_count, global const TOTAL *v_part, int v_count, local TOTAL *lane,
          global ACC *step)
{
    const ACC beta = sqrt(VALUE_OF(finish_sum(u_part, u_count, lane)));
    const ACC alpha = sqrt(VALUE_OF(finish_sum(v_part, v_count, lane)));
    if (get_local_id(0) != 0) return 0;
    step[ALPHA] = alpha, step[BETA] = step[NORM_R] = beta, step[NORM_AR] = alpha * beta;
    step[NORM_A2] = 0, step[W_SCALE] = alpha > 0 ? 1 / alpha : 0;
    step[ALPHABAR] = alpha, step[RHO] = step[RHOBAR] = step[CBAR] = 1, step[SBAR] = 0;
    step[LARGEST] = step[SMALLEST] = -1;
    return 1;
}

// One group.
kernel void lsqr_begin(global const TOTAL *restrict u_part, int u_count, global const TOTAL *restrict v_part,
                       int v_count, global ACC *restrict step)
{
    local TOTAL lane[WG];
    if (begin(u_part, u_count, v_part, v_count, lane, step)) step[PHIBAR] = step[BETA];
}

// One group.
kernel void lsmr_begin(global const TOTAL *restrict u_part, int u_count, global const TOTAL *restrict v_part,
                       int v_count, global ACC *restrict step)
{
    local TOTAL lane[WG];
    if (!begin(u_part, u_count, v_part, v_count, lane, step)) return;
    step[RHOD_OLD] = 1, step[ZETA] = step[BETAD] = step[TAUTILDE_OLD] = step[THETATILDE] = 0;
    step[ZETABAR] = step[NORM_AR], step[BETADD] = step[BETA];
}

// The condition number as LSMR's second bidiagonal matrix shows it, of which cbar rhobar is the last entry on the
// diagonal so far (Fong and Saunders, section 5.4).
ACC condition_of(global const ACC *restrict step)
{
    const ACC last = step[CBAR] * step[RHOBAR], least = step[SMALLEST] < 0 ? last : fmin(step[SMALLEST], last);
    return fmax(step[LARGEST], last) / least;
}

// Piece i of old := by_q q - by_old old
INLINED void combine(long i, const int whole, REAL by_q, global const REAL *q, REAL by_old, global REAL *old, piece_sum *square)
{
    const VEC next = by_q * load_piece(q, i, whole) - by_old * load_piece(old, i, whole);
    store_piece(next, old, i, whole);
    add_product(square, next, next, whole);
}

// Test ||r||, ||A'r|| and the condition number; u := q / alpha - alpha / beta u, q = A v; part[group] := u.u. With n = 0 the
// stopping test alone.
kernel void bidiagonal_left(long n ROWS_PARAMS, int iteration, int slot, ACC target, ACC rtol, ACC conlim,
                            global const ACC *restrict step, global ACC *restrict state,
                            global ACC *restrict history, global const REAL *restrict q,
                            global REAL *restrict u, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    const ACC r = step[NORM_R], ar = step[NORM_AR], alpha = step[ALPHA], beta = step[BETA];
    int stop = (int)step[STATE_STOP], fresh = stop == GO_ON;
    piece_sum uu;
    begin_sum(&uu);
    TAKE_ROWS(first)

    if (fresh && !(isfinite(r) && isfinite(ar)))
        stop = STOP_NOT_FINITE;
    else if (fresh && (r <= target || ar <= rtol * sqrt(step[NORM_A2]) * r))
        stop = STOP_CONVERGED;
    else if (fresh && conlim > 0 && condition_of(step) > conlim)
        stop = STOP_MATRIX;
    if (get_global_id(0) == 0) {
        for (int i = ALPHA; i < SCALARS; i++) state[i] = step[i];
        state[STATE_STOP] = stop;
        state[STATE_ITERATION] = fresh ? (ACC)iteration : step[STATE_ITERATION];
        state[STATE_VALUE] = !fresh ? step[STATE_VALUE] : stop == STOP_MATRIX ? condition_of(step) : r;
        if (fresh) history[slot] = r * r;
    }
    if (stop != GO_ON) n = 0; // not a return: the barriers below are for all
    const REAL by_q = (REAL)(1 / alpha), by_u = (REAL)(alpha / beta);
    q += first, u += first;
    FOR_VEC_SUMMED(i, n) combine(i, 1, by_q, q, by_u, u, &uu);
    FOR_TAIL_SUMMED(i, n) combine(i, 0, by_q, q, by_u, u, &uu);
    TOTAL sum = group_sum(whole_sum(&uu), lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[get_group_id(0)] = sum;
}

// v := q / beta - beta / alpha v, q = A'u, the last term 0 in the beginning, where alpha is; part[group] := v.v.
// Where u = 0 v becomes 0: there is no other step.
kernel void bidiagonal_right(long n ROWS_PARAMS, global const TOTAL *restrict u_part, int u_count,
                             global const ACC *restrict state, global const REAL *restrict q,
                             global REAL *restrict v, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    const ACC beta = sqrt(VALUE_OF(finish_sum(u_part, u_count, lane))), alpha = state[ALPHA];
    const int go_on = state[STATE_STOP] == GO_ON;
    piece_sum vv;
    begin_sum(&vv);
    TAKE_ROWS(first)

    if (!go_on) n = 0;
    const REAL by_q = beta > 0 ? (REAL)(1 / beta) : 0, by_v = alpha > 0 ? (REAL)(beta / alpha) : 0;
    q += first, v += first;
    FOR_VEC_SUMMED(i, n) combine(i, 1, by_q, q, by_v, v, &vv);
    FOR_TAIL_SUMMED(i, n) combine(i, 0, by_q, q, by_v, v, &vv);
    TOTAL sum = group_sum(whole_sum(&vv), lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sum;
}

// The largest and the smallest of the entries rhobar that no rotation will change any more: those before the last step.
// NORM_A2 is 0 in the first step.
void keep_extremes(global const ACC *restrict state, global ACC *restrict step)
{
    const ACC rhobar = state[RHOBAR], smallest = state[SMALLEST];
    if (state[NORM_A2] == 0) return;
    step[LARGEST] = fmax(state[LARGEST], rhobar);
    step[SMALLEST] = smallest < 0 ? rhobar : fmin(smallest, rhobar);
}

// The rotations of Fong and Saunders, the new beta and alpha, and what w and z are to be multiplied by.
typedef struct rotations {
    ACC alpha, beta, rho, c, s, theta, thetabar, rhobar, cbar, sbar;
    REAL by_z, by_w;
    int go_on, leads; // leads: this work-item writes the scalars
} rotations;

// Both updates begin with this: the sums of the launch before, and the rotations of this step.
INLINED void begin_update(global const TOTAL *u_part, int u_count, global const TOTAL *v_part, int v_count,
                          global const ACC *state, global ACC *step, local TOTAL *lane, rotations *R)
{
    const ACC beta = sqrt(VALUE_OF(finish_sum(u_part, u_count, lane)));
    const ACC alpha = sqrt(VALUE_OF(finish_sum(v_part, v_count, lane)));
    const ACC rho = hypot(state[ALPHABAR], beta), c = state[ALPHABAR] / rho, s = beta / rho;
    R->go_on = state[STATE_STOP] == GO_ON, R->leads = R->go_on && get_global_id(0) == 0;
    R->by_z = alpha > 0 ? (REAL)(1 / alpha) : 0, R->by_w = (REAL)state[W_SCALE];
    R->alpha = alpha, R->beta = beta, R->rho = rho, R->c = c, R->s = s;
    R->theta = s * alpha, R->thetabar = state[SBAR] * rho;
    R->rhobar = hypot(state[CBAR] * rho, R->theta);
    R->cbar = state[CBAR] * rho / R->rhobar, R->sbar = R->theta / R->rhobar;
    if (get_global_id(0) == 0)
        for (int i = 0; i < SCALARS; i++) step[i] = state[i];
    if (!R->leads) return;
    step[ALPHA] = alpha, step[BETA] = beta, step[W_SCALE] = 1;
    step[NORM_A2] = state[NORM_A2] + state[ALPHA] * state[ALPHA] + beta * beta;
    step[RHO] = rho, step[RHOBAR] = R->rhobar, step[CBAR] = R->cbar, step[SBAR] = R->sbar;
    step[ALPHABAR] = c * alpha;
    keep_extremes(state, step);
}

// Piece i of x += by_x w,  w := by_z z - by_old w; w counts as by_w w before
INLINED void update_lsqr(long i, const int whole, const rotations *R, REAL by_x, REAL by_old, global const REAL *z, global REAL *w,
                         global REAL *x)
{
    const VEC w_i = R->by_w * load_piece(w, i, whole);
    store_piece(load_piece(x, i, whole) + by_x * w_i, x, i, whole);
    store_piece(R->by_z * load_piece(z, i, whole) - by_old * w_i, w, i, whole);
}

// x += phi / rho w,  w := z / alpha - theta / rho w, z = v without a preconditioner. c and s have the signs of LSMR's
// paper, and phibar those that make it the same.
kernel void lsqr_update(long n, global const TOTAL *restrict u_part, int u_count, global const TOTAL *restrict v_part,
                        int v_count, global const ACC *restrict state, global ACC *restrict step,
                        global const REAL *restrict z, global REAL *restrict w, global REAL *restrict x, long x0)
{
    local TOTAL lane[WG];
    rotations R;
    begin_update(u_part, u_count, v_part, v_count, state, step, lane, &R);
    const ACC phibar = -R.s * state[PHIBAR];
    if (!R.go_on) n = 0;
    if (R.leads) {
        step[PHIBAR] = phibar;
        step[NORM_R] = fabs(phibar), step[NORM_AR] = fabs(phibar * R.alpha * R.c);
    }
    const REAL by_x = (REAL)(R.c * state[PHIBAR] / R.rho), by_old = (REAL)(R.theta / R.rho);
    x += x0;
    FOR_VEC(i, n) update_lsqr(i, 1, &R, by_x, by_old, z, w, x);
    FOR_TAIL(i, n) update_lsqr(i, 0, &R, by_x, by_old, z, w, x);
}

// The next estimate of ||r||, which LSMR does not have as LSQR has it: section 5.1 of the paper, without damping.
void lsmr_residual(global const ACC *restrict state, const rotations *R, ACC zeta, global ACC *restrict step)
{
    const ACC betahat = R->c * state[BETADD], betadd = -R->s * state[BETADD];
    const ACC rhotilde = hypot(state[RHOD_OLD], R->thetabar);
    const ACC ctilde = state[RHOD_OLD] / rhotilde, stilde = R->thetabar / rhotilde;
    const ACC thetatilde = stilde * R->rhobar, rhod = ctilde * R->rhobar;
    const ACC betad = ctilde * betahat - stilde * state[BETAD];
    const ACC tautilde = (state[ZETA] - state[THETATILDE] * state[TAUTILDE_OLD]) / rhotilde;
    const ACC taud = (zeta - thetatilde * tautilde) / rhod;

    step[BETADD] = betadd, step[BETAD] = betad, step[RHOD_OLD] = rhod;
    step[TAUTILDE_OLD] = tautilde, step[THETATILDE] = thetatilde;
    step[NORM_R] = hypot(betad - taud, betadd);
}

// Piece i of lsmr_update, with h in the place of w
INLINED void update_lsmr(long i, const int whole, const rotations *R, REAL by_hbar, REAL by_x, REAL by_old, global const REAL *z,
                         global REAL *h, global REAL *x, global REAL *hbar)
{
    const VEC h_i = R->by_w * load_piece(h, i, whole);
    const VEC hbar_i = h_i - by_hbar * load_piece(hbar, i, whole);
    store_piece(hbar_i, hbar, i, whole);
    store_piece(load_piece(x, i, whole) + by_x * hbar_i, x, i, whole);
    store_piece(R->by_z * load_piece(z, i, whole) - by_old * h_i, h, i, whole);
}

// hbar := h - thetabar rho / (old rho old rhobar) hbar,  x += zeta / (rho rhobar) hbar,
// h := z / alpha - theta / rho h; h is w of LSQR
kernel void lsmr_update(long n, global const TOTAL *restrict u_part, int u_count, global const TOTAL *restrict v_part,
                        int v_count, global const ACC *restrict state, global ACC *restrict step,
                        global const REAL *restrict z, global REAL *restrict w, global REAL *restrict x, long x0,
                        global REAL *restrict hbar)
{
    local TOTAL lane[WG];
    rotations R;
    begin_update(u_part, u_count, v_part, v_count, state, step, lane, &R);
    const ACC zeta = R.cbar * state[ZETABAR], zetabar = -R.sbar * state[ZETABAR];
    if (!R.go_on) n = 0;
    if (R.leads) {
        step[ZETA] = zeta, step[ZETABAR] = zetabar;
        step[NORM_AR] = fabs(zetabar);
        lsmr_residual(state, &R, zeta, step);
    }
    const REAL by_hbar = (REAL)(R.thetabar * R.rho / (state[RHO] * state[RHOBAR]));
    const REAL by_x = (REAL)(zeta / (R.rho * R.rhobar)), by_old = (REAL)(R.theta / R.rho);
    x += x0;
    FOR_VEC(i, n) update_lsmr(i, 1, &R, by_hbar, by_x, by_old, z, w, x, hbar);
    FOR_TAIL(i, n) update_lsmr(i, 0, &R, by_hbar, by_x, by_old, z, w, x, hbar);
}
