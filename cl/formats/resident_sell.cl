// resident_sell.cl - conjugate gradients in one kernel with a matrix stored by slices, as in sell.cl. PERM: rows were sorted.

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"

#define FORMAT sell
#define MATRIX                                                                                     \
    int work, int shift, int flux, global const int *restrict share, global const int *restrict full, \
        global const int *restrict slice_ptr, global const int *restrict perm,                     \
        global const COLUMN *restrict col, global const int *restrict base, global const VAL *restrict val
#define MATRIX_LOCALS

#ifdef PERM
#define ROW(position) perm[position]
#else
#define ROW(position) (position)
#endif
enum { NONE = (int)(COLUMN)-1 };
#define BEGIN(position) (slice_ptr[(position) >> shift] + ((position) & ((1 << shift) - 1)))
#define END(position)   slice_ptr[((position) >> shift) + 1]

// The column of the entry at place k, which is stored as c; -1: padding.
#ifdef ALONG
#define BEGIN_COLUMNS(position) int column = base[position];
#define COLUMN_OF(c, k)         ((c) == NONE ? -1 : (column += (c)))
#else
#define BEGIN_COLUMNS(position)
#define COLUMN_OF(c, k)         ((c) == NONE ? -1 : (sizeof(COLUMN) == sizeof(int) ? 0 : base[(k) >> shift]) + (c))
#endif

// Keep the entries of a position, HELD at most.
#define HOLD_ROW(position, row, there)                                    \
    int e = BEGIN(position);                                              \
    const int end = (there) ? END(position) : 0;                          \
    BEGIN_COLUMNS(position)                                               \
    UNROLLED for (int u = 0; u < HELD; u++, e += 1 << shift) {            \
        const int c = e < end ? (int)col[e] : NONE, j = COLUMN_OF(c, e);  \
        HOLD(j >= 0, j, e)                                                \
    }

#ifdef KRY_CPU
#define EACH_POSITION FOR_EACH(i, work)
#else
#define EACH_POSITION for (int i = FIRST_ROW_HERE; i < work; i += ROWS_OF_ALL)
#endif

// Four entries are on their way at once.
#define MATRIX_ROWS(GET, DO)                                                                  \
    EACH_POSITION                                                                             \
    {                                                                                         \
        const int height = 1 << shift, end = END(i), row = ROW(i);                            \
        int k = BEGIN(i);                                                                     \
        SUM sum = 0;                                                                          \
        BEGIN_COLUMNS(i)                                                                      \
        OWN(row, GET)                                                                         \
        for (; k + 3 * height < end; k += 4 * height) {                                       \
            int j[4];                                                                         \
            SUM v[4];                                                                         \
            UNROLLED for (int u = 0; u < 4; u++) {                                            \
                const int c = col[k + u * height];                                            \
                j[u] = COLUMN_OF(c, k + u * height), v[u] = val[k + u * height];              \
            }                                                                                 \
            UNROLLED for (int u = 0; u < 4; u++) v[u] *= FROM_OWN((SUM)GET(max(j[u], 0)));    \
            UNROLLED for (int u = 0; u < 4; u++) sum += j[u] < 0 ? 0 : v[u];                  \
        }                                                                                     \
        for (; k < end; k += height) {                                                        \
            const int c = col[k], j = COLUMN_OF(c, k);                                        \
            if (j >= 0) sum += (SUM)val[k] * FROM_OWN((SUM)GET(j));                           \
        }                                                                                     \
        DO(row, sum)                                                                          \
    }

#include "formats/resident_matrix.clh"
