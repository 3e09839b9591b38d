// box_transfer.cl - between a grid and the next coarser one: P and P'. Host:
// src/mg/box_transfer.c. ONE and MANY points are those of sweep.clh, and box.clh says how the weights
// lie; cx, cy, cz and work are of the coarse grid, nx, ny, nz of the fine one.

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"

#define TRANSFER_PARAMS                                                                   \
    int work, int cx, int cy, int cz, int wraps, int nx, int ny, int nz,                  \
        global const REAL *restrict w, ACC alpha, global const REAL *restrict x, long x0, \
        ACC beta, global REAL *restrict y, long y0

// y := alpha P' x + beta y; with beta == 0, y is not read. Words for each fine number: 1 of x; of each coarse
// one: its weights (8 or 26) and 1.
kernel void box_restrict(TRANSFER_PARAMS)
{
    const int coarse = work;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
#define RESTRICT(K)                                                                       \
    {                                                                                     \
        T_##K sum = 0;                                                                    \
        for (int dz = -CZ; dz <= CZ; dz++)                                                \
            for (int dy = -CY; dy <= CY; dy++) {                                          \
                const int fy = beside(jy << CY, dy, ny, wraps & 2);                       \
                const int fz = beside(jz << CZ, dz, nz, wraps & 4);                       \
                if (fy < 0 || fz < 0) continue;                                           \
                RESTRICT_ROW(K, x + nx * (fy + ny * fz), dy, dz)                          \
            }                                                                             \
        PUT_##K(old == 0 ? by * sum : by * sum + old * AT_##K(y, j), y, j);               \
    }
    COARSE_SWEEP(RESTRICT)
}

// y := alpha P x + beta y; with beta == 0, y is not read. Words for each fine number: 1, or with beta 2; for
// each coarse one: its weights (8 or 26) and 1.
kernel void box_prolong(TRANSFER_PARAMS)
{
    const int coarse = work;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
#define PROLONG(K)                                                                        \
    for (int odd_z = 0; odd_z <= CZ; odd_z++)                                             \
        for (int odd_y = 0; odd_y <= CY; odd_y++) {                                       \
            const int fy = (jy << CY) + odd_y, fz = (jz << CZ) + odd_z;                   \
            if (fy >= ny || fz >= nz) continue;                                           \
            global REAL *row = y + nx * (fy + ny * fz);                                   \
            PROLONG_ROW(K, x, odd_y, odd_z)                                               \
            PUT_PAIR_##K(even, odd, row, row)                                             \
        }
    COARSE_SWEEP(PROLONG)
}
