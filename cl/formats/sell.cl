// sell.cl - slices of C rows, each as wide as its longest row, stored column by column.
// Host: src/matrix/sell.c.
//
// Entry k of row `lane` of slice s lies at slice_ptr[s] + k * C + lane, so C neighbouring
// work-items (or the lanes of a vector) read neighbouring numbers. PERM: rows were sorted by
// length within windows, and position i holds row perm[i]. COLUMN is the type of the stored
// columns: int, or ushort and uchar relative to base[k / C], the least of the C columns that
// are stored side by side. ALONG, on GPUs: row i begins with column head[i] (slices.cl), and a
// column is stored as its distance from the one before it in the row. NONE as a column
// marks padding, which touches neither x nor the sum.
//   GPU   a row to a work-item, four entries in flight; PAIRS: two rows, which are neighbours
//   CPU   VW rows to a slice (C = VW), each with a sum of its own: plain loads of columns beat
//         vectors, whose lanes would have to be taken apart for the gather. block[b] is the first
//         slice of the b-th group's share; below full[s] there is no padding to be looked for
//
// After M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, A unified sparse matrix data
// format for efficient general sparse matrix-vector multiplication on modern processors with
// wide SIMD units, SIAM J. Sci. Comput. 36 (2014).

#pragma once
#include "common/kry.clh"

#define FORMAT sell

#define SHAPE    global const int *restrict slice_ptr,
#define BEGIN(s) slice_ptr[s]
#define END(s)   slice_ptr[(s) + 1]
#define STEP     C

#ifdef PERM
#define ORDER  global const int *restrict perm,
#define ROW(i) perm[i]
#else
#define ORDER
#define ROW(i) (i)
#endif

#ifdef ALONG
#define COLUMNS   global const COLUMN *restrict col, global const int *restrict head,
#elif defined(BASE)
#define COLUMNS   global const COLUMN *restrict col, global const int *restrict base,
#define OFFSET_OF(k) base[(k) / C]
#else
#define COLUMNS   global const COLUMN *restrict col,
#define OFFSET_OF(k) 0
#endif

#ifdef KRY_CPU

#define MATRIX                                                                       \
    int work, int rows, global const int *restrict block, global const int *restrict full, \
        SHAPE ORDER COLUMNS global const VAL *restrict val
#define MATRIX_LOCALS

#define LANES(X, Y) X(0, Y) X(1, Y) X(2, Y) X(3, Y) X(4, Y) X(5, Y) X(6, Y) X(7, Y)
#ifdef FLUX
#define START(l, GET) \
    SUM sum##l = 0, own##l = first + l < rows ? (SUM)GET(ROW(first + l)) : (SUM)0;
#define TERM(l, GET) sum##l += (SUM)val[k + l] * ((SUM)GET(least + (int)col[k + l]) - own##l);
#else
#define START(l, GET) SUM sum##l = 0;
#define TERM(l, GET)  sum##l += (SUM)val[k + l] * (SUM)GET(least + (int)col[k + l]);
#endif
#define TRY_TERM(l, GET) \
    if (col[k + l] != NONE) TERM(l, GET)
#define WRITE(l, DO)              \
    {                             \
        int row = ROW(first + l); \
        DO(row, sum##l)           \
    }
#define TRY_WRITE(l, DO) \
    if (first + l < rows) WRITE(l, DO)

#define MATRIX_ROWS(GET, DO)                                        \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0)) \
        for (int s = block[b]; s < block[b + 1]; s++) {             \
            int first = s * C, k = BEGIN(s), end = full[s];         \
            LANES(START, GET)                                       \
            for (; k < end; k += STEP) {                            \
                int least = OFFSET_OF(k);                           \
                LANES(TERM, GET)                                    \
            }                                                       \
            for (end = END(s); k < end; k += STEP) {                \
                int least = OFFSET_OF(k);                           \
                LANES(TRY_TERM, GET)                                \
            }                                                       \
            if (first + C <= rows) {                                \
                LANES(WRITE, DO)                                    \
            } else {                                                \
                LANES(TRY_WRITE, DO)                                \
            }                                                       \
        }

#else

#define MATRIX int work, SHAPE ORDER COLUMNS global const VAL *restrict val
#define MATRIX_LOCALS

#ifdef ALONG
#define BEGIN_COLUMNS(i) int column = head[i];
#define COLUMN_OF(c, k)  (column += (c) == NONE ? 0 : (c))
#else
#define BEGIN_COLUMNS(i)
#define COLUMN_OF(c, k)  ((c) == NONE ? 0 : OFFSET_OF(k) + (c))
#endif
#define LOAD(u, GET)                 \
    int c##u = col[k + u * STEP];    \
    SUM v##u = val[k + u * STEP];    \
    int j##u = COLUMN_OF(c##u, k + u * STEP);
#ifdef AT_ONCE // padding is passed over, which costs less than to choose between vectors
#define FETCH(u, GET)    SUM x##u = FROM_OWN((SUM)GET(j##u));
#define TERM(u, GET)     sum += v##u * x##u;
#define TRY_TERM(u, GET) if (c##u != NONE) sum += v##u * FROM_OWN((SUM)GET(j##u));
#else
#define FETCH(u, GET) v##u *= FROM_OWN((SUM)GET(j##u));
#define TERM(u, GET)  sum += c##u == NONE ? 0 : v##u;
#endif
#define BATCH           4
#define EACH_OF(X, GET) X(0, GET) X(1, GET) X(2, GET) X(3, GET)
#ifdef AT_ONCE // without padding in a batch, which is rare, all its x are on their way before one is waited for
#define ADD_BATCH(GET)                                           \
    if (c0 != NONE && c1 != NONE && c2 != NONE && c3 != NONE) {  \
        EACH_OF(FETCH, GET)                                      \
        EACH_OF(TERM, GET)                                       \
    } else {                                                     \
        EACH_OF(TRY_TERM, GET)                                   \
    }
#define ADD_ONE(GET) TRY_TERM(0, GET)
#else
#define ADD_BATCH(GET)  \
    EACH_OF(FETCH, GET) \
    EACH_OF(TERM, GET)
#define ADD_ONE(GET) \
    FETCH(0, GET)    \
    TERM(0, GET)
#endif

#if defined(PAIRS) && !defined(AT_ONCE)

// Rows i and i + 1 of a slice, a and b, side by side in vectors of two. All x of a batch are on their way before one is
// waited for, and so are those of the rest of a row, behind whose end nothing is read.
#define PAIR(T)      KRY_JOIN(T, 2)
#define TO_SUMS(v)   KRY_JOIN(convert_, PAIR(SUM))(v)
#define AT2(T, p, k) (*(global const PAIR(T) *)((p) + (k)))
#ifdef FLUX
#define OWN_PAIR(GET) const PAIR(SUM) own = (PAIR(SUM))((SUM)GET(row_a), (SUM)GET(row_b));
#else
#define OWN_PAIR(GET)
#endif
#define TAKE_PAIR(u, k, there)                                                          \
    const PAIR(COLUMN) stored##u = AT2(COLUMN, col, k);                                 \
    PAIR(SUM) v##u = TO_SUMS(AT2(VAL, val, k));                                         \
    const int least##u = OFFSET_OF(k);                                                  \
    const int ca##u = there ? (int)stored##u.x : NONE, cb##u = there ? (int)stored##u.y : NONE; \
    const int ja##u = ca##u == NONE ? 0 : least##u + ca##u;                             \
    const int jb##u = cb##u == NONE ? 0 : least##u + cb##u;
#define LOAD_PAIR(u, GET)  TAKE_PAIR(u, k + u * STEP, 1)
#define LOAD_REST(u, GET)                                                               \
    const int there##u = k + u * STEP < end, at##u = there##u ? k + u * STEP : k;       \
    TAKE_PAIR(u, at##u, there##u)
#define FETCH_PAIR(u, GET) v##u *= FROM_OWN(((PAIR(SUM))((SUM)GET(ja##u), (SUM)GET(jb##u))));
#define ADD_PAIR(u, GET)   sums.x += ca##u == NONE ? 0 : v##u.x, sums.y += cb##u == NONE ? 0 : v##u.y;
#define REST_OF(X, GET)    X(0, GET) X(1, GET) X(2, GET)

#define MATRIX_ROWS(GET, DO)                                                     \
    for (int i = 2 * FIRST_ROW_HERE; i < work; i += 2 * ROWS_OF_ALL) {           \
        int k = BEGIN(i / C) + i % C;                                            \
        const int end = END(i / C), two = i + 1 < work;                          \
        const int row_a = ROW(i), row_b = ROW(i + two);                          \
        PAIR(SUM) sums = 0;                                                      \
        OWN_PAIR(GET)                                                            \
        for (; k + (BATCH - 1) * STEP < end; k += BATCH * STEP) {                \
            EACH_OF(LOAD_PAIR, GET)                                              \
            EACH_OF(FETCH_PAIR, GET)                                             \
            EACH_OF(ADD_PAIR, GET)                                               \
        }                                                                        \
        if (k < end) {                                                           \
            REST_OF(LOAD_REST, GET)                                              \
            REST_OF(FETCH_PAIR, GET)                                             \
            REST_OF(ADD_PAIR, GET)                                               \
        }                                                                        \
        DO(row_a, sums.x)                                                        \
        if (two) { DO(row_b, sums.y) }                                           \
    }

#else

#define MATRIX_ROWS(GET, DO)                                                     \
    for (int i = FIRST_ROW_HERE; i < work; i += ROWS_OF_ALL) {                  \
        int k = BEGIN(i / C) + i % C, end = END(i / C), row = ROW(i);            \
        SUM sum = 0;                                                             \
        BEGIN_COLUMNS(i)                                                         \
        OWN(row, GET)                                                            \
        for (; k + (BATCH - 1) * STEP < end; k += BATCH * STEP) {                \
            EACH_OF(LOAD, GET)                                                   \
            ADD_BATCH(GET)                                                       \
        }                                                                        \
        for (; k < end; k += STEP) {                                             \
            LOAD(0, GET)                                                         \
            ADD_ONE(GET)                                                         \
        }                                                                        \
        DO(row, sum)                                                             \
    }

#endif

#ifdef HELD
// Keep the entries of position i, HELD at most.
#define HOLD_ROW(i, row, there)                                                  \
    int e = BEGIN((i) / C) + (i) % C;                                            \
    const int end = there ? END((i) / C) : 0;                                    \
    BEGIN_COLUMNS(i)                                                             \
    UNROLLED for (int u = 0; u < HELD; u++, e += STEP) {                         \
        const int c = e < end ? col[e] : NONE;                                   \
        HOLD(c != NONE, COLUMN_OF(c, e), e)                                      \
    }
#endif
#endif

#include "formats/product.clh"
