// minres.cl - the vector work of a step of MINRES.
// Host: src/krylov/minres.c, which compiles it with KRY_UNALIGNED. Launch: minres_begin one group, the others
// kryi_chunks_of(x).groups, for each column. All vectors but x start at element 0, and their columns are `pitch`
// apart, those of x x_pitch; scalars and partial sums stand column by column. The scalars go back and forth between two
// blocks as in direction.clh: minres_lanczos reads `step` and writes `state`, minres_update the other way.
// Words per unknown: 3 + 1, 6 + 3.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"

// Behind STATE_VALUE: gamma = sqrt(z'v) and the one before, delta = z'A z / gamma^2, the last two rotations,
// and eta, which is what is left of the first gamma. FOLLOWS: 0 in the first step of a cycle, whose gamma is a size
// of r, not of A; then 1. SIZE2: the largest square of a column of Lanczos' matrix, an estimate of ||A M||^2.
enum {
    GAMMA = STATE_VALUE + 1, GAMMA_OLD, DELTA, COSINE, COSINE_OLD, SINE, SINE_OLD, ETA, FOLLOWS, SIZE2, SCALARS
};

// gamma of the first v. One group for each column that is not over.
kernel void minres_begin(global const TOTAL *restrict part, int count, global ACC *restrict step)
{
    local TOTAL lane[WG];
    ACC square = VALUE_OF(finish_sum(part + COLUMN_HERE * count, count, lane));
    step += COLUMN_HERE * STATE_SIZE;
    if (get_local_id(0) != 0 || (int)step[STATE_STOP] != GO_ON) return;
    step[STATE_VALUE] = square;
    step[STATE_STOP] = !isfinite(square) ? STOP_NOT_FINITE : square > 0 ? GO_ON : STOP_PRECOND;
    step[GAMMA] = step[ETA] = sqrt(fmax(square, (ACC)0)), step[GAMMA_OLD] = 1;
    step[COSINE] = step[COSINE_OLD] = 1, step[SINE] = step[SINE_OLD] = 0;
    step[FOLLOWS] = step[SIZE2] = 0;
}

// Piece i of old := by_q q - by_v v - by_old old
INLINED void lanczos(long i, const int whole, REAL by_q, global const REAL *q, REAL by_v, global const REAL *v, REAL by_old,
                     global REAL *old, piece_sum *square)
{
    const VEC next = by_q * load_piece(q, i, whole) - by_v * load_piece(v, i, whole) - by_old * load_piece(old, i, whole);
    store_piece(next, old, i, whole);
    add_product(square, next, next, whole);
}

// Test the residual; old := scale A z / gamma - delta / gamma v - gamma / old gamma old, the next v; part[group] :=
// its square. With n = 0 the stopping test alone.
kernel void minres_lanczos(long n ROWS_PARAMS, long pitch, int iteration, int slot, ACC scale,
                           global const TOTAL *restrict rr_part, int rr_count,
                           global const TOTAL *restrict delta_part, int delta_count,
                           global const ACC *restrict step, global ACC *restrict state,
                           global ACC *restrict history, global const REAL *restrict q,
                           global const REAL *restrict v, global REAL *restrict old,
                           global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    rr_part += COLUMN_HERE * rr_count, delta_part += COLUMN_HERE * delta_count;
    step += COLUMN_HERE * STATE_SIZE, state += COLUMN_HERE * STATE_SIZE;
    ACC rr = VALUE_OF(finish_sum(rr_part, rr_count, lane)), gamma = step[GAMMA];
    ACC delta = VALUE_OF(finish_sum(delta_part, delta_count, lane)) * scale / (gamma * gamma);
    int stop = (int)step[STATE_STOP], fresh = stop == GO_ON;
    piece_sum vv;
    begin_sum(&vv);
    TAKE_ROWS(first)

    if (fresh && rr <= step[STATE_TARGET])
        stop = STOP_CONVERGED;
    else if (fresh && !(isfinite(rr) && (gamma == 0 || isfinite(delta))))
        stop = STOP_NOT_FINITE;
    else if (fresh && gamma == 0)
        stop = STOP_MATRIX;
    if (get_global_id(0) == 0) {
        for (int i = GAMMA; i < SCALARS; i++) state[i] = step[i];
        state[DELTA] = delta;
        state[STATE_STOP] = stop;
        state[STATE_ITERATION] = fresh ? (ACC)iteration : step[STATE_ITERATION];
        state[STATE_VALUE] = fresh ? gamma : step[STATE_VALUE];
        if (fresh) history[slot * (int)get_num_groups(1) + COLUMN_HERE] = rr;
    }
    if (stop != GO_ON) n = 0; // not a return: the barriers below are for all
    const REAL by_q = (REAL)(scale / gamma), by_v = (REAL)(delta / gamma);
    const REAL by_old = (REAL)(gamma / step[GAMMA_OLD]);
    const long at = COLUMN_HERE * pitch + first;
    q += at, v += at, old += at;
    FOR_VEC_SUMMED(i, n) lanczos(i, 1, by_q, q, by_v, v, by_old, old, &vv);
    FOR_TAIL_SUMMED(i, n) lanczos(i, 0, by_q, q, by_v, v, by_old, old, &vv);
    TOTAL sum = group_sum(whole_sum(&vv), lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[COLUMN_HERE * (int)get_num_groups(0) + (int)get_group_id(0)] = sum;
}

// The factors by which minres_update multiplies vectors.
typedef struct update_factors {
    REAL z, w, old, x, r, next;
} update_factors;

// Piece i of minres_update
INLINED void update(long i, const int whole, const update_factors *by, global const REAL *z, global const REAL *w, global REAL *old,
                    global const REAL *next, global REAL *x, global REAL *r, piece_sum *rr)
{
    const VEC w_i = by->z * load_piece(z, i, whole) - by->w * load_piece(w, i, whole) - by->old * load_piece(old, i, whole);
    const VEC r_i = by->r * load_piece(r, i, whole) - by->next * load_piece(next, i, whole);
    store_piece(load_piece(x, i, whole) + by->x * w_i, x, i, whole);
    store_piece(w_i, old, i, whole);
    store_piece(r_i, r, i, whole);
    add_product(rr, r_i, r_i, whole);
}

// The next gamma and rotation; unless A M maps r to less than ask ||A M|| ||r||: old := (z / gamma - alpha_3 old - alpha_2 w) / alpha_1, the next w;
// x += scale c eta times that, r := s^2 r - c eta / alpha_1 next; part[group] := r.r
kernel void minres_update(long n ROWS_PARAMS, long pitch, ACC scale, ACC ask, global const TOTAL *restrict square_part,
                          int square_count, global const ACC *restrict state,
                          global ACC *restrict step, global const REAL *restrict z,
                          global const REAL *restrict w, global REAL *restrict old,
                          global const REAL *restrict next, global REAL *restrict x, long x0,
                          long x_pitch, global REAL *restrict r, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    square_part += COLUMN_HERE * square_count;
    step += COLUMN_HERE * STATE_SIZE, state += COLUMN_HERE * STATE_SIZE;
    ACC square = VALUE_OF(finish_sum(square_part, square_count, lane));
    const ACC gamma = state[GAMMA], delta = state[DELTA], eta = state[ETA];
    const ACC before = state[FOLLOWS] * gamma, size = ROUNDING * ROUNDING * (delta * delta + before * before);
    int stop = (int)state[STATE_STOP], fresh = stop == GO_ON;
    update_factors by;
    piece_sum rr;
    begin_sum(&rr);
    TAKE_ROWS(first)

    if (fabs(square) <= size) square = 0; // nothing is left but rounding
    const ACC a0 = state[COSINE] * delta - state[COSINE_OLD] * state[SINE] * gamma;
    const ACC a1 = sqrt(a0 * a0 + square);
    const ACC a2 = state[SINE] * delta + state[COSINE_OLD] * state[COSINE] * gamma;
    const ACC a3 = state[SINE_OLD] * gamma, c = a0 / a1, s = sqrt(square) / a1;
    const ACC size2 = fmax(state[SIZE2], delta * delta + before * before + square);
    const ACC mapped2 = a0 * a0 + state[COSINE] * state[COSINE] * square; // (||A M r|| / ||r||)^2 in the norm of M
    if (fresh && square < 0)
        stop = STOP_PRECOND;
    else if (fresh && !isfinite(square))
        stop = STOP_NOT_FINITE;
    else if (fresh && (a1 * a1 <= size || (ask > 0 && mapped2 <= ask * ask * size2)))
        stop = STOP_MATRIX;
    if (get_global_id(0) == 0) {
        step[STATE_STOP] = stop;
        step[STATE_ITERATION] = state[STATE_ITERATION];
        step[STATE_VALUE] = fresh && stop == STOP_MATRIX ? a1 : fresh ? square : state[STATE_VALUE];
        step[GAMMA] = sqrt(square), step[GAMMA_OLD] = gamma;
        step[COSINE] = c, step[COSINE_OLD] = state[COSINE];
        step[SINE] = s, step[SINE_OLD] = state[SINE];
        step[ETA] = -s * eta, step[FOLLOWS] = 1, step[SIZE2] = size2;
    }
    if (stop != GO_ON) n = 0;
    by.z = (REAL)(1 / (gamma * a1)), by.w = (REAL)(a2 / a1), by.old = (REAL)(a3 / a1);
    by.x = (REAL)(c * eta * scale), by.r = (REAL)(s * s), by.next = (REAL)(c * eta / a1);
    const long at = COLUMN_HERE * pitch + first;
    z += at, w += at, old += at, next += at, r += at, x += x0 + COLUMN_HERE * x_pitch + first;
    FOR_VEC_SUMMED(i, n) update(i, 1, &by, z, w, old, next, x, r, &rr);
    FOR_TAIL_SUMMED(i, n) update(i, 0, &by, z, w, old, next, x, r, &rr);
    TOTAL sum = group_sum(whole_sum(&rr), lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[COLUMN_HERE * (int)get_num_groups(0) + (int)get_group_id(0)] = sum;
}
