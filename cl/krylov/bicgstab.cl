// bicgstab.cl - the vector work of BiCGStab(l) and its scalars. It shares shadow.clh.
// Host: src/krylov/bicgstab.c, which compiles it with KRY_UNALIGNED. Launch: bicgstab_begin and
// bicgstab_minimise one group, bicgstab_direction kryi_groups_for(n), the others kryi_chunks_of(x).groups; for each
// column of x, whose vectors are `pitch` apart (y: y_pitch), and whose scalars and sums stand column by column.
//
// DEGREE  l. R and U have DEGREE + 1 vectors, ld apart: r, A r, A^2 r ... and the same of u
//
// A launch that finds a reason to stop writes it into `state`, and no launch after it changes a vector. All
// groups of bicgstab_step find the same reason, whether they read `state` before or after one wrote there.
//
// Words per unknown of a sweep of l steps: 3 l (l + 1) (directions and steps) + 3 l (y) + 4 l - 2 (sums)
// + 3 l + 8 (the minimal residual).

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"
#include "krylov/shadow.clh"

#ifndef DEGREE
#define DEGREE 2
#endif
#define PAIRS ((DEGREE + 1) * (DEGREE + 2) / 2) // (i, k) with i <= k is number k (k + 1) / 2 + i
INLINED int pair(int i, int k) { return k * (k + 1) / 2 + i; }

// What stands in `scalars`; the omega of the last sweep is in RHO: -omega rho.
// SHADOW is the square of the shadow's norm, 0 if it is not known.
enum { ALPHA, RHO, BETA, SHADOW, GAMMA, SCALARS = 9 }; // GAMMA + k: by what r_k goes into the minimal residual
#define TAKE_COLUMN_SCALARS state += COLUMN_HERE * STATE_SIZE, scalars += COLUMN_HERE * SCALARS;
#define PART_HERE (COLUMN_HERE * (int)get_num_groups(0) + (int)get_group_id(0))

// Test the residual; unless `only_test`, beta := alpha rho' / rho. rho: the pair (r_j.shadow, r_j.r_j).
// is_first: in the first iteration of a cycle, where the shadow may be r: then rho is r.r, to the bit. One group.
kernel void bicgstab_begin(int iteration, int slot, int only_test,
                           int is_first, global const TOTAL *restrict rr_part, int rr_count,
                           global const TOTAL2 *restrict rho_part, int rho_count,
                           global ACC *restrict state, global ACC *restrict history,
                           global ACC *restrict scalars)
{
    local TOTAL2 lane[WG];
    TAKE_COLUMN_SCALARS
    rho_part += COLUMN_HERE * rho_count, rr_part += COLUMN_HERE * rr_count;
    ACC2 sums = VALUES_OF(finish_sum2(rho_part, rho_count, lane));
    ACC rr = VALUE_OF(finish_sum(rr_part, rr_count, (local TOTAL *)lane)), rho = sums.x;

    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;
    history[slot * (int)get_num_groups(1) + COLUMN_HERE] = rr;
    state[STATE_ITERATION] = (ACC)iteration;
    state[STATE_VALUE] = rho;
    if (rr <= state[STATE_TARGET])
        state[STATE_STOP] = STOP_CONVERGED;
    else
        state[STATE_STOP] = isfinite(rr) ? check_product(rho, sums.y, scalars[SHADOW]) : STOP_NOT_FINITE;
    if (only_test) return;
    if (is_first && rho == sums.y) scalars[SHADOW] = rr;
    scalars[BETA] = scalars[RHO] != 0 ? scalars[ALPHA] * (rho / scalars[RHO]) : 0;
    scalars[RHO] = rho;
}

// u_c := r_c - beta u_c for c = 0 ... j
kernel void bicgstab_direction(long n, int j, long pitch, long ld, global const ACC *restrict state,
                               global const ACC *restrict scalars, global const REAL *restrict R,
                               global REAL *restrict U)
{
    TAKE_COLUMN_SCALARS
    REAL beta = (REAL)scalars[BETA];
    R += COLUMN_HERE * pitch, U += COLUMN_HERE * pitch;
    if ((int)state[STATE_STOP] != GO_ON) return;
    for (int c = 0; c <= j; c++, R += ld, U += ld) {
        FOR_VEC(i, n) store_vector(load_vector(R, i) - beta * load_vector(U, i), i, U);
        FOR_TAIL(i, n) U[i] = R[i] - beta * U[i];
    }
}

// Piece i of r_0 -= alpha u_1,  y += alpha u_0
INLINED void step(long i, const int whole, REAL alpha, global REAL *r, global const REAL *u0, global const REAL *u1, global REAL *y,
                  piece_sum *rr)
{
    const VEC r_i = load_piece(r, i, whole) - alpha * load_piece(u1, i, whole);
    store_piece(load_piece(y, i, whole) + alpha * load_piece(u0, i, whole), y, i, whole);
    store_piece(r_i, r, i, whole);
    add_product(rr, r_i, r_i, whole);
}

// alpha := rho / gamma, which is the first of the pair (u_(j+1).shadow, u_(j+1).u_(j+1)),  r_c -= alpha u_(c+1) for c = 0 ... j,  y += alpha u_0,  part[group] := r_0.r_0
kernel void bicgstab_step(long n ROWS_PARAMS, int j, long pitch, long ld, global ACC *restrict state,
                          global ACC *restrict scalars, global const TOTAL2 *restrict gamma_part,
                          int gamma_count, global REAL *restrict R, global const REAL *restrict U,
                          global REAL *restrict y, long y0, long y_pitch, global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    TAKE_COLUMN_SCALARS
    gamma_part += COLUMN_HERE * gamma_count;
    ACC2 gamma = VALUES_OF(finish_sum2(gamma_part, gamma_count, lane));
    ACC by = scalars[RHO] / gamma.x;
    int go_on = (int)state[STATE_STOP] == GO_ON;
    int stop = check_product(gamma.x, gamma.y, scalars[SHADOW]);
    piece_sum rr;
    begin_sum(&rr);
    TAKE_ROWS(first)

    if (get_global_id(0) == 0 && go_on) {
        scalars[ALPHA] = by;
        if (stop != GO_ON) state[STATE_VALUE] = gamma.x;
        state[STATE_STOP] = stop;
    }
    if (!go_on || stop != GO_ON) n = 0; // not a return: the barriers below are for all
    REAL alpha = n ? (REAL)by : 0;
    R += COLUMN_HERE * pitch + first, U += COLUMN_HERE * pitch + first, y += y0 + COLUMN_HERE * y_pitch + first;
    for (int c = j; c > 0; c--) {
        global REAL *r = R + c * ld;
        global const REAL *u = U + (c + 1) * ld;
        FOR_VEC_SUMMED(i, n) store_vector(load_vector(r, i) - alpha * load_vector(u, i), i, r);
        FOR_TAIL_SUMMED(i, n) r[i] -= alpha * u[i];
    }
    global const REAL *u1 = U + ld;
    FOR_VEC_SUMMED(i, n) step(i, 1, alpha, R, U, u1, y, &rr);
    FOR_TAIL_SUMMED(i, n) step(i, 0, alpha, R, U, u1, y, &rr);
    TOTAL sum = group_sum(whole_sum(&rr), (local TOTAL *)lane);
    if (get_local_id(0) == 0) part[PART_HERE] = sum;
}

// Piece i of the products r_h.r_k
INLINED void add_products(long i, const int whole, long ld, global const REAL *R, private piece_sum *sum)
{
    VEC r[DEGREE + 1];
    UNROLLED for (int k = 0; k <= DEGREE; k++) {
        r[k] = load_piece(R + k * ld, i, whole);
        UNROLLED for (int h = 0; h <= k; h++) add_product(&sum[pair(h, k)], r[h], r[k], whole);
    }
}

// part[group]: the PAIRS products r_i.r_k
kernel void bicgstab_gram(long n ROWS_PARAMS, long pitch, long ld, global const ACC *restrict state,
                          global const REAL *restrict R,
                          global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    piece_sum sums[PAIRS];
    TAKE_ROWS(first)

    if ((int)state[COLUMN_HERE * STATE_SIZE + STATE_STOP] != GO_ON) return; // all work-items of a group alike
    R += COLUMN_HERE * pitch + first;
    UNROLLED for (int p = 0; p < PAIRS; p++) begin_sum(&sums[p]);
    FOR_VEC_SUMMED(i, n) add_products(i, 1, ld, R, sums);
    FOR_TAIL_SUMMED(i, n) add_products(i, 0, ld, R, sums);
    for (int p = 0; p < PAIRS; p++) {
        TOTAL sum = group_sum(whole_sum(&sums[p]), lane);
        if (get_local_id(0) == 0) part[PART_HERE * PAIRS + p] = sum;
    }
}

// The gammas that make r_0 - sum gamma_k r_k least, by Cholesky's factors of the Gram matrix. One group.
// It breaks down where that is no less than r_0, or where gamma_l, by which the next direction is divided,
// is zero.
kernel void bicgstab_minimise(int count, global const TOTAL *restrict part,
                              global ACC *restrict state, global ACC *restrict scalars)
{
    local TOTAL lane[WG];
    ACC G[PAIRS], gamma[DEGREE + 1], fallen = 0;
    TAKE_COLUMN_SCALARS
    part += COLUMN_HERE * count * PAIRS;

    for (int p = 0; p < PAIRS; p++) {
        TOTAL sum = NO_TOTAL;
        for (int i = get_local_id(0); i < count; i += WG) ADD_TOTAL(sum, part[i * PAIRS + p]);
        G[p] = VALUE_OF(group_sum(sum, lane));
    }
    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;
    // Column k of the factor takes the place of its column of G, and gamma_k that of the right-hand side
    for (int k = 1; k <= DEGREE; k++) {
        ACC right = G[pair(0, k)], pivot = G[pair(k, k)], all = pivot;
        for (int h = 1; h < k; h++) {
            ACC entry = G[pair(h, k)];
            for (int m = 1; m < h; m++) entry -= G[pair(m, h)] * G[pair(m, k)];
            G[pair(h, k)] = entry = entry * G[pair(h, h)];
            pivot -= entry * entry, right -= entry * gamma[h];
        }
        // the reciprocal of the factor's diagonal; 0: r_k depends on those before it
        ACC inverse = pivot > ROUNDING * ROUNDING * all ? 1 / sqrt(pivot) : 0;
        G[pair(k, k)] = inverse;
        gamma[k] = right * inverse;
        fallen += gamma[k] * gamma[k];
    }
    for (int k = DEGREE; k > 0; k--) {
        for (int h = k + 1; h <= DEGREE; h++) gamma[k] -= G[pair(k, h)] * gamma[h];
        gamma[k] *= G[pair(k, k)];
        scalars[GAMMA + k] = gamma[k];
    }
    ACC omega = gamma[DEGREE];
    scalars[RHO] *= -omega;
    if (isfinite(omega) && omega != 0 && fallen > ROUNDING * ROUNDING * G[0]) return;
    state[STATE_VALUE] = omega;
    state[STATE_STOP] = isfinite(omega) ? STOP_PRECOND : STOP_NOT_FINITE;
}

// Piece i of bicgstab_reduce
INLINED void reduce(long i, const int whole, long ld, global const ACC *scalars, global REAL *R, global REAL *U, global REAL *y,
                    global const REAL *shadow, piece_sum *rr, piece_sum *rho)
{
    VEC r_i = load_piece(R, i, whole), u_i = load_piece(U, i, whole), y_i = load_piece(y, i, whole), before = r_i;
    UNROLLED for (int k = 1; k <= DEGREE; k++) {
        const REAL gamma = (REAL)scalars[GAMMA + k];
        const VEC r_k = load_piece(R + k * ld, i, whole);
        y_i += gamma * before, before = r_k;
        r_i -= gamma * r_k, u_i -= gamma * load_piece(U + k * ld, i, whole);
    }
    store_piece(y_i, y, i, whole);
    store_piece(r_i, R, i, whole);
    store_piece(u_i, U, i, whole);
    add_product(rr, r_i, r_i, whole);
    add_product(rho, r_i, load_piece(shadow, i, whole), whole);
}

// y += sum gamma_k r_(k-1),  r_0 -= sum gamma_k r_k,  u_0 -= sum gamma_k u_k,
// rr_part[group] := r_0.r_0,  rho_part[group] := (r_0.shadow, r_0.r_0)
kernel void bicgstab_reduce(long n ROWS_PARAMS, long pitch, long ld, global const ACC *restrict state,
                            global const ACC *restrict scalars, global REAL *restrict R,
                            global REAL *restrict U, global REAL *restrict y, long y0, long y_pitch,
                            global const REAL *restrict shadow, global TOTAL *restrict rr_part,
                            global TOTAL2 *restrict rho_part)
{
    local TOTAL2 lane[WG];
    piece_sum rr, rho;
    TAKE_ROWS(first)
    TAKE_COLUMN_SCALARS
    const long at = COLUMN_HERE * pitch + first;

    if ((int)state[STATE_STOP] != GO_ON) n = 0;
    R += at, U += at, shadow += at, y += y0 + COLUMN_HERE * y_pitch + first;
    begin_sum(&rr), begin_sum(&rho);
    FOR_VEC_SUMMED(i, n) reduce(i, 1, ld, scalars, R, U, y, shadow, &rr, &rho);
    FOR_TAIL_SUMMED(i, n) reduce(i, 0, ld, scalars, R, U, y, shadow, &rr, &rho);
    TOTAL2 sums = group_sum2(BOTH(whole_sum(&rho), whole_sum(&rr)), lane);
    TOTAL square = group_sum(whole_sum(&rr), (local TOTAL *)lane);
    if (get_local_id(0) == 0) rr_part[PART_HERE] = square, rho_part[PART_HERE] = sums;
}
