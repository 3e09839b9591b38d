/*
 * interpolate.c - extended+i interpolation in the variant that is made of products of matrices. An F point i is
 * interpolated from the C points that it depends on, and from those that the other points k depend on
 * that it depends on:
 *
 *   w_ij = -(a_ij + sum_k a_ik a_kj / s_ik) / d_i,    s_ik = a_ki + sum_l a_kl, l the C points that k depends on
 *   d_i  = a_ii + sum_n a_in + sum_k a_ik a_ki / s_ik,    n the points that i does not depend on
 *
 * where a_kj and a_kl of row k count if k depends on that C point and if they are negative, and a_ki is taken
 * from row i, to which it is equal. If s_ik is zero, a_ik is added to d_i. Points that are alone have no error after
 * relaxation: n is none of them. Of a long row k only a_ki counts, so that the work stays linear.
 *
 * cl/amg/interpolation.cl does the same on devices, with the same sums in the same order.
 */
#include "amg/classical.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = KRY_INTERPOLATE_MOST, LONG = KRY_INTERPOLATE_LONG };

/* What all rows of P are made with. */
typedef struct maker {
    const kryi_csr *A, *S; /* borrowed */
    const char *point;
    int64_t cols;
    int32_t *number;  /* n: of a C point among C points */
    kryi_csr near;    /* C points that the others depend on, by numbers; 0 for positive couplings */
    double *near_sum; /* n: of a row of it */
    struct weights *of_part;
    kryi_csr *P;
} maker;

/* One row of P before it is truncated. */
typedef struct weights {
    int32_t *row;     /* cols: i + 1 if there is a weight of row i */
    double *weight;   /* cols: times -d */
    int32_t *members; /* cols: where there is one */
    int64_t count;    /* how many */
    double d, sum;    /* sum: of the weights */
} weights;

static kry_status weights_create(size_t cols, weights *w)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc(cols, sizeof *w->row, &w->row));
    TRY(kryi_alloc(cols, sizeof *w->weight, &w->weight));
    TRY(kryi_alloc(cols, sizeof *w->members, &w->members));
done:
    return st;
}

/* ---- couplings to C points ------------------------------------------------------------------- */

static void count_near(void *user, int part, int64_t begin, int64_t end)
{
    const maker *m = user;
    const kryi_csr *S = m->S;

    (void)part;
    for (int64_t k = begin; k < end; k++) {
        int64_t count = 0;
        if (m->point[k] != KRY_POINT_C && kryi_row_length(m->A, k) <= LONG)
            for (int64_t f = S->row_ptr[k]; f < S->row_ptr[k + 1]; f++)
                count += m->point[S->col[f]] == KRY_POINT_C;
        m->near.row_ptr[k + 1] = count;
    }
}

static void find_near(void *user, int part, int64_t begin, int64_t end)
{
    const maker *m = user;
    const kryi_csr *A = m->A, *S = m->S, *near = &m->near;
    const double *a = A->val;
    double *val = near->val;

    (void)part;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = near->row_ptr[k], e = A->row_ptr[k];
        if (near->row_ptr[k + 1] == at) continue;
        for (int64_t f = S->row_ptr[k]; f < S->row_ptr[k + 1]; f++) {
            const int32_t j = S->col[f];
            if (m->point[j] != KRY_POINT_C) continue;
            while (A->col[e] != j) e++;
            near->col[at] = m->number[j], val[at] = fmin(a[e], 0);
            m->near_sum[k] += val[at++];
        }
    }
}

static kry_status near_create(maker *m, int parts)
{
    kry_status st = KRY_OK;
    const int64_t n = m->A->rows;
    kryi_csr *near = &m->near;

    *near = (kryi_csr){ .rows = n, .cols = m->cols, .type = KRY_F64 };
    TRY(kryi_alloc((size_t)n, sizeof *m->near_sum, &m->near_sum));
    TRY(kryi_alloc((size_t)n + 1, sizeof *near->row_ptr, &near->row_ptr));
    kryi_parallel(parts, n, count_near, m);
    for (int64_t k = 0; k < n; k++) near->row_ptr[k + 1] += near->row_ptr[k];
    TRY(kryi_alloc((size_t)kryi_csr_nnz(near), sizeof *near->col, &near->col));
    TRY(kryi_alloc((size_t)kryi_csr_nnz(near), sizeof(double), &near->val));
    kryi_parallel(parts, n, find_near, m);
done:
    return st;
}

static kry_status maker_create(const kryi_csr *A, const kryi_csr *S, const char *point, int parts,
                               maker *m)
{
    kry_status st = KRY_OK;

    *m = (maker){ .A = A, .S = S, .point = point };
    TRY(kryi_alloc((size_t)A->rows, sizeof *m->number, &m->number));
    for (int64_t i = 0; i < A->rows; i++)
        if (point[i] == KRY_POINT_C) m->number[i] = (int32_t)m->cols++;
    TRY(near_create(m, parts));
    TRY(kryi_alloc((size_t)parts, sizeof *m->of_part, &m->of_part));
    for (int p = 0; p < parts; p++) TRY(weights_create((size_t)m->cols, &m->of_part[p]));
done:
    return st;
}

/* ---- weights of a row ------------------------------------------------------------------------ */

static void add(weights *w, int32_t i, int32_t c, double a)
{
    if (w->row[c] != i + 1) {
        w->row[c] = i + 1, w->weight[c] = 0;
        w->members[w->count++] = c;
    }
    w->weight[c] += a;
}

/* Share a_ik out among the C points that k depends on and i. */
static void share_out(const maker *m, weights *w, int32_t i, int32_t k, double a_ik)
{
    const kryi_csr *near = &m->near;
    const double *val = near->val;
    const double back = fmin(a_ik, 0), s = m->near_sum[k] + back;
    const double part = s != 0 ? a_ik / s : 0, own = s != 0 ? part * back : a_ik;

    for (int64_t f = near->row_ptr[k]; f < near->row_ptr[k + 1]; f++)
        add(w, i, near->col[f], part * val[f]);
    w->d += own, w->sum += a_ik - own;
}

static void weigh(const maker *m, weights *w, int32_t i)
{
    const kryi_csr *A = m->A, *S = m->S;
    const double *a = A->val;
    const int64_t end = S->row_ptr[i + 1];
    int64_t next = S->row_ptr[i]; /* strong coupling */
    double diagonal = 0;

    w->count = 0, w->d = w->sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int32_t j = A->col[e];
        const bool strong = next < end && S->col[next] == j;
        next += strong;
        if (strong && m->point[j] == KRY_POINT_C)
            add(w, i, m->number[j], a[e]), w->sum += a[e];
        else if (strong)
            share_out(m, w, i, j, a[e]);
        else if (m->point[j] != KRY_POINT_ALONE)
            w->d += a[e];
        if (j == i) diagonal = a[e];
    }
    /* Where weak couplings outweigh the diagonal there is no use in adding them. */
    if (w->d <= 1e-10 * diagonal) w->d = diagonal;
}

/* ---- truncation ------------------------------------------------------------------------------ */

/* Whether member j comes before member l. */
static bool larger(const weights *w, int32_t j, int32_t l)
{
    const double a = fabs(w->weight[j]), b = fabs(w->weight[l]);
    return a > b || (a == b && j < l);
}

/* kept[] := the members that a row keeps, ascending; returns how many. */
static int keep_largest(const weights *w, int32_t kept[MOST])
{
    const double least = 0.15; /* of the largest weight */
    int keep = 0;

    for (int64_t k = 0; k < w->count; k++) {
        int at = keep;
        while (at > 0 && larger(w, w->members[k], kept[at - 1])) at--;
        if (at == MOST) continue;
        if (keep < MOST) keep++;
        memmove(kept + at + 1, kept + at, (size_t)(keep - at - 1) * sizeof *kept);
        kept[at] = w->members[k];
    }
    while (keep > 1 && fabs(w->weight[kept[keep - 1]]) < least * fabs(w->weight[kept[0]])) keep--;
    for (int k = 1; k < keep; k++)
        for (int at = k; at > 0 && kept[at] < kept[at - 1]; at--) {
            const int32_t j = kept[at];
            kept[at] = kept[at - 1], kept[at - 1] = j;
        }
    return keep;
}

/* What makes entries of P of the kept weights: they are divided by -d, and have the sum of all of them. Where
 * signs are mixed the sum of few may be next to nothing: then they are not scaled. */
static double factor_of(const weights *w, const int32_t *kept, int64_t keep)
{
    double some = 0, size = 0;

    for (int64_t k = 0; k < keep; k++) {
        some += w->weight[kept[k]];
        size += fabs(w->weight[kept[k]]);
    }
    const double scale = w->sum * some > 0 && fabs(some) >= 0.1 * size ? w->sum / some : 1;
    return scale / -w->d;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* Row i, from place `at` on, whose columns are there. */
static void put_numbers(const maker *m, const weights *w, int64_t i, int64_t at, int64_t keep)
{
    const int32_t *kept = m->P->col + at;
    double *val = (double *)m->P->val + at;

    if (m->point[i] == KRY_POINT_C) val[0] = 1;
    if (m->point[i] != KRY_POINT_F) return;
    const double factor = factor_of(w, kept, keep);
    for (int64_t k = 0; k < keep; k++) val[k] = factor * w->weight[kept[k]];
}

/* Each row of P at its first place, with room for MOST entries; row_ptr[i + 1]: how many it has. */
static void put_rows(void *user, int part, int64_t begin, int64_t end)
{
    const maker *m = user;
    weights *w = &m->of_part[part];

    for (int64_t i = begin; i < end; i++) {
        int32_t kept[MOST + 1] = { m->number[i] };
        int keep = m->point[i] == KRY_POINT_C;
        if (m->point[i] == KRY_POINT_F) {
            weigh(m, w, (int32_t)i);
            keep = keep_largest(w, kept);
        }
        memcpy(m->P->col + i * MOST, kept, (size_t)keep * sizeof *kept);
        put_numbers(m, w, i, i * MOST, keep);
        m->P->row_ptr[i + 1] = keep;
    }
}

/* New numbers for an interpolation whose pattern stays. */
static void renew_rows(void *user, int part, int64_t begin, int64_t end)
{
    const maker *m = user;
    weights *w = &m->of_part[part];

    for (int64_t i = begin; i < end; i++) {
        if (m->point[i] == KRY_POINT_F) weigh(m, w, (int32_t)i);
        put_numbers(m, w, i, m->P->row_ptr[i], kryi_row_length(m->P, i));
    }
}

/* Close the gaps between the rows of P, each of which has room for MOST entries. */
static void close_gaps(kryi_csr *P)
{
    double *val = P->val;
    int64_t end = 0;

    for (int64_t i = 0; i < P->rows; i++) {
        const int64_t length = P->row_ptr[i + 1];
        for (int64_t k = 0; k < length; k++)
            P->col[end + k] = P->col[i * MOST + k], val[end + k] = val[i * MOST + k];
        P->row_ptr[i + 1] = end += length;
    }
}

static kry_status make(maker *m, int parts, kryi_csr *P)
{
    kry_status st = KRY_OK;
    const int64_t n = m->A->rows;

    TRY(kryi_csr_create(n, m->cols, KRY_F64, MOST * n, P));
    m->P = P;
    kryi_parallel(parts, n, put_rows, m);
    close_gaps(P);
    TRY(kryi_realloc((size_t)kryi_csr_nnz(P) + 1, sizeof *P->col, &P->col));
    TRY(kryi_realloc((size_t)kryi_csr_nnz(P) + 1, sizeof(double), &P->val));
done:
    if (st < 0) kryi_csr_release(P);
    return st;
}

static kry_status renew(maker *m, int parts, kryi_csr *P)
{
    kry_status st = KRY_OK;

    if (!P->val) TRY(kryi_alloc((size_t)kryi_csr_nnz(P), sizeof(double), &P->val));
    m->P = P;
    kryi_parallel(parts, P->rows, renew_rows, m);
done:
    return st;
}

kry_status kryi_interpolate(const kryi_csr *A, const kryi_csr *S, const char *point, kryi_csr *P)
{
    kry_status st = KRY_OK;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    maker m = { 0 };

    TRY(maker_create(A, S, point, parts, &m));
    TRY(P->row_ptr ? renew(&m, parts, P) : make(&m, parts, P));
done:
    for (int p = 0; m.of_part && p < parts; p++) {
        free(m.of_part[p].members);
        free(m.of_part[p].weight);
        free(m.of_part[p].row);
    }
    free(m.of_part);
    free(m.near_sum);
    kryi_csr_release(&m.near);
    free(m.number);
    return st;
}
