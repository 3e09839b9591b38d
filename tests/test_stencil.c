/*
 * test_stencil.c - grid operators against matrices written down face by face.
 */
#include "grids.h"
#include "op_suite.h"
#include "step_suite.h"

static kry_op *stencil_of(const grid *g, kry_type type, const double *k, kry_stencil_path path)
{
    kry_op *op = NULL;
    kry_stencil_params p = grid_params(g, k, path);
    OK(kry_stencil_create(device(), type, &p, &op));
    assert_non_null(op);
    return op;
}

static void check_description(const kry_op *op, const grid *g, const matrix *A,
                              kry_stencil_path path)
{
    kry_op_info info;
    unsigned traits = kry_op_get_shape(op)->traits;
    int64_t entries = 0;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            entries += A->val[e] != 0 || A->col[e] == i;
    kry_op_describe(op, &info);
    assert_string_equal(info.kind, "stencil");
    assert_string_equal(info.variant, kry_stencil_path_name(path));
    assert_int_equal(info.nnz, entries);
    assert_true(info.bytes_per_apply > 0);
    assert_true(traits & KRY_SYMMETRIC);
    assert_int_equal(!(traits & KRY_POSITIVE), grid_singular(g));
    assert_int_equal(!!(traits & KRY_SINGULAR), grid_singular(g));
}

/* Every grid: the operator's contract and the fused passes. */
static void check_path(kry_type type, kry_stencil_path path, size_t every)
{
    for (size_t i = 0; i < COUNT(grids); i += every) {
        const grid *g = &grids[i];
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *op = stencil_of(g, type, k, path);

        print_message("# %s, %s\n", g->name, kry_stencil_path_name(path));
        check_description(op, g, &A, path);
        op_suite(op, &A);
        if (op->table->apply_direction) {
            step_suite(op, &A, g->name);
            step_suite_stops(op, &A);
        }
        kry_op_release(&op);
        matrix_release(&A);
        free(k);
    }
}

static void stencil__march(void **state) { check_path(type_of(state), KRY_PATH_MARCH, 1); }
static void stencil__global(void **state) { check_path(type_of(state), KRY_PATH_GLOBAL, 4); }
static void stencil__local(void **state) { check_path(type_of(state), KRY_PATH_LOCAL, 4); }

/* ---- solves -------------------------------------------------------------------------------- */

/* x after `limit` iterations, to be freed. */
static double *iterate_of(const kry_op *A, const double *b, const char *precond, int limit,
                          kry_result *result)
{
    kry_type type = kry_op_get_shape(A)->type;
    int64_t n = kry_op_get_shape(A)->rows;
    kry_op *solver = NULL;
    kry_vec *B = whole_vector(type, n, b), *X = whole_vector(type, n, b);
    double *x = calloc((size_t)n + 1, sizeof *x);
    char words[96];

    assert_non_null(x);
    snprintf(words, sizeof words, "method=pcg precond=%s rtol=1e-6 maxit=%d", precond, limit);
    OK(kry_vec_fill(X, 0));
    OK(kry_solver_create(A, words, NULL, NULL, &solver));
    assert_true(kry_solve(solver, B, X, result) >= 0);
    result->history = NULL;
    whole_read(X, x);
    kry_vec_release(&B), kry_vec_release(&X);
    kry_op_release(&solver);
    return x;
}

/* Stopped anywhere, a solve without a matrix has come as far as one with it: no step of x is lost
 * that waits for the next one. */
static void check_iterates(const grid *g, kry_type type, const char *precond)
{
    double *k = grid_coefficients(g, type), *b = random_array(type, grid_points(g));
    kry_op *free_of_it = stencil_of(g, type, k, KRY_PATH_MARCH), *stored = NULL;
    static const int limits[] = { 1, 2, 3, 8, 400 };

    matrix A = grid_matrix(g, k);
    stored = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE, .format = KRY_FORMAT_CSR));
    for (size_t l = 0; l < COUNT(limits); l++) {
        kry_result ours, theirs;
        double *x = iterate_of(free_of_it, b, precond, limits[l], &ours);
        double *y = iterate_of(stored, b, precond, limits[l], &theirs), size = 0;
        for (int64_t i = 0; i < A.rows; i++) size = fmax(size, fabs(y[i]));
        for (int64_t i = 0; i < A.rows; i++)
            NEAR(x[i], y[i], (limits[l] < 10 ? 1e3 * eps_of(type) : 1e-2) * size,
                 "%s, %s: x[%lld] after %d iterations", g->name, precond, (long long)i, limits[l]);
        assert_in_range(ours.iterations, theirs.iterations - 1 - theirs.iterations / 50,
                        theirs.iterations + 1 + theirs.iterations / 50);
        free(x), free(y);
    }
    kry_op_release(&stored);
    kry_op_release(&free_of_it);
    matrix_release(&A);
    free(b), free(k);
}

static void stencil__solves(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        if (grid_singular(&grids[i]) || grid_points(&grids[i]) < 30) continue;
        check_iterates(&grids[i], type, "none");
        check_iterates(&grids[i], type, "jacobi");
    }
}

/* Constants cannot be told from zero: named before anything runs. */
static void stencil__singular(void **state)
{
    kry_op *solver = NULL;
    (void)state;
    for (size_t i = 0; i < COUNT(grids); i++) {
        if (!grid_singular(&grids[i])) continue;
        double *k = grid_coefficients(&grids[i], KRY_F32);
        kry_op *A = stencil_of(&grids[i], KRY_F32, k, KRY_PATH_MARCH);
        REFUSES(kry_pcg_create(A, NULL, &solver), KRY_ERR_SINGULAR, "constants");
        kry_op_release(&A);
        free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(stencil__march),
        BOTH(stencil__global),
        BOTH(stencil__local),
        BOTH(stencil__solves),
        cmocka_unit_test(stencil__singular),
    };
    return cmocka_run_group_tests_name("stencil", tests, NULL, close_device);
}
