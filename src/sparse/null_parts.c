/* null_parts.c - what a matrix maps to zero by the look of its rows: constants on each part that no entry connects with
 * the rest and whose rows all add up to zero, and the unknowns of rows without entries. */
#include "sparse/csr.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static void add(kryi_row_total *t, double value)
{
    t->sum += value, t->size += fabs(value), t->count += value != 0;
}

kryi_row_total kryi_row_total_of(const int64_t *row_ptr, const double *val, int64_t i)
{
    kryi_row_total t = { 0 };

    for (int64_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) add(&t, val[e]);
    return t;
}

bool kryi_row_total_is_zero(const kryi_row_total *t, double rounding)
{
    return isfinite(t->size) &&
           fabs(t->sum) <= (rounding + (double)t->count * DBL_EPSILON) * t->size;
}

/* The row that stands for the part of row i, its least one; on the way, rows are hung to those above the ones they hang
 * from. */
static int32_t stands_for(int32_t *above, int32_t i)
{
    while (above[i] != i) i = above[i] = above[above[i]];
    return i;
}

/* Whether entries connect every row that is not empty with one that does not add up to zero, as in most matrices. A few sweeps
 * up and down the rows tell, or leave it open: false. *empty: how many rows are. */
static bool all_regular(const kryi_csr *A, double rounding, bool *regular, int64_t *empty)
{
    enum { SWEEPS = 4 };
    const double *val = A->val;
    int64_t left = 0;

    *empty = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        const kryi_row_total t = kryi_row_total_of(A->row_ptr, val, i);
        *empty += t.size == 0;
        regular[i] = t.size > 0 && !kryi_row_total_is_zero(&t, rounding);
        left += t.size > 0 && !regular[i];
    }
    for (int sweep = 0; sweep < SWEEPS && left > 0 && left + *empty < A->rows; sweep++)
        for (int64_t k = 0; k < A->rows && left > 0; k++) {
            const int64_t i = sweep % 2 ? A->rows - 1 - k : k, end = A->row_ptr[i + 1];
            bool touches = regular[i];
            for (int64_t e = A->row_ptr[i]; e < end && !touches; e++)
                touches = val[e] != 0 && regular[A->col[e]];
            if (touches && !regular[i]) regular[i] = true, left--;
        }
    return left == 0;
}

static void add_up(const kryi_csr *A, kryi_row_total *row, kryi_row_total *column, int32_t *above)
{
    const double *val = A->val;

    for (int64_t i = 0; i < A->rows; i++) above[i] = (int32_t)i;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (val[e] == 0) continue;
            add(&row[i], val[e]), add(&column[A->col[e]], val[e]);
            const int32_t a = stands_for(above, (int32_t)i), b = stands_for(above, A->col[e]);
            above[a > b ? a : b] = a < b ? a : b;
        }
}

/* N->of of all rows but empty ones, and N->parts. */
static void number(int64_t n, double rounding, const kryi_row_total *row, int32_t *above,
                   kryi_null_parts *N)
{
    for (int64_t i = 0; i < n; i++)
        if (row[i].size == 0 || !kryi_row_total_is_zero(&row[i], rounding))
            N->of[stands_for(above, (int32_t)i)] = -1;
    for (int64_t i = 0; i < n; i++) {
        const int32_t first = stands_for(above, (int32_t)i);
        N->of[i] = N->of[first] < 0 ? -1 : first == i ? (int32_t)N->parts++ : N->of[first];
    }
}

kry_status kryi_csr_null_parts(const kryi_csr *A, double rounding, kryi_null_parts *N)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)A->rows;
    kryi_row_total *row = NULL, *column = NULL;
    int32_t *above = NULL;
    bool *regular = NULL;
    int64_t empty;

    *N = (kryi_null_parts){ 0 };
    TRY(kryi_alloc(n, sizeof *regular, &regular));
    if (all_regular(A, rounding, regular, &empty) && empty == 0) {
        TRY(kryi_alloc(n, sizeof *N->of, &N->of));
        TRY(kryi_alloc(0, sizeof *N->one_sided, &N->one_sided));
        for (int64_t i = 0; i < A->rows; i++) N->of[i] = -1;
        goto done;
    }
    TRY(kryi_alloc(n, sizeof *row, &row));
    TRY(kryi_alloc(n, sizeof *column, &column));
    TRY(kryi_alloc(n, sizeof *above, &above));
    TRY(kryi_alloc(n, sizeof *N->of, &N->of));
    add_up(A, row, column, above);
    number(A->rows, rounding, row, above, N);
    for (int64_t i = 0; i < A->rows; i++)
        if (row[i].size == 0) N->of[i] = (int32_t)(N->parts + N->empty++);
    TRY(kryi_alloc((size_t)(N->parts + N->empty), sizeof *N->one_sided, &N->one_sided));
    for (int64_t i = 0; i < A->rows; i++)
        if (N->of[i] >= 0 && column[i].size > 0 &&
            (N->of[i] >= N->parts || !kryi_row_total_is_zero(&column[i], rounding)))
            N->one_sided[N->of[i]] = true;
done:
    free(regular), free(above), free(column), free(row);
    if (st < 0) kryi_null_parts_release(N);
    return st;
}

void kryi_null_parts_release(kryi_null_parts *N)
{
    free(N->of), free(N->one_sided);
    *N = (kryi_null_parts){ 0 };
}

/* B := A with a zero at the diagonal place of rows without entries where there is none. */
static kry_status add_diagonal(const kryi_csr *A, const kryi_null_parts *N, kryi_csr *B)
{
    kry_status st = KRY_OK;
    int64_t to = 0;

    TRY(kryi_csr_create(A->rows, A->cols, A->type, kryi_csr_nnz(A) + N->empty, B));
    for (int64_t i = 0; i < A->rows; i++) {
        bool lacks = N->of[i] >= N->parts && kryi_csr_find(A, i, i) < 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (lacks && A->col[e] > i) B->col[to++] = (int32_t)i, lacks = false;
            B->col[to] = A->col[e], ((double *)B->val)[to++] = ((const double *)A->val)[e];
        }
        if (lacks) B->col[to++] = (int32_t)i;
        B->row_ptr[i + 1] = to;
    }
done:
    return st;
}

/* w := about the vector of A'w = 0, from ones by steps of Jacobi's iteration for A', half as long. On both-sided parts it is
 * ones. */
static kry_status weigh(const kryi_csr *A, double *w)
{
    enum { STEPS = 30 };
    kry_status st = KRY_OK;
    const double *val = A->val;
    double *y = NULL, *d = NULL;

    TRY(kryi_alloc((size_t)A->rows, sizeof *y, &y));
    TRY(kryi_alloc((size_t)A->rows, sizeof *d, &d));
    for (int64_t i = 0; i < A->rows; i++) d[i] = kryi_csr_entry(A, i, i), w[i] = 1;
    for (int step = 0; step < STEPS; step++) {
        for (int64_t i = 0; i < A->rows; i++) y[i] = 0;
        for (int64_t i = 0; i < A->rows; i++)
            for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
                y[A->col[e]] += val[e] * w[i];
        for (int64_t i = 0; i < A->rows; i++)
            if (d[i] != 0) w[i] -= 0.5 * y[i] / d[i];
    }
done:
    free(d), free(y);
    return st;
}

/*
 * P := A + a_rr e_r e_r' of a row r in each part. What b has along w, A'w = 0, be it by rounding alone, becomes a residual of
 * w'b / w_r: r is the row of the largest w_r a_rr.
 */
static kry_status pin_parts(const kryi_null_parts *N, kryi_csr *A)
{
    kry_status st = KRY_OK;
    double *val = A->val, *w = NULL, *best = NULL;
    int64_t *place = NULL;

    if (N->parts == 0) return KRY_OK;
    TRY(kryi_alloc((size_t)A->rows, sizeof *w, &w));
    TRY(kryi_alloc((size_t)N->parts, sizeof *best, &best));
    TRY(kryi_alloc((size_t)N->parts, sizeof *place, &place));
    TRY(weigh(A, w));
    for (int64_t i = 0; i < A->rows; i++) {
        const int32_t p = N->of[i];
        const int64_t e = p >= 0 && p < N->parts ? kryi_csr_find(A, i, i) : -1;
        const double weight = e < 0 ? 0 : fabs(w[i] * val[e]);
        if (weight > 0 && weight > best[p]) best[p] = weight, place[p] = e;
    }
    for (int64_t p = 0; p < N->parts; p++)
        if (best[p] > 0) val[place[p]] *= 2;
done:
    free(place), free(best), free(w);
    return st;
}

kry_status kryi_csr_pin(double rounding, kryi_csr *A)
{
    kry_status st = KRY_OK;
    kryi_null_parts N;
    kryi_csr B = { 0 };

    TRY(kryi_csr_null_parts(A, rounding, &N));
    if (N.empty) {
        TRY(add_diagonal(A, &N, &B));
        for (int64_t i = 0; i < B.rows; i++)
            if (N.of[i] >= N.parts) ((double *)B.val)[kryi_csr_find(&B, i, i)] = 1;
        kryi_csr_release(A);
        *A = B, B = (kryi_csr){ 0 };
    }
    TRY(pin_parts(&N, A));
done:
    kryi_csr_release(&B);
    kryi_null_parts_release(&N);
    return st;
}
