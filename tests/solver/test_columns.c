/*
 * test_columns.c - solves with several columns: each against its own target in long double and against a solve
 * of its own, for the methods that take them at once and for one that does not.
 */
#include "format_suite.h"
#include <kry/stencil.h>

/* ---- solves -------------------------------------------------------------------------------- */

static bool diagonal(int64_t i, int64_t j, int64_t n) { return (void)n, i == j; }
static bool tridiagonal(int64_t i, int64_t j, int64_t n)
{
    return (void)n, labs((long)(i - j)) <= 1;
}

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
static systems systems_create(kry_type type, bool on_grid)
{
    systems s = { .type = type, .M = matrix_where(type, N, N, poisson) };
    const kry_stencil_params *grid = KRY_STENCIL(.size = { SIDE, SIDE });

    for (int64_t i = 0; i < N; i++)
        for (int64_t k = s.M.row_ptr[i]; k < s.M.row_ptr[i + 1]; k++)
            s.M.val[k] = s.M.col[k] == i ? 4 : -1;
    if (on_grid)
        OK(kry_stencil_create(device(), type, grid, &s.A));
    else
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
    write_doubles(s.B, s.b);
    write_doubles(s.X, s.guess);
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
static void check_solve(const char *options, bool on_grid)
{
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    systems s = systems_create(type, on_grid);
    kry_op *solver;
    kry_result all, one;
    int64_t most = 0;

    print_message("# %s%s\n", options, on_grid ? " on a grid" : "");
    OK(kry_solver_create(s.A, options, NULL, NULL, &solver));
    OK(kry_solve(solver, s.B, s.X, &all));
    read_doubles(s.X, s.x);
    assert_int_equal(all.columns, SYSTEMS);
    for (int64_t j = 0; j < SYSTEMS; j++) {
        const kry_column *c = &all.column[j];
        kry_vec *b, *x;
        assert_int_equal(c->reason, j == ZERO      ? KRY_CONVERGED_ZERO
                                    : j == GUESSED ? KRY_CONVERGED_GUESS
                                                   : KRY_CONVERGED);
        assert_true(norm_of_residual(&s, j) <= 1.01 * c->target + 1e-30);
        if (c->iterations > most) most = c->iterations;
        if (j == GUESSED) continue;
        OK(kry_vec_view(s.B, j, &b));
        OK(kry_vec_view(s.X, j, &x));
        write_doubles(x, s.guess + j * N);
        OK(kry_solve(solver, b, x, &one));
        kry_vec_release(&b), kry_vec_release(&x);
        assert_int_equal(one.columns, 0);
        assert_true(llabs((long long)(one.iterations - c->iterations)) <= 2 + one.iterations / 10);
    }
    assert_int_equal(all.iterations, most);
    assert_non_null(strstr(all.why, "column "));
    kry_op_release(&solver);
    systems_release(&s);
}

static void columns__solve(void **state)
{
    (void)state;
    static const char *const options[] = {
        "method=cg",
        "method=pcg precond=jacobi",
        "method=pcg precond=chebyshev:3",
        "method=pcg precond=ssor-ai:3",
        "method=pcg precond=ip:unscaled",
        "method=pcg precond=block-jacobi:4",
        "method=pcg precond=ic0",
        "method=pcg precond=amg:coarsest=20",
        "method=pcg precond=block-ic deflation=stripes:7,variant=bnn",
        "method=pcg precond=jacobi deflation=stripes:7",
        "method=pcg precond=none deflation=stripes:7,variant=def1",
        "method=pcg precond=chebyshev:2 deflation=stripes:7",
        "method=cg deflation=stripes:7,variant=bnn",
        "method=minres",
        "method=minres precond=jacobi",
        "method=bicgstab:1",
        "method=bicgstab precond=jacobi",
        "method=bicgstab:4",
        "method=gmres:20", /* one after the other */
    };

    for (size_t i = 0; i < COUNT(options); i++) check_solve(options[i], false);
}

/* The same without a matrix. */
static void columns__solve_on_grids(void **state)
{
    (void)state;
    static const char *const options[] = {
        "method=cg",
        "method=pcg precond=chebyshev:3",
        "method=pcg precond=mg",
        "method=cg deflation=stripes:7,variant=bnn",
        "method=minres",
        "method=bicgstab precond=jacobi",
    };

    for (size_t i = 0; i < COUNT(options); i++) check_solve(options[i], true);
}

static void count_steps(void *user, const char *kernel, cl_event event)
{
    *(int *)user += !strcmp(kernel, "stencil_step_columns");
    clReleaseEvent(event);
}

/* After any number of iterations x is that of a solve of its own: what columns wait for is added, be the number of steps of
 * each odd or even. They share their launches. Coefficients vary, so that jacobi is no multiple of the identity. */
static void columns__steps_on_grids(void **state)
{
    (void)state;
    static const char *const options[] = { "method=cg resident=off", "method=pcg precond=jacobi",
                                           "method=pcg precond=ssor-ai:2" };
    static const char *const ends[] = { "maxit=3", "maxit=4", "rtol=0.5", "rtol=0.3", "rtol=1e-3" };
    enum { SIDE_X = 22, SIDE_Y = 15, ROWS = SIDE_X * SIDE_Y, COLUMNS = 3 };
    const kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    double k[ROWS], x[ROWS * COLUMNS], own[ROWS], largest = 0;
    double *b = random_array(type, ROWS * COLUMNS);
    char words[64];
    kry_op *A, *solver;
    kry_vec *B, *X, *Y;
    kry_result all, one;

    for (int i = 0; i < ROWS; i++) k[i] = i % 3 ? 1 : 5;
    for (int i = 0; i < ROWS; i++) b[ROWS + i] = 1, b[2 * ROWS + i] = i == 70; /* other ends */
    OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { SIDE_X, SIDE_Y }, .coefficient = k),
                          &A));
    OK(kry_vec_create(device(), type, ROWS, COLUMNS, &B));
    OK(kry_vec_create(device(), type, ROWS, COLUMNS, &X));
    OK(kry_vec_create(device(), type, ROWS, 1, &Y));
    write_doubles(B, b);
    for (size_t i = 0; i < COUNT(options) * COUNT(ends); i++) {
        int steps = 0;
        snprintf(words, sizeof words, "%s %s", options[i / COUNT(ends)], ends[i % COUNT(ends)]);
        OK(kry_solver_create(A, words, NULL, NULL, &solver));
        OK(kry_vec_fill(X, 0));
        kry_device_set_trace(device(), count_steps, &steps);
        assert_true(kry_solve(solver, B, X, &all) >= 0);
        kry_device_set_trace(device(), NULL, NULL);
        if (all.reason == KRY_ITERATION_LIMIT && !is_host(device())) /* it traces none */
            assert_int_equal(steps, all.iterations);
        print_message("# %s: %lld, %lld, %lld iterations\n", words,
                      (long long)all.column[0].iterations, (long long)all.column[1].iterations,
                      (long long)all.column[2].iterations);
        read_doubles(X, x);
        for (int j = 0; j < COLUMNS; j++) {
            kry_vec *b_j;
            OK(kry_vec_view(B, j, &b_j));
            OK(kry_vec_fill(Y, 0));
            assert_true(kry_solve(solver, b_j, Y, &one) >= 0);
            kry_vec_release(&b_j);
            read_doubles(Y, own);
            assert_int_equal(one.iterations, all.column[j].iterations);
            for (int r = 0; r < ROWS; r++) largest = fmax(largest, fabs(own[r]));
            for (int r = 0; r < ROWS; r++)
                NEAR(x[j * ROWS + r], own[r], 200 * eps_of(type) * largest, "%s, column %d", words,
                     j);
        }
        kry_op_release(&solver);
    }
    kry_vec_release(&Y), kry_vec_release(&X), kry_vec_release(&B);
    kry_op_release(&A);
    free(b);
}

/* An operator of a test's own around A that counts: products with one vector and with several. */
typedef struct counter {
    const kry_op *A;
    int64_t one, several;
} counter;

static kry_status count_one(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    counter *c = self;
    c->one++;
    return kry_op_apply(c->A, alpha, x, beta, y);
}

static kry_status count_several(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    counter *c = self;
    assert_int_equal(kry_vec_cols(x), SYSTEMS);
    c->several++;
    return kry_op_apply(c->A, alpha, x, beta, y);
}

/* Iterations share their products: single ones are of residuals alone. */
static void columns__share_products(void **state)
{
    (void)state;
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "counter",
                                        .apply = count_one,
                                        .apply_block = count_several };
    static const char *const options[] = { "method=cg", "method=minres", "method=bicgstab:1" };
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;

    for (size_t i = 0; i < COUNT(options); i++) {
        systems s = systems_create(type, false);
        counter c = { .A = s.A };
        kry_op *A, *solver;
        kry_result all;
        OK(kry_op_create(device(), &table, &c, kry_op_get_shape(s.A), &A));
        OK(kry_solver_create(A, options[i], NULL, NULL, &solver));
        c.one = c.several = 0;
        OK(kry_solve(solver, s.B, s.X, &all));
        assert_true(all.iterations > 15);
        assert_true(c.several >= all.iterations);
        assert_true(c.one <= 4 * SYSTEMS);
        kry_op_release(&solver), kry_op_release(&A);
        systems_release(&s);
    }
}

/* Neumann's problem on a line: constants are in the null space. Column 0 has a part along them, which no x can
 * reach; of the others the sums are zero. */
static void check_singular(const char *options, bool on_grid)
{
    enum { ROWS = 60, COLUMNS = 3 };
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    matrix L = matrix_where(type, ROWS, ROWS, tridiagonal);
    double b[ROWS * COLUMNS], x[ROWS * COLUMNS], mean;
    kry_vec *B, *X;
    kry_op *A, *solver;
    kry_result all;

    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = L.row_ptr[i]; k < L.row_ptr[i + 1]; k++)
            L.val[k] = L.col[k] != i ? -1 : i == 0 || i == ROWS - 1 ? 1 : 2;
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++)
            b[j * ROWS + i] = (j == 0 ? 0.5 : 0) + (i == 7 * j ? 1 : i == 30 + j ? -1 : 0);
    if (on_grid)
        OK(kry_stencil_create(device(), type,
                              KRY_STENCIL(.size = { ROWS, 1 }, .low = { KRY_NEUMANN, KRY_NEUMANN },
                                          .high = { KRY_NEUMANN, KRY_NEUMANN }),
                              &A));
    else
        A = in_format(&L, type, KRY_FORMAT_CSR, KRY_SYMMETRIC | KRY_SINGULAR);
    OK(kry_vec_create(device(), type, ROWS, COLUMNS, &B));
    OK(kry_vec_create(device(), type, ROWS, COLUMNS, &X));
    write_doubles(B, b);
    OK(kry_solver_create(A, options, NULL, NULL, &solver));
    const kry_status st = kry_solve(solver, B, X, &all);
    assert_true(st == KRY_OK || st == KRY_NOT_CONVERGED || st == KRY_STAGNATED);
    read_doubles(X, x);
    for (int j = 0; j < COLUMNS; j++) {
        systems s = { .M = L };
        mean = 0;
        for (int i = 0; i < ROWS; i++) mean += x[j * ROWS + i] / ROWS;
        assert_true(fabs(mean) < 1e-4);
        double square = 0;
        for (int i = 0; i < ROWS; i++) {
            double r = b[j * ROWS + i] - (j == 0 ? 0.5 : 0) -
                       (double)row_times(&s.M, i, x + j * ROWS, NULL, &(long double){ 0 });
            square += r * r;
        }
        assert_true(sqrt(square) <= 1.1 * all.column[j].target + 1e-5);
        if (j > 0) assert_int_equal(all.column[j].reason, KRY_CONVERGED);
    }
    kry_op_release(&solver), kry_op_release(&A);
    kry_vec_release(&X), kry_vec_release(&B);
    matrix_release(&L);
}

static void columns__singular(void **state)
{
    (void)state;
    check_singular("method=cg", false);
    check_singular("method=minres", false);
    check_singular("method=pcg precond=jacobi", false);
    check_singular("method=cg", true);
}

/* The limit ends the columns that need more; the first of them is the one that is told of. */
static void columns__limit(void **state)
{
    (void)state;
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    systems s = systems_create(type, false);
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
    systems s = systems_create(type, false);
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
    systems s = systems_create(KRY_F32, false);
    kry_op *solver;
    kry_result all;

    OK(kry_solver_create(s.A, "method=cg rtol=2e-7", NULL, NULL, &solver));
    kry_status st = kry_solve(solver, s.B, s.X, &all);
    assert_true(st == KRY_OK || st == KRY_STAGNATED);
    read_doubles(s.X, s.x);
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
    write_doubles(B, b);
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
    systems s = systems_create(type, false);
    double *b = random_array(type, N * COLUMNS), *x = calloc(N * COLUMNS, sizeof *x);
    kry_vec *B, *X;
    kry_op *solver;
    kry_result all;

    assert_non_null(x);
    OK(kry_vec_create(device(), type, N, COLUMNS, &B));
    OK(kry_vec_create(device(), type, N, COLUMNS, &X));
    write_doubles(B, b);
    OK(kry_solver_create(s.A, "method=cg", NULL, NULL, &solver));
    OK(kry_solve(solver, s.B, s.X, NULL));
    OK(kry_solver_set_stop(solver, &(kry_stop){ .rtol = 1e-3 }));
    OK(kry_solve(solver, B, X, &all));
    read_doubles(X, x);
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
    systems s = systems_create(type, false);
    kry_op *solver;
    kry_vec *fewer;

    OK(kry_solver_create(s.A, "method=cg", NULL, NULL, &solver));
    OK(kry_vec_block(s.X, 0, N, 0, 2, &fewer));
    REFUSES(kry_solve(solver, s.B, fewer, NULL), KRY_ERR_SHAPE, "kry_solve");
    s.b[2 * N] = NAN;
    write_doubles(s.B, s.b);
    REFUSES(kry_solve(solver, s.B, s.X, NULL), KRY_ERR_ARGUMENT, "b");
    kry_vec_release(&fewer);
    kry_op_release(&solver);
    systems_release(&s);
}

/* Columns at once, and those that a method takes one after the other. */
static void columns__refused_one_leaves_all(void **state)
{
    static const char *const options[] = { "method=cg", "method=bicgstab",
                                           "method=minres guess=project:2", "method=auto" };
    static const double wrong[] = { NAN, INFINITY };
    (void)state;
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;

    for (size_t i = 0; i < COUNT(options); i++) {
        for (int w = 0; w < 4; w++) {
            systems s = systems_create(type, false);
            const int64_t k = kry_vec_cols(s.X), last = N * (k - 1) + random_below(N);
            double *x = calloc((size_t)(N * k), sizeof *x),
                   *after = calloc((size_t)(N * k), sizeof *x);
            kry_op *solver;

            assert_true(x && after);
            for (int64_t e = 0; e < N * k; e++) x[e] = (double)random_below(100);
            if (w < 2)
                s.b[last] = wrong[w];
            else
                x[last] = wrong[w - 2];
            write_doubles(s.B, s.b);
            write_doubles(s.X, x);
            OK(kry_solver_create(s.A, options[i], NULL, NULL, &solver));
            REFUSES(kry_solve(solver, s.B, s.X, NULL), KRY_ERR_ARGUMENT, "kry_solve");
            read_doubles(s.X, after);
            for (int64_t e = 0; e < N * k; e++)
                if (x[e] != after[e] && !(isnan(x[e]) && isnan(after[e])))
                    fail_msg("%s: x[%lld] was %g and is %g", options[i], (long long)e, x[e],
                             after[e]);
            kry_op_release(&solver);
            free(after), free(x);
            systems_release(&s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns__solve),
        cmocka_unit_test(columns__solve_on_grids),
        cmocka_unit_test(columns__steps_on_grids),
        cmocka_unit_test(columns__share_products),
        cmocka_unit_test(columns__singular),
        cmocka_unit_test(columns__limit),
        cmocka_unit_test(columns__monitor),
        cmocka_unit_test(columns__restarts),
        cmocka_unit_test(columns__breakdown),
        cmocka_unit_test(columns__strips),
        cmocka_unit_test(columns__refusals),
        cmocka_unit_test(columns__refused_one_leaves_all),
    };

    return cmocka_run_group_tests(tests, NULL, close_device);
}
