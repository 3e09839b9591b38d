// box_setup.cl - from the stencil of a grid: the interpolation from the next coarser one, after Dendy, and
// the stencil there. Host: src/mg/box_setup.c. Loops as in sweep.clh, numbers as in box.clh, entries of A as
// in box_entry.clh.
//
// J. E. Dendy, Black box multigrid, J. Comput. Phys. 48 (1982) 366-386, doi:10.1016/0021-9991(82)90057-2.

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"
#include "multigrid/box_entry.clh"

// What the fine point at a distance from coarse point j has from it
#define FROM_OWN_POINT(K, sx, sy, sz, j) \
    (PLACE(sx, sy, sz) == CENTRE ? (T_##K)1 : AT_##K(WEIGHT(sx, sy, sz), j))

#pragma kry part weights and stencils

// ---- interpolation ----

// The weights in the fine point that is odd along the axes of `odd`, from the coarse point jx, jy, jz on: its
// stencil is collapsed onto these axes (s), and what it says of neighbours that are odd along fewer of them
// is said of the coarse points that those have their values from. Where the row sums to zero, so do the
// weights to one.
// p, bit a: the coarse point on the high side along axis a. t: the neighbours that are odd along `odd` less t.
// FLUX: the diagonal once more, from what the row adds up to.
#ifdef FLUX
#define TAKE_SUM(K)                                                                       \
    {                                                                                     \
        const T_##K row = STRIDED_##K(SLOT(HALF), ix + nx * (iy + ny * iz));              \
        s[13] += row - total, own += row - total, total = row;                            \
    }
#else
#define TAKE_SUM(K)
#endif
#define DEFINE_WEIGH(K)                                                                   \
    void weigh_##K(GRID_PARAMS, int odd, int jx, int jy, int jz, ACC tiny, global REAL *w) \
    {                                                                                     \
        COARSE_SIZES                                                                      \
        const int mx = odd & 1, my = odd >> 1 & 1, mz = odd >> 2 & 1;                     \
        const int ix = (jx << CX) + mx, iy = (jy << CY) + my, iz = (jz << CZ) + mz;       \
        T_##K s[27], total = 0, own = 0;                                                  \
        EACH(k, 0, 26) s[k] = 0;                                                          \
        EACH(dz, -DZ, DZ)                                                                 \
            EACH(dy, -1, 1)                                                               \
                EACH(dx, -1, 1) {                                                         \
                    const T_##K value = ENTRY(K, dx, dy, dz);                             \
                    s[13 + mx * dx + 3 * my * dy + 9 * mz * dz] += value;                 \
                    if (dx == 0 && dy == 0 && dz == 0) own = value;                       \
                    total += value;                                                       \
                }                                                                         \
        TAKE_SUM(K)                                                                       \
        T_##K by = total <= (SUM)tiny * own ? s[13] - total : s[13];                      \
        by = by != 0 ? -1 / by : (T_##K)0;                                                \
        EACH(p, 0, 7) {                                                                   \
            if (p & ~odd) continue;                                                       \
            const int to_x = p & 1 ? beside(jx, 1, cx, wraps & 1) : jx;                   \
            const int to_y = p & 2 ? beside(jy, 1, cy, wraps & 2) : jy;                   \
            const int to_z = p & 4 ? beside(jz, 1, cz, wraps & 4) : jz;                   \
            if (to_x < 0 || to_y < 0 || to_z < 0) continue;                               \
            const int to = to_x + cx * (to_y + cy * to_z);                                \
            const int dx = p & 1 ? mx : -mx, dy = p & 2 ? my : -my, dz = p & 4 ? mz : -mz; \
            T_##K sum = s[13 + dx + 3 * dy + 9 * dz];                                     \
            EACH(t, 1, odd - 1) {                                                         \
                if (t & ~odd) continue;                                                   \
                const int tx = t & 1, ty = t >> 1 & 1, tz = t >> 2;                       \
                sum += s[13 + tx * dx + 3 * ty * dy + 9 * tz * dz] *                      \
                       AT_##K(WEIGHT(dx * (tx - 1), dy * (ty - 1), dz * (tz - 1)), to);   \
            }                                                                             \
            PUT_##K(by * sum, WEIGHT(-dx, -dy, -dz), to);                                 \
        }                                                                                 \
    }
DEFINE_BOTH(DEFINE_WEIGH)

// The weights in the points that are odd along `odds` axes; those in points that are odd along fewer of them
// are there. All weights are 0 at first.
kernel void box_weights(GRID_PARAMS, int odds, ACC tiny, global REAL *w)
{
    COARSE_SIZES
    const int can = CX + 2 * CY + 4 * CZ;
#define WEIGH(K)                                                                          \
    EACH(odd, 1, can) {                                                                   \
        if (odd & ~can || (odd & 1) + (odd >> 1 & 1) + (odd >> 2) != odds) continue;      \
        if ((jx << CX) + (odd & 1) < nx && (jy << CY) + (odd >> 1 & 1) < ny &&            \
            (jz << CZ) + (odd >> 2) < nz)                                                 \
            weigh_##K(GRID_GIVEN, odd, jx, jy, jz, tiny, w);                              \
    }
    SETUP_SWEEP(WEIGH)
}

// ---- P'A P ----

enum { NOWHERE = 9 };

// How far from coarse point I the fine point is that lies `s` from coarse point I + d, in steps on the fine
// grid. touching: nothing is between I and I + d.
int steps(int coarsened, int touching, int d, int s)
{
    if (d == 0 || !coarsened) return d + s;
    if (touching) return s == 0 ? d : NOWHERE;
    return abs(2 * d + s) <= 2 ? 2 * d + s : NOWHERE;
}

// t: layer oz of A times the column of P that belongs to the coarse point whose own is fx_, fy_, fz_; two
// points to each side.
#define DEFINE_COLUMN(K)                                                                  \
    void column_##K(GRID_PARAMS, int oz, int fx_, int fy_, int fz_, int j, int coarse,    \
                    global const REAL *w, T_##K *t)                                       \
    {                                                                                     \
        EACH(k, 0, 24) t[k] = 0;                                                          \
        EACH(sz, -CZ, CZ)                                                                 \
            EACH(sy, -CY, CY)                                                             \
                EACH(sx, -CX, CX) {                                                       \
                    const int ix = beside(fx_, sx, nx, wraps & 1);                        \
                    const int iy = beside(fy_, sy, ny, wraps & 2);                        \
                    const int iz = beside(fz_, sz, nz, wraps & 4), dz = oz - sz;          \
                    if (abs(dz) > DZ || ix < 0 || iy < 0 || iz < 0) continue;             \
                    const T_##K p = FROM_OWN_POINT(K, sx, sy, sz, j);                     \
                    EACH(dy, -1, 1)                                                       \
                        EACH(dx, -1, 1)                                                   \
                            t[12 + sx + dx + 5 * (sy + dy)] += p * ENTRY(K, dx, dy, dz);  \
                }                                                                         \
    }
DEFINE_BOTH(DEFINE_COLUMN)

// Row jx, jy, jz of the coarse stencil: that times the columns of the coarse points that it touches. Only on
// axes that are periodic and of odd size do two of them touch.
#define DEFINE_GALERKIN(K)                                                                \
    void galerkin_##K(GRID_PARAMS, int jx, int jy, int jz, global const REAL *restrict w, \
                      global REAL *restrict c)                                            \
    {                                                                                     \
        COARSE_SIZES                                                                      \
        const int j = jx + cx * (jy + cy * jz);                                           \
        const int fx_ = jx << CX, fy_ = jy << CY, fz_ = jz << CZ;                         \
        const int touch_w = jx == 0 && nx % 2, touch_e = fx_ + 1 == nx;                   \
        const int touch_s = jy == 0 && ny % 2, touch_n = fy_ + 1 == ny;                   \
        const int touch_a = fz_ + 1 == nz;                                                \
        T_##K sum[HALF], t[25];                                                           \
        EACH(k, 0, HALF - 1) sum[k] = 0;                                                  \
        EACH(oz, -CZ, (AXES == 3 ? 1 + CZ : 0)) {                                         \
            column_##K(GRID_GIVEN, oz, fx_, fy_, fz_, j, coarse, w, t);                   \
            EACH(k, 0, HALF - 1) {                                                        \
                const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9; \
                const int to_x = beside(jx, dx, cx, wraps & 1);                           \
                const int to_y = beside(jy, dy, cy, wraps & 2);                           \
                const int to_z = beside(jz, dz, cz, wraps & 4);                           \
                if (to_x < 0 || to_y < 0 || to_z < 0) continue;                           \
                const int to = COARSE_COLUMN(to_x) + cx * (to_y + cy * to_z);             \
                EACH(sz, -CZ, CZ) {                                                       \
                    if (steps(CZ, touch_a, dz, sz) != oz) continue;                       \
                    EACH(sy, -CY, CY) {                                                   \
                        const int oy = steps(CY, dy < 0 ? touch_s : touch_n, dy, sy);     \
                        if (oy == NOWHERE) continue;                                      \
                        EACH(sx, -CX, CX) {                                               \
                            const int ox = steps(CX, dx < 0 ? touch_w : touch_e, dx, sx); \
                            if (ox == NOWHERE) continue;                                  \
                            sum[k] += t[12 + ox + 5 * oy] * FROM_OWN_POINT(K, sx, sy, sz, to); \
                        }                                                                 \
                    }                                                                     \
                }                                                                         \
            }                                                                             \
        }                                                                                 \
        EACH(k, 0, HALF - 1) PUT_##K(sum[k], c + (size_t)k * coarse, j);                  \
    }
DEFINE_BOTH(DEFINE_GALERKIN)

// c := the stencil of the coarse grid
kernel void box_galerkin(GRID_PARAMS, global const REAL *restrict w, global REAL *restrict c)
{
    COARSE_SIZES
#define GALERKIN(K) galerkin_##K(GRID_GIVEN, jx, jy, jz, w, c);
    SETUP_SWEEP(GALERKIN)
}

#pragma kry part sums

#ifndef COARSE_ENDS // constant coefficients are in no flux form

// What row ix, iy, iz of A adds up to: exactly 0 where no side has given values.
#ifdef FLUX
#define ROW_SUM AT_ONE(SLOT(HALF), ix + nx * (iy + ny * iz))
#elif defined(BOX)
#define ROW_SUM row
#else
#define ROW_SUM row_sum(GRID_GIVEN, ix, iy, iz)
#define ADD_SIDES(sides, weight, f, at, size, stride, wrapped)                            \
    for (int high = 0; high < 2; high++) {                                                \
        const int has = beside(at, high ? 1 : -1, size, wrapped) >= 0;                    \
        const int own = often(sides, high, at, size) - has;                               \
        if (own != 0)                                                                     \
            sum += (SUM)own *                                                             \
                   face_ONE(sides, variable, weight, f, kappa, high, i, at, size, stride); \
    }
SUM row_sum(GRID_PARAMS, int ix, int iy, int iz)
{
    const int i = ix + nx * (iy + ny * iz);
    SUM sum = 0;
    ADD_SIDES(sides, wx, fx, ix, nx, 1, wraps & 1)
    ADD_SIDES(sides >> 4, wy, fy, iy, ny, nx, wraps & 2)
#if AXES == 3
    ADD_SIDES(sides >> 8, wz, fz, iz, nz, nx * ny, wraps & 4)
#endif
    return sum;
}
#endif

// P times ones in the point ix, iy, iz, with the rounding of weights that add up to one taken out.
SUM near_one(global const REAL *v, int nx, int ny, int ix, int iy, int iz)
{
    const SUM value = v[ix + nx * (iy + ny * iz)];
    return fabs(value - 1) < (SUM)6e-7f ? 1 : value;
}

// Row ix, iy, iz of A times P times ones, as a sum of differences.
SUM product_with_ones(GRID_PARAMS, int ix, int iy, int iz, global const REAL *v)
{
    const SUM own = near_one(v, nx, ny, ix, iy, iz);
    SUM sum = 0, row = 0; // what a box adds up to that is not in flux form
    for (int dz = -DZ; dz <= DZ; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int jx = beside(ix, dx, nx, wraps & 1), jy = beside(iy, dy, ny, wraps & 2);
                const int jz = beside(iz, dz, nz, wraps & 4);
                const SUM value = ENTRY(ONE, dx, dy, dz);
                row += value;
                if (jx < 0 || jy < 0 || jz < 0) continue;
                sum += value * (near_one(v, nx, ny, jx, jy, jz) - own);
            }
    return sum + ROW_SUM * own;
}

// What the rows of P'A P add up to: P'A times v, which is P times ones. And the diagonal once more, from that and
// from the couplings that are there.
kernel void box_sums(GRID_PARAMS, global const REAL *restrict w,
                     global const REAL *restrict v, global REAL *c)
{
    COARSE_SIZES
    FOR_EACH(i, coarse)
    {
        const int j = (int)i, jx = j % cx, jy = j / cx % cy, jz = j / (cx * cy);
        SUM sum = 0, couplings = 0;
        for (int sz = -CZ; sz <= CZ; sz++)
            for (int sy = -CY; sy <= CY; sy++)
                for (int sx = -CX; sx <= CX; sx++) {
                    const int ix = beside(jx << CX, sx, nx, wraps & 1);
                    const int iy = beside(jy << CY, sy, ny, wraps & 2);
                    const int iz = beside(jz << CZ, sz, nz, wraps & 4);
                    if (ix < 0 || iy < 0 || iz < 0) continue;
                    const SUM p = FROM_OWN_POINT(ONE, sx, sy, sz, j);
                    sum += p * product_with_ones(GRID_GIVEN, ix, iy, iz, v);
                }
        for (int k = 1; k < HALF; k++) {
            const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9;
            const int to_x = beside(jx, -dx, cx, wraps & 1);
            const int to_y = beside(jy, -dy, cy, wraps & 2);
            const int to_z = beside(jz, -dz, cz, wraps & 4);
            couplings += AT_ONE(c + (size_t)k * coarse, j);
            if (to_x < 0 || to_y < 0 || to_z < 0) continue;
            couplings += AT_ONE(c + (size_t)k * coarse, to_x + cx * (to_y + cy * to_z));
        }
        PUT_ONE(sum, c + (size_t)HALF * coarse, j);
        PUT_ONE(sum - couplings, c, j);
    }
}

#endif
