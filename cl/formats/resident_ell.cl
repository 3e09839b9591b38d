// resident_ell.cl - conjugate gradients in one kernel with a matrix whose rows have one length, stored as in ell.cl.

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"

#define FORMAT ell
#define MATRIX                                                                            \
    int work, int height, int width, int flux, global const int *restrict col, global const VAL *restrict val
#define MATRIX_LOCALS
#define ELL_BEGIN(row) ((row) / height * height * (width - 1) + (row))

// Keep the entries of a row, HELD at most.
#define HOLD_ROW(position, row, there)                             \
    int e = ELL_BEGIN(position);                                   \
    UNROLLED for (int u = 0; u < HELD; u++, e += height) {         \
        const int c = (there) && u < width ? col[e] : -1;          \
        HOLD(c >= 0, c, e)                                         \
    }

// Four entries are on their way at once.
#define MATRIX_ROWS(GET, DO)                                                                        \
    for (int row = FIRST_ROW_HERE; row < work; row += ROWS_OF_ALL) {                                \
        int k = 0, e = ELL_BEGIN(row);                                                              \
        SUM sum = 0;                                                                                \
        OWN(row, GET)                                                                               \
        for (; k + 3 < width; k += 4, e += 4 * height) {                                            \
            int c[4];                                                                               \
            SUM v[4];                                                                               \
            UNROLLED for (int u = 0; u < 4; u++) c[u] = col[e + u * height], v[u] = val[e + u * height]; \
            UNROLLED for (int u = 0; u < 4; u++) v[u] *= FROM_OWN((SUM)GET(max(c[u], 0)));          \
            UNROLLED for (int u = 0; u < 4; u++) sum += c[u] < 0 ? 0 : v[u];                        \
        }                                                                                           \
        for (; k < width; k++, e += height)                                                         \
            if (col[e] >= 0) sum += (SUM)val[e] * FROM_OWN((SUM)GET(col[e]));                       \
        DO(row, sum)                                                                                \
    }

#include "formats/resident_matrix.clh"
