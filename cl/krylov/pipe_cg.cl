// pipe_cg.cl - the vector work of an iteration of pipelined conjugate gradients.
// Host: src/krylov/pipe_cg.c, which compiles it with KRY_UNALIGNED. Launch: pipe_cg_check one group, the others
// kryi_chunks_of(x).groups. All vectors but x start at element 0. Sums are r'u, w'u and r'r.
// Words per unknown: pipe_cg_step 7 + 6, with a preconditioner 10 + 8; pipe_cg_sums 2, with one 3.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"

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

// The sums of an iteration.
typedef struct pipe_sums {
    piece_sum ru, wu, rr;
} pipe_sums;

INLINED void begin_sums(pipe_sums *s) { begin_sum(&s->ru), begin_sum(&s->wu), begin_sum(&s->rr); }

INLINED void add_sums(pipe_sums *s, VEC r, VEC w, VEC u, const int whole)
{
    add_product(&s->ru, r, u, whole);
    add_product(&s->wu, w, u, whole);
    add_product(&s->rr, r, r, whole);
}

// part[3 group ...] := the sums
INLINED void leave_sums(const pipe_sums *s, local TOTAL *lane, global TOTAL *part)
{
    TOTAL ru = group_sum(whole_sum(&s->ru), lane), wu = group_sum(whole_sum(&s->wu), lane);
    TOTAL rr = group_sum(whole_sum(&s->rr), lane);
    part += 3 * get_group_id(0);
    if (get_local_id(0) == 0) part[0] = ru, part[1] = wu, part[2] = rr;
}

kernel void pipe_cg_sums(long n ROWS_PARAMS, global const REAL *restrict r,
                         global const REAL *restrict w, global const REAL *restrict u,
                         global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    pipe_sums sums;
    begin_sums(&sums);
    TAKE_ROWS(first)
    r += first, w += first, u += first;
    FOR_VEC_SUMMED(i, n) add_sums(&sums, load_vector(r, i), load_vector(w, i), load_vector(u, i), 1);
    FOR_TAIL_SUMMED(i, n) add_sums(&sums, (VEC)(r[i]), (VEC)(w[i]), (VEC)(u[i]), 0);
    leave_sums(&sums, lane, part);
}

// The vectors that pipe_cg_step writes. Without a preconditioner q and u are NULL.
typedef struct pipe_vectors {
    global REAL *z, *w, *s, *p, *x, *r, *q, *u;
} pipe_vectors;

// Piece i of pipe_cg_step
INLINED void pipe_step(long i, const int whole, const int preconditioned, REAL alpha, REAL beta, global const REAL *Am,
                       global const REAL *m, const pipe_vectors *v, pipe_sums *sums)
{
    VEC w_i = load_piece(v->w, i, whole), r_i = load_piece(v->r, i, whole), u_i = r_i;
    if (preconditioned) u_i = load_piece(v->u, i, whole);
    const VEC p_i = u_i + beta * load_piece(v->p, i, whole), s_i = w_i + beta * load_piece(v->s, i, whole);
    const VEC z_i = load_piece(Am, i, whole) + beta * load_piece(v->z, i, whole);
    store_piece(p_i, v->p, i, whole);
    store_piece(s_i, v->s, i, whole);
    store_piece(z_i, v->z, i, whole);
    store_piece(load_piece(v->x, i, whole) + alpha * p_i, v->x, i, whole);
    r_i -= alpha * s_i, w_i -= alpha * z_i;
    store_piece(r_i, v->r, i, whole);
    store_piece(w_i, v->w, i, whole);
    if (preconditioned) {
        const VEC q_i = load_piece(m, i, whole) + beta * load_piece(v->q, i, whole);
        store_piece(q_i, v->q, i, whole);
        u_i -= alpha * q_i;
        store_piece(u_i, v->u, i, whole);
    } else {
        u_i = r_i;
    }
    add_sums(sums, r_i, w_i, u_i, whole);
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
    pipe_sums sums;
    begin_sums(&sums);
    const REAL alpha = (REAL)state[ALPHA], beta = (REAL)state[BETA];
    TAKE_ROWS(first)
    if ((int)state[STATE_STOP] != GO_ON) n = 0; // not a return: the barriers below are for all
    Am += first, z += first, w += first, s += first, p += first, x += x0 + first, r += first;
    m += first, q += first, u += first;
    const pipe_vectors v = { z, w, s, p, x, r, q, u };
    FOR_VEC_SUMMED(i, n) pipe_step(i, 1, preconditioned, alpha, beta, Am, m, &v, &sums);
    FOR_TAIL_SUMMED(i, n) pipe_step(i, 0, preconditioned, alpha, beta, Am, m, &v, &sums);
    leave_sums(&sums, lane, part);
}
