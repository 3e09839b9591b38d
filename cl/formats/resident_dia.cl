// resident_dia.cl - conjugate gradients in one kernel with a matrix stored by diagonals, as in dia.cl.

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"

#define FORMAT dia
#define MATRIX                                                                                    \
    int work, int cols, int reach, int diagonals, int stride, int flux, int symmetric, constant int *offset, \
        global const VAL *restrict val
#define MATRIX_LOCALS
#ifdef DIAGONALS
#define COUNT DIAGONALS
#else
#define COUNT diagonals
#endif
#ifdef SYMMETRIC // diagonal 0 is the main one
enum { IS_SYMMETRIC = 1 };
#else
enum { IS_SYMMETRIC = 0 };
#endif

#ifdef KRY_CPU
#define EACH_ROW FOR_EACH(row, work)
#else
#define EACH_ROW for (int row = FIRST_ROW_HERE; row < work; row += ROWS_OF_ALL)
#endif

// In flux form the main diagonal of a symmetric matrix is not read. Near the ends columns may lie outside: entries there are 0,
// and x is read inside.
#define INSIDE(j) clamp((int)(j), 0, cols - 1)
#define MATRIX_ROWS(GET, DO)                                                                        \
    EACH_ROW                                                                                        \
    {                                                                                               \
        global const VAL *v = val + row;                                                            \
        SUM sum = IS_SYMMETRIC && !flux ? (SUM)v[0] * (SUM)GET(row) : (SUM)0;                       \
        OWN(row, GET)                                                                               \
        if (row >= reach && row < work - reach && IS_SYMMETRIC) {                                   \
            for (int d = 1; d < COUNT; d++) {                                                       \
                const int o = offset[d];                                                            \
                v += stride;                                                                        \
                sum += (SUM)v[0] * FROM_OWN((SUM)GET(row + o)) + (SUM)v[-o] * FROM_OWN((SUM)GET(row - o)); \
            }                                                                                       \
        } else if (row >= reach && row < work - reach) {                                            \
            for (int d = 0; d < COUNT; d++, v += stride) sum += (SUM)v[0] * FROM_OWN((SUM)GET(row + offset[d])); \
        } else {                                                                                    \
            for (int d = IS_SYMMETRIC; d < diagonals; d++) {                                        \
                const int o = offset[d], above = INSIDE(row + o), below = INSIDE(row - o);          \
                sum += (SUM)val[(long)d * stride + row] * FROM_OWN((SUM)GET(above));                \
                if (IS_SYMMETRIC && row >= o)                                                       \
                    sum += (SUM)val[(long)d * stride + below] * FROM_OWN((SUM)GET(below));          \
            }                                                                                       \
        }                                                                                           \
        DO(row, sum)                                                                                \
    }

// Keep the entries of a row; HELD: a place on each diagonal, symmetric those above the main one first. DISTANCE: from a row
// to the column of its entry u. In flux form the main diagonal of a symmetric matrix is none.
#ifdef HELD
enum { UPPER = IS_SYMMETRIC ? (HELD + 1) / 2 : HELD };
#define DIAGONAL_OF(u) ((u) < UPPER ? (u) : (u) - UPPER + 1)
#define DISTANCE(u)    ((u) < UPPER ? offset[u] : -offset[DIAGONAL_OF(u)])
#define HOLD_ROW(at, row, there)                                                            \
    UNROLLED for (int u = 0; u < HELD; u++) {                                               \
        const int j = row + distance[u];                                                    \
        HOLD(there && j >= 0 && j < cols && !(IS_SYMMETRIC && flux && u == 0), j,           \
             DIAGONAL_OF(u) * stride + (IS_SYMMETRIC ? min(row, j) : (row)))                \
    }
#endif

#include "formats/resident_matrix.clh"
