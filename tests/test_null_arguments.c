/*
 * test_null_arguments.c - every public function with NULL for its pointers: it says which one is NULL, or does
 * nothing. null_arguments.py makes the calls of the headers.
 */
#include "testing.h"
#include <kry/opencl.h>
#include <setjmp.h>
#include <signal.h>

enum { N = 4 };

static sigjmp_buf before_call;
static int failures;

static void crashed(int number)
{
    (void)number;
    siglongjmp(before_call, 1);
}

static void complain(const char *function, const char *what, const char *text)
{
    print_error("%s: NULL for %s: %s\n", function, what, text);
    failures++;
}

static void judge(const char *function, const char *what, bool required, kry_status st)
{
    const char *text = kry_last_error();

    if (st == KRY_OK && !required) return;
    if (st == KRY_OK) complain(function, what, "taken");
    if (required && st < 0 && st != KRY_ERR_ARGUMENT) complain(function, what, text);
    if (required && st < 0 && !strstr(text, function)) complain(function, what, text);
}

#define STATUS(function, what, required, call)           \
    begin_call();                                        \
    if (!sigsetjmp(before_call, 1)) {                    \
        judge(function, what, required, call);           \
        release_all();                                   \
    } else {                                             \
        complain(function, what, "the program crashed"); \
    }
#define VOID(function, what, required, call)             \
    begin_call();                                        \
    if (!sigsetjmp(before_call, 1)) {                    \
        (void)(call);                                    \
    } else {                                             \
        complain(function, what, "the program crashed"); \
    }

static struct {
    kry_device *dev;
    kry_device_info *info;
    kry_vec *vec;
    kry_op *op;
    kry_queue *queue;
    kry_task *task;
    kry_sum *sum;
    kry_mtx *mtx;
    kry_share *share_of;
    kry_problem *problem;
    kry_report *report;
    kry_probe probe;
    kry_op_info op_info;
    kry_level_info level;
    kry_result result;
    kry_task_progress_info progress;
    kry_part_volume volume[4];
    kry_stencil_box box;
    kry_systems_report systems;
    kry_rank_facts facts;
    kry_batch_share share[4];
    cl_kernel kernel;
    int count;
    bool flag;
} out;

static int64_t places[N + 1];
static int32_t columns[N];

/* Calls write to these arrays, too. */
static void begin_call(void)
{
    memset(&out, 0, sizeof out);
    for (int i = 0; i <= N; i++) places[i] = i;
    for (int i = 0; i < N; i++) columns[i] = i;
}

static void release_all(void)
{
    kry_op_release(&out.op);
    kry_vec_release(&out.vec);
    kry_task_release(&out.task);
    kry_queue_release(&out.queue);
    kry_sum_release(&out.sum);
    kry_mtx_release(&out.mtx);
    kry_share_release(&out.share_of);
    kry_problem_release(&out.problem);
    kry_report_release(&out.report);
    kry_device_release(&out.dev);
    free(out.info);
}

static void null_for_each_pointer(void **state)
{
    (void)state;
    struct sigaction action = { .sa_handler = crashed }, old;
    static double numbers[4 * N];
    char text[200] = "";
    kry_device *dev = device();
    kry_vec *vec[8];
    kry_op *A;
    kry_queue *queue;
    kry_task *task;
    kry_sum *sum;
    kry_mtx *mtx;
    kry_problem *problem;
    kry_report *report;
    kry_launch_shape shape = kry_device_launch_shape(dev);
    const kry_side_values sides[3] = { { 0 } };
    const kry_op_shape op_shape = { N, N, KRY_F32, 0 };
    const kry_op_table table = { .struct_size = sizeof table };
    const kry_job job = { .name = "job" };
    const kry_host_block block = { .numbers = numbers, .type = KRY_F32, .n = N, .k = 1 };
    const kry_arg args[1] = { { 0 } };
    const kry_stop stop = { .rtol = 1e-3 };
    const kry_transport transport = { .size = 1 }; /* without functions */
    const kry_share share = { .n = N, .rows = N, .row_ptr = places, .col = places, .val = numbers };

    begin_call();
    OK(kry_csr_create(dev, KRY_F32, N, N, places, columns, (float[N]){ 1, 1, 1, 1 }, NULL, &A));
    for (int i = 0; i < 8; i++) OK(kry_vec_create(dev, KRY_F32, N, 1, &vec[i]));
    OK(kry_queue_create(dev, NULL, &queue));
    OK(kry_task_of_vec(vec[0], &task));
    OK(kry_sum_create(dev, 1, &sum));
    static const char file[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n";
    OK(kry_mtx_parse("mtx", file, sizeof file - 1, &mtx));
    OK(kry_problem_create("poisson2d:2", 0, &problem)); /* of N unknowns */
    OK(kry_report_begin(dev, &report));
    sigaction(SIGSEGV, &action, &old);
#include "null_arguments.h"
    sigaction(SIGSEGV, &old, NULL);
    kry_report_release(&report);
    kry_problem_release(&problem);
    kry_mtx_release(&mtx);
    kry_sum_release(&sum);
    kry_task_release(&task);
    kry_queue_release(&queue);
    for (int i = 0; i < 8; i++) kry_vec_release(&vec[i]);
    kry_op_release(&A);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(null_for_each_pointer) };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
