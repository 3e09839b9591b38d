// akhtar_stream.cl - a Jacobi sweep that moves two words for a point: each number is read once and
// stays near until its six neighbours have had it.
// Host: papers/akhtar/jacobi_march.c.
//
// The box with its sides is one array: point (i, j, k), -1 <= i <= nx and so on, is number
// first + i + pitch (j + (ny + 2) k); `first` and `pitch` are multiples of 128 bytes on GPUs.
//   GPU   groups of TX x TY work-items, VW points along x each, march `depth` slices along z with
//         the slices below, here, above and the next in registers; neighbours along x and y
//         come from L1
//   CPU   rows by vectors, `depth` of them for each slice, so that three slices stay in the cache

#include "common/kry.clh"
#include "papers/mean.clh"

#define BOX int nx, int ny, int nz, int pitch, long first

// The points alone, without what is around them: into the array, and out of it.
#define EACH_POINT(DO)                                                            \
    FOR_EACH(p, (long)nx * ny * nz)                                               \
    {                                                                             \
        const int row = (int)p / nx, j = row % ny, k = row / ny;                  \
        const long at = first + (int)p % nx + pitch * (j + (long)(ny + 2) * k);   \
        DO                                                                        \
    }

kernel void akhtar_pad(BOX, global const REAL *restrict points, global REAL *restrict w)
{
    EACH_POINT(w[at] = points[p];)
}

kernel void akhtar_unpad(BOX, global const REAL *restrict w, global REAL *restrict points)
{
    EACH_POINT(points[p] = w[at];)
}

#ifndef KRY_CPU

#define LOAD(p) (*(global const VEC *)(p))
#if VW == 2
#define X_LOW(at, v)  (VEC)((at)[-1], (v).s0)
#define X_HIGH(at, v) (VEC)((v).s1, (at)[VW])
#define LANES         (long2)(0, 1)
#define MASK          long2
#else
#define X_LOW(at, v)  (VEC)((at)[-1], (v).s0, (v).s1, (v).s2)
#define X_HIGH(at, v) (VEC)((v).s1, (v).s2, (v).s3, (at)[VW])
#define LANES         (int4)(0, 1, 2, 3)
#define MASK          int4
#endif

kernel void akhtar_stream(BOX, int depth, global const REAL *restrict w,
                           global REAL *restrict next)
{
    int tiles_x = (nx + TX * VW - 1) / (TX * VW), tiles_y = (ny + TY - 1) / TY;
    int tiles = tiles_x * tiles_y * ((nz + depth - 1) / depth);
    long slab = (long)pitch * (ny + 2);
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        int i = (tile % tiles_x * TX + (int)get_local_id(0) % TX) * VW;
        int j = tile / tiles_x % tiles_y * TY + (int)get_local_id(0) / TX;
        int k = tile / tiles_x / tiles_y * depth, end = min(k + depth, nz);
        if (i >= nx || j >= ny) continue; // there are no barriers
        long at = first + i + (long)pitch * j + slab * k;
        MASK inside = LANES < (MASK)(nx - i);
        VEC below = LOAD(w + at - slab), here = LOAD(w + at), above = LOAD(w + at + slab);
#pragma unroll 4
        for (; k < end; k++) {
            VEC ahead = LOAD(w + at + (k + 1 < end ? 2 * slab : slab));
            VEC mean = MEANS(X_LOW(w + at, here), X_HIGH(w + at, here), LOAD(w + at - pitch),
                            LOAD(w + at + pitch), below, above);
            *(global VEC *)(next + at) = select(here, mean, inside); // beyond nx: as it was
            below = here, here = above, above = ahead, at += slab;
        }
    }
}

#else

#define NEAR(offset) vload8(0, at + i + (offset))

kernel void akhtar_stream(BOX, int depth, global const REAL *restrict w,
                           global REAL *restrict next)
{
    long slab = (long)pitch * (ny + 2);
    int strips = (ny + depth - 1) / depth, end = chunk_at((long)strips * nz, GROUP_HERE + 1);
    for (int piece = chunk_at((long)strips * nz, GROUP_HERE); piece < end; piece++) {
        int j0 = piece / nz * depth, j1 = min(j0 + depth, ny);
        long start = first + (long)pitch * j0 + slab * (piece % nz);
        for (int j = j0; j < j1; j++, start += pitch) {
            global const REAL *at = w + start;
            global REAL *to = next + start;
            int i = 0;
            for (; i + VW <= nx; i += VW)
                vstore8(MEANS(NEAR(-1), NEAR(1), NEAR(-pitch), NEAR(pitch), NEAR(-slab), NEAR(slab)),
                        0, to + i);
            for (; i < nx; i++)
                to[i] = MEAN(at[i - 1], at[i + 1], at[i - pitch], at[i + pitch], at[i - slab],
                             at[i + slab]);
        }
    }
}

#endif
