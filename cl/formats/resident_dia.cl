// resident_dia.cl - conjugate gradients in one kernel with a matrix stored by diagonals, as in dia.cl.

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"

#define FORMAT dia
#define MATRIX                                                                                    \
    int work, int cols, int reach, int diagonals, int stride, int flux, constant int *offset,     \
        global const VAL *restrict val
#define MATRIX_LOCALS
#ifdef DIAGONALS
#define COUNT DIAGONALS
#else
#define COUNT diagonals
#endif

// A row's sum near the ends, where columns may lie outside: entries there are 0, and x is read inside.
#define INSIDE(j) clamp((int)(j), 0, cols - 1)
#define BORDER_SUM(row, GET)                                                 \
    for (int d = FIRST_PAIR; d < diagonals; d++) {                           \
        int above = INSIDE(row + offset[d]), below = INSIDE(row - offset[d]); \
        sum += (SUM)val[(long)d * stride + row] * FROM_OWN((SUM)GET(above)); \
        if (FIRST_PAIR && row >= offset[d])                                  \
            sum += (SUM)val[(long)d * stride + below] * FROM_OWN((SUM)GET(below)); \
    }

#ifdef SYMMETRIC // diagonal 0 is the main one
#define FIRST_PAIR 1
#define INNER_SUM(row, GET)                                                    \
    for (int d = 1; d < COUNT; d++) {                                          \
        int o = offset[d];                                                     \
        v += stride;                                                           \
        sum += (SUM)v[0] * FROM_OWN((SUM)GET(row + o)) +                       \
               (SUM)v[-o] * FROM_OWN((SUM)GET(row - o));                       \
    }
#else
#define FIRST_PAIR 0
#define INNER_SUM(row, GET)                           \
    for (int d = 0; d < COUNT; d++) {                 \
        sum += (SUM)v[0] * FROM_OWN((SUM)GET(row + offset[d])); \
        v += stride;                                  \
    }
#endif

#if defined(SYMMETRIC) && !defined(FLUX)
#define MAIN(row, GET) ((SUM)v[0] * (SUM)GET(row))
#define MAIN_ROWS(row, GETV) (LOAD_SUMV(val + row) * GETV(row))
#else
#define MAIN(row, GET) 0
#define MAIN_ROWS(row, GETV) 0
#endif

#define ROW_SUM(row, GET)                                      \
    global const VAL *v = val + row;                           \
    SUM sum = MAIN(row, GET);                                  \
    OWN(row, GET)                                              \
    if (row >= reach && row < (int)work - reach) {             \
        INNER_SUM(row, GET)                                    \
    } else {                                                   \
        BORDER_SUM(row, GET)                                   \
    }

#ifndef KRY_CPU

#define MATRIX_ROWS(GET, DO)                                                       \
    for (int row = FIRST_ROW_HERE; row < work; row += ROWS_OF_ALL) {              \
        ROW_SUM(row, GET)                                                          \
        DO(row, sum)                                                               \
    }

#else

#ifdef FLUX
#define OWN_ROWS(row, GETV) SUMV own = GETV(row);
#else
#define OWN_ROWS(row, GETV)
#endif
#ifdef SYMMETRIC
#define ROWS_SUM(row, GETV)                                             \
    SUMV sums = MAIN_ROWS(row, GETV);                                   \
    OWN_ROWS(row, GETV)                                                 \
    for (int d = 1; d < COUNT; d++)                                     \
        sums += LOAD_SUMV(val + (long)d * stride + row) *               \
                    FROM_OWN(GETV(row + offset[d])) +                   \
                LOAD_SUMV(val + (long)d * stride + row - offset[d]) *   \
                    FROM_OWN(GETV(row - offset[d]));
#else
#define ROWS_SUM(row, GETV)                               \
    SUMV sums = 0;                                        \
    OWN_ROWS(row, GETV)                                   \
    for (int d = 0; d < COUNT; d++)                       \
        sums += LOAD_SUMV(val + (long)d * stride + row) * \
                FROM_OWN(GETV(row + offset[d]));
#endif

// VW rows at a time where that may be: GETV gets as many, and DO_VECTOR is a statement about rows `row` ... and their `sums`.
#define MATRIX_VECTORS(GET, GETV, DO, DO_VECTOR)                             \
    long row_end = chunk_end(work), high = min(row_end, (long)work - reach); \
    for (long row = chunk_begin(work); row < row_end;) {                     \
        if (row >= reach && row + VW <= high) {                              \
            ROWS_SUM(row, GETV)                                              \
            DO_VECTOR                                                        \
            row += VW;                                                       \
        } else {                                                             \
            ROW_SUM(row, GET)                                                \
            DO(row, sum)                                                     \
            row++;                                                           \
        }                                                                    \
    }
#define GET_XV(j)            LOAD_SUMV(x + (j))
#define MATRIX_ROWS(GET, DO) MATRIX_VECTORS(GET, GET_XV, DO, EACH_LANE(DO, row, sums))

#endif

#ifdef HELD
// Keep the entries of a row; HELD: a place on each diagonal, symmetric those above the main one first. DISTANCE: from a row
// to the column of its entry u.
#ifdef SYMMETRIC
#define UPPER               ((HELD + 1) / 2)
#define DIAGONAL_OF(u)      ((u) < UPPER ? (u) : (u) - UPPER + 1)
#define DISTANCE(u)         ((u) < UPPER ? offset[u] : -offset[DIAGONAL_OF(u)])
#define AT_DIAGONAL(row, j) min(row, j)
#else
#define DIAGONAL_OF(u)      (u)
#define DISTANCE(u)         offset[u]
#define AT_DIAGONAL(row, j) (row)
#endif
#if defined(SYMMETRIC) && defined(FLUX)
#define IS_HELD(u) ((u) > 0)
#else
#define IS_HELD(u) 1
#endif
#define HOLD_ROW(at, row, there)                                      \
    UNROLLED for (int u = 0; u < HELD; u++) {                         \
        const int j = row + distance[u];                              \
        HOLD(there && j >= 0 && j < cols && IS_HELD(u), j,            \
             DIAGONAL_OF(u) * stride + AT_DIAGONAL(row, j))           \
    }
#endif

#include "formats/resident_matrix.clh"
