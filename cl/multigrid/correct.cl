// correct.cl - prolongation from the next coarser grid and a smoothing step in one pass, on grids in space with constant
// coefficients, for GPUs. Host: src/mg/box_correct.c. Sides are those of sweep.clh; transfer.clh says how the weights
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
#include "multigrid/transfer.clh"

#if !defined(KRY_CPU) && AXES == 3 && !defined(VARIABLE)

enum { TALL = GROUP / WIDE, OWN_X = WIDE - 2, OWN_Y = TALL - 2 };
enum { WRAPS = (XL == PERIODIC) + 2 * (YL == PERIODIC) + 4 * (ZL == PERIODIC) };
#ifdef ALONG
enum { IS_ALONG = 1 };
#else
enum { IS_ALONG = 0 };
#endif

// The place on an axis, up to two points beyond its ends; -1: outside of the grid, or of an axis of one point.
int on_axis(int at, int size, int wrapped)
{
    if (at >= 0 && at < size) return at;
    at += at < 0 ? size : -size;
    return wrapped && size > 1 && at >= 0 && at < size ? at : -1;
}

// A column. The points of it get e from four coarse columns, fewer in fact.
typedef struct column {
    int number;                    // of its point in layer 0
    SUM west, east, south, north;  // weights of the faces behind which there is a point
    SUM across;                    // all of the diagonal but for the faces along z
    int odd_x, odd_y, shift;       // shift: from a coarse column to the one whose weights are read for it
    int to[4], has[4];             // the coarse columns, whether there is each
    SUM own[4], between[4];        // weights between the ends of z: in layers that have coarse points, in those between
} column;

// The weight that the coarse point of column q at z = jz has in this column, dz layers from it.
INLINED SUM weight_of(const transfer *P, global const REAL *w, const column *C, int q, int dz, int jz)
{
    const int dx = C->odd_x - 2 * (q & 1), dy = C->odd_y - 2 * (q >> 1);
    if (is_own(P, dx, dy, dz)) return 1;
    return weight(P, w, dx, dy, dz, C->to[q] + P->cx * P->cy * jz + C->shift);
}

INLINED SUM e_of(const transfer *P, global const REAL *e, const column *C, int q, int jz)
{
    return (SUM)e[C->to[q] + P->cx * P->cy * jz];
}

// The column at (gx, gy), in the grid or outside of it.
INLINED void take_column(const transfer *P, global const REAL *w, int gx, int gy, SUM wx, SUM wy, column *C)
{
    const int nx = P->nx, ny = P->ny;
    const int ix = max(on_axis(gx, nx, P->wraps & 1), 0), iy = max(on_axis(gy, ny, P->wraps & 2), 0);
    const int jx = ix >> CX, jy = iy >> CY;
    C->number = ix + nx * iy;
    C->west = beside(ix, -1, nx, P->wraps & 1) >= 0 ? wx : 0, C->east = beside(ix, 1, nx, P->wraps & 1) >= 0 ? wx : 0;
    C->south = beside(iy, -1, ny, P->wraps & 2) >= 0 ? wy : 0, C->north = beside(iy, 1, ny, P->wraps & 2) >= 0 ? wy : 0;
    C->across = wx * (OWN_SIDE(ix > 0, XL, nx) + OWN_SIDE(ix < nx - 1, XH, nx)) +
                wy * (OWN_SIDE(iy > 0, YL, ny) + OWN_SIDE(iy < ny - 1, YH, ny));
    C->odd_x = CX & ix, C->odd_y = CY & iy, C->shift = weight_shift(P, jx);
    UNROLLED for (int q = 0; q < 4; q++)
    {
        const int to_x = q & 1 ? beside(jx, 1, P->cx, P->wraps & 1) : jx;
        const int to_y = q >> 1 ? beside(jy, 1, P->cy, P->wraps & 2) : jy;
        C->has[q] = (q & 1) <= C->odd_x && q >> 1 <= C->odd_y && to_x >= 0 && to_y >= 0;
        C->to[q] = C->has[q] ? to_x + P->cx * to_y : 0;
        C->own[q] = C->between[q] = 0;
        if (C->has[q] && P->cz > 2 * EDGE) {
            C->own[q] = weight_of(P, w, C, q, 0, EDGE);
            if (CZ) C->between[q] = weight_of(P, w, C, q, CZ, EDGE);
        }
    }
}

// The diagonal entry in layer z.
INLINED SUM diagonal_in(const column *C, SUM wz, int nz, int z)
{
    return C->across + wz * (OWN_SIDE(z > 0, ZL, nz) + OWN_SIDE(z < nz - 1, ZH, nz));
}

// p of the column in layer z, 0 if that is none.
INLINED SUM in_layer(const transfer *P, const column *C, global const REAL *p, int z)
{
    const int layer = on_axis(z, P->nz, P->wraps & 4);
    return layer >= 0 ? (SUM)p[C->number + P->nx * P->ny * layer] : 0;
}

// v + what the four coarse columns have for it at z = jz, dz before it.
INLINED SUM add_four(const transfer *P, global const REAL *w, global const REAL *e, const column *C, int dz, int jz, SUM v)
{
    UNROLLED for (int q = 0; q < 4; q++)
        if (C->has[q]) v += weight_of(P, w, C, q, dz, jz) * e_of(P, e, C, q, jz);
    return v;
}

// v + P e in layer z.
INLINED SUM corrected(const transfer *P, global const REAL *w, global const REAL *e, const column *C, int z, SUM v)
{
    const int iz = on_axis(z, P->nz, P->wraps & 4), jz = iz >> CZ;
    const int up = beside(max(jz, 0), 1, P->cz, P->wraps & 4);
    if (iz >= 0 && CZ & iz) {
        v = add_four(P, w, e, C, CZ, jz, v);
        if (up >= 0) v = add_four(P, w, e, C, -CZ, up, v);
    } else if (iz >= 0) {
        v = add_four(P, w, e, C, 0, jz, v);
    }
    return v;
}

// c + step D^-1 (b - A v), where v is c in this column and layer. by: step D^-1. there: the layer of the tile; place:
// that of this work-item in it.
INLINED SUM stepped(const column *C, local REAL *there, int place, SUM weight_z, SUM behind, SUM c, SUM ahead, SUM b,
                    SUM diagonal, SUM by)
{
    there[get_local_id(0)] = (REAL)c;
    barrier(CLK_LOCAL_MEM_FENCE);
    local const REAL *near = there + place;
    const SUM rest = C->west * (SUM)near[-1] + C->east * (SUM)near[1] +
                     (C->south * (SUM)near[-WIDE] + C->north * (SUM)near[WIDE]);
    const SUM r = b + rest + (weight_z * (behind + ahead) - diagonal * c);
    return c + by * r;
}

// y := v + step D^-1 (b - A v) with v = x + P e. Words for each fine number: 3; for each coarse one: 1. length: with CZ
// an even number of layers.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
correct_and_step(GRID, ACC step, global const REAL *restrict w, global const REAL *restrict b,
                    long b0, global const REAL *restrict x, long x0,
                    global const REAL *restrict e, long e0, global REAL *restrict y, long y0)
{
    local REAL left_there[2][GROUP];
    WEIGHTS
    const int plane = nx * ny, lane = get_local_id(0), lx = lane % WIDE, ly = lane / WIDE;
    const transfer P = COARSER_GRID(WRAPS);
    const SUM weight_z = ZL == PERIODIC && nz == 1 ? (SUM)0 : wz;
    const int tiles_x = (nx + OWN_X - 1) / OWN_X, tiles = tiles_x * ((ny + OWN_Y - 1) / OWN_Y);
    b += b0, x += x0, e += e0, y += y0;
    for (int task = get_group_id(0); task < work; task += (int)get_num_groups(0)) {
        const int gx = task % tiles % tiles_x * OWN_X - 1 + lx;
        const int gy = task % tiles / tiles_x * OWN_Y - 1 + ly;
        const int from = task / tiles * length, until = min(from + length, nz);
        column C;
        take_column(&P, w, gx, gy, wx, wy, &C);
        const int mine = lx > 0 && lx <= OWN_X && ly > 0 && ly <= OWN_Y && gx < nx && gy < ny;
        const int place = mine ? lane : WIDE + 1;
        const SUM inner = C.across + 2 * wz, by = (SUM)step / inner;
        SUM behind = in_layer(&P, &C, x, from - 1), c = in_layer(&P, &C, x, from);
        SUM x_1 = in_layer(&P, &C, x, from + 1), b_0 = in_layer(&P, &C, b, from);
        behind = corrected(&P, w, e, &C, from - 1, behind);
        c = corrected(&P, w, e, &C, from, c);
        for (int z = from; z < until; z += 2) {
            const int jz = z >> CZ, i = C.number + plane * z, next_jz = jz + !CZ;
            SUM y_0, y_1;
            if (IS_ALONG && next_jz >= EDGE && next_jz + 1 < P.cz - EDGE && z + 1 < until) {
                const SUM b_1 = (SUM)b[i + plane], x_2 = (SUM)x[i + 2 * plane];
                SUM e_0[4], e_1[4], v_1 = x_1, v_2 = x_2;
                UNROLLED for (int q = 0; q < 4; q++)
                    e_0[q] = e_of(&P, e, &C, q, CZ ? jz : z + 1), e_1[q] = e_of(&P, e, &C, q, CZ ? jz + 1 : z + 2);
                UNROLLED for (int q = 0; q < 4; q++)
                {
                    v_1 += CZ ? C.between[q] * (e_0[q] + e_1[q]) : C.own[q] * e_0[q];
                    v_2 += C.own[q] * e_1[q];
                }
                y_0 = stepped(&C, left_there[0], place, weight_z, behind, c, v_1, b_0, inner, by);
                if (mine) y[i] = (REAL)y_0;
                const SUM b_2 = (SUM)b[i + 2 * plane];
                x_1 = (SUM)x[i + 3 * plane];
                y_1 = stepped(&C, left_there[1], place, weight_z, c, v_1, v_2, b_1, inner, by);
                if (mine) y[i + plane] = (REAL)y_1;
                behind = v_1, c = v_2, b_0 = b_2;
            } else {
                SUM v_1 = x_1, v_2 = in_layer(&P, &C, x, z + 2);
                const SUM b_1 = in_layer(&P, &C, b, z + 1);
                const SUM entry = diagonal_in(&C, wz, nz, z), next = diagonal_in(&C, wz, nz, z + 1);
                v_1 = corrected(&P, w, e, &C, z + 1, v_1);
                v_2 = corrected(&P, w, e, &C, z + 2, v_2);
                y_0 = stepped(&C, left_there[0], place, weight_z, behind, c, v_1, b_0, entry, (SUM)step / entry);
                if (mine) y[i] = (REAL)y_0;
                y_1 = stepped(&C, left_there[1], place, weight_z, c, v_1, v_2, b_1, next, (SUM)step / next);
                if (mine && z + 1 < until) y[i + plane] = (REAL)y_1;
                behind = v_1, c = v_2, x_1 = in_layer(&P, &C, x, z + 3), b_0 = in_layer(&P, &C, b, z + 2);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
