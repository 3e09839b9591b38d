/* test_jobs.c - jobs that the library has ready: arithmetic, products, solves, dense matrices. */
#include "tasks.h"

static const int64_t sizes[] = { 0, 1, 7, 127, 129, 4097 };

static void jobs__arithmetic(void **state)
{
    kry_type type = type_of(state);
    kry_queue *q = queue_of(device());
    double alpha = random_number(type), beta = random_number(type);

    for (size_t s = 0; s < COUNT(sizes) && !too_large(sizes[s]); s++) {
        int64_t n = sizes[s];
        double *x = random_array(type, n), *y = random_array(type, n), number;
        void *hx = in_type(type, x, n), *hy = in_type(type, y, n);
        kry_task *tx = written(q, type, hx, n, NULL), *ty = written(q, type, hy, n, NULL), *t[4];
        long double norm = 0;

        OK(task_axpby(q, alpha, tx, beta, ty, &t[0]));
        OK(task_axpby(q, alpha, tx, beta, NULL, &t[1]));
        OK(task_copy(q, ty, &t[2]));
        OK(task_norm2(q, tx, &t[3]));
        double *got[3];
        for (int i = 0; i < 3; i++) got[i] = numbers_from(q, t[i], type, n);
        for (int64_t i = 0; i < n; i++) {
            long double ax = (long double)alpha * x[i], by = (long double)beta * y[i],
                        bound = 4 * eps_of(type) * (fabsl(ax) + fabsl(by));
            NEAR(got[0][i], ax + by, bound, "axpby %d of %d", (int)i, (int)n);
            NEAR(got[1][i], ax, bound, "scaled %d of %d", (int)i, (int)n);
            assert_true(got[2][i] == y[i]);
            norm += (long double)x[i] * x[i];
        }
        OK(kry_task_number(t[3], &number));
        NEAR(number, sqrtl(norm), 8 * (long double)(n + 1) * eps_of(acc_type()) * sqrtl(norm),
             "norm");
        for (int i = 0; i < 3; i++) free(got[i]);
        for (int i = 0; i < 4; i++) kry_task_release(&t[i]);
        kry_task_release(&tx);
        kry_task_release(&ty);
        free(x), free(y), free(hx), free(hy);
    }
    kry_queue_release(&q);
}

static int64_t three(int64_t row, int64_t rows, int64_t cols)
{
    (void)rows;
    (void)cols;
    return row % 4;
}

static void jobs__products(void **state)
{
    kry_type type = type_of(state);
    kry_queue *q = queue_of(device());
    matrix M = matrix_create(type, 301, 257, three);
    kry_op *A = csr_of(&M, type, NULL);
    double *x = random_array(type, M.cols), *b = random_array(type, M.rows), *got;
    void *hx = in_type(type, x, M.cols), *hb = in_type(type, b, M.rows);
    kry_task *tA = task_of(A), *tx = written(q, type, hx, M.cols, NULL),
             *tb = written(q, type, hb, M.rows, NULL), *t;
    long double magnitude;

    OK(kry_task_apply(q, tA, tx, &t));
    got = numbers_from(q, t, type, M.rows);
    for (int64_t i = 0; i < M.rows; i++) {
        long double want = row_times(&M, i, x, NULL, &magnitude);
        NEAR(got[i], want, row_bound(&M, i, type, magnitude), "row %d", (int)i);
    }
    free(got);
    kry_task_release(&t);
    OK(kry_task_apply(q, tA, tb, &t)); /* of another size */
    REFUSES(wait_for(t), KRY_ERR_SHAPE, "is 301-by-257, but x is 301-by-1");
    assert_null(kry_task_vec(t));
    assert_int_equal(kry_task_state(t), KRY_TASK_FAILED);
    kry_task_release(&t);
    kry_task_release(&tA), kry_task_release(&tx), kry_task_release(&tb);
    OK(kry_queue_finish(q));
    kry_op_release(&A);
    matrix_release(&M);
    free(x), free(b), free(hx), free(hb);
    kry_queue_release(&q);
}

static void jobs__solve(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p;
    kry_op *A = matrix_for(device(), type, "poisson2d:19", &p);
    kry_queue *q = queue_of(device());
    kry_task *tA = task_of(A), *b, *solver, *x, *again, *other;
    void *hb = in_type(type, p->rhs, p->n);
    kry_task_progress_info info;

    OK(kry_task_solver(q, tA, "method=pcg precond=jacobi rtol=1e-4", &solver));
    b = written(q, type, hb, p->n, NULL);
    OK(kry_task_solve(q, solver, b, NULL, &x));
    OK(kry_task_solve(q, solver, b, x, &again)); /* from its solution */
    OK(kry_task_solve(q, solver, x, NULL, &other));
    double *numbers = numbers_from(q, x, type, p->n);
    OK(wait_for(again));
    OK(wait_for(other));
    const kry_result *r = kry_task_result(x), *r2 = kry_task_result(again);
    assert_non_null(r);
    assert_int_equal(r->reason, KRY_CONVERGED);
    assert_int_equal(r2->reason, KRY_CONVERGED_GUESS);
    assert_int_equal(r->history_count, r->iterations + 1);
    assert_true(r->history[0] > r->history[r->iterations]);
    assert_ptr_not_equal(r->history, kry_task_result(other)->history);
    kry_task_progress(x, &info);
    assert_true(info.fraction == 1 && info.iteration == r->iterations &&
                info.residual <= info.target);
    check_solution(p, numbers, r);
    assert_null(kry_task_result(b));
    assert_null(kry_task_op(x));
    assert_non_null(kry_task_op(solver));
    free(numbers);
    kry_task_release(&tA), kry_task_release(&b), kry_task_release(&solver), kry_task_release(&x);
    kry_task_release(&again), kry_task_release(&other);
    kry_op_release(&A);
    kry_queue_release(&q);
    kry_problem_release(&p);
    free(hb);
}

/* A, P = A A, its factors and what they solve, and the inverse: by jobs of the caller's. */
static void jobs__dense(void **state)
{
    kry_type type = type_of(state);
    enum { N = 37 };
    kry_queue *q = queue_of(device());
    double *a = random_array(type, N * N), *got[3];
    for (int i = 0; i < N; i++) a[i * N + i] += 8;
    void *host = in_type(type, a, N * N);
    kry_task *A, *P, *lu, *X, *inverse, *all[3];

    OK(kry_task_write(q, KRY_HOST(.type = type, .n = N, .k = N, .numbers = host), &A));
    OK(dense_task(q, product_job, NULL, A, A, &P));
    OK(dense_task(q, factor_job, NULL, A, NULL, &lu));
    OK(dense_task(q, factors_solve_job, NULL, lu, P, &X)); /* A */
    OK(dense_task(q, inverse_job, NULL, A, NULL, &inverse));
    all[0] = P, all[1] = X, all[2] = inverse;
    for (int k = 0; k < 3; k++) got[k] = numbers_from(q, all[k], type, N * N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            long double AA = 0, AinvA = 0, bound = 1e4L * eps_of(type);
            for (int l = 0; l < N; l++) {
                AA += (long double)a[l * N + i] * a[j * N + l];
                AinvA += (long double)a[l * N + i] * got[2][j * N + l];
            }
            NEAR(got[0][j * N + i], AA, bound, "product");
            NEAR(got[1][j * N + i], a[j * N + i], bound, "solution");
            NEAR(AinvA, i == j, bound, "inverse");
        }
    for (int k = 0; k < 3; k++) free(got[k]), kry_task_release(&all[k]);
    kry_task_release(&A), kry_task_release(&lu);
    kry_queue_release(&q);
    free(a), free(host);
}

static void jobs__a_singular_matrix(void **state)
{
    (void)state;
    const float ones[4] = { 1, 1, 1, 1 };
    kry_queue *q = queue_of(device());
    kry_task *A, *lu, *X, *norm, *inverse;
    kry_lu_params strict = *KRY_LU(.tolerance = 1e-3); /* read by the thread of the queue */

    OK(kry_task_write(q, KRY_HOST(.type = KRY_F32, .n = 2, .k = 2, .numbers = ones), &A));
    OK(dense_task(q, factor_job, NULL, A, NULL, &lu));
    OK(dense_task(q, factors_solve_job, NULL, lu, A, &X));
    OK(task_norm2(q, X, &norm));
    OK(dense_task(q, inverse_job, &strict, A, NULL, &inverse));
    OK(wait_for(lu));
    REFUSES(wait_for(X), KRY_ERR_SINGULAR, "pivot");
    REFUSES(wait_for(norm), KRY_ERR_SINGULAR, "'norm2' was not run because 'lu_solve' failed: ");
    REFUSES(wait_for(inverse), KRY_ERR_SINGULAR, "pivot");
    kry_task_release(&A), kry_task_release(&lu), kry_task_release(&norm), kry_task_release(&X),
        kry_task_release(&inverse);
    kry_queue_release(&q);
}

static void jobs__solver_options_are_refused_by_name(void **state)
{
    (void)state;
    kry_problem *p;
    kry_op *A = matrix_for(device(), KRY_F32, "poisson2d:5", &p);
    kry_queue *q = queue_of(device());
    kry_task *tA = task_of(A), *solver, *x, *b = written(q, KRY_F32, p->rhs, p->n, NULL);

    OK(kry_task_solver(q, tA, "method=magic", &solver));
    OK(kry_task_solve(q, solver, b, NULL, &x));
    REFUSES(wait_for(solver), KRY_ERR_PARSE, "magic");
    REFUSES(wait_for(x), KRY_ERR_PARSE, "'solve' was not run because 'solver' failed: ");
    REFUSES(wait_for(x), KRY_ERR_PARSE, "magic");
    kry_task_release(&tA), kry_task_release(&solver), kry_task_release(&x), kry_task_release(&b);
    kry_op_release(&A);
    kry_queue_release(&q);
    kry_problem_release(&p);
}

/* Three columns: the second is zero, the third is the first one again. */
static void jobs__solve_of_several_columns(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p;
    kry_op *A = matrix_for(device(), type, "poisson2d:9", &p);
    kry_queue *q = queue_of(device());
    double *b = calloc((size_t)p->n, 3 * sizeof *b);
    kry_task *tA = task_of(A), *solver, *tb, *x, *wrong;

    memcpy(b, p->rhs, (size_t)p->n * sizeof *b);
    memcpy(b + 2 * p->n, p->rhs, (size_t)p->n * sizeof *b);
    void *hb = in_type(type, b, 3 * p->n);
    OK(kry_task_solver(q, tA, "rtol=1e-4", &solver));
    OK(kry_task_write(q, KRY_HOST(.type = type, .n = p->n, .k = 3, .numbers = hb), &tb));
    OK(kry_task_solve(q, solver, tb, NULL, &x));
    double *got = numbers_from(q, x, type, 3 * p->n);
    OK(wait_for(x));
    assert_int_equal(kry_task_result(x)->reason, KRY_CONVERGED); /* the last one's */
    check_solution(p, got, kry_task_result(x));
    for (int64_t i = 0; i < p->n; i++) {
        assert_true(got[p->n + i] == 0);
        assert_true(got[2 * p->n + i] == got[i]);
    }
    OK(task_axpby(q, 1, x, 0, NULL, &wrong)); /* of several columns, too */
    OK(wait_for(wrong));
    kry_task_release(&wrong), kry_task_release(&tb);
    tb = written(q, type, hb, p->n, NULL);
    OK(kry_task_solve(q, solver, tb, x, &wrong)); /* a guess of three */
    REFUSES(wait_for(wrong), KRY_ERR_SHAPE, "");
    kry_task_release(&wrong), kry_task_release(&tb), kry_task_release(&x),
        kry_task_release(&solver);
    kry_task_release(&tA);
    kry_op_release(&A);
    kry_queue_release(&q);
    kry_problem_release(&p);
    free(b), free(hb), free(got);
}

/* A solve that does not converge has a value, and others go on with it. */
static void jobs__a_solve_at_its_limit_has_a_value(void **state)
{
    (void)state;
    kry_problem *p;
    kry_op *A = matrix_for(device(), KRY_F32, "poisson2d:19", &p);
    kry_queue *q = queue_of(device());
    kry_task *tA = task_of(A), *solver, *b, *x, *norm;
    void *hb = in_type(KRY_F32, p->rhs, p->n);
    double number;

    OK(kry_task_solver(q, tA, "maxit=3", &solver));
    b = written(q, KRY_F32, hb, p->n, NULL);
    OK(kry_task_solve(q, solver, b, NULL, &x));
    OK(task_norm2(q, x, &norm));
    assert_int_equal(wait_for(x), KRY_NOT_CONVERGED);
    assert_int_equal(kry_task_state(x), KRY_TASK_DONE);
    assert_int_equal(kry_task_result(x)->iterations, 3);
    OK(kry_task_number(norm, &number));
    assert_true(number > 0);
    kry_task_release(&tA), kry_task_release(&solver), kry_task_release(&x), kry_task_release(&b);
    kry_task_release(&norm);
    kry_op_release(&A);
    kry_queue_release(&q);
    kry_problem_release(&p);
    free(hb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(jobs__arithmetic),
        BOTH(jobs__products),
        BOTH(jobs__solve),
        BOTH(jobs__solve_of_several_columns),
        BOTH(jobs__dense),
        cmocka_unit_test(jobs__a_singular_matrix),
        cmocka_unit_test(jobs__solver_options_are_refused_by_name),
        cmocka_unit_test(jobs__a_solve_at_its_limit_has_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
