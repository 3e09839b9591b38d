/*
 * test_clock.c - waits last as long as they should where the host has no monotonic clock for them.
 */
#include "tasks.h"
#include <errno.h>
#include <pthread.h>

/* Stands in for that of the host. */
int pthread_condattr_setclock(pthread_condattr_t *how, clockid_t id)
{
    (void)how, (void)id;
    return EINVAL;
}

static kry_status sleep_a_while(void *user, kry_task *self)
{
    (void)user, (void)self;
    struct timespec t = { .tv_sec = 1 };
    nanosleep(&t, NULL);
    return KRY_OK;
}

static void a_wait_lasts(void **state)
{
    (void)state;
    kry_queue *queue;
    kry_task *task;
    bool ended = true;

    OK(kry_queue_create(NULL, NULL, &queue));
    OK(kry_task_submit(queue, KRY_JOB(.run = sleep_a_while), NULL, 0, &task));
    double start = seconds_now();
    OK(kry_task_wait_for(task, 0.4, &ended));
    assert_false(ended);
    assert_true(seconds_now() - start > 0.3);
    OK(kry_task_wait_for(task, 60, &ended));
    assert_true(ended);
    assert_true(seconds_now() - start < 30);
    kry_task_release(&task);
    kry_queue_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_wait_lasts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
