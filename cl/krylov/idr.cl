// idr.cl - the vector work of IDR(s) and its scalars.
// Host: src/krylov/idr.c, which compiles it with KRY_UNALIGNED. Launch: idr_check, idr_solve and idr_project
// one group, idr_remove and idr_direction kryi_groups_for(n), the others kryi_chunks_of(x).groups. G and U have s
// columns, ld apart.
//
// Words per unknown of s + 1 steps without M: 3 s^2 + 12 s + 9.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"

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

// Piece i of idr_remove
INLINED void remove_columns(long i, const int whole, int s, int k, long ld, global const ACC *factor, global const REAL *G,
                            global const REAL *r, global REAL *v)
{
    VEC v_i = load_piece(r, i, whole);
    for (int c = k; c < s; c++) v_i -= (REAL)factor[c] * load_piece(G + c * ld, i, whole);
    store_piece(v_i, v, i, whole);
}

// v := r - sum of c_i g_i, i >= k
kernel void idr_remove(long n, int s, int k, long ld, global const ACC *restrict state,
                       global const ACC *restrict scalars, global const REAL *restrict G,
                       global const REAL *restrict r, global REAL *restrict v)
{
    if ((int)state[STATE_STOP] != GO_ON) return;
    scalars += C;
    FOR_VEC(i, n) remove_columns(i, 1, s, k, ld, scalars, G, r, v);
    FOR_TAIL(i, n) remove_columns(i, 0, s, k, ld, scalars, G, r, v);
}

// Piece i of idr_direction
INLINED void direct(long i, const int whole, int s, int k, long ld, global const ACC *factor, REAL omega, global const REAL *G,
                    global const REAL *z, global const REAL *U, global REAL *u)
{
    VEC v_i = load_piece(z, i, whole), u_i = 0;
    for (int c = k; c < s; c++) {
        const REAL scale = (REAL)factor[c];
        if (G) v_i -= scale * load_piece(G + c * ld, i, whole);
        u_i += scale * load_piece(U + c * ld, i, whole);
    }
    store_piece(omega * v_i + u_i, u, i, whole);
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
    FOR_VEC(i, n) direct(i, 1, s, k, ld, scalars, omega, G, z, U, u);
    FOR_TAIL(i, n) direct(i, 0, s, k, ld, scalars, omega, G, z, U, u);
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

// Piece i of idr_update
INLINED void update(long i, const int whole, int k, long ld, global const ACC *factor, REAL beta, global const REAL *G, global const REAL *U,
                    global REAL *g, global REAL *u, global REAL *r, global REAL *x, piece_sum *rr)
{
    VEC g_i = load_piece(g, i, whole), u_i = load_piece(u, i, whole);
    for (int c = 0; c < k; c++) {
        const REAL alpha = (REAL)factor[c];
        g_i -= alpha * load_piece(G + c * ld, i, whole);
        u_i -= alpha * load_piece(U + c * ld, i, whole);
    }
    const VEC r_i = load_piece(r, i, whole) - beta * g_i;
    store_piece(g_i, g, i, whole);
    store_piece(u_i, u, i, whole);
    store_piece(r_i, r, i, whole);
    store_piece(load_piece(x, i, whole) + beta * u_i, x, i, whole);
    add_product(rr, r_i, r_i, whole);
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
    piece_sum rr;
    begin_sum(&rr);
    TAKE_ROWS(first)

    if ((int)state[STATE_STOP] != GO_ON) n = 0; // not a return: the barriers below are for all
    G += first, U += first, r += first, x += x0 + first, scalars += ALPHA;
    global REAL *g = G + k * ld, *u = U + k * ld;
    FOR_VEC_SUMMED(i, n) update(i, 1, k, ld, scalars, beta, G, U, g, u, r, x, &rr);
    FOR_TAIL_SUMMED(i, n) update(i, 0, k, ld, scalars, beta, G, U, g, u, r, x, &rr);
    TOTAL sum = group_sum(whole_sum(&rr), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

// Piece i of r -= omega t,  x += omega z
INLINED void reduce(long i, const int whole, REAL omega, global const REAL *t, global const REAL *z, global REAL *r, global REAL *x,
                    piece_sum *rr)
{
    VEC z_i = load_piece(r, i, whole);
    const VEC r_i = z_i - omega * load_piece(t, i, whole);
    if (z) z_i = load_piece(z, i, whole);
    store_piece(load_piece(x, i, whole) + omega * z_i, x, i, whole);
    store_piece(r_i, r, i, whole);
    add_product(rr, r_i, r_i, whole);
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
    int go_on = (int)state[STATE_STOP] == GO_ON;
    int stop = !isfinite(tr.x) || !isfinite(tr.y) ? STOP_NOT_FINITE
               : fabs(tr.x) > ROUNDING * size     ? GO_ON
                                                  : STOP_PRECOND;
    piece_sum rr;
    begin_sum(&rr);
    TAKE_ROWS(first)

    if (fabs(tr.x) < widest * size) by *= widest * size / fabs(tr.x);
    if (get_global_id(0) == 0 && go_on) {
        scalars[OMEGA] = by;
        if (stop != GO_ON) state[STATE_VALUE] = tr.x;
        state[STATE_STOP] = stop;
    }
    if (!go_on || stop != GO_ON) n = 0;
    const REAL omega = (REAL)by;
    t += first, r += first, x += x0 + first;
    if (z) z += first;
    FOR_VEC_SUMMED(i, n) reduce(i, 1, omega, t, z, r, x, &rr);
    FOR_TAIL_SUMMED(i, n) reduce(i, 0, omega, t, z, r, x, &rr);
    TOTAL sum = group_sum(whole_sum(&rr), (local TOTAL *)lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}
