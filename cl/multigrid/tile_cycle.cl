// tile_cycle.cl - what a cycle of multigrid does on a level of a grid in the plane, in one pass down and one
// up, for GPUs, by the tiles of tile.clh. Host: src/mg/box_passes.c. transfer.clh says how
// weights lie.
//
// STEPS  smoothing steps

#include "common/kry.clh"
#include "multigrid/tile.clh"
#include "multigrid/transfer.clh"

#if !defined(KRY_CPU) && AXES == 2

#pragma kry part passes

enum {
    MARGIN_X = STEPS + CX,
    MARGIN_Y = STEPS + CY,
    WIDE = (WIDTH - MARGIN_X - STEPS) >> CX, // of the coarse points that a tile makes
    HIGH = (ROWS - MARGIN_Y - STEPS) >> CY,
    WIDE_UP = WIDTH - 2 * STEPS, // of the fine points
    HIGH_UP = ROWS - 2 * STEPS
};

// The weight at (dx, dy) from coarse point (jx, jy).
INLINED SUM weight_at(const int inner, const transfer *P, global const REAL *restrict w, int dx, int dy, int jx, int jy)
{
    const int at = ALL_ALIKE && inner ? EDGE * (P->cx + 1) : jx + weight_shift(P, jx) + P->cx * jy;
    return weight(P, w, dx, dy, 0, at);
}

// ---- down ----

// The residuals around a fine point, those of neighbours in local memory, shared out to the coarse point there
INLINED SUM restricted(const int inner, const transfer *P, global const REAL *restrict w, int jx, int jy,
                       const local REAL *r)
{
    const int at = ALL_ALIKE && inner ? EDGE * (P->cx + 1) : jx + weight_shift(P, jx) + P->cx * jy;
    SUM sum = 0;

    UNROLLED for (int dy = -CY; dy <= CY; dy++)
        UNROLLED for (int dx = -CX; dx <= CX; dx++)
            sum += (is_own(P, dx, dy, 0) ? (SUM)1 : weight(P, w, dx, dy, 0, at)) * r[dx + PITCH * dy];
    return sum;
}

// x := step D^-1 b
INLINED void first_step(const int inner, const level *L, tile *T, SUM step, local REAL *to,
                        const target *out)
{
    if (KEEPS && inner) {
        UNROLLED for (int k = 0; k < PER; k++) T->rhs[k] = b_of(L, T, T->y + k);
        UNROLLED for (int k = 0; k < PER; k++)
        {
            T->own[k] = (REAL)(step * inverse_at(1, L, T, T->y + k) * T->rhs[k]);
            put(L, T, out, T->y + k, T->rhs[k], T->own[k]);
            to[T->at + k * PITCH] = (REAL)T->own[k];
        }
    } else {
        PARTLY_UNROLLED for (int k = 0; k < PER; k++)
        {
            const int y = T->y + k, row = row_of_grid(inner, L, y);
            SUM v = 0;
            if (in_grid(inner, T, row)) {
                const SUM b = b_of(L, T, row);
                v = step * inverse_at(inner, L, T, row) * b;
                put(L, T, out, y, b, v);
            }
            to[T->at + k * PITCH] = (REAL)v;
        }
    }
}

// The coarse points of a tile
INLINED void restrict_rows(const int inner, const transfer *P, global const REAL *restrict w,
                           global REAL *restrict c_out, const local REAL *r, int first_jx, int first_jy)
{
    for (int q = get_local_id(0); q < WIDE * HIGH; q += GROUP) {
        const int qx = q % WIDE, qy = q / WIDE, jx = first_jx + qx, jy = first_jy + qy;
        const int at = (1 + MARGIN_Y + (qy << CY)) * PITCH + 1 + MARGIN_X + (qx << CX);
        if (jx < P->cx && jy < P->cy)
            c_out[jx + P->cx * jy] = (REAL)restricted(inner, P, w, jx, jy, r + at);
    }
}

// x := the steps x + step D^-1 (b - A x), from x = 0;  c := P' (b - A x). Words for each fine number: 2, and
// the numbers of a stencil; for each coarse one: its weights and 1.
kernel void tile_down(LEVEL, ACC s0, ACC s1, ACC s2, ACC s3, global const REAL *restrict w, UNIT_PARAM global const outer *restrict b, long b0,
                      global REAL *restrict x, long x0, global REAL *restrict c_out, long c0)
{
    local REAL copies[2 * CELLS] __attribute__((aligned(16)));
    const SUM step[] = { (SUM)s0, (SUM)s1, (SUM)s2, (SUM)s3 };
    const outer units[] = UNITS;
    level L = LEVEL_PASS;
    const transfer P = COARSER_GRID(L.wrapped);
    const target none = { 0, 0, 0, 0, 0, 0, 0, 0 };
    tile T;
    take_numbers(&L);
    for (int k = get_local_id(0); k < 2 * CELLS; k += GROUP) copies[k] = 0;
    const int across = (P.cx + WIDE - 1) / WIDE, tasks = across * ((P.cy + HIGH - 1) / HIGH);
    for (int task = get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        const int jx = task % across * WIDE, jy = task / across * HIGH;
        const target to = { jx << CX, min((jx + WIDE) << CX, nx), jy << CY,
                            min((jy + HIGH) << CY, ny), x + x0, 0, 0, 0 };
        barrier(CLK_LOCAL_MEM_FENCE);
        const int inner = take_tile(&L, (jx << CX) - MARGIN_X, (jy << CY) - MARGIN_Y, &T);
        if (inner) take_column(1, &L, &T, b + b0, units[0]);
        else take_column(0, &L, &T, b + b0, units[0]);
        if (inner) first_step(1, &L, &T, step[0], copies, STEPS == 1 ? &to : &none);
        else first_step(0, &L, &T, step[0], copies, STEPS == 1 ? &to : &none);
        UNROLLED for (int s = 1; s <= STEPS; s++)
        {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (inner) rows(1, &L, &T, s < STEPS, s < STEPS ? step[s & 3] : 0, copies + (s + 1) % 2 * CELLS, copies + s % 2 * CELLS, s == STEPS - 1 ? &to : &none);
            else rows(0, &L, &T, s < STEPS, s < STEPS ? step[s & 3] : 0, copies + (s + 1) % 2 * CELLS, copies + s % 2 * CELLS, s == STEPS - 1 ? &to : &none);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (inner) restrict_rows(1, &P, w, c_out + c0, copies + STEPS % 2 * CELLS, jx, jy);
        else restrict_rows(0, &P, w, c_out + c0, copies + STEPS % 2 * CELLS, jx, jy);
    }
}

// ---- up ----

// The coarse points on either side of a fine column, or the one that is in it
typedef struct source {
    int odd, own, beside; // 1: between two; their columns, -1: there is none
    SUM low, mid, high, beside_low, beside_mid, beside_high; // weights of all inner points, for dy = -1, 0, 1
} source;

INLINED SUM by_row(int dy, SUM low, SUM mid, SUM high) { return dy < 0 ? low : dy > 0 ? high : mid; }

// What a fine point has from the coarse row jy, at dy from it
INLINED SUM share_of(const int inner, const source *S, const transfer *P, global const REAL *restrict w,
                     global const REAL *restrict e, int dy, int jy)
{
    const int from = P->cx * jy;
    const SUM own = e[from + S->own], other = S->beside < 0 ? 0 : (SUM)e[from + S->beside];

    if (ALL_ALIKE && inner)
        return by_row(dy, S->low, S->mid, S->high) * own +
               by_row(dy, S->beside_low, S->beside_mid, S->beside_high) * other;
    SUM sum = own;
    if (S->odd || dy != 0) sum *= weight_at(inner, P, w, S->odd, dy, S->own, jy);
    if (S->odd && S->beside >= 0) sum += weight_at(inner, P, w, -1, dy, S->beside, jy) * other;
    return sum;
}

// The weight at (dx, dy) of all inner points.
INLINED SUM weight_alike(const transfer *P, global const REAL *restrict w, int dx, int dy)
{
    return dx == 0 && dy == 0 ? (SUM)1 : CY || dy == 0 ? weight(P, w, dx, dy, 0, EDGE * (P->cx + 1)) : 0;
}

INLINED source source_of(const int inner, const transfer *P, global const REAL *restrict w, int x)
{
    source S = { CX & x, x >> CX, 0, 0, 0, 0, 0, 0, 0 };

    S.beside = inner ? S.own + S.odd : beside(S.own, 1, P->cx, P->wraps & 1);
    if (ALL_ALIKE && inner) {
        S.low = weight_alike(P, w, S.odd, -1), S.mid = weight_alike(P, w, S.odd, 0);
        S.high = weight_alike(P, w, S.odd, 1);
        if (S.odd) {
            S.beside_low = weight_alike(P, w, -1, -1), S.beside_mid = weight_alike(P, w, -1, 0);
            S.beside_high = weight_alike(P, w, -1, 1);
        }
    }
    return S;
}

// x + P e in the k-th point of the column
INLINED SUM corrected(const int inner, const level *L, const tile *T, const source *S, const transfer *P,
                      global const REAL *restrict w, global const REAL *restrict x, global const REAL *restrict e, int k)
{
    const int row = row_of_grid(inner, L, T->y + k), jy = max(row, 0) >> CY, odd = CY & row;
    SUM v = 0;
    if (in_grid(inner, T, row)) {
        v = (SUM)x[place_of(L, T, row)] + share_of(inner, S, P, w, e, odd, jy);
        const int next = odd ? inner ? jy + 1 : beside(jy, 1, P->cy, L->wrapped & 2) : -1;
        if (next >= 0) v += share_of(inner, S, P, w, e, -1, next);
    }
    return v;
}

// to := x + P e
INLINED void correct(const int inner, const level *L, tile *T, const transfer *P, global const REAL *restrict w,
                     global const REAL *restrict x, global const REAL *restrict e, local REAL *to)
{
    const source S = source_of(inner, P, w, T->column.x);

    if (KEEPS && inner) {
        UNROLLED for (int k = 0; k < PER; k++) T->rhs[k] = b_of(L, T, T->y + k);
        UNROLLED for (int k = 0; k < PER; k++)
            to[T->at + k * PITCH] = T->own[k] = (REAL)corrected(inner, L, T, &S, P, w, x, e, k);
    } else {
        PARTLY_UNROLLED for (int k = 0; k < PER; k++)
            to[T->at + k * PITCH] = (REAL)corrected(inner, L, T, &S, P, w, x, e, k);
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
kernel void tile_up(LEVEL, ACC s0, ACC s1, ACC s2, ACC s3, global const REAL *restrict w, UNIT_PARAM global const outer *restrict b, long b0,
                    global const REAL *restrict x, long x0, global const REAL *restrict e, long e0,
                    global outer *restrict y, long y0, int sums,
                    global TOTAL2 *restrict part)
{
    local REAL copies[2 * CELLS] __attribute__((aligned(16)));
    const SUM step[] = { (SUM)s0, (SUM)s1, (SUM)s2, (SUM)s3 };
    const outer units[] = UNITS;
    level L = LEVEL_PASS;
    const transfer P = COARSER_GRID(L.wrapped);
    const target none = { 0, 0, 0, 0, 0, 0, 0, 0 };
    tile T;
    take_numbers(&L);
    for (int k = get_local_id(0); k < 2 * CELLS; k += GROUP) copies[k] = 0;
    TOTAL2 total = NO_TOTAL2;
    const int across = (nx + WIDE_UP - 1) / WIDE_UP, tasks = across * ((ny + HIGH_UP - 1) / HIGH_UP);
    for (int task = get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        const int left = task % across * WIDE_UP, low = task / across * HIGH_UP;
        const target to = { left, min(left + WIDE_UP, nx), low, min(low + HIGH_UP, ny), 0, y + y0,
                            units[1], &total };
        barrier(CLK_LOCAL_MEM_FENCE);
        const int inner = take_tile(&L, left - STEPS, low - STEPS, &T);
        if (inner) take_column(1, &L, &T, b + b0, units[0]);
        else take_column(0, &L, &T, b + b0, units[0]);
        if (inner) correct(1, &L, &T, &P, w, x + x0, e + e0, copies);
        else correct(0, &L, &T, &P, w, x + x0, e + e0, copies);
        UNROLLED for (int s = 0; s < STEPS; s++)
        {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (inner) rows(1, &L, &T, 1, step[s], copies + s % 2 * CELLS, copies + (s + 1) % 2 * CELLS, s == STEPS - 1 ? &to : &none);
            else rows(0, &L, &T, 1, step[s], copies + s % 2 * CELLS, copies + (s + 1) % 2 * CELLS, s == STEPS - 1 ? &to : &none);
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
