/* multiply_within.c - products of sparse matrices on the host whose places are known. */
#include "sparse/csr.h"
#include <assert.h>
#include <stdlib.h>

/* ---- A diag(d) B ----------------------------------------------------------------------------- */

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

/* ---- R A P ----------------------------------------------------------------------------------- */

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

    TRY(kryi_csr_multiply_unsorted(A, P, &AP));
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
