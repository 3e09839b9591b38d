/*
 * block_factor.c - incomplete factors of the diagonal blocks of a matrix:
 *
 *   symmetric   row i of L from A = L D L':  l_ik d_k = a_ik - sum over j < k of l_ij d_j l_kj
 *   otherwise   row i of L and D U:          a_i - sum over k < i of l_ik (D U)_k
 *
 * for the entries of A alone, or those that so many levels of fill allow. At a pivot that is zero, or negative where A is symmetric, it starts
 * again with A + shift diag(A) and a larger shift: a large one makes rows diagonally dominant.
 */
#include "precond/block_ic.h"
#include "precond/rows.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kryi_block_factor_release(kryi_block_factor *f)
{
    kryi_csr_release(&f->lower);
    kryi_csr_release(&f->upper);
    free(f->d);
    f->d = NULL;
}

static bool in_block(const void *user, int64_t i, int64_t j)
{
    const kryi_block_factor *f = user;
    return i / f->rows == j / f->rows;
}

static bool is_below(const void *user, int64_t i, int64_t j) { return (void)user, j < i; }
static bool is_above(const void *user, int64_t i, int64_t j) { return (void)user, j > i; }

/* The triangles of A's blocks; the diagonal, shifted, into d. */
static kry_status take_blocks(kryi_block_factor *f, const kryi_csr *blocks)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < blocks->rows; i++)
        f->d[i] = kryi_csr_entry(blocks, i, i) * (1 + f->shift);
    kryi_csr_release(&f->lower);
    kryi_csr_release(&f->upper);
    TRY(kryi_csr_select(blocks, is_below, NULL, &f->lower));
    if (!f->symmetric) TRY(kryi_csr_select(blocks, is_above, NULL, &f->upper));
done:
    return st;
}

static kry_status check_diagonal(const kryi_block_factor *f, const kryi_csr *blocks)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < blocks->rows; i++) {
        const double d = kryi_csr_entry(blocks, i, i);
        long long row = ROW(kryi_layout_row(&f->A->dev->layout, i));
        CHECK(d != 0, KRY_ERR_SINGULAR, "%s: the diagonal entry of row %lld is 0" COUNTED, f->who,
              row, kryi_first_row);
        CHECK(
            !f->symmetric || d > 0, KRY_ERR_ARGUMENT,
            "%s: the matrix is not positive definite: the diagonal entry of row %lld is %g" COUNTED,
            f->who, row, d, kryi_first_row);
    }
done:
    return st;
}

/* Whether a pivot is large enough, compared to the entry a of the diagonal. If A is singular, one
 * that is roundoff becomes a. */
static bool pivot_stands(const kryi_block_factor *f, double a, double *pivot)
{
    const kry_op_shape *shape = &f->A->shape;
    double least = 100 * (shape->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON) * fabs(a);

    if (kryi_op_is_singular(f->A) && fabs(*pivot) <= least) *pivot = a;
    return isfinite(*pivot) && (f->symmetric ? *pivot > least : fabs(*pivot) > least);
}

/* Whether to look for the entries of a row of `mine` entries in row k of T one by one, because that is far longer: else one
 * row of n entries is walked for each of n others. */
static bool is_far_longer(const kryi_csr *T, int64_t k, int64_t mine)
{
    return kryi_row_length(T, k) / 16 > mine;
}

/* w: n zeros, and zero again at the end. False at a pivot that is too small. */
static bool factor_symmetric(kryi_block_factor *f, double *w)
{
    const kryi_csr *L = &f->lower;
    double *val = L->val;
    bool stands = true;

    for (int64_t i = 0; i < L->rows && stands; i++) {
        int64_t begin = L->row_ptr[i], end = L->row_ptr[i + 1];
        double pivot = f->d[i];
        for (int64_t e = begin; e < end; e++) w[L->col[e]] = val[e];
        for (int64_t e = begin; e < end; e++) { /* w_k := l_ik d_k */
            int32_t k = L->col[e];
            double sum = w[k];
            if (is_far_longer(L, k, end - begin))
                for (int64_t m = begin; m < e; m++) {
                    const int64_t q = kryi_csr_find(L, k, L->col[m]);
                    if (q >= 0) sum -= val[q] * w[L->col[m]];
                }
            else
                for (int64_t q = L->row_ptr[k]; q < L->row_ptr[k + 1]; q++)
                    sum -= val[q] * w[L->col[q]];
            w[k] = sum;
        }
        for (int64_t e = begin; e < end; e++) {
            int32_t k = L->col[e];
            val[e] = w[k] / f->d[k];
            pivot -= val[e] * w[k];
            w[k] = 0;
        }
        stands = pivot_stands(f, f->d[i], &pivot);
        f->d[i] = pivot;
    }
    return stands;
}

/* w_j -= l u_kj for the entries j > k of row i, one by one */
static void eliminate_sparsely(const kryi_block_factor *f, int64_t i, int32_t k, double l,
                               double *w)
{
    const kryi_csr *L = &f->lower, *U = &f->upper;
    const double *upper = U->val;
    int64_t q = kryi_csr_find(U, k, i);

    if (q >= 0) w[i] -= l * upper[q];
    for (int64_t e = kryi_csr_from(L, i, k + 1); e < L->row_ptr[i + 1]; e++)
        if ((q = kryi_csr_find(U, k, L->col[e])) >= 0) w[L->col[e]] -= l * upper[q];
    for (int64_t e = U->row_ptr[i]; e < U->row_ptr[i + 1]; e++)
        if ((q = kryi_csr_find(U, k, U->col[e])) >= 0) w[U->col[e]] -= l * upper[q];
}

/* w: n numbers; mark: n zeros. U becomes unit triangular at the end. */
static bool factor_general(kryi_block_factor *f, double *w, int32_t *mark)
{
    const kryi_csr *L = &f->lower, *U = &f->upper;
    double *lower = L->val, *upper = U->val;

    for (int64_t i = 0; i < L->rows; i++) {
        const int32_t row = (int32_t)i + 1;
        double a = f->d[i];
        w[i] = a, mark[i] = row;
        for (int64_t e = L->row_ptr[i]; e < L->row_ptr[i + 1]; e++)
            w[L->col[e]] = lower[e], mark[L->col[e]] = row;
        for (int64_t e = U->row_ptr[i]; e < U->row_ptr[i + 1]; e++)
            w[U->col[e]] = upper[e], mark[U->col[e]] = row;
        for (int64_t e = L->row_ptr[i]; e < L->row_ptr[i + 1]; e++) {
            int32_t k = L->col[e];
            double l = lower[e] = w[k] / f->d[k];
            if (is_far_longer(U, k, kryi_row_length(L, i) + kryi_row_length(U, i)))
                eliminate_sparsely(f, i, k, l, w);
            else
                for (int64_t q = U->row_ptr[k]; q < U->row_ptr[k + 1]; q++)
                    if (mark[U->col[q]] == row) w[U->col[q]] -= l * upper[q];
        }
        for (int64_t e = U->row_ptr[i]; e < U->row_ptr[i + 1]; e++) upper[e] = w[U->col[e]];
        f->d[i] = w[i];
        if (!pivot_stands(f, a, &f->d[i])) return false;
    }
    for (int64_t i = 0; i < L->rows; i++)
        for (int64_t e = U->row_ptr[i]; e < U->row_ptr[i + 1]; e++) upper[e] /= f->d[i];
    return true;
}

/* Shifts 0 (or what is asked for), 0.001, 0.002, 0.004 ... */
static kry_status factor_shifted(kryi_block_factor *f, const kryi_csr *blocks)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)blocks->rows;
    double *w = NULL;
    int32_t *mark = NULL;
    const double first = 1e-3, last = 1e4;

    TRY(kryi_alloc(n, sizeof *w, &w));
    TRY(kryi_alloc(n, sizeof *mark, &mark));
    TRY(take_blocks(f, blocks));
    while (!(f->symmetric ? factor_symmetric(f, w) : factor_general(f, w, mark))) {
        f->shift = fmax(first, 2 * f->shift);
        CHECK(f->shift < last, KRY_ERR_SINGULAR, "%s: no shift up to %g makes all pivots good",
              f->who, last);
        memset(mark, 0, n * sizeof *mark);
        TRY(take_blocks(f, blocks));
    }
done:
    free(w), free(mark);
    return st;
}

/* The blocks with zeros at the places of fill. */
static kry_status add_fill(const kryi_block_factor *f, kryi_csr *blocks)
{
    kry_status st = KRY_OK;
    kryi_csr filled = { 0 };

    if (!f->fill) return KRY_OK;
    if (!f->places->row_ptr) TRY(kryi_csr_fill(f->who, blocks, f->fill, f->places));
    TRY(kryi_csr_copy_pattern(f->places, &filled));
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(&filled), sizeof(double), &filled.val));
    filled.type = KRY_F64;
    kryi_csr_spread(blocks, &filled);
    kryi_csr_release(blocks);
    *blocks = filled;
    filled = (kryi_csr){ 0 };
done:
    kryi_csr_release(&filled);
    return st;
}

kry_status kryi_block_factor_mirror(kryi_block_factor *f)
{
    kry_status st = KRY_OK;

    if (f->symmetric && !f->upper.row_ptr) TRY(kryi_csr_transpose(&f->lower, &f->upper));
done:
    return st;
}

kry_status kryi_block_factor_make(kryi_block_factor *f, const kryi_csr *entries)
{
    kry_status st = KRY_OK;
    kryi_csr blocks = { 0 };

    TRY(kryi_csr_select(entries, in_block, f, &blocks));
    TRY(check_diagonal(f, &blocks));
    TRY(kryi_alloc((size_t)blocks.rows, sizeof *f->d, &f->d));
    if (f->symmetric) TRY(kryi_rows_symmetrise(f->who, f->A, &blocks, f->d));
    TRY(add_fill(f, &blocks));
    TRY(factor_shifted(f, &blocks));
done:
    kryi_csr_release(&blocks);
    if (st < 0) kryi_block_factor_release(f);
    return st;
}
