// relax.cl - the vector work of a relaxation with an operator that has no sweep of its own.
// Host: src/precond/sweeps.c. Launch: kryi_groups_for_sums(n) groups of WG, for each of several columns. Columns of a
// vector are its pitch apart; d is the same for all.

#include "common/kry.clh"
#include "common/piece.clh"

// Piece i of relax_sweep
INLINED void sweep_piece(long i, const int whole, REAL by_step, REAL by_residual, global const REAL *b, int has_x, global const REAL *x,
                         int has_old, global const REAL *old, global const REAL *d, global const REAL *r, global REAL *y, int sums,
                         piece_sum *vy, piece_sum *vv)
{
    const VEC r_i = load_piece(r, i, whole);
    VEC x_i = 0, step = 0;
    if (has_x) x_i = load_piece(x, i, whole);
    if (by_step != 0) step = has_old ? x_i - load_piece(old, i, whole) : x_i;
    const VEC y_i = x_i + by_step * step + by_residual * load_piece(d, i, whole) * r_i;
    const VEC v_i = sums == 2 ? load_piece(b, i, whole) : r_i;
    store_piece(y_i, y, i, whole);
    add_product(vy, v_i, y_i, whole);
    add_product(vv, v_i, v_i, whole);
}

// y := x + c0 (x - old) + c1 d .* r, where r = b - A x and d = D^-1. x counts as zero without
// has_x, old without has_old; old may be y, and r b. With `sums` 1, part[group] := the sum of r.r;
// with 2, the pair (b.y, b.b): of one column.
kernel void relax_sweep(long n, ACC c0, ACC c1, global const REAL *b, long b0, long b_pitch, int has_x,
                        global const REAL *x, long x0, long x_pitch, int has_old,
                        global const REAL *old, long old0, long old_pitch,
                        global const REAL *restrict d, global const REAL *r, long r0, long r_pitch,
                        global REAL *y, long y0, long y_pitch, int sums, global TOTAL *restrict part)
{
    const long column = COLUMN_HERE;
    local TOTAL2 lane[WG];
    const REAL by_step = (REAL)c0, by_residual = (REAL)c1;
    piece_sum vy, vv;
    begin_sum(&vy), begin_sum(&vv);
    b += b0 + column * b_pitch, x += x0 + column * x_pitch, old += old0 + column * old_pitch;
    r += r0 + column * r_pitch, y += y0 + column * y_pitch;
    FOR_VEC(i, n) sweep_piece(i, 1, by_step, by_residual, b, has_x, x, has_old, old, d, r, y, sums, &vy, &vv);
    FOR_TAIL(i, n) sweep_piece(i, 0, by_step, by_residual, b, has_x, x, has_old, old, d, r, y, sums, &vy, &vv);

    TOTAL2 total = group_sum2(BOTH(whole_sum(&vy), whole_sum(&vv)), lane);
    if (get_local_id(0) == 0 && sums == 1) part[get_group_id(0)] = total.y;
    if (get_local_id(0) == 0 && sums == 2) ((global TOTAL2 *)part)[get_group_id(0)] = total;
}
