// coo.cl - entries with both their indices, sorted by row, added to what the rows hold.
// Host: src/matrix/coo.c.
//
// run[b] is where the b-th of `work` runs of entries begins, run[work] = how many there are. A run
// has whole rows, but a row too long for it is cut: ~entry instead of entry says that run b begins
// inside a row, whose sum goes to partial[b] for split.cl to add. Numbers start at val[val0].
//   CPU   one run per group
//   GPU   runs of at most TILE entries. A group puts the products in local memory and adds them
//         up by doubling distances (a segmented scan): 1, 2, 4 ... places back, as long as the
//         row is the same, below longest[b], the most entries of a row in the run. The last
//         entry of each row then has the row's sum.
// No atomics: the order of summation depends only on the pattern.

#include "common/kry.clh"

#define UNROLL 4 // KRY_UNROLL of src/matrix/matrix.h
#define TILE (UNROLL * WG)

#define FORMAT coo
#define ADDS
#define MATRIX                                                                     \
    int work, global const int *restrict run, global const int *restrict longest,  \
        global const int *restrict row_of,                                         \
        global const int *restrict col, int val0, global SUM *restrict partial,    \
        global const VAL *restrict val
#define BEGIN(b) (run[b] < 0 ? ~run[b] : run[b])

// The sum of a row's entries in run b, of which the row's first is entry k.
#define FINISH(b, k, row, sum, DO)       \
    if (run[b] < 0 && (k) == BEGIN(b)) { \
        partial[b] = sum;                \
    } else {                             \
        DO(row, sum)                     \
    }

#ifdef KRY_CPU

#define MATRIX_LOCALS
#define MATRIX_ROWS(GET, DO)                                                           \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0))                    \
        for (int k = BEGIN(b), end = BEGIN(b + 1); k < end;) {                         \
            int row = row_of[k], first = k;                                            \
            SUM sum = 0;                                                               \
            OWN(row, GET)                                                              \
            for (; k < end && row_of[k] == row; k++)                                   \
                sum += (SUM)val[val0 + k] * FROM_OWN((SUM)GET(col[k]));                \
            FINISH(b, first, row, sum, DO)                                             \
        }

#else

#define MATRIX_LOCALS     \
    local SUM tile[TILE]; \
    local int tile_row[TILE];

#define EACH(X, GET)   X(0, GET) X(1, GET) X(2, GET) X(3, GET)
#define PLACE(u)       (l + u * WG)
// Past the end, and in a run of empty rows, an entry next to it, whose product is not used.
#define LOAD(u, GET)                                 \
    int k##u = max(begin + min(PLACE(u), count - 1), 0); \
    int row##u = row_of[k##u], j##u = col[k##u];     \
    SUM sum##u = val[val0 + k##u];
#ifdef FLUX
#define MULTIPLIER(u, GET) ((SUM)GET(j##u) - (SUM)GET(row##u))
#else
#define MULTIPLIER(u, GET) (SUM)GET(j##u)
#endif
#define STAGE(u, GET)                                          \
    sum##u *= MULTIPLIER(u, GET);                              \
    tile[PLACE(u)] = sum##u;                                   \
    tile_row[PLACE(u)] = PLACE(u) < count ? row##u : -1;
#define LOOK_BACK(u, GET)                                                          \
    if (PLACE(u) >= step && PLACE(u) < count && tile_row[PLACE(u) - step] == row##u) \
        sum##u += tile[PLACE(u) - step];
#define PUT_BACK(u, GET) tile[PLACE(u)] = sum##u;
// In a run that begins inside a row there is nothing but that row.
#define FINISH_ROW(u, DO)                                                                      \
    if (PLACE(u) < count && (PLACE(u) == count - 1 || tile_row[PLACE(u) + 1] != row##u)) {     \
        FINISH(b, begin, row##u, sum##u, DO)                                                   \
    }

#define MATRIX_ROWS(GET, DO)                                              \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0)) {     \
        int l = get_local_id(0), begin = BEGIN(b);                        \
        int count = BEGIN(b + 1) - begin;                                 \
        EACH(LOAD, GET)                                                   \
        EACH(STAGE, GET)                                                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                     \
        for (int step = 1, far = longest[b]; step < far; step *= 2) {     \
            EACH(LOOK_BACK, GET)                                          \
            barrier(CLK_LOCAL_MEM_FENCE);                                 \
            EACH(PUT_BACK, GET)                                           \
            barrier(CLK_LOCAL_MEM_FENCE);                                 \
        }                                                                 \
        EACH(FINISH_ROW, DO)                                              \
        barrier(CLK_LOCAL_MEM_FENCE); /* the next run overwrites the tile */ \
    }

#endif

#include "formats/product.clh"
