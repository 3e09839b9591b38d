// box_setup.cl - what the stencil of a grid says of multigrid on it: the interpolation from the next coarser grid, after
// Dendy, the stencil there, how large eigenvalues may be, and how strong couplings are along each axis. Host: src/mg/box_setup.c.
// box.clh says how numbers lie. A work-item does a coarse point, in an order of its own sums, so that the bits do not depend on
// groups.
//
// J. E. Dendy, Black box multigrid, J. Comput. Phys. 48 (1982) 366-386, doi:10.1016/0021-9991(82)90057-2.

#define AXES 3   // for the includes: here it is an argument
#define SUM  ACC // rows that sum to zero shall do so on coarse grids

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"

// ---- the fine grid, the coarse one, and the stencil of the fine one ----

typedef struct grids {
    int work, nx, ny, nz, wraps; // of the fine grid
    int axes;                    // 2 or 3
    int coarsened;               // mask of axes; 0: the coarse grid is the fine one
    int ends;                    // FINE_ENDS, COARSE_ENDS
    global const REAL *a;        // the stencil, stored; NULL: that of cl/grid/stencil.cl, 5 or 7 points by weights of faces
    int flux;                    // whether `a` has the sums of rows behind its other numbers, as FLUX in box.clh
    int sides;    // two bits for each of west, east, south and so on: 0 the ghost behind it is 0, 1 it is x_i, 2 the axis is periodic, 3 it is -x_i
    int variable; // 0 if each axis has one weight
    SUM wx, wy, wz;
    global const REAL *kappa, *fx, *fy, *fz;
    int cx, cy, cz, coarse; // sizes of the coarse grid, and how many points it has
} grids;

enum {
    FINE_ENDS = 1,  // the numbers of the fine stencil are there for the points at the ends of its rows only
    COARSE_ENDS = 2 // and so shall those of the coarse points be: UNIFORM reads no others
};

#define GRIDS                                                                             \
    BOX_GRID, int axes, int coarsened, int ends, BOX_NUMBERS, int flux, int sides, int variable, ACC wx, ACC wy, ACC wz, \
        global const REAL *restrict kappa, global const REAL *restrict fx,                \
        global const REAL *restrict fy, global const REAL *restrict fz
// G: both grids
#define GRIDS_BEGIN                                                                       \
    grids grids_ = { work, nx, ny, nz, wraps, axes, coarsened, ends, a, flux, sides, variable, (SUM)wx, (SUM)wy, (SUM)wz, \
                     kappa, fx, fy, fz, 0, 0, 0, 0 };                                     \
    set_coarse_sizes(&grids_);                                                            \
    const grids *const G = &grids_;

#define CX (G->coarsened & 1)
#define CY (G->coarsened >> 1 & 1)
#define CZ (G->coarsened >> 2 & 1)
#define DZ (G->axes == 3) // how far a stencil reaches along z
#undef HALF
#define HALF (G->axes == 2 ? 5 : 14)
#undef SLOT
#define SLOT(s) (G->a + (size_t)(s) * G->work)

INLINED void set_coarse_sizes(grids *G)
{
    G->cx = (G->nx + CX) >> CX, G->cy = (G->ny + CY) >> CY, G->cz = (G->nz + CZ) >> CZ;
    G->coarse = G->cx * G->cy * G->cz;
}

// The neighbour on an axis, or -1
INLINED int beside_x(const grids *G, int ix, int step) { return beside(ix, step, G->nx, G->wraps & 1); }
INLINED int beside_y(const grids *G, int iy, int step) { return beside(iy, step, G->ny, G->wraps & 2); }
INLINED int beside_z(const grids *G, int iz, int step) { return beside(iz, step, G->nz, G->wraps & 4); }
INLINED int fine_point(const grids *G, int ix, int iy, int iz) { return ix + G->nx * (iy + G->ny * iz); }

// Compilers for GPUs shall not unroll these loops: what is done once takes little time, but they took half a second.
#ifdef KRY_CPU
#define EACH(k, first, last) for (int k = first; k <= last; k++)
#else
#define EACH(k, first, last) NOT_UNROLLED for (int k = first; k <= last; k++)
#endif

// The columns at the ends of rows: ENDS of them, and what stands for all between
#define NEAR 6 // UNIFORM reads column 5 at the most, and from the end; the one after the gap lacks a weight
#define ENDS (2 * NEAR)
int column_of(int at, int size) { return at >= NEAR && at <= size - NEAR ? NEAR - 2 : at; }
INLINED int fine_column(const grids *G, int at) { return G->ends & FINE_ENDS ? column_of(at, G->nx) : at; }
INLINED int coarse_column(const grids *G, int at) { return G->ends & COARSE_ENDS ? column_of(at, G->cx) : at; }

// ---- one coarse point, or on CPUs LANES of them in a row, between its first and its last: K is ONE or
// MANY. STRIDED reads what lies at the fine points of theirs, the first of which has number i. ----

#define STRIDED_ONE AT_ONE
#define STRIDED_MANY(p, i)                                                                \
    (CX ? KRY_JOIN(convert_, KRY_JOIN(SUM, 16))(KRY_JOIN(vload, 16)(0, (p) + (i))).even : AT_MANY(p, i))
#ifdef KRY_CPU
#define DEFINE_BOTH(DEFINE) DEFINE(ONE) DEFINE(MANY)
#else
#define DEFINE_BOTH(DEFINE) DEFINE(ONE)
#endif

// CALL(ONE) for each point of the coarse grid whose numbers shall be there, number j of them
#define SWEEP_ONE(CALL)                                                                   \
    const int columns = G->ends & COARSE_ENDS ? min(G->cx, ENDS) : G->cx;                 \
    FOR_EACH(at, columns * G->cy * G->cz)                                                 \
    {                                                                                     \
        const int k = (int)at % columns, row = (int)at / columns;                         \
        const int jx = k < columns / 2 ? k : k + G->cx - columns, jy = row % G->cy, jz = row / G->cy; \
        CALL(ONE)                                                                         \
    }
// The same, and CALL(MANY)
#ifdef KRY_CPU
#define SETUP_SWEEP(CALL)                                                                 \
    if (G->ends) {                                                                        \
        SWEEP_ONE(CALL)                                                                   \
    } else {                                                                              \
        const int cx = G->cx, cy = G->cy, coarse = G->coarse;                             \
        COARSE_SWEEP(CALL)                                                                \
    }
#else
#define SETUP_SWEEP SWEEP_ONE
#endif

// ---- a(i, i + d): entry_K(G, ix, iy, iz, dx, dy, dz) of the point ix, iy, iz; 0 if there is no such neighbour ----

#define DEFINE_STORED(K)                                                                  \
    INLINED T_##K stored_##K(const grids *G, int ix, int iy, int iz, int dx, int dy, int dz)      \
    {                                                                                     \
        const int jx = beside_x(G, ix, dx), jy = beside_y(G, iy, dy), jz = beside_z(G, iz, dz); \
        const int slot = dx + 3 * (dy + 3 * dz);                                          \
        if (jx < 0 || jy < 0 || jz < 0) return 0;                                         \
        return slot >= 0 ? STRIDED_##K(SLOT(slot), fine_point(G, fine_column(G, ix), iy, iz))   \
                         : STRIDED_##K(SLOT(-slot), fine_point(G, fine_column(G, jx), jy, jz)); \
    }
DEFINE_BOTH(DEFINE_STORED)

// A face of point i on one axis, where it stands `at` of `size`, `stride` numbers apart: its weight; and
// how often that is in the diagonal.
int often(int side, int high, int at, int size)
{
    const int inside = high ? at < size - 1 : at > 0, kind = side >> high * 2 & 3;
    return inside || kind == 0 ? 1 : kind == 1 ? 0 : kind == 3 ? 2 : size > 1;
}

#define DEFINE_FACE(K)                                                                    \
    INLINED T_##K face_##K(const grids *G, int side, SUM weight, global const REAL *f, int high, int i, int at, int size, int stride) \
    {                                                                                     \
        const int kind = side & 3;                                                        \
        if (!G->variable) return (T_##K)(weight);                                         \
        if (high) return STRIDED_##K(f, i);                                               \
        if (at > 0) return STRIDED_##K(f, i - stride);                                    \
        if (kind == 2) return STRIDED_##K(f, i + stride * (size - 1));                    \
        if (kind == 1) return 0;                                                          \
        return weight * STRIDED_##K(G->kappa, i);                                         \
    }
DEFINE_BOTH(DEFINE_FACE)

// Both faces of a point on one axis, for a(i, i) and for a neighbour along it.
#define ADD_FACES(K, d, sides, weight, f, at, size, stride, wrapped)                      \
    for (int high = 0; high < 2; high++) {                                                \
        const int step = high ? 1 : -1, own = often(sides, high, at, size);               \
        if (all ? own != 0 : d == step && beside(at, d, size, wrapped) >= 0)              \
            sum += (SUM)(all ? own : -1) * face_##K(G, sides, weight, f, high, i, at, size, stride); \
    }
#define DEFINE_ENTRY(K)                                                                   \
    INLINED T_##K entry_##K(const grids *G, int ix, int iy, int iz, int dx, int dy, int dz)       \
    {                                                                                     \
        const int i = fine_point(G, ix, iy, iz), all = dx == 0 && dy == 0 && dz == 0;     \
        T_##K sum = 0;                                                                    \
        if (G->a) return stored_##K(G, ix, iy, iz, dx, dy, dz);                           \
        if (abs(dx) + abs(dy) + abs(dz) > 1) return 0;                                    \
        ADD_FACES(K, dx, G->sides, G->wx, G->fx, ix, G->nx, 1, G->wraps & 1)              \
        ADD_FACES(K, dy, G->sides >> 4, G->wy, G->fy, iy, G->ny, G->nx, G->wraps & 2)     \
        if (G->axes == 3) {                                                               \
            ADD_FACES(K, dz, G->sides >> 8, G->wz, G->fz, iz, G->nz, G->nx * G->ny, G->wraps & 4) \
        }                                                                                 \
        return sum;                                                                       \
    }
DEFINE_BOTH(DEFINE_ENTRY)
#define ENTRY(K, dx, dy, dz) entry_##K(G, ix, iy, iz, dx, dy, dz)

// What the fine point at a distance from coarse point j has from it
#define FROM_OWN_POINT(K, sx, sy, sz, j) \
    (PLACE(sx, sy, sz) == CENTRE ? (T_##K)1 : AT_##K(WEIGHT(sx, sy, sz), j))

#pragma kry part weights, stencils, bounds

// ---- interpolation ----

// The weights in the fine point that is odd along the axes of `odd`, from the coarse point jx, jy, jz on: its
// stencil is collapsed onto these axes (s), and what it says of neighbours that are odd along fewer of them
// is said of the coarse points that those have their values from. Where the row sums to zero, so do the
// weights to one.
// p, bit a: the coarse point on the high side along axis a. t: the neighbours that are odd along `odd` less t.
#define DEFINE_WEIGH(K)                                                                   \
    void weigh_##K(const grids *G, int odd, int jx, int jy, int jz, SUM tiny, global REAL *w) \
    {                                                                                     \
        const int cx = G->cx, cy = G->cy, cz = G->cz, coarse = G->coarse;                 \
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
        if (G->flux) { /* the diagonal once more, from what the row adds up to */         \
            const T_##K row = STRIDED_##K(SLOT(HALF), fine_point(G, ix, iy, iz));         \
            s[13] += row - total, own += row - total, total = row;                        \
        }                                                                                 \
        T_##K by = total <= tiny * own ? s[13] - total : s[13];                           \
        by = by != 0 ? -1 / by : (T_##K)0;                                                \
        EACH(p, 0, 7) {                                                                   \
            if (p & ~odd) continue;                                                       \
            const int to_x = p & 1 ? beside(jx, 1, cx, G->wraps & 1) : jx;                \
            const int to_y = p & 2 ? beside(jy, 1, cy, G->wraps & 2) : jy;                \
            const int to_z = p & 4 ? beside(jz, 1, cz, G->wraps & 4) : jz;                \
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
kernel void box_weights(GRIDS, int odds, ACC tiny, global REAL *w)
{
    GRIDS_BEGIN
#define WEIGH(K)                                                                          \
    EACH(odd, 1, coarsened) {                                                             \
        if (odd & ~coarsened || (odd & 1) + (odd >> 1 & 1) + (odd >> 2) != odds) continue; \
        if ((jx << CX) + (odd & 1) < nx && (jy << CY) + (odd >> 1 & 1) < ny &&            \
            (jz << CZ) + (odd >> 2) < nz)                                                 \
            weigh_##K(G, odd, jx, jy, jz, (SUM)tiny, w);                                  \
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

// t: layer oz of A times the column of P that belongs to the coarse point whose own is x, y, z; two
// points to each side.
#define DEFINE_COLUMN(K)                                                                  \
    void column_##K(const grids *G, int oz, int x, int y, int z, int j, global const REAL *w, T_##K *t) \
    {                                                                                     \
        const int coarse = G->coarse;                                                     \
        EACH(k, 0, 24) t[k] = 0;                                                          \
        EACH(sz, -CZ, CZ)                                                                 \
            EACH(sy, -CY, CY)                                                             \
                EACH(sx, -CX, CX) {                                                       \
                    const int ix = beside_x(G, x, sx), iy = beside_y(G, y, sy);           \
                    const int iz = beside_z(G, z, sz), dz = oz - sz;                      \
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
    void galerkin_##K(const grids *G, int jx, int jy, int jz, global const REAL *restrict w, \
                      global REAL *restrict c)                                            \
    {                                                                                     \
        const int cx = G->cx, cy = G->cy, cz = G->cz, coarse = G->coarse;                 \
        const int j = jx + cx * (jy + cy * jz), slots = HALF;                              \
        const int x = jx << CX, y = jy << CY, z = jz << CZ;                               \
        const int touch_w = jx == 0 && G->nx % 2, touch_e = x + 1 == G->nx;               \
        const int touch_s = jy == 0 && G->ny % 2, touch_n = y + 1 == G->ny;               \
        const int touch_a = z + 1 == G->nz;                                               \
        T_##K sum[14], t[25];                                                             \
        EACH(k, 0, slots - 1) sum[k] = 0;                                                  \
        EACH(oz, -CZ, (DZ ? 1 + CZ : 0)) {                                                \
            column_##K(G, oz, x, y, z, j, w, t);                                          \
            EACH(k, 0, slots - 1) {                                                        \
                const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9; \
                const int to_x = beside(jx, dx, cx, G->wraps & 1);                        \
                const int to_y = beside(jy, dy, cy, G->wraps & 2);                        \
                const int to_z = beside(jz, dz, cz, G->wraps & 4);                        \
                if (to_x < 0 || to_y < 0 || to_z < 0) continue;                           \
                const int to = coarse_column(G, to_x) + cx * (to_y + cy * to_z);          \
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
        EACH(k, 0, slots - 1) PUT_##K(sum[k], c + (size_t)k * coarse, j);                  \
    }
DEFINE_BOTH(DEFINE_GALERKIN)

// c := the stencil of the coarse grid
kernel void box_galerkin(GRIDS, global const REAL *restrict w, global REAL *restrict c)
{
    GRIDS_BEGIN
#define GALERKIN(K) galerkin_##K(G, jx, jy, jz, w, c);
    SETUP_SWEEP(GALERKIN)
}

// ---- the largest eigenvalue ----

int row_bound(const grids *G, int ix, int iy, int iz)
{
    const SUM own = ENTRY(ONE, 0, 0, 0);
    SUM sum = 0;
    EACH(dz, -DZ, DZ)
        EACH(dy, -1, 1)
            EACH(dx, -1, 1) {
                const SUM value = fabs(ENTRY(ONE, dx, dy, dz));
                const int tx = beside_x(G, ix, dx), ty = beside_y(G, iy, dy), tz = beside_z(G, iz, dz);
                if (value != 0) sum += value / sqrt(own * entry_ONE(G, tx, ty, tz, 0, 0, 0));
            }
    return as_int(own > 0 ? (float)sum * 1.00001f : INFINITY);
}

// bound[level] := at least the largest sum of |a(i, j)| / sqrt(a(i, i) a(j, j)) over j of a row, which no
// eigenvalue of D^-1/2 A D^-1/2, or of D^-1 A, exceeds (Gershgorin). No term is above 1, whereas with a(i, i) alone
// below, a jump of the coefficients makes it 44. The bits of a float, which are in the order of the numbers. It is
// 0 at first. Nothing is coarsened.
kernel void box_bound(GRIDS, int level, global int *bound)
{
    local int highest;
    GRIDS_BEGIN
    if (get_local_id(0) == 0) highest = 0;
    BARRIER();
#define BOUND(K) highest_here = max(highest_here, row_bound(G, jx, jy, jz));
    int highest_here = 0;
    SWEEP_ONE(BOUND)
    atomic_max(&highest, highest_here);
    BARRIER();
    if (get_local_id(0) == 0) atomic_max(bound + level, highest);
}

#pragma kry part strength

// part[3 group + a] := the sum over the points of a box, whose first one is low_x, low_y, low_z, of the coupling along
// axis a, collapsed onto that axis, in units of that of the strongest axis of `among` there. Nothing is coarsened.
kernel void box_strength(GRIDS, int own, int own_x, int own_y, int low_x, int low_y, int low_z,
                         int among, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTAL sum_x = NO_TOTAL, sum_y = NO_TOTAL, sum_z = NO_TOTAL;
    GRIDS_BEGIN
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
        if (among & 1) most = max(most, x);
        if (among & 2) most = max(most, y);
        if (among & 4) most = max(most, z);
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

#pragma kry part sums of rows

// The sum of a row, and what the sides of an axis add to it
SUM plus_sides(const grids *G, SUM sum, int sides, SUM weight, global const REAL *f, int i, int at, int size,
               int stride, int wrapped)
{
    for (int high = 0; high < 2; high++) {
        const int has = beside(at, high ? 1 : -1, size, wrapped) >= 0;
        const int own = often(sides, high, at, size) - has;
        if (own != 0) sum += (SUM)own * face_ONE(G, sides, weight, f, high, i, at, size, stride);
    }
    return sum;
}

// What row ix, iy, iz of A adds up to: exactly 0 where no side has given values.
SUM row_sum(const grids *G, int ix, int iy, int iz)
{
    const int i = fine_point(G, ix, iy, iz);
    SUM sum = 0;
    sum = plus_sides(G, sum, G->sides, G->wx, G->fx, i, ix, G->nx, 1, G->wraps & 1);
    sum = plus_sides(G, sum, G->sides >> 4, G->wy, G->fy, i, iy, G->ny, G->nx, G->wraps & 2);
    if (G->axes == 3)
        sum = plus_sides(G, sum, G->sides >> 8, G->wz, G->fz, i, iz, G->nz, G->nx * G->ny, G->wraps & 4);
    return sum;
}

// P times ones in a point, with the rounding of weights that add up to one taken out.
SUM near_one(SUM value) { return fabs(value - 1) < (SUM)6e-7f ? 1 : value; }

// Row ix, iy, iz of A times P times ones, as a sum of differences.
SUM product_with_ones(const grids *G, int ix, int iy, int iz, global const REAL *v)
{
    const SUM own = near_one(v[fine_point(G, ix, iy, iz)]);
    SUM sum = 0, row = 0; // what the row adds up to
    for (int dz = -DZ; dz <= DZ; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int jx = beside_x(G, ix, dx), jy = beside_y(G, iy, dy), jz = beside_z(G, iz, dz);
                const SUM value = ENTRY(ONE, dx, dy, dz);
                row += value;
                if (jx < 0 || jy < 0 || jz < 0) continue;
                sum += value * (near_one(v[fine_point(G, jx, jy, jz)]) - own);
            }
    if (G->flux)
        row = AT_ONE(SLOT(HALF), fine_point(G, ix, iy, iz));
    else if (!G->a)
        row = row_sum(G, ix, iy, iz);
    return sum + row * own;
}

// What the rows of P'A P add up to: P'A times v, which is P times ones. And the diagonal once more, from that and
// from the couplings that are there. For numbers in flux form, which constant coefficients are not.
kernel void box_sums(GRIDS, global const REAL *restrict w, global const REAL *restrict v, global REAL *c)
{
    GRIDS_BEGIN
    const int cx = G->cx, cy = G->cy, cz = G->cz, coarse = G->coarse, slots = HALF;
    FOR_EACH(i, coarse)
    {
        const int j = (int)i, jx = j % cx, jy = j / cx % cy, jz = j / (cx * cy);
        SUM sum = 0, couplings = 0;
        for (int sz = -CZ; sz <= CZ; sz++)
            for (int sy = -CY; sy <= CY; sy++)
                for (int sx = -CX; sx <= CX; sx++) {
                    const int ix = beside_x(G, jx << CX, sx), iy = beside_y(G, jy << CY, sy);
                    const int iz = beside_z(G, jz << CZ, sz);
                    if (ix < 0 || iy < 0 || iz < 0) continue;
                    const SUM p = FROM_OWN_POINT(ONE, sx, sy, sz, j);
                    sum += p * product_with_ones(G, ix, iy, iz, v);
                }
        for (int k = 1; k < slots; k++) {
            const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9;
            const int to_x = beside(jx, -dx, cx, wraps & 1);
            const int to_y = beside(jy, -dy, cy, wraps & 2);
            const int to_z = beside(jz, -dz, cz, wraps & 4);
            couplings += AT_ONE(c + (size_t)k * coarse, j);
            if (to_x < 0 || to_y < 0 || to_z < 0) continue;
            couplings += AT_ONE(c + (size_t)k * coarse, to_x + cx * (to_y + cy * to_z));
        }
        PUT_ONE(sum, c + (size_t)slots * coarse, j);
        PUT_ONE(sum - couplings, c, j);
    }
}
