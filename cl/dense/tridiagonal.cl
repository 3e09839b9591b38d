// tridiagonal.cl - many tridiagonal systems without pivoting, on GPUs. Host: src/dense/batch_levels.c. Tiles, rows
// and checks are those of tridiagonal.clh.
//
//   tridiagonal_reduce  reduces tiles of systems to two equations each
//   tridiagonal_solve   solves tiles, given the unknowns on both sides of each
//
// A group takes a tile of S systems, with T work-items for each system, and each work-item keeps M
// consecutive rows, its chunk, in registers. A group reads and writes each number once, in the order of
// memory; local memory brings the numbers to their work-items.
//
// M, GROUP  rows of a chunk, a multiple of 4; work-items of a group
// VECTORS   every system is one tile, its rows are contiguous, and all offsets are multiples of four

#include "common/kry.clh"
#include "dense/tridiagonal.clh"

#define SHAPE_PARAMS int S, int T, int by_system, long first_block

// The tile of this group. System number `mine` of the group is that of this work-item, which is number t there.
// There are `here` systems: fewer than S in the last group.
#define TAKE_TILE                                                                          \
    const int l = get_local_id(0), mine = l / T, t = l % T;                                \
    const long block = first_block + get_group_id(0), blocks = (systems + S - 1) / S;      \
    const long tile = by_system ? block / blocks : block % tiles;                          \
    const long s0 = (by_system ? block % blocks : block / tiles) * S;                      \
    const long begin = tile_begin(tile, n, tiles);                                         \
    const int rows = (int)(tile_begin(tile + 1, n, tiles) - begin);                        \
    const int here = (int)min((long)S, systems - s0);                                      \
    const int wrap = by_system ? INT_MAX : rows;                                           \
    const int jump = by_system ? GROUP / S : GROUP % rows, skip = by_system ? 0 : GROUP / rows;

// Walk over the numbers of the tile in the order of memory: DO with row i of the group's system j as number k
// of this work-item.
#define WALK(DO)                                                                \
    {                                                                           \
        int i = by_system ? l / S : l % rows, j = by_system ? l % S : l / rows; \
        UNROLLED for (int k = 0; k < M; k++)                                    \
        {                                                                       \
            if (i < rows && j < here) { DO }                                    \
            i += jump, j += skip;                                               \
            if (i >= wrap) i -= wrap, j++;                                      \
        }                                                                       \
    }

// Where row i of the group's system j is kept in local memory. Chunks are M + 1 numbers apart, an odd
// distance, so that work-items do not read from the same bank.
#define PLACE(i, j) ((j)*T * M + (i) + ((j)*T * M + (i)) / M + (j))

// Redistribute v, which was read in the order of memory: v[k] becomes row start + k of this work-item.
#define TO_CHUNKS(v, rest)               \
    barrier(CLK_LOCAL_MEM_FENCE);        \
    WALK(box[PLACE(i, j)] = v[k];)       \
    barrier(CLK_LOCAL_MEM_FENCE);        \
    UNROLLED for (int k = 0; k < M; k++) \
        v[k] = k < count ? box[PLACE(start + k, mine)] : (rest);

#ifdef VECTORS
// Each work-item reads its chunk from memory, four numbers at a time.
#define LOAD_CHUNK(v, from, rest)                                                     \
    UNROLLED for (int k = 0; k < M; k += 4)                                           \
    {                                                                                 \
        REAL4 four = k < count ? *(global const REAL4 *)((from) + k) : (REAL4)(rest); \
        v[k] = four.x, v[k + 1] = four.y, v[k + 2] = four.z, v[k + 3] = four.w;       \
    }
#define LOAD_CHUNKS                                                                            \
    REAL a[M], d[M], c[M], y[M];                                                               \
    const long m_chunk = (s0 + mine) * m_system + start, chunk = (s0 + mine) * system + start; \
    LOAD_CHUNK(a, lower + lower_first + m_chunk, 0)                                            \
    LOAD_CHUNK(d, diagonal + diagonal_first + m_chunk, 1)                                      \
    LOAD_CHUNK(c, upper + upper_first + m_chunk, 0)                                            \
    LOAD_CHUNK(y, b + b_first + chunk, 0)                                                      \
    if (start == 0 && !periodic) a[0] = 0;                                                     \
    UNROLLED for (int k = 3; k < M; k += 4) if (start + k == n - 1 && !periodic) c[k] = 0;
#define STORE_CHUNKS                                           \
    if (!bad[mine])                                            \
        UNROLLED for (int k = 0; k < M; k += 4) if (k < count) \
            *(global REAL4 *)(x + x_first + chunk + k) =       \
                (REAL4)(y[k], y[k + 1], y[k + 2], y[k + 3]);
#else
#define LOAD_CHUNKS                                                                    \
    REAL a[M], d[M], c[M], y[M];                                                       \
    WALK(long o = (begin + i) * m_row + (s0 + j) * m_system;                           \
         a[k] = begin + i == 0 && !periodic ? 0 : lower[lower_first + o];              \
         d[k] = diagonal[diagonal_first + o];                                          \
         c[k] = begin + i == n - 1 && !periodic ? 0 : upper[upper_first + o];          \
         y[k] = b[b_first + (begin + i) * row + (s0 + j) * system];)                   \
    TO_CHUNKS(a, 0)                                                                    \
    TO_CHUNKS(d, 1)                                                                    \
    TO_CHUNKS(c, 0)                                                                    \
    TO_CHUNKS(y, 0)
#define STORE_CHUNKS                                                                        \
    UNROLLED for (int k = 0; k < M; k++) if (k < count) box[PLACE(start + k, mine)] = y[k]; \
    barrier(CLK_LOCAL_MEM_FENCE);                                                           \
    WALK(if (!bad[j]) x[x_first + (begin + i) * row + (s0 + j) * system] = box[PLACE(i, j)];)
#endif

// Solve tiles. Each work-item reduces its chunk to one equation for the last unknown of the chunk; parallel
// cyclic reduction solves these equations.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
tridiagonal_solve(SYSTEMS_PARAMS, global REAL *x, long x_first, int bounded,
                  global const REAL *ends, long ends_first, long e_row, long e_system, SHAPE_PARAMS)
{
    local REAL box[GROUP * (M + 2)];
    local int bad[GROUP];
    TAKE_TILE
    const int start = t * M, count = mine < here ? clamp(rows - start, 0, M) : 0;
    LOAD_CHUNKS
    REAL total = 0, excess = 0, r;
    UNROLLED for (int k = 0; k < M; k++) CHECK_ROW(a[k], d[k], c[k], y[k])

    // The unknowns before and behind the tile are known
    if (bounded && count > 0) {
        global const REAL *end = ends + ends_first + (s0 + mine) * e_system;
        if (start == 0) {
            y[0] -= a[0] * end[(2 * tile - 1 + 2 * tiles) % (2 * tiles) * e_row];
            a[0] = 0;
        }
        REAL right = start + count == rows ? end[(2 * tile + 2) % (2 * tiles) * e_row] : 0;
        UNROLLED for (int k = 0; k < M; k++) if (start + k == rows - 1)
        {
            y[k] -= c[k] * right;
            c[k] = 0;
        }
    }

    // Of all rows but the last: x_k = y_k - a_k L - c_k x_k+1, L the last unknown of the chunk before; and
    // x_0 = D - A L - C x_k+1
    r = 1 / d[0];
    CHECK_INVERSE(r);
    a[0] *= r, c[0] *= r, y[0] *= r;
    REAL A = a[0], C = c[0], D = y[0];
    UNROLLED for (int k = 1; k < M - 1; k++)
    {
        r = 1 / (d[k] - a[k] * c[k - 1]);
        CHECK_INVERSE(r);
        y[k] = (y[k] - a[k] * y[k - 1]) * r;
        a[k] = -(a[k] * a[k - 1]) * r;
        c[k] *= r;
        A -= C * a[k], D -= C * y[k];
        C = -(C * c[k]);
    }
    // The last row, with x_0 of the next chunk
    barrier(CLK_LOCAL_MEM_FENCE);
    bad[l] = 0;
    box[l] = A, box[GROUP + l] = C, box[2 * GROUP + l] = D;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool next = mine < here && t + 1 < T;
    const REAL An = next ? box[l + 1] : 0, Cn = next ? box[GROUP + l + 1] : 0,
               Dn = next ? box[2 * GROUP + l + 1] : 0;
    r = 1 / (d[M - 1] - a[M - 1] * c[M - 2] - c[M - 1] * An);
    CHECK_INVERSE(r);
    REAL last = (y[M - 1] - a[M - 1] * y[M - 2] - c[M - 1] * Dn) * r;
    REAL below = -(a[M - 1] * a[M - 2]) * r, above = -(c[M - 1] * Cn) * r;
    barrier(CLK_LOCAL_MEM_FENCE);
    int step = 1, side = 0;
    do {
        local REAL *w = box + side * 3 * GROUP;
        w[l] = below, w[GROUP + l] = above, w[2 * GROUP + l] = last;
        barrier(CLK_LOCAL_MEM_FENCE);
        const bool down = mine < here && t >= step, up = mine < here && t + step < T;
        const REAL ad = down ? w[l - step] : 0, cd = down ? w[GROUP + l - step] : 0,
                   xd = down ? w[2 * GROUP + l - step] : 0;
        const REAL au = up ? w[l + step] : 0, cu = up ? w[GROUP + l + step] : 0,
                   xu = up ? w[2 * GROUP + l + step] : 0;
        r = 1 / (1 - below * cd - above * au);
        CHECK_INVERSE(r);
        last = (last - below * xd - above * xu) * r;
        below = -(below * ad) * r;
        above = -(above * cu) * r;
        step *= 2, side = 1 - side;
    } while (step < T);

    // The last unknown of the chunk before, and which systems failed a check
    barrier(CLK_LOCAL_MEM_FENCE);
    box[l] = last;
    if (count > 0 && IS_BAD(total, excess)) atomic_or(&bad[mine], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const REAL L = t > 0 ? box[l - 1] : 0;
    if (l < here) {
        if (bad[l]) mark(found, room, ticket, s0 + l);
        if (check && TICKET(s0 + l) == ticket) bad[l] = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    y[M - 1] = last;
    UNROLLED for (int k = M - 2; k >= 0; k--) y[k] -= a[k] * L + c[k] * y[k + 1];
    STORE_CHUNKS
}

#ifndef VECTORS

// Reduce tiles. Each work-item reduces its chunk to equations for the first and the last unknown; then
// neighbours join, two and two, until one pair of equations is left for the tile.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
tridiagonal_reduce(SYSTEMS_PARAMS, global REAL *ends, long ends_first, long e_size, long e_row,
                   long e_system, SHAPE_PARAMS)
{
    local REAL box[GROUP * (M + 2)];
    TAKE_TILE
    // If the last chunk had only one row, it takes another from its neighbour.
    const int chunks = (rows + M - 1) / M, lone = chunks > 1 && rows % M == 1;
    const int start = t * M - (lone && t == chunks - 1);
    const int most = lone && t == chunks - 2 ? M - 1 : M;
    const int count = mine < here && t < chunks ? min(rows - start, most) : 0;
    LOAD_CHUNKS
    REAL total = 0, excess = 0, r, ai, ci, di, B = d[0], C = c[0], D = y[0];
    UNROLLED for (int k = 0; k < M; k++) CHECK_ROW(a[k], d[k], c[k], y[k])
    ELIMINATE_FIRST(a[1], d[1], c[1], y[1])
    UNROLLED for (int k = 2; k < M; k++) if (k < count)
    {
        SUBSTITUTE
        ELIMINATE(a[k], d[k], c[k], y[k])
    }
    r = 1 / B;
    CHECK_INVERSE(r);
    REAL A = a[0] * r;
    C *= r, D *= r;

    local REAL *w = box + l;
    int step = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    do { // w: A, C, D of the first row, then of the last
        w[0] = A, w[GROUP] = C, w[2 * GROUP] = D;
        w[3 * GROUP] = ai, w[4 * GROUP] = ci, w[5 * GROUP] = di;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (count > 0 && t % (2 * step) == 0 && t + step < chunks) {
            const REAL A2 = w[step], C2 = w[GROUP + step], D2 = w[2 * GROUP + step],
                       a2 = w[3 * GROUP + step], c2 = w[4 * GROUP + step],
                       d2 = w[5 * GROUP + step];
            r = 1 / (1 - ci * A2); // eliminates the last unknown of one and the first of the other
            CHECK_INVERSE(r);
            const REAL left = 1 / (1 - C * ai * r), right = 1 / (1 - a2 * C2 * r);
            CHECK_INVERSE(left);
            CHECK_INVERSE(right);
            const REAL D1 = D, d1 = di, a1 = ai;
            A *= left;
            D = (D1 - C * (d1 - ci * D2) * r) * left;
            C = C * ci * C2 * r * left;
            ai = a2 * A2 * a1 * r * right;
            ci = c2 * right;
            di = (d2 - a2 * (D2 - A2 * d1) * r) * right;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        step *= 2;
    } while (step < T);
    if (count > 0 && IS_BAD(total, excess)) mark(found, room, ticket, s0 + mine);
    if (count > 0 && t == 0) {
        global REAL *e = ends + ends_first + 2 * tile * e_row + (s0 + mine) * e_system;
        e[0] = A, e[e_size] = 1, e[2 * e_size] = C, e[3 * e_size] = D;
        e += e_row;
        e[0] = ai, e[e_size] = 1, e[2 * e_size] = ci, e[3 * e_size] = di;
    }
}

#endif
