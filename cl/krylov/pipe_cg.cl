// pipe_cg.cl - the vector work of an iteration of pipelined conjugate gradients.
// Host: src/krylov/pipe_cg.c, which compiles it with KRY_UNALIGNED. Launch: pipe_cg_check one group, the others
// kryi_chunks_of(x).groups. All vectors but x start at element 0. Sums are r'u, w'u and r'r.
// Words per unknown: pipe_cg_step 7 + 6, with a preconditioner 10 + 8; pipe_cg_sums 2, with one 3.

#include "common/kry.clh"
#include "common/direction.clh"

// Behind STATE_VALUE: gamma = r'u and alpha of the last step, and beta of the present one
enum { GAMMA = STATE_VALUE + 1, ALPHA, BETA };

// Sum number c of what the groups of the last launch left.
ACC sum_of(int c, global const TOTAL *restrict part, int count, local TOTAL *lane)
{
    TOTAL sum = NO_TOTAL;
    for (int i = get_local_id(0); i < count; i += WG) ADD_TOTAL(sum, part[3 * i + c]);
    return VALUE_OF(group_sum(sum, lane));
}

// Finish the sums, test the residual and, unless `only` that is asked, find alpha and beta. Where rounding
// errors leave nothing of p'A p, the recurrence begins anew along u. One group.
kernel void pipe_cg_check(int only, int iteration, int slot, ACC target2,
                          global const TOTAL *restrict part, int count, global ACC *restrict state,
                          global ACC *restrict history)
{
    local TOTAL lane[WG];
    const ACC gamma = sum_of(0, part, count, lane), delta = sum_of(1, part, count, lane);
    const ACC rr = sum_of(2, part, count, lane);
    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;

    const ACC beta = state[GAMMA] > 0 ? gamma / state[GAMMA] : 0;
    const ACC rest = state[ALPHA] > 0 ? delta - beta * gamma / state[ALPHA] : delta;
    const int anew = !(rest > 0);
    const int stop = rr <= target2                   ? STOP_CONVERGED
                     : !isfinite(rr + gamma + delta) ? STOP_NOT_FINITE
                     : !(gamma > 0)                  ? STOP_PRECOND
                     : !(delta > 0)                  ? STOP_MATRIX
                                                     : GO_ON;
    history[slot] = rr;
    state[STATE_STOP] = stop;
    state[STATE_ITERATION] = (ACC)iteration;
    state[STATE_VALUE] = stop == STOP_MATRIX ? delta : gamma;
    if (only || stop != GO_ON) return;
    state[BETA] = anew ? 0 : beta;
    state[ALPHA] = gamma / (anew ? delta : rest);
    state[GAMMA] = gamma;
}

// part[3 group ...] := the sums
#define LEAVE_SUMS(ru, wu, rr)                                             \
    {                                                                      \
        TOTAL one = group_sum(ru, lane), two = group_sum(wu, lane);        \
        TOTAL three = group_sum(rr, lane);                                 \
        part += 3 * get_group_id(0);                                       \
        if (get_local_id(0) == 0) part[0] = one, part[1] = two, part[2] = three; \
    }

kernel void pipe_cg_sums(long n ROWS_PARAMS, global const REAL *restrict r,
                         global const REAL *restrict w, global const REAL *restrict u,
                         global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTAL ru = NO_TOTAL, wu = NO_TOTAL, rr = NO_TOTAL;
    TOTALV rus = NO_TOTALV, wus = NO_TOTALV, rrs = NO_TOTALV;
    TAKE_ROWS(first)
    r += first, w += first, u += first;
#define ADD_SUMS(V, LOAD, ru, wu, rr)             \
    ADD_PRODUCT##V(ru, LOAD(r), LOAD(u));         \
    ADD_PRODUCT##V(wu, LOAD(w), LOAD(u));         \
    ADD_PRODUCT##V(rr, LOAD(r), LOAD(r));
    FOR_VEC_SUMMED(i, n) { ADD_SUMS(V, VLOAD, rus, wus, rrs) }
    FOR_TAIL_SUMMED(i, n) { ADD_SUMS(, SLOAD, ru, wu, rr) }
    LEAVE_SUMS(ALL_LANES(rus, ru), ALL_LANES(wus, wu), ALL_LANES(rrs, rr))
}

// p := u + beta p,  s := w + beta s = A p,  z := A m + beta z = A q,  q := m + beta q = M s,  x += alpha p,
// r -= alpha s,  w -= alpha z,  u -= alpha q, and the sums of the next iteration. Without a preconditioner m, q and u are NULL:
// they are w, s and r.
kernel void pipe_cg_step(long n ROWS_PARAMS, global const ACC *restrict state,
                         global const REAL *restrict Am, global REAL *restrict z,
                         global REAL *restrict w, global REAL *restrict s, global REAL *restrict p,
                         global REAL *restrict x, long x0, global REAL *restrict r,
                         global TOTAL *restrict part, global const REAL *restrict m,
                         global REAL *restrict q, global REAL *restrict u)
{
    local TOTAL lane[WG];
    const int preconditioned = u != 0;
    TOTAL ru = NO_TOTAL, wu = NO_TOTAL, rr = NO_TOTAL;
    TOTALV rus = NO_TOTALV, wus = NO_TOTALV, rrs = NO_TOTALV;
    const REAL alpha = (REAL)state[ALPHA], beta = (REAL)state[BETA];
    TAKE_ROWS(first)
    if ((int)state[STATE_STOP] != GO_ON) n = 0; // not a return: the barriers below are for all
    Am += first, z += first, w += first, s += first, p += first, x += x0 + first, r += first;
    m += first, q += first, u += first;
#define PIPE_STEP(TYPE, LOAD, STORE, V, ru, wu, rr)                                       \
    {                                                                                     \
        TYPE w_i = LOAD(w), r_i = LOAD(r), u_i = r_i;                                     \
        if (preconditioned) u_i = LOAD(u);                                                \
        TYPE p_i = u_i + beta * LOAD(p), s_i = w_i + beta * LOAD(s);                      \
        TYPE z_i = LOAD(Am) + beta * LOAD(z);                                             \
        STORE(p_i, p);                                                                    \
        STORE(s_i, s);                                                                    \
        STORE(z_i, z);                                                                    \
        STORE(LOAD(x) + alpha * p_i, x);                                                  \
        r_i -= alpha * s_i, w_i -= alpha * z_i;                                           \
        STORE(r_i, r);                                                                    \
        STORE(w_i, w);                                                                    \
        if (preconditioned) {                                                             \
            const TYPE q_i = LOAD(m) + beta * LOAD(q);                                    \
            STORE(q_i, q);                                                                \
            u_i -= alpha * q_i;                                                           \
            STORE(u_i, u);                                                                \
        } else {                                                                          \
            u_i = r_i;                                                                    \
        }                                                                                 \
        ADD_PRODUCT##V(ru, r_i, u_i);                                                     \
        ADD_PRODUCT##V(wu, w_i, u_i);                                                     \
        ADD_PRODUCT##V(rr, r_i, r_i);                                                     \
    }
    FOR_VEC_SUMMED(i, n) PIPE_STEP(VEC, VLOAD, VSTORE, V, rus, wus, rrs)
    FOR_TAIL_SUMMED(i, n) PIPE_STEP(REAL, SLOAD, SSTORE, , ru, wu, rr)
    LEAVE_SUMS(ALL_LANES(rus, ru), ALL_LANES(wus, wu), ALL_LANES(rrs, rr))
}
