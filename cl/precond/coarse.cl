// coarse.cl - c := G w, G the dense inverse of a coarse matrix, symmetric, for `vectors` columns of w and of c, w_pitch
// and c_pitch apart.
// Host: src/precond/dense_inverse.c.
//
// VECTORS   GPUs, of coarse_product: `vectors` at most, for each of which a work-item has sums; 1 unless defined. The
//           last column stands in for those that there are not. On CPUs a row of G meets one after the other.
// Full    G: k rows, `stride` numbers apart, a multiple of VW, with zeros behind the k-th.
//         coarse_product  GPUs, a group of WG for each row, summed by strides of WG vectors, then
//                         by a tree; CPUs, any number of groups, a chunk of rows each
// Packed  G: the tiles (I, J), J <= I, of 64 x 64 numbers, by rows, each by rows; what lies past
//         the k-th row and column is zero. blocks: rows of tiles, k / 64 rounded up. GPUs only.
//         coarse_tiles    a group of 128 for each tile: T w_J and T'w_I, 64 numbers each, to
//                         part[I][J] and part[J][I]
//         coarse_add      c_I := sum over J of part[I][J]; a group of 128 for 8 VW numbers of c

#include "common/kry.clh"

#ifndef VECTORS
#define VECTORS 1
#endif
#define EACH_OF_VECTORS UNROLLED for (int v = 0; v < VECTORS; v++)

kernel void coarse_product(long k, long stride, global const REAL *restrict G, int vectors,
                           global const REAL *restrict w, long w0, long w_pitch,
                           global REAL *restrict c, long c0, long c_pitch)
{
    w += w0, c += c0;
#ifdef KRY_CPU
    FOR_EACH(row, k)
    {
        global const REAL *g = G + row * stride;
        for (int v = 0; v < vectors; v++) {
            global const REAL *w_v = w + v * w_pitch;
            VEC s = 0;
            REAL t = 0;
            for (long i = 0; i < k / VW; i++) s += load_vector(g, i) * load_vector(w_v, i);
            for (long i = k / VW * VW; i < k; i++) t += g[i] * w_v[i];
            c[v * c_pitch + row] = LANES_SUM(s) + t;
        }
    }
#else
    local REAL lane[VECTORS * WG];
    int l = get_local_id(0);
    long row = get_group_id(0), at[VECTORS];
    VEC s[VECTORS];
    REAL t[VECTORS];
    EACH_OF_VECTORS at[v] = min(v, vectors - 1) * w_pitch, s[v] = 0, t[v] = 0;
    G += row * stride;
    for (long i = l; i < k / VW; i += WG) {
        const VEC g = ((global const VEC *)G)[i];
        EACH_OF_VECTORS s[v] += g * load_vector(w + at[v], i);
    }
    for (long i = k / VW * VW + l; i < k; i += WG) {
        EACH_OF_VECTORS t[v] += G[i] * w[at[v] + i];
    }
    EACH_OF_VECTORS lane[v * WG + l] = LANES_SUM(s[v]) + t[v];
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) {
            EACH_OF_VECTORS lane[v * WG + l] += lane[v * WG + l + step];
        }
    }
    if (l == 0) {
        EACH_OF_VECTORS if (v < vectors) c[v * c_pitch + row] = lane[v * WG];
    }
#endif
}

#ifndef KRY_CPU
#define TILE   64
#define GROUP  128
#define IN_ROW (TILE / VW) // vectors in a row of a tile

// A work-item's part of a tile: VECS vectors in each of ROWS rows, AT_ONCE of them on their way before
// the first is used; 16 x 8 work-items, so that a warp reads whole lines.
#define ACROSS 16
#define DOWN   (GROUP / ACROSS)
#define ROWS   (TILE / DOWN)
#define VECS   (IN_ROW / ACROSS)
#ifdef FEW_REGISTERS
#define AT_ONCE (ROWS / 4) // rows that are on their way
#else
#define AT_ONCE ROWS
#endif
#define PITCH  (TILE + VW / 2) // of sums in local memory: a warp's lie in different banks

kernel void coarse_tiles(int blocks, long k, global const REAL *restrict G, int vectors,
                         global const REAL *restrict w, long w0, long w_pitch, global REAL *restrict part,
                         long part_pitch)
{
    local VEC ends[2 * IN_ROW], columns[DOWN * IN_ROW]; // w_I and w_J; sums for T'w_I
    local REAL rows[ACROSS * PITCH];                    // sums for T w_J
    local REAL *wi = (local REAL *)ends;
    VEC t[AT_ONCE * VECS], wj[VECS], s[VECS];
    int l = get_local_id(0), x = l % ACROSS, y = l / ACROSS;

    // The q-th row of tiles and the q-th from the end are blocks + 1 tiles together.
    int q = (int)get_group_id(0) / (blocks + 1), at = (int)get_group_id(0) % (blocks + 1);
    int I = at < blocks - q ? blocks - 1 - q : q;
    int J = at < blocks - q ? at : at - (blocks - q);

    global const VEC *T = (global const VEC *)G + ((long)I * (I + 1) / 2 + J) * (TILE * IN_ROW);
#define LOAD_ROWS(first)                                \
    UNROLLED for (int r = 0; r < AT_ONCE; r++)          \
        UNROLLED for (int v = 0; v < VECS; v++)         \
            t[r * VECS + v] = T[((first + r) * DOWN + y) * IN_ROW + v * ACROSS + x];
    LOAD_ROWS(0)
    const long i = (long)(l < TILE ? I : J) * TILE + l % TILE;
    w += w0;
    int c = 0;
    NOT_UNROLLED while (true)
    {
        wi[l] = i < k ? w[c * w_pitch + i] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
        for (int v = 0; v < VECS; v++) wj[v] = ends[IN_ROW + v * ACROSS + x], s[v] = 0;
        int first = 0;
        NOT_UNROLLED while (true)
        {
            UNROLLED for (int r = 0; r < AT_ONCE; r++)
            {
                VEC p = 0;
                UNROLLED for (int v = 0; v < VECS; v++)
                {
                    p += t[r * VECS + v] * wj[v];
                    s[v] += t[r * VECS + v] * wi[(first + r) * DOWN + y];
                }
                rows[x * PITCH + (first + r) * DOWN + y] = LANES_SUM(p);
            }
            first += AT_ONCE;
            if (first >= ROWS) break;
            LOAD_ROWS(first)
        }
#pragma unroll
        for (int v = 0; v < VECS; v++) columns[y * IN_ROW + v * ACROSS + x] = s[v];
        barrier(CLK_LOCAL_MEM_FENCE);

        REAL sum = 0;
        if (l < TILE) {
            for (int a = 0; a < ACROSS; a++) sum += rows[a * PITCH + l];
            part[((long)I * blocks + J) * TILE + l] = sum;
        } else if (I != J) {
            for (int d = 0; d < DOWN; d++) sum += ((local REAL *)columns)[d * TILE + l - TILE];
            part[((long)J * blocks + I) * TILE + l - TILE] = sum;
        }
        if (++c >= vectors) break;
        part += part_pitch;
        if (AT_ONCE < ROWS) {
            LOAD_ROWS(0)
        }
    }
}

#define ADD_ACROSS 8 // vectors
#define ADD_DOWN   (GROUP / ADD_ACROSS)
#define SLICES     (IN_ROW / ADD_ACROSS) // groups for a row of tiles

// Launch: for each of several columns.
kernel void coarse_add(int blocks, long k, global const REAL *restrict part, long part_pitch,
                       global REAL *restrict c, long c0, long c_pitch)
{
    local VEC lane[GROUP];
    int l = get_local_id(0), x = l % ADD_ACROSS;
    int I = (int)get_group_id(0) / SLICES, slice = (int)get_group_id(0) % SLICES;
    global const VEC *p =
        (global const VEC *)(part + COLUMN_HERE * part_pitch) + (long)I * blocks * IN_ROW +
        slice * ADD_ACROSS + x;
    VEC s = 0;
    int J = l / ADD_ACROSS;

    for (; J + 3 * ADD_DOWN < blocks; J += 4 * ADD_DOWN) // four loads under way
        s += (p[J * IN_ROW] + p[(J + ADD_DOWN) * IN_ROW]) +
             (p[(J + 2 * ADD_DOWN) * IN_ROW] + p[(J + 3 * ADD_DOWN) * IN_ROW]);
    for (; J < blocks; J += ADD_DOWN) s += p[J * IN_ROW];
    lane[l] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    long row = (long)I * TILE + slice * (ADD_ACROSS * VW) + l;
    if (l < ADD_ACROSS * VW && row < k) {
        REAL sum = 0;
        for (int d = 0; d < ADD_DOWN; d++)
            sum += ((local const REAL *)lane)[d * (ADD_ACROSS * VW) + l];
        c[c0 + COLUMN_HERE * c_pitch + row] = sum;
    }
}
#endif
