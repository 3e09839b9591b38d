/*
 * stored_bytes.c - estimate the bytes of a matrix in each format, without a device.
 *
 * Estimates: SELL in slices of 32 rows as they stand with 32-bit columns, where devices and sorting
 * often need less; padding of columns to whole vectors is left out.
 */
#include "page/stored_bytes.h"
#include <math.h>
#include <stdlib.h>

enum { SLICE = 32 };
static const double number = sizeof(double), column = sizeof(int32_t);

static int64_t length_of(const kry_host_matrix *A, int64_t i)
{
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

static int ascending(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    return (i > j) - (i < j);
}

/* The same as count_diagonals without an array of all the diagonals that there could be. */
static kry_status sort_diagonals(const kry_host_matrix *A, int64_t *all, int64_t *upper)
{
    kry_status st = KRY_OK;
    int64_t *diagonal = NULL, e = 0;

    TRY(kry_alloc((size_t)A->nnz, sizeof *diagonal, &diagonal));
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
static kry_status count_diagonals(const kry_host_matrix *A, int64_t *all, int64_t *upper)
{
    kry_status st = KRY_OK;
    char *seen = NULL;
    int64_t places = A->rows + A->cols;
    *all = *upper = 0;
    if (A->place) return sort_diagonals(A, all, upper);
    TRY(kry_alloc((size_t)places, 1, &seen));
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

static int64_t longest_row(const kry_host_matrix *A, int64_t begin, int64_t end)
{
    int64_t most = 0;
    for (int64_t i = begin; i < end && i < A->rows; i++)
        if (length_of(A, i) > most) most = length_of(A, i);
    return most;
}

static double sell_slots(const kry_host_matrix *A)
{
    double slots = 0;
    for (int64_t i = 0, end; i < A->rows; i = end) {
        const int64_t slice = kry_host_matrix_place(A, i) / SLICE;
        for (end = i + 1; end < A->rows && kry_host_matrix_place(A, end) / SLICE == slice;) end++;
        slots += SLICE * (double)longest_row(A, i, end);
    }
    return slots;
}

/* ELL as wide as a third of the rows are long, the rest in COO: docs/matrices.md. */
static kry_status hyb_bytes(const kry_host_matrix *A, int64_t all, double *bytes)
{
    kry_status st = KRY_OK;
    int64_t longest = longest_row(A, 0, A->rows), width = longest, longer = 0, tail = 0;
    int64_t *rows = NULL; /* of each length */

    TRY(kry_alloc((size_t)longest + 1, sizeof *rows, &rows));
    for (int64_t i = 0; i < A->rows; i++) rows[length_of(A, i)]++;
    while (width > 0 && 3 * (longer + rows[width]) < all) longer += rows[width--];
    for (int64_t i = 0; i < A->rows; i++)
        tail += length_of(A, i) > width ? length_of(A, i) - width : 0;
    *bytes = (double)all * (double)width * (number + column) + (double)tail * (number + 2 * column);
done:
    free(rows);
    return st;
}

kry_status kry_stored_bytes(const kry_host_matrix *A, int64_t all, bool symmetric, storage *s)
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
