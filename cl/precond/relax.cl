// relax.cl - the vector work of a relaxation with an operator that has no sweep of its own.
// Host: src/precond/sweeps.c. Launch: kryi_groups_for_sums(n) groups of WG, for each of several columns. Columns of a
// vector are its pitch apart; d is the same for all.

#include "common/kry.clh"

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
    TOTALV svy = NO_TOTALV, svv = NO_TOTALV;
    TOTAL tvy = NO_TOTAL, tvv = NO_TOTAL;
    b += b0 + column * b_pitch, x += x0 + column * x_pitch, old += old0 + column * old_pitch;
    r += r0 + column * r_pitch, y += y0 + column * y_pitch;
#define SWEEP_AT(TYPE, LOAD, STORE, V, vy, vv)                        \
    {                                                                 \
        TYPE r_i = LOAD(r), x_i = 0, step = 0;                        \
        if (has_x) x_i = LOAD(x);                                     \
        if (by_step != 0) step = has_old ? x_i - LOAD(old) : x_i;     \
        TYPE y_i = x_i + by_step * step + by_residual * LOAD(d) * r_i; \
        TYPE v_i = sums == 2 ? LOAD(b) : r_i;                         \
        STORE(y_i, y);                                                \
        ADD_PRODUCT##V(vy, v_i, y_i);                                 \
        ADD_PRODUCT##V(vv, v_i, v_i);                                 \
    }
    FOR_VEC(i, n) SWEEP_AT(VEC, VLOAD, VSTORE, V, svy, svv)
    FOR_TAIL(i, n) SWEEP_AT(REAL, SLOAD, SSTORE, , tvy, tvv)

    TOTAL2 total = group_sum2(BOTH(ALL_LANES(svy, tvy), ALL_LANES(svv, tvv)), lane);
    if (get_local_id(0) == 0 && sums == 1) part[get_group_id(0)] = total.y;
    if (get_local_id(0) == 0 && sums == 2) ((global TOTAL2 *)part)[get_group_id(0)] = total;
}
