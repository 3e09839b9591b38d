// tile_cycle.cl - what a cycle of multigrid does between a grid in space with constant coefficients and the next
// coarser one, for GPUs: residual and restriction in one pass, prolongation and a smoothing step in another. Host:
// src/multigrid/box_tiles.c. Sides are those of sweep.clh; box.clh says how the weights lie.
//
// A group has a tile of WIDE times TALL columns, a work-item each, and marches along z through some layers. In each
// turn every column leaves what it has found in local memory, where those beside look it up; at the edges of the
// tile are columns whose only purpose this is. Numbers are read a turn or two before they are used, for all
// work-items of a group wait for each other in each turn.
//
// Points outside of the grid count as 0, for their ghosts are in the diagonal. Along a periodic axis a tile goes on
// with the points at the other end.
//
// GROUP  work-items, WIDE TALL
// ALONG  along z the weights of a column of coarse points are alike, but for EDGE points at either end

#if !defined(KRY_CPU) && AXES == 3 && !defined(VARIABLE)

#define TALL   (GROUP / WIDE)
#define wraps  ((XL == PERIODIC) + 2 * (YL == PERIODIC) + 4 * (ZL == PERIODIC))
#define KERNEL kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

// The place on an axis, up to two points beyond its ends; -1: outside of the grid, or of an axis of one point.
int on_axis(int at, int size, int wrapped)
{
    if (at >= 0 && at < size) return at;
    at += at < 0 ? size : -size;
    return wrapped && size > 1 && at >= 0 && at < size ? at : -1;
}

#define TILE_SIZES                                                                        \
    local REAL left_there[2][GROUP];                                                      \
    const int plane = nx * ny, lane = get_local_id(0), lx = lane % WIDE, ly = lane / WIDE; \
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY, cz = (nz + CZ) >> CZ;           \
    const int coarse = cx * cy * cz;

// The column at (gx, gy), and what a layer of it is multiplied by: its own entry but for the faces along z, and
// the weights of its faces, 0 where nothing is behind them. `near`: steps to the columns there.
#define COUPLING(have, weight) ((have) ? (weight) : (SUM)0)
#define TAKE_COLUMN                                                                       \
    const int at_x = on_axis(gx, nx, wraps & 1), at_y = on_axis(gy, ny, wraps & 2);       \
    const int in_grid = at_x >= 0 && at_y >= 0, ix = max(at_x, 0), iy = max(at_y, 0);     \
    const int column = ix + nx * iy;                                                      \
    const SUM across = wx * (OWN_W_ONE + OWN_E_ONE) +                                     \
                       wy * (OWN_SIDE(iy > 0, YL, ny) + OWN_SIDE(iy < ny - 1, YH, ny));
#define DIAGONAL(iz)                                                                      \
    (across + wz * (OWN_SIDE((iz) > 0, ZL, nz) + OWN_SIDE((iz) < nz - 1, ZH, nz)))
#define WEIGHT_Z (ZL == PERIODIC && nz == 1 ? (SUM)0 : wz)

// p of the column in layer z, 0 if there is none
#define READ(p, z) ((z) <= last && in_grid && LAYER_OF(z) >= 0 ? (SUM)(p)[column + plane * LAYER_OF(z)] : 0)
#define LAYER_OF(z) on_axis(z, nz, wraps & 4)

// ---- down ----

// c_out := P' (b - A x). Words for each fine number: 2; for each coarse one: 1.
KERNEL tile_restrict(GRID, global const REAL *restrict w, global const REAL *restrict b, long b0,
                     global const REAL *restrict x, long x0, global REAL *restrict c_out, long c0)
{
    enum { OWN_X = CX ? (WIDE - 1) / 2 : WIDE, OWN_Y = CY ? (TALL - 1) / 2 : TALL };
    WEIGHTS
    TILE_SIZES
    const int tiles_x = (cx + OWN_X - 1) / OWN_X, tiles = tiles_x * ((cy + OWN_Y - 1) / OWN_Y);
    const int last_dy = min(cy, CY); // CY: compilers shall not know, for they spend registers on all weights
    b += b0, x += x0, c_out += c0;
    for (int task = get_group_id(0); task < work; task += (int)get_num_groups(0)) {
        const int left = task % tiles % tiles_x * OWN_X, south = task % tiles / tiles_x * OWN_Y;
        const int from = task / tiles * length, until = min(from + length, cz);
        const int gx = (left << CX) - CX + lx, gy = (south << CY) - CY + ly;
        TAKE_COLUMN
        const int west = beside(ix, -1, nx, wraps & 1), east = beside(ix, 1, nx, wraps & 1);
        const int low = beside(iy, -1, ny, wraps & 2), high = beside(iy, 1, ny, wraps & 2);
        const SUM f_w = COUPLING(west >= 0, wx), f_e = COUPLING(east >= 0, wx);
        const SUM f_s = COUPLING(low >= 0, wy), f_n = COUPLING(high >= 0, wy);
        const int to_w = west >= 0 ? west - ix : 0, to_e = east >= 0 ? east - ix : 0;
        const int to_s = low >= 0 ? nx * (low - iy) : 0, to_n = high >= 0 ? nx * (high - iy) : 0;
        // The coarse point of this work-item, and where the residual at its place is left.
        const int jx = left + lane % OWN_X, jy = south + lane / OWN_X;
        const int mine = lane < OWN_X * OWN_Y && jx < cx && jy < cy;
        const int centre = CX + (lane % OWN_X << CX) + WIDE * (CY + (lane / OWN_X << CY));
        const int begin = (from << CZ) - CZ, end = ((until - 1) << CZ) + CZ, last = end + 1;
        SUM sum = 0, before = 0;
        SUM behind = READ(x, begin - 1), c = READ(x, begin), ahead = READ(x, begin + 1);
        SUM b_c = READ(b, begin);
        for (int z = begin; z <= end; z++) {
            const SUM b_next = READ(b, z + 1), next = READ(x, z + 2);
            const int layer = LAYER_OF(z);
            SUM r = 0;
            if (in_grid && layer >= 0) {
                const int i = column + plane * layer;
                r = f_w * (SUM)x[i + to_w] + f_e * (SUM)x[i + to_e];
                r += f_s * (SUM)x[i + to_s] + f_n * (SUM)x[i + to_n];
                r += WEIGHT_Z * (behind + ahead) + (b_c - DIAGONAL(layer) * c);
            }
            left_there[z & 1][lane] = (REAL)r;
            barrier(CLK_LOCAL_MEM_FENCE);
            // The shares of this layer in coarse layer jz, for which it is at dz
#define COARSE_AT(jz) \
    (jx + cx * (jy + cy * (NUMBERED_AS(jz))))
#define ADD_SHARES(sum, dz, jz)                                                           \
    {                                                                                     \
        const int j = COARSE_AT(jz);                                                      \
        NOT_UNROLLED for (int dy = -CY; dy <= last_dy; dy++)                              \
            UNROLLED for (int dx = -CX; dx <= CX; dx++)                                   \
                sum += WEIGHT_OR_ONE(dx, dy, dz, j) * left_there[z & 1][centre + dx + WIDE * dy]; \
    }
#ifdef ALONG
#define NUMBERED_AS(jz) ((jz) >= EDGE && (jz) < cz - EDGE ? EDGE : (jz))
#else
#define NUMBERED_AS(jz) (jz)
#endif
            const int jz = z >> CZ, between = CZ && (z & 1);
            if (mine && !between) ADD_SHARES(sum, 0, jz)
#if CZ
            if (mine && between) {
                if (jz >= from) ADD_SHARES(sum, 1, jz)
                before = sum, sum = 0;
                if (jz + 1 < until) ADD_SHARES(sum, -1, jz + 1)
            }
#endif
            if (mine && jz >= from && (!CZ || between))
                c_out[jx + cx * (jy + cy * jz)] = (REAL)(CZ ? before : sum);
            if (!CZ) sum = 0;
            behind = c, c = ahead, ahead = next, b_c = b_next;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// ---- up ----

// The four coarse points, fewer in fact, whose e the points of a column get: `to` of them; with what weight in
// layers that have coarse points, and in those between.
#ifdef ALONG
#define TAKE_WEIGHTS                                                                      \
    int to[4];                                                                            \
    SUM own[4], between[4];                                                               \
    const int jx = ix >> CX, jy = iy >> CY, odd_x = CX & ix, odd_y = CY & iy;             \
    UNROLLED for (int q = 0; q < 4; q++)                                                  \
    {                                                                                     \
        const int qx = q & 1, qy = q >> 1, dx = odd_x - 2 * qx, dy = odd_y - 2 * qy;      \
        const int to_x = qx ? beside(jx, 1, cx, wraps & 1) : jx;                          \
        const int to_y = qy ? beside(jy, 1, cy, wraps & 2) : jy;                          \
        const int have = in_grid && qx <= odd_x && qy <= odd_y && to_x >= 0 && to_y >= 0;            \
        to[q] = have ? to_x + cx * to_y : 0;                                              \
        own[q] = between[q] = 0;                                                          \
        if (have && cz > 2 * EDGE) {                                                      \
            const int at = to[q] + cx * cy * EDGE;                                        \
            own[q] = WEIGHT_OR_ONE(dx, dy, 0, at);                                        \
            if (CZ) between[q] = WEIGHT_OR_ONE(dx, dy, CZ, at);                           \
        }                                                                                 \
    }
#define IS_ALONG(jz) ((jz) >= EDGE && (jz) + 1 < cz - EDGE)
#else
#define TAKE_WEIGHTS
#define IS_ALONG(jz) 0
#endif

// value := x + P e of layer z, x of which has been read
#define CORRECTED(value, x_z, z)                                                          \
    {                                                                                     \
        const int iz = LAYER_OF(z);                                                       \
        value = x_z;                                                                      \
        if (in_grid && iz >= 0) ADD_PROLONGED(value, e)                                   \
    }

// y := v + step D^-1 (b - A v) with v = x + P e. Words for each fine number: 3; for each coarse one: 1.
KERNEL tile_correct(GRID, ACC by, global const REAL *restrict w, global const REAL *restrict b,
                    long b0, global const REAL *restrict x, long x0,
                    global const REAL *restrict e, long e0, global REAL *restrict y, long y0)
{
    enum { OWN_X = WIDE - 2, OWN_Y = TALL - 2 };
    WEIGHTS
    TILE_SIZES
    const int tiles_x = (nx + OWN_X - 1) / OWN_X, tiles = tiles_x * ((ny + OWN_Y - 1) / OWN_Y);
    const SUM step = (SUM)by;
    SUM diagonal = 0, inverse = 0;
    b += b0, x += x0, e += e0, y += y0;
    for (int task = get_group_id(0); task < work; task += (int)get_num_groups(0)) {
        const int gx = task % tiles % tiles_x * OWN_X - 1 + lx;
        const int gy = task % tiles / tiles_x * OWN_Y - 1 + ly;
        const int from = task / tiles * length, until = min(from + length, nz), last = until;
        TAKE_COLUMN
        TAKE_WEIGHTS
        const int mine = lx > 0 && lx <= OWN_X && ly > 0 && ly <= OWN_Y && gx < nx && gy < ny;
        const SUM f_x = COUPLING(nx > 1 || XL != PERIODIC, wx);
        const SUM f_y = COUPLING(ny > 1 || YL != PERIODIC, wy);
        SUM behind, c, x_next = READ(x, from + 1), b_c = READ(b, from);
        CORRECTED(behind, READ(x, from - 1), from - 1)
        CORRECTED(c, READ(x, from), from)
        for (int z = from; z < until; z++) {
            const SUM b_next = READ(b, z + 1), x_after = READ(x, z + 2);
            const int jz = (z + 1) >> CZ, odd = CZ & (z + 1), along = IS_ALONG(jz);
            SUM e_low[4], e_high[4], ahead;
#ifdef ALONG
            UNROLLED for (int q = 0; q < 4; q++)
            {
                e_low[q] = along ? AT_ONE(e, to[q] + cx * cy * jz) : 0;
                e_high[q] = along && odd ? AT_ONE(e, to[q] + cx * cy * (jz + 1)) : 0;
            }
#endif
            left_there[z & 1][lane] = (REAL)c;
            barrier(CLK_LOCAL_MEM_FENCE);
            local const REAL *near = &left_there[z & 1][mine ? lane : WIDE + 1];
            const SUM beside_x = (SUM)near[-1] + (SUM)near[1];
            const SUM beside_y = (SUM)near[-WIDE] + (SUM)near[WIDE];
            const SUM entry = DIAGONAL(z);
            if (along) {
                ahead = x_next;
#ifdef ALONG
                if (odd) {
                    UNROLLED for (int q = 0; q < 4; q++) ahead += between[q] * (e_low[q] + e_high[q]);
                } else {
                    UNROLLED for (int q = 0; q < 4; q++) ahead += own[q] * e_low[q];
                }
#endif
            } else {
                CORRECTED(ahead, x_next, z + 1)
            }
            if (entry != diagonal) diagonal = entry, inverse = 1 / entry;
            const SUM rest = f_x * beside_x + f_y * beside_y + WEIGHT_Z * (behind + ahead);
            if (mine) y[column + plane * z] = (REAL)(c + step * inverse * (b_c - (diagonal * c - rest)));
            behind = c, c = ahead, x_next = x_after, b_c = b_next;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
