/*
 * facts.c - what the entries of a matrix say of it: rows, diagonal, symmetry, bandwidth.
 */
#include "facts.h"
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

static void look_at_row(facts *f, const sparse *A, int64_t i)
{
    double diagonal = 0, others = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        int64_t j = A->col[e], away = llabs(sparse_place(A, j) - sparse_place(A, i));
        if (away > f->bandwidth) f->bandwidth = away;
        if (e > A->row_ptr[i] && A->col[e - 1] == j) f->duplicates++;
        if (i == j)
            diagonal += A->val[e];
        else
            others += fabs(A->val[e]);
    }
    count_length(f, A->row_ptr[i + 1] - A->row_ptr[i]);
    if (i < A->cols) {
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

kry_status facts_of(const source *s, const sparse *A, facts *f)
{
    kry_status st = KRY_OK;
    const bool square = s->rows == s->cols;
    *f = (facts){ .row_min = A->rows ? INT64_MAX : 0 };
    for (int64_t i = 0; i < A->rows; i++) look_at_row(f, A, i);
    count_left_out(f, s->rows - A->rows, s->rows < s->cols ? s->rows - A->rows : s->cols - A->cols);
    if (square) TRY(sparse_asymmetry(A, &f->asymmetry));
    TRY(storage_estimate(A, s->rows,
                         square && !f->asymmetry.unmatched && f->asymmetry.difference == 0,
                         &f->storage));
done:
    return st;
}
