/* chains.h - tridiagonal systems for tests of Krylov methods, and solves with them. */
#ifndef KRY_TEST_CHAINS_H
#define KRY_TEST_CHAINS_H

#include "teams.h"

enum { MOST = 300 };

/* A tridiagonal matrix; b from sines. */
typedef struct chain {
    int64_t n, row_ptr[MOST + 1];
    int32_t col[3 * MOST];
    double val[3 * MOST], b[MOST];
} chain;

/* (below, diagonal, above) */
static chain chain_with(int64_t n, double below, double diagonal, double above)
{
    chain c = { .n = n };
    int64_t k = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = i ? i - 1 : 0; j <= i + 1 && j < n; j++)
            c.col[k] = j, c.val[k++] = j < i ? below : j > i ? above : diagonal;
        c.row_ptr[i + 1] = k;
        c.b[i] = (float)sin(1.0 + (double)i);
    }
    return c;
}

/* (-1, diagonal, -1) with `end` in the corners */
MAYBE_UNUSED static chain chain_of(int64_t n, double diagonal, double end)
{
    chain c = chain_with(n, -1, diagonal, -1);
    c.val[0] = c.val[c.row_ptr[n] - 1] = end;
    return c;
}

MAYBE_UNUSED static void times(const chain *c, const long double *x, long double *y)
{
    for (int64_t i = 0; i < c->n; i++) {
        y[i] = 0;
        for (int64_t k = c->row_ptr[i]; k < c->row_ptr[i + 1]; k++)
            y[i] += c->val[k] * x[c->col[k]];
    }
}

MAYBE_UNUSED static long double product(int64_t n, const long double *a, const long double *b)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* to := to + by from */
MAYBE_UNUSED static void add(int64_t n, long double by, const long double *from, long double *to)
{
    for (int64_t i = 0; i < n; i++) to[i] += by * from[i];
}

MAYBE_UNUSED static double residual_of(const chain *c, const double *x)
{
    long double at[MOST] = { 0 }, y[MOST], sum = 0;
    for (int64_t i = 0; i < c->n; i++) at[i] = x[i];
    times(c, at, y);
    for (int64_t i = 0; i < c->n; i++) sum += (c->b[i] - y[i]) * (c->b[i] - y[i]);
    return (double)sqrtl(sum);
}

static kry_op *matrix_of(kry_device *dev, kry_type type, const chain *c, unsigned traits)
{
    kry_op *A;
    void *val = in_type(type, c->val, c->row_ptr[c->n]);
    OK(kry_csr_create(dev, type, c->n, c->n, c->row_ptr, c->col, val, KRY_MATRIX(.traits = traits),
                      &A));
    free(val);
    return A;
}

typedef struct outcome {
    kry_status status;
    kry_result res;
    double x[MOST], history[MOST];
} outcome;

static outcome solve_on(kry_device *dev, kry_type type, const chain *c, unsigned traits,
                        const char *words)
{
    outcome o = { .status = 0 };
    kry_op *A = matrix_of(dev, type, c, traits), *S;
    kry_vec *b = vec_on(dev, type, c->b, c->n, 1), *x;
    OK(kry_vec_create(dev, type, c->n, 1, &x));
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    o.status = kry_solve(S, b, x, &o.res);
    double *numbers = numbers_of(x);
    memcpy(o.x, numbers, (size_t)c->n * sizeof *numbers);
    free(numbers);
    for (int64_t k = 0; k < o.res.history_count && k < MOST; k++) o.history[k] = o.res.history[k];
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
    return o;
}

MAYBE_UNUSED static outcome solve(kry_type type, const chain *c, const char *words)
{
    return solve_on(device(), type, c, 0, words);
}

/* The solution as a guess, then a right-hand side of zeros. */
MAYBE_UNUSED static void check_guess_and_zero(kry_type type, const chain *c, const char *words)
{
    kry_op *A = matrix_of(device(), type, c, 0), *S;
    kry_vec *b = vec_of(type, c->b, c->n, 1), *zero, *x;
    kry_result res;
    double norm;

    OK(kry_vec_create(device(), type, c->n, 1, &zero));
    OK(kry_vec_create(device(), type, c->n, 1, &x));
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    OK(kry_solve(S, b, x, &res));
    OK(kry_solve(S, b, x, &res));
    assert_int_equal(res.reason, KRY_CONVERGED_GUESS);
    assert_int_equal(res.iterations, 0);
    OK(kry_solve(S, zero, x, &res));
    assert_int_equal(res.reason, KRY_CONVERGED_ZERO);
    OK(kry_vec_norm2(x, &norm));
    assert_true(norm == 0);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&zero);
    kry_vec_release(&x);
}

/* words: with maxit=most, which is not enough */
MAYBE_UNUSED static outcome check_limit(kry_type type, const chain *c, const char *words, int most)
{
    outcome o = solve(type, c, words);

    assert_int_equal(o.status, KRY_NOT_CONVERGED);
    assert_int_equal(o.res.reason, KRY_ITERATION_LIMIT);
    assert_int_equal(o.res.iterations, most);
    assert_int_equal(o.res.history_count, most + 1);
    NEAR(residual_of(c, o.x), o.res.true_residual, 1e-4 * o.res.norm_b, "x of the limit");
    return o;
}

/* A monitor that may look at x, and counts how often it is called. */
typedef struct eye {
    const chain *c;
    kry_vec *x;
    int calls;
} eye;

/* words: with check-every=3; the monitor, whose user is an eye, stops from iteration 9 on. */
MAYBE_UNUSED static void check_monitor_stop(kry_type type, const chain *c, const char *words,
                                            kry_monitor monitor)
{
    kry_op *A = matrix_of(device(), type, c, 0), *S;
    guarded b = guarded_create(type, c->n, 1, 3, c->b), x = guarded_create(type, c->n, 1, 1, c->b);
    eye e = { c, x.v, 0 };
    kry_result res;

    OK(kry_solver_create(A, words, monitor, &e, &S));
    assert_int_equal(kry_solve(S, b.v, x.v, &res), KRY_STOPPED);
    assert_int_equal(res.reason, KRY_MONITOR_STOP);
    assert_int_equal(res.iterations, 9);
    assert_int_equal(e.calls, 4); /* at 0, 3, 6, 9 */
    double *numbers = guarded_read(&x);
    NEAR(residual_of(c, numbers), res.true_residual, 1e-4 * res.norm_b, "x of iteration 9");
    free(numbers);
    kry_op_release(&S);
    kry_op_release(&A);
    guarded_release(&b), guarded_release(&x);
}

/* Conjugate residuals: norms of r at iterations 0 ... steps, from x = 0, with M = 1 / diagonal or without. */
MAYBE_UNUSED static void conjugate_residuals(const chain *c, bool jacobi, int steps, double *norms)
{
    long double r[MOST], z[MOST], w[MOST], p[MOST] = { 0 }, q[MOST] = { 0 }, y[MOST], rho = 0;
    for (int64_t i = 0; i < c->n; i++) {
        y[i] = jacobi ? 1 / (i == 0 || i == c->n - 1 ? c->val[0] : c->val[3]) : 1;
        r[i] = c->b[i], z[i] = y[i] * r[i];
    }
    for (int k = 0; k <= steps; k++) {
        long double norm = 0, now = 0, qy = 0;
        times(c, z, w);
        for (int64_t i = 0; i < c->n; i++) norm += r[i] * r[i], now += z[i] * w[i];
        norms[k] = (double)sqrtl(norm);
        for (int64_t i = 0; i < c->n; i++) {
            p[i] = z[i] + (k ? now / rho : 0) * p[i];
            q[i] = w[i] + (k ? now / rho : 0) * q[i];
            qy += q[i] * y[i] * q[i];
        }
        rho = now;
        for (int64_t i = 0; i < c->n; i++) {
            r[i] -= rho / qy * q[i];
            z[i] -= rho / qy * y[i] * q[i];
        }
    }
}

/* A preconditioner that is negative definite. */
MAYBE_UNUSED static kry_status negate(void *self, double alpha, const kry_vec *x, double beta,
                                      kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(-alpha, x, beta, y);
}

/* What a method of a definite M refuses: an M whose product, in the words of `product`, is negative, at the first
 * iteration; one that varies, and deflation, before. */
MAYBE_UNUSED static void check_preconditioners_refused(kry_type type, const char *method,
                                                       const char *product)
{
    static const kry_op_table table = { sizeof table, "minus", .apply = negate };
    static const int32_t labels[30] = { [10] = 1, 1, 1, 1, 1, 1, 1 };
    chain c = chain_of(30, 3, 3);
    kry_op *A = matrix_of(device(), type, &c, 0), *M, *D, *S;
    kry_op_shape shape = { c.n, c.n, type, 0 };
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    kry_result res;

    OK(kry_vec_create(device(), type, c.n, 1, &x));
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    OK(kry_krylov_create(A, method, KRY_PCG(.precond = M), &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_BREAKDOWN);
    assert_int_equal(res.reason, KRY_INDEFINITE_PRECOND);
    assert_non_null(strstr(res.why, product));
    kry_op_release(&S);
    kry_op_release(&M);
    shape.traits = KRY_VARYING;
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    REFUSES(kry_krylov_create(A, method, KRY_PCG(.precond = M), &S), KRY_ERR_TYPE, "varies");
    kry_op_release(&M);
    OK(kry_deflation_create(A, KRY_DEFLATION(.labels = labels), &D));
    REFUSES(kry_krylov_create(A, method, KRY_PCG(.deflation = D), &S), KRY_ERR_UNSUPPORTED,
            "takes no deflation");
    kry_op_release(&D);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

#endif
