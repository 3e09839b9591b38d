/*
 * patterns.h - matrices that meet every branch of the products and every border of the pieces they
 * are cut into: work-groups, tiles, slices, chunks.
 */
#ifndef KRY_PATTERNS_H
#define KRY_PATTERNS_H

#include "testing.h"

/* ---- lengths of rows, for matrix_create -------------------------------------------------- */

typedef int64_t length_fn(int64_t row, int64_t rows, int64_t cols);

#define LENGTHS(name, length)                                         \
    MAYBE_UNUSED static int64_t name(int64_t i, int64_t n, int64_t m) \
    {                                                                 \
        (void)i, (void)n, (void)m;                                    \
        return length;                                                \
    }
LENGTHS(none, 0)
LENGTHS(one, 1)
LENGTHS(three, 3)
LENGTHS(all, m)
LENGTHS(gaps, i % 3 ? i % 5 : 0)
LENGTHS(dense_row, i == n / 2 ? m : 2)
LENGTHS(late, i < n - 20 ? 0 : 3)
LENGTHS(power_law, m / (i + 1) + 1)
LENGTHS(any, random_below(10))
/* Two rows to a run of 512 entries, that fill it up to 511, 512 and 513. */
LENGTHS(pairs, i % 2 ? 256 : 255 + i / 2 % 3)

/* Rows whose lengths lie around a run, a half and a work-group. */
MAYBE_UNUSED static int64_t borders(int64_t i, int64_t n, int64_t m)
{
    static const int64_t length[] = { 511, 512, 513, 127, 128,  129,  255,
                                      256, 257, 1,   0,   1023, 1024, 1025 };
    return (void)n, (void)m, length[i % (int64_t)COUNT(length)];
}

/* ---- places, for matrix_where ------------------------------------------------------------ */

typedef bool place_fn(int64_t row, int64_t col, int64_t rows);

#define PLACES(name, condition)                                    \
    MAYBE_UNUSED static bool name(int64_t i, int64_t j, int64_t n) \
    {                                                              \
        (void)n;                                                   \
        return condition;                                          \
    }
PLACES(band, i - j <= 3 && j - i <= 2)
PLACES(far_band, j - i == 70 || i - j == 40 || j == i || j - i == 1)
PLACES(dense_column, j == n / 3 || i == j)
PLACES(symmetric_band, labs((long)(i - j)) <= 3 || labs((long)(i - j)) == 33)
PLACES(arrow, i == 0 || j == 0 || i == j)

/* Five points of a square grid of n of them. */
MAYBE_UNUSED static bool poisson(int64_t i, int64_t j, int64_t n)
{
    int64_t side = (int64_t)(sqrt((double)n) + 0.5), low = i < j ? i : j, high = i < j ? j : i;
    return high == low || high - low == side || (high - low == 1 && high % side != 0);
}

/* The same for (i, j) and (j, i), and else as good as random. */
static uint64_t pair_bits(int64_t i, int64_t j)
{
    uint64_t low = (uint64_t)(i < j ? i : j), high = (uint64_t)(i < j ? j : i);
    uint64_t h = (low * 0x9e3779b97f4a7c15u) ^ (high * 0xc2b2ae3d27d4eb4fu);
    h ^= h >> 29, h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}
PLACES(symmetric_random, i == j || (int64_t)(pair_bits(i, j) % (uint64_t)(n / 4 + 1)) == 0)

/* In (-1, 1), the same for (i, j) and (j, i), another one for each `round`. */
MAYBE_UNUSED static double pair_number(kry_type type, int64_t i, int64_t j, int round)
{
    uint64_t bits = pair_bits(i + 1000003 * round, j + 1000003 * round);
    return to_type(type, (double)(int64_t)bits / 9223372036854775808.0);
}

/* Entries in all places that `place` names. Symmetric places get symmetric numbers: those of
 * poisson 4 and -1, which single precision holds exactly. */
MAYBE_UNUSED static matrix matrix_where(kry_type type, int64_t rows, int64_t cols, place_fn *place)
{
    matrix A = { .rows = rows, .cols = cols };
    A.row_ptr = calloc((size_t)rows + 1, sizeof *A.row_ptr);
    assert_non_null(A.row_ptr);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) A.nnz += place(i, j, rows);
    A.col = calloc((size_t)A.nnz + 1, sizeof *A.col);
    A.val = calloc((size_t)A.nnz + 1, sizeof *A.val);
    assert_true(A.col && A.val);
    for (int64_t i = 0, k = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            if (!place(i, j, rows)) continue;
            A.val[k] = place != poisson ? pair_number(type, i, j, 0) : i == j ? 4 : -1;
            A.col[k++] = (int32_t)j;
        }
        A.row_ptr[i + 1] = k;
    }
    return A;
}

/* ---- the patterns ------------------------------------------------------------------------- */

typedef struct pattern {
    const char *why;
    int64_t rows, cols;
    length_fn *length; /* either, */
    place_fn *place;   /* or */
} pattern;

MAYBE_UNUSED static matrix pattern_matrix(const pattern *p, kry_type type)
{
    return p->place ? matrix_where(type, p->rows, p->cols, p->place)
                    : matrix_create(type, p->rows, p->cols, p->length);
}

static const pattern patterns[] MAYBE_UNUSED = {
    { "nothing at all", 0, 0, none, NULL },
    { "no rows", 0, 5, none, NULL },
    { "no columns", 5, 0, none, NULL },
    { "the smallest", 1, 1, one, NULL },
    { "no entry", 1, 1, none, NULL },
    { "a zero matrix over several groups", 300, 300, none, NULL },
    { "wide and flat", 3, 1000, any, NULL },
    { "tall and narrow", 1000, 3, any, NULL },
    { "empty rows in between", 259, 259, gaps, NULL },
    { "a tile of empty rows, then some entries", 600, 600, late, NULL },
    { "a row longer than a run", 700, 700, dense_row, NULL },
    { "a row longer than many runs", 5000, 5000, dense_row, NULL },
    { "one row only, longer than a run", 1, 1300, all, NULL },
    { "a dense column", 1200, 1200, NULL, dense_column },
    { "short rows among long ones", 400, 1400, power_law, NULL },
    { "one entry a row: a work-item fewer than a group", 127, 127, one, NULL },
    { "one entry a row: a group", 128, 128, one, NULL },
    { "one entry a row: one more", 129, 129, one, NULL },
    { "one entry a row: a run, less one", 511, 511, one, NULL },
    { "one entry a row: a run", 512, 512, one, NULL },
    { "one entry a row: a run and one", 513, 513, one, NULL },
    { "one entry a row: several runs of several rows a work-item", 1400, 1400, one, NULL },
    { "empty rows: more than fit a run", 1100, 4, none, NULL },
    { "rows around the borders", 28, 1100, borders, NULL },
    { "runs around the borders", 24, 600, pairs, NULL },
    { "groups around the borders", 255, 255, three, NULL },
    { "a vector of rows, less one", 7, 7, any, NULL },
    { "a vector of rows", 8, 8, any, NULL },
    { "a vector of rows and one", 9, 9, any, NULL },
    { "a slice, less one row", 31, 40, any, NULL },
    { "a slice", 32, 40, any, NULL },
    { "a slice and one row", 33, 40, any, NULL },
    { "a window of sorting, less one row", 255, 300, any, NULL },
    { "a window of sorting", 256, 300, any, NULL },
    { "a window of sorting and one row", 257, 300, any, NULL },
    { "more runs than groups on a small device", 12000, 12000, three, NULL },
    { "many chunks on a CPU", 12007, 11989, any, NULL },
    { "dense", 40, 40, all, NULL },
    { "a band, wide", 130, 333, NULL, band },
    { "a band, tall", 333, 130, NULL, band },
    { "a band that reaches far, wide", 200, 210, NULL, far_band },
    { "a band that reaches far, tall", 210, 200, NULL, far_band },
    { "a symmetric band", 515, 515, NULL, symmetric_band },
    { "five points", 961, 961, NULL, poisson },
    { "symmetric at random", 129, 129, NULL, symmetric_random },
    { "symmetric at random, too many diagonals", 700, 700, NULL, symmetric_random },
    { "an arrow", 150, 150, NULL, arrow },
};

#endif
