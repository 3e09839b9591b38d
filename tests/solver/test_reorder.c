/*
 * test_reorder.c - reverse Cuthill-McKee, and solvers that put the rows of a matrix in that order: the same bits as
 * for a matrix that the caller has put in order, with everything that he sees in his own.
 */
#include "sparse/csr.h"
#include "teams.h"

/* ---- matrices ---------------------------------------------------------------------------------- */

/* A random order of n. */
static int32_t *shuffled(int64_t n)
{
    int32_t *place = calloc((size_t)n + 1, sizeof *place);
    assert_non_null(place);
    for (int64_t i = 0; i < n; i++) place[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = random_below(i + 1);
        const int32_t t = place[i];
        place[i] = place[j], place[j] = t;
    }
    return place;
}

/* How the 5 points of a grid weigh: diagonal, to the left and down, to the right and up. */
typedef struct weights {
    double own, before, after;
} weights;
static const weights laplace = { 4.01, -1, -1 }, singular = { 0, -1, -1 },
                     windy = { 4.2, -1.6, -0.5 };

/* Entries of the point (i, j) of a grid of `side`, whose point k has the number place[k]. */
static void put_row(matrix *A, int side, const int32_t *place, int i, int j, const weights *w)
{
    static const int step[][2] = { { -1, 0 }, { 0, -1 }, { 0, 0 }, { 1, 0 }, { 0, 1 } };
    const int64_t row = place[j * side + i];
    int64_t k = A->row_ptr[row], own = k;
    double sum = 0;

    for (int s = 0; s < 5; s++) {
        const int x = i + step[s][0], y = j + step[s][1];
        if (x < 0 || y < 0 || x >= side || y >= side) continue;
        if (s == 2) own = k;
        A->col[k] = place[y * side + x];
        A->val[k] = s < 2 ? w->before : s > 2 ? w->after : w->own;
        if (s != 2) sum -= A->val[k];
        k++;
    }
    if (w->own == 0) A->val[own] = sum;
    for (int64_t a = A->row_ptr[row] + 1; a < k; a++) /* columns ascend */
        for (int64_t e = a; e > A->row_ptr[row] && A->col[e] < A->col[e - 1]; e--) {
            const int32_t c = A->col[e];
            const double v = A->val[e];
            A->col[e] = A->col[e - 1], A->col[e - 1] = c;
            A->val[e] = A->val[e - 1], A->val[e - 1] = v;
        }
}

static matrix grid_of(kry_type type, int side, const int32_t *place, const weights *w)
{
    const int64_t n = (int64_t)side * side;
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)(5 * n), sizeof *A.col);
    A.val = calloc((size_t)(5 * n), sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++)
            A.row_ptr[place[j * side + i] + 1] =
                1 + (i > 0) + (j > 0) + (i + 1 < side) + (j + 1 < side);
    for (int64_t i = 0; i < n; i++) A.row_ptr[i + 1] += A.row_ptr[i];
    A.nnz = A.row_ptr[n];
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) put_row(&A, side, place, i, j, w);
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] = to_type(type, A.val[k]);
    return A;
}

static kryi_csr pattern_of(const matrix *A)
{
    return (kryi_csr){ A->rows, A->cols, KRY_F64, A->row_ptr, A->col, NULL };
}

/* order[k]: the row that comes k-th; place: where each one goes. */
static int32_t *order_of(const matrix *A, int32_t *place)
{
    const kryi_csr pattern = pattern_of(A);
    int32_t *order = calloc((size_t)A->rows + 1, sizeof *order);
    kryi_csr graph;

    assert_non_null(order);
    OK(kryi_csr_graph(&pattern, &graph));
    OK(kryi_csr_rcm(&graph, order));
    for (int64_t i = 0; i < A->rows; i++) place[i] = -1;
    for (int64_t k = 0; k < A->rows; k++) {
        assert_in_range(order[k], 0, A->rows - 1);
        assert_int_equal(place[order[k]], -1);
        place[order[k]] = (int32_t)k;
    }
    kryi_csr_release(&graph);
    return order;
}

/* ---- the order --------------------------------------------------------------------------------- */

static int64_t length(int64_t row, int64_t rows, int64_t cols)
{
    (void)cols;
    return row == rows / 2 ? rows / 2 : row % 7 == 3 ? 0 : row % 4; /* isolated nodes, and a star */
}

static void rcm__any_graph(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 3, 64, 501 };

    for (size_t i = 0; i < COUNT(sizes); i++) {
        matrix A = matrix_create(KRY_F64, sizes[i], sizes[i], length);
        int32_t *place = calloc((size_t)A.rows, sizeof *place), *order, *again;
        assert_non_null(place);
        order = order_of(&A, place), again = order_of(&A, place);
        assert_memory_equal(order, again, (size_t)A.rows * sizeof *order);
        free(again), free(order), free(place);
        matrix_release(&A);
    }
    kryi_csr empty = { .row_ptr = (int64_t[]){ 0 } };
    OK(kryi_csr_rcm(&empty, NULL));
    assert_true(kryi_csr_mean_bandwidth(&empty, NULL) == 0);
}

/* A grid of N x N whose points are numbered at random: rows are no further apart than about N again. */
static void rcm__finds_the_lines_of_a_grid(void **state)
{
    (void)state;
    static const int sides[] = { 2, 9, 33 };

    for (size_t i = 0; i < COUNT(sides); i++) {
        const int64_t n = (int64_t)sides[i] * sides[i];
        int32_t *mixed = shuffled(n), *place = calloc((size_t)n, sizeof *place);
        matrix A = grid_of(KRY_F64, sides[i], mixed, &laplace);
        const kryi_csr pattern = pattern_of(&A);
        free(order_of(&A, place));
        int64_t widest = 0;
        for (int64_t r = 0; r < n; r++)
            for (int64_t k = A.row_ptr[r]; k < A.row_ptr[r + 1]; k++) {
                const int64_t distance = labs((long)place[r] - place[A.col[k]]);
                if (distance > widest) widest = distance;
            }
        assert_in_range(widest, 1, 2 * sides[i]);
        assert_true(kryi_csr_mean_bandwidth(&pattern, place) <= sides[i]);
        free(place), free(mixed);
        matrix_release(&A);
    }
}

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
    const kry_type type = op->shape.type;
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
    REFUSES(kry_solver_create(op, "reorder=rcm null-space=pin", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "null-space=pin");
    REFUSES(kry_solver_create(op, "reorder=rcm deflation=labels:none.mtx", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "sub-domains or modes of a file");
    REFUSES(kry_solver_create(op, "method=cg reorder=rcm", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "is not symmetric");
    char where[40]; /* in the numbers of the caller */
    snprintf(where, sizeof where, "entry (%lld, %lld)", (long long)op->found.row,
             (long long)op->found.col);
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
        cmocka_unit_test(rcm__any_graph),        cmocka_unit_test(rcm__finds_the_lines_of_a_grid),
        FOUR(solve__as_for_a_matrix_in_order),   BOTH(solve__fewer_iterations),
        BOTH(solve__in_the_order_of_the_caller), BOTH(solve__null_space),
        BOTH(solve__nodes_stay_together),        BOTH(create__refuses),
        cmocka_unit_test(solve__mixed),
    };
    return cmocka_run_group_tests_name("reorder", tests, keep_profile, restore_profile);
}
