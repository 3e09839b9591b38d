/* test_relax.c - sweeps against plain C, and the solvers that are made of them. */
#include "relax_suite.h"
#include <limits.h>

/* ---- one sweep ----------------------------------------------------------------------------- */
/* Few mixes of sides, for each is compiled. */
static void relax__grids(void **state)
{
    static const int of[] = { 3, 5, 8, 10, 11, 15, 17, 20, 21 };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        const grid *g = &grids[of[i]];
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *op = grid_op(g, type, k);
        if (!too_large(A.rows)) relax_suite(op, &A, g->name);
        kry_op_release(&op);
        matrix_release(&A);
        free(k);
    }
}

/* Any operator with a diagonal. */
static void relax__stored_matrices(void **state)
{
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[8], NULL);
    kry_op *csr = csr_of(&A, type, KRY_MATRIX(.format = KRY_FORMAT_CSR)),
           *sell = csr_of(&A, type, KRY_MATRIX(.format = KRY_FORMAT_SELL));

    relax_suite(csr, &A, "csr");
    relax_suite(sell, &A, "sell");
    kry_op_release(&csr);
    kry_op_release(&sell);
    matrix_release(&A);
}

/* ---- red and black ------------------------------------------------------------------------- */

/* Along a periodic axis of an odd number of points the last one meets the first, which would have its colour. */
static bool odd_ring(const grid *g, int axis)
{
    return g->low[axis] == KRY_PERIODIC && g->size[axis] > 1 && g->size[axis] % 2;
}

static int colours_of(const grid *g)
{
    return 2 * (1 + odd_ring(g, 0) + odd_ring(g, 1) + odd_ring(g, 2));
}

static int colour_of(const grid *g, int64_t i)
{
    const int64_t plane = g->size[0] * g->size[1];
    const int64_t at[] = { i % g->size[0], i / g->size[0] % g->size[1], i / plane };
    int ends = 0;

    for (int a = 0; a < 3; a++) ends += odd_ring(g, a) && at[a] == g->size[a] - 1;
    return (int)((at[0] + at[1] + at[2]) % 2) + 2 * ends;
}

/* In place, in the order of the rows: any order gives the same. */
static void plain_colour(const grid *g, const matrix *A, int colour, double omega, const double *b,
                         double *x)
{
    for (int64_t i = 0; i < A->rows; i++)
        if (colour_of(g, i) == colour)
            x[i] += omega * (b[i] - plain_row(A, i, x)) / plain_diagonal(A, i);
}

static void check_colours(const grid *g, kry_type type)
{
    double *k = grid_coefficients(g, type);
    matrix A = grid_matrix(g, k);
    kry_op *op = grid_op(g, type, k);
    double *b = random_array(type, A.rows), *x = random_array(type, A.rows);
    guarded B = guarded_create(type, A.rows, 1, 1, b), X = guarded_create(type, A.rows, 1, 2, x);

    print_message("# %s\n", g->name);
    assert_int_equal(op->fused->colours(op->self), colours_of(g));
    for (int colour = colours_of(g) - 1; colour >= 0; colour--) {
        double *before = guarded_read(&X);
        OK(op->fused->sweep_colour(op->self, colour, 1.25, B.v, X.v));
        double *after = guarded_read(&X), *want = random_array(type, A.rows);
        memcpy(want, before, (size_t)A.rows * sizeof *want);
        plain_colour(g, &A, colour, 1.25, b, want);
        for (int64_t i = 0; i < A.rows; i++) {
            long double m, d = plain_diagonal(&A, i);
            row_times(&A, i, before, NULL, &m);
            NEAR(after[i], want[i],
                 colour_of(g, i) != colour
                     ? 0
                     : 2 * row_bound(&A, i, type, m + fabsl((long double)b[i])) / d +
                           4 * eps_of(type) * fabsl((long double)before[i]),
                 "%s: x[%lld]", g->name, (long long)i);
        }
        free(before), free(after), free(want);
    }
    free(b), free(x), free(k);
    guarded_release(&B), guarded_release(&X);
    kry_op_release(&op);
    matrix_release(&A);
}

static void colours__grids(void **state)
{
    static const int of[] = { 0, 1, 2, 3, 5, 8, 10, 11, 15, 17, 23 };
    const grid even = { "a tube 38 x 5",
                        { 38, 5 },
                        { KRY_PERIODIC, KRY_NEUMANN },
                        { KRY_PERIODIC, KRY_DIRICHLET_FACE },
                        true,
                        { 0.2, 0.4 },
                        { 1, 2 },
                        NO_FACES };
    const grid odd[] = { { .name = "a torus 9 x 7",
                           .size = { 9, 7 },
                           .low = { KRY_PERIODIC, KRY_PERIODIC },
                           .high = { KRY_PERIODIC, KRY_PERIODIC } },
                         { .name = "all periodic 5 x 3 x 7",
                           .size = { 5, 3, 7 },
                           .low = { KRY_PERIODIC, KRY_PERIODIC, KRY_PERIODIC },
                           .high = { KRY_PERIODIC, KRY_PERIODIC, KRY_PERIODIC } } };
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(of); i++)
        if (!too_large(grid_points(&grids[of[i]]))) check_colours(&grids[of[i]], type);
    check_colours(&even, type);
    for (size_t i = 0; i < COUNT(odd); i++) check_colours(&odd[i], type);
}

/* ---- solvers ----------------------------------------------------------------------------------
 */

typedef struct run {
    kry_status status;
    kry_result res;
    double *x; /* to be freed */
    double history[8];
} run;

static run solve(const kry_op *A, const char *options, const double *b)
{
    kry_type type = kry_op_get_shape(A)->type;
    int64_t n = kry_op_get_shape(A)->rows;
    run r = { 0 };
    kry_op *solver = NULL;
    double *zero = calloc((size_t)n + 1, sizeof *zero);
    guarded B = guarded_create(type, n, 1, 1, b), X = guarded_create(type, n, 1, 3, zero);

    OK(kry_solver_create(A, options, NULL, NULL, &solver));
    r.status = kry_solve(solver, B.v, X.v, &r.res);
    for (int64_t i = 0; i < r.res.history_count && i < 8; i++) r.history[i] = r.res.history[i];
    r.res.history = NULL;
    r.x = guarded_read(&X);
    free(zero);
    kry_op_release(&solver);
    guarded_release(&B), guarded_release(&X);
    return r;
}

static double plain_residual(const matrix *A, const double *b, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        double r = b[i] - plain_row(A, i, x);
        sum += r * r;
    }
    return sqrt(sum);
}

static void plain_sweep(const grid *g, const matrix *A, double omega, bool sor, const double *b,
                        double *x)
{
    double *y = calloc((size_t)A->rows, sizeof *y);
    for (int64_t i = 0; i < A->rows && !sor; i++)
        y[i] = x[i] + omega * (b[i] - plain_row(A, i, x)) / plain_diagonal(A, i);
    if (!sor) memcpy(x, y, (size_t)A->rows * sizeof *x);
    for (int colour = 0; colour < colours_of(g) && sor; colour++)
        plain_colour(g, A, colour, omega, b, x);
    free(y);
}

/* So many sweeps and no more, the residuals of plain C, looked at when asked. */
static void check_sweeps(const grid *g, kry_type type, bool sor, bool stored)
{
    enum { SWEEPS = 13, EVERY = 5 };
    const double omega = sor ? 1.5 : 0.875;
    double *k = grid_coefficients(g, type);
    matrix A = grid_matrix(g, k);
    kry_op *op = stored ? csr_of(&A, type, NULL) : grid_op(g, type, k);
    double *b = random_array(type, A.rows), *x = calloc((size_t)A.rows, sizeof *x), size = 0;
    char words[96];

    snprintf(words, sizeof words, "method=%s omega=%g maxit=%d check-every=%d rtol=1e-6",
             sor ? "sor" : "jacobi", omega, SWEEPS, EVERY);
    run r = solve(op, words, b);
    assert_int_equal(r.status, KRY_NOT_CONVERGED);
    assert_int_equal(r.res.reason, KRY_ITERATION_LIMIT);
    assert_int_equal(r.res.iterations, SWEEPS);
    assert_int_equal(r.res.history_every, EVERY);
    assert_int_equal(r.res.history_count, 4); /* 0, 5, 10, 13 */
    assert_true(r.res.bytes > 0);
    for (int m = 0; m <= SWEEPS; m++) {
        if (m % EVERY == 0 || m == SWEEPS) {
            double want = plain_residual(&A, b, x);
            NEAR(r.history[(m + EVERY - 1) / EVERY], want, 200 * eps_of(type) * r.history[0],
                 "%s, %s: the residual after %d sweeps", g->name, words, m);
            if (m == SWEEPS)
                NEAR(r.res.true_residual, want, 200 * eps_of(type) * r.history[0], "the last one");
        }
        if (m < SWEEPS) plain_sweep(g, &A, omega, sor, b, x);
    }
    for (int64_t i = 0; i < A.rows; i++) size = fmax(size, fabs(x[i]));
    for (int64_t i = 0; i < A.rows; i++)
        NEAR(r.x[i], x[i], 100 * eps_of(type) * size, "%s, %s: x[%lld]", g->name, words,
             (long long)i);
    free(b), free(x), free(k), free(r.x);
    kry_op_release(&op);
    matrix_release(&A);
}

static void relaxation__sweeps_of_plain_c(void **state)
{
    kry_type type = type_of(state);
    check_sweeps(&grids[8], type, false, false);
    check_sweeps(&grids[8], type, false, true);
    check_sweeps(&grids[8], type, true, false);
    check_sweeps(&grids[10], type, true, false);
    check_sweeps(&grids[15], type, true, false);
}

/* Gauss-Seidel takes half the sweeps of Jacobi, SOR with the best omega a tenth. */
static void relaxation__solves_poisson(void **state)
{
    const grid *g = &grids[6];
    kry_type type = type_of(state);
    matrix A = grid_matrix(g, NULL);
    kry_op *op = grid_op(g, type, NULL);
    double *b = random_array(type, A.rows);
    char best[96];

    snprintf(best, sizeof best, "method=sor omega=%.17g rtol=1e-4 check-every=5",
             2 / (1 + sin(acos(-1) / 65)));
    run jacobi = solve(op, "method=jacobi rtol=1e-4", b),
        seidel = solve(op, "method=sor rtol=1e-4 check-every=50", b), sor = solve(op, best, b);
    print_message("# Jacobi %lld, Gauss-Seidel %lld, SOR %lld sweeps\n",
                  (long long)jacobi.res.iterations, (long long)seidel.res.iterations,
                  (long long)sor.res.iterations);
    assert_int_equal(jacobi.status, KRY_OK);
    assert_int_equal(seidel.status, KRY_OK);
    assert_int_equal(sor.status, KRY_OK);
    assert_int_equal(jacobi.res.iterations % 50, 0);
    assert_int_equal(sor.res.iterations % 5, 0);
    assert_true(jacobi.res.true_residual <= jacobi.res.target);
    assert_true(3 * seidel.res.iterations < 2 * jacobi.res.iterations);
    assert_true(10 * sor.res.iterations < jacobi.res.iterations);
    free(jacobi.x), free(seidel.x), free(sor.x), free(b);
    kry_op_release(&op);
    matrix_release(&A);
}

/* The iterate does not depend on where x lay when somebody looked. */
typedef struct eye {
    int calls;
    int64_t last, stop_at;
} eye;

static int look(void *user, const kry_iteration *it)
{
    eye *e = user;
    assert_true(it->residual > 0 && it->target > 0);
    e->calls++, e->last = it->iteration;
    return it->iteration >= e->stop_at;
}

static void relaxation__monitor_stops_at_its_iterate(void **state)
{
    const grid *g = &grids[8];
    kry_type type = type_of(state);
    kry_op *op = grid_op(g, type, NULL), *solver = NULL;
    int64_t n = grid_points(g);
    double *b = random_array(type, n), *zero = calloc((size_t)n, sizeof *zero);
    guarded B = guarded_create(type, n, 1, 0, b), X = guarded_create(type, n, 1, 0, zero);
    eye watching = { .stop_at = 9 };
    kry_result res;

    OK(kry_relaxation_create(
        op,
        KRY_RELAXATION(.stop = { .check_every = 3 }, .monitor = look, .monitor_user = &watching),
        &solver));
    assert_int_equal(kry_solve(solver, B.v, X.v, &res), KRY_STOPPED);
    assert_int_equal(watching.calls, 4); /* at 0, 3, 6, 9 */
    assert_int_equal(watching.last, 9);
    assert_int_equal(res.iterations, 9);
    double *x = guarded_read(&X);
    run r = solve(op, "method=jacobi maxit=9", b);
    assert_same_bits(x, r.x, n);
    free(x), free(r.x), free(b), free(zero);
    guarded_release(&B), guarded_release(&X);
    kry_op_release(&solver);
    kry_op_release(&op);
}

/* Jacobi's iteration wants a dominant diagonal, not just a positive definite matrix. */
static void relaxation__diverges(void **state)
{
    static const int64_t ptr[] = { 0, 3, 6, 9 };
    static const int32_t col[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2 };
    double val[] = { 1, 0.9, 0.9, 0.9, 1, 0.9, 0.9, 0.9, 1 }, b[] = { 1, 2, 4 };
    kry_type type = type_of(state);
    void *numbers = in_type(type, val, 9);
    kry_op *A = NULL;

    OK(kry_csr_create(device(), type, 3, 3, ptr, col, numbers, NULL, &A));
    run r = solve(A, "method=jacobi check-every=10", b);
    assert_int_equal(r.status, KRY_BREAKDOWN);
    assert_int_equal(r.res.reason, KRY_DIVERGED);
    assert_non_null(strstr(r.res.why, "diverges"));
    assert_int_equal(r.res.iterations % 10, 0);
    free(r.x);
    r = solve(A, "method=jacobi omega=0.5 rtol=1e-4 maxit=400", b);
    assert_int_equal(r.status, KRY_OK);
    free(r.x);
    b[0] = b[1] = b[2] = 0;
    r = solve(A, "method=jacobi", b);
    assert_int_equal(r.res.reason, KRY_CONVERGED_ZERO);
    free(r.x), free(numbers);
    kry_op_release(&A);
}

static void relaxation__is_an_operator(void **state)
{
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[3], NULL);
    kry_op *op = grid_op(&grids[3], type, NULL), *solver = NULL;
    double *b = random_array(type, A.rows);
    guarded B = guarded_create(type, A.rows, 1, 0, b), Y = guarded_create(type, A.rows, 1, 0, b);
    kry_op_info info;

    OK(kry_relaxation_create(
        op, KRY_RELAXATION(.method = KRY_SOR, .stop = { .max_iter = 2, .check_every = 2 }),
        &solver));
    kry_op_describe(solver, &info);
    assert_string_equal(info.kind, "relaxation");
    assert_true(kry_op_apply(solver, 2, B.v, 3, Y.v) >= 0); /* two iterations are not enough */
    run r = solve(op, "method=sor maxit=2 check-every=2", b);
    double *y = guarded_read(&Y);
    for (int64_t i = 0; i < A.rows; i++)
        NEAR(y[i], 2 * r.x[i] + 3 * b[i], 8 * eps_of(type) * (fabs(r.x[i]) + fabs(b[i])), "y[%lld]",
             (long long)i);
    OK(kry_op_update(solver, NULL));
    REFUSES(kry_op_update(solver, b), KRY_ERR_ARGUMENT, "relaxation");
    free(y), free(b), free(r.x);
    guarded_release(&B), guarded_release(&Y);
    kry_op_release(&solver);
    kry_op_release(&op);
    matrix_release(&A);
}

static kry_status give_nothing(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(alpha, x, beta, y);
}

static void relaxation_create__refusals(void **state)
{
    static const kry_op_table custom = { .struct_size = sizeof custom,
                                         .kind = "custom",
                                         .apply = give_nothing };
    static const double bad[] = { -1, 2, (double)NAN, (double)INFINITY };
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[3], NULL);
    kry_op *csr = csr_of(&A, type, KRY_MATRIX(.format = KRY_FORMAT_CSR)), *S = csr, *op;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_relaxation_create(csr, KRY_RELAXATION(.omega = bad[i]), &S), KRY_ERR_ARGUMENT,
                "omega");
        assert_null(S);
    }
    REFUSES(kry_relaxation_create(csr, KRY_RELAXATION(.method = KRY_SOR), &S), KRY_ERR_UNSUPPORTED,
            "'csr' offers no red-black sweep");
    REFUSES(kry_relaxation_create(csr, KRY_RELAXATION(.method = (kry_relaxation_method)7), &S),
            KRY_ERR_ARGUMENT, "method = 7");
    REFUSES(kry_relaxation_create(csr, &(kry_relaxation_params){ .struct_size = 1 }, &S),
            KRY_ERR_ARGUMENT, "KRY_RELAXATION");
    REFUSES(kry_relaxation_create(csr, KRY_RELAXATION(.stop = { .max_iter = -1 }), &S),
            KRY_ERR_ARGUMENT, "maxit = -1");
    REFUSES(kry_relaxation_create(NULL, NULL, &S), KRY_ERR_ARGUMENT, "NULL");
    kry_op_release(&csr);
    matrix_release(&A);
    OK(kry_op_create(device(), &custom, NULL, &(kry_op_shape){ 5, 5, type, 0 }, &op));
    REFUSES(kry_relaxation_create(op, NULL, &S), KRY_ERR_UNSUPPORTED,
            "'custom' offers no diagonal");
    kry_op_release(&op);
    OK(kry_op_create(device(), &custom, NULL, &(kry_op_shape){ 5, 4, type, 0 }, &op));
    REFUSES(kry_relaxation_create(op, NULL, &S), KRY_ERR_SHAPE, "5-by-4");
    kry_op_release(&op);
}

/* Constants cannot be told from zero. */
static void relaxation_create__grids_it_refuses(void **state)
{
    kry_type type = type_of(state);
    kry_op *ring = grid_op(&grids[19], type, NULL), *S = NULL;

    REFUSES(kry_relaxation_create(ring, NULL, &S), KRY_ERR_SINGULAR, "constants");
    kry_op_release(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(relax__grids),
        BOTH(relax__stored_matrices),
        BOTH(colours__grids),
        BOTH(relaxation__sweeps_of_plain_c),
        BOTH(relaxation__solves_poisson),
        BOTH(relaxation__monitor_stops_at_its_iterate),
        BOTH(relaxation__diverges),
        BOTH(relaxation__is_an_operator),
        BOTH(relaxation_create__refusals),
        BOTH(relaxation_create__grids_it_refuses),
    };
    return cmocka_run_group_tests_name("relax", tests, NULL, close_device);
}
