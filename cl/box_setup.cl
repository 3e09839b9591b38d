// box_setup.cl - from the stencil of a grid: the interpolation from the next coarser one, after Dendy, and
// the stencil there. Host: src/multigrid/box_setup.c. box.clh says how numbers lie; nx, ny, nz and work are of
// the fine grid, coarse is the number of points of the coarse one. A work-item does a coarse point, in an
// order of its own sums, so that the bits do not depend on groups.
//
// BOX           the fine stencil is stored, else it is that of cl/stencil.cl: five or seven points by weights
//               of faces
// FINE_ENDS     the numbers of the fine stencil are there for the points at the ends of its rows only
// COARSE_ENDS   and so shall those of the coarse points be: UNIFORM reads no others
//
// J. E. Dendy, Black box multigrid, J. Comput. Phys. 48 (1982) 366-386, doi:10.1016/0021-9991(82)90057-2.

// ---- the columns at the ends of rows: ENDS of them, and what stands for all between ----

#define NEAR 6 // UNIFORM reads column 5 at the most, and from the end; the one after the gap lacks a weight
#define ENDS (2 * NEAR)
int column_of(int at, int size) { return at >= NEAR && at <= size - NEAR ? NEAR - 2 : at; }

#if defined(BOX) && defined(FINE_ENDS)
#define FINE_COLUMN(at) column_of(at, nx)
#else
#define FINE_COLUMN(at) (at)
#endif
#ifdef COARSE_ENDS
#define COARSE_COLUMN(at) column_of(at, cx)
#else
#define COARSE_COLUMN(at) (at)
#endif

// ---- one coarse point, or on CPUs LANES of them in a row, between its first and its last: K is ONE or
// MANY. STRIDED reads what lies at the fine points of theirs, the first of which has number i. ----

#define STRIDED_ONE AT_ONE
#if LANES > 1 && CX
#define STRIDED_MANY(p, i) \
    (KRY_JOIN(convert_, KRY_JOIN(SUM, 16))(KRY_JOIN(vload, 16)(0, (p) + (i))).even)
#elif LANES > 1
#define STRIDED_MANY AT_MANY
#endif

// ---- a(i, i + d): ENTRY(K, dx, dy, dz) of the point ix, iy, iz; 0 if there is no such neighbour ----

#ifdef BOX

#define GRID_PARAMS BOX_GRID, BOX_NUMBERS
#define GRID_GIVEN  work, nx, ny, nz, wraps, a

#define DEFINE_ENTRY(K)                                                                   \
    T_##K entry_##K(GRID_PARAMS, int ix, int iy, int iz, int dx, int dy, int dz)          \
    {                                                                                     \
        const int jx = beside(ix, dx, nx, wraps & 1), jy = beside(iy, dy, ny, wraps & 2); \
        const int jz = beside(iz, dz, nz, wraps & 4), slot = dx + 3 * (dy + 3 * dz);      \
        if (jx < 0 || jy < 0 || jz < 0) return 0;                                         \
        return slot >= 0 ? STRIDED_##K(SLOT(slot), FINE_COLUMN(ix) + nx * (iy + ny * iz))    \
                         : STRIDED_##K(SLOT(-slot), FINE_COLUMN(jx) + nx * (jy + ny * jz));  \
    }

#else

// sides: two bits for each of west, east, south and so on: 0 the ghost behind it is 0, 1 it is x_i, 2 the
// axis is periodic, 3 it is -x_i; as cl/sweep.clh has it. variable: 0 if each axis has one weight.
#define GRID_PARAMS                                                                       \
    BOX_GRID, int sides, int variable, ACC wx, ACC wy, ACC wz,                            \
        global const REAL *restrict kappa, global const REAL *restrict fx,                \
        global const REAL *restrict fy, global const REAL *restrict fz
#define GRID_GIVEN work, nx, ny, nz, wraps, sides, variable, wx, wy, wz, kappa, fx, fy, fz

// A face of point i on one axis, where it stands `at` of `size`, `stride` numbers apart: its weight; and
// how often that is in the diagonal.
int often(int side, int high, int at, int size)
{
    const int inside = high ? at < size - 1 : at > 0, kind = side >> high * 2 & 3;
    return inside || kind == 0 ? 1 : kind == 1 ? 0 : kind == 3 ? 2 : size > 1;
}

#define DEFINE_FACE(K)                                                                    \
    T_##K face_##K(int side, int variable, ACC weight, global const REAL *f,              \
                   global const REAL *kappa, int high, int i, int at, int size, int stride) \
    {                                                                                     \
        const int kind = side & 3;                                                        \
        if (!variable) return (T_##K)((SUM)weight);                                       \
        if (high) return STRIDED_##K(f, i);                                                  \
        if (at > 0) return STRIDED_##K(f, i - stride);                                       \
        if (kind == 2) return STRIDED_##K(f, i + stride * (size - 1));                       \
        if (kind == 1) return 0;                                                          \
        return (SUM)weight * STRIDED_##K(kappa, i);                                          \
    }
// Both faces of a point on one axis, for a(i, i) and for a neighbour along it.
#define ADD_FACES(K, d, sides, weight, f, at, size, stride, wrapped)                      \
    for (int high = 0; high < 2; high++) {                                                \
        const int step = high ? 1 : -1, own = often(sides, high, at, size);               \
        if (all ? own != 0 : d == step && beside(at, d, size, wrapped) >= 0)              \
            sum += (SUM)(all ? own : -1) *                                                \
                   face_##K(sides, variable, weight, f, kappa, high, i, at, size, stride); \
    }
#if AXES == 3
#define ADD_LAST_FACES(K) ADD_FACES(K, dz, sides >> 8, wz, fz, iz, nz, nx * ny, wraps & 4)
#else
#define ADD_LAST_FACES(K)
#endif

#define DEFINE_ENTRY(K)                                                                   \
    DEFINE_FACE(K)                                                                        \
    T_##K entry_##K(GRID_PARAMS, int ix, int iy, int iz, int dx, int dy, int dz)          \
    {                                                                                     \
        const int i = ix + nx * (iy + ny * iz), all = dx == 0 && dy == 0 && dz == 0;      \
        T_##K sum = 0;                                                                    \
        if (abs(dx) + abs(dy) + abs(dz) > 1) return 0;                                    \
        ADD_FACES(K, dx, sides, wx, fx, ix, nx, 1, wraps & 1)                             \
        ADD_FACES(K, dy, sides >> 4, wy, fy, iy, ny, nx, wraps & 2)                       \
        ADD_LAST_FACES(K)                                                                 \
        return sum;                                                                       \
    }

#endif

#define ENTRY(K, dx, dy, dz) entry_##K(GRID_GIVEN, ix, iy, iz, dx, dy, dz)
#define DZ                   (AXES == 3) // how far a stencil reaches along z

// Sizes of the coarse grid, and the point of it that a work-item has.
#define COARSE_SIZES                                                                      \
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY, cz = (nz + CZ) >> CZ;           \
    const int coarse = cx * cy * cz;

// CALL(ONE) for each point of the coarse grid whose numbers shall be there.
#ifdef COARSE_ENDS
#define SETUP_COLUMNS min(cx, ENDS)
#else
#define SETUP_COLUMNS cx
#endif
#define SETUP_SWEEP_ONE(CALL)                                                             \
    const int columns = SETUP_COLUMNS;                                                    \
    FOR_EACH(at, columns * cy * cz)                                                       \
    {                                                                                     \
        const int k = (int)at % columns, row = (int)at / columns;                         \
        const int jx = k < columns / 2 ? k : k + cx - columns, jy = row % cy, jz = row / cy; \
        CALL(ONE)                                                                         \
    }

#if defined(KRY_CPU) && !defined(FINE_ENDS) && !defined(COARSE_ENDS)
#define DEFINE_BOTH(DEFINE) DEFINE(ONE) DEFINE(MANY)
#define SETUP_SWEEP         COARSE_SWEEP
#else
#define DEFINE_BOTH(DEFINE) DEFINE(ONE)
#define SETUP_SWEEP         SETUP_SWEEP_ONE
#endif
DEFINE_BOTH(DEFINE_ENTRY)

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
        for (int k = 0; k < 27; k++) s[k] = 0;                                            \
        for (int dz = -DZ; dz <= DZ; dz++)                                                \
            for (int dy = -1; dy <= 1; dy++)                                              \
                for (int dx = -1; dx <= 1; dx++) {                                        \
                    const T_##K value = ENTRY(K, dx, dy, dz);                             \
                    s[13 + mx * dx + 3 * my * dy + 9 * mz * dz] += value;                 \
                    if (dx == 0 && dy == 0 && dz == 0) own = value;                       \
                    total += value;                                                       \
                }                                                                         \
        TAKE_SUM(K)                                                                       \
        T_##K by = total <= (SUM)tiny * own ? s[13] - total : s[13];                      \
        by = by != 0 ? -1 / by : (T_##K)0;                                                \
        for (int p = 0; p < 8; p++) {                                                     \
            if (p & ~odd) continue;                                                       \
            const int to_x = p & 1 ? beside(jx, 1, cx, wraps & 1) : jx;                   \
            const int to_y = p & 2 ? beside(jy, 1, cy, wraps & 2) : jy;                   \
            const int to_z = p & 4 ? beside(jz, 1, cz, wraps & 4) : jz;                   \
            if (to_x < 0 || to_y < 0 || to_z < 0) continue;                               \
            const int to = to_x + cx * (to_y + cy * to_z);                                \
            const int dx = p & 1 ? mx : -mx, dy = p & 2 ? my : -my, dz = p & 4 ? mz : -mz; \
            T_##K sum = s[13 + dx + 3 * dy + 9 * dz];                                     \
            for (int t = 1; t < odd; t++) {                                               \
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
    for (int odd = 1; odd <= can; odd++) {                                                \
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

#define FROM_OWN_POINT(K, sx, sy, sz, j) \
    (PLACE(sx, sy, sz) == CENTRE ? (T_##K)1 : AT_##K(WEIGHT(sx, sy, sz), j))

// t: layer oz of A times the column of P that belongs to the coarse point whose own is fx_, fy_, fz_; two
// points to each side.
#define DEFINE_COLUMN(K)                                                                  \
    void column_##K(GRID_PARAMS, int oz, int fx_, int fy_, int fz_, int j, int coarse,    \
                    global const REAL *w, T_##K *t)                                       \
    {                                                                                     \
        for (int k = 0; k < 25; k++) t[k] = 0;                                            \
        for (int sz = -CZ; sz <= CZ; sz++)                                                \
            for (int sy = -CY; sy <= CY; sy++)                                            \
                for (int sx = -CX; sx <= CX; sx++) {                                      \
                    const int ix = beside(fx_, sx, nx, wraps & 1);                        \
                    const int iy = beside(fy_, sy, ny, wraps & 2);                        \
                    const int iz = beside(fz_, sz, nz, wraps & 4), dz = oz - sz;          \
                    if (abs(dz) > DZ || ix < 0 || iy < 0 || iz < 0) continue;             \
                    const T_##K p = FROM_OWN_POINT(K, sx, sy, sz, j);                     \
                    for (int dy = -1; dy <= 1; dy++)                                      \
                        for (int dx = -1; dx <= 1; dx++)                                  \
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
        for (int k = 0; k < HALF; k++) sum[k] = 0;                                        \
        for (int oz = -CZ; oz <= (AXES == 3 ? 1 + CZ : 0); oz++) {                        \
            column_##K(GRID_GIVEN, oz, fx_, fy_, fz_, j, coarse, w, t);                   \
            for (int k = 0; k < HALF; k++) {                                              \
                const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9; \
                const int to_x = beside(jx, dx, cx, wraps & 1);                           \
                const int to_y = beside(jy, dy, cy, wraps & 2);                           \
                const int to_z = beside(jz, dz, cz, wraps & 4);                           \
                if (to_x < 0 || to_y < 0 || to_z < 0) continue;                           \
                const int to = COARSE_COLUMN(to_x) + cx * (to_y + cy * to_z);             \
                for (int sz = -CZ; sz <= CZ; sz++) {                                      \
                    if (steps(CZ, touch_a, dz, sz) != oz) continue;                       \
                    for (int sy = -CY; sy <= CY; sy++) {                                  \
                        const int oy = steps(CY, dy < 0 ? touch_s : touch_n, dy, sy);     \
                        if (oy == NOWHERE) continue;                                      \
                        for (int sx = -CX; sx <= CX; sx++) {                              \
                            const int ox = steps(CX, dx < 0 ? touch_w : touch_e, dx, sx); \
                            if (ox == NOWHERE) continue;                                  \
                            sum[k] += t[12 + ox + 5 * oy] * FROM_OWN_POINT(K, sx, sy, sz, to); \
                        }                                                                 \
                    }                                                                     \
                }                                                                         \
            }                                                                             \
        }                                                                                 \
        for (int k = 0; k < HALF; k++) PUT_##K(sum[k], c + (size_t)k * coarse, j);        \
    }
DEFINE_BOTH(DEFINE_GALERKIN)

// c := the stencil of the coarse grid
kernel void box_galerkin(GRID_PARAMS, global const REAL *restrict w, global REAL *restrict c)
{
    COARSE_SIZES
#define GALERKIN(K) galerkin_##K(GRID_GIVEN, jx, jy, jz, w, c);
    SETUP_SWEEP(GALERKIN)
}

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

// ---- strength of couplings ----

// part[3 group + a] := the sum over points of the coupling along axis a, collapsed onto that axis, in units of
// that of the strongest axis of `axes` there.
kernel void box_strength(GRID_PARAMS, int axes, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTAL sum_x = NO_TOTAL, sum_y = NO_TOTAL, sum_z = NO_TOTAL;
    FOR_EACH(i, work)
    {
        const int ix = (int)i % nx, iy = (int)i / nx % ny, iz = (int)i / (nx * ny);
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

// ---- the largest eigenvalue ----

int row_bound(GRID_PARAMS, int ix, int iy, int iz)
{
    const SUM own = ENTRY(ONE, 0, 0, 0);
    SUM sum = 0;
    for (int dz = -DZ; dz <= DZ; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
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
