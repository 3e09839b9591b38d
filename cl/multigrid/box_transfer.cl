// box_transfer.cl - between a grid and the next coarser one: P and P'. Host: src/mg/box_transfer.c. transfer.clh says
// how the weights lie; cx, cy, cz and work are of the coarse grid, nx, ny, nz of the fine one.

#include "common/kry.clh"
#include "multigrid/box.clh"
#include "multigrid/transfer.clh"

#define TRANSFER_PARAMS                                                                   \
    int work, int cx, int cy, int cz, int wraps, int nx, int ny, int nz,                  \
        global const REAL *restrict w, ACC alpha, global const REAL *restrict x, long x0, \
        ACC beta, global REAL *restrict y, long y0
#define TRANSFER_PASS { nx, ny, nz, wraps, cx, cy, cz, work, CX, CY, CZ, ROWS_ALIKE }

// A coarse point of number j.
typedef struct coarse_point {
    int j, x, y, z;
} coarse_point;

INLINED void take_coarse_point(const transfer *P, int j, coarse_point *p)
{
    p->j = j, p->x = j % P->cx, p->y = j / P->cx % P->cy, p->z = j / (P->cx * P->cy);
}

#ifdef KRY_CPU

// Whether VW points of a row, the first of which is p, are between its ends and before point `last`.
INLINED int begins_vector(const transfer *P, const coarse_point *p, int last)
{
    return p->x >= EDGE && p->x + VW <= P->cx - EDGE && p->j + VW <= last;
}

// y := alpha P' x + beta y; with beta == 0, y is not read. Words for each fine number: 1 of x; of each coarse
// one: its weights (8 or 26) and 1.
kernel void box_restrict(TRANSFER_PARAMS)
{
    const transfer P = TRANSFER_PASS;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
    for (int j = (int)chunk_at(work, GROUP_HERE), last = (int)chunk_at(work, GROUP_HERE + 1); j < last;) {
        coarse_point p;
        take_coarse_point(&P, j, &p);
        const int many = begins_vector(&P, &p, last);
        SUMV sums = 0;
        SUM sum = 0;
        for (int dz = -CZ; dz <= CZ; dz++)
            for (int dy = -CY; dy <= CY; dy++) {
                const int fy = beside(p.y << CY, dy, ny, wraps & 2), fz = beside(p.z << CZ, dz, nz, wraps & 4);
                if (fy < 0 || fz < 0) continue;
                global const REAL *row = x + nx * (fy + ny * fz);
                if (many) sums = add_shares(&P, w, p.x, j, row, dy, dz, sums);
                else sum = add_share(&P, w, p.x, j, row, dy, dz, sum);
            }
        if (many) store_many(old == 0 ? by * sums : by * sums + old * LOAD_SUMV(y + j), y + j);
        else put_scaled(by, sum, old, y, y, j);
        j += many ? VW : 1;
    }
}

// y := alpha P x + beta y; with beta == 0, y is not read. Words for each fine number: 1, or with beta 2; for
// each coarse one: its weights (8 or 26) and 1.
kernel void box_prolong(TRANSFER_PARAMS)
{
    const transfer P = TRANSFER_PASS;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
    for (int j = (int)chunk_at(work, GROUP_HERE), last = (int)chunk_at(work, GROUP_HERE + 1); j < last;) {
        coarse_point p;
        take_coarse_point(&P, j, &p);
        const int many = begins_vector(&P, &p, last);
        for (int odd_z = 0; odd_z <= CZ; odd_z++)
            for (int odd_y = 0; odd_y <= CY; odd_y++) {
                const int fy = (p.y << CY) + odd_y, fz = (p.z << CZ) + odd_z;
                if (fy >= ny || fz >= nz) continue;
                global REAL *row = y + nx * (fy + ny * fz);
                if (many) {
                    SUMV odd, even = corrections(&P, w, p.x, p.y, p.z, odd_y, odd_z, x, &odd);
                    put_pairs(&P, p.x, by, even, odd, old, row, row);
                } else {
                    SUM odd, even = correction(&P, w, p.x, p.y, p.z, odd_y, odd_z, x, &odd);
                    put_pair(&P, p.x, by, even, odd, old, row, row);
                }
            }
        j += many ? VW : 1;
    }
}

#else

// y := alpha P' x + beta y; with beta == 0, y is not read. Words for each fine number: 1 of x; of each coarse
// one: its weights (8 or 26) and 1.
kernel void box_restrict(TRANSFER_PARAMS)
{
    const transfer P = TRANSFER_PASS;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
    FOR_EACH(j, work)
    {
        coarse_point p;
        SUM sum = 0;
        take_coarse_point(&P, (int)j, &p);
        // where there is no row the weights are 0
        UNROLLED for (int dz = -CZ; dz <= CZ; dz++)
            UNROLLED for (int dy = -CY; dy <= CY; dy++)
            {
                const int fy = max(beside(p.y << CY, dy, ny, wraps & 2), 0);
                const int fz = max(beside(p.z << CZ, dz, nz, wraps & 4), 0);
                sum = add_share(&P, w, p.x, p.j, x + nx * (fy + ny * fz), dy, dz, sum);
            }
        put_scaled(by, sum, old, y, y, p.j);
    }
}

// y := alpha P x + beta y; with beta == 0, y is not read. Words for each fine number: 1, or with beta 2; for
// each coarse one: its weights (8 or 26) and 1.
kernel void box_prolong(TRANSFER_PARAMS)
{
    const transfer P = TRANSFER_PASS;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
    FOR_EACH(j, work)
    {
        coarse_point p;
        SUM even[4], odd[4];
        take_coarse_point(&P, (int)j, &p);
        UNROLLED for (int odd_z = 0; odd_z <= CZ; odd_z++)
            UNROLLED for (int odd_y = 0; odd_y <= CY; odd_y++)
                even[odd_y + 2 * odd_z] =
                    correction(&P, w, p.x, p.y, p.z, odd_y, odd_z, x, &odd[odd_y + 2 * odd_z]);
        UNROLLED for (int odd_z = 0; odd_z <= CZ; odd_z++)
            UNROLLED for (int odd_y = 0; odd_y <= CY; odd_y++)
            {
                const int fy = (p.y << CY) + odd_y, fz = (p.z << CZ) + odd_z, q = odd_y + 2 * odd_z;
                global REAL *row = y + nx * (fy + ny * fz);
                if (fy < ny && fz < nz) put_pair(&P, p.x, by, even[q], odd[q], old, row, row);
            }
    }
}

#endif
