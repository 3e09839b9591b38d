/* test_batch.c - many jobs on several queues: everything is done once, by those who are quick. */
#include "tasks.h"
#include <stdatomic.h>

enum { JOBS = 500 };

typedef struct tally {
    atomic_int times[JOBS];
    atomic_int chunks[3];
    atomic_int largest[3];
    gate *gate;
    bool one_is_held_up; /* queue 1, at the gate, and queue 0 waits until it is there */
    int64_t fail_at;     /* this job fails; < 0: none does */
    kry_device *device[3];
    atomic_int wrong;
} tally;

static void tally_init(tally *t)
{
    memset(t, 0, sizeof *t);
    t->fail_at = -1;
}

static kry_status count_jobs(void *user, int queue, kry_device *dev, int64_t first, int64_t count)
{
    tally *t = user;

    if (dev != t->device[queue] || first < 0 || count < 1 || first + count > JOBS) {
        t->wrong++;
        return KRY_OK;
    }
    if (t->one_is_held_up && queue == 0 && !gate_wait(t->gate, 1)) return KRY_ERR_CALLBACK;
    t->chunks[queue]++;
    if (count > t->largest[queue]) t->largest[queue] = (int)count;
    for (int64_t i = first; i < first + count; i++) {
        t->times[i]++;
        if (i == t->fail_at) return kry_fail(KRY_ERR_SINGULAR, "system %d is singular", (int)i);
    }
    if (t->one_is_held_up && queue == 1) {
        gate_arrive(t->gate);
        if (!gate_wait(t->gate, 0)) return kry_fail(KRY_ERR_CALLBACK, "nobody opened");
    }
    return KRY_OK;
}

static void all_done_once(const tally *t, int64_t jobs)
{
    assert_int_equal(t->wrong, 0);
    for (int64_t i = 0; i < JOBS; i++) assert_int_equal(t->times[i], i < jobs);
}

static void open_queues(kry_queue **q, tally *t, int count)
{
    for (int i = 0; i < count; i++) {
        kry_device *dev = i < 2 ? another_device() : NULL;
        q[i] = queue_of(dev);
        t->device[i] = dev;
        if (dev) kry_device_release(&dev); /* the queue keeps it */
    }
}

static void close_queues(kry_queue **q, int count)
{
    for (int i = 0; i < count; i++) kry_queue_release(&q[i]);
}

/* ---- everything is done once ---- */

static void batch__every_job_once(void **state)
{
    (void)state;
    static const int64_t jobs[] = { 0, 1, 2, 3, 31, 33, JOBS - 1, JOBS };
    kry_queue *q[3];
    tally t;

    tally_init(&t);
    open_queues(q, &t, 3);
    for (int count = 1; count <= 3; count++)
        for (size_t j = 0; j < COUNT(jobs); j++)
            for (int64_t smallest = 0; smallest <= 14; smallest += 7) {
                kry_batch_share shares[3];
                int64_t done = 0;

                memset(t.times, 0, sizeof t.times);
                OK(kry_batch_run(KRY_JOBS(.queues = q, .count = count, .jobs = jobs[j],
                                          .run = count_jobs, .user = &t, .smallest = smallest),
                                 shares));
                all_done_once(&t, jobs[j]);
                for (int i = 0; i < count; i++) {
                    done += shares[i].jobs;
                    assert_true(shares[i].seconds >= 0 && shares[i].rate >= 0);
                    assert_true(shares[i].chunks >= (shares[i].jobs > 0));
                    if (smallest) assert_true(shares[i].chunks <= shares[i].jobs / smallest + 1);
                }
                assert_int_equal(done, jobs[j]);
            }
    close_queues(q, 3);
}

/* kry_batch_run on a thread of its own. */
typedef struct batch_thread {
    pthread_t thread;
    kry_batch_params params;
    kry_batch_share shares[2];
    kry_status status;
    char message[300];
} batch_thread;

static void *run_batch(void *user)
{
    batch_thread *b = user;
    b->status = kry_batch_run(&b->params, b->shares);
    snprintf(b->message, sizeof b->message, "%s", b->status < 0 ? kry_last_error() : "");
    return NULL;
}

static void batch_start(batch_thread *b, kry_queue **q, tally *t)
{
    *b = (batch_thread){ .params = *KRY_JOBS(.queues = q, .count = 2, .jobs = JOBS,
                                             .run = count_jobs, .user = t) };
    assert_int_equal(pthread_create(&b->thread, NULL, run_batch, b), 0);
}

/* While one queue is held up in its first chunk, the other one does the rest. */
static void batch__the_quick_one_does_the_rest(void **state)
{
    (void)state;
    kry_queue *q[2];
    batch_thread b;
    gate g;
    tally t;

    gate_init(&g);
    tally_init(&t);
    open_queues(q, &t, 2);
    t.gate = &g, t.one_is_held_up = true;
    batch_start(&b, q, &t);
    assert_true(gate_wait(&g, 1));
    OK(kry_queue_finish(q[0]));
    gate_open(&g);
    pthread_join(b.thread, NULL);
    assert_int_equal(b.status, KRY_OK);
    all_done_once(&t, JOBS);
    assert_int_equal(b.shares[1].jobs, t.largest[1]);
    assert_int_equal(b.shares[1].chunks, 1);
    assert_int_equal(b.shares[0].jobs, JOBS - t.largest[1]);
    close_queues(q, 2);
    gate_destroy(&g);
}

/* ---- how it is divided: with rates that are known, without a clock ---- */

/* Jobs take so long on each queue: the chunks follow from the rates. */
static const double job_seconds[] = { 1e-5, 8e-5 };

static kry_status take_time(void *user, int queue, kry_device *dev, int64_t first, int64_t count)
{
    (void)user;
    (void)dev;
    (void)first;
    struct timespec t = { 0, (long)(1e9 * job_seconds[queue] * (double)count) };
    nanosleep(&t, NULL);
    return KRY_OK;
}

/* Printed, not checked: other work on the machine decides. */
static void batch__is_divided_by_rates(void **state)
{
    (void)state;
    kry_queue *q[2] = { queue_of(NULL), queue_of(NULL) };
    kry_batch_share s[2];
    const int64_t jobs = 20000;

    double start = seconds_now();
    OK(kry_batch_run(KRY_JOBS(.queues = q, .count = 2, .jobs = jobs, .run = take_time), s));
    double seconds = seconds_now() - start,
           best = (double)jobs / (1 / job_seconds[0] + 1 / job_seconds[1]);
    print_message("# rates 8:1: jobs %.2f:1, %.3f s, %.2f of the best; chunks %d and %d\n",
                  (double)s[0].jobs / (double)s[1].jobs, seconds, best / seconds, (int)s[0].chunks,
                  (int)s[1].chunks);
    assert_int_equal(s[0].jobs + s[1].jobs, jobs);
    close_queues(q, 2);
}

/* ---- failures, cancelling ---- */

static void batch__first_failure_is_named(void **state)
{
    (void)state;
    kry_queue *q[2];
    tally t;

    tally_init(&t);
    open_queues(q, &t, 2);
    t.fail_at = 211;
    kry_batch_params *p = KRY_JOBS(.queues = q, .count = 2, .jobs = JOBS, .run = count_jobs,
                                   .user = &t, .name = "LU");
    REFUSES(kry_batch_run(p, NULL), KRY_ERR_SINGULAR, "LU: jobs ");
    REFUSES(kry_batch_run(p, NULL), KRY_ERR_SINGULAR, "system 211 is singular");
    t.fail_at = -1;
    memset(t.times, 0, sizeof t.times);
    OK(kry_batch_run(p, NULL)); /* the queues are as good as new */
    all_done_once(&t, JOBS);
    close_queues(q, 2);
}

/* A queue that is busy with something else, and cancelled before it comes to the batch. */
static void batch__a_queue_that_never_comes(void **state)
{
    (void)state;
    kry_queue *q[2];
    batch_thread b;
    gate g;
    tally t;

    gate_init(&g);
    tally_init(&t);
    open_queues(q, &t, 2);
    kry_task *shut = gate_job(q[1], &g, NULL, 0);
    assert_true(gate_wait(&g, 1));
    batch_start(&b, q, &t);
    double until = seconds_now() + PATIENCE;
    while (seconds_now() < until) { /* until the other one has done it all */
        int done = 0;
        for (int i = 0; i < JOBS; i++) done += t.times[i];
        if (done == JOBS) break;
    }
    kry_queue_cancel(q[1]);
    pthread_join(b.thread, NULL);
    assert_int_equal(b.status, KRY_OK);
    all_done_once(&t, JOBS);
    assert_int_equal(t.chunks[1], 0);
    kry_task_release(&shut);
    close_queues(q, 2);
    gate_destroy(&g);
}

/* All queues are cancelled with jobs left. */
static void batch__cancelled_on_its_way(void **state)
{
    (void)state;
    kry_queue *q[2];
    batch_thread b;
    gate g;
    tally t;

    gate_init(&g);
    tally_init(&t);
    open_queues(q, &t, 2);
    t.gate = &g, t.one_is_held_up = true;
    batch_start(&b, q, &t);
    assert_true(gate_wait(&g, 1));
    for (int i = 0; i < 2; i++) kry_queue_cancel(q[i]);
    gate_open(&g);
    pthread_join(b.thread, NULL);
    if (b.status != KRY_OK) { /* else queue 0 was quick */
        assert_int_equal(b.status, KRY_ERR_CANCELLED);
        assert_non_null(strstr(b.message, "batch: cancelled with "));
    }
    assert_int_equal(t.wrong, 0);
    for (int64_t i = 0; i < JOBS; i++) assert_true(t.times[i] <= 1);
    close_queues(q, 2);
    gate_destroy(&g);
}

static kry_status runs_a_batch(void *user, kry_task *self)
{
    kry_queue *h = user;
    tally t;
    (void)self;
    tally_init(&t);
    return kry_batch_run(
        KRY_JOBS(.queues = &h, .count = 1, .jobs = 2, .run = count_jobs, .user = &t), NULL);
}

/* A caller that was compiled with an earlier header has no `smallest`: what stands behind its struct is not read. */
static void batch__earlier_header(void **state)
{
    tally t;
    kry_queue *q[1];
    kry_batch_params p;

    (void)state;
    tally_init(&t);
    open_queues(q, &t, 1);
    p = *KRY_JOBS(.queues = q, .count = 1, .jobs = JOBS, .run = count_jobs, .user = &t,
                  .smallest = -1);
    REFUSES(kry_batch_run(&p, NULL), KRY_ERR_ARGUMENT, "chunks of at least -1");
    p.struct_size = offsetof(kry_batch_params, smallest);
    OK(kry_batch_run(&p, NULL));
    all_done_once(&t, JOBS);
    close_queues(q, 1);
}

static void batch__bad_input(void **state)
{
    (void)state;
    kry_queue *q[2] = { queue_of(NULL), NULL }, *twice[2] = { q[0], q[0] };
    kry_task *t;
    tally y;

    tally_init(&y);
    REFUSES(kry_batch_run(NULL, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_batch_run(KRY_JOBS(.queues = q, .count = 1, .jobs = 1), NULL), KRY_ERR_ARGUMENT,
            "no function");
    REFUSES(kry_batch_run(KRY_JOBS(.jobs = 1, .run = count_jobs), NULL), KRY_ERR_ARGUMENT,
            "no queues");
    REFUSES(kry_batch_run(KRY_JOBS(.queues = q, .count = 2, .run = count_jobs), NULL),
            KRY_ERR_ARGUMENT, "queue 1 is NULL");
    REFUSES(kry_batch_run(KRY_JOBS(.queues = twice, .count = 2, .run = count_jobs), NULL),
            KRY_ERR_ARGUMENT, "queues 0 and 1 are the same");
    REFUSES(kry_batch_run(KRY_JOBS(.queues = q, .count = 1, .jobs = -1, .run = count_jobs), NULL),
            KRY_ERR_ARGUMENT, "-1 jobs");
    REFUSES(kry_batch_run(&(kry_batch_params){ .run = count_jobs }, NULL), KRY_ERR_ARGUMENT,
            "KRY_JOBS");
    OK(kry_task_submit(q[0], KRY_JOB(.run = runs_a_batch, .user = q[0]), NULL, 0, &t));
    REFUSES(wait_for(t), KRY_ERR_ARGUMENT, "kry_batch_run: called from within a task");
    kry_task_release(&t);
    kry_queue_release(&q[0]);
}

/* ---- with work on devices ---- */

typedef struct norms {
    kry_type type;
    int64_t n;
    const void *numbers; /* n for each job */
    double *norm;        /* of each */
} norms;

static kry_status norms_of(void *user, int queue, kry_device *dev, int64_t first, int64_t count)
{
    const norms *w = user;
    kry_status st = KRY_OK;
    kry_vec *v = NULL, *column = NULL;
    const char *from = (const char *)w->numbers + (size_t)(first * w->n) * kry_type_size(w->type);

    (void)queue;
    TRY(kry_vec_create(dev, w->type, w->n, count, &v));
    TRY(kry_vec_write(v, from));
    for (int64_t j = 0; j < count; j++) {
        TRY(kry_vec_view(v, j, &column));
        TRY(kry_vec_norm2(column, &w->norm[first + j]));
        kry_vec_release(&column);
    }
done:
    kry_vec_release(&column);
    kry_vec_release(&v);
    return st;
}

static void batch__on_two_devices(void **state)
{
    enum { MANY = 70, LONG = 301 };
    norms w = { .type = type_of(state), .n = LONG };
    double *numbers = random_array(w.type, MANY * LONG), norm[MANY] = { 0 };
    void *host = in_type(w.type, numbers, MANY * LONG);
    kry_queue *q[2];
    tally t;

    w.numbers = host, w.norm = norm;
    open_queues(q, &t, 2);
    OK(kry_batch_run(KRY_JOBS(.queues = q, .count = 2, .jobs = MANY, .run = norms_of, .user = &w),
                     NULL));
    for (int j = 0; j < MANY; j++) {
        long double sum = 0;
        for (int i = 0; i < LONG; i++)
            sum += (long double)numbers[j * LONG + i] * numbers[j * LONG + i];
        NEAR(norm[j], sqrtl(sum), 4 * LONG * eps_of(acc_type()) * sqrtl(sum), "norm %d", j);
    }
    close_queues(q, 2);
    free(numbers), free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch__every_job_once),
        cmocka_unit_test(batch__the_quick_one_does_the_rest),
        cmocka_unit_test(batch__is_divided_by_rates),
        cmocka_unit_test(batch__first_failure_is_named),
        cmocka_unit_test(batch__cancelled_on_its_way),
        cmocka_unit_test(batch__a_queue_that_never_comes),
        cmocka_unit_test(batch__earlier_header),
        cmocka_unit_test(batch__bad_input),
        BOTH(batch__on_two_devices),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
