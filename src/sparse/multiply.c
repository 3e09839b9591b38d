/* multiply.c - products of sparse matrices on the host, row by row (Gustavson); also their numbers alone, where the places
 * are known. */
#include "sparse/csr.h"
#include <assert.h>
#include <stdlib.h>

/* C := A B. A part of the rows has its own B->cols numbers in `last`. */
typedef struct product {
    const kryi_csr *A, *B;
    bool lower; /* only what is not above the diagonal */
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
        const int64_t most = p->lower ? i : B->cols;
        int64_t count = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            for (int64_t f = B->row_ptr[A->col[e]]; f < B->row_ptr[A->col[e] + 1]; f++) {
                const int32_t j = B->col[f];
                count += j <= most && last[j] != -i - 1;
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
    const int64_t begin = p->C->row_ptr[i], most = p->lower ? i : B->cols;
    int32_t *col = p->C->col;
    double *val = p->C->val;
    int64_t end = begin;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int64_t k = A->col[e];
        for (int64_t f = B->row_ptr[k]; f < B->row_ptr[k + 1]; f++) {
            const int32_t j = B->col[f];
            const int64_t at = last[j] - 1;
            if (j > most) continue;
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

/* C := A B, columns in any order. */
static kry_status multiply(const kryi_csr *A, const kryi_csr *B, bool lower, kryi_csr *C)
{
    kry_status st = KRY_OK;
    product p = { .A = A, .B = B, .lower = lower, .C = C };
    const int parts = kryi_parts(kryi_csr_nnz(A) + kryi_csr_nnz(B));

    assert(A->cols == B->rows && !A->val == !B->val);
    assert(!A->val || (A->type == KRY_F64 && B->type == KRY_F64));
    *C = (kryi_csr){ .rows = A->rows, .cols = B->cols, .type = KRY_F64 };
    TRY(kryi_alloc((size_t)(parts * B->cols), sizeof *p.last, &p.last));
    TRY(kryi_alloc((size_t)C->rows + 1, sizeof *C->row_ptr, &C->row_ptr));
    kryi_parallel(parts, C->rows, count_rows, &p);
    for (int64_t i = 0; i < C->rows; i++) C->row_ptr[i + 1] += C->row_ptr[i];
    TRY(kryi_alloc((size_t)kryi_csr_nnz(C), sizeof *C->col, &C->col));
    if (A->val) TRY(kryi_alloc((size_t)kryi_csr_nnz(C), sizeof(double), &C->val));
    kryi_parallel(parts, C->rows, multiply_rows, &p);
done:
    if (st < 0) kryi_csr_release(C);
    free(p.last);
    return st;
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

    TRY(multiply(A, B, false, C));
    if (kryi_longest_row(C) > SHORT) return kryi_csr_sort(C);
    kryi_parallel(kryi_parts(kryi_csr_nnz(C)), C->rows, sort_rows, C);
done:
    return st;
}

/* The upper triangle and the diagonal of C := L + L' - D, from place upper[j] on in row j; lower[i]: the first place
 * of row i. The rows of L come in order, so that columns ascend. */
static void put_upper(const kryi_csr *L, int64_t *upper, kryi_csr *C)
{
    const double *l = L->val;
    double *c = C->val;

    for (int64_t i = 0; i < L->rows; i++)
        for (int64_t e = L->row_ptr[i]; e < L->row_ptr[i + 1]; e++) {
            const int64_t at = upper[L->col[e]]++;
            C->col[at] = (int32_t)i, c[at] = l[e];
        }
}

/* Below the diagonal from what is above it. next[i]: the first place of row i; when row j comes all of its
 * entries below the diagonal are there. */
static void put_lower(int64_t *next, kryi_csr *C)
{
    double *c = C->val;

    for (int64_t j = 0; j < C->rows; j++)
        for (int64_t e = next[j]; e < C->row_ptr[j + 1]; e++) {
            if (C->col[e] == j) continue;
            const int64_t at = next[C->col[e]]++;
            C->col[at] = (int32_t)j, c[at] = c[e];
        }
}

/* C := L + L' with the diagonal of L once; L: lower triangle, columns in any order. */
static kry_status mirror(const kryi_csr *L, kryi_csr *C)
{
    kry_status st = KRY_OK;
    const int64_t n = L->rows;
    int64_t *upper = NULL, *next = NULL, doubles = 0;

    TRY(kryi_alloc((size_t)n, sizeof *upper, &upper));
    TRY(kryi_alloc((size_t)n, sizeof *next, &next));
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = L->row_ptr[i]; e < L->row_ptr[i + 1]; e++)
            upper[L->col[e]]++, next[i] += L->col[e] != i, doubles += L->col[e] != i;
    TRY(kryi_csr_create(n, n, KRY_F64, kryi_csr_nnz(L) + doubles, C));
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = C->row_ptr[i];
        C->row_ptr[i + 1] = first + next[i] + upper[i];
        upper[i] = first + next[i], next[i] = first;
    }
    put_upper(L, upper, C);
    put_lower(next, C);
done:
    free(next);
    free(upper);
    return st;
}

kry_status kryi_csr_triple(const kryi_csr *R, const kryi_csr *A, const kryi_csr *P, kryi_csr *C)
{
    kry_status st = KRY_OK;
    kryi_csr AP = { 0 }, L = { 0 };

    *C = (kryi_csr){ 0 };
    TRY(multiply(A, P, false, &AP));
    TRY(multiply(R, &AP, true, &L));
    kryi_csr_release(&AP);
    TRY(mirror(&L, C));
done:
    kryi_csr_release(&L);
    kryi_csr_release(&AP);
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
    TRY(kryi_alloc((size_t)(parts * C->cols), sizeof *w.place, &w.place));
    kryi_parallel(parts, C->rows, add_rows, &w);
done:
    free(w.place);
    return st;
}

/* ---- R A P, whose places are known ------------------------------------------------------------- */

/* A part of the rows has its own C->cols numbers in `place`, and `room` in `sum`. */
typedef struct galerkin {
    const kryi_csr *R, *AP;
    kryi_csr *C;
    int64_t room; /* 1 + entries of the longest row of C */
    int32_t *place;
    double *sum;
} galerkin;

/* Entries (i, j) of R AP, j <= i. sum[place[j]] is where they are summed up, sum[0] those that have no place. */
static void sum_row(const galerkin *g, int64_t i, const int32_t *place, double *sum)
{
    const kryi_csr *R = g->R, *AP = g->AP;
    const double *r = R->val, *ap = AP->val;

    for (int64_t e = R->row_ptr[i]; e < R->row_ptr[i + 1]; e++) {
        const int64_t k = R->col[e];
        for (int64_t f = AP->row_ptr[k]; f < AP->row_ptr[k + 1]; f++)
            sum[place[AP->col[f]]] += r[e] * ap[f];
    }
}

static void sum_rows(void *user, int part, int64_t begin, int64_t end)
{
    const galerkin *g = user;
    const kryi_csr *C = g->C;
    int32_t *place = g->place + part * C->cols;
    double *sum = g->sum + part * g->room, *c = C->val;

    for (int64_t i = begin; i < end; i++) {
        const int64_t first = C->row_ptr[i];
        int64_t stop = first;
        for (; stop < C->row_ptr[i + 1] && C->col[stop] <= i; stop++) {
            place[C->col[stop]] = (int32_t)(stop - first + 1);
            sum[stop - first + 1] = 0;
        }
        sum_row(g, i, place, sum);
        for (int64_t e = first; e < stop; e++) {
            c[e] = sum[e - first + 1];
            place[C->col[e]] = 0;
        }
    }
}

/* Above the diagonal what is below it, whose rows come in order. next: rows. */
static void mirror_rows(kryi_csr *C, int64_t *next)
{
    double *c = C->val;

    for (int64_t i = 0; i < C->rows; i++) {
        int64_t e = C->row_ptr[i];
        for (; e < C->row_ptr[i + 1] && C->col[e] < i; e++) c[next[C->col[e]]++] = c[e];
        next[i] = e + (e < C->row_ptr[i + 1] && C->col[e] == i);
    }
}

kry_status kryi_csr_triple_within(const kryi_csr *R, const kryi_csr *A, const kryi_csr *P,
                                  kryi_csr *C)
{
    kry_status st = KRY_OK;
    const int parts = kryi_parts(kryi_csr_nnz(A) + kryi_csr_nnz(C));
    kryi_csr AP = { 0 };
    galerkin g = { .R = R, .AP = &AP, .C = C, .room = kryi_longest_row(C) + 1 };
    int64_t *next = NULL;

    TRY(multiply(A, P, false, &AP));
    TRY(kryi_alloc((size_t)(parts * C->cols), sizeof *g.place, &g.place));
    TRY(kryi_alloc((size_t)(parts * g.room), sizeof *g.sum, &g.sum));
    TRY(kryi_alloc((size_t)C->rows, sizeof *next, &next));
    kryi_parallel(parts, C->rows, sum_rows, &g);
    mirror_rows(C, next);
done:
    free(next);
    free(g.sum);
    free(g.place);
    kryi_csr_release(&AP);
    return st;
}
