/*
 * test_scaled.c - solvers that scale rows and columns by powers of two: x is right in every component, judged by
 * Gaussian elimination in long double, and all that a caller sees is of his own system.
 */
#include "teams.h"

enum { SIDE = 10, N = SIDE * SIDE };

/* ---- matrices ---------------------------------------------------------------------------------- */

/* Five points of a grid; windy: not symmetric, and each row has another entry somewhere. */
static matrix grid_of(bool windy)
{
    matrix A = { .rows = N, .cols = N };
    double row[N];

    A.row_ptr = calloc(N + 1, sizeof *A.row_ptr);
    A.col = calloc(6 * N, sizeof *A.col);
    A.val = calloc(6 * N, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int i = 0; i < N; i++) {
        memset(row, 0, sizeof row);
        if (windy) row[random_below(N)] = 0.3;
        if (i % SIDE > 0) row[i - 1] = windy ? -1.5 : -1;
        if (i % SIDE + 1 < SIDE) row[i + 1] = windy ? -0.5 : -1;
        if (i >= SIDE) row[i - SIDE] = windy ? -1.25 : -1;
        if (i + SIDE < N) row[i + SIDE] = windy ? -0.75 : -1;
        row[i] = windy ? 4.5 : 4.125;
        for (int j = 0; j < N; j++)
            if (row[j] != 0) A.col[A.nnz] = j, A.val[A.nnz++] = row[j];
        A.row_ptr[i + 1] = A.nnz;
    }
    return A;
}

/* 10 to powers between low and high, a number of the type each */
static void random_powers(kry_type type, double low, double high, double *d)
{
    for (int i = 0; i < N; i++)
        d[i] = to_type(type, pow(10, low + (high - low) * (random_number(KRY_F64) + 1) / 2));
}

/* A := R A C, rounded to the type; NULL: the identity. */
static void scale(matrix *A, kry_type type, const double *R, const double *C)
{
    for (int i = 0; i < N; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            A->val[e] = to_type(type, (R ? R[i] : 1) * A->val[e] * (C ? C[A->col[e]] : 1));
}

/* The entries alike above and below the diagonal, which rounding R A C in two steps may have changed. */
static void mirror(matrix *A)
{
    for (int i = 0; i < N; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            for (int64_t f = A->row_ptr[A->col[e]]; f < A->row_ptr[A->col[e] + 1]; f++)
                if (A->col[f] == i && A->col[e] < i) A->val[f] = A->val[e];
}

/* x of A x = b by elimination in long double with pivots, once rows and columns are near 1; to be freed. */
static long double *reference(const matrix *A, const double *b, const double *R, const double *C)
{
    long double *a = calloc((size_t)N * N, sizeof *a), *x = calloc(N, sizeof *x);

    assert_true(a && x);
    for (int i = 0; i < N; i++) {
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            a[i * N + A->col[e]] = (long double)A->val[e] / (R ? R[i] : 1) / (C ? C[A->col[e]] : 1);
        x[i] = (long double)b[i] / (R ? R[i] : 1);
    }
    for (int k = 0; k < N; k++) {
        int p = k;
        for (int i = k + 1; i < N; i++)
            if (fabsl(a[i * N + k]) > fabsl(a[p * N + k])) p = i;
        for (int j = 0; j < N && p != k; j++) {
            const long double t = a[k * N + j];
            a[k * N + j] = a[p * N + j], a[p * N + j] = t;
        }
        const long double t = x[k];
        x[k] = x[p], x[p] = p == k ? x[k] : t;
        for (int i = k + 1; i < N; i++) {
            const long double l = a[i * N + k] / a[k * N + k];
            for (int j = k; j < N && l != 0; j++) a[i * N + j] -= l * a[k * N + j];
            x[i] -= l * x[k];
        }
    }
    for (int k = N - 1; k >= 0; k--) {
        for (int j = k + 1; j < N; j++) x[k] -= a[k * N + j] * x[j];
        x[k] /= a[k * N + k];
    }
    for (int i = 0; i < N; i++) x[i] /= C ? C[i] : 1;
    free(a);
    return x;
}

static kry_op *op_of(const matrix *A, kry_type type)
{
    kry_op *op;
    void *val = in_type(type, A->val, A->nnz);
    OK(kry_csr_create(device(), type, N, N, A->row_ptr, A->col, val, NULL, &op));
    free(val);
    return op;
}

/* b with b_i about as large as A's row i, so that x has numbers about 1 / C. */
static void make_b(kry_type type, const double *R, double *b)
{
    for (int i = 0; i < N; i++)
        b[i] = to_type(type, (R ? R[i] : 1) * (1 + random_number(KRY_F64) / 2));
}

/* ||b - A x|| in long double */
static double residual_of(const matrix *A, const double *x, const double *b)
{
    long double sum = 0, m;
    for (int i = 0; i < N; i++) {
        const long double r = b[i] - row_times(A, i, x, NULL, &m);
        sum += r * r;
    }
    return (double)sqrtl(sum);
}

/* Whether this build has what `words` ask for: factors are SuiteSparse's. */
static bool can(const kry_op *op, const char *words)
{
    kry_op *S;
    const kry_status st = kry_solver_create(op, words, NULL, NULL, &S);

    if (st == KRY_ERR_UNSUPPORTED && strstr(kry_last_error(), "SuiteSparse")) return false;
    OK(st);
    kry_op_release(&S);
    return true;
}

/* Every component is right, and what is told is so of the caller's system. Returns the iterations. */
static int64_t check(const matrix *A, kry_type type, const double *R, const double *C,
                     const char *words)
{
    const double bound = type == KRY_F32 ? 2e-3 : 2e-6, rtol = type == KRY_F32 ? 1e-5 : 1e-8;
    double b[N], x[N] = { 0 };
    long double norm_b = 0;
    kry_op *op = op_of(A, type), *S;
    kry_result res = { 0 };

    if (!can(op, words)) {
        kry_op_release(&op);
        return 0;
    }
    make_b(type, R, b);
    long double *want = reference(A, b, R, C);
    OK(kry_solver_create(op, words, NULL, NULL, &S));
    if (kry_solve_host(S, b, x, &res) != KRY_OK) fail_msg("%s: %s", words, res.why);
    for (int i = 0; i < N; i++) {
        norm_b += (long double)b[i] * b[i];
        NEAR((double)(x[i] / want[i]), 1, bound, "%s: x[%d] = %g, wanted %Lg", words, i, x[i],
             want[i]);
    }
    NEAR(res.norm_b, (double)sqrtl(norm_b), 1e-5 * res.norm_b, "norm of b");
    NEAR(res.target, rtol * res.norm_b, 1e-5 * rtol * res.norm_b, "target");
    const double r = residual_of(A, x, b);
    assert_true(res.true_residual <= res.target);
    if (r > 100 * (double)eps_of(type) * res.norm_b)
        NEAR(res.true_residual, r, 0.05 * r, "%s: true residual", words);
    assert_true(res.row_span > 1e8 || res.column_span > 1e8);
    assert_true(res.history_count > 0 && res.check_count > 0);
    if (res.history_every == 1) assert_int_equal(res.history_count, res.iterations + 1);
    NEAR(res.checks[res.check_count - 1].residual, res.true_residual, 0, "the last check");
    assert_non_null(strstr(res.why, "equilibrated"));
    kry_op_release(&S);
    kry_op_release(&op);
    free(want);
    return res.iterations;
}

/* ---- solves ------------------------------------------------------------------------------------ */

/* Rows of 6e4 to 5e38, as equations of other units leave them. */
static void solve__rows(void **state)
{
    const kry_type type = type_of(state);
    static const char *const words[] = { "method=auto",
                                         "method=direct",
                                         "method=bicgstab precond=jacobi equilibrate=on",
                                         "method=gmres precond=none equilibrate=on",
                                         "method=idr precond=ilu0 equilibrate=on",
                                         "method=tfqmr precond=jacobi equilibrate=on",
                                         "method=jacobi equilibrate=on",
                                         "method=auto reorder=rcm" };
    double R[N];

    for (size_t w = 0; w < COUNT(words); w++) {
        matrix A = grid_of(true);
        random_powers(type, type == KRY_F32 ? -6 : 4.8, type == KRY_F32 ? 10 : 38.7, R);
        scale(&A, type, R, NULL);
        check(&A, type, R, NULL, words[w]);
        matrix_release(&A);
    }
}

/* Unknowns of other units, and both. */
static void solve__columns(void **state)
{
    const kry_type type = type_of(state);
    const double most = type == KRY_F32 ? 5 : 8;
    static const char *const words[] = { "method=auto", "method=direct",
                                         "method=bicgstab precond=jacobi equilibrate=on" };
    double R[N], C[N];

    for (size_t w = 0; w < 2 * COUNT(words); w++) {
        matrix A = grid_of(true);
        random_powers(type, -most, most, C);
        random_powers(type, -most, most, R);
        const double *rows = w % 2 ? R : NULL;
        scale(&A, type, rows, C);
        check(&A, type, rows, C, words[w / 2]);
        matrix_release(&A);
    }
}

/* D L D with d from 1e-8 to 1e8 takes the iterations of L. */
static void solve__symmetric(void **state)
{
    const kry_type type = type_of(state);
    const double most = type == KRY_F32 ? 5 : 8;
    static const char *const words[] = { "method=pcg precond=jacobi",
                                         "method=cg",
                                         "method=minres",
                                         "method=cr precond=jacobi",
                                         "method=block-cg",
                                         "method=pipe-cg precond=jacobi",
                                         "method=pcg precond=ic0",
                                         "method=pcg precond=amg" };
    double D[N];

    for (size_t w = 0; w < COUNT(words); w++) {
        matrix L = grid_of(false), A = grid_of(false);
        double b[N], x[N] = { 0 };
        kry_op *plain = op_of(&L, type), *S;
        kry_result res;
        char on[100];
        random_powers(type, -most, most, D);
        scale(&A, type, D, D);
        mirror(&A);
        make_b(type, NULL, b);
        OK(kry_solver_create(plain, words[w], NULL, NULL, &S));
        OK(kry_solve_host(S, b, x, &res));
        snprintf(on, sizeof on, "%s equilibrate=on", words[w]);
        const int64_t k = check(&A, type, D, D, on);
        if (k > 3 * res.iterations / 2 + 5)
            fail_msg("%s: %lld iterations, and %lld of the scaled matrix", on, (long long)k,
                     (long long)res.iterations);
        kry_op_release(&S);
        kry_op_release(&plain);
        matrix_release(&A);
        matrix_release(&L);
    }
    matrix A = grid_of(false);
    scale(&A, type, D, D);
    mirror(&A);
    check(&A, type, D, D, "method=auto");
    check(&A, type, D, D, "method=direct");
    matrix_release(&A);
}

/* Values on a boundary that a large number on the diagonal makes so. */
static void solve__penalties(void **state)
{
    const kry_type type = type_of(state);
    static const char *const words[] = { "method=auto", "method=direct",
                                         "method=pcg precond=jacobi equilibrate=on" };
    matrix A = grid_of(false);
    double R[N];

    for (int i = 0; i < N; i++) {
        R[i] = to_type(type, i % SIDE ? 1 : type == KRY_F32 ? 1e12 : 1e30);
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            if (A.col[e] == i) A.val[e] = to_type(type, A.val[e] * R[i]);
    }
    for (size_t w = 0; w < COUNT(words); w++) check(&A, type, R, NULL, words[w]);
    matrix_release(&A);
}

/* What is not scaled says when rows may not have been solved; what needs no scaling is left alone. */
static void solve__warns(void **state)
{
    const kry_type type = type_of(state);
    matrix A = grid_of(true);
    double R[N], b[N], x[N] = { 0 };
    kry_op *op = op_of(&A, type), *S;
    kry_result res;
    static const char *const words[] = { "method=auto", "method=bicgstab precond=jacobi" };

    make_b(type, NULL, b);
    for (size_t w = 0; w < COUNT(words); w++) {
        memset(x, 0, sizeof x);
        OK(kry_solver_create(op, words[w], NULL, NULL, &S));
        OK(kry_solve_host(S, b, x, &res));
        assert_null(strstr(res.why, "equilibrate"));
        assert_true(res.row_span == 0 && res.column_span == 0);
        kry_op_release(&S);
    }
    kry_op_release(&op);
    for (int i = 0; i < N; i++) R[i] = to_type(type, i % 7 ? 1e-6 : type == KRY_F32 ? 1e9 : 1e30);
    scale(&A, type, R, NULL);
    op = op_of(&A, type);
    make_b(type, R, b);
    memset(x, 0, sizeof x);
    OK(kry_solver_create(op, "method=bicgstab precond=jacobi equilibrate=off", NULL, NULL, &S));
    const kry_status st = kry_solve_host(S, b, x, &res);
    if (st == KRY_OK && knows_row_sizes(op))
        assert_non_null(strstr(res.why, "rows of A differ in size by a factor of"));
    kry_op_release(&S);
    kry_op_release(&op);
    matrix_release(&A);
}

typedef struct eye {
    const matrix *A;
    const double *b, *R;
    kry_vec *x;
    double relative; /* of the scaled system, last */
    int64_t last;
    int calls;
} eye;

/* x is the caller's; the residual is told relative to b. */
static int look_at_x(void *user, const kry_iteration *it)
{
    eye *e = user;
    double *x = numbers_of(e->x), sums[2] = { 0, 0 };
    for (int i = 0; i < N; i++) {
        long double m, r = e->b[i] - row_times(e->A, i, x, NULL, &m);
        sums[0] += pow((double)r / e->R[i], 2), sums[1] += pow(e->b[i] / e->R[i], 2);
    }
    e->relative = sqrt(sums[0] / sums[1]);
    assert_true(it->iteration == e->last + 2 || e->calls == 0);
    e->last = it->iteration;
    e->calls++;
    free(x);
    return it->iteration >= 4;
}

/* The caller's x in monitors, other tolerances, new numbers, an application, several columns, a bad b. */
static void solve__in_the_numbers_of_the_caller(void **state)
{
    const kry_type type = type_of(state);
    const char *words = "method=bicgstab precond=jacobi equilibrate=on";
    matrix L = grid_of(true), A;
    double R[N], b[N], x[N];
    kry_op *op, *S;
    kry_result res;

    random_powers(type, -8, 8, R);
    make_b(type, R, b);
    A = L, A.val = malloc((size_t)L.nnz * sizeof *L.val);
    assert_non_null(A.val);
    memcpy(A.val, L.val, (size_t)L.nnz * sizeof *L.val);
    scale(&A, type, R, NULL);
    op = op_of(&A, type);
    kry_vec *B = vec_of(type, b, N, 1), *X = vec_of(type, b, N, 1);
    OK(kry_vec_fill(X, 0.5));
    eye e = { &A, b, R, X, 0, 0, 0 };
    char cautious[100];
    snprintf(cautious, sizeof cautious, "%s check-every=2", words);
    OK(kry_solver_create(op, cautious, look_at_x, &e, &S));
    assert_int_equal(kry_solve(S, B, X, &res), KRY_STOPPED);
    assert_int_equal(e.calls, 3);
    /* powers of two are within a factor of 2 of R */
    assert_true(res.residual / res.norm_b < 8 * e.relative &&
                res.residual / res.norm_b > e.relative / 8);
    kry_op_release(&S);

    OK(kry_solver_create(op, words, NULL, NULL, &S));
    OK(kry_solver_set_stop(S, &(kry_stop){ .rtol = 1e-4 }));
    REFUSES(kry_solver_set_stop(S, &(kry_stop){ .rtol = -1 }), KRY_ERR_ARGUMENT, "rtol = -1");
    OK(kry_solve(S, B, X, &res));
    NEAR(res.target, 1e-4 * res.norm_b, 1e-6 * res.norm_b, "target");
    assert_non_null(kry_solver_precond(S));
    assert_null(kry_solver_deflation(S));
    OK(kry_solver_set_stop(S, &(kry_stop){ .rtol = 0 }));
    for (int update = 0; update < 2; update++) { /* of A alone, and of the solver, too */
        memcpy(A.val, L.val, (size_t)L.nnz * sizeof *L.val);
        random_powers(type, -8, 8, R);
        scale(&A, type, R, NULL);
        void *val = in_type(type, A.val, A.nnz);
        OK(kry_op_update(op, val));
        if (update) OK(kry_op_update(S, NULL));
        make_b(type, R, b);
        kry_vec_release(&B);
        B = vec_of(type, b, N, 1);
        OK(kry_op_apply(S, 1, B, 0, X));
        double *y = numbers_of(X);
        long double *want = reference(&A, b, R, NULL);
        for (int i = 0; i < N && update; i++) NEAR((double)(y[i] / want[i]), 1, 2e-3, "x[%d]", i);
        free(want), free(y), free(val);
    }
    REFUSES(kry_op_update(S, b), KRY_ERR_ARGUMENT, "takes no values");
    memset(x, 0, sizeof x);
    b[12] = NAN;
    REFUSES(kry_solve_host(S, b, x, NULL), KRY_ERR_ARGUMENT, "b[12] is nan");
    kry_vec_release(&X);
    kry_vec_release(&B);

    double many[3 * N], zero[3 * N] = { 0 };
    for (int j = 0; j < 3; j++) make_b(type, R, many + j * N);
    B = vec_of(type, many, N, 3), X = vec_of(type, zero, N, 3);
    OK(kry_solve(S, B, X, &res));
    assert_int_equal(res.columns, 3);
    double *xs = numbers_of(X);
    for (int j = 0; j < 3; j++) {
        long double *want = reference(&A, many + j * N, R, NULL);
        for (int i = 0; i < N; i++) NEAR((double)(xs[j * N + i] / want[i]), 1, 2e-3, "x[%d]", i);
        free(want);
    }
    free(xs);
    kry_vec_release(&X);
    kry_vec_release(&B);
    kry_op_release(&S);
    kry_op_release(&op);
    matrix_release(&L);
    free(A.val);
}

/* Other ends of a solve than rtol. */
static void solve__ends(void **state)
{
    const kry_type type = type_of(state);
    matrix A = grid_of(true);
    double R[N], b[N], x[N] = { 0 };
    kry_op *op, *S;
    kry_result res;
    const char *words = "method=gmres precond=jacobi equilibrate=on";
    char text[160];

    random_powers(type, -8, 8, R);
    scale(&A, type, R, NULL);
    make_b(type, R, b);
    op = op_of(&A, type);
    snprintf(text, sizeof text, "%s maxit=3", words);
    OK(kry_solver_create(op, text, NULL, NULL, &S));
    assert_int_equal(kry_solve_host(S, b, x, &res), KRY_NOT_CONVERGED);
    assert_int_equal(res.iterations, 3);
    assert_non_null(strstr(res.why, "equilibrated: 3 iterations were not enough"));
    kry_op_release(&S);
    snprintf(text, sizeof text, "%s stop=never maxit=4", words);
    OK(kry_solver_create(op, text, NULL, NULL, &S));
    OK(kry_solve_host(S, b, x, &res));
    assert_int_equal(res.reason, KRY_ITERATIONS_DONE);
    const double r = residual_of(&A, x, b);
    NEAR(res.true_residual, r, 0.05 * r, "true residual");
    kry_op_release(&S);
    snprintf(text, sizeof text, "%s stop=backward rtol=1e-6", words);
    OK(kry_solver_create(op, text, NULL, NULL, &S));
    OK(kry_solve_host(S, b, x, &res));
    assert_true(res.true_residual <= res.target && res.target > 1e-6 * res.norm_b);
    kry_op_release(&S);
    /* atol is in the caller's units: below what rtol's default would leave, and above. */
    for (int k = 0; k < 2; k++) {
        const double atol = (k ? 1e-2 : type == KRY_F32 ? 3e-6 : 1e-12) * res.norm_b;
        memset(x, 0, sizeof x);
        snprintf(text, sizeof text, "%s atol=%.17g rtol=0", words, atol);
        OK(kry_solver_create(op, text, NULL, NULL, &S));
        OK(kry_solve_host(S, b, x, &res));
        assert_true(res.true_residual <= atol && residual_of(&A, x, b) <= 1.1 * atol);
        kry_op_release(&S);
    }
    memset(b, 0, sizeof b);
    OK(kry_solver_create(op, words, NULL, NULL, &S));
    OK(kry_solve_host(S, b, x, &res));
    assert_int_equal(res.reason, KRY_CONVERGED_ZERO);
    for (int i = 0; i < N; i++) assert_true(x[i] == 0);
    kry_op_release(&S);
    kry_op_release(&op);
    matrix_release(&A);
}

/* Small rows with a large b: ||b - A x|| asks for more than the scaled system does, which is then solved further. */
static void solve__further(void **state)
{
    (void)state;
    matrix A = grid_of(false);
    double D[N], b[N], x[N] = { 0 };
    kry_op *op, *S;
    kry_result res;

    if (acc_type() != KRY_F64) SKIP("no double");
    for (int i = 0; i < N; i++) D[i] = i == 5 ? 1e5 : 1;
    scale(&A, KRY_F64, D, D);
    mirror(&A);
    for (int i = 0; i < N; i++) b[i] = i == 5 ? 0 : 1 + random_number(KRY_F64) / 2;
    op = op_of(&A, KRY_F64);
    OK(kry_solver_create(op, "method=pcg precond=jacobi equilibrate=on rtol=1e-9", NULL, NULL, &S));
    OK(kry_solve_host(S, b, x, &res));
    assert_true(res.true_residual <= res.target);
    assert_true(residual_of(&A, x, b) <= 1.01e-9 * res.norm_b);
    assert_true(res.check_count > 1);
    assert_int_equal(res.history_count, res.iterations + 1);
    for (int i = 0; i < res.check_count; i++)
        assert_true(res.checks[i].iteration <= res.iterations);
    kry_op_release(&S);
    /* beyond what rounding leaves in the large row */
    OK(kry_solver_create(op, "method=pcg precond=jacobi equilibrate=on rtol=1e-15", NULL, NULL,
                         &S));
    assert_int_equal(kry_solve_host(S, b, x, &res), KRY_STAGNATED);
    kry_op_release(&S);
    kry_op_release(&op);
    matrix_release(&A);
}

/* The residual, times R, is too small for another solve: the solve does not fail, but ends with the x that it has. */
static void solve__no_further(void **state)
{
    (void)state;
    enum { FEW = 3 };
    static const int64_t row_ptr[] = { 0, 3, 6, 9 };
    static const int32_t col[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2 };
    const double a = 1e264, val[] = { 2.2 * a,  0.8 * a, 0.4 * a,  0.8 * a, 2.3 * a,
                                      -0.3 * a, 0.4 * a, -0.3 * a, 1.4 * a };
    const double b[FEW] = { 0.51, -0.095, 0.13 };
    double x[FEW] = { 0 };
    kry_op *op, *S;
    kry_result res;

    if (acc_type() != KRY_F64) SKIP("no double");
    OK(kry_csr_create(device(), KRY_F64, FEW, FEW, row_ptr, col, val, NULL, &op));
    OK(kry_solver_create(op, "method=pcg precond=jacobi equilibrate=on atol=1e-40", NULL, NULL,
                         &S));
    OK(kry_solve_host(S, b, x, &res) < 0 ? KRY_ERR_ARGUMENT : KRY_OK);
    assert_true(res.true_residual <= 1e-14 * res.norm_b);
    assert_true(fabs(x[0]) > 0);
    kry_op_release(&S);
    kry_op_release(&op);
}

static void create__refuses(void **state)
{
    const kry_type type = type_of(state);
    static const struct {
        const char *words, *part;
        unsigned traits;
    } bad[] = {
        { "method=pcg equilibrate=on", "regular matrices", KRY_SYMMETRIC | KRY_SINGULAR },
        { "method=pcg equilibrate=on", "regular matrices", 0 }, /* nobody has said so */
        { "method=pcg equilibrate=on deflation=stripes:4 null-space=none",
          "does not go with deflation", 0 },
        { "method=lsmr equilibrate=on", "least squares", 0 },
    };
    matrix A = grid_of(false);
    double D[N];
    kry_op *S, *op;
    kry_op_info info;
    void *val;

    for (int i = 0; i < N; i++) { /* rows add up to zero */
        double sum = 0;
        int64_t own = -1;
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            if (A.col[e] == i)
                own = e;
            else
                sum += A.val[e];
        A.val[own] = -sum;
    }
    val = in_type(type, A.val, A.nnz);
    for (size_t i = 0; i < COUNT(bad); i++) {
        OK(kry_csr_create(device(), type, N, N, A.row_ptr, A.col, val,
                          KRY_MATRIX(.traits = bad[i].traits), &op));
        REFUSES(kry_solver_create(op, bad[i].words, NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
                bad[i].part);
        kry_op_release(&op);
    }
    free(val);
    matrix_release(&A);
    A = grid_of(false);
    for (int i = 0; i < N; i++) D[i] = i % 2 ? 1e-5 : 1e5;
    scale(&A, type, D, D);
    mirror(&A);
    val = in_type(type, A.val, A.nnz);
    op = op_of(&A, type);
    OK(kry_solver_create(op, "method=pcg equilibrate=on deflation=recycle:4", NULL, NULL, &S));
    kry_op_describe(S, &info);
    assert_non_null(strstr(info.variant, "scaled alike by powers of two"));
    assert_string_equal(info.kind, "pcg");
    kry_op_release(&S);
    OK(kry_solver_create(op, "method=auto equilibrate=off", NULL, NULL, &S));
    kry_op_describe(S, &info);
    assert_null(strstr(info.variant, "powers of two"));
    kry_op_release(&S);
    kry_op_release(&op);
    OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { 9, 9 }), &op));
    REFUSES(kry_solver_create(op, "method=cg equilibrate=on", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "is for stored matrices");
    OK(kry_solver_create(op, "method=auto", NULL, NULL, &S));
    kry_op_release(&S);
    kry_op_release(&op);
    A.val[1] = to_type(type, 2 * A.val[1]); /* not symmetric: told in the caller's numbers */
    op = op_of(&A, type);
    free(val), val = in_type(type, A.val, A.nnz);
    char entry[60];
    snprintf(entry, sizeof entry, "is %g", A.val[1]);
    REFUSES(kry_solver_create(op, "method=cg equilibrate=on", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            entry);
    kry_op_release(&op);
    kry_device *team = open_team(2, (kry_team_params){ .reproducible = false });
    OK(kry_csr_create(team, type, N, N, A.row_ptr, A.col, val, NULL, &op));
    REFUSES(kry_solver_create(op, "method=bicgstab equilibrate=on", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "not for a team");
    OK(kry_solver_create(op, "method=auto", NULL, NULL, &S));
    kry_op_release(&S);
    kry_op_release(&op);
    close_team(&team);
    free(val);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(solve__rows),
        BOTH(solve__columns),
        BOTH(solve__symmetric),
        BOTH(solve__penalties),
        BOTH(solve__warns),
        BOTH(solve__in_the_numbers_of_the_caller),
        BOTH(solve__ends),
        cmocka_unit_test(solve__further),
        cmocka_unit_test(solve__no_further),
        BOTH(create__refuses),
    };
    return cmocka_run_group_tests_name("scaled", tests, keep_profile, restore_profile);
}
