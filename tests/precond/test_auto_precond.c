/*
 * test_auto_precond.c - precond=auto: which preconditioner it takes for which matrix, and what it says.
 */
#include "testing.h"
#include <kry/multigrid.h>
#include <kry/problem.h>
#include <kry/solver.h>

/* The matrix of a generated problem; block: as in kry_matrix_params. */
static kry_op *matrix_of(const char *spec, int block)
{
    kry_problem *p = NULL;
    kry_op *A = NULL;

    OK(kry_problem_create(spec, 1, &p));
    OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val,
                      KRY_MATRIX(.traits = KRY_POSITIVE, .block = block), &A));
    kry_problem_release(&p);
    return A;
}

/* A band with `diagonal` on it, `below` under it and `above` over it. */
static kry_op *band(int64_t n, double diagonal, double below, double above)
{
    int64_t *row_ptr = calloc((size_t)n + 1, sizeof *row_ptr), nnz = 0;
    int32_t *col = calloc(3 * (size_t)n + 1, sizeof *col);
    double *val = calloc(3 * (size_t)n + 1, sizeof *val);
    kry_op *A = NULL;

    assert_non_null(row_ptr), assert_non_null(col), assert_non_null(val);
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) col[nnz] = (int32_t)(i - 1), val[nnz++] = below;
        col[nnz] = (int32_t)i, val[nnz++] = diagonal;
        if (i + 1 < n) col[nnz] = (int32_t)(i + 1), val[nnz++] = above;
        row_ptr[i + 1] = nnz;
    }
    OK(kry_csr_create(device(), KRY_F64, n, n, row_ptr, col, val, NULL, &A));
    free(row_ptr), free(col), free(val);
    return A;
}

/* What auto makes of A, which is released, and how it says why. */
static void expect(kry_op *A, const char *kind, const char *why)
{
    kry_op *M = NULL;
    kry_op_info info;

    OK(kry_precond_create(A, "auto", &M));
    kry_op_describe(M, &info);
    assert_string_equal(info.kind, kind);
    if (!strstr(info.chosen, why)) fail_msg("'%s' does not say '%s'", info.chosen, why);
    kry_op_release(&M), kry_op_release(&A);
}

/* The factors of blocks that CPUs take, or the approximate inverse of GPUs. */
static const char *one_level(void)
{
    return kry_device_get_info(device())->cpu_kernels ? "block-ic" : "fsai";
}

static void auto__by_the_entries(void **state)
{
    (void)state;
    expect(matrix_of("poisson2d:24", 1), "amg", "couplings are negative");
    expect(matrix_of("twophase2d:24:1000:bubbles", 1), "amg", "couplings are negative");
    expect(matrix_of("elasticity2d:20x6", 2), "amg", "several unknowns");
    expect(matrix_of("elasticity2d:20x6", 1), one_level(), "larger than the diagonal");
    expect(matrix_of("plate2d:12", 1), one_level(), "larger than the diagonal");
    expect(band(300, 3, -1, -1), "jacobi", "few iterations");
    expect(band(300, 2, 1, 1), one_level(), "positive");
    expect(band(1, 2, 0, 0), "jacobi", "few iterations");
    expect(band(0, 0, 0, 0), "jacobi", "no matrix to look at");
}

static void auto__grids(void **state)
{
    (void)state;
    kry_op *A = NULL;
    OK(kry_stencil_create(device(), KRY_F64, KRY_STENCIL(.size = { 17, 30 }), &A));
    expect(A, "mg", "a grid");
}

/* What is not for conjugate gradients is left to Jacobi. */
static void auto__not_positive_or_not_symmetric(void **state)
{
    (void)state;
    expect(band(200, 2, -1, -0.5), "jacobi", "not symmetric");
    expect(band(200, -2, 1, 1), "jacobi", "positive diagonal");
}

/* The solver says what it took; with a second level it is Jacobi's. */
static void auto__in_option_strings(void **state)
{
    (void)state;
    static const char *const said[][2] = {
        { "method=pcg precond=auto", "preconditioner amg (V(1,1)" }, /* in single on GPUs */
        { "method=pcg precond=auto", ", chebyshev:2" },
        { "method=pcg precond=auto", " by auto (couplings are negative" },
        { "method=pcg precond=auto deflation=stripes:4", "preconditioner jacobi, deflation" },
    };
    kry_op *A = matrix_of("poisson2d:24", 1), *S = NULL;
    kry_op_info info;

    for (size_t i = 0; i < COUNT(said); i++) {
        OK(kry_solver_create(A, said[i][0], NULL, NULL, &S));
        kry_op_describe(S, &info);
        if (!strstr(info.variant, said[i][1]))
            fail_msg("'%s' does not say '%s'", info.variant, said[i][1]);
        kry_op_release(&S);
    }
    kry_op_release(&A);
}

static kry_op *matrix_in(const char *root, const char *name)
{
    char path[600];
    kry_mtx *mtx = NULL;
    kry_op *A = NULL;

    snprintf(path, sizeof path, "%s/spd/%s.mtx.gz", root, name);
    OK(kry_mtx_read(path, &mtx));
    OK(kry_mtx_matrix(device(), KRY_F64, mtx, KRY_MATRIX(.traits = KRY_POSITIVE), &A));
    kry_mtx_release(&mtx);
    return A;
}

/* Matrices on which multigrid loses to incomplete factors, or fails: auto takes the latter; and who asks for
 * multigrid by its name gets a solve that ends and says so, or a refusal. */
static void auto__not_for_multigrid(void **state)
{
    static const char *const names[] = { "nasa4704", "bcsstk17", "gridgena", "cvxbqp1" };
    const char *root = getenv("KRY_MATRIX_DIR");
    (void)state;
    if (!root) SKIP("KRY_MATRIX_DIR is not set");
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!in_sample((int64_t)i)) continue;
        expect(matrix_in(root, names[i]), one_level(), "couplings are positive");
        kry_op *A = matrix_in(root, names[i]), *S = NULL;
        const int64_t n = kry_op_get_shape(A)->rows;
        double *b = random_array(KRY_F64, n), *x = calloc((size_t)n, sizeof *x);
        kry_result result = { .iterations = -1 };
        assert_non_null(x);
        OK(kry_solver_create(A, "method=pcg precond=amg maxit=5", NULL, NULL, &S));
        assert_int_equal(kry_solve_host(S, b, x, &result), KRY_NOT_CONVERGED);
        assert_int_equal(result.iterations, 5);
        kry_op_release(&S), kry_op_release(&A);
        free(b), free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto__by_the_entries),
        cmocka_unit_test(auto__grids),
        cmocka_unit_test(auto__not_positive_or_not_symmetric),
        cmocka_unit_test(auto__in_option_strings),
        cmocka_unit_test(auto__not_for_multigrid),
    };
    return cmocka_run_group_tests_name("auto_precond", tests, NULL, close_device);
}
