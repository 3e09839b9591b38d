/* multiply.c - products of sparse matrices on the host, row by row (Gustavson); also their numbers alone, where the places
 * are known. */
#include "sparse/csr.h"
#include <assert.h>
#include <stdlib.h>

/* C := A B. A part of the rows has its own B->cols numbers in `last`. */
typedef struct product {
    const kryi_csr *A, *B;
    kryi_csr *C;
    int64_t *last;
} product;

enum { SHORT = 32 }; /* rows up to which insertion is faster than two transpositions */

/* row_ptr[i + 1] := the entries of row i. last[j]: -i - 1 of the last row i in which column j was met. */
static void count_rows(void *user, int part, int64_t begin, int64_t end)
{
    const product *p = user;
    const kryi_csr *A = p->A, *B = p->B;
    int64_t *last = p->last + part * B->cols;

    for (int64_t i = begin; i < end; i++) {
        int64_t count = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            for (int64_t f = B->row_ptr[A->col[e]]; f < B->row_ptr[A->col[e] + 1]; f++) {
                const int32_t j = B->col[f];
                count += last[j] != -i - 1;
                last[j] = -i - 1;
            }
        p->C->row_ptr[i + 1] = count;
    }
}

/* Row i, its columns in the order in which they are met. last[j]: 1 + the last entry in column j, or
 * not positive. */
static void multiply_row(const product *p, int64_t *last, int64_t i)
{
    const kryi_csr *A = p->A, *B = p->B;
    const double *a = A->val, *b = B->val;
    const int64_t begin = p->C->row_ptr[i];
    int32_t *col = p->C->col;
    double *val = p->C->val;
    int64_t end = begin;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int64_t k = A->col[e];
        for (int64_t f = B->row_ptr[k]; f < B->row_ptr[k + 1]; f++) {
            const int32_t j = B->col[f];
            const int64_t at = last[j] - 1;
            if (at >= begin) {
                if (val) val[at] += a[e] * b[f];
                continue;
            }
            if (val) val[end] = a[e] * b[f];
            col[end++] = j, last[j] = end;
        }
    }
}

static void multiply_rows(void *user, int part, int64_t begin, int64_t end)
{
    const product *p = user;
    for (int64_t i = begin; i < end; i++) multiply_row(p, p->last + part * p->B->cols, i);
}

/* Rows begin ... end - 1 of C, by insertion. */
static void sort_rows(void *user, int part, int64_t begin, int64_t end)
{
    kryi_csr *C = user;
    double *val = C->val;

    (void)part;
    for (int64_t i = begin; i < end; i++)
        for (int64_t e = C->row_ptr[i] + 1; e < C->row_ptr[i + 1]; e++) {
            const int32_t col = C->col[e];
            const double v = val ? val[e] : 0;
            int64_t at = e;
            for (; at > C->row_ptr[i] && C->col[at - 1] > col; at--) {
                C->col[at] = C->col[at - 1];
                if (val) val[at] = val[at - 1];
            }
            C->col[at] = col;
            if (val) val[at] = v;
        }
}

kry_status kryi_csr_multiply(const kryi_csr *A, const kryi_csr *B, kryi_csr *C)
{
    kry_status st = KRY_OK;
    product p = { .A = A, .B = B, .C = C };
    const int parts = kryi_parts(kryi_csr_nnz(A) + kryi_csr_nnz(B));

    assert(A->cols == B->rows && !A->val == !B->val);
    assert(!A->val || (A->type == KRY_F64 && B->type == KRY_F64));
    *C = (kryi_csr){ .rows = A->rows, .cols = B->cols, .type = KRY_F64 };
    TRY(kryi_alloc((uint64_t)(parts * B->cols), sizeof *p.last, &p.last));
    TRY(kryi_alloc((size_t)C->rows + 1, sizeof *C->row_ptr, &C->row_ptr));
    kryi_parallel(parts, C->rows, count_rows, &p);
    for (int64_t i = 0; i < C->rows; i++) C->row_ptr[i + 1] += C->row_ptr[i];
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(C), sizeof *C->col, &C->col));
    if (A->val) TRY(kryi_alloc((uint64_t)kryi_csr_nnz(C), sizeof(double), &C->val));
    kryi_parallel(parts, C->rows, multiply_rows, &p);
    if (kryi_longest_row(C) > SHORT)
        TRY(kryi_csr_sort(C));
    else
        kryi_parallel(parts, C->rows, sort_rows, C);
done:
    if (st < 0) kryi_csr_release(C);
    free(p.last);
    return st;
}

/* ---- A diag(d) B, whose places are known ------------------------------------------------------- */

/* A part of the rows has its own C->cols numbers in `place`. */
typedef struct within {
    const kryi_csr *A, *B;
    const double *d;
    kryi_csr *C;
    int64_t *place;
} within;

/* Row i; place[j]: where (i, j) is in C, -1: nowhere. */
static void add_row(const within *w, int64_t i, const int64_t *place)
{
    const kryi_csr *A = w->A, *B = w->B;
    const double *a = A->val, *b = B->val;
    double *c = w->C->val;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        int64_t k = A->col[e];
        for (int64_t f = B->row_ptr[k]; f < B->row_ptr[k + 1]; f++) {
            int64_t at = place[B->col[f]];
            if (at < 0) continue;
            double both = a[e] * b[f];
            c[at] += w->d ? both * w->d[k] : both;
        }
    }
}

static void add_rows(void *user, int part, int64_t begin, int64_t end)
{
    const within *w = user;
    const kryi_csr *C = w->C;
    int64_t *place = w->place + part * C->cols;
    double *c = C->val;

    for (int64_t j = 0; j < C->cols; j++) place[j] = -1;
    for (int64_t i = begin; i < end; i++) {
        for (int64_t e = C->row_ptr[i]; e < C->row_ptr[i + 1]; e++) place[C->col[e]] = e, c[e] = 0;
        add_row(w, i, place);
        for (int64_t e = C->row_ptr[i]; e < C->row_ptr[i + 1]; e++) place[C->col[e]] = -1;
    }
}

kry_status kryi_csr_multiply_within(const kryi_csr *A, const double *d, const kryi_csr *B,
                                    kryi_csr *C)
{
    kry_status st = KRY_OK;
    const int parts = kryi_parts(kryi_csr_nnz(A) + kryi_csr_nnz(B));
    within w = { .A = A, .B = B, .d = d, .C = C };

    assert(A->rows == C->rows && A->cols == B->rows && B->cols == C->cols);
    TRY(kryi_alloc((uint64_t)(parts * C->cols), sizeof *w.place, &w.place));
    kryi_parallel(parts, C->rows, add_rows, &w);
done:
    free(w.place);
    return st;
}
