// box_bounds.cl - what the stencil of a grid says of multigrid on it: how strong its couplings are along each axis,
// and how large its eigenvalues may be. Host: src/mg/box_setup.c. Loops as in sweep.clh, numbers as in
// box.clh, entries of A as in box_entry.clh. Nothing is coarsened: the coarse grid of that file is the fine one.

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"
#include "multigrid/box_entry.clh"

#pragma kry part strength

// ---- strength of couplings ----

// part[3 group + a] := the sum over the points of a box, whose first one is low_x, low_y, low_z, of the coupling along axis a, collapsed onto that axis, in units of
// that of the strongest axis of `axes` there.
kernel void box_strength(GRID_PARAMS, int own, int own_x, int own_y, int low_x, int low_y, int low_z,
                         int axes, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTAL sum_x = NO_TOTAL, sum_y = NO_TOTAL, sum_z = NO_TOTAL;
    FOR_EACH(at, own)
    {
        const int ix = (int)at % own_x + low_x, iy = (int)at / own_x % own_y + low_y;
        const int iz = (int)at / (own_x * own_y) + low_z;
        SUM x = 0, y = 0, z = 0;
        for (int dz = -DZ; dz <= DZ; dz++)
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    if (dx != 1 && dy != 1 && dz != 1) continue;
                    const SUM value = -ENTRY(ONE, dx, dy, dz);
                    if (dx == 1) x += value;
                    if (dy == 1) y += value;
                    if (dz == 1) z += value;
                }
        SUM most = 0;
        if (axes & 1) most = max(most, x);
        if (axes & 2) most = max(most, y);
        if (axes & 4) most = max(most, z);
        if (most > 0) {
            ADD(sum_x, x / most);
            ADD(sum_y, y / most);
            ADD(sum_z, z / most);
        }
    }
    sum_x = group_sum(sum_x, lane);
    sum_y = group_sum(sum_y, lane);
    sum_z = group_sum(sum_z, lane);
    if (get_local_id(0) == 0) {
        part[3 * get_group_id(0)] = sum_x;
        part[3 * get_group_id(0) + 1] = sum_y;
        part[3 * get_group_id(0) + 2] = sum_z;
    }
}

#pragma kry part bounds

// ---- the largest eigenvalue ----

int row_bound(GRID_PARAMS, int ix, int iy, int iz)
{
    const SUM own = ENTRY(ONE, 0, 0, 0);
    SUM sum = 0;
    EACH(dz, -DZ, DZ)
        EACH(dy, -1, 1)
            EACH(dx, -1, 1) {
                const SUM value = fabs(ENTRY(ONE, dx, dy, dz));
                const int tx = beside(ix, dx, nx, wraps & 1), ty = beside(iy, dy, ny, wraps & 2);
                const int tz = beside(iz, dz, nz, wraps & 4);
                if (value != 0) sum += value / sqrt(own * entry_ONE(GRID_GIVEN, tx, ty, tz, 0, 0, 0));
            }
    return as_int(own > 0 ? (float)sum * 1.00001f : INFINITY);
}

// bound[level] := at least the largest sum of |a(i, j)| / sqrt(a(i, i) a(j, j)) over j of a row, which no
// eigenvalue of D^-1/2 A D^-1/2, or of D^-1 A, exceeds (Gershgorin). No term is above 1, whereas with a(i, i) alone
// below, a jump of the coefficients makes it 44. The bits of a float, which are in the order of the numbers. It is
// 0 at first.
kernel void box_bound(GRID_PARAMS, int level, global int *bound)
{
    local int highest;
    if (get_local_id(0) == 0) highest = 0;
    BARRIER();
#define BOUND(K) highest_here = max(highest_here, row_bound(GRID_GIVEN, jx, jy, jz));
    COARSE_SIZES
    int highest_here = 0;
    SETUP_SWEEP_ONE(BOUND)
    atomic_max(&highest, highest_here);
    BARRIER();
    if (get_local_id(0) == 0) atomic_max(bound + level, highest);
}
