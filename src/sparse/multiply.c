/* multiply.c - products of sparse matrices on the host, row by row (Gustavson). */
#include "sparse/sparse.h"
#include <assert.h>
#include <stdlib.h>

/* A product that grows row by row. last[j]: 1 + the last entry in column j. */
typedef struct product {
    const kry_sparse *A, *B;
    bool lower; /* only what is not above the diagonal */
    kry_sparse *C;
    int64_t *last, room;
} product;

/* Let there be room for row i whatever it will have. */
static kry_status make_room(product *p, int64_t i)
{
    kry_status st = KRY_OK;
    const kry_sparse *A = p->A;
    int64_t most = p->C->row_ptr[i];

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
        most += kry_row_length(p->B, A->col[e]);
    if (most <= p->room) return KRY_OK;
    p->room = most + most / 2;
    TRY(kry_realloc((size_t)p->room, sizeof *p->C->col, &p->C->col));
    if (A->val) TRY(kry_realloc((size_t)p->room, sizeof(double), &p->C->val));
done:
    return st;
}

/* Row i, its columns in the order in which they are met. */
static void multiply_row(product *p, int64_t i)
{
    const kry_sparse *A = p->A, *B = p->B;
    const double *a = A->val, *b = B->val;
    int32_t *col = p->C->col;
    double *val = p->C->val;
    const int64_t begin = p->C->row_ptr[i];
    int64_t end = begin;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int64_t k = A->col[e];
        for (int64_t f = B->row_ptr[k]; f < B->row_ptr[k + 1]; f++) {
            const int32_t j = B->col[f];
            const int64_t at = p->last[j] - 1;
            if (p->lower && j > i) continue;
            if (at >= begin) {
                if (val) val[at] += a[e] * b[f];
                continue;
            }
            if (val) val[end] = a[e] * b[f];
            col[end++] = j, p->last[j] = end;
        }
    }
    p->C->row_ptr[i + 1] = end;
}

/* C := A B, columns in any order. */
static kry_status multiply(const kry_sparse *A, const kry_sparse *B, bool lower, kry_sparse *C)
{
    kry_status st = KRY_OK;
    product p = { .A = A, .B = B, .lower = lower, .C = C };

    assert(A->cols == B->rows && !A->val == !B->val);
    assert(!A->val || (A->type == KRY_F64 && B->type == KRY_F64));
    *C = (kry_sparse){ .rows = A->rows, .cols = B->cols, .type = KRY_F64 };
    TRY(kry_alloc((size_t)B->cols, sizeof *p.last, &p.last));
    TRY(kry_alloc((size_t)C->rows + 1, sizeof *C->row_ptr, &C->row_ptr));
    for (int64_t i = 0; i < C->rows; i++) {
        TRY(make_room(&p, i));
        multiply_row(&p, i);
    }
    TRY(kry_realloc((size_t)kry_sparse_nnz(C), sizeof *C->col, &C->col)); /* what is too much */
    if (A->val) TRY(kry_realloc((size_t)kry_sparse_nnz(C), sizeof(double), &C->val));
done:
    if (st < 0) kry_sparse_release(C);
    free(p.last);
    return st;
}

/* Entries begin ... end - 1 of C, by insertion. */
static void sort_row(kry_sparse *C, int64_t begin, int64_t end)
{
    double *val = C->val;

    for (int64_t e = begin + 1; e < end; e++) {
        const int32_t col = C->col[e];
        const double v = val ? val[e] : 0;
        int64_t at = e;
        for (; at > begin && C->col[at - 1] > col; at--) {
            C->col[at] = C->col[at - 1];
            if (val) val[at] = val[at - 1];
        }
        C->col[at] = col;
        if (val) val[at] = v;
    }
}

kry_status kry_sparse_multiply(const kry_sparse *A, const kry_sparse *B, kry_sparse *C)
{
    enum { SHORT = 32 }; /* rows up to which insertion is faster than two transpositions */
    kry_status st = KRY_OK;

    TRY(multiply(A, B, false, C));
    if (kry_longest_row(C) > SHORT) return kry_sparse_sort(C);
    for (int64_t i = 0; i < C->rows; i++) sort_row(C, C->row_ptr[i], C->row_ptr[i + 1]);
done:
    return st;
}

/* Append the entries of row i of a matrix in double to row i of C, those on the diagonal if asked for. */
static void append_row(const kry_sparse *from, int64_t i, bool diagonal, kry_sparse *C)
{
    const double *val = from->val;
    double *to = C->val;

    for (int64_t e = from->row_ptr[i]; e < from->row_ptr[i + 1]; e++) {
        if (from->col[e] == i && !diagonal) continue;
        const int64_t at = C->row_ptr[i + 1]++;
        C->col[at] = from->col[e], to[at] = val[e];
    }
}

/* C := L + L' with the diagonal of L once; L: lower triangle, columns in any order. */
static kry_status mirror(const kry_sparse *L, kry_sparse *C)
{
    kry_status st = KRY_OK;
    kry_sparse upper = { 0 }, lower = { 0 };

    TRY(kry_sparse_transpose(L, &upper)); /* columns ascend */
    TRY(kry_sparse_transpose(&upper, &lower));
    TRY(kry_sparse_create(L->rows, L->cols, KRY_F64, 2 * kry_sparse_nnz(L), C));
    for (int64_t i = 0; i < L->rows; i++) {
        C->row_ptr[i + 1] = C->row_ptr[i];
        append_row(&lower, i, false, C);
        append_row(&upper, i, true, C);
    }
done:
    kry_sparse_release(&lower);
    kry_sparse_release(&upper);
    return st;
}

kry_status kry_sparse_triple(const kry_sparse *R, const kry_sparse *A, const kry_sparse *P,
                             kry_sparse *C)
{
    kry_status st = KRY_OK;
    kry_sparse AP = { 0 }, L = { 0 };

    *C = (kry_sparse){ 0 };
    TRY(multiply(A, P, false, &AP));
    TRY(multiply(R, &AP, true, &L));
    kry_sparse_release(&AP);
    TRY(mirror(&L, C));
done:
    kry_sparse_release(&L);
    kry_sparse_release(&AP);
    return st;
}

/* Row i; place[j]: where (i, j) is in C, -1: nowhere. */
static void add_row(const kry_sparse *A, const double *d, const kry_sparse *B, int64_t i,
                    const int64_t *place, double *c)
{
    const double *a = A->val, *b = B->val;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        int64_t k = A->col[e];
        for (int64_t f = B->row_ptr[k]; f < B->row_ptr[k + 1]; f++) {
            int64_t at = place[B->col[f]];
            if (at < 0) continue;
            double both = a[e] * b[f];
            c[at] += d ? both * d[k] : both;
        }
    }
}

kry_status kry_sparse_multiply_within(const kry_sparse *A, const double *d, const kry_sparse *B,
                                      kry_sparse *C)
{
    kry_status st = KRY_OK;
    int64_t *place = NULL;
    double *c = C->val;

    assert(A->rows == C->rows && A->cols == B->rows && B->cols == C->cols);
    TRY(kry_alloc((size_t)C->cols, sizeof *place, &place));
    for (int64_t j = 0; j < C->cols; j++) place[j] = -1;
    for (int64_t i = 0; i < C->rows; i++) {
        for (int64_t e = C->row_ptr[i]; e < C->row_ptr[i + 1]; e++) place[C->col[e]] = e, c[e] = 0;
        add_row(A, d, B, i, place, c);
        for (int64_t e = C->row_ptr[i]; e < C->row_ptr[i + 1]; e++) place[C->col[e]] = -1;
    }
done:
    free(place);
    return st;
}
