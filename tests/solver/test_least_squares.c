/*
 * test_least_squares.c - LSQR and LSMR: rectangular and rank-deficient matrices, iterates against LSQR in plain C,
 * counts of iterations beside SciPy's, and what ends a solve.
 */
#include "teams.h"

static const char *const methods[] = { "lsqr", "lsmr" };

/* ---- problems -------------------------------------------------------------------------------- */

enum { SIDE = 16, NODES = SIDE * SIDE, EDGES = 2 * SIDE * (SIDE - 1) };

static void add_row(matrix *A, int64_t count, const int32_t *col, const double *val)
{
    for (int64_t k = 0; k < count; k++) A->col[A->nnz] = col[k], A->val[A->nnz++] = val[k];
    A->row_ptr[++A->rows] = A->nnz;
}

static void add_edge(matrix *A, int32_t a, int32_t b)
{
    const double w = 1 + (double)(A->rows * 7919 % 101) / 100;
    add_row(A, 2, (int32_t[]){ a, b }, (double[]){ -w, w });
}

/* Weighted differences along the edges of a grid, which maps constants to zero; behind them shift times I. */
static matrix differences(kry_type type, double shift)
{
    matrix A = { .cols = NODES };
    A.row_ptr = calloc(EDGES + NODES + 1, sizeof *A.row_ptr);
    A.col = calloc(2 * EDGES + NODES, sizeof *A.col);
    A.val = calloc(2 * EDGES + NODES, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int32_t a = 0; a < NODES; a++) {
        if (a % SIDE + 1 < SIDE) add_edge(&A, a, a + 1);
        if (a + SIDE < NODES) add_edge(&A, a, a + SIDE);
    }
    for (int32_t a = 0; shift != 0 && a < NODES; a++) add_row(&A, 1, &a, &shift);
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] = to_type(type, A.val[k]);
    return A;
}

static double *rhs_of(kry_type type, int64_t rows)
{
    double *b = calloc((size_t)rows + 1, sizeof *b);
    assert_non_null(b);
    for (int64_t e = 0; e < rows; e++)
        b[e] = to_type(type, (double)(e * 104729 % 1009) / 1009 - 0.5);
    return b;
}

static kry_op *op_of(const matrix *A, kry_type type)
{
    kry_op *op;
    void *val = in_type(type, A->val, A->nnz);
    OK(kry_csr_create(device(), type, A->rows, A->cols, A->row_ptr, A->col, val, NULL, &op));
    free(val);
    return op;
}

/* ---- solves ---------------------------------------------------------------------------------- */

typedef struct outcome {
    kry_status status;
    kry_result res;
    double *x, *history;     /* to be freed */
    double residual, normal; /* ||b - A x|| and ||A'(b - A x)||, in long double */
} outcome;

static void measure(const matrix *A, const double *b, outcome *o)
{
    long double *g = calloc((size_t)A->cols + 1, sizeof *g), m, rr = 0, gg = 0;
    assert_non_null(g);
    for (int64_t i = 0; i < A->rows; i++) {
        long double r = b[i] - row_times(A, i, o->x, NULL, &m);
        rr += r * r;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) g[A->col[k]] += A->val[k] * r;
    }
    for (int64_t j = 0; j < A->cols; j++) gg += g[j] * g[j];
    o->residual = (double)sqrtl(rr), o->normal = (double)sqrtl(gg);
    free(g);
}

static double frobenius(const matrix *A)
{
    double sum = 0;
    for (int64_t k = 0; k < A->nnz; k++) sum += A->val[k] * A->val[k];
    return sqrt(sum);
}

/* b and x start anywhere; x is a zero guess. */
static outcome solve(const matrix *A, kry_type type, const double *b, const char *words)
{
    outcome o = { .history = NULL };
    kry_op *op = op_of(A, type), *S;
    double *zero = calloc((size_t)A->cols + 1, sizeof *zero);
    guarded B = guarded_create(type, A->rows, 1, 3, b),
            X = guarded_create(type, A->cols, 1, 1, zero);

    OK(kry_solver_create(op, words, NULL, NULL, &S));
    o.status = kry_solve(S, B.v, X.v, &o.res);
    if (o.status < 0) fail_msg("%s: %s", words, kry_last_error());
    o.x = guarded_read(&X);
    o.history = calloc((size_t)o.res.history_count + 1, sizeof *o.history);
    assert_true(zero && o.history);
    for (int64_t k = 0; k < o.res.history_count; k++) o.history[k] = o.res.history[k];
    measure(A, b, &o);
    kry_op_release(&S);
    kry_op_release(&op);
    guarded_release(&B);
    guarded_release(&X);
    free(zero);
    return o;
}

static void outcome_release(outcome *o) { free(o->x), free(o->history); }

static const char *words_of(int method, const char *more)
{
    static char words[160];
    snprintf(words, sizeof words, "method=%s %s", methods[method], more);
    return words;
}

/* A least-squares solution of tolerance rtol, and the result says so. */
static void assert_minimises(const matrix *A, const outcome *o, double rtol, double rounding)
{
    assert_int_equal(o->status, KRY_OK);
    if (o->res.reason != KRY_CONVERGED_LEAST_SQUARES) fail_msg("%s", o->res.why);
    assert_non_null(strstr(o->res.why, "least-squares solution"));
    /* Vectors that are not orthogonal any more, those of large singular values first, are counted again. */
    const double least = (double)(A->rows < A->cols ? A->rows : A->cols);
    const double size = frobenius(A) * sqrt(1 + 3 * (double)o->res.iterations / least);
    assert_true(o->normal <= (1.001 * rtol + rounding) * size * o->residual);
    NEAR(o->res.true_residual, o->residual, rounding * o->res.norm_b, "residual");
}

/* ---- the recurrences --------------------------------------------------------------------------- */

static long double normalise(int64_t n, long double *v)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    sum = sqrtl(sum);
    for (int64_t i = 0; i < n && sum > 0; i++) v[i] /= sum;
    return sum;
}

/* u := A v - by u or, transposed, v := A'u - by v; normalised. Returns the norm. */
static long double bidiagonal(const matrix *A, bool transposed, long double by, long double *u,
                              long double *v)
{
    for (int64_t i = 0; i < A->rows && !transposed; i++) u[i] *= -by;
    for (int64_t j = 0; j < A->cols && transposed; j++) v[j] *= -by;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (transposed)
                v[A->col[k]] += A->val[k] * u[i];
            else
                u[i] += A->val[k] * v[A->col[k]];
    return transposed ? normalise(A->cols, v) : normalise(A->rows, u);
}

/* ||r|| of LSQR, section 4.1 of the paper. */
static void plain_lsqr(const matrix *A, const double *b, int steps, double *norm)
{
    long double *u = calloc((size_t)A->rows, sizeof *u), *v = calloc((size_t)A->cols, sizeof *v);
    assert_true(u && v);
    for (int64_t i = 0; i < A->rows; i++) u[i] = b[i];
    long double phibar = normalise(A->rows, u), alpha = bidiagonal(A, true, 0, u, v);
    long double rhobar = alpha;
    norm[0] = (double)phibar;
    for (int k = 1; k <= steps; k++) {
        const long double beta = bidiagonal(A, false, alpha, u, v);
        alpha = bidiagonal(A, true, beta, u, v);
        const long double rho = hypotl(rhobar, beta);
        phibar *= beta / rho, rhobar *= -alpha / rho;
        norm[k] = (double)phibar;
    }
    free(u), free(v);
}

static void lsqr_solve__follows_the_paper(void **state)
{
    kry_type type = type_of(state);
    enum { STEPS = 20 };
    matrix A[3] = { differences(type, 0), differences(type, 0.1) };
    double want[STEPS + 1];

    A[2] = transpose_of(&A[1]);
    for (int i = 0; i < 3; i++) {
        double *b = rhs_of(type, A[i].rows);
        plain_lsqr(&A[i], b, STEPS, want);
        outcome o = solve(&A[i], type, b, "method=lsqr maxit=20 stop=never");
        assert_int_equal(o.res.reason, KRY_ITERATIONS_DONE);
        assert_int_equal(o.res.history_count, STEPS + 1);
        for (int k = 0; k <= STEPS; k++)
            NEAR(o.history[k], want[k], (type == KRY_F32 ? 1e-4 : 1e-11) * want[0],
                 "matrix %d, iteration %d", i, k);
        NEAR(o.residual, want[STEPS], (type == KRY_F32 ? 1e-4 : 1e-11) * want[0], "x");
        outcome_release(&o);
        matrix_release(&A[i]);
        free(b);
    }
}

/* ||r|| by the recurrence is that of x, and falls. */
typedef struct eye {
    const matrix *A;
    const double *b;
    kry_vec *x;
    double last;
    int calls;
} eye;

static int look_at_x(void *user, const kry_iteration *it)
{
    eye *e = user;
    outcome o = { .x = numbers_of(e->x) };
    measure(e->A, e->b, &o);
    NEAR(it->residual, o.residual, (kry_vec_type(e->x) == KRY_F32 ? 1e-4 : 1e-12) * 10,
         "iteration %lld", (long long)it->iteration);
    assert_true(it->residual <= e->last * 1.00001);
    e->last = it->residual, e->calls++;
    free(o.x);
    return it->iteration >= 30;
}

static void solve__monitor_sees_each_iterate(void **state)
{
    kry_type type = type_of(state);
    matrix A = differences(type, 0.1);
    double *b = rhs_of(type, A.rows);

    for (int m = 0; m < 2; m++) {
        kry_op *op = op_of(&A, type), *S;
        kry_vec *B = vec_of(type, b, A.rows, 1), *X;
        OK(kry_vec_create(device(), type, A.cols, 1, &X));
        eye e = { &A, b, X, INFINITY, 0 };
        OK(kry_solver_create(op, words_of(m, "check-every=3"), look_at_x, &e, &S));
        assert_int_equal(kry_solve(S, B, X, NULL), KRY_STOPPED);
        assert_int_equal(e.calls, 11);
        kry_op_release(&S);
        kry_op_release(&op);
        kry_vec_release(&B);
        kry_vec_release(&X);
    }
    matrix_release(&A);
    free(b);
}

/* ---- how it ends ------------------------------------------------------------------------------- */

/* SciPy 1.10.1, lsqr and lsmr with conlim = 0: atol = tol, btol = 0 where no x solves A x = b, else atol = 0,
 * btol = tol. */
static void solve__iterations_of_scipy(void **state)
{
    (void)state;
    static const struct {
        int matrix; /* differences; shifted; the transpose of these */
        double rtol;
        int want[2];
    } golden[] = {
        { 0, 1e-6, { 61, 55 } },    { 0, 1e-10, { 89, 89 } }, { 1, 1e-6, { 73, 68 } },
        { 1, 1e-10, { 102, 101 } }, { 2, 1e-6, { 86, 87 } },  { 2, 1e-10, { 110, 110 } }
    };
    matrix A[3] = { differences(KRY_F64, 0), differences(KRY_F64, 0.1) };

    if (acc_type() != KRY_F64) SKIP("no double");
    A[2] = transpose_of(&A[1]);
    for (size_t i = 0; i < COUNT(golden); i++)
        for (int m = 0; m < 2; m++) {
            const matrix *G = &A[golden[i].matrix];
            double *b = rhs_of(KRY_F64, G->rows);
            char more[32];
            snprintf(more, sizeof more, "rtol=%g", golden[i].rtol);
            outcome o = solve(G, KRY_F64, b, words_of(m, more));
            NEAR(o.res.iterations, golden[i].want[m], 0.02 * golden[i].want[m], "case %d, %s",
                 (int)i, methods[m]);
            if (golden[i].matrix == 2)
                assert_int_equal(o.res.reason, KRY_CONVERGED);
            else
                assert_minimises(G, &o, golden[i].rtol, 1e-14);
            outcome_release(&o);
            free(b);
        }
    for (int i = 0; i < 3; i++) matrix_release(&A[i]);
}

static int64_t short_rows(int64_t row, int64_t rows, int64_t cols)
{
    (void)rows;
    return row % 5 == 3 ? 0 : 1 + row % (cols < 7 ? cols : 7);
}

/* Any shape, with empty rows; b in the range of A and not. */
static void solve__shapes(void **state)
{
    kry_type type = type_of(state);
    static const int64_t shape[][2] = { { 1, 1 },     { 7, 1 },     { 1, 7 },
                                        { 2, 3 },     { 63, 64 },   { 65, 63 },
                                        { 257, 129 }, { 90, 1100 }, { 1100, 90 } };
    const double rtol = type == KRY_F32 ? 1e-4 : 1e-7, rounding = type == KRY_F32 ? 1e-5 : 1e-13;

    for (size_t i = 0; i < COUNT(shape); i++)
        for (int m = 0; m < 2; m++)
            for (int consistent = 0; consistent < 2; consistent++) {
                matrix A = matrix_create(type, shape[i][0], shape[i][1], short_rows);
                double *x = random_array(type, A.cols), *b = random_array(type, A.rows);
                long double size;
                for (int64_t r = 0; r < A.rows && consistent; r++)
                    b[r] = to_type(type, (double)row_times(&A, r, x, NULL, &size));
                char more[64];
                snprintf(more, sizeof more, "rtol=%g maxit=20000", rtol);
                outcome o = solve(&A, type, b, words_of(m, more));
                if (o.res.reason == KRY_CONVERGED)
                    assert_true(o.residual <= (1.001 * rtol + rounding) * o.res.norm_b);
                else
                    assert_minimises(&A, &o, rtol, rounding);
                outcome_release(&o);
                free(x), free(b);
                matrix_release(&A);
            }
}

/* From a zero guess it is the solution of least norm, which has no part along the null space. */
static void solve__rank_deficient(void **state)
{
    kry_type type = type_of(state);
    matrix A = differences(type, 0);
    double *b = rhs_of(type, A.rows);

    for (int m = 0; m < 2; m++) {
        double sum = 0, size = 0;
        outcome o = solve(&A, type, b, words_of(m, "rtol=1e-5"));
        assert_minimises(&A, &o, 1e-5, 1e-6);
        for (int64_t j = 0; j < A.cols; j++) sum += o.x[j], size += fabs(o.x[j]);
        NEAR(sum, 0, (type == KRY_F32 ? 1e-5 : 1e-13) * size, "%s", methods[m]);
        outcome_release(&o);
    }
    matrix_release(&A);
    free(b);
}

/* b = 0; a b that A' maps to zero; the solution as a guess; a limit; no rtol; new numbers. */
static void solve__other_ends(void **state)
{
    kry_type type = type_of(state);
    matrix A = { .cols = 2 };
    int64_t row_ptr[4] = { 0 };
    int32_t col[3];
    double val[3], x[2] = { 0 };
    A.row_ptr = row_ptr, A.col = col, A.val = val;
    for (int32_t j = 0; j < 2; j++) add_row(&A, 1, &j, (double[]){ 2 });
    add_row(&A, 1, (int32_t[]){ 0 }, (double[]){ 0 });
    void *twice = in_type(type, (double[]){ 4, 4, 0 }, 3);
    kry_result res;

    for (int m = 0; m < 2; m++) {
        kry_op *op = op_of(&A, type), *S;
        OK(kry_solver_create(op, words_of(m, "rtol=1e-5"), NULL, NULL, &S));
        x[0] = 1;
        OK(kry_solve_host(S, (double[]){ 0, 0, 0 }, x, &res));
        assert_int_equal(res.reason, KRY_CONVERGED_ZERO);
        assert_true(x[0] == 0);
        OK(kry_solve_host(S, (double[]){ 0, 0, 5 }, x, &res));
        assert_int_equal(res.reason, KRY_CONVERGED_LEAST_SQUARES);
        assert_int_equal(res.iterations, 0);
        OK(kry_solve_host(S, (double[]){ 2, 4, 0 }, x, &res));
        assert_int_equal(res.reason, KRY_CONVERGED);
        OK(kry_solve_host(S, (double[]){ 2, 4, 0 }, x, &res));
        assert_int_equal(res.reason, KRY_CONVERGED_GUESS);
        NEAR(x[1], 2, 1e-5, "x");
        OK(kry_op_update(op, twice));
        OK(kry_op_update(S, NULL));
        OK(kry_solve_host(S, (double[]){ 2, 4, 3 }, x, &res));
        assert_int_equal(res.reason, KRY_CONVERGED_LEAST_SQUARES);
        NEAR(x[1], 1, 1e-5, "x of the new numbers");
        NEAR(res.true_residual, 3, 1e-5, "what no x changes");
        kry_op_release(&S);
        kry_op_release(&op);
    }
    free(twice);
    A = differences(type, 0);
    double *b = rhs_of(type, A.rows);
    for (int m = 0; m < 2; m++) {
        outcome o = solve(&A, type, b, words_of(m, "maxit=7"));
        assert_int_equal(o.res.reason, KRY_ITERATION_LIMIT);
        assert_int_equal(o.res.iterations, 7);
        outcome_release(&o);
        o = solve(&A, type, b, words_of(m, "atol=1e-3 maxit=300"));
        assert_int_equal(o.status != KRY_OK, 1); /* only ||r|| is looked at */
        outcome_release(&o);
    }
    matrix_release(&A);
    free(b);
}

/* ---- square matrices, numbers of any size ----------------------------------------------------------- */

/* The 5-point matrix of SIDE x SIDE, the first `large` diagonal entries 1e12 or in single 1e6. */
static matrix five_points(kry_type type, int64_t large)
{
    matrix A = { .cols = NODES };
    A.row_ptr = calloc(NODES + 1, sizeof *A.row_ptr);
    A.col = calloc(5 * NODES, sizeof *A.col);
    A.val = calloc(5 * NODES, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int32_t a = 0; a < NODES; a++) {
        const int32_t near[] = { a - SIDE, a - 1, a, a + 1, a + SIDE };
        const bool in[] = { a >= SIDE, a % SIDE > 0, true, a % SIDE + 1 < SIDE, a + SIDE < NODES };
        int32_t col[5];
        double val[5];
        int64_t count = 0;
        for (int k = 0; k < 5; k++) {
            if (!in[k]) continue;
            const double diagonal = a < large ? (type == KRY_F32 ? 1e15 : 1e30) : 4;
            col[count] = near[k], val[count++] = k == 2 ? diagonal : -1;
        }
        add_row(&A, count, col, val);
    }
    return A;
}

/* A regular A is solved with its columns scaled, and without that nothing is called a solution that is none. */
static void solve__square(void **state)
{
    kry_type type = type_of(state);
    matrix A = five_points(type, SIDE);
    double *b = rhs_of(type, NODES);

    for (int m = 0; m < 2; m++) {
        outcome o = solve(&A, type, b, words_of(m, "rtol=1e-4"));
        assert_int_equal(o.status, KRY_OK);
        assert_int_equal(o.res.reason, KRY_CONVERGED);
        assert_true(o.residual <= 1.01e-4 * o.res.norm_b);
        outcome_release(&o);
        o = solve(&A, type, b, words_of(m, "rtol=1e-4 precond=none"));
        assert_true(o.status > 0 && o.residual > 0.1 * o.res.norm_b);
        assert_int_equal(o.res.reason, KRY_INCONSISTENT);
        assert_non_null(strstr(o.res.why, "a smaller rtol"));
        outcome_release(&o);
    }
    matrix_release(&A);
    free(b);
}

/* Rows and columns of zero sum, and b = 1, which A' maps to zero. */
static void solve__orthogonal_to_the_range(void **state)
{
    kry_type type = type_of(state);
    matrix A = five_points(type, 0);
    double b[NODES];

    for (int64_t i = 0; i < NODES; i++) {
        double sum = 0;
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            sum += A.col[k] == i ? 0 : A.val[k];
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            if (A.col[k] == i) A.val[k] = -sum;
        b[i] = 1;
    }
    for (int m = 0; m < 2; m++) {
        outcome o = solve(&A, type, b, words_of(m, "rtol=1e-4"));
        assert_int_equal(o.res.reason, KRY_CONVERGED_LEAST_SQUARES);
        NEAR(o.residual, SIDE, 1e-5, "what no x changes");
        outcome_release(&o);
    }
    matrix_release(&A);
}

/* A multiple of A whose squares neither a device nor the host can hold is solved all the same: two diagonals, and one
 * unknown. */
static void solve__any_size(void **state)
{
    kry_type type = type_of(state);
    enum { N = 20 };
    static const char *const preconds[] = { "precond=none rtol=1e-4", "rtol=1e-4" };

    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 8; k++) {
            const double size = type == KRY_F64 ? (k & 1 ? 1e160 : 1e-170) : (k & 1 ? 1e17 : 1e-22);
            const int n = k & 2 ? 1 : N;
            int64_t row_ptr[N + 1] = { 0 };
            int32_t col[2 * N];
            double val[2 * N];
            matrix A = { .cols = n, .row_ptr = row_ptr, .col = col, .val = val };
            for (int32_t i = 0; i < n; i++)
                add_row(&A, i + 1 < n ? 2 : 1, (int32_t[]){ i, i + 1 },
                        (double[]){ to_type(type, 2 * size), to_type(type, -size) });
            double *b = rhs_of(type, n);
            outcome o = solve(&A, type, b, words_of(m, preconds[k >> 2]));
            if (o.status) fail_msg("%s, %g: %s", methods[m], size, o.res.why);
            assert_true(o.residual <= 1.01e-4 * o.res.norm_b);
            outcome_release(&o);
            free(b);
        }
}

/* ---- the condition number --------------------------------------------------------------------------- */

/* What LSMR's paper takes for it after so many steps: the largest over the smallest diagonal entry of the triangle that is
 * left of the transpose of the triangle that is left of the bidiagonal matrix. */
static double plain_condition(const matrix *A, const double *b, int steps)
{
    long double *u = calloc((size_t)A->rows, sizeof *u), *v = calloc((size_t)A->cols, sizeof *v);
    assert_true(u && v);
    for (int64_t i = 0; i < A->rows; i++) u[i] = b[i];
    (void)normalise(A->rows, u);
    long double alphabar = bidiagonal(A, true, 0, u, v), alpha = alphabar;
    long double last = 0, above = 0, largest = 0, least = INFINITY; /* last: not yet rotated */
    for (int k = 1; k <= steps; k++) {
        const long double beta = bidiagonal(A, false, alpha, u, v);
        alpha = bidiagonal(A, true, beta, u, v);
        const long double rho = hypotl(alphabar, beta), theta = beta / rho * alpha;
        alphabar *= alpha / rho;
        if (k > 1) { /* the rotation of the column before */
            const long double done = hypotl(last, above);
            largest = fmaxl(largest, done), least = fminl(least, done);
            last = last / done * rho;
        } else {
            last = rho;
        }
        above = theta;
    }
    largest = fmaxl(largest, last), least = fminl(least, last);
    free(u), free(v);
    return (double)(largest / least);
}

static void solve__condition_follows_the_paper(void **state)
{
    kry_type type = type_of(state);
    matrix A[2] = { differences(type, 0), differences(type, 0.1) };

    for (int i = 0; i < 4; i++) {
        const int steps = i < 2 ? 1 : 12;
        double *b = rhs_of(type, A[i % 2].rows);
        for (int m = 0; m < 2; m++) {
            char more[60];
            snprintf(more, sizeof more, "stop=never maxit=%d", steps);
            outcome o = solve(&A[i % 2], type, b, words_of(m, more));
            const double want = plain_condition(&A[i % 2], b, steps);
            NEAR(o.res.condition, want, (type == KRY_F32 ? 1e-3 : 1e-9) * want, "%s, %d steps",
                 methods[m], steps);
            outcome_release(&o);
        }
        free(b);
    }
    for (int i = 0; i < 2; i++) matrix_release(&A[i]);
}

/* A := (I - 2 u u') D (I - 2 v v') with random u and v and D from 1 down to 1 / condition. */
static matrix with_condition(kry_type type, int64_t rows, int64_t cols, double condition)
{
    matrix A = { rows,
                 cols,
                 rows * cols,
                 calloc((size_t)rows + 1, sizeof *A.row_ptr),
                 calloc((size_t)(rows * cols), sizeof *A.col),
                 calloc((size_t)(rows * cols), sizeof *A.val) };
    long double u[64], v[64];

    assert_true(A.row_ptr && A.col && A.val && rows <= 64 && cols <= rows);
    for (int64_t i = 0; i < rows; i++) u[i] = random_number(KRY_F64);
    for (int64_t j = 0; j < cols; j++) v[j] = random_number(KRY_F64);
    (void)normalise(rows, u), (void)normalise(cols, v);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            long double sum = 0;
            for (int64_t k = 0; k < cols; k++)
                sum += ((i == k) - 2 * u[i] * u[k]) *
                       powl(condition, -(long double)k / (cols - 1)) * ((j == k) - 2 * v[j] * v[k]);
            A.col[i * cols + j] = (int32_t)j, A.val[i * cols + j] = to_type(type, (double)sum);
        }
        A.row_ptr[i + 1] = (i + 1) * cols;
    }
    return A;
}

/* Singular values that are known; a limit that is met ends the solve, one that is not changes nothing. */
static void solve__condition_limit(void **state)
{
    kry_type type = type_of(state);

    for (int i = 0; i < 4; i++) {
        const double condition = type == KRY_F32 ? 20 << i : 30 * pow(10, i);
        const int64_t cols = 16 + random_below(8);
        matrix A = with_condition(type, cols + (i % 2 ? 20 : 3), cols, condition);
        double *b = random_array(type, A.rows);
        for (int m = 0; m < 2; m++) {
            char more[100];
            const char *rtol = type == KRY_F32 ? "rtol=1e-5" : "rtol=1e-11";
            snprintf(more, sizeof more, "%s maxit=2000 precond=none", rtol);
            outcome o = solve(&A, type, b, words_of(m, more));
            assert_int_equal(o.status, KRY_OK);
            NEAR(log(o.res.condition / condition), 0, log(100), "case %d, %s", i, methods[m]);
            assert_true(o.res.norm_A >= 0.99 && o.res.norm_A < 30);
            const double estimate = o.res.condition;
            const int64_t iterations = o.res.iterations;
            outcome_release(&o);
            snprintf(more, sizeof more, "%s maxit=2000 precond=none conlim=%g", rtol,
                     1000 * condition);
            o = solve(&A, type, b, words_of(m, more));
            assert_int_equal(o.status, KRY_OK);
            assert_int_equal(o.res.iterations, iterations);
            outcome_release(&o);
            snprintf(more, sizeof more, "%s maxit=2000 precond=none conlim=%g", rtol, estimate / 4);
            o = solve(&A, type, b, words_of(m, more));
            assert_int_equal(o.status, KRY_NOT_CONVERGED);
            assert_int_equal(o.res.reason, KRY_ILL_CONDITIONED);
            assert_non_null(strstr(o.res.why, "above conlim"));
            assert_true(o.res.condition > estimate / 4 && o.res.iterations < iterations);
            NEAR(o.res.true_residual, o.residual, 1e-4 * o.res.norm_b, "the residual");
            outcome_release(&o);
        }
        free(b);
        matrix_release(&A);
    }
}

/* ---- preconditioners, refusals ------------------------------------------------------------------ */

static kry_status scale(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_vec_mul(alpha, self, x, beta, y);
}

static kry_status copy(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(alpha, x, beta, y);
}

/* Columns of very different size, and what makes them alike again. */
static void solve__preconditioner(void **state)
{
    kry_type type = type_of(state);
    static const kry_op_table table = { sizeof table, "scale", .apply = scale };
    matrix A = differences(type, 0.1);
    double *b = rhs_of(type, A.rows), by[NODES];

    for (int64_t j = 0; j < A.cols; j++) by[j] = ldexp(1, (int)(j % 12));
    for (int m = 0; m < 2; m++) {
        outcome plain = solve(&A, type, b, words_of(m, "rtol=1e-5"));
        matrix B = differences(type, 0.1);
        for (int64_t k = 0; k < B.nnz; k++) B.val[k] /= by[B.col[k]];
        kry_op *op = op_of(&B, type), *N, *S;
        kry_vec *d = vec_of(type, by, A.cols, 1), *rhs = vec_of(type, b, A.rows, 1), *x;
        kry_result res;
        const kry_op_shape shape = { A.cols, A.cols, type, KRY_SYMMETRIC };
        OK(kry_op_create(device(), &table, d, &shape, &N));
        OK(kry_vec_create(device(), type, A.cols, 1, &x));
        OK(kry_krylov_create(op, methods[m], KRY_PCG(.precond = N, .stop = { .rtol = 1e-5 }), &S));
        OK(kry_solve(S, rhs, x, &res));
        assert_int_equal(res.reason, KRY_CONVERGED_LEAST_SQUARES);
        NEAR(res.iterations, plain.res.iterations, 2, "iterations");
        double *got = numbers_of(x);
        for (int64_t j = 0; j < A.cols; j++)
            NEAR(got[j] / by[j], plain.x[j], 1e-3, "x[%lld]", (long long)j);
        free(got);
        kry_op_release(&S);
        kry_op_release(&N);
        kry_op_release(&op);
        kry_vec_release(&d);
        kry_vec_release(&rhs);
        kry_vec_release(&x);
        matrix_release(&B);
        outcome_release(&plain);
    }
    matrix_release(&A);
    free(b);
}

/* precond=columns: the lengths of the columns, of any shape; after an update those of the new numbers. */
static void column_scaling__lengths(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 90, 131, short_rows);
    double *ones = calloc(131, sizeof *ones);
    kry_op *op = op_of(&A, type), *N;
    kry_op_info info;
    assert_non_null(ones);
    for (int j = 0; j < 131; j++) ones[j] = 1;
    kry_vec *x = vec_of(type, ones, 131, 1), *y = vec_of(type, ones, 131, 1);

    OK(kry_column_scaling_create(op, &N));
    kry_op_describe(N, &info);
    assert_string_equal(info.kind, "columns");
    for (int update = 0; update < 2; update++) {
        double size[131] = { 0 };
        if (update) {
            for (int64_t k = 0; k < A.nnz; k++) A.val[k] = random_number(type);
            void *val = in_type(type, A.val, A.nnz);
            OK(kry_op_update(op, val));
            OK(kry_op_update(N, NULL));
            free(val);
        }
        for (int64_t k = 0; k < A.nnz; k++) size[A.col[k]] += A.val[k] * A.val[k];
        OK(kry_op_apply_transpose(N, 1, x, 0, y));
        double *got = numbers_of(y);
        for (int j = 0; j < 131; j++) {
            const double want = size[j] > 0 ? 1 / sqrt(size[j]) : 1;
            NEAR(got[j], want, 4 * (double)eps_of(type) * want, "column %d", j);
        }
        free(got);
    }
    kry_op_release(&N);
    kry_op_release(&op);
    kry_vec_release(&x);
    kry_vec_release(&y);
    free(ones);
    matrix_release(&A);
}

/* It takes columns of very different lengths for what they are. */
static void column_scaling__fewer_iterations(void **state)
{
    kry_type type = type_of(state);
    matrix A = differences(type, 0.1);
    double *b = rhs_of(type, A.rows);

    for (int64_t k = 0; k < A.nnz; k++) A.val[k] *= ldexp(1, A.col[k] % 8);
    for (int m = 0; m < 2; m++) {
        outcome plain = solve(&A, type, b, words_of(m, "rtol=1e-4 maxit=3000")),
                scaled = solve(&A, type, b, words_of(m, "rtol=1e-4 precond=columns"));
        assert_int_equal(scaled.res.reason, KRY_CONVERGED_LEAST_SQUARES);
        assert_true(scaled.res.iterations < plain.res.iterations / 2);
        assert_true(scaled.residual <= plain.residual * 1.001);
        outcome_release(&plain);
        outcome_release(&scaled);
    }
    matrix_release(&A);
    free(b);
}

static void create__refuses(void **state)
{
    kry_type type = type_of(state);
    static const kry_op_table table = { sizeof table, "copy", .apply = copy };
    matrix A = differences(type, 0);
    kry_op *op = op_of(&A, type), *M, *S;
    kry_op_shape shape = { NODES, NODES, type, 0 };
    kry_vec *x, *y;

    for (int m = 0; m < 2; m++) {
        const char *who = methods[m];
        REFUSES(kry_solver_create(op, words_of(m, "deflation=stripes:2"), NULL, NULL, &S),
                KRY_ERR_SHAPE, "256");
        REFUSES(kry_solver_create(op, words_of(m, "stop=backward"), NULL, NULL, &S),
                KRY_ERR_UNSUPPORTED, "no stop=backward");
        REFUSES(kry_solver_create(op, words_of(m, "conlim=1"), NULL, NULL, &S), KRY_ERR_ARGUMENT,
                "conlim = 1 is not in (1, inf)");
        REFUSES(kry_solver_create(op, words_of(m, "stop=never maxit=9 conlim=9"), NULL, NULL, &S),
                KRY_ERR_ARGUMENT, "conlim = 9 ends a solve");
        REFUSES(kry_solver_create(op, words_of(m, "precision=mixed"), NULL, NULL, &S),
                KRY_ERR_UNSUPPORTED, "not for mixed precision");
        OK(kry_op_create(device(), &table, NULL, &shape, &M));
        REFUSES(kry_krylov_create(op, who, KRY_PCG(.precond = M), &S), KRY_ERR_UNSUPPORTED,
                "'copy' does not offer");
        REFUSES(kry_krylov_create(M, who, NULL, &S), KRY_ERR_UNSUPPORTED, "'copy' does not offer");
        kry_op_release(&M);
        shape.rows = shape.cols = EDGES;
        OK(kry_op_create(device(), &table, NULL, &shape, &M));
        REFUSES(kry_krylov_create(op, who, KRY_PCG(.precond = M), &S), KRY_ERR_SHAPE,
                "A has 256 columns, the preconditioner 'copy' is 480-by-480");
        kry_op_release(&M);
        shape.rows = shape.cols = NODES;
        OK(kry_krylov_create(op, who, NULL, &S));
        OK(kry_vec_create(device(), type, NODES, 1, &x));
        OK(kry_vec_create(device(), type, EDGES, 1, &y));
        REFUSES(kry_op_apply(S, 1, x, 0, y), KRY_ERR_SHAPE, "kry_solve takes b and x");
        REFUSES(kry_solver_set_stop(S, &(kry_stop){ .test = KRY_STOP_BACKWARD }),
                KRY_ERR_UNSUPPORTED, "no stop=backward");
        kry_vec_release(&x);
        kry_vec_release(&y);
        kry_op_release(&S);
    }
    REFUSES(kry_solver_create(op, "method=gmres", NULL, NULL, &S), KRY_ERR_SHAPE, "480-by-256");
    const int64_t row_ptr[] = { 0, 2, 3 };
    const int32_t col[] = { 0, 1, 1 };
    void *val = in_type(type, (double[]){ 1, 2, 3 }, 3);
    OK(kry_csr_create(device(), type, 2, 2, row_ptr, col, val, KRY_MATRIX(.traits = KRY_SYMMETRIC),
                      &M));
    REFUSES(kry_krylov_create(M, "lsqr", NULL, &S), KRY_ERR_UNSUPPORTED, "is not symmetric");
    kry_op_release(&M);
    free(val);
    kry_op_release(&op);
    matrix_release(&A);
}

static void create__on_a_team(void **state)
{
    kry_type type = type_of(state);
    const int64_t row_ptr[] = { 0, 2, 3 };
    const int32_t col[] = { 0, 1, 1 };
    void *val = in_type(type, (double[]){ 1, 2, 3 }, 3);
    kry_device *team = open_team(2, (kry_team_params){ .reproducible = false });
    kry_op *A, *S;

    OK(kry_csr_create(team, type, 2, 2, row_ptr, col, val, NULL, &A));
    REFUSES(kry_krylov_create(A, "lsqr", NULL, &S), KRY_ERR_UNSUPPORTED,
            "method 'lsqr' is for one device, and this is a team of 2");
    REFUSES(kry_column_scaling_create(A, &S), KRY_ERR_UNSUPPORTED, "a team of 2");
    kry_op_release(&A);
    close_team(&team);
    free(val);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOUR(lsqr_solve__follows_the_paper),
        FOUR(solve__monitor_sees_each_iterate),
        cmocka_unit_test(solve__iterations_of_scipy),
        BOTH(solve__shapes),
        BOTH(solve__rank_deficient),
        BOTH(solve__other_ends),
        BOTH(solve__square),
        BOTH(solve__orthogonal_to_the_range),
        BOTH(solve__any_size),
        FOUR(solve__condition_follows_the_paper),
        BOTH(solve__condition_limit),
        BOTH(solve__preconditioner),
        BOTH(column_scaling__lengths),
        BOTH(column_scaling__fewer_iterations),
        BOTH(create__refuses),
        BOTH(create__on_a_team),
    };
    return cmocka_run_group_tests_name("least_squares", tests, keep_profile, restore_profile);
}
