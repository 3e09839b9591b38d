// descend.cl - a residual and its restriction to the next coarser grid in one pass, on grids in space with constant
// coefficients, for GPUs. Host: src/mg/box_space.c. columns.clh says how a group marches, transfer.clh how the weights lie.
//
// Every axis is coarsened. The second of the two columns of a work-item is even along y, and if it is so along x, too,
// one of coarse points. Turns go in pairs, of the layer before coarse points and of their own; in each the residual of a layer
// is made, and that of the one before, which is in local memory by then, is added to the coarse points. Weights are kept
// between the ends of the z axis, and read at the ends.

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/transfer.clh"

#if !defined(KRY_CPU) && AXES == 3 && !defined(VARIABLE)

#include "multigrid/columns.clh"

// Fine points of a tile that coarse ones of it are at: those beside them have a residual, and those beside these have an x.
enum { OWN_X = WIDE - 4, OWN_Y = 2 * TALL - 4 };

enum { AROUND = 9 }; // a point of a layer and those beside, dx + 1 + 3 (dy + 1)

// The weights that a coarse point, of which number `like` is read, has in the layer dz from it.
INLINED void take_weights(const transfer *P, global const REAL *w, int like, int dz, SUM *to)
{
    UNROLLED for (int k = 0; k < AROUND; k++)
    {
        const SUM number = weight(P, w, k % 3 - 1, k / 3 - 1, dz, like); // of any point if this is its own: a branch would wait
        to[k] = is_own(P, k % 3 - 1, k / 3 - 1, dz) ? 1 : number;
    }
}

// to := the residuals around a coarse point, of a layer of them that all columns have left in `there`.
INLINED void take_around(local const REAL *there, const nearby *near, const SUM *r, SUM *to)
{
    local const REAL *first = there, *second = there + GROUP;
    to[0] = (SUM)first[near->west], to[1] = r[0], to[2] = (SUM)first[near->east];
    to[3] = (SUM)second[near->west], to[4] = r[1], to[5] = (SUM)second[near->east];
    to[6] = (SUM)first[max(near->north - 1, 0)], to[7] = (SUM)first[near->north];
    to[8] = (SUM)first[min(near->north + 1, GROUP - 1)];
}

// ---- the march: of both columns from the layer before coarse layer jz on ----

typedef struct march {
    transfer P;
    columns C;
    nearby near;
    SUM wz;
    int coarse, like, mine; // the number of the coarse point in layer 0, and of the one whose weights are read for it
    global const REAL *w, *b, *x;
    global REAL *y;
} march;

// behind, c: x two layers before a coarse one, and one before; r: the residual two layers before; sum: what the coarse
// point of the last coarse layer has from residuals up to three before
typedef struct marched {
    SUM behind[2], c[2], r[2], sum;
} marched;

// to := the residual in the layer where x is c; around: the residuals of the layer before it around the coarse point
INLINED void descend_layer(const march *M, local REAL *x_there, local REAL *r_there, const SUM *behind, const SUM *c,
                           const SUM *ahead, const SUM *b, const SUM *diagonal, const SUM *r, SUM *around, SUM *to)
{
    leave_layer(x_there, c), leave_layer(r_there, r);
    barrier(CLK_LOCAL_MEM_FENCE);
    take_around(r_there, &M->near, r, around);
    take_residual(&M->C, x_there, &M->near, M->wz, behind, c, ahead, b, diagonal, to);
}

INLINED SUM weighted(const SUM *weights, const SUM *around)
{
    SUM sum = 0;
    UNROLLED for (int k = 0; k < AROUND; k++) sum += weights[k] * around[k];
    return sum;
}

// Coarse layers jz to stop - 1 between the ends of z, where weights are the same upwards as downwards. Returns the one behind
// them.
INLINED int go_along(const march *M, local REAL (*x_there)[2 * GROUP], local REAL (*r_there)[2 * GROUP], int from, int jz,
                     int stop, marched *m)
{
    const transfer *P = &M->P;
    const int plane = P->nx * P->ny, coarse_plane = P->cx * P->cy, second = M->C.number[1] - M->C.number[0];
    SUM own[AROUND], side[AROUND], around[AROUND], x_1[2], x_2[2], b_0[2], b_1[2], r[2];
    global const REAL *x = M->x + M->C.number[0] + plane * (2 * jz), *b = M->b + M->C.number[0] + plane * (2 * jz - 1);
    take_weights(P, M->w, M->like + coarse_plane * jz, 0, own);
    take_weights(P, M->w, M->like + coarse_plane * jz, 1, side);
    take_two(x, second, x_1), take_two(x + plane, second, x_2);
    take_two(b, second, b_0), take_two(b + plane, second, b_1);
    for (; jz < stop; jz++) {
        SUM next_x_1[2], next_x_2[2], next_b_0[2], next_b_1[2];
        x += 2 * plane, b += 2 * plane;
        take_two(x, second, next_x_1), take_two(x + plane, second, next_x_2);
        take_two(b, second, next_b_0), take_two(b + plane, second, next_b_1);
        descend_layer(M, x_there[0], r_there[0], m->behind, m->c, x_1, b_0, M->C.inner, m->r, around, r);
        m->sum += weighted(own, around);
        descend_layer(M, x_there[1], r_there[1], m->c, x_1, x_2, b_1, M->C.inner, r, around, m->r);
        const SUM between = weighted(side, around);
        if (M->mine && jz > from) M->y[M->coarse + coarse_plane * (jz - 1)] = (REAL)(m->sum + between);
        m->sum = between;
        move(m->behind, x_1), move(m->c, x_2), move(x_1, next_x_1), move(x_2, next_x_2);
        move(b_0, next_b_0), move(b_1, next_b_1);
    }
    return jz;
}

// What `around` is worth to the coarse point of layer jz, dz layers from which it is.
INLINED SUM weighted_at_end(const march *M, const SUM *around, int dz, int jz)
{
    SUM weights[AROUND];
    take_weights(&M->P, M->w, M->like + M->P.cx * M->P.cy * clamp(jz, 0, M->P.cz - 1), dz, weights);
    return weighted(weights, around);
}

// Coarse layers jz to stop - 1.
INLINED int go_at_ends(const march *M, local REAL (*x_there)[2 * GROUP], local REAL (*r_there)[2 * GROUP], int from, int jz,
                       int stop, marched *m)
{
    const transfer *P = &M->P;
    for (; jz < stop; jz++)
        NOT_UNROLLED for (int odd = 0; odd < 2; odd++) {
            const int z = 2 * jz - 1 + odd;
            SUM ahead[2], b[2], r[2], around[AROUND], diagonal[2];
            take_layer(P, &M->C, M->x, z + 1, ahead), take_layer(P, &M->C, M->b, z, b);
            UNROLLED for (int k = 0; k < 2; k++)
                diagonal[k] = diagonal_in(&M->C, k, M->wz, P->nz, on_axis(z, P->nz, P->wraps & 4));
            descend_layer(M, x_there[odd], r_there[odd], m->behind, m->c, ahead, b, diagonal, m->r, around, r);
            m->sum += weighted_at_end(M, around, odd, jz - 1);
            if (odd && M->mine && jz > from) M->y[M->coarse + P->cx * P->cy * (jz - 1)] = (REAL)m->sum;
            if (odd) m->sum = weighted_at_end(M, around, -odd, jz);
            move(m->behind, m->c), move(m->c, ahead), move(m->r, r);
        }
    return jz;
}

// y := P' (b - A x). Words for each fine number: 2; for each coarse one: 1. length: of pieces in coarse layers.
kernel void residual_and_restrict(GRID, global const REAL *restrict w, global const REAL *restrict b, long b0,
                                  global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    local REAL x_there[2][2 * GROUP], r_there[2][2 * GROUP];
    WEIGHTS
    const int lane = get_local_id(0), lx = lane % WIDE, ly = lane / WIDE;
    const int tiles_x = (nx + OWN_X - 1) / OWN_X, tiles = tiles_x * ((ny + OWN_Y - 1) / OWN_Y);
    march M = { .P = COARSER_GRID(WRAPS), .wz = wz, .w = w, .b = b + b0, .x = x + x0, .y = y + y0 };
    const int along = EDGE + 1, along_end = IS_ALONG ? M.P.cz - EDGE : 0;
    find_nearby(lane, &M.near);
    for (int task = get_group_id(0); task < work; task += (int)get_num_groups(0)) {
        const int gx = task % tiles % tiles_x * OWN_X - 2 + lx, gy = task % tiles / tiles_x * OWN_Y - 3 + 2 * ly;
        const int from = task / tiles * length, stop = min(from + length, M.P.cz) + 1;
        marched m = { .r = { 0, 0 }, .sum = 0 };
        M.mine = lx % 2 == 0 && lx >= 2 && lx < 2 + OWN_X && gx < nx && ly >= 1 && ly < TALL - 1 && gy + 1 < ny;
        take_columns(&M.P, gx, gy, wx, wy, wz, &M.C);
        M.coarse = (M.C.ix >> 1) + M.P.cx * (M.C.iy[1] >> 1), M.like = M.coarse + weight_shift(&M.P, M.C.ix >> 1);
        take_layer(&M.P, &M.C, M.x, 2 * from - 2, m.behind), take_layer(&M.P, &M.C, M.x, 2 * from - 1, m.c);
        int jz = go_at_ends(&M, x_there, r_there, from, from, min(stop, along), &m);
        if (jz < min(stop, along_end)) jz = go_along(&M, x_there, r_there, from, jz, min(stop, along_end), &m);
        go_at_ends(&M, x_there, r_there, from, jz, stop, &m);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
