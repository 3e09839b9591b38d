/*
 * as_matrix.h - preconditioners written down as matrices: what op_suite holds them against.
 */
#ifndef KRY_AS_MATRIX_H
#define KRY_AS_MATRIX_H

#include "grids.h"
#include "patterns.h"

/* y := M x in plain C, for a symmetric M that is made from A. */
typedef void plain_apply(const matrix *A, const double *x, double *y, const void *user);

MAYBE_UNUSED static double plain_diagonal(const matrix *A, int64_t i)
{
    double d = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
        if (A->col[e] == i) d += A->val[e];
    return d;
}

static double plain_row(const matrix *A, int64_t i, const double *x)
{
    double sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) sum += A->val[e] * x[A->col[e]];
    return sum;
}

/* Row j of a symmetric M is M e_j. */
MAYBE_UNUSED static matrix as_matrix(const matrix *A, plain_apply *apply, const void *user)
{
    int64_t n = A->rows, room = 64 * n;
    matrix M = { .rows = n, .cols = n };
    double *unit = calloc((size_t)n + 1, sizeof *unit), *y = calloc((size_t)n + 1, sizeof *y);

    M.row_ptr = calloc((size_t)n + 1, sizeof *M.row_ptr);
    M.col = calloc((size_t)room, sizeof *M.col);
    M.val = calloc((size_t)room, sizeof *M.val);
    for (int64_t j = 0; j < n; j++) {
        unit[j] = 1;
        apply(A, unit, y, user);
        unit[j] = 0;
        if (M.nnz + n > room) {
            room = 2 * room + n;
            M.col = realloc(M.col, (size_t)room * sizeof *M.col);
            M.val = realloc(M.val, (size_t)room * sizeof *M.val);
        }
        assert_true(M.row_ptr && M.col && M.val);
        for (int64_t i = 0; i < n; i++)
            if (y[i] != 0) M.col[M.nnz] = (int32_t)i, M.val[M.nnz++] = y[i];
        M.row_ptr[j + 1] = M.nnz;
    }
    free(unit), free(y);
    return M;
}

/* Symmetric, at random places with numbers of either sign, positive definite by its diagonal, whose
 * entries lie between 1/2 and a few hundred. */
MAYBE_UNUSED static matrix random_spd(kry_type type, int64_t n)
{
    matrix A = matrix_where(type, n, n, symmetric_random);
    double *scale = calloc((size_t)n + 1, sizeof *scale);

    assert_non_null(scale);
    for (int64_t i = 0; i < n; i++) scale[i] = exp2((double)random_below(4));
    for (int64_t i = 0; i < n; i++) {
        double others = 0.5;
        int64_t diagonal = -1;
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++) {
            if (A.col[e] == i)
                diagonal = e;
            else
                others += fabs(A.val[e]);
            A.val[e] *= scale[i] * scale[A.col[e]];
        }
        A.val[diagonal] = to_type(type, others) * scale[i] * scale[i];
    }
    free(scale);
    return A;
}

/* ---- on the device ------------------------------------------------------------------------- */

MAYBE_UNUSED static kry_op *grid_op(const grid *g, kry_type type, const double *k)
{
    kry_op *op = NULL;
    kry_stencil_params p = grid_params(g, k);
    OK(kry_stencil_create(device(), type, &p, &op));
    return op;
}

/* z = M r with the pair (r.z, r.r) in the same pass, the bits of M r alone. */
MAYBE_UNUSED static void check_dots(const kry_op *M, const char *why)
{
    kry_type type = kry_op_get_shape(M)->type;
    int64_t n = kry_op_get_shape(M)->rows;
    double *r = random_array(type, n), pair[2];
    long double rz = 0, rr = 0, size = 0;
    guarded R = guarded_create(type, n, 1, 0, r), Z = guarded_create(type, n, 1, 0, NULL);
    kry_sum *sum = NULL;

    OK(kry_sum_create(device(), 2, &sum));
    OK(apply_dots(M, R.v, Z.v, sum));
    OK(read_sum(device(), sum, pair));
    double *z = guarded_read(&Z);
    OK(kry_op_apply(M, 1, R.v, 0, Z.v));
    double *alone = guarded_read(&Z);
    assert_same_bits(z, alone, n);
    for (int64_t i = 0; i < n; i++) {
        rz += (long double)r[i] * z[i], rr += (long double)r[i] * r[i];
        size += fabsl((long double)r[i] * z[i]);
    }
    NEAR(pair[0], rz, (n + 3) * (eps_of(acc_type()) + eps_of(type) / n) * size, "%s: r.z", why);
    NEAR(pair[1], rr, (n + 3) * eps_of(acc_type()) * rr, "%s: r.r", why);
    assert_true(pair[0] > 0);
    free(z), free(alone), free(r);
    kry_sum_release(&sum);
    guarded_release(&R), guarded_release(&Z);
}

/* ---- conjugate gradients in plain C -----------------------------------------------------------
 */

/* Iterations to ||r|| <= rtol ||b|| from zero. apply == NULL: no preconditioner. */
MAYBE_UNUSED static int plain_pcg(const matrix *A, const double *b, plain_apply *apply,
                                  const void *user, double rtol)
{
    int64_t n = A->rows, k = 0;
    double *r = calloc((size_t)n, 8), *z = calloc((size_t)n, 8), *p = calloc((size_t)n, 8),
           *q = calloc((size_t)n, 8), rho = 0, rr = 0, last, pq;

    assert_true(r && z && p && q);
    for (int64_t i = 0; i < n; i++) r[i] = b[i], rr += b[i] * b[i];
    double target = rtol * sqrt(rr);
    for (; sqrt(rr) > target && k < 10 * n; k++) {
        if (apply)
            apply(A, r, z, user);
        else
            memcpy(z, r, (size_t)n * sizeof *z);
        last = rho, rho = 0, pq = 0, rr = 0;
        for (int64_t i = 0; i < n; i++) rho += r[i] * z[i];
        for (int64_t i = 0; i < n; i++) p[i] = z[i] + (k ? rho / last : 0) * p[i];
        for (int64_t i = 0; i < n; i++) q[i] = plain_row(A, i, p), pq += p[i] * q[i];
        for (int64_t i = 0; i < n; i++) r[i] -= rho / pq * q[i], rr += r[i] * r[i];
    }
    free(r), free(z), free(p), free(q);
    return (int)k;
}

/* The same on the device. */
MAYBE_UNUSED static int device_pcg(const kry_op *A, const double *b, const char *options,
                                   kry_result *result)
{
    kry_type type = kry_op_get_shape(A)->type;
    int64_t n = kry_op_get_shape(A)->rows;
    guarded B = guarded_create(type, n, 1, 0, b);
    kry_op *solver = NULL;
    kry_vec *x = NULL;

    OK(kry_vec_create(device(), type, n, 1, &x));
    OK(kry_solver_create(A, options, NULL, NULL, &solver));
    OK(kry_solve(solver, B.v, x, result));
    assert_true(result->true_residual <= result->target);
    kry_op_release(&solver);
    kry_vec_release(&x);
    guarded_release(&B);
    return (int)result->iterations;
}

#endif
