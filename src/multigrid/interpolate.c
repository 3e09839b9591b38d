/*
 * interpolate.c - extended+i interpolation. An F point i is interpolated from C_i, the C points that it
 * depends on and those that the other points depend on that it depends on, F_i:
 *
 *   w_ij = -(a_ij + sum_(k in F_i) a_ik a_kj / s_k) / d_i,    s_k = a_ki + sum_(l in C_i) a_kl
 *   d_i  = a_ii + sum_(n neither in C_i nor in F_i) a_in + sum_(k in F_i) a_ik a_ki / s_k
 *
 * where of row k only the negative entries count, and a_ki is taken from row i, to which it is equal. If s_k is
 * zero, a_ik is added to d_i. Points that are alone have no error after relaxation, and are left out, unless i
 * depends on them. Of a long row k only a_ki counts, so that the work stays linear.
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
    int32_t *number;  /* n: of a C point among C points, -1: none */
    int32_t *c, *f;   /* n each: i + 1 if the point is in C_i, in F_i */
    int32_t *members; /* n: C_i */
    double *weight;   /* n: of points in C_i, times -d */
    double d, sum;    /* d_i; sum of the weights */
} maker;

static void maker_release(maker *m)
{
    free(m->weight);
    free(m->members);
    free(m->f);
    free(m->c);
    free(m->number);
}

static kry_status maker_create(const kry_sparse *A, const kry_sparse *S, const char *point,
                               maker *m)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)A->rows;
    int32_t count = 0;

    *m = (maker){ .A = A, .S = S, .point = point };
    TRY(kry_alloc(n, sizeof *m->number, &m->number));
    TRY(kry_alloc(n, sizeof *m->c, &m->c));
    TRY(kry_alloc(n, sizeof *m->f, &m->f));
    TRY(kry_alloc(n, sizeof *m->members, &m->members));
    TRY(kry_alloc(n, sizeof *m->weight, &m->weight));
    for (size_t i = 0; i < n; i++) m->number[i] = point[i] == KRY_POINT_C ? count++ : -1;
done:
    return st;
}

/* ---- weights of a row ------------------------------------------------------------------------ */

/* Add the C points that row j depends on to C_i, which has `count`. */
static int64_t add_members(maker *m, int32_t i, int32_t j, int64_t count)
{
    const kry_sparse *S = m->S;

    for (int64_t e = S->row_ptr[j]; e < S->row_ptr[j + 1]; e++) {
        const int32_t l = S->col[e];
        if (m->point[l] != KRY_POINT_C || m->c[l] == i + 1) continue;
        m->c[l] = i + 1, m->weight[l] = 0;
        m->members[count++] = l;
    }
    return count;
}

static int64_t find_members(maker *m, int32_t i)
{
    const kry_sparse *S = m->S;
    int64_t count = add_members(m, i, i, 0);

    for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++) {
        const int32_t k = S->col[e];
        if (m->point[k] == KRY_POINT_C) continue;
        m->f[k] = i + 1;
        if (kry_row_length(m->A, k) <= LONG) count = add_members(m, i, k, count);
    }
    return count;
}

/* Share a_ik out among C_i and i, in the proportions of row k. Returns what goes to i. */
static double share_out(maker *m, int32_t i, int32_t k, double a_ik)
{
    const kry_sparse *A = m->A;
    const double *a = A->val;
    double sum = 0;

    if (kry_row_length(A, k) > LONG) return a_ik;
    for (int64_t e = A->row_ptr[k]; e < A->row_ptr[k + 1]; e++)
        if (m->c[A->col[e]] == i + 1 && a[e] < 0) sum += a[e];
    sum += fmin(a_ik, 0);
    if (sum == 0) return a_ik;
    const double part = a_ik / sum;
    for (int64_t e = A->row_ptr[k]; e < A->row_ptr[k + 1]; e++)
        if (m->c[A->col[e]] == i + 1 && a[e] < 0) m->weight[A->col[e]] += part * a[e];
    return part * fmin(a_ik, 0);
}

/* The weights of C_i, whose size is returned, d and sum. */
static int64_t weigh(maker *m, int32_t i)
{
    const kry_sparse *A = m->A;
    const double *a = A->val;
    const int64_t count = find_members(m, i);
    double diagonal = 0;

    m->d = m->sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int32_t j = A->col[e];
        if (j == i) {
            m->d += diagonal = a[e];
        } else if (m->c[j] == i + 1) {
            m->weight[j] += a[e], m->sum += a[e];
        } else if (m->f[j] == i + 1) {
            const double own = share_out(m, i, j, a[e]);
            m->d += own, m->sum += a[e] - own;
        } else if (m->point[j] != KRY_POINT_ALONE) {
            m->d += a[e];
        }
    }
    /* Where weak couplings outweigh the diagonal there is no use in adding them. */
    if (m->d <= 1e-10 * diagonal) m->d = diagonal;
    return count;
}

/* ---- truncation ------------------------------------------------------------------------------ */

/* Whether member j comes before member l. */
static bool larger(const maker *m, int32_t j, int32_t l)
{
    const double w = fabs(m->weight[j]), v = fabs(m->weight[l]);
    return w > v || (w == v && j < l);
}

/* kept[] := the members that a row keeps, numbers ascending; returns how many. */
static int keep_largest(const maker *m, int64_t count, int32_t kept[MOST])
{
    const double least = 0.22; /* of the largest weight */
    int keep = 0;

    for (int64_t k = 0; k < count; k++) {
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

/* Row i from `at` on; returns where it ends. */
static int64_t put_row(maker *m, int32_t i, kry_sparse *P, int64_t at)
{
    double *val = P->val;
    int32_t kept[MOST + 1];

    if (m->point[i] == KRY_POINT_C) {
        P->col[at] = m->number[i], val[at] = 1;
        return at + 1;
    }
    if (m->point[i] == KRY_POINT_ALONE) return at;
    const int64_t count = weigh(m, i);
    const int keep = keep_largest(m, count, kept);
    const double factor = factor_of(m, kept, keep);
    for (int k = 0; k < keep; k++) {
        P->col[at + k] = m->number[kept[k]];
        val[at + k] = factor * m->weight[kept[k]];
    }
    return at + keep;
}

/* The same at the places that P has. fine: the C points. */
static void renew_row(maker *m, int32_t i, const int32_t *fine, kry_sparse *P)
{
    const int64_t first = P->row_ptr[i], keep = kry_row_length(P, i);
    double *val = P->val;
    int32_t kept[MOST];

    if (m->point[i] == KRY_POINT_C) val[first] = 1;
    if (m->point[i] != KRY_POINT_F) return;
    weigh(m, i);
    for (int64_t k = 0; k < keep; k++) kept[k] = fine[P->col[first + k]];
    const double factor = factor_of(m, kept, keep);
    for (int64_t k = 0; k < keep; k++) val[first + k] = factor * m->weight[kept[k]];
}

static kry_status make(maker *m, kry_sparse *P)
{
    kry_status st = KRY_OK;
    const int64_t n = m->A->rows;
    int64_t cols = 0, at = 0;

    for (int64_t i = 0; i < n; i++) cols += m->point[i] == KRY_POINT_C;
    TRY(kry_sparse_create(n, cols, KRY_F64, cols + MOST * (n - cols), P));
    for (int64_t i = 0; i < n; i++) P->row_ptr[i + 1] = at = put_row(m, (int32_t)i, P, at);
    TRY(kry_realloc((size_t)at + 1, sizeof *P->col, &P->col));
    TRY(kry_realloc((size_t)at + 1, sizeof(double), &P->val));
done:
    if (st < 0) kry_sparse_release(P);
    return st;
}

static kry_status renew(maker *m, kry_sparse *P)
{
    kry_status st = KRY_OK;
    int32_t *fine = NULL;

    TRY(kry_alloc((size_t)P->cols, sizeof *fine, &fine));
    if (!P->val) TRY(kry_alloc((size_t)kry_sparse_nnz(P), sizeof(double), &P->val));
    for (int64_t i = 0; i < P->rows; i++)
        if (m->number[i] >= 0) fine[m->number[i]] = (int32_t)i;
    for (int64_t i = 0; i < P->rows; i++) renew_row(m, (int32_t)i, fine, P);
done:
    free(fine);
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
