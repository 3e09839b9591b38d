/*
 * test_scipy.c - as many iterations as SciPy's methods of the same name take, within 2 per cent: gmres, bicgstab and
 * minres, to a true residual of 1e-8 in double. tests/solver/scipy_counts.py makes the table; SciPy is not needed here.
 */
#include "testing.h"
#include <kry/problem.h>
#include <kry/solver.h>

/* SciPy 1.10.1 */
static const struct {
    const char *problem, *method, *precond;
    int iterations;
} cases[] = {
    { "convection2d:40:20", "gmres:30", "none", 649 },
    { "convection2d:40:100", "gmres:60", "none", 2110 },
    { "convection3d:12:20", "gmres:30", "none", 126 },
    { "random:2000:5", "gmres:10", "none", 29 },
    { "helmholtz2d:20:10", "gmres:60", "none", 224 },
    { "convection2d:40:20", "bicgstab:1", "none", 164 },
    { "convection3d:12:20", "bicgstab:1", "none", 58 },
    { "convection3d:12:20", "bicgstab:1", "jacobi", 56 },
    { "random:2000:5", "bicgstab:1", "none", 16 },
    { "random:2000:5", "bicgstab:1", "jacobi", 11 },
    { "helmholtz2d:40:20", "minres", "none", 281 },
    { "helmholtz2d:30:10", "minres", "none", 128 },
    { "stokes2d:16", "minres", "none", 242 },
    { "poisson2d:60", "minres", "none", 105 },
};

static void solve_case(size_t i)
{
    char words[96];
    kry_problem *p;
    kry_op *A, *S;
    kry_vec *b, *x;
    kry_result res;

    OK(kry_problem_create(cases[i].problem, 1, &p));
    OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val, NULL, &A));
    OK(kry_vec_create(device(), KRY_F64, p->n, 1, &b));
    OK(kry_vec_create(device(), KRY_F64, p->n, 1, &x));
    OK(kry_vec_write(b, p->rhs));
    snprintf(words, sizeof words, "method=%s precond=%s rtol=1e-8", cases[i].method,
             cases[i].precond);
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_OK);
    const double slack = fmax(1, 0.02 * cases[i].iterations);
    print_message("# %s, %s: %lld iterations, SciPy %d\n", cases[i].problem, words,
                  (long long)res.iterations, cases[i].iterations);
    assert_true(fabs((double)res.iterations - cases[i].iterations) <= slack);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
    kry_problem_release(&p);
}

static void iterations__as_scipy(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    for (size_t i = 0; i < COUNT(cases); i++) solve_case(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations__as_scipy),
    };
    return cmocka_run_group_tests_name("scipy", tests, NULL, close_device);
}
