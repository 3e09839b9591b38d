// box_bounds.cl - what the stencil of a grid says of multigrid on it: how strong its couplings are along each axis,
// and how large its eigenvalues may be. Host: src/mg/box_setup.c. Entries of A are those of box_entry.clh. Nothing is
// coarsened.

#include "common/kry.clh"
#include "multigrid/box.clh"
#include "multigrid/box_entry.clh"

#pragma kry part strength

// ---- strength of couplings ----

// part[3 group + a] := the sum over the points of a box, whose first one is low_x, low_y, low_z, of the coupling along axis a, collapsed onto that axis, in units of
// that of the strongest axis of `axes` there.
kernel void box_strength(FINE_PARAMS, int own, int own_x, int own_y, int low_x, int low_y, int low_z,
                         int axes, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    const fine_grid A = FINE_PASS;
    TOTAL sum_x = NO_TOTAL, sum_y = NO_TOTAL, sum_z = NO_TOTAL;
    FOR_EACH(at, own)
    {
        const point p = { (int)at % own_x + low_x, (int)at / own_x % own_y + low_y,
                          (int)at / (own_x * own_y) + low_z, 0 };
        SUM x = 0, y = 0, z = 0;
        for (int dz = -DZ; dz <= DZ; dz++)
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    if (dx != 1 && dy != 1 && dz != 1) continue;
                    const SUM value = -entry(&A, &p, dx, dy, dz);
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

INLINED int row_bound(const fine_grid *A, const point *p)
{
    const SUM own = entry(A, p, 0, 0, 0);
    SUM sum = 0;
    ROLLED_ENDS for (int dz = -DZ; dz <= DZ; dz++)
        ROLLED_ENDS for (int dy = -1; dy <= 1; dy++)
            ROLLED_ENDS for (int dx = -1; dx <= 1; dx++) {
                const SUM value = fabs(entry(A, p, dx, dy, dz));
                const point to = { beside(p->x, dx, A->nx, A->wraps & 1), beside(p->y, dy, A->ny, A->wraps & 2),
                                   beside(p->z, dz, A->nz, A->wraps & 4), 0 };
                if (value != 0) sum += value / sqrt(own * entry(A, &to, 0, 0, 0));
            }
    return as_int(own > 0 ? (float)sum * 1.00001f : INFINITY);
}

// bound[level] := at least the largest sum of |a(i, j)| / sqrt(a(i, i) a(j, j)) over j of a row, which no
// eigenvalue of D^-1/2 A D^-1/2, or of D^-1 A, exceeds (Gershgorin). No term is above 1, whereas with a(i, i) alone
// below, a jump of the coefficients makes it 44. The bits of a float, which are in the order of the numbers. It is
// 0 at first.
kernel void box_bound(FINE_PARAMS, int level, global int *bound)
{
    local int highest;
    const fine_grid A = FINE_PASS;
    const int columns = HAS_COARSE_ENDS ? min(nx, ENDS) : nx;
    int highest_here = 0;
    if (get_local_id(0) == 0) highest = 0;
    BARRIER();
    FOR_EACH(at, columns * ny * nz)
    {
        const int k = (int)at % columns, row = (int)at / columns;
        const point p = { k < columns / 2 ? k : k + nx - columns, row % ny, row / ny, 0 };
        highest_here = max(highest_here, row_bound(&A, &p));
    }
    atomic_max(&highest, highest_here);
    BARRIER();
    if (get_local_id(0) == 0) atomic_max(bound + level, highest);
}
