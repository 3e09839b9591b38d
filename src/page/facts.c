/*
 * facts.c - what the entries of a matrix say of it: rows, diagonal, symmetry, bandwidth.
 */
#include "page/facts.h"
#include <math.h>
#include <stdlib.h>

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

static void look_at_row(facts *f, const kry_host_matrix *A, int64_t i)
{
    const int64_t row = A->first + i;
    double diagonal = 0, others = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        int64_t j = A->col[e],
                away = llabs(kry_host_matrix_place(A, j) - kry_host_matrix_place(A, row));
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

void kry_facts_of_rows(const kry_host_matrix *A, facts *f)
{
    *f = (facts){ .row_min = A->rows ? INT64_MAX : 0 };
    for (int64_t i = 0; i < A->rows; i++) look_at_row(f, A, i);
}

static void take_most(int64_t *a, int64_t b)
{
    if (b > *a) *a = b;
}

void kry_facts_add(facts *f, const facts *more)
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

kry_status kry_facts_of(const kry_host_matrix *A, int64_t rows, int64_t cols, facts *f)
{
    kry_status st = KRY_OK;
    const bool square = rows == cols;

    kry_facts_of_rows(A, f);
    count_left_out(f, rows - A->rows, rows < cols ? rows - A->rows : cols - A->cols);
    if (square) TRY(kry_host_matrix_asymmetry(A, &f->asymmetry));
    TRY(kry_stored_bytes(A, rows, square && !f->asymmetry.unmatched && f->asymmetry.difference == 0,
                         &f->storage));
done:
    return st;
}
