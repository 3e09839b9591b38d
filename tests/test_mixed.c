/* test_mixed.c - double accuracy from iterations in single: golden counts, promotion, honest ends. */
#include "testing.h"
#include "solver/stop.h"

typedef struct outcome {
    kry_status status;
    kry_result res;
    double true_relative; /* ||b - A x|| / ||b||, by the host */
} outcome;

/* ||b - A x|| / ||b|| of a problem in long double */
static double host_residual(const kry_problem *p, const double *x)
{
    long double sum = 0, norm = 0;
    for (int64_t i = 0; i < p->n; i++) {
        long double r = p->rhs[i];
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            r -= (long double)p->val[k] * x[p->col[k]];
        sum += r * r, norm += (long double)p->rhs[i] * p->rhs[i];
    }
    return (double)sqrtl(sum / norm);
}

static outcome solve_with(const kry_op *S, const kry_problem *p)
{
    outcome o;
    kry_vec *b, *x;
    double *host = calloc((size_t)p->n, sizeof *host);

    OK(kry_vec_create(device(), KRY_F64, p->n, 1, &b));
    OK(kry_vec_create(device(), KRY_F64, p->n, 1, &x));
    OK(kry_vec_write(b, p->rhs));
    o.status = kry_solve(S, b, x, &o.res);
    if (o.status < 0) print_error("%s\n", kry_last_error());
    OK(kry_vec_read(x, host));
    o.true_relative = host_residual(p, host);
    free(host);
    kry_vec_release(&x);
    kry_vec_release(&b);
    return o;
}

static outcome solve(const kry_op *A, const kry_problem *p, const char *options)
{
    kry_op *S;
    OK(kry_solver_create(A, options, NULL, NULL, &S));
    outcome o = solve_with(S, p);
    print_message("# %s %s: %s, %lld its (%lld + %lld), %lld outer, %d promoted '%s', true %.3e\n",
                  p->name, options, o.res.why, (long long)o.res.iterations,
                  (long long)o.res.single_iterations, (long long)o.res.double_iterations,
                  (long long)o.res.outer_iterations, o.res.promotions, o.res.promoted_why,
                  o.true_relative);
    kry_op_release(&S);
    return o;
}

/* b = A x for a random x: that of the equation has so many symmetries that rounding costs it
 * iterations, in double already. */
static kry_problem *problem(const char *spec)
{
    kry_problem *p;
    OK(kry_problem_create(spec, 1, &p));
    double *x = random_array(KRY_F64, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        p->rhs[i] = 0;
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            p->rhs[i] += p->val[k] * x[p->col[k]];
    }
    free(x);
    return p;
}

/* ---- golden counts --------------------------------------------------------------------------- */

static const struct golden {
    const char *spec;
    int64_t in_double, reliable;
} golden[] = {
    { "poisson2d:256", 735, 737 },
    { "poisson3d:40", 161, 161 },
    { "anisotropic2d:128:1e-3", 696, 702 },
};

static void reliable__golden_counts(void **state)
{
    (void)state;
    if (small_run() || acc_type() != KRY_F64) SKIP("too large, or no double");
    for (size_t i = 0; i < COUNT(golden); i++)
        for (int stencil = 0; stencil < 2; stencil++) {
            kry_problem *p = problem(golden[i].spec);
            kry_op *A;
            if (stencil)
                OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
            else
                OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val, NULL,
                                  &A));
            outcome d = solve(A, p, "rtol=1e-10");
            outcome o = solve(A, p, "rtol=1e-10 precision=mixed");
            double work = (0.5 * (double)o.res.single_iterations + (double)o.res.outer_iterations) /
                          (double)d.res.iterations;
            assert_int_equal(o.status, KRY_OK);
            assert_true(o.true_relative <= 1e-10);
            assert_int_equal(o.res.promotions, 0);
            assert_int_equal(o.res.scheme, KRY_SCHEME_RELIABLE);
            assert_int_equal(o.res.double_iterations, 0);
            NEAR(o.res.iterations, d.res.iterations, 0.05 * (double)d.res.iterations, "%s",
                 golden[i].spec);
            NEAR(d.res.iterations, golden[i].in_double, 0.15 * (double)golden[i].in_double, "%s",
                 golden[i].spec);
            if (work > 0.57) fail_msg("%s: work %g", golden[i].spec, work);
            solve(A, p, "rtol=1e-10 precision=mixed scheme=classical");
            solve(A, p, "rtol=1e-10 precision=mixed scheme=flexible");
            kry_op_release(&A);
            kry_problem_release(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reliable__golden_counts),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
