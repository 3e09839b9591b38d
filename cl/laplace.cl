// laplace.cl - Jacobi sweeps on a box of points: the kernels of a paper, made of what they read.
// Host: src/grid/laplace_buffers.c, laplace_images.c, laplace_resident.c.
//
//   laplace_point   (k1, k2, k5, k6)  a point to a work-item, its neighbours wherever they are
//   laplace_tile    (k3, k4, k7)      TILE_X * TILE_Y * TILE_Z points and the layer around them go
//                                     to local memory first
//   ..._resident    (k1a to k4a)      RESIDENT: all sweeps in one launch, groups wait for each
//                                     other in between (barrier.clh)
//
// Point (i, j, k) is number i + nx (j + ny k), or, FIELD_IMAGE, a texel: 3 of an image3d_t; 2 of an
// image2d_t where slice k is the one in column k % cols, row k / cols of slices.
// `faces` has the values on the sides, rows of max(nx, ny) numbers: x low and x high, row k of y
// each; y low and y high, row k of x; z low and z high, row j of x. FACES_IMAGE: an image2d_t.
// BORDER: neighbours outside are read too, as the sampler's 0, before the face replaces them.
// laplace.clh and image.clh are put in front.

#if defined(FIELD_IMAGE) || defined(FACES_IMAGE)
constant sampler_t inside_only = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
#ifdef BORDER
constant sampler_t field_sampler =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#else
#define field_sampler inside_only
#endif
#endif

// ---- the values on the sides ----

#define FACE_ROW(side, v) ((side) < 4 ? (side) * nz + (v) : 4 * nz + ((side) - 4) * ny + (v))
#ifdef FACES_IMAGE
#define FACES            read_only image2d_t faces
#define FACE(side, u, v) TEXEL(faces, inside_only, (int2)(u, FACE_ROW(side, v)))
#else
#define FACES            global const REAL *restrict faces
#define FACE(side, u, v) faces[(long)max(nx, ny) * FACE_ROW(side, v) + (u)]
#endif
#define GRID int nx, int ny, int nz, int cols, FACES

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
#define AT(i, j, k)     ((i) + nx * ((j) + ny * (k))) // fewer than 2^31 points
#define GET(i, j, k)    w[AT(i, j, k)]
#define PUT(i, j, k, v) next[AT(i, j, k)] = v;
#endif

#ifdef RESIDENT
#define GROUP  me.group
#define GROUPS me.groups
#else
#define GROUP  (int)get_group_id(0)
#define GROUPS (int)get_num_groups(0)
#endif

// ---- a point at a time ----

#ifdef BORDER
#define NEIGHBOUR(v, inside, get, face) \
    REAL v = get;                       \
    if (!(inside)) v = face;
#else
#define NEIGHBOUR(v, inside, get, face) REAL v = (inside) ? get : face;
#endif
#define POINT(i, j, k)                                              \
    {                                                               \
        NEIGHBOUR(xm, i > 0, GET(i - 1, j, k), FACE(0, j, k))       \
        NEIGHBOUR(xp, i < nx - 1, GET(i + 1, j, k), FACE(1, j, k))  \
        NEIGHBOUR(ym, j > 0, GET(i, j - 1, k), FACE(2, i, k))       \
        NEIGHBOUR(yp, j < ny - 1, GET(i, j + 1, k), FACE(3, i, k))  \
        NEIGHBOUR(zm, k > 0, GET(i, j, k - 1), FACE(4, i, j))       \
        NEIGHBOUR(zp, k < nz - 1, GET(i, j, k + 1), FACE(5, i, j))  \
        PUT(i, j, k, MEAN(xm, xp, ym, yp, zm, zp))                  \
    }

#ifndef KRY_CPU
#define SWEEP_POINTS                                                                         \
    for (uint p = GROUP * WG + get_local_id(0); p < (uint)(nx * ny * nz); p += GROUPS * WG) { \
        int i = p % nx, row = p / nx, j = row % ny, k = row / ny;                            \
        POINT(i, j, k)                                                                       \
    }
#else
// A row inside, but for its two ends, has no tests and goes by vectors.
#ifdef FIELD_IMAGE
#define INNER_ROW
#else
#define LOAD(offset) vload8(0, at + (offset))
#define INNER_ROW                                                                           \
    if (j > 0 && j < ny - 1 && k > 0 && k < nz - 1) {                                       \
        POINT(i, j, k)                                                                      \
        for (i = 1; i + VW < nx; i += VW) {                                                 \
            global const REAL *at = w + AT(i, j, k);                                        \
            vstore8(MEANS(LOAD(-1), LOAD(1), LOAD(-nx), LOAD(nx), LOAD(-nx * ny), LOAD(nx * ny)), \
                    0, next + AT(i, j, k));                                                 \
        }                                                                                   \
    }
#endif
#define SWEEP_POINTS                                                            \
    long row_end = chunk_end((long)ny * nz);                                    \
    for (int row = chunk_begin((long)ny * nz); row < row_end; row++) {          \
        int i = 0, j = row % ny, k = row / ny;                                  \
        INNER_ROW                                                               \
        for (; i < nx; i++) POINT(i, j, k)                                      \
    }
#endif

// ---- a tile at a time: the box around it has a layer more on each side ----

#define BOX_X   (TILE_X + 2)
#define BOX_Y   (TILE_Y + 2)
#define BOX     (BOX_X * BOX_Y * (TILE_Z + 2))
#define TILE    (TILE_X * TILE_Y * TILE_Z)
#define TILES(n, t) (((n) + (t) - 1) / (t))

// A point of the box: from w, from a side, or one that no mean needs.
#define BOX_POINT                                                                        \
    bool in_x = i >= 0 && i < nx, in_y = j >= 0 && j < ny, in_z = k >= 0 && k < nz;      \
    REAL v = 0;                                                                          \
    if (in_x && in_y && in_z) v = GET(i, j, k);                                          \
    if (in_y && in_z && i == -1) v = FACE(0, j, k);                                      \
    if (in_y && in_z && i == nx) v = FACE(1, j, k);                                      \
    if (in_x && in_z && j == -1) v = FACE(2, i, k);                                      \
    if (in_x && in_z && j == ny) v = FACE(3, i, k);                                      \
    if (in_x && in_y && k == -1) v = FACE(4, i, j);                                      \
    if (in_x && in_y && k == nz) v = FACE(5, i, j);

#define SWEEP_TILES                                                                      \
    int tiles_x = TILES(nx, TILE_X), tiles_y = TILES(ny, TILE_Y);                        \
    int tiles = tiles_x * tiles_y * TILES(nz, TILE_Z);                                   \
    for (int tile = GROUP; tile < tiles; tile += GROUPS) {                               \
        int i0 = tile % tiles_x * TILE_X, j0 = tile / tiles_x % tiles_y * TILE_Y;        \
        int k0 = tile / tiles_x / tiles_y * TILE_Z;                                      \
        barrier(CLK_LOCAL_MEM_FENCE); /* the box may still be read */                    \
        for (int l = get_local_id(0); l < BOX; l += WG) {                                \
            int i = i0 - 1 + l % BOX_X, j = j0 - 1 + l / BOX_X % BOX_Y;                  \
            int k = k0 - 1 + l / (BOX_X * BOX_Y);                                        \
            BOX_POINT                                                                    \
            box[l] = v;                                                                  \
        }                                                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                                    \
        for (int l = get_local_id(0); l < TILE; l += WG) {                               \
            int x = l % TILE_X, y = l / TILE_X % TILE_Y, z = l / (TILE_X * TILE_Y);      \
            local const REAL *at = box + x + 1 + BOX_X * (y + 1 + BOX_Y * (z + 1));      \
            REAL mean = MEAN(at[-1], at[1], at[-BOX_X], at[BOX_X], at[-BOX_X * BOX_Y],   \
                             at[BOX_X * BOX_Y]);                                         \
            if (i0 + x < nx && j0 + y < ny && k0 + z < nz) PUT(i0 + x, j0 + y, k0 + z, mean) \
        }                                                                                \
    }

// ---- kernels ----

#ifndef RESIDENT

#ifndef TILE_X
kernel void laplace_point(GRID, W, NEXT) { SWEEP_POINTS }
#else
kernel void laplace_tile(GRID, W, NEXT)
{
    local REAL box[BOX];
    SWEEP_TILES
}
#endif

// part[group] := sum of (w - old)^2
#ifdef FIELD_IMAGE
#define GET_OLD(i, j, k) TEXEL(old, field_sampler, PLACE(i, j, k))
kernel void laplace_change(int nx, int ny, int nz, int cols, W, read_only IMAGE old,
                           global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTAL sum = NO_TOTAL;
    FOR_EACH(p, (long)nx * ny * nz)
    {
        int i = (int)p % nx, row = (int)p / nx, j = row % ny, k = row / ny;
        ACC d = (ACC)GET(i, j, k) - (ACC)GET_OLD(i, j, k);
        ADD_PRODUCT(sum, d, d);
    }
    sum = group_sum(sum, lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

kernel void laplace_clear(int nx, int ny, int nz, int cols, NEXT)
{
    FOR_EACH(p, (long)nx * ny * nz)
    {
        int i = (int)p % nx, row = (int)p / nx, j = row % ny, k = row / ny;
        PUT(i, j, k, (REAL)0)
    }
}
#else
kernel void laplace_change(long n, global const REAL *restrict w, global const REAL *restrict old,
                           global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTALV s = NO_TOTAL;
    TOTAL t = NO_TOTAL;
    FOR_VEC(i, n)
    {
        ACCV d = TO_ACCV(LDV(w, i)) - TO_ACCV(LDV(old, i));
        ADD_PRODUCTV(s, d, d);
    }
    FOR_TAIL(i, n)
    {
        ACC d = (ACC)w[i] - (ACC)old[i];
        ADD_PRODUCT(t, d, d);
    }
    TOTAL sum = group_sum(ALL_LANES(s, t), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}
#endif

#else

// Sweep s reads a and writes b, or the other way round: what other groups have stored is read
// through volatile pointers, which no cache of a multiprocessor answers.
#define SWEEPS(SWEEP)                                                \
    resident me;                                                     \
    resident_begin(&me, RESIDENT_PASS);                              \
    int go = me.groups ? steps : 0;                                  \
    for (int s = 0; s < go && !me.aborted; s++) {                    \
        volatile global const REAL *w = s % 2 ? b : a;               \
        volatile global REAL *next = s % 2 ? a : b;                  \
        SWEEP                                                        \
        resident_wait(&me);                                          \
    }                                                                \
    resident_end(&me);

#ifndef TILE_X
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
laplace_point_resident(RESIDENT_PARAMS, GRID, volatile global REAL *a, volatile global REAL *b,
                       int steps)
{
    RESIDENT_LOCALS
    SWEEPS(SWEEP_POINTS)
}
#else
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
laplace_tile_resident(RESIDENT_PARAMS, GRID, volatile global REAL *a, volatile global REAL *b,
                      int steps)
{
    RESIDENT_LOCALS
    local REAL box[BOX];
    SWEEPS(SWEEP_TILES)
}
#endif
#endif
