/*
 * test_null_arguments.c - every public function with NULL for its pointers: it says which one is NULL, or does
 * nothing; and with wrong values: of another device, size or type, out of range, not finite. A function that fails
 * says why and hands out NULL. null_arguments.py makes the calls of the headers. Sanitizers see what is read or written
 * beyond arrays.
 */
#include "testing.h"
#include <kry/eigenvalues.h>
#include <kry/opencl.h>
#include <kry/problem.h>
#include <kry/queue.h>
#include <kry/report.h>
#include <limits.h>
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

static char untouched; /* where handles point before a call */

/* handle: where the call was to leave what it makes; NULL: it makes nothing, or was given no place */
static void judge(const char *function, const char *what, bool required, kry_status st,
                  void *handle)
{
    const char *text = kry_last_error();
    void *made = NULL;

    if (handle) memcpy(&made, handle, sizeof made);
    if (st < 0 && made) complain(function, what, "failed, and does not hand out NULL");
    if (st >= 0 && made == &untouched) complain(function, what, "hands out nothing");
    if (st < 0 && !*text) complain(function, what, "failed without a message");
    if (st == KRY_OK && !required) return;
    if (st == KRY_OK) complain(function, what, "taken");
    if (required && st < 0 && st != KRY_ERR_ARGUMENT) complain(function, what, text);
    if (required && st < 0 && !strstr(text, function)) complain(function, what, text);
}

#define STATUS(function, what, required, call, handle)   \
    begin_call();                                        \
    if (!sigsetjmp(before_call, 1)) {                    \
        judge(function, what, required, call, handle);   \
        release_all();                                   \
    } else {                                             \
        complain(function, what, "the program crashed"); \
    }
#define VOID(function, what, required, call, handle)     \
    begin_call();                                        \
    forget_untouched();                                  \
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
    kry_eigen_result eigen;
    kry_systems *solver;
    kry_systems_result all_systems;
    kry_op_info op_info;
    kry_level_info level;
    kry_result result;
    kry_task_progress_info progress;
    kry_part_volume volume[4];
    kry_stencil_box box;
    kry_stencil_info grid;
    FILE *file;
    kry_systems_report systems;
    kry_rank_facts facts;
    kry_batch_share share[4];
    cl_kernel kernel;
    char *text;
    int count;
    bool flag;
} out;

/* All handles of `out`. */
static void *const *const handles[] = {
    (void *)&out.dev,      (void *)&out.info,    (void *)&out.vec,    (void *)&out.op,
    (void *)&out.queue,    (void *)&out.task,    (void *)&out.sum,    (void *)&out.mtx,
    (void *)&out.share_of, (void *)&out.problem, (void *)&out.report, (void *)&out.text,
    (void *)&out.solver,
};

static void set_handles(const void *from, const void *to)
{
    for (size_t i = 0; i < COUNT(handles); i++)
        if (*handles[i] == from) memcpy((void *)handles[i], &to, sizeof to);
}

static void forget_untouched(void) { set_handles(&untouched, NULL); }

enum { ROOM = 4096 }; /* for what calls write with other sizes than N */
static int64_t places[ROOM];
static int32_t columns[ROOM];
static int64_t falling[ROOM]; /* no row pointers */
static int32_t outside[ROOM]; /* no columns or labels */

/* Calls write to these arrays, too. */
static void begin_call(void)
{
    memset(&out, 0, sizeof out);
    set_handles(NULL, &untouched);
    for (int i = 0; i < ROOM; i++) places[i] = i <= N ? i : N, columns[i] = i % N;
    for (int i = 0; i < ROOM; i++)
        falling[i] = i % 2 ? 7 - i : i, outside[i] = i % 2 ? -1 - i : INT32_MAX;
}

static void release_all(void)
{
    forget_untouched();
    kry_op_release(&out.op);
    kry_vec_release(&out.vec);
    kry_task_release(&out.task);
    kry_queue_release(&out.queue);
    kry_sum_release(&out.sum);
    kry_mtx_release(&out.mtx);
    kry_share_release(&out.share_of);
    kry_problem_release(&out.problem);
    kry_report_release(&out.report);
    kry_systems_release(&out.solver);
    kry_device_release(&out.dev);
    free(out.info);
    free(out.text);
}

/* Of other devices, sizes and types than the arguments of a call. */
static struct {
    kry_device *dev, *team;
    kry_vec *vec, *longer, *wide, *wider_type, *on_team;
    kry_op *op, *rectangular, *solver, *on_team_op;
    kry_sum *sum;
} other;

static const kry_op_shape wrong_shape[] = { { -1, N, KRY_F32, 0 },
                                            { N, N, (kry_type)9, 0 },
                                            { N, 9, KRY_F32, KRY_POSITIVE },
                                            { N, N, KRY_F32, ~0u } };
static const kry_stop wrong_stop[] = { { .rtol = NAN },
                                       { .rtol = -1, .max_iter = -1 },
                                       { .test = (kry_stop_test)9 } };
static const kry_mtx wrong_mtx[] = {
    { .symmetry = (kry_mtx_symmetry)7,
      .rows = N,
      .cols = N,
      .nnz = N,
      .row = outside,
      .col = columns },
    { .rows = N, .cols = N, .nnz = N, .row = columns, .col = columns },
    { .array = true, .rows = INT64_MAX, .cols = INT64_MAX, .nnz = INT64_MAX },
    { .rows = -1, .cols = N, .nnz = INT64_MIN },
};
static const char zeros[ROOM];

/* dev: that of the arguments that are right */
static void make_others(kry_device *dev, kry_op *A)
{
    const float ones[N] = { 1, 1, 1, 1 };

    other.dev = open_host_or_opencl();
    OK(kry_vec_create(other.dev, KRY_F32, N, 1, &other.vec));
    OK(kry_csr_create(other.dev, KRY_F32, N, N, places, columns, ones, NULL, &other.op));
    OK(kry_sum_create(other.dev, 1, &other.sum));
    OK(kry_vec_create(dev, KRY_F32, N + 1, 1, &other.longer));
    OK(kry_vec_create(dev, KRY_F32, N, 3, &other.wide));
    OK(kry_vec_create(dev, KRY_F64, N, 1, &other.wider_type));
    OK(kry_csr_create(dev, KRY_F32, N, 9, places, columns, ones, NULL, &other.rectangular));
    OK(kry_solver_create(A, "method=cg precond=none", NULL, NULL, &other.solver));
    if (kry_device_open("cpu/2,use-all", &other.team) < 0) other.team = open_host_or_opencl();
    OK(kry_vec_create(other.team, KRY_F32, N, 1, &other.on_team));
    OK(kry_csr_create(other.team, KRY_F32, N, N, places, columns, ones, NULL, &other.on_team_op));
}

static void release_others(void)
{
    kry_vec **const vec[] = { &other.vec, &other.longer, &other.wide, &other.wider_type,
                              &other.on_team };
    kry_op **const op[] = { &other.op, &other.rectangular, &other.solver, &other.on_team_op };

    for (size_t i = 0; i < COUNT(op); i++) kry_op_release(op[i]);
    for (size_t i = 0; i < COUNT(vec); i++) kry_vec_release(vec[i]);
    kry_sum_release(&other.sum);
    kry_device_release(&other.team);
    kry_device_release(&other.dev);
}

static void call_all(kry_device *dev, bool wrong)
{
    struct sigaction action = { .sa_handler = crashed }, old;
    static double numbers[ROOM];
    char text[200] = "";
    kry_vec *vec[8];
    kry_op *A;
    kry_queue *queue;
    kry_task *task;
    kry_sum *sum;
    kry_mtx *mtx;
    kry_problem *problem;
    kry_report *report;
    kry_systems *systems;
    kry_launch_shape shape = kry_device_launch_shape(dev);
    const kry_side_values sides[3] = { { 0 } };
    const kry_op_shape op_shape = { N, N, KRY_F32, 0 };
    const kry_op_table table = { .struct_size = sizeof table };
    const kry_job job = { .name = "job" };
    const kry_host_block block = { .numbers = numbers, .type = KRY_F32, .n = N, .k = 1 };
    const kry_arg args[1] = { { 0 } };
    kry_stop stop = { .rtol = 1e-3 };
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
    OK(kry_systems_create(dev, KRY_F32, 2, NULL, NULL, NULL, &systems));
    if (wrong) make_others(dev, A);
    sigaction(SIGSEGV, &action, &old);
    if (wrong) {
#define WRONG 1
#include "null_arguments.h"
    } else {
#undef WRONG
#define WRONG 0
#include "null_arguments.h"
    }
    sigaction(SIGSEGV, &old, NULL);
    kry_systems_release(&systems);
    kry_report_release(&report);
    kry_problem_release(&problem);
    kry_mtx_release(&mtx);
    kry_sum_release(&sum);
    kry_task_release(&task);
    kry_queue_release(&queue);
    for (int i = 0; i < 8; i++) kry_vec_release(&vec[i]);
    kry_op_release(&A);
    if (wrong) release_others();
    assert_int_equal(failures, 0);
}

static void null_for_each_pointer(void **state)
{
    (void)state;
    call_all(device(), false);
}

/* On the host device, which compiles no kernels, if it is there. */
static void wrong_for_each_argument(void **state)
{
    kry_device *dev = open_host_or_opencl();

    (void)state;
    call_all(dev, true);
    kry_device_release(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(null_for_each_pointer),
                                        cmocka_unit_test(wrong_for_each_argument) };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
