// dia.cl - a matrix by its diagonals, all of them or, SYMMETRIC, the upper ones.
// Host: src/matrix/dia.c.
//
// Diagonal d holds a(row, row + offset[d]) at val[d * stride + row]; places outside the matrix
// hold 0. No column is stored: with p diagonals in double a row takes 8 p bytes, half of that
// symmetric, where it also reads the mirror image a(row - offset, row), which the row above has
// just brought into the cache.
// Rows at least `reach` from both ends have all their columns inside and need no tests. DIAGONALS,
// their number if it is small, lets the compiler have all loads of a row in flight at once.
//   GPU   a row to a work-item: every load of a group is one contiguous piece
//   CPU   VW rows at a time
// FLUX: the main diagonal adds nothing, and symmetric it is not even read.
//
// After R. Gupta, M. van Gijzen, C. Vuik, and N. Bell, M. Garland, Implementing sparse
// matrix-vector multiplication on throughput-oriented processors, SC09 (2009).

#pragma once
#include "common/kry.clh"

#define FORMAT dia
#define MATRIX                                                                          \
    int work, int cols, int reach, int diagonals, int stride, constant int *offset,     \
        global const VAL *restrict val
#define MATRIX_LOCALS
#ifdef DIAGONALS
#define COUNT DIAGONALS
#else
#define COUNT diagonals
#endif

// A row's sum near the ends, where columns may lie outside: entries there are 0, and x is read
// inside.
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

#if defined(AT_ONCE) && defined(KRY_CPU) // a row at a time: the vectors are what is side by side

#define MATRIX_ROWS(GET, DO)                                                        \
    for (long row = chunk_begin(work), end = chunk_end(work); row < end; row++) {   \
        ROW_SUM(row, GET)                                                           \
        DO(row, sum)                                                                \
    }

#elif !defined(KRY_CPU)

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

#ifndef PER // persistent kernels take the loop over rows alone

// ---- entries, one after the other: those of a row whose numbers are not zero, by ascending column ----

#define STRUCTURE                                                                   \
    int rows, int cols, int diagonals, int stride, constant int *offset, global const VAL *restrict val

#ifdef SYMMETRIC
// DO(column, slot): the slot of the mirror image, as ~slot, below the diagonal.
#define EACH_PLACE(row, DO)                                                               \
    for (int d = diagonals - 1; d > 0; d--)                                               \
        if (row >= offset[d]) { DO((int)row - offset[d], ~(d * stride + (int)row - offset[d])) } \
    for (int d = 0; d < diagonals; d++)                                                   \
        if (row + offset[d] < cols) { DO((int)row + offset[d], d * stride + (int)row) }
#else
#define EACH_PLACE(row, DO)                                           \
    for (int d = 0; d < diagonals; d++)                               \
        if (row + offset[d] >= 0 && row + offset[d] < cols) {         \
            DO((int)row + offset[d], d * stride + (int)row)           \
        }
#endif
#define NUMBER(slot) val[(slot) < 0 ? ~(slot) : (slot)]

kernel void dia_lengths(STRUCTURE, global int *restrict length)
{
    FOR_EACH(row, rows)
    {
        int count = 0;
#define COUNT_IT(column, slot) count += NUMBER(slot) != 0;
        EACH_PLACE(row, COUNT_IT)
        length[row] = count;
    }
}

// place: slots, ~slot of those that are a mirror image's.
kernel void dia_entries(STRUCTURE, global const int *restrict ptr, global int *restrict col,
                        global int *restrict place)
{
    FOR_EACH(row, rows)
    {
        int at = ptr[row];
#define PUT_IT(column, slot) \
    if (NUMBER(slot) != 0) col[at] = column, place[at++] = slot;
        EACH_PLACE(row, PUT_IT)
    }
}

// d := the main diagonal, 0 where there is none.
kernel void dia_diagonal(STRUCTURE, global REAL *restrict d, long d0)
{
    int main_diagonal = 0;
    while (main_diagonal < diagonals && offset[main_diagonal] != 0) main_diagonal++;
    FOR_EACH(row, rows)
    {
        bool there = main_diagonal < diagonals && row < cols;
        d[d0 + row] = there ? (REAL)val[(long)main_diagonal * stride + row] : 0;
    }
}

#endif

#include "formats/product.clh"
