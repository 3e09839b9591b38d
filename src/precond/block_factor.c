/*
 * block_factor.c - incomplete factors without fill of the diagonal blocks of a matrix:
 *
 *   symmetric   row i of L from A = L D L':  l_ik d_k = a_ik - sum over j < k of l_ij d_j l_kj
 *   otherwise   row i of L and D U:          a_i - sum over k < i of l_ik (D U)_k
 *
 * for the entries of A alone. A pivot that is zero, or negative where A is symmetric, starts all
 * over with A + shift diag(A) and a larger shift: large enough, it makes rows diagonally dominant.
 *
 * Source   J. A. Meijerink, H. A. van der Vorst, An iterative solution method for linear systems of
 *          which the coefficient matrix is a symmetric M-matrix, Math. Comp. 31 (1977); the shift:
 *          T. A. Manteuffel, An incomplete factorization technique for positive definite linear
 *          systems, Math. Comp. 34 (1980).
 */
#include "precond/block_factor.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the blocks of A ----------------------------------------------------------------------- */

static void triangle_release(kry_triangle *t)
{
    free(t->ptr), free(t->col), free(t->val);
    *t = (kry_triangle){ 0 };
}

void kry_block_factor_release(kry_block_factor *f)
{
    triangle_release(&f->lower);
    triangle_release(&f->upper);
    free(f->d);
    f->d = NULL;
}

static kry_status triangle_create(int64_t n, int64_t nnz, kry_triangle *t)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)n + 1, sizeof *t->ptr, &t->ptr));
    TRY(kry_alloc((size_t)nnz, sizeof *t->col, &t->col));
    TRY(kry_alloc((size_t)nnz, sizeof *t->val, &t->val));
done:
    return st;
}

/* Entries of the blocks below and above the diagonal, counted. */
static void count_entries(const kry_block_factor *f, const int64_t *row_ptr, const int32_t *col,
                          int64_t *below, int64_t *above)
{
    *below = *above = 0;
    for (int64_t first = 0; first < f->n; first += f->rows)
        for (int64_t i = first; i < f->n && i < first + f->rows; i++)
            for (int64_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
                *below += col[e] >= first && col[e] < i;
                *above += col[e] > i && col[e] < first + f->rows;
            }
}

/* Structure and numbers of the blocks; the diagonal, shifted, into d. */
static void take_blocks(kry_block_factor *f, const int64_t *row_ptr, const int32_t *col,
                        const void *val)
{
    int64_t l = 0, u = 0;

    for (int64_t i = 0; i < f->n; i++) {
        int64_t first = i / f->rows * f->rows;
        f->d[i] = 0;
        for (int64_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
            double v = kry_number_at(f->type, val, e);
            if (col[e] == i)
                f->d[i] = v * (1 + f->shift);
            else if (col[e] >= first && col[e] < i)
                f->lower.col[l] = col[e], f->lower.val[l++] = v;
            else if (col[e] > i && col[e] < first + f->rows)
                f->upper.col[u] = col[e], f->upper.val[u++] = v;
        }
        f->lower.ptr[i + 1] = l, f->upper.ptr[i + 1] = u;
    }
}

static double eps_of(kry_type type) { return type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON; }

static kry_status check_diagonal(const kry_block_factor *f)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < f->n; i++) {
        CHECK(f->d[i] != 0, KRY_ERR_SINGULAR, "%s: the diagonal entry of row %lld is 0", f->who,
              (long long)i);
        CHECK(!f->symmetric || f->d[i] > 0, KRY_ERR_ARGUMENT,
              "%s: the matrix is not positive definite: the diagonal entry of row %lld is %g",
              f->who, (long long)i, f->d[i]);
    }
done:
    return st;
}

static kry_status not_symmetric(const kry_block_factor *f, int64_t i, int64_t k, double low,
                                double high)
{
    return kry_fail(KRY_ERR_ARGUMENT,
                    "%s: the matrix is not symmetric: the entry of row %lld and column %lld is "
                    "%.9g, its mirror image %.9g; take kry_block_ilu_create",
                    f->who, (long long)i, (long long)k, low, high);
}

/* Entries below the diagonal in the order of rows meet those of a row above it in the order of
 * columns; one without a partner must be zero. */
static kry_status check_symmetry(const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    const kry_triangle *L = &f->lower, *U = &f->upper;
    const double close = 64 * eps_of(f->type);
    int64_t *next = NULL;

    TRY(kry_alloc((size_t)f->n + 1, sizeof *next, &next));
    memcpy(next, U->ptr, (size_t)(f->n + 1) * sizeof *next);
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t e = L->ptr[i]; e < L->ptr[i + 1]; e++) {
            int64_t k = L->col[e], *u = &next[k];
            double low = L->val[e], high = 0;
            for (; *u < U->ptr[k + 1] && U->col[*u] < i; ++*u)
                if (U->val[*u] != 0) TRY(not_symmetric(f, U->col[*u], k, 0, U->val[*u]));
            if (*u < U->ptr[k + 1] && U->col[*u] == i) high = U->val[(*u)++];
            if (!(fabs(low - high) <= close * fmax(fabs(low), fabs(high))))
                TRY(not_symmetric(f, i, k, low, high));
        }
    for (int64_t k = 0; k < f->n; k++)
        for (int64_t u = next[k]; u < U->ptr[k + 1]; u++)
            if (U->val[u] != 0) TRY(not_symmetric(f, U->col[u], k, 0, U->val[u]));
done:
    free(next);
    return st;
}

/* ---- the factors --------------------------------------------------------------------------- */

/* A pivot that stands, for an entry a of the diagonal; one of a singular matrix is lifted. */
static bool pivot_stands(const kry_block_factor *f, double a, double *pivot)
{
    double least = 100 * eps_of(f->type) * fabs(a);

    if (f->lift && fabs(*pivot) <= least) *pivot = a;
    return isfinite(*pivot) && (f->symmetric ? *pivot > least : fabs(*pivot) > least);
}

/* w: n zeros, and left so. False at a pivot that does not stand. */
static bool factor_symmetric(kry_block_factor *f, double *w)
{
    const kry_triangle *L = &f->lower;
    bool stands = true;

    for (int64_t i = 0; i < f->n && stands; i++) {
        int64_t begin = L->ptr[i], end = L->ptr[i + 1];
        double pivot = f->d[i];
        for (int64_t e = begin; e < end; e++) w[L->col[e]] = L->val[e];
        for (int64_t e = begin; e < end; e++) { /* w_k := l_ik d_k */
            int32_t k = L->col[e];
            double sum = w[k];
            for (int64_t q = L->ptr[k]; q < L->ptr[k + 1]; q++) sum -= L->val[q] * w[L->col[q]];
            w[k] = sum;
        }
        for (int64_t e = begin; e < end; e++) {
            int32_t k = L->col[e];
            L->val[e] = w[k] / f->d[k];
            pivot -= L->val[e] * w[k];
            w[k] = 0;
        }
        stands = pivot_stands(f, f->d[i], &pivot);
        f->d[i] = pivot;
    }
    return stands;
}

/* w: n numbers; mark: n, none of them a row's number plus one. U is unit only in the end. */
static bool factor_general(kry_block_factor *f, double *w, int32_t *mark)
{
    const kry_triangle *L = &f->lower, *U = &f->upper;

    for (int64_t i = 0; i < f->n; i++) {
        const int32_t row = (int32_t)i + 1;
        double a = f->d[i];
        w[i] = a, mark[i] = row;
        for (int64_t e = L->ptr[i]; e < L->ptr[i + 1]; e++)
            w[L->col[e]] = L->val[e], mark[L->col[e]] = row;
        for (int64_t e = U->ptr[i]; e < U->ptr[i + 1]; e++)
            w[U->col[e]] = U->val[e], mark[U->col[e]] = row;
        for (int64_t e = L->ptr[i]; e < L->ptr[i + 1]; e++) {
            int32_t k = L->col[e];
            double l = L->val[e] = w[k] / f->d[k];
            for (int64_t q = U->ptr[k]; q < U->ptr[k + 1]; q++)
                if (mark[U->col[q]] == row) w[U->col[q]] -= l * U->val[q];
        }
        for (int64_t e = U->ptr[i]; e < U->ptr[i + 1]; e++) U->val[e] = w[U->col[e]];
        f->d[i] = w[i];
        if (!pivot_stands(f, a, &f->d[i])) return false;
    }
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t e = U->ptr[i]; e < U->ptr[i + 1]; e++) U->val[e] /= f->d[i];
    return true;
}

/* Shifts 0 (or what is asked for), 0.001, 0.002, 0.004 ... */
static kry_status factor_shifted(kry_block_factor *f, const int64_t *row_ptr, const int32_t *col,
                                 const void *val)
{
    kry_status st = KRY_OK;
    double *w = NULL;
    int32_t *mark = NULL;
    const double first = 1e-3, last = 1e4;

    TRY(kry_alloc((size_t)f->n, sizeof *w, &w));
    if (!f->symmetric) TRY(kry_alloc((size_t)f->n, sizeof *mark, &mark));
    while (!(f->symmetric ? factor_symmetric(f, w) : factor_general(f, w, mark))) {
        f->shift = fmax(first, 2 * f->shift);
        CHECK(f->shift < last, KRY_ERR_SINGULAR, "%s: no shift up to %g makes all pivots good",
              f->who, last);
        if (mark) memset(mark, 0, (size_t)f->n * sizeof *mark);
        take_blocks(f, row_ptr, col, val);
    }
done:
    free(w), free(mark);
    return st;
}

kry_status kry_block_factor_make(kry_block_factor *f, const int64_t *row_ptr, const int32_t *col,
                                 const void *val)
{
    kry_status st = KRY_OK;
    int64_t below, above;

    count_entries(f, row_ptr, col, &below, &above);
    TRY(triangle_create(f->n, below, &f->lower));
    TRY(triangle_create(f->n, above, &f->upper));
    TRY(kry_alloc((size_t)f->n, sizeof *f->d, &f->d));
    take_blocks(f, row_ptr, col, val);
    TRY(check_diagonal(f));
    if (f->symmetric) TRY(check_symmetry(f));
    TRY(factor_shifted(f, row_ptr, col, val));
done:
    if (st < 0) kry_block_factor_release(f);
    return st;
}

kry_status kry_block_factor_mirror(kry_block_factor *f)
{
    kry_status st = KRY_OK;
    const kry_triangle *L = &f->lower;
    kry_triangle U = { 0 };

    if (!f->symmetric) return KRY_OK;
    TRY(triangle_create(f->n, L->ptr[f->n], &U));
    for (int64_t e = 0; e < L->ptr[f->n]; e++) U.ptr[L->col[e] + 1]++;
    for (int64_t k = 0; k < f->n; k++) U.ptr[k + 1] += U.ptr[k];
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t e = L->ptr[i]; e < L->ptr[i + 1]; e++) {
            int64_t to = U.ptr[L->col[e]]++;
            U.col[to] = (int32_t)i, U.val[to] = L->val[e];
        }
    for (int64_t k = f->n; k > 0; k--) U.ptr[k] = U.ptr[k - 1];
    U.ptr[0] = 0;
    triangle_release(&f->upper);
    f->upper = U, U = (kry_triangle){ 0 };
done:
    triangle_release(&U);
    return st;
}
