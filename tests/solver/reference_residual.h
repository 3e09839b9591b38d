/*
 * reference_residual.h - residuals that owe nothing to the library: b - A x in long double from the entries as
 * they were given, and how far rounding may move what a solver calls its true residual.
 *
 * A solver rounds each product and each sum of a row in the type of its numbers, and sums squares
 * in double, or in pairs of singles. Row i with m entries is therefore off by no more than
 *
 *     (m + 4) eps (|b_i| + sum |a_ij| |x_j|)      Higham, Accuracy and stability of numerical
 *                                                 algorithms, 2nd ed. (2002), section 3.1; eps is
 *                                                 twice the unit roundoff
 *
 * (twice that with |x_i| + |x_j| in flux form), and a sum of n squares by (n + 16) times the eps of
 * sums. Where single flushes to zero, a number below FLT_MIN is worth nothing: that much for each
 * entry, each x_j and each product. Nothing else is allowed for.
 */
#ifndef KRY_REFERENCE_RESIDUAL_H
#define KRY_REFERENCE_RESIDUAL_H

#include "testing.h"

/* A square matrix as triplets, each place once; `half`: one triangle of a symmetric one. */
typedef struct entries {
    int64_t n, nnz;
    const int32_t *row, *col;
    const double *val;
    bool half;
} entries;

typedef struct reference {
    bool finite;          /* x is */
    long double residual; /* ||b - A x||_2 */
    long double slack;    /* the solver may be wrong by so much about it */
    long double norm_b;
} reference;

typedef struct residual_row {
    long double r, size; /* b_i - sum a_ij x_j; the same of absolute values */
    long double a, x;    /* sums of |a_ij|, of |x_j| */
    int64_t m;
} residual_row;

static void residual_add(residual_row *row, double a, double xj, double xi, bool flux)
{
    row->r -= (long double)a * xj;
    row->size += fabsl((long double)a * xj) + (flux ? fabsl((long double)a * xi) : 0);
    row->a += fabsl((long double)a), row->x += fabsl((long double)xj);
    row->m++;
}

/* null: columns of n orthonormal numbers that are taken out of the residual; k of them. */
static void residual_project(residual_row *row, int64_t n, const long double *null, int64_t k)
{
    for (int64_t j = 0; j < k; j++) {
        long double share = 0;
        for (int64_t i = 0; i < n; i++) share += null[j * n + i] * row[i].r;
        for (int64_t i = 0; i < n; i++) row[i].r -= share * null[j * n + i];
    }
}

/*
 * type  of the numbers in which the solver computes its true residual
 * flux  products are of differences
 */
static reference reference_residual_without(const entries *A, kry_type type, bool flux,
                                            const double *b, const double *x,
                                            const long double *null, int64_t k)
{
    reference v = { .finite = true };
    residual_row *row = calloc((size_t)A->n + 1, sizeof *row);
    long double eps = eps_of(type), least = type == KRY_F32 ? FLT_MIN : DBL_TRUE_MIN;
    long double sums = acc_type() == KRY_F64 ? DBL_EPSILON : 0x1p-40L, slack = 0;

    assert_non_null(row);
    for (int64_t i = 0; i < A->n; i++) {
        row[i].r = b[i], row[i].size = fabsl((long double)b[i]);
        v.norm_b += row[i].r * row[i].r;
        if (!isfinite(x[i])) v.finite = false;
    }
    for (int64_t e = 0; e < A->nnz; e++) {
        int32_t i = A->row[e], j = A->col[e];
        residual_add(&row[i], A->val[e], x[j], x[i], flux);
        if (A->half && i != j) residual_add(&row[j], A->val[e], x[i], x[j], flux);
    }
    residual_project(row, A->n, null, k);
    for (int64_t i = 0; i < A->n; i++) {
        long double off = (long double)(row[i].m + 4) * eps * row[i].size +
                          least * (row[i].a + row[i].x + (long double)row[i].m);
        slack += off * off;
        v.residual += row[i].r * row[i].r;
    }
    v.residual = sqrtl(v.residual), v.norm_b = sqrtl(v.norm_b);
    /* projections round once more; squares may underflow */
    v.slack = (long double)(k ? 2 : 1) * sqrtl(slack) +
              (long double)(A->n + 16) * sums * (v.residual + (k ? v.norm_b : 0)) +
              sqrtl((long double)A->n) * (acc_type() == KRY_F64 ? 1e-161L : 1e-22L);
    free(row);
    return v;
}

MAYBE_UNUSED static reference reference_residual(const entries *A, kry_type type, const double *b,
                                                 const double *x)
{
    return reference_residual_without(A, type, false, b, x, NULL, 0);
}

/* What it reports is the residual of the x that it returned, or both have left the range of
 * squares. */
static bool confirms_residual(const reference *v, kry_type type, const kry_result *res)
{
    if (!v->finite) return true;
    if (!isfinite(res->true_residual))
        return v->residual + v->slack > (type == KRY_F32 || acc_type() == KRY_F32 ? 1e18L : 1e150L);
    return fabsl(v->residual - (long double)res->true_residual) <= v->slack;
}

/* A solver that says `converged` with this result is right. */
static bool confirms_convergence(const entries *A, const reference *v, const kry_result *res)
{
    long double sums = acc_type() == KRY_F64 ? DBL_EPSILON : 0x1p-40L;
    long double target = (long double)res->target * (1 + (long double)(A->n + 16) * sums);
    return v->finite && v->residual <= target + v->slack;
}

#endif
