/* test_chebyshev.c - the polynomial preconditioner against the same polynomial in plain C. */
#include "as_matrix.h"
#include "op_suite.h"

typedef struct interval {
    int degree;
    double highest, ratio;
} interval;

/* Saad's algorithm 12.1 with residuals and steps written out. */
static void plain_chebyshev(const matrix *A, const double *b, double *x, const void *user)
{
    const interval *on = user;
    int64_t n = A->rows;
    double low = on->highest / on->ratio, theta = (on->highest + low) / 2,
           delta = (on->highest - low) / 2, rho = delta / theta;
    double *step = calloc((size_t)n + 1, sizeof *step);

    assert_non_null(step);
    for (int64_t i = 0; i < n; i++) x[i] = 0, step[i] = b[i] / plain_diagonal(A, i) / theta;
    for (int k = 0; k <= on->degree; k++) {
        for (int64_t i = 0; i < n; i++) x[i] += step[i];
        double next = 1 / (2 * theta / delta - rho);
        for (int64_t i = 0; i < n; i++)
            step[i] = rho * next * step[i] +
                      2 * next / delta * (b[i] - plain_row(A, i, x)) / plain_diagonal(A, i);
        rho = next;
    }
    free(step);
}

static void check_operator(const kry_op *op, const matrix *A, const interval *on, const char *why)
{
    matrix M = as_matrix(A, plain_chebyshev, on);
    kry_op *chebyshev = NULL;
    kry_op_info info;

    print_message("# %s, degree %d\n", why, on->degree);
    OK(kry_chebyshev_create(
        op, KRY_CHEBYSHEV(.degree = on->degree, .highest = on->highest, .ratio = on->ratio),
        &chebyshev));
    kry_op_describe(chebyshev, &info);
    assert_string_equal(info.kind, "chebyshev");
    assert_true(info.bytes_per_apply > 0);
    op_suite(chebyshev, &M);
    check_dots(chebyshev, why);
    kry_op_release(&chebyshev);
    matrix_release(&M);
}

static void chebyshev__equals_the_polynomial(void **state)
{
    static const struct {
        int grid; /* plane and space, mixed sides, variable */
        interval on, stored;
    } of[] = { { 3, { 1, 2, 30 }, { 4, 2.2, 20 } }, { 4, { 2, 2.2, 20 }, { 1, 2, 9 } },
               { 3, { 5, 2, 7 }, { 2, 2.5, 30 } },  { 8, { 4, 2.2, 20 }, { 3, 2, 7 } },
               { 11, { 3, 2, 7 }, { 0, 0, 0 } },    { 17, { 1, 2, 30 }, { 4, 2.2, 20 } },
               { 14, { 4, 2.2, 20 }, { 3, 2, 30 } } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        const grid *g = &grids[of[i].grid];
        if (too_large(grid_points(g))) continue;
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *op = grid_op(g, type, k), *csr = csr_of(&A, type, NULL);
        check_operator(op, &A, &of[i].on, g->name);
        if (of[i].stored.degree) check_operator(csr, &A, &of[i].stored, "stored");
        kry_op_release(&op);
        kry_op_release(&csr);
        matrix_release(&A);
        free(k);
    }
}

/* The defaults: 2 bounds the eigenvalues of a grid, and the estimate comes close to it from either
 * side; counts are those of plain C, and a fraction of those without. */
static void chebyshev__saves_iterations(void **state)
{
    const interval defaults = { 4, 2, 60 };
    kry_type type = type_of(state);
    const grid *g = &grids[6];
    matrix A = grid_matrix(g, NULL);
    kry_op *op = grid_op(g, type, NULL), *csr = csr_of(&A, type, NULL);
    double *b = random_array(type, A.rows);
    kry_result with, without;

    int plain = plain_pcg(&A, b, plain_chebyshev, &defaults, 1e-4);
    int ours = device_pcg(op, b, "precond=chebyshev rtol=1e-4", &with);
    int stored = device_pcg(csr, b, "precond=chebyshev:4 rtol=1e-4", &with);
    int none = device_pcg(op, b, "precond=none rtol=1e-4", &without);
    print_message("# %d iterations, %d in plain C, %d stored, %d without\n", ours, plain, stored,
                  none);
    assert_in_range(ours, plain - 1, plain + 1);
    assert_in_range(stored, plain - 2, plain + 2);
    assert_true(3 * ours < none);
    kry_op_release(&op);
    kry_op_release(&csr);
    free(b);
    matrix_release(&A);
}

static double upper_end(const kry_op *M)
{
    kry_op_info info;
    double low, high;
    int degree;
    kry_op_describe(M, &info);
    assert_int_equal(sscanf(info.variant, "degree %d on %lf ... %lf", &degree, &low, &high), 3);
    assert_true(low > 0 && low < high);
    return high;
}

/* Whatever the scale of rows and columns, D^-1 A of a Laplacian goes up to 2. */
static void chebyshev__estimates_the_interval(void **state)
{
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[4], NULL);
    kry_op *M = NULL, *again = NULL, *op = NULL;

    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            A.val[e] *= exp2((double)(i % 7)) * exp2((double)(A.col[e] % 7));
    op = csr_of(&A, type, NULL);
    OK(kry_chebyshev_create(op, NULL, &M));
    OK(kry_chebyshev_create(op, NULL, &again));
    print_message("# 2 is taken for %g\n", upper_end(M));
    assert_true(upper_end(M) > 2 && upper_end(M) < 2.25);
    assert_true(upper_end(M) == upper_end(again));
    for (int64_t e = 0; e < A.nnz; e++) A.val[e] *= 0.25;
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    OK(kry_op_update(M, NULL));
    assert_true(upper_end(M) == upper_end(again));
    REFUSES(kry_op_update(M, val), KRY_ERR_ARGUMENT, "chebyshev");
    free(val);
    kry_op_release(&again);
    kry_op_release(&M);
    kry_op_release(&op);
    matrix_release(&A);
}

static void chebyshev_create__refusals(void **state)
{
    const kry_chebyshev_params bad[] = {
        { .struct_size = sizeof bad[0], .degree = -1 },
        { .struct_size = sizeof bad[0], .degree = 1001 },
        { .struct_size = sizeof bad[0], .highest = -2 },
        { .struct_size = sizeof bad[0], .highest = (double)NAN },
        { .struct_size = sizeof bad[0], .ratio = 1 },
        { .struct_size = sizeof bad[0], .ratio = (double)INFINITY },
        { .struct_size = 3 },
    };
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[3], NULL);
    kry_op *op = csr_of(&A, type, NULL), *M = op;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_chebyshev_create(op, &bad[i], &M), KRY_ERR_ARGUMENT, "kry_chebyshev_create");
        assert_null(M);
    }
    REFUSES(kry_chebyshev_create(NULL, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    kry_op_release(&op);
    A.val[0] = -A.val[0];
    for (int64_t e = 0; e < A.nnz; e++) A.val[e] = -A.val[e];
    op = csr_of(&A, type, NULL);
    REFUSES(kry_chebyshev_create(op, NULL, &M), KRY_ERR_ARGUMENT, "not positive definite");
    kry_op_release(&op);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(chebyshev__equals_the_polynomial),
        BOTH(chebyshev__saves_iterations),
        BOTH(chebyshev__estimates_the_interval),
        BOTH(chebyshev_create__refusals),
    };
    return cmocka_run_group_tests_name("chebyshev", tests, NULL, close_device);
}
