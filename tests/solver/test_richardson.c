/* test_richardson.c - x := x + M (b - A x): against the recurrence in plain C, every way to stop, multigrid as
 * a solver of its own. */
#include "as_matrix.h"
#include "teams.h"

typedef struct outcome {
    kry_status status;
    kry_result res;
    double history[200], *x; /* x: to be freed */
} outcome;

static outcome solve(const kry_op *A, const double *b, const double *guess, const char *words)
{
    outcome o = { .status = 0 };
    const kry_op_shape *shape = kry_op_get_shape(A);
    kry_vec *B = vec_on(kry_op_device(A), shape->type, b, shape->rows, 1),
            *x = vec_on(kry_op_device(A), shape->type, guess, shape->rows, 1);
    kry_op *S = NULL;

    OK(kry_solver_create(A, words, NULL, NULL, &S));
    o.status = kry_solve(S, B, x, &o.res);
    for (int64_t k = 0; k < o.res.history_count && k < (int64_t)COUNT(o.history); k++)
        o.history[k] = o.res.history[k];
    o.x = numbers_of(x);
    kry_op_release(&S);
    kry_vec_release(&x), kry_vec_release(&B);
    return o;
}

/* The residuals of x := x + D^-1 (b - A x), and x after `steps` of them. */
static void plain_richardson(const matrix *A, const double *b, int steps, double *x, double *norm)
{
    double *r = calloc((size_t)A->rows + 1, sizeof *r);
    assert_non_null(r);
    for (int k = 0; k <= steps; k++) {
        long double sum = 0;
        for (int64_t i = 0; i < A->rows; i++) r[i] = b[i] - plain_row(A, i, x), sum += r[i] * r[i];
        norm[k] = (double)sqrtl(sum);
        for (int64_t i = 0; i < A->rows && k < steps; i++) x[i] += r[i] / plain_diagonal(A, i);
    }
    free(r);
}

static void richardson__takes_the_steps(void **state)
{
    enum { STEPS = 9 };
    kry_type type = type_of(state);
    for (size_t g = 0; g < 2; g++) {
        matrix A = grid_matrix(&grids[g ? 4 : 8], NULL);
        kry_op *op = csr_of(&A, type, NULL);
        double *b = random_array(type, A.rows), *guess = random_array(type, A.rows),
               norm[STEPS + 1], *x = calloc((size_t)A.rows + 1, sizeof *x);
        assert_non_null(x);
        memcpy(x, guess, (size_t)A.rows * sizeof *x);
        plain_richardson(&A, b, STEPS, x, norm);
        outcome o = solve(op, b, guess, "method=richardson precond=jacobi maxit=9 stop=never");
        assert_int_equal(o.res.iterations, STEPS);
        for (int k = 0; k <= STEPS; k++)
            NEAR(o.history[k], norm[k], 400 * eps_of(type) * norm[0], "residual %d", k);
        for (int64_t i = 0; i < A.rows; i++)
            NEAR(o.x[i], x[i], 100 * eps_of(type) * (1 + fabs(x[i])), "x[%lld]", (long long)i);
        free(o.x), free(x), free(guess), free(b);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* A diagonal of one number: Krylov methods leave Jacobi out, and this one must not. */
static void richardson__ends(void **state)
{
    kry_type type = type_of(state);
    const grid *g = &grids[3];
    matrix A = grid_matrix(g, NULL);
    kry_op *op = grid_op(g, type, NULL);
    double *known = random_array(type, A.rows), *b = calloc((size_t)A.rows + 1, sizeof *b),
           *zero = calloc((size_t)A.rows + 1, sizeof *zero);
    const char *words = "method=richardson precond=jacobi rtol=1e-4 maxit=2000";

    assert_true(b && zero);
    for (int64_t i = 0; i < A.rows; i++) b[i] = to_type(type, plain_row(&A, i, known));
    outcome o = solve(op, b, zero, words);
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.res.iterations > 10 && o.res.true_residual <= o.res.target);
    free(o.x);
    o = solve(op, zero, zero, words); /* b = 0 */
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.iterations, 0);
    free(o.x);
    o = solve(op, b, known, words); /* an exact guess */
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.iterations, 0);
    free(o.x);
    o = solve(op, b, zero, "method=richardson precond=jacobi rtol=1e-4 maxit=3");
    assert_int_equal(o.status, KRY_NOT_CONVERGED);
    assert_int_equal(o.res.iterations, 3);
    free(o.x);
    o = solve(op, b, zero, "method=richardson precond=none maxit=2000"); /* eigenvalues up to 8 */
    assert_true(o.status > 0 && o.res.iterations < 100);
    free(o.x), free(b), free(zero), free(known);
    kry_op_release(&op);
    matrix_release(&A);
}

/* As many cycles for every size, by each of the words; singular grids, too. */
static void mg__is_a_solver(void **state)
{
    kry_type type = type_of(state);
    int64_t least = 100, most = 0;
    for (int64_t n = 40; n <= 160; n *= 2) {
        if (too_large(n * n)) continue;
        kry_op *op = NULL;
        double *b = random_array(type, n * n), *zero = calloc((size_t)(n * n), sizeof *zero);
        OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { n, n }), &op));
        outcome o = solve(op, b, zero, "method=mg rtol=1e-5"),
                same = solve(op, b, zero, "method=richardson precond=mg rtol=1e-5");
        assert_int_equal(o.status, KRY_OK);
        assert_same_bits(o.x, same.x, n * n);
        print_message("# %lld cycles for %lld x %lld\n", (long long)o.res.iterations, (long long)n,
                      (long long)n);
        if (o.res.iterations < least) least = o.res.iterations;
        if (o.res.iterations > most) most = o.res.iterations;
        for (int64_t k = 4; k < o.res.history_count; k++)
            assert_true(o.history[k] < 0.25 * o.history[k - 1]);
        free(same.x), free(o.x), free(zero), free(b);
        kry_op_release(&op);
    }
    assert_true(most <= least + 1 && most <= 9);
}

static void mg__solves_singular_grids(void **state)
{
    kry_type type = type_of(state);
    const int64_t n = 33 * 32;
    kry_op *op = NULL;
    double *b = random_array(type, n), *zero = calloc((size_t)n, sizeof *zero), mean = 0;

    for (int64_t i = 0; i < n; i++) mean += b[i] / (double)n;
    for (int64_t i = 0; i < n; i++) b[i] = to_type(type, b[i] - mean);
    OK(kry_stencil_create(device(), type,
                          KRY_STENCIL(.size = { 33, 32 }, .low = { KRY_NEUMANN, KRY_NEUMANN },
                                      .high = { KRY_NEUMANN, KRY_NEUMANN }),
                          &op));
    outcome o = solve(op, b, zero, "method=mg rtol=1e-5");
    assert_int_equal(o.status, KRY_OK);
    assert_in_range(o.res.iterations, 3, 12);
    free(o.x), free(zero), free(b);
    kry_op_release(&op);
}

/* ---- full multigrid ---------------------------------------------------------------------------- */

static double distance(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum);
}

/* After one pass what is left of the error of the linear system is less than the difference between its
 * solution and that of the differential equation. */
static void fmg__one_pass_reaches_the_error_of_discretisation(void **state)
{
    static const char *const problems[] = { "poisson2d:33",  "poisson2d:64", "poisson2d:127",
                                            "poisson2d:300", "poisson3d:17", "poisson3d:40" };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    for (size_t i = 0; i < COUNT(problems); i++) {
        kry_problem *p = NULL;
        kry_op *op = NULL;
        OK(kry_problem_create_grid(problems[i], 1, &p));
        if (too_large(p->n)) {
            kry_problem_release(&p);
            continue;
        }
        double *zero = calloc((size_t)p->n, sizeof *zero);
        OK(kry_stencil_create(device(), KRY_F64, p->grid, &op));
        outcome exact = solve(op, p->rhs, zero, "method=pcg rtol=1e-11"),
                pass = solve(op, p->rhs, zero, "method=fmg maxit=1 stop=never");
        const double left = distance(pass.x, exact.x, p->n),
                     discrete = distance(exact.x, p->solution, p->n);
        print_message("# %s: %.2f of the error of discretisation\n", problems[i], left / discrete);
        assert_int_equal(pass.res.iterations, 1);
        assert_true(left < discrete);
        free(exact.x), free(pass.x), free(zero);
        kry_op_release(&op);
        kry_problem_release(&p);
    }
}

/* Fewer cycles than from zero for every kind of levels; and it wants levels. */
static void fmg__is_a_start(void **state)
{
    const kry_type type = type_of(state);
    const int64_t n = 61 * 50;
    double *b = calloc((size_t)n, sizeof *b), *zero = calloc((size_t)n, sizeof *zero);
    kry_op *op[2] = { NULL, NULL };
    matrix A = grid_matrix(&(grid){ .size = { 61, 50 } }, NULL);

    assert_true(b && zero);
    for (int64_t i = 0; i < n; i++) b[i] = 1;
    op[0] = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
    OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { 61, 50 }), &op[1]));
    for (int i = 0; i < 2; i++) {
        /* alone, mg on grids works in single and with another smoother on GPUs */
        outcome cycles = solve(op[i], b, zero,
                               i ? "method=mg rtol=1e-4 precond=mg:values=double,degree=2"
                                 : "method=mg rtol=1e-4 precond=amg:values=double"),
                full =
                    solve(op[i], b, zero,
                          i ? "method=fmg rtol=1e-4 precond=mg:degree=2" : "method=fmg rtol=1e-4");
        print_message("# %lld cycles, %lld with the start\n", (long long)cycles.res.iterations,
                      (long long)full.res.iterations);
        assert_true(full.status == KRY_OK && full.res.iterations < cycles.res.iterations);
        free(cycles.x), free(full.x);
    }
    kry_op *S = op[0];
    REFUSES(kry_solver_create(op[0], "method=fmg precond=jacobi", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "mg or amg, not 'jacobi'");
    REFUSES(kry_solver_create(op[0], "method=fmg precond=none", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "not 'none'");
    kry_op_release(&op[0]), kry_op_release(&op[1]);
    matrix_release(&A);
    free(b), free(zero);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(richardson__takes_the_steps),
        BOTH(richardson__ends),
        BOTH(mg__is_a_solver),
        BOTH(mg__solves_singular_grids),
        BOTH(fmg__is_a_start),
        cmocka_unit_test(fmg__one_pass_reaches_the_error_of_discretisation),
    };
    return cmocka_run_group_tests_name("richardson", tests, NULL, close_device);
}
