// box_setup.cl - from the stencil of a grid: the interpolation from the next coarser one, after Dendy, and
// the stencil there. Host: src/multigrid/box_setup.c. box.clh says how numbers lie; nx, ny, nz and work are of
// the fine grid, coarse is the number of points of the coarse one. A work-item does a coarse point, in an
// order of its own sums, so that the bits do not depend on groups.
//
// BOX   the fine stencil is stored, else it is that of cl/stencil.cl: five or seven points by weights of
//       faces
//
// J. E. Dendy, Black box multigrid, J. Comput. Phys. 48 (1982) 366-386, doi:10.1016/0021-9991(82)90057-2.

// ---- a(i, i + d): ENTRY(dx, dy, dz) of the point ix, iy, iz; 0 if there is no such neighbour ----

#ifdef BOX

#define GRID_PARAMS BOX_GRID, BOX_NUMBERS
#define GRID_GIVEN  work, nx, ny, nz, wraps, a

SUM entry(GRID_PARAMS, int ix, int iy, int iz, int dx, int dy, int dz)
{
    const int jx = beside(ix, dx, nx, wraps & 1), jy = beside(iy, dy, ny, wraps & 2);
    const int jz = beside(iz, dz, nz, wraps & 4), slot = dx + 3 * (dy + 3 * dz);
    if (jx < 0 || jy < 0 || jz < 0) return 0;
    return slot >= 0 ? (SUM)SLOT(slot)[ix + nx * (iy + ny * iz)]
                     : (SUM)SLOT(-slot)[jx + nx * (jy + ny * jz)];
}

#else

// sides: two bits for each of west, east, south and so on: 0 the ghost behind it is 0, 1 it is x_i, 2 the
// axis is periodic, 3 it is -x_i; as cl/sweep.clh has it. variable: 0 if each axis has one weight.
#define GRID_PARAMS                                                                       \
    BOX_GRID, int sides, int variable, ACC wx, ACC wy, ACC wz, global const REAL *restrict kappa, \
        global const REAL *restrict fx, global const REAL *restrict fy,                   \
        global const REAL *restrict fz
#define GRID_GIVEN work, nx, ny, nz, wraps, sides, variable, wx, wy, wz, kappa, fx, fy, fz

// The weight of a face of point i on one axis, where it stands `at` of `size`, `stride` numbers apart; and
// what of the diagonal it is worth.
SUM face(int side, int variable, ACC weight, global const REAL *f, global const REAL *kappa,
         int high, int i, int at, int size, int stride, SUM *own)
{
    const int inside = high ? at < size - 1 : at > 0, kind = side >> high * 2 & 3;
    SUM value = (SUM)weight;
    *own = inside ? 1 : kind == 0 ? 1 : kind == 1 ? 0 : kind == 3 ? 2 : size > 1;
    if (!variable) return value;
    if (high) return (SUM)f[i];
    if (inside) return (SUM)f[i - stride];
    return kind == 2 ? (SUM)f[i + stride * (size - 1)] : kind == 1 ? 0 : value * (SUM)kappa[i];
}

SUM entry(GRID_PARAMS, int ix, int iy, int iz, int dx, int dy, int dz)
{
    const int i = ix + nx * (iy + ny * iz), all = dx == 0 && dy == 0 && dz == 0;
    SUM sum = 0, own, value;
    if (abs(dx) + abs(dy) + abs(dz) > 1) return 0;
    for (int high = 0; high < 2; high++) {
        const int d = high ? 1 : -1;
        if (all || dx == d) {
            value = face(sides, variable, wx, fx, kappa, high, i, ix, nx, 1, &own);
            sum += all ? own * value : beside(ix, d, nx, wraps & 1) >= 0 ? -value : 0;
        }
        if (all || dy == d) {
            value = face(sides >> 4, variable, wy, fy, kappa, high, i, iy, ny, nx, &own);
            sum += all ? own * value : beside(iy, d, ny, wraps & 2) >= 0 ? -value : 0;
        }
#if AXES == 3
        if (all || dz == d) {
            value = face(sides >> 8, variable, wz, fz, kappa, high, i, iz, nz, nx * ny, &own);
            sum += all ? own * value : beside(iz, d, nz, wraps & 4) >= 0 ? -value : 0;
        }
#endif
    }
    return sum;
}

#endif

#define ENTRY(dx, dy, dz) entry(GRID_GIVEN, ix, iy, iz, dx, dy, dz)
#define DZ                (AXES == 3) // how far a stencil reaches along z

// Sizes of the coarse grid, and the point of it that a work-item has.
#define COARSE_SIZES                                                                      \
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY, cz = (nz + CZ) >> CZ;                \
    const int coarse = cx * cy * cz;
#define COARSE_POINT const int jx = (int)j % cx, jy = (int)j / cx % cy, jz = (int)j / (cx * cy);

// ---- interpolation ----

// The weights in the fine point that is odd along the axes of `odd`, from the coarse point jx, jy, jz on: its
// stencil is collapsed onto these axes, and what it says of neighbours that are odd along fewer of them, is
// said of the coarse points that those have their values from.
void weigh(GRID_PARAMS, int odd, int jx, int jy, int jz, ACC tiny, global REAL *w)
{
    COARSE_SIZES
    const int mx = odd & 1, my = odd >> 1 & 1, mz = odd >> 2 & 1;
    const int ix = (jx << CX) + mx, iy = (jy << CY) + my, iz = (jz << CZ) + mz;
    SUM s[27], total = 0;
    for (int k = 0; k < 27; k++) s[k] = 0;
    for (int dz = -DZ; dz <= DZ; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const SUM value = ENTRY(dx, dy, dz);
                s[13 + mx * dx + 3 * my * dy + 9 * mz * dz] += value;
                total += value;
            }
    // Where the row sums to zero, so do the weights to one.
    SUM by = total <= (SUM)tiny * ENTRY(0, 0, 0) ? s[13] - total : s[13];
    by = by != 0 ? -1 / by : 0;
    for (int p = 0; p < 8; p++) { // bit a: the coarse point on the high side along axis a
        if (p & ~odd) continue;
        const int to_x = p & 1 ? beside(jx, 1, cx, wraps & 1) : jx;
        const int to_y = p & 2 ? beside(jy, 1, cy, wraps & 2) : jy;
        const int to_z = p & 4 ? beside(jz, 1, cz, wraps & 4) : jz;
        if (to_x < 0 || to_y < 0 || to_z < 0) continue;
        const int to = to_x + cx * (to_y + cy * to_z);
        const int dx = mx * (p & 1 ? 1 : -1), dy = my * (p & 2 ? 1 : -1), dz = mz * (p & 4 ? 1 : -1);
        SUM sum = s[13 + dx + 3 * dy + 9 * dz];
        for (int t = 1; t < odd; t++) { // the neighbours that are odd along `odd` less t
            if (t & ~odd) continue;
            const int nx_ = t & 1, ny_ = t >> 1 & 1, nz_ = t >> 2;
            sum += s[13 + nx_ * dx + 3 * ny_ * dy + 9 * nz_ * dz] *
                   (SUM)WEIGHT(dx * (nx_ - 1), dy * (ny_ - 1), dz * (nz_ - 1))[to];
        }
        WEIGHT(-dx, -dy, -dz)[to] = (REAL)(by * sum);
    }
}

// The weights in the points that are odd along `odds` axes; those in points that are odd along fewer of them
// are there. All weights are 0 at first.
kernel void box_weights(GRID_PARAMS, int odds, ACC tiny, global REAL *w)
{
    COARSE_SIZES
    const int can = CX + 2 * CY + 4 * CZ;
    FOR_EACH(j, coarse)
    {
        COARSE_POINT
        for (int odd = 1; odd <= can; odd++) {
            if (odd & ~can || (odd & 1) + (odd >> 1 & 1) + (odd >> 2) != odds) continue;
            if ((jx << CX) + (odd & 1) < nx && (jy << CY) + (odd >> 1 & 1) < ny &&
                (jz << CZ) + (odd >> 2) < nz)
                weigh(GRID_GIVEN, odd, jx, jy, jz, tiny, w);
        }
    }
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

// c := the stencil of the coarse grid. The column of P that belongs to a coarse point times A, layer after
// layer of the fine grid (t: two points to each side), and that times the columns that it touches.
kernel void box_galerkin(GRID_PARAMS, global const REAL *restrict w, global REAL *restrict c)
{
    COARSE_SIZES
    FOR_EACH(j, coarse)
    {
        COARSE_POINT
        const int fx_ = jx << CX, fy_ = jy << CY, fz_ = jz << CZ;
        // On axes that are periodic and of odd size
        const int touch_w = jx == 0 && nx % 2, touch_e = fx_ + 1 == nx;
        const int touch_s = jy == 0 && ny % 2, touch_n = fy_ + 1 == ny;
        const int touch_a = fz_ + 1 == nz;
        SUM sum[HALF];
        for (int k = 0; k < HALF; k++) sum[k] = 0;
        for (int oz = -CZ; oz <= (AXES == 3 ? 1 + CZ : 0); oz++) {
            SUM t[25];
            for (int k = 0; k < 25; k++) t[k] = 0;
            for (int sz = -CZ; sz <= CZ; sz++)
                for (int sy = -CY; sy <= CY; sy++)
                    for (int sx = -CX; sx <= CX; sx++) {
                        const int ix = beside(fx_, sx, nx, wraps & 1);
                        const int iy = beside(fy_, sy, ny, wraps & 2);
                        const int iz = beside(fz_, sz, nz, wraps & 4), dz = oz - sz;
                        if (abs(dz) > DZ || ix < 0 || iy < 0 || iz < 0) continue;
                        const SUM p = PLACE(sx, sy, sz) == CENTRE ? 1 : (SUM)WEIGHT(sx, sy, sz)[j];
                        for (int dy = -1; dy <= 1; dy++)
                            for (int dx = -1; dx <= 1; dx++)
                                t[12 + sx + dx + 5 * (sy + dy)] += p * ENTRY(dx, dy, dz);
                    }
            for (int k = 0; k < HALF; k++) {
                const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9;
                const int to_x = beside(jx, dx, cx, wraps & 1), to_y = beside(jy, dy, cy, wraps & 2);
                const int to_z = beside(jz, dz, cz, wraps & 4);
                if (to_x < 0 || to_y < 0 || to_z < 0) continue;
                const int to = to_x + cx * (to_y + cy * to_z);
                for (int sz = -CZ; sz <= CZ; sz++) {
                    if (steps(CZ, touch_a, dz, sz) != oz) continue;
                    for (int sy = -CY; sy <= CY; sy++)
                        for (int sx = -CX; sx <= CX; sx++) {
                            const int ox = steps(CX, dx < 0 ? touch_w : touch_e, dx, sx);
                            const int oy = steps(CY, dy < 0 ? touch_s : touch_n, dy, sy);
                            if (ox == NOWHERE || oy == NOWHERE) continue;
                            sum[k] += t[12 + ox + 5 * oy] *
                                      (PLACE(sx, sy, sz) == CENTRE
                                           ? 1
                                           : (SUM)WEIGHT(sx, sy, sz)[to]);
                        }
                }
            }
        }
        for (int k = 0; k < HALF; k++) c[(size_t)k * coarse + j] = (REAL)sum[k];
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
                    const SUM value = -ENTRY(dx, dy, dz);
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
