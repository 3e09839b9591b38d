/* test_threads.c - what docs/devices.md promises: a device for each thread, and one for all of
 * them. */
#include "tasks.h"
#include <kry/precond.h>
#include <pthread.h>

enum { THREADS = 8, TIMES = 3, SENTENCE = 400 };

/* Different systems: other matrices, formats, sizes, methods. */
typedef struct system {
    const char *spec, *format; /* format NULL: the grid operator of m by m */
    int64_t m;
    const char *words;
} system_kind;

static const system_kind systems[THREADS] = {
    { "poisson2d:23", "csr", 0, "method=cg" },
    { "random_spd:301:5", "sell", 0, "precond=jacobi" },
    { NULL, NULL, 29, "method=cg resident=off" },
    { "random_spd:517:6", "csr", 0, "precond=chebyshev" },
    { "poisson2d:31", "sell", 0, "method=cg" },
    { NULL, NULL, 37, "precond=jacobi resident=off" },
    { "poisson2d:19", "csr", 0, "precond=neumann" },
    { "random_spd:263:4", "csr", 0, "precond=jacobi" },
};

/* One thread's work. Checks of cmocka are for the main thread: others leave a sentence. */
typedef struct worker {
    const system_kind *kind;
    kry_device *dev; /* borrowed */
    kry_type type;
    int times;
    double *x; /* what every solve came to, owned */
    int64_t n, iterations;
    double norm;
    char failure[SENTENCE];
} worker;

static void failed(worker *w, const char *what)
{
    snprintf(w->failure, sizeof w->failure, "%.100s: %.250s", what, kry_last_error());
}

/* Any number will do, but not one that another thread draws, too. */
static void *right_side(kry_type type, int64_t n)
{
    void *b = calloc((size_t)n + 1, kry_type_size(type));
    for (int64_t i = 0; b && i < n; i++) put(type, b, i, (double)((i * 37 + 11) % 101) - 50);
    return b;
}

static kry_status make_operator(const worker *w, kry_op **A)
{
    kry_status st = KRY_OK;
    kry_problem *p = NULL;
    void *val = NULL;
    kry_matrix_params params = { .struct_size = sizeof params, .traits = KRY_POSITIVE };

    *A = NULL;
    if (!w->kind->spec)
        return kry_stencil_create(w->dev, w->type, KRY_STENCIL(.size = { w->kind->m, w->kind->m }),
                                  A);
    TRY(kry_problem_create(w->kind->spec, 3, &p));
    TRY(kry_format_parse(w->kind->format, &params));
    val = calloc((size_t)p->nnz + 1, kry_type_size(w->type));
    CHECK(val, KRY_ERR_MEMORY, "no memory");
    for (int64_t i = 0; i < p->nnz; i++) put(w->type, val, i, p->val[i]);
    TRY(kry_csr_create(w->dev, w->type, p->n, p->n, p->row_ptr, p->col, val, &params, A));
done:
    free(val);
    kry_problem_release(&p);
    return st;
}

/* Everything of a solve, objects and all; what comes out twice must be the same bits. */
static kry_status solve_once(worker *w, bool first)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *S = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result res;
    void *host = NULL;
    double norm;

    TRY(make_operator(w, &A));
    int64_t n = kry_op_get_shape(A)->rows;
    host = right_side(w->type, n);
    TRY(kry_vec_create(w->dev, w->type, n, 1, &b));
    TRY(kry_vec_create(w->dev, w->type, n, 1, &x));
    TRY(kry_vec_write(b, host));
    TRY(kry_vec_fill(x, 0));
    TRY(kry_solver_create(A, w->kind->words, NULL, NULL, &S));
    TRY(kry_solve(S, b, x, &res));
    TRY(kry_vec_norm2(x, &norm));
    TRY(kry_vec_read(x, host));
    if (first) {
        w->n = n, w->iterations = res.iterations, w->norm = norm;
        w->x = calloc((size_t)n + 1, sizeof *w->x);
        CHECK(w->x, KRY_ERR_MEMORY, "no memory");
        for (int64_t i = 0; i < n; i++) w->x[i] = at(w->type, host, i);
    }
    CHECK(res.iterations == w->iterations && norm == w->norm, KRY_ERR_DEVICE,
          "%lld iterations to norm %.17g, not %lld to %.17g", (long long)res.iterations, norm,
          (long long)w->iterations, w->norm);
    for (int64_t i = 0; i < n; i++)
        CHECK(at(w->type, host, i) == w->x[i], KRY_ERR_DEVICE, "x[%lld] is %.17g, not %.17g",
              (long long)i, at(w->type, host, i), w->x[i]);
done:
    free(host);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
    return st;
}

static void *solve_some(void *arg)
{
    worker *w = arg;
    for (int t = 0; t < w->times && !*w->failure; t++)
        if (solve_once(w, !w->x) < 0) failed(w, w->kind->words);
    return NULL;
}

/* With a device of its own, opened and closed by the thread. */
static void *solve_alone(void *arg)
{
    worker *w = arg;
    if (kry_device_open(NULL, &w->dev) < 0) return failed(w, "kry_device_open"), NULL;
    solve_some(w);
    kry_device_release(&w->dev);
    return NULL;
}

static void run_threads(void *(*run)(void *), worker *w)
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run, &w[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (*w[i].failure) fail_msg("thread %d: %s", i, w[i].failure);
}

static void workers_init(worker *w, kry_type type, int times)
{
    memset(w, 0, THREADS * sizeof *w);
    for (int i = 0; i < THREADS; i++) w[i].kind = &systems[i], w[i].type = type, w[i].times = times;
}

static void workers_release(worker *w)
{
    for (int i = 0; i < THREADS; i++) free(w[i].x);
}

/* What each system comes to with nobody else at work. */
static void solve_in_turn(worker *w)
{
    for (int i = 0; i < THREADS; i++) {
        w[i].dev = device(), w[i].times = 1;
        solve_some(&w[i]);
        if (*w[i].failure) fail_msg("system %d: %s", i, w[i].failure);
    }
}

/* ---- eight threads, eight systems ----------------------------------------------------------- */

/* A thread with little stack, as runtimes of other languages start them; what it needs is compiled. */
static void threads__small_stack(void **state)
{
    worker w[THREADS];
    pthread_attr_t attributes;
    pthread_t thread;

    workers_init(w, type_of(state), 1);
    solve_in_turn(w);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 320 * 1024), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread, &attributes, solve_some, &w[i]), 0);
        pthread_join(thread, NULL);
        if (*w[i].failure) fail_msg("system %d: %s", i, w[i].failure);
    }
    pthread_attr_destroy(&attributes);
    workers_release(w);
}

static void threads__a_device_each(void **state)
{
    worker want[THREADS], w[THREADS];

    workers_init(want, type_of(state), 1);
    workers_init(w, type_of(state), TIMES);
    solve_in_turn(want);
    run_threads(solve_alone, w);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(w[i].iterations, want[i].iterations);
        assert_same_bits(w[i].x, want[i].x, want[i].n);
    }
    workers_release(w);
    workers_release(want);
}

/* Nobody's programs are there yet; every thread's objects are its own. */
static void threads__one_device(void **state)
{
    worker want[THREADS], w[THREADS];
    kry_device *shared;

    workers_init(want, type_of(state), 1);
    workers_init(w, type_of(state), TIMES);
    solve_in_turn(want);
    OK(kry_device_open(NULL, &shared));
    for (int i = 0; i < THREADS; i++) w[i].dev = shared;
    run_threads(solve_some, w);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(w[i].iterations, want[i].iterations);
        assert_same_bits(w[i].x, want[i].x, want[i].n);
    }
    assert_int_equal(device_references(shared), 1);
    kry_device_release(&shared);
    workers_release(w);
    workers_release(want);
}

/* ---- one solver ------------------------------------------------------------------------------ */

/* While its first look at the residual lasts (persistent kernels look at none but the last), a solve has its solver, its matrix and its preconditioner. */
typedef struct occupant {
    kry_op *A, *M, *S;
    kry_vec *b, *x, *y;
    pthread_barrier_t *inside, *seen;
    char own[SENTENCE]; /* what the monitor was told that solves with its own solver */
    kry_status own_status[3], solved;
} occupant;

static int wait_inside(void *user, const kry_iteration *it)
{
    occupant *o = user;

    if (it->iteration > 0) return 0;
    o->own_status[0] = kry_solve(o->S, o->b, o->y, NULL);
    snprintf(o->own, sizeof o->own, "%s", kry_last_error());
    o->own_status[1] = kry_op_apply(o->S, 1, o->b, 0, o->y);
    o->own_status[2] = kry_op_update(o->S, NULL);
    pthread_barrier_wait(o->inside);
    pthread_barrier_wait(o->seen);
    return 0;
}

static void *occupy(void *arg)
{
    occupant *o = arg;

    o->solved = kry_solve(o->S, o->b, o->x, NULL);
    return NULL;
}

#define BUSY(call) REFUSES(call, KRY_ERR_ARGUMENT, "is at work for another thread")
static void threads__one_solver(void **state)
{
    static const char *const options[] = { "method=cg precond=jacobi resident=off", "method=direct",
                                           "method=auto resident=off",
                                           "method=bicgstab precond=none" };
    kry_type type = type_of(state);
    enum { N = 60 };

    for (size_t k = 0; k < COUNT(options); k++) {
        pthread_barrier_t inside, seen;
        occupant o = { .inside = &inside, .seen = &seen };
        int64_t row_ptr[N + 1] = { 0 };
        int32_t col[3 * N];
        double val[3 * N];
        kry_vec *b, *x;
        kry_op *other;
        pthread_t thread;

        for (int i = 0, e = 0; i < N; i++, row_ptr[i] = e)
            for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++)
                col[e] = j, val[e++] = j == i ? 2.5 : -1;
        void *numbers = in_type(type, val, row_ptr[N]);
        OK(kry_csr_create(device(), type, N, N, row_ptr, col, numbers,
                          KRY_MATRIX(.traits = KRY_POSITIVE), &o.A));
        kry_vec **made[] = { &o.b, &o.x, &o.y, &b, &x };
        for (size_t i = 0; i < COUNT(made); i++) OK(kry_vec_create(device(), type, N, 1, made[i]));
        OK(kry_vec_fill(o.b, 1));
        OK(kry_vec_fill(b, 1));
        kry_status st = kry_solver_create(o.A, options[k], wait_inside, &o, &o.S);
        if (st == KRY_ERR_UNSUPPORTED) { /* built without CHOLMOD */
            kry_op_release(&o.A);
            for (size_t i = 0; i < COUNT(made); i++) kry_vec_release(made[i]);
            free(numbers);
            continue;
        }
        OK(st);
        OK(kry_solver_create(o.A, "method=cg precond=none", NULL, NULL, &other));
        assert_int_equal(pthread_barrier_init(&inside, NULL, 2), 0);
        assert_int_equal(pthread_barrier_init(&seen, NULL, 2), 0);
        assert_int_equal(pthread_create(&thread, NULL, occupy, &o), 0);
        pthread_barrier_wait(&inside);
        BUSY(kry_solve(o.S, b, x, NULL));
        BUSY(kry_op_apply(o.S, 1, b, 0, x));
        BUSY(kry_op_update(o.S, NULL));
        BUSY(kry_solver_set_stop(o.S, &(kry_stop){ .rtol = 1e-3 }));
        BUSY(kry_solve(other, b, x, NULL));
        BUSY(kry_op_apply(o.A, 1, b, 0, x));
        BUSY(kry_op_update(o.A, numbers));
        pthread_barrier_wait(&seen);
        pthread_join(thread, NULL);
        OK(o.solved);
        for (size_t i = 0; i < COUNT(o.own_status); i++)
            assert_int_equal(o.own_status[i], KRY_ERR_ARGUMENT);
        assert_non_null(strstr(o.own, "is at work"));
        OK(kry_solve(other, b, x, NULL));
        OK(kry_op_update(o.S, NULL));
        kry_op_release(&other);
        kry_op_release(&o.S);
        kry_op_release(&o.A);
        for (size_t i = 0; i < COUNT(made); i++) kry_vec_release(made[i]);
        pthread_barrier_destroy(&inside);
        pthread_barrier_destroy(&seen);
        free(numbers);
    }
}

/* ---- one system, whose vectors all threads read ------------------------------------------------
 */

typedef struct reader {
    const kry_vec *x, *y; /* borrowed, and nobody writes to them */
    const kry_op *A;      /* only asked about */
    double dot;
    char failure[SENTENCE];
} reader;

static void *read_often(void *arg)
{
    reader *r = arg;
    double dot;

    for (int t = 0; t < 60; t++) {
        kry_vec *kept = kry_vec_retain((kry_vec *)r->x);
        kry_op *A = kry_op_retain(r->A);
        if (kry_vec_dot(r->x, r->y, &dot) < 0 || dot != r->dot)
            snprintf(r->failure, sizeof r->failure, "%.17g, not %.17g", dot, r->dot);
        if (kry_op_get_shape(A)->rows != 25) snprintf(r->failure, sizeof r->failure, "shape");
        kry_op_release(&A);
        kry_vec_release(&kept);
    }
    return NULL;
}

static void threads__read_the_same_vectors(void **state)
{
    kry_type type = type_of(state);
    const int64_t n = 10007;
    double *numbers = random_array(type, n), dot;
    kry_vec *x = vec_of(type, numbers, n, 1), *y = vec_of(type, numbers, n, 1);
    reader r[THREADS];
    pthread_t thread[THREADS];
    kry_op *A;

    OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { 5, 5 }), &A));
    OK(kry_vec_dot(x, y, &dot));
    for (int i = 0; i < THREADS; i++) {
        r[i] = (reader){ .x = x, .y = y, .A = A, .dot = dot };
        assert_int_equal(pthread_create(&thread[i], NULL, read_often, &r[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (*r[i].failure) fail_msg("thread %d: %s", i, r[i].failure);
    kry_op_release(&A);
    kry_vec_release(&x), kry_vec_release(&y);
    free(numbers);
}

/* ---- through the device's queue
 * ------------------------------------------------------------------ */

typedef struct submitter {
    kry_queue *queue; /* borrowed */
    kry_op *A; /* borrowed; all threads' solvers use it, for a queue runs one task at a time */
    kry_type type;
    double norm;
    char failure[SENTENCE];
} submitter;

static void *submit_solve(void *arg)
{
    submitter *s = arg;
    kry_status st = KRY_OK;
    kry_task *A = NULL, *S = NULL, *b = NULL, *x = NULL, *norm = NULL;
    int64_t n = kry_op_get_shape(s->A)->rows;
    void *host = right_side(s->type, n);

    TRY(kry_task_of_op(s->A, &A));
    TRY(kry_task_write(s->queue, KRY_HOST(.type = s->type, .n = n, .numbers = host), &b));
    TRY(kry_task_solver(s->queue, A, "precond=jacobi", &S));
    TRY(kry_task_solve(s->queue, S, b, NULL, &x));
    TRY(task_norm2(s->queue, x, &norm));
    TRY(kry_task_number(norm, &s->norm));
done:
    if (st < 0) snprintf(s->failure, sizeof s->failure, "%.300s", kry_last_error());
    kry_task_release(&norm), kry_task_release(&x), kry_task_release(&b);
    kry_task_release(&S), kry_task_release(&A);
    free(host);
    return NULL;
}

static void threads__one_queue(void **state)
{
    worker w = { .kind = &systems[0], .dev = device(), .type = type_of(state) };
    submitter s[THREADS];
    pthread_t thread[THREADS];
    kry_queue *queue;
    kry_op *A;

    OK(make_operator(&w, &A));
    OK(kry_queue_create(device(), NULL, &queue));
    for (int i = 0; i < THREADS; i++) {
        s[i] = (submitter){ .queue = queue, .A = A, .type = w.type };
        assert_int_equal(pthread_create(&thread[i], NULL, submit_solve, &s[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (*s[i].failure) fail_msg("thread %d: %s", i, s[i].failure);
        assert_true(s[i].norm > 0 && s[i].norm == s[0].norm);
    }
    kry_queue_release(&queue);
    kry_op_release(&A);
}

/* ---- what is refused, what belongs to a thread
 * --------------------------------------------------- */

typedef struct intruder {
    const kry_op *A;
    const kry_vec *x;
    kry_vec *y;
    kry_status status;
    char message[SENTENCE];
} intruder;

static void *apply_to_team(void *arg)
{
    intruder *in = arg;
    in->status = kry_op_apply(in->A, 1, in->x, 0, in->y);
    snprintf(in->message, sizeof in->message, "%.300s", kry_last_error());
    return NULL;
}

/* A monitor: the team is at work for the solve that it looks at. */
static int intrude(void *user, const kry_iteration *it)
{
    pthread_t thread;
    (void)it;
    if (!pthread_create(&thread, NULL, apply_to_team, user)) pthread_join(thread, NULL);
    return 1;
}

static void team__refuses_a_second_thread(void **state)
{
    kry_type type = type_of(state);
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    intruder in = { .status = KRY_OK };
    kry_op *A, *S;
    kry_vec *b, *x, *y;
    kry_result res;

    OK(kry_stencil_create(team, type, KRY_STENCIL(.size = { 9, 9 }), &A));
    OK(kry_vec_create(team, type, 81, 1, &b));
    OK(kry_vec_create(team, type, 81, 1, &x));
    OK(kry_vec_create(team, type, 81, 1, &y));
    OK(kry_vec_fill(b, 1));
    OK(kry_vec_fill(x, 0));
    in.A = A, in.x = b, in.y = y;
    OK(kry_pcg_create(A, KRY_PCG(.monitor = intrude, .monitor_user = &in), &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_STOPPED);
    assert_int_equal(in.status, KRY_ERR_ARGUMENT);
    assert_non_null(strstr(in.message, "at work for another thread"));
    OK(kry_op_apply(A, 1, b, 0, y)); /* and goes on */
    kry_op_release(&S), kry_op_release(&A);
    kry_vec_release(&b), kry_vec_release(&x), kry_vec_release(&y);
    close_team(&team);
}

static void *fail_for_itself(void *arg)
{
    kry_vec *v;
    char want[64];
    long i = *(long *)arg;

    *(long *)arg = 0;
    snprintf(want, sizeof want, "%ld", -1000 - i);
    for (int t = 0; t < 100; t++) {
        if (kry_vec_create(test_dev, KRY_F32, -1000 - i, 1, &v) != KRY_ERR_ARGUMENT)
            *(long *)arg = 1;
        if (!strstr(kry_last_error(), want)) *(long *)arg = 2;
    }
    return NULL;
}

static void last_error__of_its_thread(void **state)
{
    pthread_t thread[THREADS];
    long number[THREADS];
    kry_vec *v;
    (void)state;

    (void)device();
    REFUSES(kry_vec_create(device(), KRY_F32, -77, 1, &v), KRY_ERR_ARGUMENT, "-77");
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, fail_for_itself, &number[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_int_equal(number[i], 0);
    assert_non_null(strstr(kry_last_error(), "-77"));
}

/* ---- a device for one thread, and a monitor of all its solves --------------------------------------------- */

/* Fill a vector as a thread that works for its device. */
static void *fill_for_the_device(void *arg)
{
    kry_vec *v = arg;

    kry_device_work_for(kry_vec_device(v));
    return kry_vec_fill(v, 2) == KRY_OK ? NULL : arg;
}

static void device_reserve__other_threads_are_refused(void **state)
{
    static const char why[] = "is reserved for another thread";
    pthread_t thread;
    void *failed;
    kry_vec *v;
    (void)state;

    OK(kry_vec_create(device(), KRY_F32, 5, 1, &v));
    OK(kry_device_reserve(device()));
    OK(kry_device_reserve(device()));
    REFUSES(kry_vec_fill(v, 1), KRY_ERR_ARGUMENT, why);
    assert_int_equal(pthread_create(&thread, NULL, fill_for_the_device, v), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    kry_device_work_for(device());
    OK(kry_vec_fill(v, 1));
    kry_device_work_for(NULL);
    kry_device_unreserve(device());
    REFUSES(kry_vec_fill(v, 1), KRY_ERR_ARGUMENT, why);
    kry_device_unreserve(device());
    OK(kry_vec_fill(v, 1));
    kry_vec_release(&v);
}

/* Stop at the second look. */
static int count_looks(void *user, const kry_iteration *it)
{
    int *looks = user;

    (void)it;
    return ++*looks == 2;
}

static void device_set_monitor__sees_and_stops_solves(void **state)
{
    int looks = 0;
    kry_op *A, *S;
    kry_vec *b, *x;
    (void)state;

    OK(kry_stencil_create(device(), KRY_F32, KRY_STENCIL(.size = { 9, 9 }), &A));
    OK(kry_solver_create(A, "method=cg resident=off check-every=1 rtol=1e-4", NULL, NULL, &S));
    OK(kry_vec_create(device(), KRY_F32, 81, 1, &b));
    OK(kry_vec_create(device(), KRY_F32, 81, 1, &x));
    OK(kry_vec_fill(b, 1));
    kry_device_set_monitor(device(), count_looks, &looks);
    assert_int_equal(kry_solve(S, b, x, NULL), KRY_STOPPED);
    assert_int_equal(looks, 2);
    kry_device_set_monitor(device(), NULL, NULL);
    OK(kry_solve(S, b, x, NULL));
    assert_int_equal(looks, 2);
    kry_vec_release(&b), kry_vec_release(&x);
    kry_op_release(&S), kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(last_error__of_its_thread),
        cmocka_unit_test(device_reserve__other_threads_are_refused),
        cmocka_unit_test(device_set_monitor__sees_and_stops_solves),
        BOTH(threads__one_device),
        BOTH(threads__one_solver),
        BOTH(threads__small_stack),
        BOTH(threads__a_device_each),
        BOTH(threads__read_the_same_vectors),
        BOTH(threads__one_queue),
        BOTH(team__refuses_a_second_thread),

    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
