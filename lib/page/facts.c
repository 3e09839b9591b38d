/*
 * facts.c - what the entries of a matrix say of it: rows, diagonal, symmetry, bandwidth.
 */
#include "page/facts.h"
#include <math.h>
#include <stdlib.h>

/* ---- bytes of each format -------------------------------------------------------------------- */

/*
 * Estimates without a device: SELL in slices of 32 rows as they stand with 32-bit columns, where devices and sorting
 * often need less; padding of columns to whole vectors is left out.
 */

enum { SLICE = 32 };
static const double number = sizeof(double), column = sizeof(int32_t);

static int64_t length_of(const kryi_host_matrix *A, int64_t i)
{
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

static int ascending(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    return (i > j) - (i < j);
}

/* Count diagonals, like count_diagonals, without an array of all the diagonals that there could be. */
static kry_status sort_diagonals(const kryi_host_matrix *A, int64_t *all, int64_t *upper)
{
    kry_status st = KRY_OK;
    int64_t *diagonal = NULL, e = 0;

    TRY(kryi_allocate((uint64_t)A->nnz, sizeof *diagonal, &diagonal));
    for (int64_t i = 0; i < A->rows; i++)
        for (; e < A->row_ptr[i + 1]; e++) diagonal[e] = A->place[A->col[e]] - (int64_t)A->place[i];
    qsort(diagonal, (size_t)A->nnz, sizeof *diagonal, ascending);
    for (e = 0; e < A->nnz; e++) {
        const bool fresh = e == 0 || diagonal[e] != diagonal[e - 1];
        *all += fresh;
        *upper += fresh && diagonal[e] >= 0;
    }
done:
    free(diagonal);
    return st;
}

/* All diagonals with an entry, and those of them on or above the main one. */
static kry_status count_diagonals(const kryi_host_matrix *A, int64_t *all, int64_t *upper)
{
    kry_status st = KRY_OK;
    char *seen = NULL;
    int64_t places = A->rows + A->cols;
    *all = *upper = 0;
    if (A->place) return sort_diagonals(A, all, upper);
    TRY(kryi_allocate((uint64_t)places, 1, &seen));
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            seen[A->col[e] - i + A->rows] = 1;
    for (int64_t d = 0; d < places; d++) {
        *all += seen[d];
        *upper += d >= A->rows && seen[d];
    }
done:
    free(seen);
    return st;
}

static int64_t longest_row(const kryi_host_matrix *A, int64_t begin, int64_t end)
{
    int64_t most = 0;
    for (int64_t i = begin; i < end && i < A->rows; i++)
        if (length_of(A, i) > most) most = length_of(A, i);
    return most;
}

static double sell_slots(const kryi_host_matrix *A)
{
    double slots = 0;
    for (int64_t i = 0, end; i < A->rows; i = end) {
        const int64_t slice = kryi_host_matrix_place(A, i) / SLICE;
        for (end = i + 1; end < A->rows && kryi_host_matrix_place(A, end) / SLICE == slice;) end++;
        slots += SLICE * (double)longest_row(A, i, end);
    }
    return slots;
}

/* ELL as wide as a third of the rows are long, the rest in COO: docs/matrices.md. */
static kry_status hyb_bytes(const kryi_host_matrix *A, int64_t all, double *bytes)
{
    kry_status st = KRY_OK;
    int64_t longest = longest_row(A, 0, A->rows), width = longest, longer = 0, tail = 0;
    int64_t *rows = NULL; /* of each length */

    TRY(kryi_allocate((size_t)longest + 1, sizeof *rows, &rows));
    for (int64_t i = 0; i < A->rows; i++) rows[length_of(A, i)]++;
    while (width > 0 && 3 * (longer + rows[width]) < all) longer += rows[width--];
    for (int64_t i = 0; i < A->rows; i++)
        tail += length_of(A, i) > width ? length_of(A, i) - width : 0;
    *bytes = (double)all * (double)width * (number + column) + (double)tail * (number + 2 * column);
done:
    free(rows);
    return st;
}

/* rows: of the whole matrix, of which A may be condensed */
static kry_status count_bytes(const kryi_host_matrix *A, int64_t all, bool symmetric, storage *s)
{
    kry_status st = KRY_OK;
    int64_t upper;
    double rows = (double)all, nnz = (double)A->nnz, *bytes = s->bytes;
    double longest = (double)longest_row(A, 0, A->rows);
    *s = (storage){ .bytes[KRY_FORMAT_AUTO] = NAN };
    TRY(count_diagonals(A, &s->diagonals, &upper));
    TRY(hyb_bytes(A, all, &bytes[KRY_FORMAT_HYB]));
    bytes[KRY_FORMAT_CSR] = nnz * (number + column) + (rows + 1) * column;
    bytes[KRY_FORMAT_DIA] = (double)s->diagonals * (rows * number + column);
    bytes[KRY_FORMAT_SYMDIA] = symmetric ? (double)upper * (rows * number + column) : NAN;
    bytes[KRY_FORMAT_ELL] = longest * rows * (number + column);
    bytes[KRY_FORMAT_SELL] = sell_slots(A) * (number + column) + (rows / SLICE + 1) * column;
    bytes[KRY_FORMAT_JDS] = nnz * (number + column) + rows * column;
    bytes[KRY_FORMAT_COO] = nnz * (number + 2 * column);
done:
    return st;
}

static void count_length(facts *f, int64_t length)
{
    int bucket = 0;
    for (int64_t l = length; l > 0; l /= 2) bucket++;
    f->histogram[bucket]++;
    if (bucket >= f->buckets) f->buckets = bucket + 1;
    if (length < f->row_min) f->row_min = length;
    if (length > f->row_max) f->row_max = length;
    f->empty_rows += length == 0;
    f->row_squares += (double)length * (double)length;
}

static void look_at_row(facts *f, const kryi_host_matrix *A, int64_t i)
{
    const int64_t row = A->first + i;
    double diagonal = 0, others = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        int64_t j = A->col[e],
                away = llabs(kryi_host_matrix_place(A, j) - kryi_host_matrix_place(A, row));
        if (away > f->bandwidth) f->bandwidth = away;
        if (e > A->row_ptr[i] && A->col[e - 1] == j) f->duplicates++;
        if (row == j)
            diagonal += A->val[e];
        else
            others += fabs(A->val[e]);
    }
    count_length(f, A->row_ptr[i + 1] - A->row_ptr[i]);
    if (row < A->cols) {
        f->missing_diagonal += diagonal == 0;
        f->negative_diagonal += diagonal < 0;
    }
    f->weakly += fabs(diagonal) >= others;
    f->strictly += fabs(diagonal) > others;
}

/* Rows without any entry, that are not in A. */
static void count_left_out(facts *f, int64_t rows, int64_t diagonal)
{
    if (rows > 0) f->row_min = 0;
    f->empty_rows += rows;
    f->histogram[0] += rows;
    f->weakly += rows;
    f->missing_diagonal += diagonal;
    if (rows > 0 && !f->buckets) f->buckets = 1;
}

void kryi_facts_of_rows(const kryi_host_matrix *A, facts *f)
{
    *f = (facts){ .row_min = A->rows ? INT64_MAX : 0 };
    for (int64_t i = 0; i < A->rows; i++) look_at_row(f, A, i);
}

static void take_most(int64_t *a, int64_t b)
{
    if (b > *a) *a = b;
}

void kryi_facts_add(facts *f, const facts *more)
{
    if (!more->buckets) return; /* of no rows */
    if (!f->buckets || more->row_min < f->row_min) f->row_min = more->row_min;
    take_most(&f->row_max, more->row_max);
    take_most(&f->bandwidth, more->bandwidth);
    for (int k = 0; k < FACTS_BUCKETS; k++) f->histogram[k] += more->histogram[k];
    if (more->buckets > f->buckets) f->buckets = more->buckets;
    f->empty_rows += more->empty_rows;
    f->duplicates += more->duplicates;
    f->row_squares += more->row_squares;
    f->missing_diagonal += more->missing_diagonal;
    f->negative_diagonal += more->negative_diagonal;
    f->weakly += more->weakly;
    f->strictly += more->strictly;
}

kry_status kryi_facts_of(const kryi_host_matrix *A, int64_t rows, int64_t cols, facts *f)
{
    kry_status st = KRY_OK;
    const bool square = rows == cols;

    kryi_facts_of_rows(A, f);
    count_left_out(f, rows - A->rows, rows < cols ? rows - A->rows : cols - A->cols);
    if (square) TRY(kryi_host_matrix_asymmetry(A, &f->asymmetry));
    TRY(count_bytes(A, rows, square && !f->asymmetry.unmatched && f->asymmetry.difference == 0,
                    &f->storage));
done:
    return st;
}
