// idr.cl - the vector work of IDR(s) and its scalars.
// Host: src/krylov/idr.c, which compiles it with KRY_UNALIGNED. Launch: idr_check, idr_solve and idr_project
// one group, idr_remove and idr_direction kryi_groups_for(n), the others kryi_chunks_of(x).groups. G and U have s
// columns, ld apart.
//
// Words per unknown of s + 1 steps without M: 3 s^2 + 12 s + 9.

#include "common/kry.clh"
#include "common/direction.clh"

#define MOST 16 // s at most
// What stands in `scalars`: omega; r.r; f = P'r; c; alpha; beta; M = P'G, MOST numbers a column
#define OMEGA 0
#define SQUARE 1
#define F 2
#define C (F + MOST)
#define ALPHA (C + MOST)
#define BETA (ALPHA + MOST)
#define M (BETA + 1)

// A cycle begins: M = 1, omega = 1.
kernel void idr_begin(global ACC *restrict scalars)
{
    for (int i = get_local_id(0); i < M + MOST * MOST; i += WG)
        scalars[i] = i == OMEGA || (i >= M && (i - M) % (MOST + 1) == 0);
}

kernel void idr_check(int iteration, int slot, ACC target2, global const TOTAL *restrict part,
                      int count, global ACC *restrict state, global ACC *restrict history,
                      global ACC *restrict scalars)
{
    local TOTAL lane[WG];
    ACC rr = VALUE_OF(finish_sum(part, count, lane));
    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;
    history[slot] = rr, scalars[SQUARE] = rr;
    state[STATE_ITERATION] = (ACC)iteration;
    state[STATE_VALUE] = rr;
    state[STATE_STOP] = rr <= target2 ? STOP_CONVERGED : isfinite(rr) ? GO_ON : STOP_NOT_FINITE;
}

// The s sums of a product with P', each handed to every work-item.
void finish_products(global const TOTAL *restrict part, int count, int s, ACC *product,
                     local TOTAL *lane)
{
    for (int h = 0; h < s; h++) {
        TOTAL sum = NO_TOTAL;
        for (int i = get_local_id(0); i < count; i += WG) ADD_TOTAL(sum, part[i * s + h]);
        product[h] = VALUE_OF(group_sum(sum, lane));
    }
}

// c: M c = f for rows and columns from k on, where M is lower triangular; k = 0: f := P'r before that.
kernel void idr_solve(int s, int k, global const TOTAL *restrict part, int count,
                      global ACC *restrict scalars)
{
    local TOTAL lane[WG];
    ACC f[MOST];
    if (k == 0) finish_products(part, count, s, f, lane);
    if (get_local_id(0) != 0) return;
    for (int h = 0; h < s; h++) {
        if (k == 0) scalars[F + h] = f[h];
        f[h] = scalars[F + h];
    }
    for (int i = k; i < s; i++) {
        ACC c = f[i] / scalars[M + i * MOST + i];
        scalars[C + i] = c;
        for (int h = i + 1; h < s; h++) f[h] -= c * scalars[M + i * MOST + h];
    }
}

// v := r - sum of c_i g_i, i >= k
kernel void idr_remove(long n, int s, int k, long ld, global const ACC *restrict state,
                       global const ACC *restrict scalars, global const REAL *restrict G,
                       global const REAL *restrict r, global REAL *restrict v)
{
    if ((int)state[STATE_STOP] != GO_ON) return;
    scalars += C;
#define REMOVE(TYPE, LOAD, STORE)                                                 \
    {                                                                             \
        TYPE v_i = LOAD(r);                                                       \
        for (int c = k; c < s; c++) v_i -= (REAL)scalars[c] * LOAD((G + c * ld)); \
        STORE(v_i, v);                                                            \
    }
    FOR_VEC(i, n) REMOVE(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) REMOVE(REAL, SLOAD, SSTORE)
}

// u_k := omega v + sum of c_i u_i, i >= k, with v := z - sum of c_i g_i; G NULL: v is z, which is M times what idr_remove
// left
kernel void idr_direction(long n, int s, int k, long ld, global const ACC *restrict state,
                          global const ACC *restrict scalars, global const REAL *restrict G,
                          global const REAL *restrict z, global REAL *restrict U)
{
    const REAL omega = (REAL)scalars[OMEGA];
    if ((int)state[STATE_STOP] != GO_ON) return;
    global REAL *u = U + k * ld;
    scalars += C;
#define DIRECT(TYPE, LOAD, STORE)                          \
    {                                                      \
        TYPE v_i = LOAD(z), u_i = 0;                       \
        for (int c = k; c < s; c++) {                      \
            const REAL scale = (REAL)scalars[c];           \
            if (G) v_i -= scale * LOAD((G + c * ld));      \
            u_i += scale * LOAD((U + c * ld));             \
        }                                                  \
        STORE(omega * v_i + u_i, u);                       \
    }
    FOR_VEC(i, n) DIRECT(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) DIRECT(REAL, SLOAD, SSTORE)
}

// From P'g_k: the alphas that make g_k orthogonal to the first k columns of P, what becomes of P'g_k then,
// which is column k of M; beta := f_k / m_kk, and f without it.
kernel void idr_project(int s, int k, global const TOTAL *restrict part, int count,
                        global ACC *restrict state, global ACC *restrict scalars)
{
    local TOTAL lane[WG];
    ACC d[MOST], size = 0;
    finish_products(part, count, s, d, lane);
    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;
    for (int i = 0; i < s; i++) size = fmax(size, fabs(d[i]));
    for (int i = 0; i < k; i++) {
        ACC alpha = d[i] / scalars[M + i * MOST + i];
        scalars[ALPHA + i] = alpha;
        for (int h = i; h < s; h++) d[h] -= alpha * scalars[M + i * MOST + h];
    }
    if (!isfinite(d[k]) || !(fabs(d[k]) > ROUNDING * size)) {
        state[STATE_VALUE] = d[k];
        state[STATE_STOP] = isfinite(d[k]) ? STOP_MATRIX : STOP_NOT_FINITE;
        return;
    }
    ACC beta = scalars[F + k] / d[k];
    scalars[BETA] = beta;
    for (int h = k; h < s; h++) {
        scalars[M + k * MOST + h] = d[h];
        scalars[F + h] -= beta * d[h];
    }
}

// g_k -= sum of alpha_i g_i, u_k -= sum of alpha_i u_i, i < k;  r -= beta g_k,  x += beta u_k;
// part[group] := r.r
kernel void idr_update(long n ROWS_PARAMS, int k, long ld, global const ACC *restrict state,
                       global const ACC *restrict scalars, global REAL *restrict G,
                       global REAL *restrict U, global REAL *restrict r, global REAL *restrict x,
                       long x0, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    const REAL beta = (REAL)scalars[BETA];
    TOTALV sums = NO_TOTALV;
    TOTAL rest = NO_TOTAL;
    TAKE_ROWS(first)

    if ((int)state[STATE_STOP] != GO_ON) n = 0; // not a return: the barriers below are for all
    G += first, U += first, r += first, x += x0 + first, scalars += ALPHA;
    global REAL *g = G + k * ld, *u = U + k * ld;
#define UPDATE(TYPE, LOAD, STORE, V, total)                \
    {                                                      \
        TYPE g_i = LOAD(g), u_i = LOAD(u);                 \
        for (int c = 0; c < k; c++) {                      \
            const REAL alpha = (REAL)scalars[c];           \
            g_i -= alpha * LOAD((G + c * ld));             \
            u_i -= alpha * LOAD((U + c * ld));             \
        }                                                  \
        TYPE r_i = LOAD(r) - beta * g_i;                   \
        STORE(g_i, g);                                     \
        STORE(u_i, u);                                     \
        STORE(r_i, r);                                     \
        STORE(LOAD(x) + beta * u_i, x);                    \
        ADD_PRODUCT##V(total, r_i, r_i);                   \
    }
    FOR_VEC_SUMMED(i, n) UPDATE(VEC, VLOAD, VSTORE, V, sums)
    FOR_TAIL_SUMMED(i, n) UPDATE(REAL, SLOAD, SSTORE, , rest)
    TOTAL sum = group_sum(ALL_LANES(sums, rest), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

// omega := t.r / t.t, enlarged where the angle between t and r is so wide that the minimal residual would
// spoil the recurrence;  r -= omega t,  x += omega z; part[group] := r.r. z NULL: it is the old r.
kernel void idr_reduce(long n ROWS_PARAMS, global const TOTAL2 *restrict omega_part, int omega_count,
                       global ACC *restrict state, global ACC *restrict scalars,
                       global const REAL *restrict t, global const REAL *restrict z,
                       global REAL *restrict r, global REAL *restrict x, long x0,
                       global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    ACC2 tr = VALUES_OF(finish_sum2(omega_part, omega_count, lane)); // t.r, t.t
    const ACC widest = (ACC)7 / 10, size = sqrt(tr.y * scalars[SQUARE]);
    ACC by = tr.x / tr.y;
    const int preconditioned = z != 0;
    int go_on = (int)state[STATE_STOP] == GO_ON;
    int stop = !isfinite(tr.x) || !isfinite(tr.y) ? STOP_NOT_FINITE
               : fabs(tr.x) > ROUNDING * size     ? GO_ON
                                                  : STOP_PRECOND;
    TOTALV sums = NO_TOTALV;
    TOTAL rest = NO_TOTAL;
    TAKE_ROWS(first)

    if (fabs(tr.x) < widest * size) by *= widest * size / fabs(tr.x);
    if (get_global_id(0) == 0 && go_on) {
        scalars[OMEGA] = by;
        if (stop != GO_ON) state[STATE_VALUE] = tr.x;
        state[STATE_STOP] = stop;
    }
    if (!go_on || stop != GO_ON) n = 0;
    const REAL omega = (REAL)by;
    t += first, z += first, r += first, x += x0 + first;
#define REDUCE(TYPE, LOAD, STORE, V, total)                \
    {                                                      \
        TYPE z_i = LOAD(r), r_i = z_i - omega * LOAD(t);   \
        if (preconditioned) z_i = LOAD(z);                 \
        STORE(LOAD(x) + omega * z_i, x);                   \
        STORE(r_i, r);                                     \
        ADD_PRODUCT##V(total, r_i, r_i);                   \
    }
    FOR_VEC_SUMMED(i, n) REDUCE(VEC, VLOAD, VSTORE, V, sums)
    FOR_TAIL_SUMMED(i, n) REDUCE(REAL, SLOAD, SSTORE, , rest)
    TOTAL sum = group_sum(ALL_LANES(sums, rest), (local TOTAL *)lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}
