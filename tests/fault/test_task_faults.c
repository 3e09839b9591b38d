/*
 * test_task_faults.c - the k-th OpenCL call fails, or the device is lost with it (sweep.h), in work
 * that is done in the background: tasks, what depends on them, batches, teams.
 */
#include "sweep.h"
#include "tasks.h"
#include "teams.h"
#include <kry/dense.h>

enum { N = 60, M = 12, JOBS = 9 };
static int64_t row_ptr[N + 1];
static int32_t col[3 * N];
static float val[3 * N], ones[N], dense[M * M];

static int setup(void **state)
{
    (void)state;
    int64_t k = 0;
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, k++)
            col[k] = j, val[k] = i == j ? 4 : -1;
        row_ptr[i + 1] = k;
    }
    for (int i = 0; i < M * M; i++) dense[i] = i % (M + 1) == 0 ? 4 : 1;
    return 0;
}

/* Of the tasks that were waited for the first that failed; then its message is the last error. */
static kry_status wait_for_all(kry_task *const *t, int count)
{
    kry_status first = KRY_OK;
    char told[400] = "";

    for (int i = 0; i < count; i++) {
        kry_status st = t[i] ? wait_for(t[i]) : KRY_OK;
        if (st >= 0 || first < 0) continue;
        first = st;
        snprintf(told, sizeof told, "%s", kry_last_error());
    }
    return first < 0 ? kry_fail(first, "%s", told) : KRY_OK;
}

/* ---- tasks that depend on each other ------------------------------------------------------ */

enum {
    RHS,
    MATRIX,
    SOLVER,
    X,
    AX,
    RESIDUAL,
    NORM,
    FAR,
    DENSE,
    LU,
    INVERSE,
    BLOCK,
    PRODUCT,
    READ,
    TASKS
};

static kry_status make_matrix(void *user, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;
    TRY(kry_csr_create(kry_queue_device(user), KRY_F32, N, N, row_ptr, col, val,
                       KRY_MATRIX(.traits = KRY_POSITIVE, .format = KRY_FORMAT_CSR), &A));
    kry_task_set_op(self, A);
done:
    kry_op_release(&A);
    return st;
}

static kry_status submit(kry_queue *q, kry_queue *far, float *read, kry_task **t)
{
    kry_status st = KRY_OK;
    TRY(kry_task_write(q, KRY_HOST(.type = KRY_F32, .n = N, .numbers = ones), &t[RHS]));
    TRY(kry_task_submit(q, KRY_JOB(.name = "matrix", .run = make_matrix, .user = q), NULL, 0,
                        &t[MATRIX]));
    TRY(kry_task_solver(q, t[MATRIX], "precond=jacobi rtol=1e-5 check-every=5", &t[SOLVER]));
    TRY(kry_task_solve(q, t[SOLVER], t[RHS], NULL, &t[X]));
    TRY(kry_task_apply(q, t[MATRIX], t[X], &t[AX]));
    TRY(task_axpby(q, -1, t[AX], 1, t[RHS], &t[RESIDUAL]));
    TRY(task_norm2(q, t[RESIDUAL], &t[NORM]));
    TRY(task_copy(far, t[X], &t[FAR]));
    TRY(kry_task_write(q, KRY_HOST(.type = KRY_F32, .n = M, .k = M, .numbers = dense), &t[DENSE]));
    TRY(dense_task(q, factor_job, NULL, t[DENSE], NULL, &t[LU]));
    TRY(dense_task(q, inverse_job, NULL, t[DENSE], NULL, &t[INVERSE]));
    TRY(dense_task(q, factors_solve_job, NULL, t[LU], t[DENSE], &t[BLOCK])); /* the unit matrix */
    TRY(dense_task(q, product_job, NULL, t[BLOCK], t[BLOCK], &t[PRODUCT]));
    TRY(kry_task_read(q, t[PRODUCT], read, &t[READ]));
done:
    return st;
}

/* On two devices, of which the other one has a copy. */
static kry_status run_tasks(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_device *other = NULL;
    kry_queue *q[2] = { NULL };
    kry_task *t[TASKS] = { NULL };
    float read[M * M] = { 0 };
    double norm = -1;

    (void)s;
    STEP(kry_device_open(NULL, &other), other);
    STEP(kry_queue_create(dev, NULL, &q[0]), q[0]);
    STEP(kry_queue_create(other, NULL, &q[1]), q[1]);
    st = submit(q[0], q[1], read, t);
    if (st >= 0) st = wait_for_all(t, TASKS);
    if (st >= 0) st = kry_task_number(t[NORM], &norm);
    *good = norm >= 0 && norm < 1e-3;
    for (int i = 0; i < M * M; i++) *good = *good && fabsf(read[i] - (i % (M + 1) == 0)) < 1e-4f;
done:
    for (int i = 0; i < 2; i++) kry_queue_release(&q[i]);
    for (int i = 0; i < TASKS; i++) kry_task_release(&t[i]);
    kry_device_release(&other);
    return st;
}

/* ---- batches ------------------------------------------------------------------------------ */

static kry_status run_batch(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_device *other = NULL;
    kry_queue *q[2] = { NULL };
    double norm[JOBS] = { 0 };

    (void)s;
    STEP(kry_device_open(NULL, &other), other);
    STEP(kry_queue_create(dev, NULL, &q[0]), q[0]);
    STEP(kry_queue_create(other, NULL, &q[1]), q[1]);
    TRY(kry_batch_run(
        KRY_JOBS(.queues = q, .count = 2, .jobs = JOBS, .run = norms_of_twos, .user = norm), NULL));
    *good = true;
    for (int i = 0; i < JOBS; i++) *good = *good && norm[i] == 6;
done:
    for (int i = 0; i < 2; i++) kry_queue_release(&q[i]);
    kry_device_release(&other);
    return st;
}

/* ---- a task on a team --------------------------------------------------------------------- */

static kry_status run_team_task(kry_device *team, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_queue *q = NULL;
    kry_task *t[4] = { NULL };

    (void)s;
    STEP(kry_queue_create(team, NULL, &q), q);
    TRY(kry_task_write(q, KRY_HOST(.type = KRY_F32, .n = N, .numbers = ones), &t[0]));
    TRY(kry_task_submit(q, KRY_JOB(.name = "matrix", .run = make_matrix, .user = q), NULL, 0,
                        &t[1]));
    TRY(kry_task_solver(q, t[1], "precond=jacobi rtol=1e-4 check-every=5", &t[2]));
    TRY(kry_task_solve(q, t[2], t[0], NULL, &t[3]));
    TRY(wait_for_all(t, 4));
    *good = kry_task_result(t[3]) && kry_task_result(t[3])->reason == KRY_CONVERGED;
done:
    kry_queue_release(&q);
    for (int i = 0; i < 4; i++) kry_task_release(&t[i]);
    return st;
}

/* ---- the sweeps --------------------------------------------------------------------------- */

static const scene scenes[] = {
    { .name = "tasks", .run = run_tasks },
    { .name = "batch", .run = run_batch },
};
static const scene on_team = { .name = "tasks of a team", .run = run_team_task };

static void on_all(void (*look)(kry_device *dev, const scene *s))
{
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    complaints = 0;
    for (size_t i = 0; i < COUNT(scenes); i++) look(device(), &scenes[i]);
    look(team, &on_team);
    close_team(&team);
    assert_int_equal(complaints, 0);
}

static void call__fails_in_the_background(void **state) { (void)state, on_all(sweep); }
static void device__lost_in_the_background(void **state) { (void)state, on_all(lose); }

/* A pattern chooses among the tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__fails_in_the_background),
        cmocka_unit_test(device__lost_in_the_background),
    };
    NEED_LAYER;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    limit_time();
    return cmocka_run_group_tests(tests, setup, close_device);
}
