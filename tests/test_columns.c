/*
 * test_columns.c - products with several vectors at once, of every format, against a plain product in long
 * double: as many vectors as there are kernels for, one more, one less. And solves with several columns.
 */
#include "format_suite.h"

static const int64_t columns[] = { 1, 2, 3, 8, 16, 17 };

/* y := alpha A x + beta y for k columns that start anywhere, between guard zones; with beta == 0 over NaN. */
static void check_product(const kry_op *op, const matrix *A, int64_t k, double alpha, double beta)
{
    op_suite_blocks s = { .op = op, .A = A, .type = kry_op_get_shape(op)->type, .k = k };

    s.x = random_array(s.type, A->cols * k);
    s.y0 = random_array(s.type, A->rows * k);
    s.X = guarded_create(s.type, A->cols, k, 1, s.x);
    s.Y = guarded_create(s.type, A->rows, k, 3, s.y0);
    if (beta == 0) poison(&s.Y);
    OK(kry_op_apply(op, alpha, s.X.v, beta, s.Y.v));
    double *y = guarded_read(&s.Y), *x = guarded_read(&s.X);
    op_suite_compare(&s, A, alpha, beta, y);
    assert_same_bits(x, s.x, A->cols * k);
    guarded_release(&s.X), guarded_release(&s.Y);
    free(s.x), free(s.y0), free(x), free(y);
}

static void check_columns(const kry_op *op, const matrix *A)
{
    kry_type type = kry_op_get_shape(op)->type;

    for (size_t c = 0; c < COUNT(columns); c++) {
        check_product(op, A, columns[c], 1, 0);
        check_product(op, A, columns[c], to_type(type, -0.375), to_type(type, 1.0 / 3));
    }
}

/* Rows of all lengths, rows that are cut into pieces, and more columns than rows. */
static void columns__formats(void **state)
{
    static const pattern some[] = { { "rows of all lengths", 301, 301, any, NULL },
                                    { "one row is dense", 1203, 1203, dense_row, NULL },
                                    { "wide", 67, 129, gaps, NULL },
                                    { "a band", 131, 131, NULL, symmetric_band } };
    kry_type type = type_of(state);

    for (size_t p = 0; p < COUNT(some); p++) {
        if (too_large(some[p].rows)) continue;
        matrix A = pattern_matrix(&some[p], type);
        EACH_FORMAT(format)
        {
            kry_op *op = in_format(&A, type, format, 0);
            if (!op) continue;
            check_columns(op, &A);
            kry_op_release(&op);
        }
        matrix_release(&A);
    }
}

/* A view of some rows and columns: its columns are farther apart than its rows are many. */
static void columns__views(void **state)
{
    enum { ROWS = 100, COLUMNS = 5, AROUND = 9 };
    kry_type type = type_of(state);
    matrix A = matrix_create(type, ROWS, ROWS, any);
    kry_op *op = in_format(&A, type, KRY_FORMAT_CSR, 0);
    op_suite_blocks s = { .op = op, .A = &A, .type = type, .k = COLUMNS };
    kry_vec *in, *out, *x, *y;
    double *all = random_array(type, (ROWS + AROUND) * COLUMNS), *found;

    OK(kry_vec_create(device(), type, ROWS + AROUND, COLUMNS, &in));
    OK(kry_vec_create(device(), type, ROWS + AROUND, COLUMNS, &out));
    OK(kry_vec_write_doubles(in, all));
    OK(kry_vec_write_doubles(out, all));
    OK(kry_vec_block(in, AROUND, ROWS, 0, COLUMNS, &x));
    OK(kry_vec_block(out, 4, ROWS, 0, COLUMNS, &y));
    s.x = calloc(ROWS * COLUMNS, sizeof *s.x), found = calloc(ROWS * COLUMNS, sizeof *found);
    OK(kry_vec_read_doubles(x, s.x));
    OK(kry_op_apply(op, 1, x, 0, y));
    OK(kry_vec_read_doubles(y, found));
    op_suite_compare(&s, &A, 1, 0, found);
    double *around = calloc((ROWS + AROUND) * COLUMNS, sizeof *around);
    OK(kry_vec_read_doubles(out, around));
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t i = 0; i < ROWS + AROUND; i++) {
            int64_t at = j * (ROWS + AROUND) + i;
            if (i < 4 || i >= ROWS + 4) assert_same_bits(around + at, all + at, 1);
        }
    free(around), free(found), free(s.x), free(all);
    kry_vec_release(&y), kry_vec_release(&x), kry_vec_release(&out), kry_vec_release(&in);
    kry_op_release(&op);
    matrix_release(&A);
}

/* ---- solves -------------------------------------------------------------------------------- */

static bool diagonal(int64_t i, int64_t j, int64_t n) { return (void)n, i == j; }

enum { SIDE = 13, N = SIDE * SIDE, SYSTEMS = 5, ZERO = 1, GUESSED = 3 };

typedef struct systems {
    kry_op *A;
    matrix M;
    kry_type type;
    double *b, *guess, *x; /* N-by-SYSTEMS */
    kry_vec *B, *X;
} systems;

/* Right-hand sides of quite different sizes; that of column ZERO is zero, and column GUESSED has its
 * solution for a guess. */
static systems systems_create(kry_type type)
{
    systems s = { .type = type, .M = matrix_where(type, N, N, poisson) };

    for (int64_t i = 0; i < N; i++)
        for (int64_t k = s.M.row_ptr[i]; k < s.M.row_ptr[i + 1]; k++)
            s.M.val[k] = s.M.col[k] == i ? 4 : -1;
    s.A = in_format(&s.M, type, KRY_FORMAT_CSR, KRY_POSITIVE);
    s.b = random_array(type, N * SYSTEMS), s.guess = random_array(type, N * SYSTEMS);
    s.x = calloc(N * SYSTEMS, sizeof *s.x);
    for (int64_t i = 0; i < N; i++) {
        s.b[ZERO * N + i] = 0;
        s.b[2 * N + i] = ldexp(s.b[2 * N + i], 20);
        s.guess[GUESSED * N + i] = (double)(i % 3);
    }
    for (int64_t i = 0; i < N; i++)
        s.b[GUESSED * N + i] =
            (double)row_times(&s.M, i, s.guess + GUESSED * N, NULL, &(long double){ 0 });
    OK(kry_vec_create(device(), type, N, SYSTEMS, &s.B));
    OK(kry_vec_create(device(), type, N, SYSTEMS, &s.X));
    OK(kry_vec_write_doubles(s.B, s.b));
    OK(kry_vec_write_doubles(s.X, s.guess));
    return s;
}

static void systems_release(systems *s)
{
    kry_vec_release(&s->X), kry_vec_release(&s->B);
    kry_op_release(&s->A);
    matrix_release(&s->M);
    free(s->b), free(s->guess), free(s->x);
}

static double norm_of_residual(const systems *s, int64_t j)
{
    long double sum = 0;

    for (int64_t i = 0; i < N; i++) {
        long double r =
            s->b[j * N + i] - row_times(&s->M, i, s->x + j * N, NULL, &(long double){ 0 });
        sum += r * r;
    }
    return (double)sqrtl(sum);
}

/* Each column against its own target, in long double, and against a solve of its own. */
static void check_solve(const char *options)
{
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    systems s = systems_create(type);
    kry_op *solver;
    kry_result all, one;
    int64_t most = 0;

    OK(kry_solver_create(s.A, options, NULL, NULL, &solver));
    OK(kry_solve(solver, s.B, s.X, &all));
    OK(kry_vec_read_doubles(s.X, s.x));
    assert_int_equal(all.columns, SYSTEMS);
    for (int64_t j = 0; j < SYSTEMS; j++) {
        const kry_column *c = &all.column[j];
        kry_vec b = kry_vec_column(s.B, j), x = kry_vec_column(s.X, j);
        assert_int_equal(c->reason, j == ZERO      ? KRY_CONVERGED_ZERO
                                    : j == GUESSED ? KRY_CONVERGED_GUESS
                                                   : KRY_CONVERGED);
        assert_true(norm_of_residual(&s, j) <= 1.01 * c->target + 1e-30);
        if (c->iterations > most) most = c->iterations;
        if (j == GUESSED) continue;
        OK(kry_vec_write_doubles(&x, s.guess + j * N));
        OK(kry_solve(solver, &b, &x, &one));
        assert_int_equal(one.columns, 0);
        assert_true(llabs((long long)(one.iterations - c->iterations)) <= 1 + one.iterations / 20);
    }
    assert_int_equal(all.iterations, most);
    assert_non_null(strstr(all.why, "column "));
    kry_op_release(&solver);
    systems_release(&s);
}

static void columns__solve(void **state)
{
    (void)state;
    check_solve("method=cg");
    check_solve("method=pcg precond=jacobi");
    check_solve("method=gmres:20");
    check_solve("method=minres");
}

/* The limit ends the columns that need more; the first of them is the one that is told of. */
static void columns__limit(void **state)
{
    (void)state;
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    systems s = systems_create(type);
    kry_op *solver;
    kry_result all;

    OK(kry_solver_create(s.A, "method=cg maxit=4", NULL, NULL, &solver));
    assert_int_equal(kry_solve(solver, s.B, s.X, &all), KRY_NOT_CONVERGED);
    assert_int_equal(all.reason, KRY_ITERATION_LIMIT);
    assert_non_null(strstr(all.why, "column 0"));
    assert_int_equal(all.column[0].reason, KRY_ITERATION_LIMIT);
    assert_int_equal(all.column[0].iterations, 4);
    assert_int_equal(all.column[ZERO].reason, KRY_CONVERGED_ZERO);
    assert_int_equal(all.column[GUESSED].reason, KRY_CONVERGED_GUESS);
    assert_int_equal(all.column[4].reason, KRY_ITERATION_LIMIT);
    kry_op_release(&solver);
    systems_release(&s);
}

/* What the monitor stopped: the columns behind that one were not begun, or stop with it. */
static int stop_at_once(void *user, const kry_iteration *it)
{
    (void)user, (void)it;
    return 1;
}

static void columns__monitor(void **state)
{
    (void)state;
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    systems s = systems_create(type);
    kry_op *solver;
    kry_result all;

    OK(kry_solver_create(s.A, "method=cg", stop_at_once, NULL, &solver));
    assert_int_equal(kry_solve(solver, s.B, s.X, &all), KRY_STOPPED);
    assert_int_equal(all.column[0].reason, KRY_MONITOR_STOP);
    assert_true(all.column[4].reason == KRY_NOT_SOLVED || all.column[4].reason == KRY_MONITOR_STOP);
    kry_op_release(&solver);
    systems_release(&s);
}

/* More is asked for than single precision gives at once: columns begin anew, each when it has to, and what is
 * said of them is true. */
static void columns__restarts(void **state)
{
    (void)state;
    systems s = systems_create(KRY_F32);
    kry_op *solver;
    kry_result all;

    OK(kry_solver_create(s.A, "method=cg rtol=2e-7", NULL, NULL, &solver));
    kry_status st = kry_solve(solver, s.B, s.X, &all);
    assert_true(st == KRY_OK || st == KRY_STAGNATED);
    OK(kry_vec_read_doubles(s.X, s.x));
    for (int64_t j = 0; j < SYSTEMS; j++) {
        const kry_column *c = &all.column[j];
        double norm = norm_of_residual(&s, j), rounding = 1e-7 * c->norm_b;
        assert_true(c->reason == KRY_CONVERGED || c->reason == KRY_CONVERGED_GUESS ||
                    c->reason == KRY_CONVERGED_ZERO || c->reason == KRY_TRUE_RESIDUAL_STAGNATED);
        assert_true(fabs(norm - c->true_residual) <= 0.1 * norm + rounding);
    }
    kry_op_release(&solver);
    systems_release(&s);
}

/* A = diag(-1, 1, 2, 3, 1, 2, 3, ...): columns that meet the first row break down, the others do not mind. */
static void columns__breakdown(void **state)
{
    (void)state;
    enum { ROWS = 50, COLUMNS = 3 };
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    matrix D = matrix_where(type, ROWS, ROWS, diagonal);
    double b[ROWS * COLUMNS];
    kry_vec *B, *X;
    kry_op *A, *solver;
    kry_result all;

    for (int i = 0; i < ROWS; i++) D.val[i] = i ? 1 + i % 3 : -1;
    for (int i = 0; i < ROWS * COLUMNS; i++) b[i] = i == ROWS ? 4 : i % ROWS ? 1 : 0;
    A = in_format(&D, type, KRY_FORMAT_CSR, KRY_SYMMETRIC);
    OK(kry_vec_create(device(), type, ROWS, COLUMNS, &B));
    OK(kry_vec_create(device(), type, ROWS, COLUMNS, &X));
    OK(kry_vec_write_doubles(B, b));
    OK(kry_solver_create(A, "method=cg check=none", NULL, NULL, &solver));
    assert_int_equal(kry_solve(solver, B, X, &all), KRY_BREAKDOWN);
    assert_int_equal(all.column[0].reason, KRY_CONVERGED);
    assert_int_equal(all.column[1].reason, KRY_INDEFINITE_MATRIX);
    assert_int_equal(all.column[2].reason, KRY_CONVERGED);
    assert_int_equal(all.reason, KRY_INDEFINITE_MATRIX);
    assert_non_null(strstr(all.why, "column 1"));
    kry_op_release(&solver), kry_op_release(&A);
    kry_vec_release(&X), kry_vec_release(&B);
    matrix_release(&D);
}

/* Other tolerances, other numbers of columns: 17 are two strips, and every one is solved. */
static void columns__strips(void **state)
{
    (void)state;
    enum { COLUMNS = 17 };
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    systems s = systems_create(type);
    double *b = random_array(type, N * COLUMNS), *x = calloc(N * COLUMNS, sizeof *x);
    kry_vec *B, *X;
    kry_op *solver;
    kry_result all;

    assert_non_null(x);
    OK(kry_vec_create(device(), type, N, COLUMNS, &B));
    OK(kry_vec_create(device(), type, N, COLUMNS, &X));
    OK(kry_vec_write_doubles(B, b));
    OK(kry_solver_create(s.A, "method=cg", NULL, NULL, &solver));
    OK(kry_solve(solver, s.B, s.X, NULL));
    OK(kry_solver_set_stop(solver, &(kry_stop){ .rtol = 1e-3 }));
    OK(kry_solve(solver, B, X, &all));
    OK(kry_vec_read_doubles(X, x));
    systems many = { .M = s.M, .b = b, .x = x };
    for (int64_t j = 0; j < COLUMNS; j++) {
        assert_int_equal(all.column[j].reason, KRY_CONVERGED);
        assert_true(all.column[j].target > 9e-4 * all.column[j].norm_b);
        assert_true(norm_of_residual(&many, j) <= 1.01 * all.column[j].target);
    }
    kry_op_release(&solver);
    kry_vec_release(&X), kry_vec_release(&B);
    free(b), free(x);
    systems_release(&s);
}

static void columns__refusals(void **state)
{
    (void)state;
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    systems s = systems_create(type);
    kry_op *solver;
    kry_vec *fewer;

    OK(kry_solver_create(s.A, "method=cg", NULL, NULL, &solver));
    OK(kry_vec_block(s.X, 0, N, 0, 2, &fewer));
    REFUSES(kry_solve(solver, s.B, fewer, NULL), KRY_ERR_SHAPE, "kry_solve");
    s.b[2 * N] = NAN;
    OK(kry_vec_write_doubles(s.B, s.b));
    REFUSES(kry_solve(solver, s.B, s.X, NULL), KRY_ERR_ARGUMENT, "b");
    kry_vec_release(&fewer);
    kry_op_release(&solver);
    systems_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(columns__formats),
        BOTH(columns__views),
        cmocka_unit_test(columns__solve),
        cmocka_unit_test(columns__limit),
        cmocka_unit_test(columns__monitor),
        cmocka_unit_test(columns__restarts),
        cmocka_unit_test(columns__breakdown),
        cmocka_unit_test(columns__strips),
        cmocka_unit_test(columns__refusals),
    };

    return cmocka_run_group_tests(tests, NULL, close_device);
}
