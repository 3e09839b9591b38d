/*
 * test_block_cg.c - block conjugate gradients against the recurrence in plain C, with Gram and Schmidt in place of
 * Cholesky's factors; columns that are zero, equal or depend on each other; one column against CG.
 */
#include "format_suite.h"

enum { SIDE = 17, N = SIDE * SIDE, MOST = 16, LIMIT = 500 };

typedef struct block_problem {
    matrix M;
    kry_op *A;
    kry_type type;
    int k;
    double *b, *x; /* N-by-k */
    kry_vec *B, *X;
} block_problem;

/* Poisson on a square with a reaction that differs from place to place; b is random. */
static block_problem problem_create(int k)
{
    block_problem p = { .type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32, .k = k };

    p.M = matrix_where(p.type, N, N, poisson);
    for (int64_t i = 0; i < N; i++)
        for (int64_t e = p.M.row_ptr[i]; e < p.M.row_ptr[i + 1]; e++)
            p.M.val[e] = p.M.col[e] == i ? 4 + (double)(i % 5) / 64 : -1;
    p.A = in_format(&p.M, p.type, KRY_FORMAT_CSR, KRY_POSITIVE);
    p.b = random_array(p.type, N * k), p.x = calloc((size_t)(N * k), sizeof *p.x);
    assert_non_null(p.x);
    OK(kry_vec_create(device(), p.type, N, k, &p.B));
    OK(kry_vec_create(device(), p.type, N, k, &p.X));
    return p;
}

static void problem_release(block_problem *p)
{
    kry_vec_release(&p->X), kry_vec_release(&p->B);
    kry_op_release(&p->A);
    matrix_release(&p->M);
    free(p->b), free(p->x);
}

static double residual_of(const block_problem *p, int j)
{
    long double sum = 0;

    for (int64_t i = 0; i < N; i++) {
        long double r =
            p->b[j * N + i] - row_times(&p->M, i, p->x + (int64_t)j * N, NULL, &(long double){ 0 });
        sum += r * r;
    }
    return (double)sqrtl(sum);
}

/* From a zero guess; every column meets its target in long double. */
static void solve(block_problem *p, const char *options, kry_result *all)
{
    kry_op *solver;

    write_doubles(p->B, p->b);
    OK(kry_vec_fill(p->X, 0));
    OK(kry_solver_create(p->A, options, NULL, NULL, &solver));
    OK(kry_solve(solver, p->B, p->X, all));
    read_doubles(p->X, p->x);
    for (int j = 0; j < p->k; j++) {
        const double target = p->k > 1 ? all->column[j].target : all->target;
        assert_true(residual_of(p, j) <= 1.01 * target + 1e-30);
    }
    /* what outlives the solver: columns of the result do not */
    int64_t iterations = all->iterations;
    kry_op_release(&solver);
    all->iterations = iterations;
}

/* ---- the recurrence in plain C ------------------------------------------------------------- */

typedef double block[MOST][N];
typedef double small[MOST][MOST];

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += x[i] * y[i];
    return sum;
}

/* W = Q rho by Gram and Schmidt, twice; dependent columns leave zeros. */
static void orthogonalise(int k, block W, small rho)
{
    for (int j = 0; j < k; j++) {
        const double before = sqrt(dot(W[j], W[j]));
        for (int i = 0; i < k; i++) rho[i][j] = 0;
        for (int again = 0; again < 2; again++)
            for (int i = 0; i < j; i++) {
                const double share = dot(W[i], W[j]);
                rho[i][j] += share;
                for (int l = 0; l < N; l++) W[j][l] -= share * W[i][l];
            }
        const double norm = sqrt(dot(W[j], W[j]));
        const bool dropped = !(norm > 1e-7 * before);
        rho[j][j] = dropped ? 0 : norm;
        for (int l = 0; l < N; l++) W[j][l] = dropped ? 0 : W[j][l] / norm;
    }
}

/* G alpha = I for the columns of G that are not zero, by Gauss and Jordan. */
static void invert(int k, small G, small alpha)
{
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) alpha[i][j] = i == j && G[i][i] > 0;
    for (int p = 0; p < k; p++) {
        if (!(G[p][p] > 0)) continue;
        const double pivot = G[p][p];
        for (int j = 0; j < k; j++) G[p][j] /= pivot, alpha[p][j] /= pivot;
        for (int i = 0; i < k; i++) {
            const double by = G[i][p];
            if (i == p) continue;
            for (int j = 0; j < k; j++) G[i][j] -= by * G[p][j], alpha[i][j] -= by * alpha[p][j];
        }
    }
}

/* Iterations until the residuals of all columns are below rtol ||b||. */
static int count_in_plain_c(const block_problem *p, double rtol)
{
    static block Q, P, T;
    small rho, alpha, C, next, G;
    const int k = p->k;
    int it = 0;

    for (int j = 0; j < k; j++) memcpy(Q[j], p->b + (int64_t)j * N, sizeof Q[j]);
    orthogonalise(k, Q, C);
    memcpy(P, Q, sizeof P);
    for (; it < LIMIT; it++) {
        bool done = true;
        for (int j = 0; j < k; j++) {
            double square = 0;
            for (int i = 0; i < k; i++) square += C[i][j] * C[i][j];
            done = done &&
                   sqrt(square) <= rtol * sqrt(dot(p->b + (int64_t)j * N, p->b + (int64_t)j * N));
        }
        if (done) break;
        for (int j = 0; j < k; j++)
            for (int64_t i = 0; i < N; i++)
                T[j][i] = (double)row_times(&p->M, i, P[j], NULL, &(long double){ 0 });
        for (int i = 0; i < k; i++)
            for (int j = 0; j < k; j++) G[i][j] = dot(P[i], T[j]);
        invert(k, G, alpha);
        for (int j = 0; j < k; j++)
            for (int a = 0; a < k; a++)
                for (int l = 0; l < N; l++) Q[j][l] -= T[a][l] * alpha[a][j];
        orthogonalise(k, Q, rho);
        for (int i = 0; i < k; i++)
            for (int j = 0; j < k; j++) {
                next[i][j] = 0;
                for (int a = 0; a < k; a++) next[i][j] += rho[i][a] * C[a][j];
            }
        memcpy(C, next, sizeof C);
        for (int j = 0; j < k; j++) {
            memcpy(T[j], Q[j], sizeof T[j]);
            for (int a = 0; a < k; a++)
                for (int l = 0; l < N; l++) T[j][l] += P[a][l] * rho[j][a];
        }
        memcpy(P, T, sizeof P);
    }
    return it;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* The same count as in plain C, but for rounding. */
static void block_cg__recurrence(void **state)
{
    (void)state;
    static const int columns[] = { 2, 3, 8, 16 };
    const double rtol = kry_device_get_info(device())->fp64 ? 1e-8 : 1e-5;
    char options[64];
    kry_result all;

    snprintf(options, sizeof options, "method=block-cg rtol=%g", rtol);
    for (size_t c = 0; c < COUNT(columns); c++) {
        block_problem p = problem_create(columns[c]);
        solve(&p, options, &all);
        const int expected = count_in_plain_c(&p, rtol);
        assert_true(expected < LIMIT);
        assert_true(llabs((long long)(all.iterations - expected)) <= 2);
        problem_release(&p);
    }
}

/* One column is conjugate gradients; more need fewer iterations, fewer still with a preconditioner. */
static void block_cg__counts(void **state)
{
    (void)state;
    block_problem p = problem_create(1), many = problem_create(8);
    kry_result one, cg, all, all_cg, better;

    solve(&p, "method=block-cg", &one);
    solve(&p, "method=cg", &cg);
    assert_true(llabs((long long)(one.iterations - cg.iterations)) <= 1);
    solve(&p, "method=block-cg precond=jacobi", &one);
    solve(&p, "method=pcg precond=jacobi", &cg);
    assert_true(llabs((long long)(one.iterations - cg.iterations)) <= 1);
    solve(&many, "method=cg", &all_cg);
    solve(&many, "method=block-cg", &all);
    solve(&many, "method=block-cg precond=chebyshev:3", &better);
    assert_true(5 * all.iterations < 4 * all_cg.iterations);
    print_message("# CG %d, block %d, with Chebyshev %d\n", (int)all_cg.iterations,
                  (int)all.iterations, (int)better.iterations);
    assert_true(5 * better.iterations < 4 * all.iterations);
    problem_release(&many), problem_release(&p);
}

/* Column 1 is zero, 3 is column 0, 4 a multiple of 2, 5 the sum of 0 and 2, to rounding; 6 is much larger. */
static void block_cg__dependent_columns(void **state)
{
    (void)state;
    block_problem p = problem_create(7);
    double *b = p.b;
    kry_result all;

    for (int i = 0; i < N; i++) {
        b[N + i] = 0;
        b[3 * N + i] = b[i];
        b[4 * N + i] = to_type(p.type, 3 * b[2 * N + i]);
        b[5 * N + i] = to_type(p.type, b[i] + b[2 * N + i]);
        b[6 * N + i] = ldexp(b[6 * N + i], 20);
    }
    solve(&p, "method=block-cg", &all);
    for (int i = 0; i < N; i++) {
        assert_true(p.x[N + i] == 0);
        assert_true(fabs(p.x[3 * N + i] - p.x[i]) < 1e-3);
    }
    problem_release(&p);
}

/* All columns equal: the block has one direction. And a guess that solves one of them. */
static void block_cg__equal_columns(void **state)
{
    (void)state;
    block_problem p = problem_create(4), one = problem_create(1);
    kry_result all, cg;

    memcpy(one.b, p.b, N * sizeof *p.b);
    for (int j = 1; j < p.k; j++) memcpy(p.b + j * N, p.b, N * sizeof *p.b);
    solve(&p, "method=block-cg", &all);
    solve(&one, "method=cg", &cg);
    assert_true(llabs((long long)(all.iterations - cg.iterations)) <= 2);
    problem_release(&one), problem_release(&p);
}

static bool diagonal(int64_t i, int64_t j, int64_t n) { return (void)n, i == j; }

/* A = diag(-1, 1, 2, ...) and two right-hand sides that meet the first row: no pivot of P'A P is positive, or
 * one is negative. */
static void block_cg__indefinite(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    matrix D = matrix_where(type, ROWS, ROWS, diagonal);
    double b[2 * ROWS] = { 0 };
    kry_vec *B, *X;
    kry_op *A, *solver;
    kry_result all;

    for (int i = 0; i < ROWS; i++) D.val[i] = i ? 1 + i % 3 : -1;
    b[0] = 4, b[1] = 1, b[ROWS] = 2, b[ROWS + 2] = 1;
    A = in_format(&D, type, KRY_FORMAT_CSR, KRY_SYMMETRIC);
    OK(kry_vec_create(device(), type, ROWS, 2, &B));
    OK(kry_vec_create(device(), type, ROWS, 2, &X));
    write_doubles(B, b);
    OK(kry_solver_create(A, "method=block-cg check=none", NULL, NULL, &solver));
    assert_int_equal(kry_solve(solver, B, X, &all), KRY_BREAKDOWN);
    assert_int_equal(all.reason, KRY_INDEFINITE_MATRIX);
    assert_non_null(strstr(all.why, "P'A P"));
    kry_op_release(&solver), kry_op_release(&A);
    kry_vec_release(&X), kry_vec_release(&B);
    matrix_release(&D);
}

/* The limit is reported, and 17 columns are two strips. */
static void block_cg__limit_and_strips(void **state)
{
    (void)state;
    block_problem p = problem_create(17);
    kry_op *solver;
    kry_result all;

    solve(&p, "method=block-cg", &all);
    OK(kry_vec_fill(p.X, 0));
    OK(kry_solver_create(p.A, "method=block-cg maxit=3", NULL, NULL, &solver));
    assert_int_equal(kry_solve(solver, p.B, p.X, &all), KRY_NOT_CONVERGED);
    for (int j = 0; j < p.k; j++) assert_int_equal(all.column[j].iterations, 3);
    kry_op_release(&solver);
    problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_cg__recurrence),        cmocka_unit_test(block_cg__counts),
        cmocka_unit_test(block_cg__dependent_columns), cmocka_unit_test(block_cg__equal_columns),
        cmocka_unit_test(block_cg__indefinite),        cmocka_unit_test(block_cg__limit_and_strips),
    };

    return cmocka_run_group_tests(tests, NULL, close_device);
}
