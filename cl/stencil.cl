// stencil.cl - grid operators that store no matrix: y_i = sum over the faces f (x_i - x_neighbour).
// Host: src/stencil/stencil.c. Rows are as struct kry_stencil describes them; docs/stencils.md
// counts the words.
//
// AXES      2 or 3
// XL, XH, YL, YH, ZL, ZH   what is beyond each side: a ghost of that times x_i; PERIODIC wraps
// VARIABLE  faces have weights of their own; else there is one for each axis
// PATH      how neighbours are reached
//   MARCH   GPU: a work-item owns a column, LANES points wide, and marches along the last axis, the
//           values behind, here and ahead in registers. CPU: rows in whole vectors; the caches
//           hold the rows beside
//   GLOBAL  a work-item owns a point and reads its neighbours (Wang et al.: direct global memory)
//   LOCAL   a group copies a tile and its border to local memory (the same: shared memory)
// X_IMAGE   with GLOBAL: x is an image, see image.clh (the same: 1D texture)
// X_PLANE   it has the rows of the grid, and its sampler stands for the sides (the same: 2D texture)
//
// LANES     GPU: points in a row that a work-item takes at once, a divisor of nx; CPU: VW
// SWEEPS_ALONE   no kernels: those of stencil_relax.cl follow
// ANYWHERE  what works on vectors that start anywhere, with LANES 1; else what is fast
//
// SWEEP(GET, BODY) meets every point once: BODY(K, i, c, sum, diagonal) gets its number, its x, the
// sum over its faces and what of that multiplies x_i. K is ONE, or MANY: LANES points of a row, from
// i on. GET(K, i) reads x. Coordinates are ix, iy, iz, neighbours c_w, c_e, c_s, c_n, c_b, c_a.

#define PERIODIC 2
#define MARCH    0
#define GLOBAL   1
#define LOCAL    2

#ifdef VARIABLE
#define FACES                                                                        \
    , global const REAL *restrict kappa, global const REAL *restrict fx,             \
        global const REAL *restrict fy, global const REAL *restrict fz
#else
#define FACES
#endif
// work: what the sweep goes over: columns, points or tiles; length: of a column; width: of the
// tiles of columns that a group marches with in space, in work-items
#define GRID \
    int work, int length, int width, int nx, int ny, int nz, ACC ax, ACC ay, ACC az FACES
#define WEIGHTS const SUM wx = (SUM)ax, wy = (SUM)ay, wz = (SUM)az;

// ---- one point, or several: AT for vectors that start at element 0, ANY for all ----

#define T_ONE            SUM
#define AT_ONE(p, i)     ((SUM)(p)[i])
#define ANY_ONE          AT_ONE
#define PUT_ONE(v, p, i) (p)[i] = (REAL)(v)
#define PUT_ANY_ONE      PUT_ONE
#define ACC_ONE(v)       ((ACC)(v))
#ifdef KRY_CPU
#undef LANES
#define LANES VW
#endif
#if LANES > 1
#define T_MANY                KRY_JOIN(SUM, LANES)
#define STORED_MANY           KRY_JOIN(REAL, LANES)
#define TO_MANY(v)            KRY_JOIN(convert_, T_MANY)(v)
#define ANY_MANY(p, i)        TO_MANY(KRY_JOIN(vload, LANES)(0, (p) + (i)))
#define PUT_ANY_MANY(v, p, i) KRY_JOIN(vstore, LANES)(KRY_JOIN(convert_, STORED_MANY)(v), 0, (p) + (i))
#define ACCS_MANY             KRY_JOIN(ACC, LANES)
#define ACC_MANY(v)           KRY_JOIN(convert_, ACCS_MANY)(v)
#ifdef KRY_CPU
#define AT_MANY  ANY_MANY
#define PUT_MANY PUT_ANY_MANY
#else
#define AT_MANY(p, i) TO_MANY(*(global const STORED_MANY *)((p) + (i)))
#define PUT_MANY(v, p, i) \
    *(global STORED_MANY *)((p) + (i)) = KRY_JOIN(convert_, STORED_MANY)(v)
#endif
#endif

// ---- neighbours and faces ----

#define GHOST(side, c, wrapped) ((side) == PERIODIC ? (wrapped) : (SUM)(side) * (c))
#define BESIDE(K, GET, i, inside, step, wrap, side, c) \
    ((inside) ? GET(K, (i) + (step)) : GHOST(side, c, GET(K, (i) - (wrap))))

#define WEST_ONE(GET, c)    BESIDE(ONE, GET, i, ix > 0, -1, 1 - nx, XL, c)
#define EAST_ONE(GET, c)    BESIDE(ONE, GET, i, ix < nx - 1, 1, nx - 1, XH, c)
#define SOUTH(K, GET, c)    BESIDE(K, GET, i, iy > 0, -nx, nx - plane, YL, c)
#define NORTH(K, GET, c)    BESIDE(K, GET, i, iy < ny - 1, nx, plane - nx, YH, c)
#define BELOW(K, GET, c)    BESIDE(K, GET, i, iz > 0, -plane, plane - plane * nz, ZL, c)
#define ABOVE(K, GET, c)    BESIDE(K, GET, i, iz < nz - 1, plane, plane * nz - plane, ZH, c)

#ifdef KRY_CPU // many points are inside their row
#define WEST_MANY(GET, c) GET(MANY, i - 1)
#define EAST_MANY(GET, c) GET(MANY, i + 1)
#elif LANES > 1 // all but one of the neighbours are in the vector
#if LANES == 2
#define FIRST(v)         v.s0
#define LAST(v)          v.s1
#define SHIFT_UP(w, v)   (T_MANY)(w, v.s0)
#define SHIFT_DOWN(v, e) (T_MANY)(v.s1, e)
#else
#define FIRST(v)         v.s0
#define LAST(v)          v.s3
#define SHIFT_UP(w, v)   (T_MANY)(w, v.s012)
#define SHIFT_DOWN(v, e) (T_MANY)(v.s123, e)
#endif
#define WEST_MANY(GET, c) \
    SHIFT_UP(BESIDE(ONE, GET, i, ix > 0, -1, 1 - nx, XL, FIRST(c)), c)
#define EAST_MANY(GET, c) \
    SHIFT_DOWN(c, BESIDE(ONE, GET, i, ix < nx - LANES, LANES, nx - LANES, XH, LAST(c)))
#endif

#ifdef VARIABLE
// A low side takes the cell's own coefficient, if it does not wrap.
#define LOW_FACE(K, f, inside, step, wrap, side, weight) \
    ((inside)             ? AT_##K(f, i + (step))        \
     : (side) == PERIODIC ? AT_##K(f, i - (wrap))        \
                          : (weight) * AT_##K(kappa, i))
#define FACE_W_ONE LOW_FACE(ONE, fx, ix > 0, -1, 1 - nx, XL, wx)
#ifdef KRY_CPU
#define FACE_W_MANY AT_MANY(fx, i - 1)
#elif LANES > 1
#define FACE_W_MANY SHIFT_UP(FACE_W_ONE, AT_MANY(fx, i))
#endif
#define FACE_S(K) LOW_FACE(K, fy, iy > 0, -nx, nx - plane, YL, wy)
#define FACE_B(K) LOW_FACE(K, fz, iz > 0, -plane, plane - plane * nz, ZL, wz)
#define FACE_E(K) AT_##K(fx, i)
#define FACE_N(K) AT_##K(fy, i)
#define FACE_A(K) AT_##K(fz, i)
#else
#define FACE_W_ONE  wx
#define FACE_W_MANY wx
#define FACE_S(K)   wy
#define FACE_B(K)   wz
#define FACE_E(K)   wx
#define FACE_N(K)   wy
#define FACE_A(K)   wz
#endif

// f (x_i - ghost x_i) is f (1 - ghost) of the diagonal; a point that wraps to itself has nothing
// there.
#define OWN(inside, side, size) \
    ((inside) ? (SUM)1 : (side) == PERIODIC ? (SUM)((size) > 1) : (SUM)(1 - (side)))
#define OWN_W_ONE OWN(ix > 0, XL, nx)
#define OWN_E_ONE OWN(ix < nx - 1, XH, nx)
#ifdef KRY_CPU
#define OWN_W_MANY (SUM)1
#define OWN_E_MANY (SUM)1
#elif LANES > 1
#define OWN_W_MANY SHIFT_UP(OWN(ix > 0, XL, nx), ((T_MANY)(1)))
#define OWN_E_MANY SHIFT_DOWN(((T_MANY)(1)), OWN(ix < nx - LANES, XH, nx))
#endif

#define FACE_SUMS_PLANE(K)                                                                \
    T_##K f_w = FACE_W_##K, f_e = FACE_E(K), f_s = FACE_S(K), f_n = FACE_N(K);             \
    T_##K sum = f_w * (c - c_w) + f_e * (c - c_e) + (f_s * (c - c_s) + f_n * (c - c_n));   \
    T_##K diagonal = f_w * OWN_W_##K + f_e * OWN_E_##K +                                   \
                     (f_s * OWN(iy > 0, YL, ny) + f_n * OWN(iy < ny - 1, YH, ny));
#if AXES == 3
#define FACE_SUMS(K)                                     \
    FACE_SUMS_PLANE(K)                                   \
    T_##K f_b = FACE_B(K), f_a = FACE_A(K);              \
    sum += f_b * (c - c_b) + f_a * (c - c_a);            \
    diagonal += f_b * OWN(iz > 0, ZL, nz) + f_a * OWN(iz < nz - 1, ZH, nz);
#define ALONG_Z(K, GET) T_##K c_b = BELOW(K, GET, c), c_a = ABOVE(K, GET, c);
#else
#define FACE_SUMS(K) FACE_SUMS_PLANE(K)
#define ALONG_Z(K, GET)
#endif

// A point by itself.
#define POINT(K, GET, BODY)                                      \
    T_##K c = GET(K, i);                                         \
    T_##K c_w = WEST_##K(GET, c), c_e = EAST_##K(GET, c);        \
    T_##K c_s = SOUTH(K, GET, c), c_n = NORTH(K, GET, c);        \
    ALONG_Z(K, GET)                                              \
    FACE_SUMS(K)                                                 \
    BODY(K, i, c, sum, diagonal)

// ---- sweeps ----

#ifdef X_PLANE // all sides alike: 0 beyond them, or what is beside them
constant sampler_t sides = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST |
                           (XL == 0 ? CLK_ADDRESS_CLAMP : CLK_ADDRESS_CLAMP_TO_EDGE);
#define FROM_PLANE(dx, dy) ((SUM)TEXEL(x, sides, (int2)(ix + (dx), iy + (dy))))
#define GET_PLANE(K, i)    FROM_PLANE(0, 0)
#undef WEST_ONE
#undef EAST_ONE
#undef SOUTH
#undef NORTH
#define WEST_ONE(GET, c) FROM_PLANE(-1, 0)
#define EAST_ONE(GET, c) FROM_PLANE(1, 0)
#define SOUTH(K, GET, c) FROM_PLANE(0, -1)
#define NORTH(K, GET, c) FROM_PLANE(0, 1)
#endif

#if PATH == GLOBAL

#define SWEEP(GET, BODY)                                                       \
    const int plane = nx * ny;                                                 \
    FOR_EACH(point, work)                                                      \
    {                                                                          \
        const int i = (int)point, ix = i % nx, iy = i / nx % ny, iz = i / plane; \
        POINT(ONE, GET, BODY)                                                  \
    }

#elif PATH == LOCAL

#define TX 32
#if AXES == 3
#define TY 4
#define TZ 4
#define BORDER_Z 1
#else
#define TY 16
#define TZ 1
#define BORDER_Z 0
#endif
#define ROW   (TX + 2)
#define LAYER (ROW * (TY + 2))
#define TILE  (LAYER * (TZ + 2 * BORDER_Z))

// A coordinate of the border, wrapped on a periodic axis.
int wrapped(int at, int size, int side)
{
    return side != PERIODIC ? at : at < 0 ? at + size : at >= size ? at - size : at;
}

#define IN_TILE(inside, step, side, c) \
    ((inside) || (side) == PERIODIC ? tile[t + (step)] : (SUM)(side) * (c))
#undef WEST_ONE
#undef EAST_ONE
#undef SOUTH
#undef NORTH
#undef BELOW
#undef ABOVE
#define WEST_ONE(GET, c) IN_TILE(ix > 0, -1, XL, c)
#define EAST_ONE(GET, c) IN_TILE(ix < nx - 1, 1, XH, c)
#define SOUTH(K, GET, c) IN_TILE(iy > 0, -ROW, YL, c)
#define NORTH(K, GET, c) IN_TILE(iy < ny - 1, ROW, YH, c)
#define BELOW(K, GET, c) IN_TILE(iz > 0, -LAYER, ZL, c)
#define ABOVE(K, GET, c) IN_TILE(iz < nz - 1, LAYER, ZH, c)
#define CENTRE(K, i)     tile[t]

#define SWEEP(GET, BODY)                                                                  \
    local SUM tile[TILE];                                                                 \
    const int plane = nx * ny, tiles_x = (nx + TX - 1) / TX, tiles_y = (ny + TY - 1) / TY; \
    for (int number = get_group_id(0); number < work; number += (int)get_num_groups(0)) { \
        const int x0 = number % tiles_x * TX, y0 = number / tiles_x % tiles_y * TY;       \
        const int z0 = number / (tiles_x * tiles_y) * TZ;                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
        for (int t = get_local_id(0); t < TILE; t += WG) {                                \
            int ix = wrapped(x0 - 1 + t % ROW, nx, XL);                                   \
            int iy = wrapped(y0 - 1 + t % LAYER / ROW, ny, YL);                           \
            int iz = wrapped(z0 - BORDER_Z + t / LAYER, nz, ZL);                          \
            if (ix >= 0 && ix < nx && iy >= 0 && iy < ny && iz >= 0 && iz < nz)           \
                tile[t] = GET(ONE, ix + nx * iy + plane * iz);                            \
        }                                                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
        for (int l = get_local_id(0); l < TX * TY * TZ; l += WG) {                        \
            const int dx = l % TX, dy = l / TX % TY, dz = l / (TX * TY);                  \
            const int ix = x0 + dx, iy = y0 + dy, iz = z0 + dz;                           \
            const int i = ix + nx * iy + plane * iz;                                      \
            const int t = dx + 1 + ROW * (dy + 1) + LAYER * (dz + BORDER_Z);              \
            if (ix < nx && iy < ny && iz < nz) {                                          \
                POINT(ONE, CENTRE, BODY)                                                  \
            }                                                                             \
        }                                                                                 \
    }

#elif defined(KRY_CPU)

// A share of the points in the order of memory. The first and the last point of a row test for
// their neighbours; between them whole vectors.
#define SWEEP(GET, BODY)                                                                  \
    const int plane = nx * ny, last = (int)chunk_end(work);                               \
    for (int i = (int)chunk_begin(work); i < last;) {                                     \
        const int iy = i / nx % ny, iz = i / plane, row = i - i % nx;                     \
        const int row_end = min(row + nx, last);                                          \
        const int inner_end = min(row_end, row + nx - 1);                                 \
        while (i < row_end) {                                                             \
            if (i > row && i + LANES <= inner_end) {                                      \
                POINT(MANY, GET, BODY)                                                    \
                i += LANES;                                                               \
            } else {                                                                      \
                const int ix = i - row;                                                   \
                POINT(ONE, GET, BODY)                                                     \
                i++;                                                                      \
            }                                                                             \
        }                                                                                 \
    }

#else

#ifdef cl_nv_pragma_unroll // left alone, NVIDIA's compiler unrolls, and spends the registers
#define ROLLED _Pragma("unroll 1")
#else
#define ROLLED
#endif

#if AXES == 2

// Neighbouring work-items own neighbouring columns, each cut into pieces.
#define MARCH_ALONG(K, GET, BODY)                                                         \
    const int plane = nx * ny, iz = 0, columns = nx / LANES;                              \
    for (int column = get_global_id(0); column < work; column += (int)get_global_size(0)) { \
        const int ix = column % columns * LANES, first = column / columns * length;       \
        const int end = min(first + length, ny);                                          \
        int i = ix + nx * first, iy = first;                                              \
        T_##K c = GET(K, i), c_s = SOUTH(K, GET, c);                                      \
        ROLLED                                                                            \
        for (; iy < end; iy++) {                                                          \
            T_##K c_n = NORTH(K, GET, c);                                                 \
            T_##K c_w = WEST_##K(GET, c), c_e = EAST_##K(GET, c);                         \
            FACE_SUMS(K)                                                                  \
            BODY(K, i, c, sum, diagonal)                                                  \
            c_s = c, c = c_n, i += nx;                                                    \
        }                                                                                 \
    }

#else

// The same in space, marching along z; the columns of a group are a tile, whose rows share what
// they read in the first-level cache.
#define MARCH_ALONG(K, GET, BODY)                                                         \
    const int plane = nx * ny, rows = WG / width, tiles_x = (nx / LANES + width - 1) / width; \
    const int tiles = tiles_x * ((ny + rows - 1) / rows);                                 \
    for (int task = get_group_id(0); task < work; task += (int)get_num_groups(0)) {       \
        const int tile = task % tiles, first = task / tiles * length;                     \
        const int ix = (tile % tiles_x * width + (int)get_local_id(0) % width) * LANES;   \
        const int iy = tile / tiles_x * rows + (int)get_local_id(0) / width;              \
        const int end = ix < nx && iy < ny ? min(first + length, nz) : 0;                 \
        int i = ix + nx * iy + plane * first, iz = first;                                 \
        T_##K c = 0, c_b = 0;                                                             \
        if (iz < end) c = GET(K, i), c_b = BELOW(K, GET, c);                              \
        ROLLED                                                                            \
        for (; iz < end; iz++) {                                                          \
            T_##K c_a = ABOVE(K, GET, c);                                                 \
            T_##K c_w = WEST_##K(GET, c), c_e = EAST_##K(GET, c);                         \
            T_##K c_s = SOUTH(K, GET, c), c_n = NORTH(K, GET, c);                         \
            FACE_SUMS(K)                                                                  \
            BODY(K, i, c, sum, diagonal)                                                  \
            c_b = c, c = c_a, i += plane;                                                 \
        }                                                                                 \
    }

#endif

#if LANES > 1
#define SWEEP(GET, BODY) MARCH_ALONG(MANY, GET, BODY)
#else
#define SWEEP(GET, BODY) MARCH_ALONG(ONE, GET, BODY)
#endif

#endif

// ---- sums over all points ----

#if LANES > 1
#define SUMMED(name) ACC name##_ONE = 0; ACCS_MANY name##_MANY = 0;
#define SUM_OF(name) (LANES_SUM_OF(name##_MANY) + name##_ONE)
#if LANES == 2
#define LANES_SUM_OF(v) ((v).s0 + (v).s1)
#elif LANES == 4
#define LANES_SUM_OF(v) (((v).s0 + (v).s2) + ((v).s1 + (v).s3))
#else
#define LANES_SUM_OF(v) LANES_SUM(v)
#endif
#else
#define SUMMED(name) ACC name##_ONE = 0;
#define SUM_OF(name) name##_ONE
#endif

#ifndef SWEEPS_ALONE

// ---- products ----

#define GET_X(K, i) AT_##K(x, i)
#define UPDATE(K, i, c, sum, diagonal) \
    PUT_##K(old == 0 ? by * sum : by * sum + old * AT_##K(y, i), y, i);

#ifdef X_IMAGE

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void stencil_apply_image(GRID, ACC alpha, read_only IMAGE x, int x_at, ACC beta,
                                global REAL *restrict y, long y0)
{
    WEIGHTS
    const SUM by = (SUM)alpha, old = (SUM)beta;
    y += y0;
#ifdef X_PLANE
    SWEEP(GET_PLANE, UPDATE)
#else
#define GET_IMAGE(K, i) ((SUM)GET_TEXEL(i))
    SWEEP(GET_IMAGE, UPDATE)
#endif
}

#else

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void stencil_apply(GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                          global REAL *restrict y, long y0)
{
    WEIGHTS
    const SUM by = (SUM)alpha, old = (SUM)beta;
    x += x0, y += y0;
    SWEEP(GET_X, UPDATE)
}

#ifdef ANYWHERE

// r := b - A x; r may be b.
kernel void stencil_residual(GRID, global const REAL *b, long b0, global const REAL *restrict x,
                             long x0, global REAL *r, long r0)
{
    WEIGHTS
    b += b0, x += x0, r += r0;
#define RESIDUAL(K, i, c, sum, diagonal) PUT_##K(AT_##K(b, i) - sum, r, i);
    SWEEP(GET_X, RESIDUAL)
}

// d := diagonal of A
kernel void stencil_diagonal(GRID, global REAL *restrict d, long d0)
{
    WEIGHTS
    d += d0;
#define GET_ZERO(K, i)                   ((T_##K)0)
#define DIAGONAL_OF(K, i, c, sum, diagonal) PUT_##K(diagonal, d, i);
    SWEEP(GET_ZERO, DIAGONAL_OF)
}

#else

// ---- a step of conjugate gradients ----
//
// The first launch forms p, also at the neighbours, from the residual and the old p, and sums p.Ap;
// the second forms A p again instead of reading it. Nothing is written once the solve has stopped:
// work becomes 0, not a return, for barriers are for all.

#define GET_P(K, i) (AT_##K(z, i) + beta * AT_##K(old, i))

// p := z + beta old, part[group] := p.Ap; 3 words
kernel void stencil_direction(GRID, DIRECTION_PARAMS, global const REAL *restrict z,
                              global const REAL *restrict old, global REAL *restrict p,
                              global ACC *restrict part)
{
    local ACC2 lane[WG];
    WEIGHTS
    SUMMED(dot)
    ACC ratio;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &ratio) == GO_ON;
    const SUM beta = (SUM)ratio;
    if (!go_on) work = 0;
#define DIRECTION(K, i, c, sum, diagonal) \
    PUT_##K(c, p, i);                     \
    dot_##K += ACC_##K(c) * ACC_##K(sum);
    SWEEP(GET_P, DIRECTION)
    ACC total = group_sum(SUM_OF(dot), (local ACC *)lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = total;
}

// alpha := rho / p.Ap,  r -= alpha A p,  part[group] := (r.z, r.r), where z is d .* r if `scaled`,
// else r; and x, which the last step's share may still be missing from (see begin_step). 5 words, 3
// where x waits; 2 more with a diagonal.
kernel void stencil_step(GRID, STEP_PARAMS, global const REAL *restrict p,
                         global const REAL *restrict old, global REAL *restrict x, long x0,
                         global REAL *restrict r, global ACC2 *restrict part, int scaled,
                         global const REAL *restrict d, global REAL *restrict z)
{
    local ACC2 lane[WG];
    WEIGHTS
    SUMMED(rz)
    SUMMED(rr)
    step_scalars s;
    const int go_on = begin_step(STEP_PASS, lane, &s) == GO_ON;
    const SUM alpha = (SUM)s.alpha, by_p = (SUM)s.by_p, by_z = (SUM)s.by_z, by_old = (SUM)s.by_old;
    x += x0;
    if (!go_on) work = 0;
#define PRECONDITION(K, i, v) (scaled ? AT_##K(d, i) * (v) : (v))
#define STEP(K, i, c, sum, diagonal)                                                      \
    {                                                                                     \
        T_##K r_i = AT_##K(r, i);                                                         \
        if (update) {                                                                     \
            T_##K x_i = ANY_##K(x, i) + by_p * c;                                          \
            if (by_z != 0) x_i += by_z * PRECONDITION(K, i, r_i);                         \
            if (by_old != 0) x_i += by_old * AT_##K(old, i);                              \
            PUT_ANY_##K(x_i, x, i);                                                       \
        }                                                                                 \
        r_i -= alpha * sum;                                                               \
        PUT_##K(r_i, r, i);                                                               \
        T_##K z_i = PRECONDITION(K, i, r_i);                                              \
        if (scaled) PUT_##K(z_i, z, i);                                                   \
        rz_##K += ACC_##K(r_i) * ACC_##K(z_i);                                            \
        rr_##K += ACC_##K(r_i) * ACC_##K(r_i);                                            \
    }
#define GET_STEP(K, i) AT_##K(p, i)
    SWEEP(GET_STEP, STEP)
    ACC2 total = group_sum2((ACC2)(SUM_OF(rz), SUM_OF(rr)), lane);
    if (get_local_id(0) == 0 && go_on) part[get_group_id(0)] = total;
}

#endif

#ifdef ANYWHERE // ---- making one ----

#ifdef VARIABLE
// Upper faces from the cells: weight times the harmonic mean of the cells on both sides; at a high
// side that does not wrap the cell's own coefficient.
#define HARMONIC(k, l)  ((ACC)2 / ((ACC)1 / (k) + (ACC)1 / (l)))
#define UPPER_FACE(inside, step, wrap, side)                                      \
    ((inside)             ? HARMONIC((ACC)kappa[i], (ACC)kappa[i + (step)])       \
     : (side) == PERIODIC ? HARMONIC((ACC)kappa[i], (ACC)kappa[i - (wrap)])       \
                          : (ACC)kappa[i])
kernel void stencil_faces(int nx, int ny, int nz, ACC ax, ACC ay, ACC az,
                          global const REAL *restrict kappa, global REAL *restrict fx,
                          global REAL *restrict fy, global REAL *restrict fz)
{
    const int plane = nx * ny;
    FOR_EACH(point, (long)plane * nz)
    {
        const int i = (int)point, ix = i % nx, iy = i / nx % ny, iz = i / plane;
        fx[i] = (REAL)(ax * UPPER_FACE(ix < nx - 1, 1, nx - 1, XH));
        fy[i] = (REAL)(ay * UPPER_FACE(iy < ny - 1, nx, plane - nx, YH));
#if AXES == 3
        fz[i] = (REAL)(az * UPPER_FACE(iz < nz - 1, plane, plane * nz - plane, ZH));
#endif
    }
}
#endif

// b += weight (times the cell's coefficient) times given, for the `count` points of a side: from
// `first` on, `across` of them `step` apart, then the next such row `stride` further.
kernel void stencil_side(int count, int first, int across, int step, int stride, ACC weight,
                         global const REAL *restrict given, global REAL *restrict b, long b0
#ifdef VARIABLE
                         , int by_cell, global const REAL *restrict kappa
#endif
)
{
    b += b0;
    FOR_EACH(j, count)
    {
        const int i = first + (int)j % across * step + (int)j / across * stride;
        ACC f = weight;
#ifdef VARIABLE
        if (by_cell) f *= (ACC)kappa[i];
#endif
        b[i] += (REAL)(f * (ACC)given[j]);
    }
}

#endif

#endif

#endif // X_IMAGE
