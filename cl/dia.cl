// dia.cl - a matrix by its diagonals, all of them or, SYMMETRIC, the upper ones.
// Host: src/formats/dia.c.
//
// Diagonal d holds a(row, row + offset[d]) at val[d * stride + row]; places outside the matrix
// hold 0. No column is stored: with p diagonals in double a row takes 8 p bytes, half of that
// symmetric, where it also reads the mirror image a(row - offset, row), which the row above has
// just brought into the cache.
//   GPU   a row to a work-item: every load of a group is one contiguous piece
//   CPU   VW rows at a time, but for those near the ends whose columns reach outside
//
// After R. Gupta, M. van Gijzen, C. Vuik, and N. Bell, M. Garland, Implementing sparse
// matrix-vector multiplication on throughput-oriented processors, SC09 (2009).

#define FORMAT dia
#define MATRIX                                                                \
    int work, int cols, int diagonals, int stride, constant int *offset, \
        global const VAL *restrict val
#define MATRIX_LOCALS

// An entry times x where the column may lie outside: then the entry is 0, and x is read inside.
#define UPPER(d, row, GET) \
    ((SUM)val[(long)(d) * stride + row] * (SUM)GET(clamp((int)row + offset[d], 0, cols - 1)))
#define LOWER(d, row, GET)                                                                    \
    ((row >= offset[d] ? (SUM)val[(long)(d) * stride + max((int)row - offset[d], 0)] : (SUM)0) * \
     (SUM)GET(max((int)row - offset[d], 0)))

#ifdef SYMMETRIC // diagonal 0 is the main one
#define ROW_SUM(row, GET)                                                           \
    SUM sum = (SUM)val[row] * (SUM)GET(row);                                        \
    for (int d = 1; d < diagonals; d++) sum += UPPER(d, row, GET) + LOWER(d, row, GET);
#else
#define ROW_SUM(row, GET) \
    SUM sum = 0;          \
    for (int d = 0; d < diagonals; d++) sum += UPPER(d, row, GET);
#endif

#ifndef KRY_CPU

#define MATRIX_ROWS(GET, DO)                                                        \
    for (int row = get_global_id(0); row < work; row += (int)get_global_size(0)) {  \
        ROW_SUM(row, GET)                                                           \
        DO(row, sum)                                                                \
    }

#else

#ifdef SYMMETRIC
#define LOWEST -offset[diagonals - 1]
#define ROWS_SUM(row)                                                                     \
    SUMV sums = LOAD_SUMV(val + row) * LOAD_SUMV(x + row);                                \
    for (int d = 1; d < diagonals; d++)                                                   \
        sums += LOAD_SUMV(val + (long)d * stride + row) * LOAD_SUMV(x + row + offset[d]) + \
                LOAD_SUMV(val + (long)d * stride + row - offset[d]) *                     \
                    LOAD_SUMV(x + row - offset[d]);
#else
#define LOWEST offset[0]
#define ROWS_SUM(row)                   \
    SUMV sums = 0;                      \
    for (int d = 0; d < diagonals; d++) \
        sums += LOAD_SUMV(val + (long)d * stride + row) * LOAD_SUMV(x + row + offset[d]);
#endif

#define MATRIX_ROWS(GET, DO)                                                       \
    long row_end = chunk_end(work), low = diagonals ? max(0, -(LOWEST)) : 0;       \
    long high = diagonals ? min(row_end, (long)cols - offset[diagonals - 1]) : 0;  \
    for (long row = chunk_begin(work); row < row_end;) {                           \
        if (row >= low && row + VW <= high) {                                      \
            ROWS_SUM(row)                                                          \
            EACH_LANE(DO, AS_IT_IS, row, sums)                                               \
            row += VW;                                                             \
        } else {                                                                   \
            ROW_SUM(row, GET)                                                      \
            DO(row, sum)                                                           \
            row++;                                                                 \
        }                                                                          \
    }

#endif
