// correct.cl - prolongation from the next coarser grid and a smoothing step in one pass, on grids in space with constant
// coefficients, for GPUs. Host: src/mg/box_correct.c. Sides are those of sweep.clh; box.clh says how the weights
// lie.
//
// A group has a tile of WIDE times TALL columns, a work-item each, and marches along z through some layers. In each
// turn every column leaves what it has found in local memory, where those beside look it up; at the edges of the
// tile are columns whose only purpose this is. Turns go in pairs, of a layer that has coarse points and of the one behind
// it. Between the ends of the z axis a pair takes the weights that are kept, and asks for no sides.
//
// What is outside of the grid is multiplied by 0, for ghosts are in the diagonal. Along a periodic axis a tile goes
// on with the points at the other end.
//
// GROUP  work-items, WIDE TALL
// ALONG  along z the weights of a column of coarse points are alike, but for EDGE points at either end

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"

#if !defined(KRY_CPU) && AXES == 3 && !defined(VARIABLE)

#define TALL   (GROUP / WIDE)
#define wraps  ((XL == PERIODIC) + 2 * (YL == PERIODIC) + 4 * (ZL == PERIODIC))

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

// The column at (gx, gy), and what multiplies a layer of it and those beside: `across` all of the diagonal but for
// the faces along z, and the weights of the faces behind which there is a point.
#define BESIDE_OF(low, high, at, size, stride, wrapped)                                   \
    const int low##_at = beside(at, -1, size, wrapped), have_##low = low##_at >= 0;       \
    const int high##_at = beside(at, 1, size, wrapped), have_##high = high##_at >= 0;     \
    const int low = have_##low ? (low##_at - at) * (stride) : 0;                          \
    const int high = have_##high ? (high##_at - at) * (stride) : 0;
#define FACE_TO(have, weight) ((have) ? (weight) : (SUM)0)
#define TAKE_COLUMN                                                                       \
    const int at_x = on_axis(gx, nx, wraps & 1), at_y = on_axis(gy, ny, wraps & 2);       \
    const int ix = max(at_x, 0), iy = max(at_y, 0), in_grid = at_x >= 0 && at_y >= 0;     \
    const int column = ix + nx * iy;                                                      \
    BESIDE_OF(west, east, ix, nx, 1, wraps & 1)                                           \
    BESIDE_OF(south, north, iy, ny, nx, wraps & 2)                                        \
    const SUM f_w = FACE_TO(have_west, wx), f_e = FACE_TO(have_east, wx);                 \
    const SUM f_s = FACE_TO(have_south, wy), f_n = FACE_TO(have_north, wy);               \
    const SUM across = wx * (OWN_W_ONE + OWN_E_ONE) +                                     \
                       wy * (OWN_SIDE(iy > 0, YL, ny) + OWN_SIDE(iy < ny - 1, YH, ny));
#define DIAGONAL(iz)                                                                      \
    (across + wz * (OWN_SIDE((iz) > 0, ZL, nz) + OWN_SIDE((iz) < nz - 1, ZH, nz)))
#define WEIGHT_Z (ZL == PERIODIC && nz == 1 ? (SUM)0 : wz)

// p of the column in layer z, 0 if that is none
#define READ(p, z)  (LAYER_OF(z) >= 0 ? (SUM)(p)[column + plane * LAYER_OF(z)] : 0)
#define LAYER_OF(z) on_axis(z, nz, wraps & 4)

#ifdef ALONG
#define IS_ALONG(jz) ((jz) >= EDGE && (jz) + 1 < cz - EDGE)
#else
#define IS_ALONG(jz) 0
#endif

// The four coarse columns, fewer in fact, whose e the points of a column get: `to` of them, (dx, dy) from which it
// is; and with what weights, between the ends of z: in layers that have coarse points, and in those between.
#define EACH_OF_FOUR(q) UNROLLED for (int q = 0; q < 4; q++)
#define DX_OF(q)        (odd_x - 2 * ((q) & 1))
#define DY_OF(q)        (odd_y - 2 * ((q) >> 1))
#define TAKE_FOUR                                                                         \
    int to[4], have[4];                                                                   \
    SUM own[4], between[4];                                                               \
    const int jx = ix >> CX, jy = iy >> CY, odd_x = CX & ix, odd_y = CY & iy;             \
    EACH_OF_FOUR(q)                                                                       \
    {                                                                                     \
        const int to_x = q & 1 ? beside(jx, 1, cx, wraps & 1) : jx;                       \
        const int to_y = q >> 1 ? beside(jy, 1, cy, wraps & 2) : jy;                      \
        have[q] = (q & 1) <= odd_x && q >> 1 <= odd_y && to_x >= 0 && to_y >= 0;          \
        to[q] = have[q] ? to_x + cx * to_y : 0;                                           \
        own[q] = between[q] = 0;                                                          \
        if (have[q] && cz > 2 * EDGE) {                                                   \
            own[q] = WEIGHT_OF(q, 0, EDGE);                                               \
            if (CZ) between[q] = WEIGHT_OF(q, CZ, EDGE);                                  \
        }                                                                                 \
    }
#define WEIGHT_OF(q, dz, jz) WEIGHT_OR_ONE(DX_OF(q), DY_OF(q), dz, to[q] + cx * cy * (jz))
#define E_OF(q, jz)          AT_ONE(e, to[q] + cx * cy * (jz))
#define ADD_FOUR(v, dz, jz)                                                               \
    EACH_OF_FOUR(q)                                                                       \
    if (have[q]) v += WEIGHT_OF(q, dz, jz) * E_OF(q, jz);
// v += P e in layer z
#define ADD_CORRECTION(v, z)                                                              \
    {                                                                                     \
        const int iz = LAYER_OF(z), jz = iz >> CZ;                                        \
        const int up = beside(max(jz, 0), 1, cz, wraps & 4);                              \
        if (iz >= 0 && CZ & iz) {                                                         \
            ADD_FOUR(v, CZ, jz)                                                           \
            if (up >= 0) ADD_FOUR(v, -CZ, up)                                             \
        } else if (iz >= 0) {                                                             \
            ADD_FOUR(v, 0, jz)                                                            \
        }                                                                                 \
    }

// y of layer z, and what is beside it in the tile
#define STEP(at, z, writes, behind, c, ahead, b_c, entry, by)                             \
    {                                                                                     \
        left_there[at][lane] = (REAL)(c);                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
        local const REAL *near = &left_there[at][place];                                  \
        const SUM rest = f_w * (SUM)near[-1] + f_e * (SUM)near[1] +                       \
                         (f_s * (SUM)near[-WIDE] + f_n * (SUM)near[WIDE]);                \
        const SUM r = b_c + rest + (WEIGHT_Z * (behind + ahead) - (entry) * (c));         \
        if (writes) y[column + plane * (z)] = (REAL)((c) + (by) * r);                     \
    }

// y := v + step D^-1 (b - A v) with v = x + P e. Words for each fine number: 3; for each coarse one: 1. length: with CZ
// an even number of layers.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
correct_and_step(GRID, ACC step, global const REAL *restrict w, global const REAL *restrict b,
                    long b0, global const REAL *restrict x, long x0,
                    global const REAL *restrict e, long e0, global REAL *restrict y, long y0)
{
    enum { OWN_X = WIDE - 2, OWN_Y = TALL - 2 };
    WEIGHTS
    TILE_SIZES
    const int tiles_x = (nx + OWN_X - 1) / OWN_X, tiles = tiles_x * ((ny + OWN_Y - 1) / OWN_Y);
    b += b0, x += x0, e += e0, y += y0;
    for (int task = get_group_id(0); task < work; task += (int)get_num_groups(0)) {
        const int gx = task % tiles % tiles_x * OWN_X - 1 + lx;
        const int gy = task % tiles / tiles_x * OWN_Y - 1 + ly;
        const int from = task / tiles * length, until = min(from + length, nz);
        TAKE_COLUMN
        TAKE_FOUR
        const int mine = lx > 0 && lx <= OWN_X && ly > 0 && ly <= OWN_Y && gx < nx && gy < ny;
        const int place = mine ? lane : WIDE + 1;
        const SUM inner = across + 2 * wz, by = (SUM)step / inner;
        SUM behind = READ(x, from - 1), c = READ(x, from), x_1 = READ(x, from + 1), b_0 = READ(b, from);
        ADD_CORRECTION(behind, from - 1)
        ADD_CORRECTION(c, from)
        for (int z = from; z < until; z += 2) {
            const int jz = z >> CZ;
            if (IS_ALONG(jz + !CZ) && z + 1 < until) {
                const int i = column + plane * z;
                const SUM b_1 = (SUM)b[i + plane], x_2 = (SUM)x[i + 2 * plane];
                SUM e_0[4], e_1[4], v_1 = x_1, v_2 = x_2;
                EACH_OF_FOUR(q) e_0[q] = E_OF(q, CZ ? jz : z + 1), e_1[q] = E_OF(q, CZ ? jz + 1 : z + 2);
                EACH_OF_FOUR(q)
                {
                    v_1 += CZ ? between[q] * (e_0[q] + e_1[q]) : own[q] * e_0[q];
                    v_2 += own[q] * e_1[q];
                }
                STEP(0, z, mine, behind, c, v_1, b_0, inner, by)
                const SUM b_2 = (SUM)b[i + 2 * plane];
                x_1 = (SUM)x[i + 3 * plane];
                STEP(1, z + 1, mine, c, v_1, v_2, b_1, inner, by)
                behind = v_1, c = v_2, b_0 = b_2;
            } else {
                SUM v_1 = x_1, v_2 = READ(x, z + 2), b_1 = READ(b, z + 1);
                const SUM entry = DIAGONAL(z), next = DIAGONAL(z + 1);
                ADD_CORRECTION(v_1, z + 1)
                ADD_CORRECTION(v_2, z + 2)
                STEP(0, z, mine, behind, c, v_1, b_0, entry, (SUM)step / entry)
                STEP(1, z + 1, mine && z + 1 < until, c, v_1, v_2, b_1, next, (SUM)step / next)
                behind = v_1, c = v_2, x_1 = READ(x, z + 3), b_0 = READ(b, z + 2);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
