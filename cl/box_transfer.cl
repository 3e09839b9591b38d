// box_transfer.cl - between a grid and the next coarser one: P and P'. Host:
// src/multigrid/box_transfer.c. box.clh says how the weights lie; nx, ny, nz and work are of the coarse grid,
// mx, my, mz of the fine one. CPU: the rows of the coarse grid in whole vectors.

#define TRANSFER_PARAMS                                                                   \
    BOX_GRID, int mx, int my, int mz, global const REAL *restrict w, ACC alpha,           \
        global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0

// The coarse number or weight in the column beside; 0 where there is none.
#define EAST_COLUMN_ONE                                                                   \
    const int east = beside(ix, 1, nx, wraps & 1), have_e = east >= 0;                    \
    const int step_e = have_e ? east - ix : 0;
#define EAST_COLUMN_MANY const int have_e = 1, step_e = 1;

#if CX
// Of fine row `at`, the points dx from those of the coarse points; and both those points and the ones to
// their right are written.
#define FINE_ONE(p, at, dx) AT_ONE(p, (at) + max(beside(2 * ix, dx, mx, wraps & 1), 0))
#define PUT_PAIR_ONE(even, odd, p, at)                                                    \
    {                                                                                     \
        const int k = (at) + 2 * ix, pair = 2 * ix + 1 < mx;                              \
        PUT_ONE(old == 0 ? by * (even) : by * (even) + old * AT_ONE(p, k), p, k);         \
        if (pair) PUT_ONE(old == 0 ? by * (odd) : by * (odd) + old * AT_ONE(p, k + 1), p, k + 1); \
    }
#ifdef KRY_CPU
#define PAIRS       KRY_JOIN(REAL, 16)
#define SUM_PAIRS   KRY_JOIN(SUM, 16)
#define TO_PAIRS    KRY_JOIN(convert_, SUM_PAIRS)
#define FROM_PAIRS  KRY_JOIN(convert_, PAIRS)
#define FINE_MANY(p, at, dx) (TO_PAIRS(vload16(0, (p) + (at) + 2 * ix + (dx))).even)
#define PUT_PAIR_MANY(even_, odd_, p, at)                                                 \
    {                                                                                     \
        global REAL *to = (p) + (at) + 2 * ix;                                            \
        SUM_PAIRS both;                                                                   \
        both.even = even_, both.odd = odd_;                                               \
        both *= by;                                                                       \
        if (old != 0) both += old * TO_PAIRS(vload16(0, to));                             \
        vstore16(FROM_PAIRS(both), 0, to);                                                \
    }
#endif
#else
#define FINE_ONE(p, at, dx)  AT_ONE(p, (at) + ix)
#define FINE_MANY(p, at, dx) AT_MANY(p, (at) + ix)
#define PUT_PAIR(K, even, p, at) \
    PUT_##K(old == 0 ? by * (even) : by * (even) + old * AT_##K(p, (at) + ix), p, (at) + ix);
#define PUT_PAIR_ONE(even, odd, p, at)  PUT_PAIR(ONE, even, p, at)
#define PUT_PAIR_MANY(even, odd, p, at) PUT_PAIR(MANY, even, p, at)
#endif

// The column of a vector: sweep.clh says "anywhere inside".
#define COLUMN_ONE
#define COLUMN_MANY const int ix = i - row;

// y := alpha P' x + beta y; with beta == 0, y is not read. Words for each fine number: 1 of x; of each coarse
// one: its weights (8 or 26) and 1.
kernel void box_restrict(TRANSFER_PARAMS)
{
    const int coarse = work;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
#define RESTRICT_ROW(K, dy, dz)                                                           \
    {                                                                                     \
        const int fy = beside(iy << CY, dy, my, wraps & 2);                               \
        const int fz = beside(iz << CZ, dz, mz, wraps & 4);                               \
        if (fy >= 0 && fz >= 0) {                                                         \
            const int at = mx * (fy + my * fz);                                           \
            T_##K c = FINE_##K(x, at, 0);                                                 \
            sum += PLACE(0, dy, dz) == CENTRE ? c : AT_##K(WEIGHT(0, dy, dz), i) * c;     \
            RESTRICT_SIDES(K, dy, dz)                                                     \
        }                                                                                 \
    }
#if CX
#define RESTRICT_SIDES(K, dy, dz)                                                         \
    sum += AT_##K(WEIGHT(-1, dy, dz), i) * FINE_##K(x, at, -1);                           \
    sum += AT_##K(WEIGHT(1, dy, dz), i) * FINE_##K(x, at, 1);
#else
#define RESTRICT_SIDES(K, dy, dz)
#endif
#define RESTRICT_POINT(K, GET, BODY)                                                      \
    {                                                                                     \
        COLUMN_##K                                                                        \
        T_##K sum = 0;                                                                    \
        for (int dz = -CZ; dz <= CZ; dz++)                                                \
            for (int dy = -CY; dy <= CY; dy++) RESTRICT_ROW(K, dy, dz)                    \
        PUT_##K(old == 0 ? by * sum : by * sum + old * AT_##K(y, i), y, i);               \
    }
    BOX_SWEEP(RESTRICT_POINT, , )
}

// y := alpha P x + beta y; with beta == 0, y is not read. Words for each fine number: 1, or with beta 2; for
// each coarse one: its weights (8 or 26) and 1.
kernel void box_prolong(TRANSFER_PARAMS)
{
    const int coarse = work;
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
// The share of the coarse points in row (py, pz) from here, 0 or 1 each, in a row of fine points that is
// odd along y and z, or not.
#define PROLONG_SHARE(K, py, pz)                                                          \
    {                                                                                     \
        const int jy = py ? beside(iy, 1, ny, wraps & 2) : iy;                            \
        const int jz = pz ? beside(iz, 1, nz, wraps & 4) : iz;                            \
        if (jy >= 0 && jz >= 0) {                                                         \
            const int j = i + nx * (jy - iy) + plane * (jz - iz);                         \
            const int dy = odd_y - 2 * (py), dz = odd_z - 2 * (pz);                       \
            T_##K c = AT_##K(x, j);                                                       \
            even += PLACE(0, dy, dz) == CENTRE ? c : AT_##K(WEIGHT(0, dy, dz), j) * c;    \
            PROLONG_SIDES(K, dy, dz)                                                      \
        }                                                                                 \
    }
#if CX
#define PROLONG_SIDES(K, dy, dz)                                                          \
    odd += AT_##K(WEIGHT(1, dy, dz), j) * c;                                              \
    if (have_e) odd += AT_##K(WEIGHT(-1, dy, dz), j + step_e) * AT_##K(x, j + step_e);
#else
#define PROLONG_SIDES(K, dy, dz)
#endif
#define PROLONG_ROW(K, odd_y_, odd_z_)                                                    \
    {                                                                                     \
        const int odd_y = odd_y_, odd_z = odd_z_;                                         \
        const int fy = (iy << CY) + odd_y, fz = (iz << CZ) + odd_z;                       \
        if (fy < my && fz < mz) {                                                         \
            T_##K even = 0, odd = 0;                                                      \
            for (int pz = 0; pz <= odd_z; pz++)                                           \
                for (int py = 0; py <= odd_y; py++) PROLONG_SHARE(K, py, pz)              \
            PUT_PAIR_##K(even, odd, y, mx * (fy + my * fz))                               \
        }                                                                                 \
    }
#define PROLONG_POINT(K, GET, BODY)                                                       \
    {                                                                                     \
        COLUMN_##K                                                                        \
        EAST_COLUMN_##K                                                                   \
        for (int uz = 0; uz <= CZ; uz++)                                                  \
            for (int uy = 0; uy <= CY; uy++) PROLONG_ROW(K, uy, uz)                       \
    }
    BOX_SWEEP(PROLONG_POINT, , )
}
