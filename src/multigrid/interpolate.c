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
 * cl/interpolation.cl does the same on devices, with the same sums in the same order.
 */
#include "multigrid/classical.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = KRY_INTERPOLATE_MOST, LONG = KRY_INTERPOLATE_LONG };

/* What a row of P is made with. */
typedef struct maker {
    const kry_sparse *A, *S; /* borrowed */
    const char *point;
    int64_t cols;
    int32_t *number; /* n: of a C point among C points */
    /* Couplings of the other points to the C points that they depend on; 0 instead of positive ones. */
    int64_t *near_ptr; /* n + 1 */
    int32_t *near_col; /* numbers */
    double *near_val;
    double *near_sum; /* n: of a row */
    /* The row of P that is being made. */
    int32_t *row;     /* cols: i + 1 if weight is that of row i */
    double *weight;   /* cols: times -d */
    int32_t *members; /* cols: which are of row i */
    int64_t count;    /* how many */
    double d, sum;    /* sum: of the weights */
} maker;

static void maker_release(maker *m)
{
    free(m->members);
    free(m->weight);
    free(m->row);
    free(m->near_sum);
    free(m->near_val);
    free(m->near_col);
    free(m->near_ptr);
    free(m->number);
}

/* ---- couplings to C points ------------------------------------------------------------------- */

static bool has_near(const maker *m, int64_t k)
{
    return m->point[k] != KRY_POINT_C && kry_row_length(m->A, k) <= LONG;
}

static int64_t count_near(const maker *m, int64_t k)
{
    const kry_sparse *S = m->S;
    int64_t count = 0;

    if (!has_near(m, k)) return 0;
    for (int64_t f = S->row_ptr[k]; f < S->row_ptr[k + 1]; f++)
        count += m->point[S->col[f]] == KRY_POINT_C;
    return count;
}

static void find_near(maker *m, int64_t k)
{
    const kry_sparse *A = m->A, *S = m->S;
    const double *a = A->val;
    int64_t at = m->near_ptr[k], e = A->row_ptr[k];

    if (m->near_ptr[k + 1] == at) return;
    for (int64_t f = S->row_ptr[k]; f < S->row_ptr[k + 1]; f++) {
        const int32_t j = S->col[f];
        if (m->point[j] != KRY_POINT_C) continue;
        while (A->col[e] != j) e++;
        m->near_col[at] = m->number[j];
        m->near_sum[k] += m->near_val[at++] = fmin(a[e], 0);
    }
}

static kry_status maker_create(const kry_sparse *A, const kry_sparse *S, const char *point,
                               maker *m)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)A->rows;

    *m = (maker){ .A = A, .S = S, .point = point };
    TRY(kry_alloc(n, sizeof *m->number, &m->number));
    for (size_t i = 0; i < n; i++)
        if (point[i] == KRY_POINT_C) m->number[i] = (int32_t)m->cols++;
    TRY(kry_alloc(n + 1, sizeof *m->near_ptr, &m->near_ptr));
    for (size_t k = 0; k < n; k++) m->near_ptr[k + 1] = m->near_ptr[k] + count_near(m, (int64_t)k);
    const size_t near = (size_t)m->near_ptr[n], cols = (size_t)m->cols;
    TRY(kry_alloc(near, sizeof *m->near_col, &m->near_col));
    TRY(kry_alloc(near, sizeof *m->near_val, &m->near_val));
    TRY(kry_alloc(n, sizeof *m->near_sum, &m->near_sum));
    for (size_t k = 0; k < n; k++) find_near(m, (int64_t)k);
    TRY(kry_alloc(cols, sizeof *m->row, &m->row));
    TRY(kry_alloc(cols, sizeof *m->weight, &m->weight));
    TRY(kry_alloc(cols, sizeof *m->members, &m->members));
done:
    return st;
}

/* ---- weights of a row ------------------------------------------------------------------------ */

static void add(maker *m, int32_t i, int32_t c, double a)
{
    if (m->row[c] != i + 1) {
        m->row[c] = i + 1, m->weight[c] = 0;
        m->members[m->count++] = c;
    }
    m->weight[c] += a;
}

/* Share a_ik out among the C points that k depends on and i. */
static void share_out(maker *m, int32_t i, int32_t k, double a_ik)
{
    const double back = fmin(a_ik, 0), s = m->near_sum[k] + back;
    const double part = s != 0 ? a_ik / s : 0, own = s != 0 ? part * back : a_ik;

    for (int64_t f = m->near_ptr[k]; f < m->near_ptr[k + 1]; f++)
        add(m, i, m->near_col[f], part * m->near_val[f]);
    m->d += own, m->sum += a_ik - own;
}

static void weigh(maker *m, int32_t i)
{
    const kry_sparse *A = m->A, *S = m->S;
    const double *a = A->val;
    const int64_t end = S->row_ptr[i + 1];
    int64_t next = S->row_ptr[i]; /* strong coupling */
    double diagonal = 0;

    m->count = 0, m->d = m->sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int32_t j = A->col[e];
        const bool strong = next < end && S->col[next] == j;
        next += strong;
        if (strong && m->point[j] == KRY_POINT_C)
            add(m, i, m->number[j], a[e]), m->sum += a[e];
        else if (strong)
            share_out(m, i, j, a[e]);
        else if (m->point[j] != KRY_POINT_ALONE)
            m->d += a[e];
        if (j == i) diagonal = a[e];
    }
    /* Where weak couplings outweigh the diagonal there is no use in adding them. */
    if (m->d <= 1e-10 * diagonal) m->d = diagonal;
}

/* ---- truncation ------------------------------------------------------------------------------ */

/* Whether member j comes before member l. */
static bool larger(const maker *m, int32_t j, int32_t l)
{
    const double w = fabs(m->weight[j]), v = fabs(m->weight[l]);
    return w > v || (w == v && j < l);
}

/* kept[] := the members that a row keeps, ascending; returns how many. */
static int keep_largest(const maker *m, int32_t kept[MOST])
{
    const double least = 0.22; /* of the largest weight */
    int keep = 0;

    for (int64_t k = 0; k < m->count; k++) {
        int at = keep;
        while (at > 0 && larger(m, m->members[k], kept[at - 1])) at--;
        if (at == MOST) continue;
        if (keep < MOST) keep++;
        memmove(kept + at + 1, kept + at, (size_t)(keep - at - 1) * sizeof *kept);
        kept[at] = m->members[k];
    }
    while (keep > 1 && fabs(m->weight[kept[keep - 1]]) < least * fabs(m->weight[kept[0]])) keep--;
    for (int k = 1; k < keep; k++)
        for (int at = k; at > 0 && kept[at] < kept[at - 1]; at--) {
            const int32_t j = kept[at];
            kept[at] = kept[at - 1], kept[at - 1] = j;
        }
    return keep;
}

/* What makes entries of P of the kept weights: they are divided by -d, and have the sum of all of them. Where
 * signs are mixed the sum of few may be next to nothing: then they are not scaled. */
static double factor_of(const maker *m, const int32_t *kept, int64_t keep)
{
    double some = 0, size = 0;

    for (int64_t k = 0; k < keep; k++) {
        some += m->weight[kept[k]];
        size += fabs(m->weight[kept[k]]);
    }
    const double scale = m->sum * some > 0 && fabs(some) >= 0.1 * size ? m->sum / some : 1;
    return scale / -m->d;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* Numbers of row i, whose columns are there. */
static void put_numbers(maker *m, int64_t i, kry_sparse *P)
{
    const int64_t first = P->row_ptr[i], keep = kry_row_length(P, i);
    const int32_t *kept = P->col + first;
    double *val = (double *)P->val + first;

    if (m->point[i] == KRY_POINT_C) val[0] = 1;
    if (m->point[i] != KRY_POINT_F) return;
    const double factor = factor_of(m, kept, keep);
    for (int64_t k = 0; k < keep; k++) val[k] = factor * m->weight[kept[k]];
}

static kry_status make(maker *m, kry_sparse *P)
{
    kry_status st = KRY_OK;
    const int64_t n = m->A->rows;
    int64_t at = 0;

    TRY(kry_sparse_create(n, m->cols, KRY_F64, m->cols + MOST * (n - m->cols), P));
    for (int64_t i = 0; i < n; i++) {
        if (m->point[i] == KRY_POINT_C) P->col[at++] = m->number[i];
        if (m->point[i] == KRY_POINT_F) {
            int32_t kept[MOST + 1];
            weigh(m, (int32_t)i);
            const int keep = keep_largest(m, kept);
            memcpy(P->col + at, kept, (size_t)keep * sizeof *kept);
            at += keep;
        }
        P->row_ptr[i + 1] = at;
        put_numbers(m, i, P);
    }
    TRY(kry_realloc((size_t)at + 1, sizeof *P->col, &P->col));
    TRY(kry_realloc((size_t)at + 1, sizeof(double), &P->val));
done:
    if (st < 0) kry_sparse_release(P);
    return st;
}

static kry_status renew(maker *m, kry_sparse *P)
{
    kry_status st = KRY_OK;

    if (!P->val) TRY(kry_alloc((size_t)kry_sparse_nnz(P), sizeof(double), &P->val));
    for (int64_t i = 0; i < P->rows; i++) {
        if (m->point[i] == KRY_POINT_F) weigh(m, (int32_t)i);
        put_numbers(m, i, P);
    }
done:
    return st;
}

kry_status kry_interpolate(const kry_sparse *A, const kry_sparse *S, const char *point,
                           kry_sparse *P)
{
    kry_status st = KRY_OK;
    maker m = { 0 };

    TRY(maker_create(A, S, point, &m));
    TRY(P->row_ptr ? renew(&m, P) : make(&m, P));
done:
    maker_release(&m);
    return st;
}
