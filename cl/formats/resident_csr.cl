// resident_csr.cl - conjugate gradients in one kernel with a matrix stored by rows, none of which is longer than a run (csr.cl).

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"

#ifndef OFFSET
#define OFFSET int
#endif
#ifndef UNROLL
#define UNROLL 4 // or 8, as src/matrix/csr.c says
#endif
#define TILE (UNROLL * WG)

#define FORMAT csr
#define MATRIX                                                                            \
    int work, global const int *restrict block, global const OFFSET *restrict row_ptr,    \
        global const int *restrict col, int long_rows, int flux, global const OFFSET *cut, \
        global REAL *partial, global const VAL *restrict val

#ifdef KRY_CPU

#define ADD_ENTRY(sum, k, GET) sum += (SUM)val[k] * FROM_OWN((SUM)GET(col[k]));
// four sums, so that an entry does not wait for the one before it
#define ADD_FOURS(GET)                      \
    if (long_rows && k_end - k >= long_rows) { \
        SUM sum1 = 0, sum2 = 0, sum3 = 0;   \
        for (; k + 3 < k_end; k += 4) {     \
            ADD_ENTRY(sum, k, GET)          \
            ADD_ENTRY(sum1, k + 1, GET)     \
            ADD_ENTRY(sum2, k + 2, GET)     \
            ADD_ENTRY(sum3, k + 3, GET)     \
        }                                   \
        sum = (sum + sum2) + (sum1 + sum3); \
    }

#define MATRIX_LOCALS
#define MATRIX_ROWS(GET, DO)                                          \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0)) { \
        OFFSET k = row_ptr[block[b]];                                 \
        for (int row = block[b]; row < block[b + 1]; row++) {         \
            OFFSET k_end = row_ptr[row + 1];                          \
            SUM sum = 0;                                              \
            OWN(row, GET)                                             \
            ADD_FOURS(GET)                                            \
            for (; k < k_end; k++) ADD_ENTRY(sum, k, GET)             \
            DO(row, sum)                                              \
        }                                                             \
    }

#else

#define MATRIX_LOCALS     \
    local SUM tile[TILE]; \
    local SUM lane_sum[WG];

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

#define ADD_ENTRIES(GET) \
    for (int k = from + lane_of_row; k < to; k += lanes) sum += tile[k];

#ifdef FLUX

// Which row an entry is of, and so what to subtract, is only known where rows are walked: each puts
// its x_i where its products will be.
#define SPREAD_OWN(GET)                                                         \
    for (int base = 0; base < rows; base += WG / lanes) {                       \
        int mine = base + l / lanes, row = first + mine;                        \
        if (mine < rows) {                                                      \
            int to = (int)(row_ptr[row + 1] - begin);                               \
            SUM own = (SUM)GET(row);                                            \
            for (int k = (int)(row_ptr[row] - begin) + (l & (lanes - 1)); k < to; k += lanes) \
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

// Add up the rows of run b, whose products are in the tile. FIND_ENTRIES: where those of `row` stand.
#define SUM_RUN(b, GET, DO, FIND_ENTRIES)                                          \
    for (int base = 0; base < rows; base += ROW_LANES / lanes) {                   \
        int mine = base + ROW_LANE_OF(l) / lanes, lane_of_row = ROW_LANE_OF(l) & (lanes - 1); \
        int from = 0, to = 0, row = first + mine;                                  \
        FIND_ENTRIES                                                               \
        SUM sum = 0;                                                               \
        ADD_ENTRIES(GET)                                                           \
        sum = over_lanes(sum, lanes, lane_sum);                                    \
        if (mine < rows && lane_of_row == 0) { DO(row, sum) }           \
    }
#define FROM_OFFSETS                                                               \
    if (mine < rows) {                                                             \
        from = (int)(row_ptr[row] - begin);                                      \
        to = (int)(row_ptr[row + 1] - begin);                                          \
    }

#define MATRIX_ROWS(GET, DO)                                                       \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0)) {              \
        int l = get_local_id(0), first = block[b];                             \
        int rows = block[b + 1] - first;                     \
        OFFSET begin = row_ptr[first];                                                     \
        int count = (int)(row_ptr[first + rows] - begin), lanes = lanes_per_row(rows);        \
        STAGE_TILE(GET)                                                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                              \
        SUM_RUN(b, GET, DO, FROM_OFFSETS)                                          \
        barrier(CLK_LOCAL_MEM_FENCE); /* the next run overwrites the tile */       \
    }

#endif

// Keep the entries of a row, HELD at most.
#define HOLD_ROW(at, row, there)                                                   \
    const OFFSET begin = row_ptr[row];                                             \
    const int count = there ? (int)(row_ptr[row + 1] - begin) : 0;                 \
    UNROLLED for (int u = 0; u < HELD; u++) { HOLD(u < count, col[begin + u], begin + u) }

#include "formats/resident_matrix.clh"
