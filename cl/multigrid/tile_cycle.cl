// tile_cycle.cl - what a cycle of multigrid does on a level of a grid in the plane, in one pass down and one
// up, for GPUs, by the tiles of tile.clh. Host: src/mg/box_passes.c. Neighbours are those of sweep.clh; box.clh says
// how weights lie.
//
// STEPS  smoothing steps

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"
#include "multigrid/tile.clh"

#if !defined(KRY_CPU) && AXES == 2

#pragma kry part passes

// Where the weights of a coarse point are in their row
#ifdef UNIFORM
#define WEIGHT_COLUMN(jx) ((jx) >= EDGE && (jx) < cx - EDGE ? EDGE : (jx))
#else
#define WEIGHT_COLUMN(jx) (jx)
#endif
#define WEIGHT_PLACE(jx, jy) \
    (inner && ALL_ALIKE ? EDGE * (cx + 1) : WEIGHT_COLUMN(jx) + cx * (jy))

// ---- down ----

// The residuals around a fine point, those of neighbours in local memory, shared out to the coarse point there
INLINED SUM restricted(const int inner, global const REAL *restrict w, int cx, int coarse, int jx, int jy,
                       const local REAL *r)
{
    const int at = WEIGHT_PLACE(jx, jy);
    SUM sum = 0;

    UNROLLED for (int dy = -CY; dy <= CY; dy++)
        UNROLLED for (int dx = -CX; dx <= CX; dx++)
            sum += (PLACE(dx, dy, 0) == CENTRE ? (SUM)1 : (SUM)WEIGHT(dx, dy, 0)[at]) *
                   r[dx + PITCH * dy];
    return sum;
}

#define MARGIN_X (STEPS + CX)
#define MARGIN_Y (STEPS + CY)
#define WIDE     ((WIDTH - MARGIN_X - STEPS) >> CX) // of the coarse points that a tile makes
#define HIGH     ((ROWS - MARGIN_Y - STEPS) >> CY)

// x := step D^-1 b
INLINED void first_step(const int inner, const level *L, tile *T, SUM step, local REAL *to,
                        const target *out)
{
    if (inner && KEEPS) {
        UNROLLED for (int k = 0; k < PER; k++) T->rhs[k] = B_OF(T->y + k);
        UNROLLED for (int k = 0; k < PER; k++)
        {
            T->own[k] = (REAL)(step * inverse_at(1, L, T, T->y + k) * T->rhs[k]);
            put(L, T, out, T->y + k, T->rhs[k], T->own[k]);
            to[T->at + k * PITCH] = (REAL)T->own[k];
        }
    } else {
        PARTLY_UNROLLED for (int k = 0; k < PER; k++)
        {
            const int y = T->y + k, row = ROW_OF_GRID(y);
            SUM v = 0;
            if (INSIDE(row)) {
                const SUM b = B_OF(row);
                v = step * inverse_at(inner, L, T, row) * b;
                put(L, T, out, y, b, v);
            }
            to[T->at + k * PITCH] = (REAL)v;
        }
    }
}

// The coarse points of a tile
INLINED void restrict_rows(const int inner, const level *L, global const REAL *restrict w,
                           global REAL *restrict c_out, const local REAL *r, int first_jx, int first_jy)
{
    const int cx = (L->nx + CX) >> CX, cy = (L->ny + CY) >> CY, coarse = cx * cy;

    for (int q = get_local_id(0); q < WIDE * HIGH; q += GROUP) {
        const int qx = q % WIDE, qy = q / WIDE, jx = first_jx + qx, jy = first_jy + qy;
        const int at = (1 + MARGIN_Y + (qy << CY)) * PITCH + 1 + MARGIN_X + (qx << CX);
        if (jx < cx && jy < cy)
            c_out[jx + cx * jy] = (REAL)restricted(inner, w, cx, coarse, jx, jy, r + at);
    }
}

// x := the steps x + step D^-1 (b - A x), from x = 0;  c := P' (b - A x). Words for each fine number: 2, and
// the numbers of a stencil; for each coarse one: its weights and 1.
kernel void tile_down(LEVEL, STEPS_PARAMS, UNIT_PARAM global const OUTER *restrict b, long b0,
                      global REAL *restrict x, long x0, global REAL *restrict c_out, long c0)
{
    LEVEL_BEGIN
    STEPS_BEGIN
    TILE_BEGIN
    const target none = NOWHERE;
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY;
    const int across = (cx + WIDE - 1) / WIDE, tasks = across * ((cy + HIGH - 1) / HIGH);
    for (int task = get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        const int jx = task % across * WIDE, jy = task / across * HIGH;
        const target to = { jx << CX, min((jx + WIDE) << CX, nx), jy << CY,
                            min((jy + HIGH) << CY, ny), x + x0, 0, 0, 0 };
        TAKE_TILE((jx << CX) - MARGIN_X, (jy << CY) - MARGIN_Y)
        if (inner) take_column(1, &L, &T, b + b0, IN_UNIT(0));
        else take_column(0, &L, &T, b + b0, IN_UNIT(0));
        if (inner) first_step(1, &L, &T, step[0], copies, STEPS == 1 ? &to : &none);
        else first_step(0, &L, &T, step[0], copies, STEPS == 1 ? &to : &none);
        UNROLLED for (int s = 1; s <= STEPS; s++)
        {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (inner) rows(1, &L, &T, s < STEPS, s < STEPS ? step[s & 3] : 0, COPY(s + 1), COPY(s), s == STEPS - 1 ? &to : &none);
            else rows(0, &L, &T, s < STEPS, s < STEPS ? step[s & 3] : 0, COPY(s + 1), COPY(s), s == STEPS - 1 ? &to : &none);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (inner) restrict_rows(1, &L, w, c_out + c0, COPY(STEPS), jx, jy);
        else restrict_rows(0, &L, w, c_out + c0, COPY(STEPS), jx, jy);
    }
}

// ---- up ----

// The coarse points on either side of a fine column, or the one that is in it
typedef struct source {
    int odd, own, beside; // 1: between two; their columns, -1: there is none
    SUM low, mid, high, beside_low, beside_mid, beside_high; // weights of all inner points, for dy = -1, 0, 1
} source;

#define BY_ROW(dy, low, mid, high) ((dy) < 0 ? (low) : (dy) > 0 ? (high) : (mid))

// What a fine point has from the coarse row jy, at dy from it
INLINED SUM share_of(const int inner, const source *S, global const REAL *restrict w,
                     global const REAL *restrict e, int cx, int coarse, int dy, int jy)
{
    const int from = cx * jy;
    const SUM own = e[from + S->own], other = S->beside < 0 ? 0 : (SUM)e[from + S->beside];

    if (inner && ALL_ALIKE)
        return BY_ROW(dy, S->low, S->mid, S->high) * own +
               BY_ROW(dy, S->beside_low, S->beside_mid, S->beside_high) * other;
    SUM sum = own;
    if (S->odd || dy != 0) sum *= (SUM)WEIGHT(S->odd, dy, 0)[WEIGHT_PLACE(S->own, jy)];
    if (S->odd && S->beside >= 0)
        sum += (SUM)WEIGHT(-1, dy, 0)[WEIGHT_PLACE(S->beside, jy)] * other;
    return sum;
}

#define WEIGHT_OF(dx, dy) \
    ((dx) == 0 && (dy) == 0 ? (SUM)1 : CY || (dy) == 0 ? (SUM)WEIGHT(dx, dy, 0)[EDGE * (cx + 1)] : 0)

INLINED source source_of(const int inner, global const REAL *restrict w, int x, int cx, int coarse,
                         int wrapped)
{
    source S = { CX & x, x >> CX, 0, 0, 0, 0, 0, 0, 0 };

    S.beside = inner ? S.own + S.odd : beside(S.own, 1, cx, wrapped & 1);
    if (inner && ALL_ALIKE) {
        S.low = WEIGHT_OF(S.odd, -1), S.mid = WEIGHT_OF(S.odd, 0), S.high = WEIGHT_OF(S.odd, 1);
        if (S.odd)
            S.beside_low = WEIGHT_OF(-1, -1), S.beside_mid = WEIGHT_OF(-1, 0), S.beside_high = WEIGHT_OF(-1, 1);
    }
    return S;
}

#define WIDE_UP (WIDTH - 2 * STEPS)
#define HIGH_UP (ROWS - 2 * STEPS)

// to := x + P e
INLINED void correct(const int inner, const level *L, tile *T, global const REAL *restrict w,
                     global const REAL *restrict x, global const REAL *restrict e, local REAL *to)
{
    const int cx = (L->nx + CX) >> CX, cy = (L->ny + CY) >> CY, coarse = cx * cy;
    const source S = source_of(inner, w, T->column.x, cx, coarse, L->wrapped);

#define CORRECT(k)                                                                        \
    const int row = ROW_OF_GRID(T->y + k), jy = max(row, 0) >> CY, odd = CY & row;        \
    SUM v = 0;                                                                            \
    if (INSIDE(row)) {                                                                    \
        v = (SUM)x[PLACE_OF(row)] + share_of(inner, &S, w, e, cx, coarse, odd, jy);       \
        const int next = odd ? inner ? jy + 1 : beside(jy, 1, cy, L->wrapped & 2) : -1;   \
        if (next >= 0) v += share_of(inner, &S, w, e, cx, coarse, -1, next);              \
    }                                                                                     \
    to[T->at + k * PITCH] = (REAL)v;
    if (inner && KEEPS) {
        UNROLLED for (int k = 0; k < PER; k++) T->rhs[k] = B_OF(T->y + k);
        UNROLLED for (int k = 0; k < PER; k++)
        {
            CORRECT(k)
            T->own[k] = (REAL)v;
        }
    } else {
        PARTLY_UNROLLED for (int k = 0; k < PER; k++) { CORRECT(k) }
    }
}

// The sums of all work-items, added up in those of the first one. lane: GROUP of them
INLINED void add_up(TOTAL2 mine, local TOTAL2 *lane)
{
    const int l = get_local_id(0);

    barrier(CLK_LOCAL_MEM_FENCE); // tiles may still be read
    lane[l] = mine;
    for (int step = GROUP / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) ADD_TOTAL2(lane[l], lane[l + step]);
    }
}

// y := the steps y + step D^-1 (b - A y), from y = x + P e. Words for each fine number: 3, and the numbers
// of a stencil; for each coarse one: its weights and 1. With `sums`, part[group] := the pair (b.y, b.b).
kernel void tile_up(LEVEL, STEPS_PARAMS, UNIT_PARAM global const OUTER *restrict b, long b0,
                    global const REAL *restrict x, long x0, global const REAL *restrict e, long e0,
                    global OUTER *restrict y, long y0, int sums,
                    global TOTAL2 *restrict part)
{
    LEVEL_BEGIN
    STEPS_BEGIN
    TILE_BEGIN
    const target none = NOWHERE;
    TOTAL2 total = NO_TOTAL2;
    const int across = (nx + WIDE_UP - 1) / WIDE_UP, tasks = across * ((ny + HIGH_UP - 1) / HIGH_UP);
    for (int task = get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        const int left = task % across * WIDE_UP, low = task / across * HIGH_UP;
        const target to = { left, min(left + WIDE_UP, nx), low, min(low + HIGH_UP, ny), 0, y + y0,
                            IN_UNIT(1), &total };
        TAKE_TILE(left - STEPS, low - STEPS)
        if (inner) take_column(1, &L, &T, b + b0, IN_UNIT(0));
        else take_column(0, &L, &T, b + b0, IN_UNIT(0));
        if (inner) correct(1, &L, &T, w, x + x0, e + e0, copies);
        else correct(0, &L, &T, w, x + x0, e + e0, copies);
        UNROLLED for (int s = 0; s < STEPS; s++)
        {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (inner) rows(1, &L, &T, 1, step[s], COPY(s), COPY(s + 1), s == STEPS - 1 ? &to : &none);
            else rows(0, &L, &T, 1, step[s], COPY(s), COPY(s + 1), s == STEPS - 1 ? &to : &none);
        }
    }
    add_up(total, (local TOTAL2 *)copies);
    if (sums && get_local_id(0) == 0) part[get_group_id(0)] = ((local TOTAL2 *)copies)[0];
}

#pragma kry part sums

// sum[group] := a share of the pairs that many groups have left
kernel void tile_sums(int count, global const TOTAL2 *restrict part, global TOTAL2 *restrict sum)
{
    local TOTAL2 lane[WG];
    TOTAL2 total = NO_TOTAL2;

    for (int i = get_global_id(0); i < count; i += (int)get_global_size(0)) ADD_TOTAL2(total, part[i]);
    total = group_sum2(total, lane);
    if (get_local_id(0) == 0) sum[get_group_id(0)] = total;
}

#pragma kry end

#endif
