/* test_task.c - work in the background: queues, handles, what travels along them. */
#include "tasks.h"
#include <kry/opencl.h>
#include <stdatomic.h>

/* ---- queues ---- */

static void queue__one_for_each_device(void **state)
{
    (void)state;
    kry_queue *a = queue_of(device()), *b = queue_of(device()), *h = queue_of(NULL),
              *g = queue_of(NULL);
    kry_device *other = another_device();
    kry_queue *c = queue_of(other);

    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_ptr_not_equal(g, h);
    assert_ptr_equal(kry_queue_device(a), device());
    assert_null(kry_queue_device(h));
    assert_string_equal(kry_queue_name(h), "host");
    kry_queue_release(&a);
    assert_null(a);
    kry_queue_release(&a); /* of NULL */
    OK(kry_queue_finish(b));
    kry_queue_release(&b);
    a = queue_of(device()); /* another one */
    kry_queue_release(&a);
    kry_queue_release(&h);
    kry_queue_release(&g);
    kry_device_release(&other); /* the queue keeps it */
    OK(kry_queue_finish(c));
    kry_queue_release(&c);
}

static void task__bad_input(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device()), *h = queue_of(NULL);
    kry_task *t = (kry_task *)1, *inputs[] = { NULL };
    kry_vec *v;
    bool ended;

    REFUSES(kry_task_submit(q, KRY_JOB(.name = "empty"), NULL, 0, &t), KRY_ERR_ARGUMENT,
            "'empty' has no run");
    assert_null(t);
    REFUSES(kry_task_submit(q, KRY_JOB(.run = nothing), inputs, 1, &t), KRY_ERR_ARGUMENT,
            "input 0 of 'job' is NULL");
    REFUSES(kry_task_submit(NULL, KRY_JOB(.run = nothing), NULL, 0, &t), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_task_submit(q, &(kry_job){ .run = nothing }, NULL, 0, &t), KRY_ERR_ARGUMENT,
            "KRY_JOB");
    REFUSES(kry_task_solver(q, NULL, "", &t), KRY_ERR_ARGUMENT, "kry_task_solver: input 0 is NULL");
    REFUSES(kry_task_of_vec(NULL, &t), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_task_of_op(NULL, &t), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_task_wait(NULL), KRY_ERR_ARGUMENT, "kry_task_wait: task is NULL");
    REFUSES(kry_task_wait_for(NULL, 1, &ended), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_queue_finish(NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_task_write(q, NULL, &t), KRY_ERR_ARGUMENT, "kry_task_write");
    REFUSES(kry_task_write(q, KRY_HOST(.type = 7, .n = 1, .numbers = inputs), &t), KRY_ERR_ARGUMENT,
            "7 is not a number type");
    REFUSES(kry_task_write(q, KRY_HOST(.type = KRY_F32, .n = 2), &t), KRY_ERR_ARGUMENT,
            "the numbers are NULL");
    REFUSES(kry_task_write(q, KRY_HOST(.type = KRY_F32, .n = -2, .numbers = inputs), &t),
            KRY_ERR_ARGUMENT, "-2-by-0");
    OK(kry_vec_create(device(), KRY_F32, 3, 1, &v));
    inputs[0] = task_with(v);
    REFUSES(kry_task_solver(h, inputs[0], "", &t), KRY_ERR_ARGUMENT,
            "the queue 'host' belongs to the host");
    REFUSES(kry_task_number(inputs[0], &(double){ 0 }), KRY_ERR_TYPE, "'vec' gives no number");
    OK(kry_task_solve(q, inputs[0], inputs[0], NULL, &t));
    REFUSES(wait_for(t), KRY_ERR_TYPE,
            "'solve' wants an operator as input 0, but 'vec' gives none");
    kry_task_release(&t);
    kry_task_release(&inputs[0]);
    kry_vec_release(&v);
    kry_queue_release(&h);
    kry_queue_release(&q);
}

/* ---- handles before there is a value ---- */

static void task__inputs_before_they_are_computed(void **state)
{
    kry_type type = type_of(state);
    kry_queue *q = queue_of(device());
    gate g;
    double *x = random_array(type, 130);
    void *hx = in_type(type, x, 130);
    kry_task *shut, *a, *left, *right, *sum;
    bool ended;

    gate_init(&g);
    shut = gate_job(q, &g, NULL, 0);
    a = written(q, type, hx, 130, shut);
    OK(task_axpby(q, 2, a, 0, NULL, &left)); /* a diamond */
    OK(task_axpby(q, 3, a, 0, NULL, &right));
    OK(task_axpby(q, 1, left, 1, right, &sum));
    assert_true(gate_wait(&g, 1));
    assert_int_equal(kry_task_state(shut), KRY_TASK_RUNNING);
    assert_int_equal(kry_task_state(sum), KRY_TASK_WAITING);
    assert_null(kry_task_vec(a));
    OK(kry_task_wait_for(sum, 0, &ended));
    assert_false(ended);
    OK(kry_task_wait_for(sum, 1e-3, &ended));
    assert_false(ended);
    kry_task_release(&left); /* others still need them */
    kry_task_release(&right);
    kry_task_release(&a);
    gate_open(&g);
    double *got = numbers_from(q, sum, type, 130);
    for (int i = 0; i < 130; i++) NEAR(got[i], 5 * (long double)x[i], 20 * eps_of(type), "%d", i);
    assert_int_equal(kry_task_state(sum), KRY_TASK_DONE);
    assert_int_equal(g.destroyed, 1);
    kry_task_release(&shut);
    kry_task_release(&sum);
    kry_queue_release(&q);
    gate_destroy(&g);
    free(got), free(x), free(hx);
}

static kry_status add_one(void *user, kry_task *self)
{
    int *sum = user;
    (void)self;
    (*sum)++;
    return KRY_OK;
}

static void task__a_thousand_and_a_chain_of_a_thousand(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    kry_queue *q = queue_of(device()), *h = queue_of(NULL);
    kry_task **t = calloc(MANY, sizeof *t), *last = NULL, *next;
    int independent = 0, chained = 0;

    double start = seconds_now();
    for (int i = 0; i < MANY; i++)
        OK(kry_task_submit(q, KRY_JOB(.run = add_one, .user = &independent), NULL, 0, &t[i]));
    print_message("# submission: %.2f us\n", 1e6 * (seconds_now() - start) / MANY);
    for (int i = 0; i < MANY; i++) { /* from queue to queue */
        OK(kry_task_submit(i % 2 ? q : h, KRY_JOB(.run = add_one, .user = &chained), &last,
                           last != NULL, &next));
        kry_task_release(&last);
        last = next;
    }
    OK(wait_for(last));
    assert_int_equal(chained, MANY);
    kry_task_release(&last);
    OK(kry_queue_finish(q));
    assert_int_equal(independent, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(kry_task_state(t[i]), KRY_TASK_DONE);
        kry_task_release(&t[i]);
    }
    OK(kry_task_submit(q, KRY_JOB(.run = add_one, .user = &chained), NULL, 0,
                       NULL)); /* no handle */
    OK(kry_queue_finish(q));
    assert_int_equal(chained, MANY + 1);
    kry_queue_release(&q);
    kry_queue_release(&h);
    free(t);
}

typedef struct order {
    int *next, at, expected;
} order;

static kry_status in_order(void *user, kry_task *self)
{
    order *o = user;
    (void)self;
    o->at = (*o->next)++;
    return KRY_OK;
}

/* In the order of submission, but for one that waits for another queue's. */
static void queue__runs_in_the_order_of_submission(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device()), *h = queue_of(NULL);
    gate g, first;
    int next = 0;
    order o[4] = { { &next, -1, 1 }, { &next, -1, 2 }, { &next, -1, 0 }, { &next, -1, 3 } };
    kry_task *t[4], *hold, *elsewhere;

    gate_init(&g), gate_init(&first);
    hold = gate_job(q, &first, NULL, 0);
    elsewhere = gate_job(h, &g, NULL, 0);
    OK(kry_task_submit(q, KRY_JOB(.run = in_order, .user = &o[0]), &elsewhere, 1, &t[0]));
    OK(kry_task_submit(q, KRY_JOB(.run = in_order, .user = &o[1]), &t[0], 1, &t[1]));
    OK(kry_task_submit(q, KRY_JOB(.run = in_order, .user = &o[2]), NULL, 0, &t[2]));
    gate_open(&first);
    OK(wait_for(t[2]));
    gate_open(&g);
    OK(wait_for(t[1]));
    OK(kry_task_submit(q, KRY_JOB(.run = in_order, .user = &o[3]), NULL, 0, &t[3]));
    OK(kry_queue_finish(q));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(o[i].at, o[i].expected);
        kry_task_release(&t[i]);
    }
    kry_task_release(&hold), kry_task_release(&elsewhere);
    kry_queue_release(&q), kry_queue_release(&h);
    gate_destroy(&g), gate_destroy(&first);
}

/* ---- errors ---- */

static kry_status breaks(void *user, kry_task *self)
{
    (void)self;
    return user ? kry_fail(KRY_ERR_CALLBACK, "%s", (const char *)user) : KRY_ERR_FILE;
}

static void task__errors_travel(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device()), *h = queue_of(NULL);
    gate g;
    kry_task *shut, *in[2], *bad, *c, *silent;
    int count = 0;

    gate_init(&g);
    shut = gate_job(h, &g, NULL, 0);
    OK(kry_task_submit(h, KRY_JOB(.name = "root", .run = breaks, .user = "the cat is on the desk"),
                       &shut, 1, &bad));
    OK(kry_task_submit(q, KRY_JOB(.name = "b", .run = add_one, .user = &count), &bad, 1, &in[0]));
    in[1] = shut;
    OK(kry_task_submit(q, KRY_JOB(.name = "c", .run = add_one, .user = &count), in, 2, &c));
    OK(kry_task_submit(q, KRY_JOB(.name = "silent", .run = breaks), NULL, 0, &silent));
    gate_open(&g);
    REFUSES(wait_for(c), KRY_ERR_CALLBACK,
            "'c' was not run because 'root' failed: the cat is on the desk");
    REFUSES(wait_for(in[0]), KRY_ERR_CALLBACK, "'b' was not run because 'root' failed: the cat");
    REFUSES(wait_for(bad), KRY_ERR_CALLBACK, "the cat is on the desk");
    assert_string_equal(kry_last_error(), "the cat is on the desk");
    REFUSES(wait_for(silent), KRY_ERR_FILE, kry_status_text(KRY_ERR_FILE));
    assert_int_equal(count, 0);
    kry_task_release(&c);
    OK(kry_task_submit(q, KRY_JOB(.name = "late", .run = add_one, .user = &count), &in[0], 1, &c));
    assert_int_equal(kry_task_state(c), KRY_TASK_FAILED); /* at once */
    REFUSES(wait_for(c), KRY_ERR_CALLBACK, "'late' was not run because 'root' failed: the cat");
    kry_task_release(&c), kry_task_release(&in[0]), kry_task_release(&bad), kry_task_release(&shut);
    kry_task_release(&silent);
    kry_queue_release(&q), kry_queue_release(&h);
    gate_destroy(&g);
}

/* ---- cancelling ---- */

static void task__cancel_queued(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device());
    gate g, never;
    kry_task *shut, *a, *b;
    int count = 0;

    gate_init(&g), gate_init(&never);
    shut = gate_job(q, &g, NULL, 0);
    a = gate_job(q, &never, NULL, 0);
    OK(kry_task_submit(q, KRY_JOB(.name = "b", .run = add_one, .user = &count), &a, 1, &b));
    kry_task_cancel(a);
    assert_int_equal(kry_task_state(a), KRY_TASK_CANCELLED);
    assert_int_equal(never.destroyed, 1);
    assert_int_equal(never.arrived, 0);
    REFUSES(wait_for(a), KRY_ERR_CANCELLED, "'gate' was cancelled");
    REFUSES(wait_for(b), KRY_ERR_CANCELLED, "'b' was not run because 'gate' was cancelled");
    assert_int_equal(kry_task_state(b), KRY_TASK_CANCELLED);
    gate_open(&g);
    OK(wait_for(shut));
    kry_task_cancel(shut); /* too late */
    OK(wait_for(shut));
    assert_int_equal(count, 0);
    kry_task_release(&shut), kry_task_release(&a), kry_task_release(&b);
    kry_queue_release(&q);
    gate_destroy(&g), gate_destroy(&never);
}

static void task__cancel_a_running_job(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device());
    gate g;
    kry_task *a, *b;
    int count = 0;

    gate_init(&g);
    a = gate_job(q, &g, NULL, 0);
    OK(kry_task_submit(q, KRY_JOB(.name = "b", .run = add_one, .user = &count), &a, 1, &b));
    assert_true(gate_wait(&g, 1));
    kry_task_cancel(a);
    assert_int_equal(wait_for(a), KRY_STOPPED);
    assert_int_equal(kry_task_state(a), KRY_TASK_CANCELLED);
    REFUSES(wait_for(b), KRY_ERR_CANCELLED,
            "'b' was not run because 'gate' was cancelled while it ran");
    assert_int_equal(g.destroyed, 1);
    kry_task_release(&a), kry_task_release(&b);
    kry_queue_release(&q);
    gate_destroy(&g);
}

/* Stays at its first look until the gate opens. */
static int slow_monitor(void *user, const kry_iteration *it)
{
    (void)it;
    gate_arrive(user);
    return !gate_wait(user, 0);
}

static void task__cancel_a_running_solve(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p;
    kry_op *A = matrix_for(device(), type, "poisson2d:33", &p);
    kry_queue *q = queue_of(device());
    gate g;
    void *hb = in_type(type, p->rhs, p->n);
    kry_task *b, *solver, *x, *after;
    kry_task_progress_info info;

    gate_init(&g);
    solver = solver_task(A, slow_monitor, &g);
    b = written(q, type, hb, p->n, NULL);
    OK(kry_task_solve(q, solver, b, NULL, &x));
    OK(task_norm2(q, x, &after));
    assert_true(gate_wait(&g, 1));
    kry_task_progress(x, &info);
    assert_true(info.fraction >= 0 && info.fraction < 1);
    kry_task_cancel(x);
    gate_open(&g);
    assert_int_equal(wait_for(x), KRY_STOPPED);
    assert_int_equal(kry_task_state(x), KRY_TASK_CANCELLED);
    assert_non_null(kry_task_vec(x)); /* the last iterate */
    assert_int_equal(kry_task_result(x)->reason, KRY_MONITOR_STOP);
    kry_task_progress(x, &info);
    assert_true(info.residual > 0 && info.target > 0);
    REFUSES(wait_for(after), KRY_ERR_CANCELLED,
            "'norm2' was not run because 'solve' was cancelled");
    kry_task_release(&b), kry_task_release(&x), kry_task_release(&after);
    b = written(q, type, hb, p->n, NULL);
    OK(kry_task_solve(q, solver, b, NULL, &x)); /* the solver is as good as new */
    OK(wait_for(x));
    kry_task_release(&b), kry_task_release(&x), kry_task_release(&solver);
    kry_op_release(&A);
    kry_queue_release(&q);
    gate_destroy(&g);
    kry_problem_release(&p);
    free(hb);
}

static void queue__cancel_and_release(void **state)
{
    (void)state;
    for (int release = 0; release < 2; release++) {
        kry_queue *q;
        gate g;
        int count = 0;
        kry_task *a, *b, *c;

        OK(kry_queue_create(device(), "mine", &q));
        assert_string_equal(kry_queue_name(q), "mine");
        gate_init(&g);
        a = gate_job(q, &g, NULL, 0);
        OK(kry_task_submit(q, KRY_JOB(.name = "b", .run = add_one, .user = &count), &a, 1, &b));
        OK(kry_task_submit(q, KRY_JOB(.name = "c", .run = add_one, .user = &count), NULL, 0, &c));
        assert_true(gate_wait(&g, 1));
        if (release)
            kry_queue_release(&q);
        else
            kry_queue_cancel(q);
        assert_int_equal(wait_for(a), KRY_STOPPED);
        assert_int_equal(wait_for(b), KRY_ERR_CANCELLED);
        assert_int_equal(wait_for(c), KRY_ERR_CANCELLED);
        assert_int_equal(count, 0);
        kry_task_release(&a), kry_task_release(&b), kry_task_release(&c);
        kry_queue_release(&q);
        gate_destroy(&g);
    }
}

/* The parts of a running system, released in every order. */
static void task__release_in_every_order(void **state)
{
    (void)state;
    enum { PARTS = 5 };
    for (int order = 0; order < 120; order++) {
        kry_device *dev = another_device();
        kry_queue *q = queue_of(dev);
        kry_vec *v;
        gate g;
        int left[PARTS] = { 0, 1, 2, 3, 4 }, rest = order;

        if (small_run() && order > 10) break;
        gate_init(&g);
        OK(kry_vec_create(dev, KRY_F32, 100, 1, &v));
        kry_task *input = task_with(v), *shut = gate_job(q, &g, NULL, 0), *in[2] = { input, shut },
                 *last;
        OK(kry_task_submit(q, KRY_JOB(.name = "last", .run = nothing), in, 2, &last));
        OK(task_norm2(q, input, NULL));
        if (order % 2) gate_open(&g);
        for (int k = PARTS; k > 0; k--) {
            int i = rest % k, part = left[i];
            rest /= k;
            left[i] = left[k - 1];
            if (part == 0) kry_device_release(&dev);
            if (part == 1) kry_queue_release(&q);
            if (part == 2) kry_vec_release(&v);
            if (part == 3) kry_task_release(&shut), kry_task_release(&input);
            if (part == 4) kry_task_release(&last);
        }
        assert_int_equal(g.destroyed, 1);
        gate_destroy(&g);
    }
}

static void task__value_outlives_its_queue_and_device(void **state)
{
    kry_type type = type_of(state);
    kry_device *dev = another_device();
    kry_queue *q = queue_of(dev);
    double *x = random_array(type, 33), *got = calloc(33, sizeof *got);
    void *hx = in_type(type, x, 33), *back = calloc(33, sizeof(double));
    kry_task *t = written(q, type, hx, 33, NULL);

    OK(wait_for(t));
    kry_queue_release(&q);
    kry_device_release(&dev);
    OK(kry_vec_read(kry_task_vec(t), back));
    for (int i = 0; i < 33; i++) assert_true(at(type, back, i) == x[i]);
    kry_task_release(&t);
    free(x), free(got), free(hx), free(back);
}

/* ---- several queues ---- */

static void task__values_of_another_device_are_copied(void **state)
{
    kry_type type = type_of(state);
    kry_device *dev[2] = { another_device(), another_device() };
    kry_queue *q[2] = { queue_of(dev[0]), queue_of(dev[1]) };
    gate g;
    double *x = random_array(type, 1000), number;
    void *hx = in_type(type, x, 1000);
    long double norm = 0;

    gate_init(&g);
    kry_task *shut = gate_job(q[0], &g, NULL, 0), *a = written(q[0], type, hx, 1000, shut), *b, *c,
             *n;
    OK(task_axpby(q[1], 2, a, 3, a, &b));
    OK(task_copy(q[0], b, &c));
    OK(task_norm2(q[1], c, &n));
    gate_open(&g);
    double *got = numbers_from(q[1], c, type, 1000);
    for (int i = 0; i < 1000; i++) {
        NEAR(got[i], 5 * (long double)x[i], 20 * eps_of(type), "%d", i);
        norm += (long double)got[i] * got[i];
    }
    OK(kry_task_number(n, &number));
    NEAR(number, sqrtl(norm), 4000 * eps_of(acc_type()) * sqrtl(norm), "norm");
    assert_ptr_equal(kry_vec_device(kry_task_vec(b)), dev[1]);
    assert_ptr_equal(kry_vec_device(kry_task_vec(c)), dev[0]);
    kry_task_release(&shut), kry_task_release(&a), kry_task_release(&b), kry_task_release(&c);
    kry_task_release(&n);
    for (int i = 0; i < 2; i++) kry_queue_release(&q[i]), kry_device_release(&dev[i]);
    gate_destroy(&g);
    free(got), free(x), free(hx);
}

static void task__an_operator_of_another_device_is_refused(void **state)
{
    (void)state;
    kry_problem *p;
    kry_op *A = matrix_for(device(), KRY_F32, "poisson2d:5", &p);
    kry_device *dev = another_device();
    kry_queue *q = queue_of(dev);
    kry_vec *v;

    OK(kry_vec_create(dev, KRY_F32, p->n, 1, &v));
    kry_task *tA = task_of(A), *tv = task_with(v), *y;
    OK(kry_task_apply(q, tA, tv, &y));
    REFUSES(wait_for(y), KRY_ERR_UNSUPPORTED,
            "'apply' cannot use the operator of 'op', which lives on another device");
    kry_task_release(&tA), kry_task_release(&tv), kry_task_release(&y);
    kry_vec_release(&v);
    kry_op_release(&A);
    kry_queue_release(&q);
    kry_device_release(&dev);
    kry_problem_release(&p);
}

typedef struct host_work {
    double *numbers;
    int n;
} host_work;

static kry_status square(void *user, kry_task *self)
{
    host_work *w = user;
    for (int i = 0; i < w->n; i++) w->numbers[i] *= w->numbers[i];
    kry_task_set_progress(self, 0.5);
    kry_task_set_number(self, w->n);
    return KRY_OK;
}

static kry_status double_it(void *user, kry_task *self)
{
    double number;
    kry_vec *v;
    kry_status st = kry_task_number(*(kry_task **)user, &number);
    if (st < 0) return st;
    kry_task_set_number(self, 2 * number);
    return kry_task_input_vec(self, 1, &v);
}

/* Device, host, device: numbers are read, worked on by the caller's own function, and written back.
 */
static void task__a_host_queue_in_between(void **state)
{
    (void)state;
    kry_type type = kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
    kry_queue *q = queue_of(device()), *h = queue_of(NULL);
    double *x = random_array(KRY_F32, 50), number;
    void *hx = in_type(type, x, 50);
    host_work w = { calloc(50, sizeof(double)), 50 };

    if (type == KRY_F32) {
        free(x), free(hx), free(w.numbers);
        kry_queue_release(&q), kry_queue_release(&h);
        SKIP("the job wants doubles");
    }
    kry_task *a = written(q, type, hx, 50, NULL), *read, *squared, *back, *twice, *in[2];
    OK(kry_task_read(q, a, w.numbers, &read));
    OK(kry_task_submit(h, KRY_JOB(.name = "square", .run = square, .user = &w), &read, 1,
                       &squared));
    back = written(q, type, w.numbers, 50, squared);
    in[0] = squared, in[1] = back;
    OK(kry_task_submit(h, KRY_JOB(.run = double_it, .user = in), in, 2, &twice));
    double *got = numbers_from(h, back, type, 50);
    for (int i = 0; i < 50; i++) assert_true(got[i] == x[i] * x[i]);
    OK(kry_task_number(twice, &number));
    assert_true(number == 100);
    kry_task_release(&a), kry_task_release(&read), kry_task_release(&squared),
        kry_task_release(&back);
    kry_task_release(&twice);
    kry_queue_release(&q), kry_queue_release(&h);
    free(got), free(x), free(hx), free(w.numbers);
}

static void release_counts(void *user) { gate_forget(user); }

static void write__says_when_the_numbers_are_free(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device());
    gate g;
    float numbers[3] = { 1, 2, 3 };
    kry_task *t[2];

    for (int i = 0; i < 2; i++) {
        gate_init(&g);
        kry_task *shut = gate_job(q, &g, NULL, 0);
        OK(kry_task_write(q,
                          KRY_HOST(.type = KRY_F32, .n = 3, .numbers = numbers,
                                   .release = release_counts, .user = &g),
                          &t[i]));
        if (i == 1) kry_task_cancel(t[i]);
        gate_open(&g);
        assert_int_equal(wait_for(t[i]), i ? KRY_ERR_CANCELLED : KRY_OK);
        OK(wait_for(shut));
        OK(kry_queue_finish(q));
        assert_int_equal(g.destroyed, 2);
        kry_task_release(&shut), kry_task_release(&t[i]);
        gate_destroy(&g);
    }
    gate_init(&g);
    REFUSES(
        kry_task_write(
            q, KRY_HOST(.n = 3, .numbers = numbers, .release = release_counts, .user = &g), &t[0]),
        KRY_ERR_ARGUMENT, "0 is not a number type");
    assert_int_equal(g.destroyed, 0); /* still the caller's */
    kry_queue_release(&q);
    gate_destroy(&g);
}

/* ---- from within a task ---- */

typedef struct within {
    kry_queue *queue;
    kry_task *made;
    kry_status wait, finish, batch;
    bool polled;
    int count;
} within;

static kry_status does_all(void *user, kry_task *self)
{
    within *w = user;
    bool ended;
    (void)self;
    kry_status st =
        kry_task_submit(w->queue, KRY_JOB(.run = add_one, .user = &w->count), NULL, 0, &w->made);
    if (st < 0) return st;
    w->polled = kry_task_wait_for(w->made, 0, &ended) == KRY_OK && !ended;
    w->wait = kry_task_wait(w->made);
    w->finish = kry_queue_finish(w->queue);
    kry_queue_release(&w->queue); /* perhaps the last one */
    return KRY_OK;
}

static void task__from_within_a_task(void **state)
{
    (void)state;
    within w = { .queue = queue_of(device()) };
    kry_queue *q = queue_of(device());
    kry_task *t;

    OK(kry_task_submit(q, KRY_JOB(.name = "outer", .run = does_all, .user = &w), NULL, 0, &t));
    OK(wait_for(t));
    OK(wait_for(w.made));
    assert_true(w.polled && w.count == 1);
    assert_int_equal(w.wait, KRY_ERR_ARGUMENT);
    assert_int_equal(w.finish, KRY_ERR_ARGUMENT);
    kry_task_release(&t), kry_task_release(&w.made);
    kry_queue_release(&q);
}

static kry_status releases(void *user, kry_task *self)
{
    within *w = user;
    (void)self;
    kry_queue_release(&w->queue);
    return KRY_OK;
}

static void queue__released_by_its_own_task(void **state)
{
    (void)state;
    within w = { .queue = queue_of(device()) };
    gate g;

    gate_init(&g);
    kry_task *shut = gate_job(w.queue, &g, NULL, 0), *t;
    OK(kry_task_submit(w.queue, KRY_JOB(.run = releases, .user = &w), NULL, 0, &t));
    gate_open(&g);
    OK(wait_for(t));
    kry_queue *q = queue_of(device()); /* once that one is gone */
    kry_queue_release(&q);
    kry_task_release(&t), kry_task_release(&shut);
    gate_destroy(&g);
}

/* In a child of fork() there is no thread that works off a queue of the parent; new queues have their own. */
typedef struct in_child {
    kry_queue *q;
    kry_task *running, *waiting;
    atomic_int count;
} in_child;

static void use_in_child(void *user)
{
    in_child *c = user;
    kry_task *t = NULL;
    bool ended;
    REFUSED_IN_CHILD(kry_task_wait(c->running));
    REFUSED_IN_CHILD(kry_task_wait_for(c->waiting, 10, &ended));
    REFUSED_IN_CHILD(kry_queue_finish(c->q));
    REFUSED_IN_CHILD(
        kry_task_submit(c->q, KRY_JOB(.run = add_one, .user = &c->count), NULL, 0, &t));
    kry_queue_release(&c->q);
    if (kry_task_wait(c->waiting) != KRY_ERR_CANCELLED) _exit(1);
    kry_task_release(&c->running), kry_task_release(&c->waiting);
#ifndef __SANITIZE_THREAD__ /* which allows no threads here */
    if (kry_queue_create(NULL, NULL, &c->q) ||
        kry_task_submit(c->q, KRY_JOB(.run = add_one, .user = &c->count), NULL, 0, &t) ||
        kry_task_wait(t) || c->count != 1)
        _exit(2);
    kry_task_release(&t);
    kry_queue_release(&c->q);
#endif
}

static void fork__while_a_queue_works(void **state)
{
    (void)state;
    in_child c = { .q = queue_of(NULL) };
    gate g;

    gate_init(&g);
    c.running = gate_job(c.q, &g, NULL, 0);
    OK(kry_task_submit(c.q, KRY_JOB(.run = add_one, .user = &c.count), NULL, 0, &c.waiting));
    assert_true(gate_wait(&g, 1));
    assert_int_equal(exit_of_child(use_in_child, &c), 0);
    gate_open(&g);
    OK(wait_for(c.waiting)); /* the parent goes on */
    assert_int_equal(c.count, 1);
    kry_task_release(&c.running), kry_task_release(&c.waiting);
    kry_queue_release(&c.q);
    gate_destroy(&g);
}

/* ---- beside direct calls ---- */

static void device__is_the_queues_while_that_has_work(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device()), *h = queue_of(NULL);
    kry_vec *v, *w;
    gate g;
    float numbers[3];

    gate_init(&g);
    OK(kry_vec_create(device(), KRY_F32, 3, 1, &v));
    kry_task *elsewhere = gate_job(h, &g, NULL, 0);
    OK(kry_vec_fill(v, 1)); /* that is none of its */
    kry_task *shut = gate_job(q, &g, NULL, 0);
    REFUSES(kry_vec_fill(v, 1), KRY_ERR_ARGUMENT,
            "is reserved for another thread: wait for the work of its queue");
    REFUSES(kry_vec_create(device(), KRY_F32, 3, 1, &w), KRY_ERR_ARGUMENT,
            "is reserved for another thread");
    assert_null(w);
    gate_open(&g);
    OK(kry_queue_finish(q));
    OK(kry_vec_fill(v, 2));
    OK(kry_vec_read(v, numbers));
    assert_true(numbers[2] == 2);
    OK(wait_for(elsewhere));
    kry_task_release(&shut), kry_task_release(&elsewhere);
    kry_vec_release(&v);
    kry_queue_release(&q), kry_queue_release(&h);
    gate_destroy(&g);
}

/* ---- a team ---- */

static void team__solves_in_the_background(void **state)
{
    (void)state;
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    kry_queue *q = queue_of(team);
    kry_problem *p;
    kry_op *A = matrix_for(team, KRY_F32, "poisson2d:24", &p);
    gate g;
    void *hb = in_type(KRY_F32, p->rhs, p->n);
    kry_task *b, *solver, *x, *plain, *norm;
    double number;

    gate_init(&g);
    solver = solver_task(A, NULL, NULL);
    b = written(q, KRY_F32, hb, p->n, NULL);
    OK(kry_task_solve(q, solver, b, NULL, &x));
    OK(wait_for(x));
    double *numbers = numbers_from(q, x, KRY_F32, p->n);
    check_solution(p, numbers, kry_task_result(x));
    OK(task_norm2(q, x, &norm));
    OK(kry_task_number(norm, &number));
    assert_true(number > 0);
    kry_task_release(&solver), kry_task_release(&x);
    OK(kry_queue_finish(q));
    solver = solver_task(A, slow_monitor, &g);
    OK(kry_task_solve(q, solver, b, NULL, &x));
    assert_true(gate_wait(&g, 1));
    kry_task_cancel(x);
    gate_open(&g);
    assert_int_equal(wait_for(x), KRY_STOPPED);
    kry_queue *single = queue_of(device());
    OK(task_copy(single, b, &plain)); /* off the team */
    free(numbers);
    numbers = numbers_from(single, plain, KRY_F32, p->n);
    for (int64_t i = 0; i < p->n; i++) assert_true(numbers[i] == at(KRY_F32, hb, i));
    kry_task_release(&b), kry_task_release(&x), kry_task_release(&solver), kry_task_release(&plain);
    kry_task_release(&norm);
    kry_op_release(&A);
    kry_queue_release(&q), kry_queue_release(&single);
    close_team(&team);
    kry_problem_release(&p);
    gate_destroy(&g);
    free(numbers), free(hb);
}

/* ---- all at once ---- */

typedef struct crowd {
    kry_queue *queue[3];
    int failures;
} crowd;

/* What a thread of a crowd does: chains across the queues, some cancelled, handles dropped early.
 */
static void *one_of_a_crowd(void *arg)
{
    crowd *c = arg;
    float numbers[70];

    for (int i = 0; i < 70; i++) numbers[i] = (float)i;
    for (int turn = 0; turn < 10; turn++) {
        kry_task *a, *b, *d, *n;
        double number;
        kry_status st;
        if (kry_task_write(c->queue[turn % 2],
                           KRY_HOST(.type = KRY_F32, .n = 70, .numbers = numbers), &a) < 0 ||
            task_axpby(c->queue[(turn + 1) % 2], 2, a, 1, a, &b) < 0 ||
            task_axpby(c->queue[0], 1, b, -3, a, &d) < 0 || task_norm2(c->queue[1], d, &n) < 0) {
            c->failures++;
            return NULL;
        }
        if (turn % 3 == 2) kry_task_cancel(turn % 2 ? b : d);
        kry_task_release(&b);
        kry_task_release(&d);
        st = kry_task_number(n, &number);
        if (st != KRY_ERR_CANCELLED && (st != KRY_OK || number != 0)) c->failures++;
        kry_task_wait(a) < 0 ? c->failures++ : 0;
        kry_task_release(&a);
        kry_task_release(&n);
    }
    return NULL;
}

static void task__from_many_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    kry_device *dev[2] = { another_device(), another_device() };
    crowd c[THREADS];
    pthread_t thread[THREADS];
    kry_queue *q[2] = { queue_of(dev[0]), queue_of(dev[1]) };

    for (int i = 0; i < THREADS; i++) {
        c[i] = (crowd){ .queue = { q[0], q[1] } };
        assert_int_equal(pthread_create(&thread[i], NULL, one_of_a_crowd, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(c[i].failures, 0);
    }
    for (int i = 0; i < 2; i++) kry_queue_release(&q[i]), kry_device_release(&dev[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue__one_for_each_device),
        cmocka_unit_test(task__bad_input),
        BOTH(task__inputs_before_they_are_computed),
        cmocka_unit_test(task__a_thousand_and_a_chain_of_a_thousand),
        cmocka_unit_test(queue__runs_in_the_order_of_submission),
        cmocka_unit_test(task__errors_travel),
        cmocka_unit_test(task__cancel_queued),
        cmocka_unit_test(task__cancel_a_running_job),
        BOTH(task__cancel_a_running_solve),
        cmocka_unit_test(queue__cancel_and_release),
        cmocka_unit_test(task__release_in_every_order),
        BOTH(task__value_outlives_its_queue_and_device),
        BOTH(task__values_of_another_device_are_copied),
        cmocka_unit_test(task__an_operator_of_another_device_is_refused),
        cmocka_unit_test(task__a_host_queue_in_between),
        cmocka_unit_test(write__says_when_the_numbers_are_free),
        cmocka_unit_test(task__from_within_a_task),
        cmocka_unit_test(queue__released_by_its_own_task),
        cmocka_unit_test(fork__while_a_queue_works),
        cmocka_unit_test(device__is_the_queues_while_that_has_work),
        cmocka_unit_test(team__solves_in_the_background),
        cmocka_unit_test(task__from_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
