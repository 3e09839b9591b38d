/*
 * test_reorder.c - solvers that put the rows of a matrix in the order of reverse Cuthill-McKee: the same bits as
 * for a matrix that the caller has put in order, with everything that he sees in his own.
 */
#include "mixed_grid.h"
#include "teams.h"

/* ---- solves ------------------------------------------------------------------------------------ */

enum { SIDE = 24, N = SIDE * SIDE };

static kry_op *op_of(const matrix *A, kry_type type, const kry_matrix_params *params)
{
    kry_op *op;
    void *val = in_type(type, A->val, A->nnz);
    OK(kry_csr_create(device(), type, A->rows, A->cols, A->row_ptr, A->col, val, params, &op));
    free(val);
    return op;
}

/* From x = b; to be freed. */
static double *solve(const kry_op *op, const double *b, const char *words, kry_result *res)
{
    const kry_type type = kry_op_get_shape(op)->type;
    guarded B = guarded_create(type, N, 1, 3, b), X = guarded_create(type, N, 1, 1, b);
    kry_op *S;

    OK(kry_solver_create(op, words, NULL, NULL, &S));
    const kry_status st = kry_solve(S, B.v, X.v, res);
    if (st != KRY_OK) fail_msg("%s: %s", words, kry_last_error());
    double *x = guarded_read(&X);
    kry_op_release(&S);
    guarded_release(&B);
    guarded_release(&X);
    return x;
}

/* The caller puts the rows in order himself: the same bits, the same residuals. */
static void solve__as_for_a_matrix_in_order(void **state)
{
    kry_type type = type_of(state);
    static const struct {
        const char *words;
        const weights *w;
    } cases[] = { { "method=pcg precond=block-ic:50 rtol=1e-5", &laplace },
                  { "method=bicgstab precond=ilu0 rtol=1e-5", &windy },
                  { "method=pcg precond=jacobi deflation=stripes:5 rtol=1e-5", &laplace },
                  { "method=lsmr rtol=1e-4", &windy } };

    for (size_t i = 0; i < COUNT(cases); i++) {
        int32_t *mixed = shuffled(N), *place = calloc(N, sizeof *place),
                *both = calloc(N, sizeof *both);
        assert_true(place && both);
        matrix A = grid_of(type, SIDE, mixed, cases[i].w);
        int32_t *order = order_of(&A, place);
        for (int k = 0; k < N; k++) both[k] = place[mixed[k]];
        matrix B = grid_of(type, SIDE, both, cases[i].w);
        const kry_matrix_params *csr = KRY_MATRIX(.format = KRY_FORMAT_CSR);
        kry_op *given = op_of(&A, type, csr), *ordered = op_of(&B, type, csr);
        double *b = random_array(type, N), *moved = calloc(N, sizeof *moved);
        assert_non_null(moved);
        for (int k = 0; k < N; k++) moved[k] = b[order[k]];
        kry_result res, want;
        char words[120];
        snprintf(words, sizeof words, "%s reorder=rcm", cases[i].words);
        double *x = solve(given, b, words, &res), *y = solve(ordered, moved, cases[i].words, &want);
        for (int k = 0; k < N; k++) assert_same_bits(&x[order[k]], &y[k], 1);
        assert_int_equal(res.iterations, want.iterations);
        assert_true(res.true_residual == want.true_residual && res.norm_b == want.norm_b);
        kry_op_release(&given);
        kry_op_release(&ordered);
        free(x), free(y), free(b), free(moved), free(order), free(both), free(place), free(mixed);
        matrix_release(&A);
        matrix_release(&B);
    }
}

static void assert_solves(const matrix *A, const double *x, const double *b, double bound)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        long double m, r = b[i] - row_times(A, i, x, NULL, &m);
        sum += (double)(r * r), size += b[i] * b[i];
    }
    NEAR(sqrt(sum / size), 0, bound, "residual");
}

/* Factors of blocks need fewer iterations; auto sees to that, and leaves alone what it does not help. */
static void solve__fewer_iterations(void **state)
{
    kry_type type = type_of(state);
    int32_t *mixed = shuffled(N), *given = calloc(N, sizeof *given);
    double *b = random_array(type, N);
    kry_result none, rcm, automatic, left;
    assert_non_null(given);
    for (int i = 0; i < N; i++) given[i] = i;
    matrix A = grid_of(type, SIDE, mixed, &laplace), L = grid_of(type, SIDE, given, &laplace);
    kry_op *op = op_of(&A, type, NULL), *lines = op_of(&L, type, NULL), *S;
    kry_op_info info;

    free(solve(op, b, "precond=block-ic:72 rtol=1e-5", &none));
    double *x = solve(op, b, "precond=block-ic:72 rtol=1e-5 reorder=rcm", &rcm);
    assert_solves(&A, x, b, 1.1e-5);
    free(x);
    assert_true(rcm.iterations < 0.8 * (double)none.iterations);
    free(solve(op, b, "precond=block-ic:72 rtol=1e-5 reorder=auto", &automatic));
    assert_int_equal(automatic.iterations, rcm.iterations);
    free(solve(lines, b, "precond=block-ic:72 rtol=1e-5", &none));
    free(solve(lines, b, "precond=block-ic:72 rtol=1e-5 reorder=auto", &left));
    assert_int_equal(left.iterations, none.iterations);
    static const char *const plain[] = { "precond=jacobi reorder=auto", "reorder=none" };
    for (size_t i = 0; i < COUNT(plain); i++) {
        OK(kry_solver_create(op, plain[i], NULL, NULL, &S));
        kry_op_describe(S, &info);
        assert_null(strstr(info.variant, "Cuthill"));
        kry_op_release(&S);
    }
    OK(kry_solver_create(op, "precond=ic0 reorder=auto", NULL, NULL, &S));
    kry_op_describe(S, &info);
    assert_non_null(strstr(info.variant, "reverse Cuthill-McKee order (mean bandwidth"));
    assert_string_equal(info.kind, "pcg");
    kry_op_release(&S);
    kry_op_release(&op);
    kry_op_release(&lines);
    free(b), free(mixed), free(given);
    matrix_release(&A);
    matrix_release(&L);
}

typedef struct eye {
    const matrix *A;
    const double *b;
    kry_vec *x;
    int calls;
} eye;

static int look_at_x(void *user, const kry_iteration *it)
{
    eye *e = user;
    double *x = numbers_of(e->x), sum = 0;
    for (int64_t i = 0; i < e->A->rows; i++) {
        long double m, r = e->b[i] - row_times(e->A, i, x, NULL, &m);
        sum += (double)(r * r);
    }
    NEAR(it->residual, sqrt(sum), 1e-3, "x of iteration %lld", (long long)it->iteration);
    free(x);
    e->calls++;
    return it->iteration >= 8;
}

/* The caller's x in monitors, new numbers, other tolerances, an application, a bad b. */
static void solve__in_the_order_of_the_caller(void **state)
{
    kry_type type = type_of(state);
    int32_t *mixed = shuffled(N);
    matrix A = grid_of(type, SIDE, mixed, &laplace);
    kry_op *op = op_of(&A, type, NULL), *S;
    double *b = random_array(type, N), *twice = calloc((size_t)A.nnz, sizeof *twice);
    kry_vec *B = vec_of(type, b, N, 1), *X = vec_of(type, b, N, 1);
    eye e = { &A, b, X, 0 };
    kry_result res;

    assert_non_null(twice);
    OK(kry_solver_create(op, "precond=block-ic:60 reorder=rcm check-every=4 rtol=1e-6", look_at_x,
                         &e, &S));
    assert_int_equal(kry_solve(S, B, X, &res), KRY_STOPPED);
    assert_int_equal(e.calls, 3);
    kry_op_release(&S);
    OK(kry_solver_create(op, "precond=block-ic:60 reorder=rcm", NULL, NULL, &S));
    OK(kry_solver_set_stop(S, &(kry_stop){ .rtol = 1e-4 }));
    OK(kry_solve(S, B, X, &res));
    NEAR(res.target, 1e-4 * res.norm_b, 1e-6 * res.norm_b, "target");
    for (int update = 0; update < 2; update++) { /* of A alone, and of the solver, too */
        for (int64_t k = 0; k < A.nnz; k++) twice[k] = A.val[k] *= 2;
        void *val = in_type(type, twice, A.nnz);
        OK(kry_op_update(op, val));
        if (update) OK(kry_op_update(S, NULL));
        OK(kry_op_apply(S, 1, B, 0, X));
        double *x = numbers_of(X);
        assert_solves(&A, x, b, 1.1e-4);
        free(x), free(val);
    }
    REFUSES(kry_op_update(S, twice), KRY_ERR_ARGUMENT, "takes no values");
    double *bad = calloc(N, sizeof *bad), *zero = calloc(N, sizeof *zero);
    assert_true(bad && zero);
    bad[123] = NAN;
    REFUSES(kry_solve_host(S, bad, zero, NULL), KRY_ERR_ARGUMENT, "b[123] is nan");
    kry_op_release(&S);
    kry_op_release(&op);
    kry_vec_release(&B);
    kry_vec_release(&X);
    free(bad), free(zero), free(twice), free(b), free(mixed);
    matrix_release(&A);
}

/* Constants, known by a trait or as a vector that the caller gives. */
static void solve__null_space(void **state)
{
    kry_type type = type_of(state);
    int32_t *mixed = shuffled(N);
    double *b = random_array(type, N), mean = 0, by[N];
    matrix A = grid_of(type, SIDE, mixed, &singular);

    for (int told = 0; told < 2; told++) {
        matrix B = A; /* D A D, whose null space is 1 / d */
        B.val = calloc((size_t)A.nnz, sizeof *B.val);
        assert_non_null(B.val);
        for (int i = 0; i < N; i++) by[i] = told ? ldexp(1, i % 3) : 1;
        for (int64_t i = 0; i < N; i++)
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                B.val[k] = by[i] * A.val[k] * by[A.col[k]];
        for (int i = 0; i < N; i++) by[i] = 1 / by[i];
        double along = 0, size = 0;
        for (int i = 0; i < N; i++) along += b[i] * by[i], size += by[i] * by[i];
        for (int i = 0; i < N; i++) b[i] = to_type(type, b[i] - along / size * by[i]);
        kry_op *op = op_of(&B, type, KRY_MATRIX(.traits = told ? KRY_SYMMETRIC : KRY_SINGULAR));
        kry_vec *V = vec_of(type, by, N, 1);
        kry_result res;
        if (told) OK(kry_op_set_null_space(op, V));
        double *x = solve(op, b, "method=pcg precond=jacobi rtol=1e-4 reorder=rcm", &res);
        assert_solves(&B, x, b, 1.2e-4);
        mean = size = 0;
        for (int i = 0; i < N; i++) mean += x[i] * by[i], size += fabs(x[i] * by[i]);
        NEAR(mean, 0, 1e-4 * size, "x along the null space");
        kry_vec_release(&V);
        kry_op_release(&op);
        free(x), free(B.val);
    }
    free(b), free(mixed);
    matrix_release(&A);
}

/* Two unknowns at each point, which stay together: blocks of the points are the same blocks. */
static void solve__nodes_stay_together(void **state)
{
    kry_type type = type_of(state);
    enum { POINTS = 12 * 12 };
    int32_t *mixed = shuffled(POINTS);
    matrix A = grid_of(type, 12, mixed, &laplace), B = { .rows = 2 * POINTS, .cols = 2 * POINTS };
    kry_result with, without;
    kry_op *S;

    B.row_ptr = calloc(2 * POINTS + 1, sizeof *B.row_ptr);
    B.col = calloc((size_t)(4 * A.nnz), sizeof *B.col);
    B.val = calloc((size_t)(4 * A.nnz), sizeof *B.val);
    assert_true(B.row_ptr && B.col && B.val);
    for (int64_t i = 0; i < 2 * POINTS; i++) {
        for (int64_t k = A.row_ptr[i / 2]; k < A.row_ptr[i / 2 + 1]; k++)
            for (int c = 0; c < 2; c++) {
                B.col[B.nnz] = 2 * A.col[k] + c;
                B.val[B.nnz++] = to_type(type, A.val[k] * (c == i % 2 ? 1 : 0.3));
            }
        B.row_ptr[i + 1] = B.nnz;
    }
    double *b = random_array(type, B.rows);
    kry_op *op = op_of(&B, type, KRY_MATRIX(.block = 2));
    for (int i = 0; i < 2; i++) {
        double x[2 * POINTS] = { 0 };
        OK(kry_solver_create(op,
                             i ? "precond=block-jacobi:2 rtol=1e-5 reorder=rcm"
                               : "precond=block-jacobi:2 rtol=1e-5",
                             NULL, NULL, &S));
        OK(kry_solve_host(S, b, x, i ? &with : &without));
        kry_op_release(&S);
    }
    NEAR(with.iterations, without.iterations, 1, "iterations");
    kry_op_release(&op);
    free(b), free(mixed);
    matrix_release(&A);
    matrix_release(&B);
}

static void create__refuses(void **state)
{
    kry_type type = type_of(state);
    int32_t *mixed = shuffled(N);
    matrix A = grid_of(type, SIDE, mixed, &windy);
    kry_op *op = op_of(&A, type, NULL), *grid, *S;
    kry_op_info info;

    REFUSES(kry_solver_create(op, "reorder=amd", NULL, NULL, &S), KRY_ERR_PARSE,
            "none of none, rcm");
    REFUSES(kry_solver_create(op, "reorder=rcm deflation=labels:none.mtx", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "sub-domains or modes of a file");
    REFUSES(kry_solver_create(op, "method=cg reorder=rcm", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "is not symmetric");
    char where[40]; /* in the numbers of the caller */
    REFUSES(kry_solver_create(op, "method=cg", NULL, NULL, &S), KRY_ERR_UNSUPPORTED, "entry (");
    snprintf(where, sizeof where, "%s", strstr(kry_last_error(), "entry ("));
    *(strchr(where, ')') + 1) = 0;
    REFUSES(kry_solver_create(op, "method=cg reorder=rcm", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            where);
    OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { 9, 9 }), &grid));
    REFUSES(kry_solver_create(grid, "method=cg reorder=rcm", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "is for stored matrices");
    OK(kry_solver_create(grid, "method=cg precond=block-ic:9 reorder=auto precond=none", NULL, NULL,
                         &S));
    kry_op_describe(S, &info);
    assert_null(strstr(info.variant, "Cuthill"));
    kry_op_release(&S);
    kry_op_release(&grid);
    kry_op_release(&op);
    kry_device *team = open_team(2, (kry_team_params){ .reproducible = false });
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_csr_create(team, type, N, N, A.row_ptr, A.col, val, NULL, &op));
    REFUSES(kry_solver_create(op, "method=bicgstab reorder=rcm", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "not for a team");
    OK(kry_solver_create(op, "method=bicgstab precond=block-ilu reorder=auto", NULL, NULL, &S));
    kry_op_release(&S);
    kry_op_release(&op);
    close_team(&team);
    free(val), free(mixed);
    matrix_release(&A);
}

/* In double around iterations in single. */
static void solve__mixed(void **state)
{
    (void)state;
    int32_t *mixed = shuffled(N);
    matrix A = grid_of(KRY_F64, SIDE, mixed, &laplace);
    double *b = random_array(KRY_F64, N);
    kry_result res;

    if (acc_type() != KRY_F64) SKIP("no double");
    kry_op *op = op_of(&A, KRY_F64, NULL);
    double *x = solve(op, b, "precision=mixed precond=block-ic:60 rtol=1e-11 reorder=rcm", &res);
    assert_solves(&A, x, b, 1.1e-11);
    assert_true(res.single_iterations > 0);
    kry_op_release(&op);
    free(x), free(b), free(mixed);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOUR(solve__as_for_a_matrix_in_order),   BOTH(solve__fewer_iterations),
        BOTH(solve__in_the_order_of_the_caller), BOTH(solve__null_space),
        BOTH(solve__nodes_stay_together),        BOTH(create__refuses),
        cmocka_unit_test(solve__mixed),
    };
    return cmocka_run_group_tests_name("reorder", tests, keep_profile, restore_profile);
}
