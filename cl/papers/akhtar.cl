// akhtar.cl - Jacobi sweeps on a box of points: the kernels of Akhtar et al.
// Host: papers/akhtar/jacobi_buffers.c, jacobi_images.c.
//
//   akhtar_points   (k1, k2, k5, k6)  a work-item owns a point and reads its neighbours
//   akhtar_tiles    (k3, k4, k7)      a group copies TILE_X * TILE_Y * TILE_Z points and the layer
//                                     around them to local memory first
//   WAITING         (k1a to k4a)      all sweeps in one launch; between two sweeps the groups wait
//                                     for each other
//   akhtar_pack, akhtar_unpack        points to an image, and back
//
// Point (i, j, k) is number i + nx (j + ny k), or, with FIELD_IMAGE, a texel: 3: of an image3d_t;
// 2: of an image2d_t in which slice k is in column k % cols and row k / cols of slices.
// `sides` has the values on the sides in rows of max(nx, ny) numbers: x low and x high, row k of y
// each; y low and y high, row k of x; z low and z high, row j of x. SIDES_IMAGE: an image2d_t.
// BORDER: neighbours outside the box are read too, as the sampler's 0, before the value on the
// side replaces them.

#include "common/kry.clh"
#include "common/image.clh"
#include "papers/mean.clh"

#if defined(FIELD_IMAGE) || defined(SIDES_IMAGE)
constant sampler_t inside_only = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
#ifdef BORDER
constant sampler_t field_sampler =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#else
#define field_sampler inside_only
#endif
#endif

// ---- the values on the sides ----

#define SIDE_ROW(side, v) ((side) < 4 ? (side) * nz + (v) : 4 * nz + ((side) - 4) * ny + (v))
#ifdef SIDES_IMAGE
#define SIDES            read_only image2d_t sides
#define SIDE(side, u, v) TEXEL(sides, inside_only, (int2)(u, SIDE_ROW(side, v)))
#else
#define SIDES            global const REAL *restrict sides
#define SIDE(side, u, v) sides[(long)max(nx, ny) * SIDE_ROW(side, v) + (u)]
#endif
#define BOX int nx, int ny, int nz, int cols

// ---- the points: w is read, next is written ----

#if FIELD_IMAGE == 3
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
#define IMAGE          image3d_t
#define PLACE(i, j, k) (int4)(i, j, k, 0)
#elif FIELD_IMAGE == 2
#define IMAGE          image2d_t
#define PLACE(i, j, k) (int2)((i) + nx * ((k) % cols), (j) + ny * ((k) / cols))
#endif
#ifdef FIELD_IMAGE
#define W               read_only IMAGE w
#define NEXT            write_only IMAGE next
#define GET(i, j, k)    TEXEL(w, field_sampler, PLACE(i, j, k))
#define PUT(i, j, k, v) SET_TEXEL(next, PLACE(i, j, k), v);
#else
#define W               global const REAL *restrict w
#define NEXT            global REAL *restrict next
#define GET(i, j, k)    w[point_number(nx, ny, i, j, k)]
#define PUT(i, j, k, v) next[point_number(nx, ny, i, j, k)] = v;
int point_number(int nx, int ny, int i, int j, int k) { return i + nx * (j + ny * k); } // fewer than 2^31 points
#endif

#define EACH_POINT(DO)                                                                  \
    FOR_EACH(point, (long)nx * ny * nz)                                                 \
    {                                                                                   \
        const int p = (int)point, i = p % nx, row = p / nx, j = row % ny, k = row / ny; \
        DO                                                                              \
    }

// ---- a point at a time ----

#ifdef BORDER
#define NEIGHBOUR(v, inside, get, side) \
    REAL v = get;                       \
    if (!(inside)) v = side;
#else
#define NEIGHBOUR(v, inside, get, side) REAL v = (inside) ? get : side;
#endif
#define SWEEP_POINT                                            \
    NEIGHBOUR(xm, i > 0, GET(i - 1, j, k), SIDE(0, j, k))      \
    NEIGHBOUR(xp, i < nx - 1, GET(i + 1, j, k), SIDE(1, j, k)) \
    NEIGHBOUR(ym, j > 0, GET(i, j - 1, k), SIDE(2, i, k))      \
    NEIGHBOUR(yp, j < ny - 1, GET(i, j + 1, k), SIDE(3, i, k)) \
    NEIGHBOUR(zm, k > 0, GET(i, j, k - 1), SIDE(4, i, j))      \
    NEIGHBOUR(zp, k < nz - 1, GET(i, j, k + 1), SIDE(5, i, j)) \
    PUT(i, j, k, MEAN(xm, xp, ym, yp, zm, zp))

// ---- a tile at a time: the block around it has a layer more on each side ----

#define BLOCK_X     (TILE_X + 2)
#define BLOCK_Y     (TILE_Y + 2)
#define BLOCK       (BLOCK_X * BLOCK_Y * (TILE_Z + 2))
#define TILE        (TILE_X * TILE_Y * TILE_Z)

// A point of the block: from w, from a side, or one that no mean needs.
#define BLOCK_POINT                                                                      \
    bool in_x = i >= 0 && i < nx, in_y = j >= 0 && j < ny, in_z = k >= 0 && k < nz;      \
    REAL v = 0;                                                                          \
    if (in_x && in_y && in_z) v = GET(i, j, k);                                          \
    if (in_y && in_z && i == -1) v = SIDE(0, j, k);                                      \
    if (in_y && in_z && i == nx) v = SIDE(1, j, k);                                      \
    if (in_x && in_z && j == -1) v = SIDE(2, i, k);                                      \
    if (in_x && in_z && j == ny) v = SIDE(3, i, k);                                      \
    if (in_x && in_y && k == -1) v = SIDE(4, i, j);                                      \
    if (in_x && in_y && k == nz) v = SIDE(5, i, j);

#define SWEEP_TILES                                                                      \
    int tiles_x = (nx + TILE_X - 1) / TILE_X, tiles_y = (ny + TILE_Y - 1) / TILE_Y;      \
    int tiles = tiles_x * tiles_y * ((nz + TILE_Z - 1) / TILE_Z);                        \
    for (int tile = get_group_id(0); tile < tiles; tile += (int)get_num_groups(0)) {     \
        int i0 = tile % tiles_x * TILE_X, j0 = tile / tiles_x % tiles_y * TILE_Y;        \
        int k0 = tile / tiles_x / tiles_y * TILE_Z;                                      \
        barrier(CLK_LOCAL_MEM_FENCE); /* the block may still be read */                  \
        for (int l = get_local_id(0); l < BLOCK; l += WG) {                              \
            int i = i0 - 1 + l % BLOCK_X, j = j0 - 1 + l / BLOCK_X % BLOCK_Y;            \
            int k = k0 - 1 + l / (BLOCK_X * BLOCK_Y);                                    \
            BLOCK_POINT                                                                  \
            block[l] = v;                                                                \
        }                                                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                                    \
        for (int l = get_local_id(0); l < TILE; l += WG) {                               \
            int x = l % TILE_X, y = l / TILE_X % TILE_Y, z = l / (TILE_X * TILE_Y);      \
            local const REAL *at = block + x + 1 + BLOCK_X * (y + 1 + BLOCK_Y * (z + 1)); \
            REAL mean = MEAN(at[-1], at[1], at[-BLOCK_X], at[BLOCK_X],                   \
                             at[-BLOCK_X * BLOCK_Y], at[BLOCK_X * BLOCK_Y]);             \
            if (i0 + x < nx && j0 + y < ny && k0 + z < nz) PUT(i0 + x, j0 + y, k0 + z, mean) \
        }                                                                                \
    }

#ifdef TILE_X
#define LOCALS local REAL block[BLOCK];
#define SWEEP  SWEEP_TILES
#else
#define LOCALS
#define SWEEP EACH_POINT(SWEEP_POINT)
#endif

// ---- kernels ----

#ifndef WAITING

#ifdef TILE_X
kernel void akhtar_tiles(BOX, SIDES, W, NEXT)
#else
kernel void akhtar_points(BOX, SIDES, W, NEXT)
#endif
{
    LOCALS
    SWEEP
}

#ifdef FIELD_IMAGE
kernel void akhtar_pack(BOX, global const REAL *restrict points, NEXT)
{
    EACH_POINT(PUT(i, j, k, points[p]))
}

kernel void akhtar_unpack(BOX, W, global REAL *restrict points)
{
    EACH_POINT(points[p] = GET(i, j, k);)
}
#endif

#else

#define GAVE_UP (1 << 30)

// Work-item 0 counts its group as arrived and waits until `target` groups have arrived, for so many
// polls at most: a group that has not begun may wait for this one to end. Whether all came.
// Source: S. Xiao, W. Feng, Inter-block GPU communication via fast barrier synchronization,
// IPDPS 2010.
int all_arrived(volatile global int *arrived, int target, int polls)
{
    int seen;
    write_mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(arrived);
    while ((seen = *arrived) < target && polls > 0) polls--;
    if (seen < target) seen = atomic_or(arrived, GAVE_UP) | GAVE_UP;
    read_mem_fence(CLK_GLOBAL_MEM_FENCE);
    return seen < GAVE_UP;
}

// `steps` sweeps, at least one: the first reads a and writes b, the next the other way round. What
// other groups have stored is read through volatile pointers, past the caches of a multiprocessor.
// *arrived is 0 before, and afterwards steps * groups if every group made all its sweeps.
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
akhtar_waiting(BOX, SIDES, volatile global REAL *a, volatile global REAL *b, int steps,
               volatile global int *arrived, int polls)
{
    LOCALS
    local int word;
    int s = 0, all_here;
    do {
        volatile global const REAL *w = s % 2 ? b : a;
        volatile global REAL *next = s % 2 ? a : b;
        SWEEP
        s++;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (get_local_id(0) == 0) word = all_arrived(arrived, s * (int)get_num_groups(0), polls);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        all_here = word;
    } while (s < steps && all_here);
}

#endif
