// csr.cl - compressed sparse rows.
// Host: src/matrix/csr.c.
//
// row_ptr (OFFSET: int or long) has rows+1 entries, col and val nnz. `block` cuts the rows into
// `work` runs of consecutive rows, block[0] = 0 ... block[work] = rows:
//   CPU   one run per group, equal in work; a plain loop over each row, with LONG_ROWS four sums in rows of so many
//         entries and more
//   GPU   runs of at most TILE = UNROLL * WG entries. A group loads a run's entries side by side,
//         whatever the row lengths, UNROLL to a work-item at once so that enough bytes are in
//         flight, and puts the products in local memory; then as many lanes as there are to spare
//         for each row add them up: one for short rows, the whole group for one that fills the run.
// SPLIT: rows too long for a run are cut into several. Run b begins at entry cut[b]; a negative
// block[b] says that it begins inside a row. Its sum goes to partial[b], and split.cl adds it to
// the row, of which the first run took care here. So no run has more work than another, whatever
// the lengths of rows, and the order of summation depends only on the pattern.
//
// After J. L. Greathouse, M. Daga, Efficient sparse matrix-vector multiplication on GPUs using
// the CSR storage format, SC14 (2014); the split as in D. Merrill, M. Garland, Merge-based
// parallel sparse matrix-vector multiplication, SC16 (2016), but found once, on the host.

#pragma once
#include "kry.clh"

#ifndef OFFSET
#define OFFSET int
#endif
#ifndef UNROLL
#define UNROLL 4 // or 8, as kry_csr_unroll of src/matrix/csr.c says
#endif
#define TILE (UNROLL * WG)

#define FORMAT csr
#ifdef SPLIT
#define MATRIX                                                                                \
    int work, global const int *restrict block, global const OFFSET *restrict row_ptr,        \
        global const int *restrict col, global const OFFSET *restrict cut,                    \
        global SUM *restrict partial, global const VAL *restrict val
#define FIRST_ROW(b)  (block[b] & 0x7fffffff)
#define IN_A_ROW(b)   (block[b] < 0)
#define CUT(b)        cut[b]
#define RUN_END(b)    cut[(b) + 1]
#define ROW_BEGIN(i)  max(row_ptr[i], begin)
#define ROW_END(i)    min(row_ptr[(i) + 1], RUN_END(b))
#define FINISH(b, row, sum, DO)                     \
    if (IN_A_ROW(b) && row == FIRST_ROW(b)) {       \
        partial[b] = sum;                           \
    } else {                                        \
        DO(row, sum)                                \
    }
#else
#define MATRIX                                                                         \
    int work, global const int *restrict block, global const OFFSET *restrict row_ptr, \
        global const int *restrict col, global const VAL *restrict val
#define FIRST_ROW(b)  block[b]
#define IN_A_ROW(b)   0
#define CUT(b)        row_ptr[block[b]]
#define RUN_END(b)    row_ptr[first + rows]
#define ROW_BEGIN(i)  row_ptr[i]
#define ROW_END(i)    row_ptr[(i) + 1]
#define FINISH(b, row, sum, DO) DO(row, sum)
#endif

#ifdef KRY_CPU

#define ADD_ENTRY(sum, k, GET) sum += (SUM)val[k] * FROM_OWN((SUM)GET(col[k]));
#ifdef LONG_ROWS // four sums, so that an entry does not wait for the one before it
#define ADD_FOURS(GET)                      \
    if (k_end - k >= LONG_ROWS) {           \
        SUM sum1 = 0, sum2 = 0, sum3 = 0;   \
        for (; k + 3 < k_end; k += 4) {     \
            ADD_ENTRY(sum, k, GET)          \
            ADD_ENTRY(sum1, k + 1, GET)     \
            ADD_ENTRY(sum2, k + 2, GET)     \
            ADD_ENTRY(sum3, k + 3, GET)     \
        }                                   \
        sum = (sum + sum2) + (sum1 + sum3); \
    }
#else
#define ADD_FOURS(GET)
#endif

#define MATRIX_LOCALS
#define MATRIX_ROWS(GET, DO)                                          \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0)) { \
        int row = FIRST_ROW(b), row_end = FIRST_ROW(b + 1) + IN_A_ROW(b + 1); \
        OFFSET k = CUT(b), end = CUT(b + 1);                          \
        for (; row < row_end; row++) {                                \
            OFFSET k_end = min(row_ptr[row + 1], end);                \
            SUM sum = 0;                                              \
            OWN(row, GET)                                             \
            ADD_FOURS(GET)                                                \
            for (; k < k_end; k++) ADD_ENTRY(sum, k, GET)                 \
            FINISH(b, row, sum, DO)                                   \
        }                                                             \
    }

#else

#ifdef AT_ONCE
#define MATRIX_LOCALS          \
    local VAL tile_val[TILE];  \
    local int tile_col[TILE];  \
    local SUM lane_sum[WG];
#else
#define MATRIX_LOCALS     \
    local SUM tile[TILE]; \
    local SUM lane_sum[WG];
#endif

// Lanes that share a row: the largest power of two that gives every row of a run its share. A run may be
// empty.
int lanes_per_row(int rows)
{
    int lanes = 1;
    while (lanes < ROW_LANES && 2 * lanes * rows <= ROW_LANES) lanes *= 2;
    return lanes;
}

// Add up what the lanes of a row have. Only lane 0 of each row has the answer.
SUM over_lanes(SUM sum, int lanes, local SUM *lane_sum)
{
    int l = get_local_id(0), lane_of_row = ROW_LANE_OF(l) & (lanes - 1);
    for (int step = lanes / 2; step > 0; step /= 2) {
        lane_sum[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane_of_row < step) sum += lane_sum[l + step * ROW_LANE_STEP];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sum;
}

#define FOUR(X, GET) X(0, GET) X(1, GET) X(2, GET) X(3, GET)
#if UNROLL == 8
#define EACH(X, GET) FOUR(X, GET) X(4, GET) X(5, GET) X(6, GET) X(7, GET)
#else
#define EACH(X, GET) FOUR(X, GET)
#endif

#ifdef AT_ONCE

// A tile of products with all vectors would be too large: it has the entries themselves.
#define LOAD_ENTRY(u, GET)                            \
    OFFSET k##u = begin + min(l + u * WG, count - 1); \
    int col##u = col[k##u];                           \
    VAL val##u = val[k##u];
#define STORE_ENTRY(u, GET) tile_col[l + u * WG] = col##u, tile_val[l + u * WG] = val##u;
#define STAGE_TILE(GET)           \
    if (count > 0) {              \
        EACH(LOAD_ENTRY, GET)     \
        EACH(STORE_ENTRY, GET)    \
    }
#define FETCH(u, GET) SUM x##u = FROM_OWN((SUM)GET(tile_col[k + u * lanes]));
#define ADD_ENTRY(u, GET) sum += (SUM)tile_val[k + u * lanes] * x##u;
#define ADD_ENTRIES(GET)                                                \
    if (from < to) {                                                    \
        int k = from + lane_of_row;                                     \
        OWN(row, GET)                                                   \
        for (; k + 3 * lanes < to; k += 4 * lanes) {                    \
            FOUR(FETCH, GET)                                            \
            FOUR(ADD_ENTRY, GET)                                        \
        }                                                               \
        for (; k < to; k += lanes) {                                    \
            FETCH(0, GET)                                               \
            ADD_ENTRY(0, GET)                                           \
        }                                                               \
    }

#else

#define ADD_ENTRIES(GET) \
    for (int k = from + lane_of_row; k < to; k += lanes) sum += tile[k];

#ifdef FLUX

// Which row an entry is of, and so what to subtract, is only known where rows are walked: each puts
// its x_i where its products will be.
#define SPREAD_OWN(GET)                                                         \
    for (int base = 0; base < rows; base += WG / lanes) {                       \
        int mine = base + l / lanes, row = first + mine;                        \
        if (mine < rows) {                                                      \
            int to = (int)(ROW_END(row) - begin);                               \
            SUM own = (SUM)GET(row);                                            \
            for (int k = (int)(ROW_BEGIN(row) - begin) + (l & (lanes - 1)); k < to; k += lanes) \
                tile[k] = own;                                                  \
        }                                                                       \
    }
#define LOAD_ENTRY(u, GET)                                             \
    OFFSET k##u = count > 0 ? begin + min(l + u * WG, count - 1) : 0;  \
    int col##u = col[k##u];                                            \
    SUM val##u = val[k##u];
#define FETCH_ENTRY(u, GET) SUM x##u = (SUM)GET(col##u);
#define STORE_ENTRY(u, GET) \
    if (l + u * WG < count) tile[l + u * WG] = val##u * (x##u - tile[l + u * WG]);

// All loads first, then all gathers, and meanwhile the rows. There is an entry at 0: no matrix
// without any has a flux form.
#define STAGE_TILE(GET)           \
    EACH(LOAD_ENTRY, GET)         \
    EACH(FETCH_ENTRY, GET)        \
    SPREAD_OWN(GET)               \
    barrier(CLK_LOCAL_MEM_FENCE); \
    EACH(STORE_ENTRY, GET)

#else

#define LOAD_ENTRY(u, GET)                          \
    OFFSET k##u = begin + min(l + u * WG, count - 1); \
    int col##u = col[k##u];                         \
    SUM val##u = val[k##u];
#define MULTIPLY_ENTRY(u, GET) val##u *= (SUM)GET(col##u);
#define STORE_ENTRY(u, GET) \
    if (l + u * WG < count) tile[l + u * WG] = val##u;

// All loads first, then all gathers, then all stores.
#define STAGE_TILE(GET)           \
    if (count > 0) {              \
        EACH(LOAD_ENTRY, GET)     \
        EACH(MULTIPLY_ENTRY, GET) \
        EACH(STORE_ENTRY, GET)    \
    }

#endif
#endif

// Add up the rows of run b, whose products are in the tile. FIND_ENTRIES: where those of `row` stand.
#define SUM_RUN(b, GET, DO, FIND_ENTRIES)                                          \
    for (int base = 0; base < rows; base += ROW_LANES / lanes) {                   \
        int mine = base + ROW_LANE_OF(l) / lanes, lane_of_row = ROW_LANE_OF(l) & (lanes - 1); \
        int from = 0, to = 0, row = first + mine;                                  \
        FIND_ENTRIES                                                               \
        SUM sum = 0;                                                               \
        ADD_ENTRIES(GET)                                                           \
        sum = over_lanes(sum, lanes, lane_sum);                                    \
        if (mine < rows && lane_of_row == 0) { FINISH(b, row, sum, DO) }           \
    }
#define FROM_OFFSETS                                                               \
    if (mine < rows) {                                                             \
        from = (int)(ROW_BEGIN(row) - begin);                                      \
        to = (int)(ROW_END(row) - begin);                                          \
    }

#define MATRIX_ROWS(GET, DO)                                                       \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0)) {              \
        int l = get_local_id(0), first = FIRST_ROW(b);                             \
        int rows = FIRST_ROW(b + 1) - first + IN_A_ROW(b + 1);                     \
        OFFSET begin = CUT(b);                                                     \
        int count = (int)(RUN_END(b) - begin), lanes = lanes_per_row(rows);        \
        STAGE_TILE(GET)                                                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                              \
        SUM_RUN(b, GET, DO, FROM_OFFSETS)                                          \
        barrier(CLK_LOCAL_MEM_FENCE); /* the next run overwrites the tile */       \
    }

#endif

#ifdef PER // persistent kernels take the loop over rows alone

// Keep the entries of a row, HELD at most.
#define HOLD_ROW(at, row, there)                                                   \
    const OFFSET begin = row_ptr[row];                                             \
    const int count = there ? (int)(row_ptr[row + 1] - begin) : 0;                 \
    UNROLLED for (int u = 0; u < HELD; u++) { HOLD(u < count, col[begin + u], begin + u) }

#else

#pragma kry part diagonal

// d := diagonal; entries of a row may stand in any order.
kernel void csr_diagonal(long rows, global const OFFSET *restrict row_ptr,
                         global const int *restrict col, global const VAL *restrict val,
                         global REAL *restrict d, long d0)
{
    d += d0;
    FOR_EACH(row, rows)
    {
        REAL v = 0;
        for (OFFSET k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            if (col[k] == row) v += val[k];
        d[row] = v;
    }
}

#pragma kry part runs

// ---- the runs of a matrix whose offsets only the device has; it has no row longer than a run ----

// found[0] := the length of the longest row.
kernel void csr_longest(int rows, global const int *restrict row_ptr, global int *found)
{
    int longest = 0;
    FOR_EACH(row, rows) longest = max(longest, row_ptr[row + 1] - row_ptr[row]);
    if (longest > found[0]) atomic_max(&found[0], longest);
}

// block[b]: the first row before which there are b * share entries and eighths of rows.
kernel void csr_runs(int runs, int rows, int share, global const int *restrict row_ptr,
                     global int *restrict first)
{
    FOR_EACH(b, runs + 1)
    {
        int from = 0, to = rows;
        while (from < to && b < runs) {
            int middle = from + (to - from) / 2;
            if (row_ptr[middle] + (long)(middle / 8) < b * share)
                from = middle + 1;
            else
                to = middle;
        }
        first[b] = b < runs ? from : rows;
    }
}

#pragma kry end

#endif

#include "product.clh"
