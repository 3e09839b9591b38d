// box_sums.cl - what the rows of the stencil of a coarse grid add up to, where it is in flux form. Host:
// src/mg/box_setup.c. Entries of A are those of box_entry.clh, weights lie as transfer.clh says.

#include "common/kry.clh"
#include "multigrid/box.clh"
#include "multigrid/transfer.clh"
#include "multigrid/box_entry.clh"

#ifdef FLUX

// What the row of point p of A adds up to: exactly 0 where no side has given values.
INLINED SUM row_sum(const fine_grid *A, const point *p, SUM of_entries)
{
    return (SUM)(A->a + (size_t)HALF * A->work)[number_of(A->nx, A->ny, p)];
}

#elif defined(BOX)

INLINED SUM row_sum(const fine_grid *A, const point *p, SUM of_entries) { return of_entries; }

#else

INLINED SUM row_sum(const fine_grid *A, const point *p, SUM of_entries)
{
    SUM sum = 0;
    for (int a = 0; a < AXES; a++) {
        on_axis t;
        take_axis(A, p, a, &t);
        for (int high = 0; high < 2; high++) {
            const int has = beside(t.at, high ? 1 : -1, t.size, t.wrapped) >= 0;
            const int own = often(t.sides, high, t.at, t.size) - has;
            if (own != 0) sum += (SUM)own * face(A, &t, high, number_of(A->nx, A->ny, p), 0);
        }
    }
    return sum;
}

#endif

// v: P times ones. That in point i, with the rounding of weights that add up to one taken out.
INLINED SUM near_one(global const REAL *v, int i)
{
    const SUM value = v[i];
    return fabs(value - 1) < (SUM)6e-7f ? 1 : value;
}

// The row of point p of A times P times ones, as a sum of differences.
INLINED SUM product_with_ones(const fine_grid *A, const point *p, global const REAL *v)
{
    const SUM own = near_one(v, number_of(A->nx, A->ny, p));
    SUM sum = 0, row = 0;
    for (int dz = -DZ; dz <= DZ; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const point to = { beside(p->x, dx, A->nx, A->wraps & 1), beside(p->y, dy, A->ny, A->wraps & 2),
                                   beside(p->z, dz, A->nz, A->wraps & 4), 0 };
                const SUM value = entry(A, p, dx, dy, dz);
                row += value;
                if (to.x < 0 || to.y < 0 || to.z < 0) continue;
                sum += value * (near_one(v, number_of(A->nx, A->ny, &to)) - own);
            }
    return sum + row_sum(A, p, row) * own;
}

// What the rows of P'A P add up to: P'A times v, which is P times ones. And the diagonal once more, from that and
// from the couplings that are there.
kernel void box_sums(FINE_PARAMS, global const REAL *restrict w, global const REAL *restrict v, global REAL *c)
{
    const fine_grid A = FINE_PASS;
    const transfer P = COARSER_GRID(wraps);
    FOR_EACH(i, P.coarse)
    {
        const int j = (int)i, jx = j % P.cx, jy = j / P.cx % P.cy, jz = j / (P.cx * P.cy);
        SUM sum = 0, couplings = 0;
        for (int sz = -CZ; sz <= CZ; sz++)
            for (int sy = -CY; sy <= CY; sy++)
                for (int sx = -CX; sx <= CX; sx++) {
                    const point f = { beside(jx << CX, sx, nx, wraps & 1), beside(jy << CY, sy, ny, wraps & 2),
                                      beside(jz << CZ, sz, nz, wraps & 4), 0 };
                    if (f.x < 0 || f.y < 0 || f.z < 0) continue;
                    const SUM p = is_own(&P, sx, sy, sz) ? (SUM)1 : weight(&P, w, sx, sy, sz, j);
                    sum += p * product_with_ones(&A, &f, v);
                }
        for (int k = 1; k < HALF; k++) {
            const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9;
            const int to_x = beside(jx, -dx, P.cx, wraps & 1);
            const int to_y = beside(jy, -dy, P.cy, wraps & 2);
            const int to_z = beside(jz, -dz, P.cz, wraps & 4);
            couplings += (SUM)(c + (size_t)k * P.coarse)[j];
            if (to_x < 0 || to_y < 0 || to_z < 0) continue;
            couplings += (SUM)(c + (size_t)k * P.coarse)[to_x + P.cx * (to_y + P.cy * to_z)];
        }
        (c + (size_t)HALF * P.coarse)[j] = (REAL)sum;
        c[j] = (REAL)(sum - couplings);
    }
}
