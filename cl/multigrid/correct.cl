// correct.cl - prolongation from the next coarser grid and a smoothing step in one pass, on grids in space with constant
// coefficients, for GPUs. Host: src/mg/box_space.c. columns.clh says how a group marches, transfer.clh how the weights lie.
//
// Between the ends of the z axis weights are kept in registers, and turns go in pairs, of a layer that has coarse points and of
// the one behind it. Layers at the ends read their weights.

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/transfer.clh"

#if !defined(KRY_CPU) && AXES == 3 && !defined(VARIABLE)

#include "multigrid/columns.clh"

enum { OWN_X = WIDE - 2, OWN_Y = 2 * TALL - 2 };

// ---- the coarse columns that two fine ones get e from: q = 0 and, if these are odd along x, 1; s = 1, which is the second
// one's own, and 0, which the first one has besides or alone ----

enum { COARSE = 4, WEIGHTS_KEPT = 6 }; // of the first column from all four, q + 2 s; of the second one from those with s = 1

// Column c at z = 0; any if there is none.
INLINED int coarse_column(const transfer *P, const columns *C, int c)
{
    const int jx = C->ix >> CX, to_x = c & 1 ? beside(jx, 1, P->cx, P->wraps & 1) : jx;
    return max(to_x, 0) + P->cx * ((c >= 2 ? C->iy[1] : C->iy[0]) >> CY);
}

// The weight that coarse column c has in column k, where its layer jz is dz layers away, 0 if there is none.
INLINED SUM weight_in(const transfer *P, global const REAL *w, const columns *C, int k, int c, int dz, int jz)
{
    const int q = c & 1, s = c >> 1, odd_x = CX & C->ix, odd_y = k ? 0 : CY & C->iy[0], jx = C->ix >> CX;
    const int to_x = q ? beside(jx, 1, P->cx, P->wraps & 1) : jx, behind = k ? 0 : s;
    const int has = q <= odd_x && to_x >= 0 && C->inside[k] && (!behind || (odd_y && C->inside[1]));
    const int dx = has ? odd_x - 2 * q : 0, dy = has ? odd_y - 2 * behind : 0;
    const int like = coarse_column(P, C, c) + weight_shift(P, max(to_x, 0)) + P->cx * P->cy * jz;
    const SUM number = weight(P, w, dx, dy, dz, like); // of any point if this is its own, or there is none: a branch would wait
    return !has ? 0 : is_own(P, dx, dy, dz) ? 1 : number;
}

INLINED void take_weights(const transfer *P, global const REAL *w, const columns *C, int dz, int jz, SUM *to)
{
    UNROLLED for (int m = 0; m < WEIGHTS_KEPT; m++)
        to[m] = weight_in(P, w, C, m >= COARSE, m < COARSE ? m : m - 2, dz, jz);
}

// to: the numbers of COARSE columns at z = 0
INLINED void take_coarse(const transfer *P, global const REAL *e, const int *columns, int jz, SUM *to)
{
    UNROLLED for (int c = 0; c < COARSE; c++) to[c] = (SUM)e[columns[c] + P->cx * P->cy * jz];
}

// v += what a coarse layer has for both columns
INLINED void add_coarse(const SUM *weights, const SUM *e, SUM *v)
{
    v[0] += weights[0] * e[0] + weights[1] * e[1] + (weights[2] * e[2] + weights[3] * e[3]);
    v[1] += weights[4] * e[2] + weights[5] * e[3];
}

// ---- a layer ----

// v += what coarse layer jz, dz layers away, has for both columns
INLINED void add_weighted(const transfer *P, global const REAL *w, const columns *C, global const REAL *e, int dz, int jz, SUM *v)
{
    UNROLLED for (int c = 0; c < COARSE; c++)
    {
        const SUM there = (SUM)e[coarse_column(P, C, c) + P->cx * P->cy * jz];
        v[0] += weight_in(P, w, C, 0, c, dz, jz) * there;
        if (c >= 2) v[1] += weight_in(P, w, C, 1, c, dz, jz) * there;
    }
}

// v := x + P e in layer z
INLINED void correct_layer(const transfer *P, global const REAL *w, const columns *C, global const REAL *x,
                           global const REAL *e, int z, SUM *v)
{
    const int layer = on_axis(z, P->nz, P->wraps & 4), low = max(layer, 0) >> CZ, between = CZ & max(layer, 0);
    const int high = beside(low, 1, P->cz, P->wraps & 4);
    take_layer(P, C, x, z, v);
    if (layer >= 0) add_weighted(P, w, C, e, between, low, v);
    if (between && high >= 0) add_weighted(P, w, C, e, -between, high, v);
}

// y := c + by (b - A v), where v is c in this layer. there: 2 GROUP numbers of the layer
INLINED void step_layer(const columns *C, local REAL *there, const nearby *near, SUM weight_z, const SUM *behind,
                        const SUM *c, const SUM *ahead, const SUM *b, const SUM *diagonal, const SUM *by, SUM *y)
{
    SUM r[2];
    leave_layer(there, c);
    barrier(CLK_LOCAL_MEM_FENCE);
    take_residual(C, there, near, weight_z, behind, c, ahead, b, diagonal, r);
    UNROLLED for (int k = 0; k < 2; k++) y[k] = c[k] + by[k] * r[k];
}

// ---- the march: of both columns from layer z on, where behind and c are v one layer before and there ----

typedef struct march {
    transfer P;
    columns C;
    nearby near;
    SUM wz, weight_z, step; // weight_z: 0 where a face along z has the same point at either side
    int above[COARSE], mine[2];
    global const REAL *w, *b, *x, *e;
    global REAL *y;
} march;

INLINED void put_layer(const march *M, int i, const SUM *v)
{
    if (M->mine[0]) M->y[i] = (REAL)v[0];
    if (M->mine[1]) M->y[i + M->C.number[1] - M->C.number[0]] = (REAL)v[1];
}

// Up to layer stop, between the ends of z, where weights are the same upwards as downwards. Returns the layer behind the last one.
INLINED int go_along(const march *M, local REAL (*there)[2 * GROUP], int z, int stop, SUM *behind, SUM *c)
{
    const transfer *P = &M->P;
    const int plane = P->nx * P->ny, coarse_plane = P->cx * P->cy, second = M->C.number[1] - M->C.number[0];
    const SUM by[2] = { M->step / M->C.inner[0], M->step / M->C.inner[1] };
    SUM own[WEIGHTS_KEPT], side[WEIGHTS_KEPT], low[COARSE], high[COARSE];
    SUM x_1[2], x_2[2], b_0[2], b_1[2], v_1[2], v_2[2], y[2];
    int jz = CZ ? (z >> 1) + 1 : z + 2; // the coarse layer of layer z + 2
    global const REAL *x = M->x + M->C.number[0] + plane * z, *b = M->b + M->C.number[0] + plane * z;
    take_weights(P, M->w, &M->C, 0, jz, own);
    take_weights(P, M->w, &M->C, CZ, jz, side);
    take_coarse(P, M->e, M->above, jz - 1, low), take_coarse(P, M->e, M->above, jz, high);
    take_two(x + plane, second, x_1), take_two(x + 2 * plane, second, x_2);
    take_two(b, second, b_0), take_two(b + plane, second, b_1);
    for (; z < stop; z += 2) {
        SUM next_b_0[2], next_b_1[2];
        move(v_1, x_1), move(v_2, x_2);
        if (CZ) UNROLLED for (int q = 0; q < COARSE; q++) low[q] += high[q];
        add_coarse(side, low, v_1), add_coarse(own, high, v_2);
        x += 2 * plane, b += 2 * plane, jz += 2 - CZ;
        take_two(x + plane, second, x_1), take_two(x + 2 * plane, second, x_2);
        take_two(b, second, next_b_0), take_two(b + plane, second, next_b_1);
        UNROLLED for (int q = 0; q < COARSE; q++) low[q] = high[q];
        if (!CZ) take_coarse(P, M->e, M->above, jz - 1, low);
        take_coarse(P, M->e, M->above, jz, high);
        step_layer(&M->C, there[0], &M->near, M->weight_z, behind, c, v_1, b_0, M->C.inner, by, y);
        put_layer(M, M->C.number[0] + plane * z, y);
        step_layer(&M->C, there[1], &M->near, M->weight_z, c, v_1, v_2, b_1, M->C.inner, by, y);
        put_layer(M, M->C.number[0] + plane * (z + 1), y);
        move(behind, v_1), move(c, v_2), move(b_0, next_b_0), move(b_1, next_b_1);
    }
    return z;
}

// Up to layer stop.
INLINED int go_at_ends(const march *M, local REAL (*there)[2 * GROUP], int z, int stop, SUM *behind, SUM *c)
{
    const transfer *P = &M->P;
    for (; z < stop; z++) {
        SUM v[2], b[2], y[2], diagonal[2], by[2];
        take_layer(P, &M->C, M->b, z, b);
        correct_layer(P, M->w, &M->C, M->x, M->e, z + 1, v);
        UNROLLED for (int k = 0; k < 2; k++)
        {
            diagonal[k] = diagonal_in(&M->C, k, M->wz, P->nz, z), by[k] = M->step / diagonal[k];
        }
        step_layer(&M->C, there[z & 1], &M->near, M->weight_z, behind, c, v, b, diagonal, by, y);
        put_layer(M, M->C.number[0] + P->nx * P->ny * z, y);
        move(behind, c), move(c, v);
    }
    return z;
}

// y := v + step D^-1 (b - A v) with v = x + P e. Words for each fine number: 3; for each coarse one: 1. length: an even number of
// layers.
kernel void correct_and_step(GRID, ACC step, global const REAL *restrict w, global const REAL *restrict b, long b0,
                             global const REAL *restrict x, long x0, global const REAL *restrict e, long e0,
                             global REAL *restrict y, long y0)
{
    local REAL there[2][2 * GROUP];
    WEIGHTS
    const int lane = get_local_id(0), lx = lane % WIDE, ly = lane / WIDE;
    const int tiles_x = (nx + OWN_X - 1) / OWN_X, tiles = tiles_x * ((ny + OWN_Y - 1) / OWN_Y);
    march M = { .P = COARSER_GRID(WRAPS), .wz = wz, .weight_z = ZL == PERIODIC && nz == 1 ? (SUM)0 : wz, .step = (SUM)step };
    const int along = EDGE << CZ, along_end = IS_ALONG ? (M.P.cz - EDGE - 3) << CZ : 0;
    M.w = w, M.b = b + b0, M.x = x + x0, M.e = e + e0, M.y = y + y0;
    find_nearby(lane, &M.near);
    for (int task = get_group_id(0); task < work; task += (int)get_num_groups(0)) {
        const int gx = task % tiles % tiles_x * OWN_X - 1 + lx;
        const int gy = task % tiles / tiles_x * OWN_Y - 1 + 2 * ly;
        const int from = task / tiles * length, until = min(from + length, nz), in_x = lx > 0 && lx <= OWN_X && gx < nx;
        SUM behind[2], c[2];
        M.mine[0] = in_x && ly > 0 && gy < ny, M.mine[1] = in_x && ly < TALL - 1 && gy + 1 < ny;
        take_columns(&M.P, gx, gy, wx, wy, wz, &M.C);
        UNROLLED for (int q = 0; q < COARSE; q++) M.above[q] = coarse_column(&M.P, &M.C, q);
        correct_layer(&M.P, w, &M.C, M.x, M.e, from - 1, behind);
        correct_layer(&M.P, w, &M.C, M.x, M.e, from, c);
        int z = go_at_ends(&M, there, from, min(until, along), behind, c);
        if (z < min(until, along_end)) z = go_along(&M, there, z, min(until, along_end), behind, c);
        go_at_ends(&M, there, z, until, behind, c);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
