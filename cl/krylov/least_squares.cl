// least_squares.cl - the vector work of a step of LSQR and of LSMR.
// Host: src/krylov/least_squares.c, which compiles it with KRY_UNALIGNED. Launch: ..._begin one group, the others
// kryi_chunks_of(...).groups, bidiagonal_left of u's rows, the rest of x's. All vectors but x start at element 0.
// u and v are beta and alpha times the vectors of the bidiagonalisation. The scalars go back and forth between
// two blocks as in direction.clh: bidiagonal_left reads `step` and writes `state`, the update the other way.
// Words: bidiagonal_left 2 + 1 a row of A, bidiagonal_right 2 + 1 a column, lsqr_update 3 + 2, lsmr_update 4 + 3.

#include "common/kry.clh"
#include "common/direction.clh"

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

// The first scalars of both. One group.
#define BEGIN_PARAMS                                                                          \
    global const TOTAL *restrict u_part, int u_count, global const TOTAL *restrict v_part,    \
        int v_count, global ACC *restrict step
#define BEGIN(beta, alpha)                                                                    \
    local TOTAL lane[WG];                                                                     \
    const ACC beta = sqrt(VALUE_OF(finish_sum(u_part, u_count, lane)));                       \
    const ACC alpha = sqrt(VALUE_OF(finish_sum(v_part, v_count, lane)));                      \
    if (get_local_id(0) != 0) return;                                                         \
    step[ALPHA] = alpha, step[BETA] = step[NORM_R] = beta, step[NORM_AR] = alpha * beta;      \
    step[NORM_A2] = 0, step[W_SCALE] = alpha > 0 ? 1 / alpha : 0;                             \
    step[ALPHABAR] = alpha, step[RHO] = step[RHOBAR] = step[CBAR] = 1, step[SBAR] = 0;        \
    step[LARGEST] = step[SMALLEST] = -1;

kernel void lsqr_begin(BEGIN_PARAMS)
{
    BEGIN(beta, alpha)
    step[PHIBAR] = beta;
}

kernel void lsmr_begin(BEGIN_PARAMS)
{
    BEGIN(beta, alpha)
    step[RHOD_OLD] = 1, step[ZETA] = step[BETAD] = step[TAUTILDE_OLD] = step[THETATILDE] = 0;
    step[ZETABAR] = alpha * beta, step[BETADD] = beta;
}

// The condition number as LSMR's second bidiagonal matrix shows it, of which cbar rhobar is the last entry on the
// diagonal so far (Fong and Saunders, section 5.4).
ACC condition_of(global const ACC *restrict step)
{
    const ACC last = step[CBAR] * step[RHOBAR], least = step[SMALLEST] < 0 ? last : fmin(step[SMALLEST], last);
    return fmax(step[LARGEST], last) / least;
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
    TOTALV sums = NO_TOTALV;
    TOTAL rest = NO_TOTAL;
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
#define BIDIAGONAL(TYPE, LOAD, STORE, V, total, old, by_old)  \
    {                                                         \
        TYPE next = by_q * LOAD(q) - by_old * LOAD(old);      \
        STORE(next, old);                                     \
        ADD_PRODUCT##V(total, next, next);                    \
    }
    FOR_VEC_SUMMED(i, n) BIDIAGONAL(VEC, VLOAD, VSTORE, V, sums, u, by_u)
    FOR_TAIL_SUMMED(i, n) BIDIAGONAL(REAL, SLOAD, SSTORE, , rest, u, by_u)
    TOTAL sum = group_sum(ALL_LANES(sums, rest), lane);
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
    TOTALV sums = NO_TOTALV;
    TOTAL rest = NO_TOTAL;
    TAKE_ROWS(first)

    if (!go_on) n = 0;
    const REAL by_q = beta > 0 ? (REAL)(1 / beta) : 0, by_v = alpha > 0 ? (REAL)(beta / alpha) : 0;
    q += first, v += first;
    FOR_VEC_SUMMED(i, n) BIDIAGONAL(VEC, VLOAD, VSTORE, V, sums, v, by_v)
    FOR_TAIL_SUMMED(i, n) BIDIAGONAL(REAL, SLOAD, SSTORE, , rest, v, by_v)
    TOTAL sum = group_sum(ALL_LANES(sums, rest), lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = sum;
}

// What both updates begin with: the new beta and alpha, whether to go on, and the rotations of Fong and Saunders.
#define UPDATE_PARAMS                                                                         \
    long n, global const TOTAL *restrict u_part, int u_count,                                 \
        global const TOTAL *restrict v_part, int v_count, global const ACC *restrict state,   \
        global ACC *restrict step, global const REAL *restrict z
#define BEGIN_UPDATE(beta, alpha)                                                             \
    local TOTAL lane[WG];                                                                     \
    const ACC beta = sqrt(VALUE_OF(finish_sum(u_part, u_count, lane)));                       \
    const ACC alpha = sqrt(VALUE_OF(finish_sum(v_part, v_count, lane)));                      \
    const int go_on = state[STATE_STOP] == GO_ON, leads = go_on && get_global_id(0) == 0;     \
    const REAL by_z = alpha > 0 ? (REAL)(1 / alpha) : 0, by_w = (REAL)state[W_SCALE];         \
    const ACC rho = hypot(state[ALPHABAR], beta), c = state[ALPHABAR] / rho, s = beta / rho;  \
    const ACC theta = s * alpha, thetabar = state[SBAR] * rho;                                \
    const ACC rhobar = hypot(state[CBAR] * rho, theta);                                       \
    const ACC cbar = state[CBAR] * rho / rhobar, sbar = theta / rhobar;                       \
    if (get_global_id(0) == 0)                                                                \
        for (int i = 0; i < SCALARS; i++) step[i] = state[i];                                 \
    if (leads) {                                                                              \
        step[ALPHA] = alpha, step[BETA] = beta, step[W_SCALE] = 1;                            \
        step[NORM_A2] = state[NORM_A2] + state[ALPHA] * state[ALPHA] + beta * beta;           \
        step[RHO] = rho, step[RHOBAR] = rhobar, step[CBAR] = cbar, step[SBAR] = sbar;         \
        step[ALPHABAR] = c * alpha;                                                           \
        keep_extremes(state, step);                                                           \
    }                                                                                         \
    if (!go_on) n = 0;

// The largest and the smallest of the entries rhobar that no rotation will change any more: those before the last step.
// NORM_A2 is 0 in the first step.
void keep_extremes(global const ACC *restrict state, global ACC *restrict step)
{
    const ACC rhobar = state[RHOBAR], smallest = state[SMALLEST];
    if (state[NORM_A2] == 0) return;
    step[LARGEST] = fmax(state[LARGEST], rhobar);
    step[SMALLEST] = smallest < 0 ? rhobar : fmin(smallest, rhobar);
}

// x += phi / rho w,  w := z / alpha - theta / rho w, z = v without a preconditioner. c and s have the signs of LSMR's
// paper, and phibar those that make it the same.
kernel void lsqr_update(UPDATE_PARAMS, global REAL *restrict w, global REAL *restrict x, long x0)
{
    BEGIN_UPDATE(beta, alpha)
    const ACC phibar = -s * state[PHIBAR];
    if (leads) {
        step[PHIBAR] = phibar;
        step[NORM_R] = fabs(phibar), step[NORM_AR] = fabs(phibar * alpha * c);
    }
    const REAL by_x = (REAL)(c * state[PHIBAR] / rho), by_old = (REAL)(theta / rho);
    x += x0;
#define LSQR(TYPE, LOAD, STORE)                               \
    {                                                         \
        TYPE w_i = by_w * LOAD(w);                            \
        STORE(LOAD(x) + by_x * w_i, x);                       \
        STORE(by_z * LOAD(z) - by_old * w_i, w);              \
    }
    FOR_VEC(i, n) LSQR(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) LSQR(REAL, SLOAD, SSTORE)
}

// The next estimate of ||r||, which LSMR does not have as LSQR has it: section 5.1 of the paper, without damping.
void lsmr_residual(global const ACC *restrict state, ACC c, ACC s, ACC thetabar, ACC rhobar,
                   ACC zeta, global ACC *restrict step)
{
    const ACC betahat = c * state[BETADD], betadd = -s * state[BETADD];
    const ACC rhotilde = hypot(state[RHOD_OLD], thetabar);
    const ACC ctilde = state[RHOD_OLD] / rhotilde, stilde = thetabar / rhotilde;
    const ACC thetatilde = stilde * rhobar, rhod = ctilde * rhobar;
    const ACC betad = ctilde * betahat - stilde * state[BETAD];
    const ACC tautilde = (state[ZETA] - state[THETATILDE] * state[TAUTILDE_OLD]) / rhotilde;
    const ACC taud = (zeta - thetatilde * tautilde) / rhod;

    step[BETADD] = betadd, step[BETAD] = betad, step[RHOD_OLD] = rhod;
    step[TAUTILDE_OLD] = tautilde, step[THETATILDE] = thetatilde;
    step[NORM_R] = hypot(betad - taud, betadd);
}

// hbar := h - thetabar rho / (old rho old rhobar) hbar,  x += zeta / (rho rhobar) hbar,
// h := z / alpha - theta / rho h; h is w of LSQR
kernel void lsmr_update(UPDATE_PARAMS, global REAL *restrict w, global REAL *restrict x, long x0,
                        global REAL *restrict hbar)
{
    BEGIN_UPDATE(beta, alpha)
    const ACC zeta = cbar * state[ZETABAR], zetabar = -sbar * state[ZETABAR];
    if (leads) {
        step[ZETA] = zeta, step[ZETABAR] = zetabar;
        step[NORM_AR] = fabs(zetabar);
        lsmr_residual(state, c, s, thetabar, rhobar, zeta, step);
    }
    const REAL by_hbar = (REAL)(thetabar * rho / (state[RHO] * state[RHOBAR]));
    const REAL by_x = (REAL)(zeta / (rho * rhobar)), by_old = (REAL)(theta / rho);
    x += x0;
#define LSMR(TYPE, LOAD, STORE)                               \
    {                                                         \
        TYPE h_i = by_w * LOAD(w);                            \
        TYPE hbar_i = h_i - by_hbar * LOAD(hbar);             \
        STORE(hbar_i, hbar);                                  \
        STORE(LOAD(x) + by_x * hbar_i, x);                    \
        STORE(by_z * LOAD(z) - by_old * h_i, w);              \
    }
    FOR_VEC(i, n) LSMR(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) LSMR(REAL, SLOAD, SSTORE)
}
