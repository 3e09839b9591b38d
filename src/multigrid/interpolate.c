/*
 * interpolate.c - extended+i interpolation. An F point i is interpolated from C_i, the C points that it
 * depends on and those that the F points depend on that it depends on, F_i:
 *
 *   w_ij = -(a_ij + sum_(k in F_i) a_ik a_kj / s_k) / d_i,    s_k = sum_(l in C_i or l = i) a_kl
 *   d_i  = a_ii + sum_(n neither in C_i nor in F_i) a_in + sum_(k in F_i) a_ik a_ki / s_k
 *
 * where of row k only the negative entries count. If s_k is zero, a_ik is added to d_i. Points that are
 * alone have no error after relaxation, and are left out. F points of long rows are not in any F_i, so that
 * the work stays linear.
 */
#include "multigrid/classical.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = KRY_INTERPOLATE_MOST, LONG = 512 /* entries */ };

/* What all rows of P are made with. */
typedef struct maker {
    const kry_sparse *A, *S; /* borrowed */
    const char *point;
    int32_t *number;   /* n: of a C point among C points, -1: none */
    int32_t *fine;     /* the C points */
    kry_sparse strong; /* of each row of S the C points */
    kry_sparse near;   /* of each row of A the negative entries in columns of C points */
    struct weights *of_part;
    kry_sparse *P;
} maker;

/* What one row of P is made with. */
typedef struct weights {
    int32_t *place; /* n: where a point is in C_i, -1: it is not */
    int32_t *f;     /* n: i + 1 if the point is in F_i */
    int32_t *point; /* C_i, by numbers among all points */
    double *weight;
    int64_t count; /* of C_i */
    int32_t *met;  /* where a row of `near` meets C_i, and its entries there */
    double *entry;
} weights;

static void weights_release(weights *w)
{
    free(w->entry);
    free(w->met);
    free(w->weight);
    free(w->point);
    free(w->f);
    free(w->place);
}

static kry_status weights_create(size_t n, size_t longest, weights *w)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc(n, sizeof *w->place, &w->place));
    TRY(kry_alloc(n, sizeof *w->f, &w->f));
    TRY(kry_alloc(n, sizeof *w->point, &w->point));
    TRY(kry_alloc(n, sizeof *w->weight, &w->weight));
    TRY(kry_alloc(longest + 1, sizeof *w->met, &w->met));
    TRY(kry_alloc(longest + 1, sizeof *w->entry, &w->entry));
    for (size_t i = 0; i < n; i++) w->place[i] = -1;
done:
    return st;
}

static void maker_release(maker *m, int parts)
{
    for (int p = 0; m->of_part && p < parts; p++) weights_release(&m->of_part[p]);
    free(m->of_part);
    kry_sparse_release(&m->near);
    kry_sparse_release(&m->strong);
    free(m->fine);
    free(m->number);
}

/* B: the entries of A in columns of C points; with numbers those that are negative. */
typedef struct keeping {
    const kry_sparse *A;
    const char *point;
    kry_sparse *B;
} keeping;

static void count_kept(void *user, int part, int64_t begin, int64_t end)
{
    const keeping *k = user;
    const kry_sparse *A = k->A;
    const double *a = A->val;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        int64_t count = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            count += (k->point[A->col[e]] == KRY_POINT_C) & (!a || a[e] < 0);
        k->B->row_ptr[i + 1] = count;
    }
}

static void copy_kept(void *user, int part, int64_t begin, int64_t end)
{
    const keeping *k = user;
    const kry_sparse *A = k->A;
    const double *a = A->val;
    double *b = k->B->val;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = k->B->row_ptr[i];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (k->point[A->col[e]] != KRY_POINT_C || (a && a[e] >= 0)) continue;
            k->B->col[at] = A->col[e];
            if (a) b[at] = a[e];
            at++;
        }
    }
}

static kry_status keep_c(const kry_sparse *A, const char *point, int parts, kry_sparse *B)
{
    kry_status st = KRY_OK;
    keeping k = { A, point, B };

    *B = (kry_sparse){ .rows = A->rows, .cols = A->cols, .type = KRY_F64 };
    TRY(kry_alloc((size_t)A->rows + 1, sizeof *B->row_ptr, &B->row_ptr));
    kry_parallel(parts, A->rows, count_kept, &k);
    for (int64_t i = 0; i < A->rows; i++) B->row_ptr[i + 1] += B->row_ptr[i];
    TRY(kry_alloc((size_t)kry_sparse_nnz(B), sizeof *B->col, &B->col));
    if (A->val) TRY(kry_alloc((size_t)kry_sparse_nnz(B), sizeof(double), &B->val));
    kry_parallel(parts, A->rows, copy_kept, &k);
done:
    return st;
}

static kry_status maker_create(const kry_sparse *A, const kry_sparse *S, const char *point,
                               int parts, maker *m)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)A->rows;
    int32_t count = 0;

    *m = (maker){ .A = A, .S = S, .point = point };
    TRY(kry_alloc(n, sizeof *m->number, &m->number));
    TRY(kry_alloc(n, sizeof *m->fine, &m->fine));
    TRY(keep_c(S, point, parts, &m->strong));
    TRY(keep_c(A, point, parts, &m->near));
    TRY(kry_alloc((size_t)parts, sizeof *m->of_part, &m->of_part));
    for (int p = 0; p < parts; p++)
        TRY(weights_create(n, (size_t)kry_longest_row(&m->near), &m->of_part[p]));
    for (size_t i = 0; i < n; i++) {
        m->number[i] = point[i] == KRY_POINT_C ? count : -1;
        if (point[i] == KRY_POINT_C) m->fine[count++] = (int32_t)i;
    }
done:
    return st;
}

/* ---- weights of a row ------------------------------------------------------------------------ */

/* Add the C points that row j depends on to C_i. */
static void add_members(const maker *m, weights *w, int64_t j)
{
    const kry_sparse *C = &m->strong;

    for (int64_t e = C->row_ptr[j]; e < C->row_ptr[j + 1]; e++) {
        const int32_t l = C->col[e];
        if (w->place[l] >= 0) continue;
        w->place[l] = (int32_t)w->count;
        w->point[w->count] = l, w->weight[w->count++] = 0;
    }
}

static void find_members(const maker *m, weights *w, int32_t i)
{
    const kry_sparse *S = m->S;

    for (int64_t k = 0; k < w->count; k++) w->place[w->point[k]] = -1;
    w->count = 0;
    add_members(m, w, i);
    for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++) {
        const int32_t k = S->col[e];
        if (m->point[k] == KRY_POINT_C || kry_row_length(m->A, k) > LONG) continue;
        w->f[k] = i + 1;
        add_members(m, w, k);
    }
}

/* Find where row k, entries `from` up to those before column `end`, meets C_i. Adds what it finds to sum; returns
 * the next entry. */
static int64_t meet(const maker *m, weights *w, int64_t from, int64_t stop, int32_t end,
                    int64_t *count, double *sum)
{
    const double *a = m->near.val;
    int64_t e = from;

    for (; e < stop && m->near.col[e] < end; e++) {
        const int32_t at = w->place[m->near.col[e]];
        w->met[*count] = at, w->entry[*count] = a[e]; /* overwritten if it is not there */
        *sum += at >= 0 ? a[e] : 0;
        *count += at >= 0;
    }
    return e;
}

/* Share a_ik out among C_i and i, in the proportions of row k. Returns what goes to i. Sums go by rising
 * columns. */
static double share_out(const maker *m, weights *w, int32_t i, int32_t k, double a_ik)
{
    const int64_t stop = m->near.row_ptr[k + 1];
    const double a_ki = a_ik < 0 ? a_ik : 0; /* A is symmetric */
    double sum = 0;
    int64_t count = 0;

    const int64_t e = meet(m, w, m->near.row_ptr[k], stop, i, &count, &sum);
    sum += a_ki;
    meet(m, w, e, stop, INT32_MAX, &count, &sum);
    if (sum == 0) return a_ik;
    for (int64_t c = 0; c < count; c++) w->weight[w->met[c]] += a_ik * (w->entry[c] / sum);
    return a_ik * (a_ki / sum);
}

/* weight[] := w_ij for j in C_i. */
static void weigh(const maker *m, weights *w, int32_t i)
{
    const kry_sparse *A = m->A;
    const double *a = A->val;
    double d = 0, diagonal = 0;

    find_members(m, w, i);
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int32_t j = A->col[e];
        if (j == i)
            d += diagonal = a[e];
        else if (w->place[j] >= 0)
            w->weight[w->place[j]] += a[e];
        else if (w->f[j] == i + 1)
            d += share_out(m, w, i, j, a[e]);
        else if (m->point[j] != KRY_POINT_ALONE)
            d += a[e];
    }
    if (d <= 1e-10 * diagonal) d = diagonal; /* weak couplings outweigh it: no use in adding them */
    for (int64_t k = 0; k < w->count; k++) w->weight[k] /= -d;
}

/* ---- truncation ------------------------------------------------------------------------------ */

/* Whether member j comes before member l. */
static bool larger(const weights *w, int32_t j, int32_t l)
{
    const double x = fabs(w->weight[j]), y = fabs(w->weight[l]);
    return x > y || (x == y && w->point[j] < w->point[l]);
}

/* kept[] := the places in C_i that a row keeps, by ascending points; returns how many. */
static int keep_largest(const weights *w, int32_t kept[MOST + 1])
{
    const double least = 0.22; /* of the largest weight */
    int keep = 0;

    for (int32_t k = 0; k < w->count; k++) {
        int at = keep;
        while (at > 0 && larger(w, k, kept[at - 1])) at--;
        if (at == MOST) continue;
        if (keep < MOST) keep++;
        memmove(kept + at + 1, kept + at, (size_t)(keep - at - 1) * sizeof *kept);
        kept[at] = k;
    }
    while (keep > 1 && fabs(w->weight[kept[keep - 1]]) < least * fabs(w->weight[kept[0]])) keep--;
    for (int k = 1; k < keep; k++)
        for (int at = k; at > 0 && w->point[kept[at]] < w->point[kept[at - 1]]; at--) {
            const int32_t j = kept[at];
            kept[at] = kept[at - 1], kept[at - 1] = j;
        }
    return keep;
}

/* What the kept weights are multiplied with so that they have the sum of all of them. Where signs are mixed
 * the sum of few may be next to nothing: they stay as they are. */
static double scale_of(const weights *w, const int32_t *kept, int64_t keep)
{
    double all = 0, some = 0, size = 0;

    for (int64_t k = 0; k < w->count; k++) all += w->weight[k];
    for (int64_t k = 0; k < keep; k++) {
        some += w->weight[kept[k]];
        size += fabs(w->weight[kept[k]]);
    }
    return all * some > 0 && fabs(some) >= 0.1 * size ? all / some : 1;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* Row i from `at` on. Returns its length. */
static int64_t put_row(const maker *m, weights *w, int32_t i, int64_t at)
{
    double *val = m->P->val;
    int32_t kept[MOST + 1];

    if (m->point[i] == KRY_POINT_C) {
        m->P->col[at] = m->number[i], val[at] = 1;
        return 1;
    }
    if (m->point[i] == KRY_POINT_ALONE) return 0;
    weigh(m, w, i);
    const int keep = keep_largest(w, kept);
    const double scale = scale_of(w, kept, keep);
    for (int k = 0; k < keep; k++) {
        m->P->col[at + k] = m->number[w->point[kept[k]]];
        val[at + k] = scale * w->weight[kept[k]];
    }
    return keep;
}

/* Each row of P at its first place, with room for MOST entries; row_ptr[i + 1]: how many it has. */
static void put_rows(void *user, int part, int64_t begin, int64_t end)
{
    const maker *m = user;
    for (int64_t i = begin; i < end; i++)
        m->P->row_ptr[i + 1] = put_row(m, &m->of_part[part], (int32_t)i, i * MOST);
}

/* The same at the places that P has. */
static void renew_row(const maker *m, weights *w, int32_t i)
{
    const kry_sparse *P = m->P;
    const int64_t first = P->row_ptr[i], keep = kry_row_length(P, i);
    double *val = P->val;
    int32_t kept[MOST];

    if (m->point[i] == KRY_POINT_C) val[first] = 1;
    if (m->point[i] != KRY_POINT_F) return;
    weigh(m, w, i);
    for (int64_t k = 0; k < keep; k++) kept[k] = w->place[m->fine[P->col[first + k]]];
    const double scale = scale_of(w, kept, keep);
    for (int64_t k = 0; k < keep; k++) val[first + k] = scale * w->weight[kept[k]];
}

static void renew_rows(void *user, int part, int64_t begin, int64_t end)
{
    const maker *m = user;
    for (int64_t i = begin; i < end; i++) renew_row(m, &m->of_part[part], (int32_t)i);
}

/* Close the gaps between the rows of P, each of which has room for MOST entries. */
static void close_gaps(kry_sparse *P)
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

static kry_status make(maker *m, int parts, kry_sparse *P)
{
    kry_status st = KRY_OK;
    const int64_t n = m->A->rows;
    int64_t cols = 0;

    for (int64_t i = 0; i < n; i++) cols += m->point[i] == KRY_POINT_C;
    TRY(kry_sparse_create(n, cols, KRY_F64, MOST * n, P));
    m->P = P;
    kry_parallel(parts, n, put_rows, m);
    close_gaps(P);
    TRY(kry_realloc((size_t)kry_sparse_nnz(P) + 1, sizeof *P->col, &P->col));
    TRY(kry_realloc((size_t)kry_sparse_nnz(P) + 1, sizeof(double), &P->val));
done:
    if (st < 0) kry_sparse_release(P);
    return st;
}

static kry_status renew(maker *m, int parts, kry_sparse *P)
{
    kry_status st = KRY_OK;

    if (!P->val) TRY(kry_alloc((size_t)kry_sparse_nnz(P), sizeof(double), &P->val));
    m->P = P;
    kry_parallel(parts, P->rows, renew_rows, m);
done:
    return st;
}

kry_status kry_interpolate(const kry_sparse *A, const kry_sparse *S, const char *point,
                           kry_sparse *P)
{
    kry_status st = KRY_OK;
    const int parts = kry_parts(kry_sparse_nnz(A));
    maker m = { 0 };

    TRY(maker_create(A, S, point, parts, &m));
    TRY(P->row_ptr ? renew(&m, parts, P) : make(&m, parts, P));
done:
    maker_release(&m, parts);
    return st;
}
