/*
 * test_fault.c - the k-th request for memory, on the host or the device, fails, for every k: the
 * call says so, hands out nothing, leaks nothing, and leaves a device that works.
 */
#include "tasks.h"
#include "teams.h"
#include <kry/tridiagonal.h>

/* ---- a whole session: device objects, matrix, preconditioner, solver, solve, update -------------
 */

enum { N = 60 };
static int64_t row_ptr[N + 1];
static int32_t col[3 * N], row[3 * N];
static float val[3 * N];
static double ones[N];

static int setup(void **state)
{
    (void)state;
    int64_t k = 0;
    for (int i = 0; i < N; i++) ones[i] = 1;
    for (int i = 0; i < N; i++) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, k++)
            row[k] = i, col[k] = j, val[k] = i == j ? 4 : -1;
        row_ptr[i + 1] = k;
    }
    return 0;
}

typedef struct session {
    kry_vec *b, *x;
    kry_op *A, *coo, *M, *solver;
    kry_result result;
    bool solved;
} session;

/* Poison, so that an output that is not set to NULL shows. */
#define POISONED(type) ((type *)(uintptr_t)0x10)

/* Request k failed, and the call says so or goes on without what only saves time; or there was none. */
#define SAYS_SO(st) assert_true((st) == KRY_OK || (request_failed && (st) == KRY_ERR_MEMORY))

/* A step that fails has set its output to NULL. */
#define STEP(call, output)       \
    do {                         \
        st = (call);             \
        if (st < 0) {            \
            assert_null(output); \
            goto done;           \
        }                        \
        assert_non_null(output); \
    } while (0)

static kry_status session_run(kry_device *dev, session *s)
{
    kry_status st = KRY_OK;
    float guess[N], after[N];
    double norm;

    *s = (session){ .b = POISONED(kry_vec) };
    STEP(kry_vec_create(dev, KRY_F32, N, 1, &s->b), s->b);
    s->x = POISONED(kry_vec);
    STEP(kry_vec_create(dev, KRY_F32, N, 1, &s->x), s->x);
    TRY(kry_vec_fill(s->b, 1));
    TRY(kry_vec_norm2(s->b, &norm));
    s->A = POISONED(kry_op);
    STEP(kry_csr_create(dev, KRY_F32, N, N, row_ptr, col, val, KRY_MATRIX(.traits = KRY_POSITIVE),
                        &s->A),
         s->A);
    s->coo = POISONED(kry_op);
    STEP(kry_coo_create(dev, KRY_F32, N, N, row_ptr[N], row, col, val, NULL, &s->coo), s->coo);
    s->M = POISONED(kry_op);
    STEP(kry_jacobi_create(s->A, &s->M), s->M);
    s->solver = POISONED(kry_op);
    STEP(kry_pcg_create(s->A, KRY_PCG(.precond = s->M), &s->solver), s->solver);
    for (int i = 0; i < N; i++) guess[i] = (float)i;
    TRY(kry_vec_write(s->x, guess));
    st = kry_solve(s->solver, s->b, s->x, &s->result);
    if (st < 0) { /* the guess is still there */
        assert_int_equal(kry_vec_read(s->x, after), KRY_OK);
        assert_memory_equal(after, guess, sizeof guess);
        goto done;
    }
    s->solved = st == KRY_OK;
    TRY(kry_op_update(s->A, val));
    TRY(kry_op_update(s->coo, val));
    TRY(kry_op_update(s->solver, NULL));
    TRY(kry_op_apply(s->A, 1, s->b, 0, s->x));
done:
    return st;
}

static void session_end(session *s)
{
    kry_op_release(&s->solver);
    kry_op_release(&s->M);
    kry_op_release(&s->coo);
    kry_op_release(&s->A);
    kry_vec_release(&s->x);
    kry_vec_release(&s->b);
}

/* Fail request k: true while there is one. */
static bool fails_cleanly(kry_device *dev, int k)
{
    session s;
    int refs = device_references(dev);

    kry_status st = FAILING(k, session_run(dev, &s));
    const bool reached = request_failed;
    if (st < 0 && st != KRY_ERR_MEMORY)
        fail_msg("request %d: '%s' (%s) instead of out of memory", k, kry_status_text(st),
                 kry_last_error());
    if (st < 0) assert_true(reached && kry_last_error()[0]);
    if (st >= 0) assert_true(s.solved); /* without the request, it works all the same */
    session_end(&s);
    assert_int_equal(device_references(dev), refs);
    return reached;
}

static void works(kry_device *dev)
{
    session s;
    OK(session_run(dev, &s));
    assert_true(s.solved);
    session_end(&s);
}

/* ---- sweeps
 * ---------------------------------------------------------------------------------------- */

static void fault__every_request_of_a_warm_device(void **state)
{
    (void)state;
    kry_device *dev = device();
    int k = 0;
    works(dev); /* compiles: from here on only objects are made */
    while (fails_cleanly(dev, k)) k++;
    assert_in_range(k, 30, 100000);
    print_message("# %d requests\n", k);
    works(dev);
    assert_int_equal(device_references(dev), 1);
}

/* The same with a device of its own for each k, a sample of them, so that opening it and compiling fail,
 * too. What only saves time (the cache on disk) may fail unnoticed. */
static void fault__every_request_of_a_new_device(void **state)
{
    (void)state;
    bool reached = true;
    int64_t k = random_below(every(23));
    for (; reached; k += every(23)) {
        kry_device *dev = POISONED(kry_device);
        fail_request(k);
        kry_status st = kry_device_open(NULL, &dev);
        const int64_t left = requests_left();
        end_requests();
        if (st < 0) {
            assert_int_equal(st, KRY_ERR_MEMORY);
            assert_null(dev);
            continue;
        }
        assert_non_null(dev);
        if (left >= 0) reached = fails_cleanly(dev, left);
        if (k % 16 == 0) works(dev);
        assert_int_equal(device_references(dev), 1);
        kry_device_release(&dev);
        assert_null(dev);
    }
    print_message("# %lld requests\n", (long long)k);
}

/* ---- in the background: requests are the caller's and the queues' threads' ---- */

enum { BACK_B, BACK_A, BACK_SOLVER, BACK_X, BACK_SUM, BACK_FAR, BACK_NORM, BACK };

static kry_status submit_all(kry_queue *const *q, kry_op *A, const float *b, double *norm,
                             kry_task **t)
{
    kry_status st = KRY_OK;

    TRY(kry_task_write(q[0], KRY_HOST(.type = KRY_F32, .n = N, .numbers = b), &t[BACK_B]));
    TRY(kry_task_of_op(A, &t[BACK_A]));
    TRY(kry_task_solver(q[0], t[BACK_A], "precond=jacobi", &t[BACK_SOLVER]));
    TRY(kry_task_solve(q[0], t[BACK_SOLVER], t[BACK_B], NULL, &t[BACK_X]));
    TRY(task_axpby(q[0], 2, t[BACK_X], 1, t[BACK_B], &t[BACK_SUM]));
    TRY(task_copy(q[1], t[BACK_SUM], &t[BACK_FAR])); /* on another device */
    TRY(task_norm2(q[1], t[BACK_FAR], &t[BACK_NORM]));
    TRY(kry_batch_run(
        KRY_JOBS(.queues = q, .count = 2, .jobs = 3, .run = norms_of_twos, .user = norm), NULL));
done:
    return st;
}

static kry_status background_run(kry_device *const *dev, kry_op *A)
{
    kry_status st = KRY_OK;
    kry_queue *q[2] = { NULL, NULL };
    kry_task *t[BACK] = { NULL };
    double norm[3];
    float b[N];

    for (int i = 0; i < N; i++) b[i] = (float)(i % 3);
    for (int i = 0; i < 2; i++) TRY(kry_queue_create(dev[i], NULL, &q[i]));
    TRY(submit_all(q, A, b, norm, t));
    for (int i = 0; i < BACK; i++) TRY(kry_task_wait(t[i]));
    for (int i = 0; i < 3; i++) assert_true(norm[i] == 6);
done:
    for (int i = 0; i < 2; i++) kry_queue_release(&q[i]);
    for (int i = 0; i < BACK; i++) kry_task_release(&t[i]);
    return st;
}

static void fault__every_request_in_the_background(void **state)
{
    (void)state;
    kry_device *dev[2] = { device(), NULL };
    kry_op *A;
    bool reached = true;
    int k = 0;

    OK(kry_device_open(NULL, &dev[1]));
    OK(kry_csr_create(dev[0], KRY_F32, N, N, row_ptr, col, val, KRY_MATRIX(.traits = KRY_POSITIVE),
                      &A));
    const int refs = device_references(dev[0]);
    OK(background_run(dev, A));
    for (; reached; k += small_run() ? 7 : 1) {
        kry_status st = FAILING(k, background_run(dev, A));
        reached = request_failed;
        if (st < 0 && st != KRY_ERR_MEMORY)
            fail_msg("request %d: '%s' (%s) instead of out of memory", k, kry_status_text(st),
                     kry_last_error());
        assert_int_equal(device_references(dev[0]), refs);
        assert_int_equal(device_references(dev[1]), 1);
    }
    assert_in_range(k, 30, 100000);
    print_message("# %d requests\n", k);
    OK(background_run(dev, A));
    kry_op_release(&A);
    kry_device_release(&dev[1]);
}

static void device_list__fails(void **state)
{
    (void)state;
    NOT_ON_HOST("list of OpenCL devices");
    EACH_REQUEST(k)
    {
        kry_device_info *info = POISONED(kry_device_info);
        int count = 7;
        kry_status st = FAILING(k, kry_device_list(&info, &count));
        if (!request_failed) {
            OK(st);
            free(info);
            break;
        }
        assert_int_equal(st, KRY_ERR_MEMORY);
        assert_null(info);
        assert_int_equal(count, 0);
    }
}

/* Values that do not fit anywhere for a moment leave the old ones in use. */
static void update__failure_keeps_the_old_values(void **state)
{
    (void)state;
    kry_op *A, *M;
    kry_vec *x, *y;
    float before[N], after[N], next[3 * N];

    OK(kry_csr_create(device(), KRY_F32, N, N, row_ptr, col, val, NULL, &A));
    OK(kry_jacobi_create(A, &M));
    OK(kry_vec_create(device(), KRY_F32, N, 1, &x));
    OK(kry_vec_create(device(), KRY_F32, N, 1, &y));
    OK(kry_vec_fill(x, 1));
    OK(kry_op_apply(M, 1, x, 0, y));
    OK(kry_vec_read(y, before));
    for (int64_t k = 0; k < row_ptr[N]; k++) next[k] = 2 * val[k];
    OK(kry_op_update(A, next));
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, kry_op_update(M, NULL));
        OK(kry_op_apply(M, 1, x, 0, y));
        OK(kry_vec_read(y, after));
        for (int i = 0; i < N; i++) assert_true(after[i] == (st < 0 ? 1 : 0.5f) * before[i]);
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
    }
    kry_vec_release(&x);
    kry_vec_release(&y);
    kry_op_release(&M);
    kry_op_release(&A);
}

/* ---- every format: made, multiplied with, given new values, read back ---- */

typedef struct stored {
    kry_op *A;
    kry_vec *x, *y;
    kry_sum *sum;
} stored;

static kry_status stored_run(kry_device *dev, kry_format format, kry_form form, stored *s)
{
    kry_status st = KRY_OK;
    int64_t ptr[N + 1];
    int32_t columns[3 * N];
    float numbers[3 * N];

    *s = (stored){ .A = POISONED(kry_op) };
    STEP(kry_csr_create(dev, KRY_F32, N, N, row_ptr, col, val,
                        KRY_MATRIX(.format = format, .form = form), &s->A),
         s->A);
    TRY(kry_vec_create(dev, KRY_F32, N, 1, &s->x));
    TRY(kry_vec_create(dev, KRY_F32, N, 1, &s->y));
    TRY(kry_sum_create(dev, 1, &s->sum));
    TRY(kry_vec_fill(s->x, 1));
    TRY(kry_op_apply(s->A, 1, s->x, 0, s->y));
    TRY(kry_op_residual(s->A, s->y, s->x, s->y));
    TRY(kry_op_apply_dot(s->A, s->x, s->y, s->sum));
    TRY(kry_op_diagonal(s->A, s->y));
    TRY(kry_op_update(s->A, val));
    TRY(kry_matrix_read(s->A, ptr, columns, numbers));
    assert_memory_equal(ptr, row_ptr, sizeof ptr);
    assert_memory_equal(columns, col, (size_t)row_ptr[N] * sizeof *col);
    assert_memory_equal(numbers, val, (size_t)row_ptr[N] * sizeof *val);
done:
    return st;
}

static bool stored_fails_cleanly(kry_device *dev, kry_format format, kry_form form, int k)
{
    stored s;
    int refs = device_references(dev);

    kry_status st = FAILING(k, stored_run(dev, format, form, &s));
    const bool reached = k >= 0 && request_failed;
    if (st < 0 && (st != KRY_ERR_MEMORY || !reached))
        fail_msg("%s, request %d: %s", kry_format_name(format), k, kry_last_error());
    kry_sum_release(&s.sum);
    kry_vec_release(&s.y);
    kry_vec_release(&s.x);
    kry_op_release(&s.A);
    assert_int_equal(device_references(dev), refs);
    return reached;
}

static void fault__every_request_of_every_format(void **state)
{
    (void)state;
    for (int i = 2 * KRY_FORMAT_CSR; i < 2 * KRY_FORMAT_COUNT; i++) {
        kry_format f = (kry_format)(i / 2);
        kry_form form = i % 2 ? KRY_FLUX : KRY_ASSEMBLED;
        int k = 0;
        if (!one_of(2, i + i / 2)) continue;         /* formats and forms in turns */
        stored_fails_cleanly(device(), f, form, -1); /* compiles */
        while (stored_fails_cleanly(device(), f, form, k)) k++;
        assert_in_range(k, 12, 100000);
        stored_fails_cleanly(device(), f, form, -1);
    }
}

/* Numbers that need double where single was enough: either all of it happens or nothing does, on a
 * device that has yet to compile for them, too. */
static void check_widening(kry_device *dev, const kry_matrix_params *p, int64_t k)
{
    static double narrow[3 * N], wide[3 * N];
    double y[N];
    kry_op *A;
    kry_vec *x, *Ax;

    for (int64_t e = 0; e < row_ptr[N]; e++) narrow[e] = val[e], wide[e] = val[e] / 3.0;
    OK(kry_csr_create(dev, KRY_F64, N, N, row_ptr, col, narrow, p, &A));
    OK(kry_vec_create(dev, KRY_F64, N, 1, &x));
    OK(kry_vec_create(dev, KRY_F64, N, 1, &Ax));
    OK(kry_vec_fill(x, 3));
    kry_status st = FAILING(k, kry_op_update(A, wide));
    SAYS_SO(st);
    OK(kry_op_apply(A, 1, x, 0, Ax));
    OK(kry_vec_read(Ax, y));
    for (int i = 0; i < N; i++) { /* rows 3 -1, -1 4 -1 and so on, times 3 or 1 */
        double want = (i == 0 || i == N - 1 ? 3 : 2) * (st < 0 ? 3.0 : 1.0);
        NEAR(y[i], want, 1e-12, "format %d, request %lld, row %d", (int)p->format, (long long)k, i);
    }
    kry_vec_release(&Ax);
    kry_vec_release(&x);
    kry_op_release(&A);
}

static void update__failure_to_widen_keeps_the_old_values(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    for (kry_format f = KRY_FORMAT_CSR; f <= KRY_FORMAT_COUNT; f++) {
        const bool flux = f == KRY_FORMAT_COUNT;
        int64_t k = random_below(every(9));
        if (!in_sample(f)) continue;
        const kry_matrix_params *p = flux ? KRY_MATRIX(.format = KRY_FORMAT_SELL, .form = KRY_FLUX)
                                          : KRY_MATRIX(.format = f);
        do {
            kry_device *dev;
            OK(kry_device_open(NULL, &dev));
            check_widening(dev, p, k);
            assert_int_equal(device_references(dev), 1);
            kry_device_release(&dev);
            k += every(9);
        } while (request_failed);
    }
}

/* ---- relaxations and what is made of them ------------------------------------------------------ */

typedef struct relaxed {
    kry_vec *b, *x;
    kry_op *grid, *faces, *A, *ip, *of_grid, *of_matrix, *sor, *jacobi, *pcg;
} relaxed;

static kry_status relaxed_run(kry_device *dev, relaxed *s)
{
    kry_status st = KRY_OK;

    *s = (relaxed){ .b = NULL };
    TRY(kry_vec_create(dev, KRY_F32, N, 1, &s->b));
    TRY(kry_vec_create(dev, KRY_F32, N, 1, &s->x));
    TRY(kry_vec_fill(s->b, 1));
    TRY(kry_stencil_create(
        dev, KRY_F32,
        KRY_STENCIL(.size = { 10, N / 10 }, .low = { KRY_NEUMANN }, .high = { KRY_DIRICHLET }),
        &s->grid));
    s->faces = POISONED(kry_op);
    STEP(kry_stencil_create(
             dev, KRY_F32,
             KRY_STENCIL(.size = { 10, N / 10 }, .coefficient = ones, .face = { ones, ones }),
             &s->faces),
         s->faces);
    TRY(kry_csr_create(dev, KRY_F32, N, N, row_ptr, col, val, NULL, &s->A));
    s->ip = s->of_grid = s->of_matrix = s->sor = s->jacobi = s->pcg = POISONED(kry_op);
    STEP(kry_incomplete_poisson_create(s->grid, NULL, &s->ip), s->ip);
    STEP(kry_chebyshev_create(s->grid, NULL, &s->of_grid), s->of_grid);
    STEP(kry_chebyshev_create(s->A, NULL, &s->of_matrix), s->of_matrix);
    STEP(kry_relaxation_create(s->grid, KRY_RELAXATION(.method = KRY_SOR), &s->sor), s->sor);
    STEP(kry_relaxation_create(s->A, NULL, &s->jacobi), s->jacobi);
    STEP(kry_solver_create(s->A, "precond=chebyshev:2", NULL, NULL, &s->pcg), s->pcg);
    TRY(kry_solve(s->jacobi, s->b, s->x, NULL));
    TRY(kry_solve(s->sor, s->b, s->x, NULL));
    TRY(kry_op_update(s->of_matrix, NULL));
done:
    return st;
}

static void relaxed_end(relaxed *s)
{
    kry_op **ops[] = {
        &s->pcg, &s->jacobi, &s->sor, &s->of_matrix, &s->of_grid, &s->ip, &s->faces
    };
    for (size_t i = 0; i < COUNT(ops); i++)
        if (*ops[i] != POISONED(kry_op)) kry_op_release(ops[i]);
    kry_op_release(&s->A);
    kry_op_release(&s->grid);
    kry_vec_release(&s->x);
    kry_vec_release(&s->b);
}

static void fault__every_request_of_relaxations(void **state)
{
    (void)state;
    kry_device *dev = device();
    relaxed s;
    int all = 0;

    OK(relaxed_run(dev, &s)); /* compiles */
    relaxed_end(&s);
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, relaxed_run(dev, &s));
        SAYS_SO(st);
        relaxed_end(&s);
        assert_int_equal(device_references(dev), 1);
        all++;
    }
    assert_in_range(all, 60, 100000);
    print_message("# %d requests\n", all);
}

/* ---- preconditioners that take a matrix apart on the host: made, given new values, applied ------ */

static kry_status precond_run(kry_op *A, const char *name, kry_vec *b, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_op *M = POISONED(kry_op);

    STEP(kry_precond_create(A, name, &M), M);
    TRY(kry_op_apply(M, 1, b, 0, z));
    TRY(kry_op_update(M, NULL));
    TRY(kry_op_apply(M, 1, b, 0, z));
done:
    if (M) kry_op_release(&M);
    return st;
}

/* The A of file scope, as a matrix and as a grid of other values. */
static void fault__every_request_of_preconditioners(void **state)
{
    (void)state;
    static const char *const names[] = {
        "ip",      "ip:drop",        "ip:unscaled",    "ssor-ai:2",
        "neumann", "block-jacobi:7", "block-jacobi:4", "block-ic:20@half",
        "fsai:2",  "fsai:entries=3", "saddle:9,upper", "amg:coarsest=20,restrict=air"
    };
    kry_op *A[2];
    kry_vec *b, *z;
    int all = 0;

    OK(kry_csr_create(device(), KRY_F32, N, N, row_ptr, col, val, NULL, &A[0]));
    OK(kry_stencil_create(device(), KRY_F32, KRY_STENCIL(.size = { 10, N / 10 }), &A[1]));
    OK(kry_vec_create(device(), KRY_F32, N, 1, &b));
    OK(kry_vec_create(device(), KRY_F32, N, 1, &z));
    OK(kry_vec_fill(b, 1));
    const int refs = device_references(device());
    for (size_t i = 0; i < 2 * COUNT(names); i++) {
        OK(precond_run(A[i % 2], names[i / 2], b, z)); /* compiles */
        EACH_REQUEST(k)
        {
            kry_status st = FAILING(k, precond_run(A[i % 2], names[i / 2], b, z));
            SAYS_SO(st);
            assert_int_equal(device_references(device()), refs);
            all++;
        }
    }
    assert_in_range(all, 100, 100000);
    print_message("# %d requests\n", all);
    kry_vec_release(&z);
    kry_vec_release(&b);
    kry_op_release(&A[1]);
    kry_op_release(&A[0]);
}

/* ---- mixed precision: on the device and on the host, promoted, given new values -------------------- */

static kry_status mixed_run(bool on_host, const char *words)
{
    kry_status st = KRY_OK;
    double x[N], values[3 * N];
    kry_op *A = POISONED(kry_op), *S = NULL;
    kry_result res;

    for (int64_t k = 0; k < row_ptr[N]; k++) values[k] = val[k];
    for (int i = 0; i < N; i++) x[i] = i;
    STEP(kry_csr_create(device(), KRY_F64, N, N, row_ptr, col, values,
                        KRY_MATRIX(.traits = KRY_POSITIVE, .on_host = on_host), &A),
         A);
    S = POISONED(kry_op);
    STEP(kry_solver_create(A, words, NULL, NULL, &S), S);
    st = kry_solve_host(S, ones, x, &res);
    if (st < 0) /* the guess is still there */
        for (int i = 0; i < N; i++) assert_true(x[i] == i);
    TRY(st);
    for (int64_t k = 0; k < row_ptr[N]; k++) values[k] *= 1.5;
    TRY(kry_op_update(A, values));
    TRY(kry_op_update(S, NULL));
    TRY(kry_solve_host(S, ones, x, &res));
done:
    if (S) kry_op_release(&S);
    if (A) kry_op_release(&A);
    return st;
}

static void fault__every_request_of_mixed_precision(void **state)
{
    (void)state;
    static const char *const words[] = { "precision=mixed", "precision=mixed scheme=flexible",
                                         "precision=mixed method=pcg equilibrate=on",
                                         "precision=mixed delta=0.9 rtol=1e-15 maxit=40" };
    const bool fp64 = kry_device_get_info(device())->fp64, stays = has_host();
    const int refs = device_references(device());
    int all = 0;
    if (!fp64 && !stays) SKIP("no double");
    for (size_t i = 0; i < 2 * COUNT(words); i++) {
        if (i % 2 ? !stays : !fp64) continue;
        (void)mixed_run(i % 2, words[i / 2]); /* compiles */
        EACH_REQUEST(k)
        {
            kry_status st = FAILING(k, mixed_run(i % 2, words[i / 2]));
            assert_true(st >= 0 || (request_failed && st == KRY_ERR_MEMORY));
            assert_int_equal(device_references(device()), refs);
            all++;
        }
    }
    assert_in_range(all, 100, 100000);
    print_message("# %d requests\n", all);
}

/* ---- several right-hand sides ------------------------------------------------------------------- */

/* Of two numbers of columns, so that what was made for the first makes room for the second. */
static kry_status columns_run(void)
{
    kry_status st = KRY_OK;
    kry_op *A = POISONED(kry_op), *S = NULL;
    kry_vec *b = NULL, *x = NULL, *b2 = NULL, *x2 = NULL;

    STEP(kry_csr_create(device(), KRY_F32, N, N, row_ptr, col, val,
                        KRY_MATRIX(.traits = KRY_POSITIVE), &A),
         A);
    S = POISONED(kry_op);
    STEP(kry_solver_create(A, "method=pcg precond=jacobi", NULL, NULL, &S), S);
    TRY(kry_vec_create(device(), KRY_F32, N, 5, &b));
    TRY(kry_vec_create(device(), KRY_F32, N, 5, &x));
    TRY(kry_vec_fill(b, 1));
    TRY(kry_vec_block(b, 0, N, 1, 3, &b2));
    TRY(kry_vec_block(x, 0, N, 1, 3, &x2));
    TRY(kry_solve(S, b, x, NULL));
    TRY(kry_vec_fill(x2, 2));
    TRY(kry_solve(S, b2, x2, NULL));
done:
    kry_vec_release(&x2), kry_vec_release(&b2), kry_vec_release(&x), kry_vec_release(&b);
    if (S) kry_op_release(&S);
    if (A) kry_op_release(&A);
    return st;
}

static void fault__every_request_of_several_columns(void **state)
{
    (void)state;
    const int refs = device_references(device());
    int all = 0;

    OK(columns_run()); /* compiles */
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, columns_run());
        assert_true(st >= 0 || (request_failed && st == KRY_ERR_MEMORY));
        assert_int_equal(device_references(device()), refs);
        all++;
    }
    assert_in_range(all, 50, 10000);
}

/* ---- dense matrices: products, factors, echelon forms, inverses --------------------------------- */

typedef struct dense {
    kry_vec *A, *B, *X, *inverse;
    kry_op *op, *lu;
} dense;

static kry_status dense_run(kry_device *dev, dense *s)
{
    enum { M = 40 };
    static float numbers[M * M];
    kry_status st = KRY_OK;
    double reciprocal;
    int64_t pivots[M], rank = 7;

    *s = (dense){ .A = NULL };
    for (int i = 0; i < M * M; i++) numbers[i] = (float)sin(i) + (i % (M + 1) == 0 ? 8.0f : 0);
    forget_kept(dev); /* so that it is asked for again */
    TRY(kry_vec_create(dev, KRY_F32, M, M, &s->A));
    TRY(kry_vec_create(dev, KRY_F32, M, 3, &s->B));
    TRY(kry_vec_create(dev, KRY_F32, M, 3, &s->X));
    TRY(kry_vec_create(dev, KRY_F32, M, M, &s->inverse));
    TRY(kry_vec_write(s->A, numbers));
    TRY(kry_vec_fill(s->X, 1));
    s->op = s->lu = POISONED(kry_op);
    STEP(kry_dense_create(s->A, 0, &s->op), s->op);
    STEP(kry_lu_create(s->A, NULL, &s->lu), s->lu);
    if (has_clblast() && !is_host(dev)) TRY(gemm_by(true, false, false, 1, s->A, s->X, 0, s->B));
    TRY(kry_vec_gemm(false, false, 1, s->A, s->X, 0, s->B));
    TRY(kry_lu_solve(s->lu, false, s->B, s->X));
    TRY(kry_lu_condition(s->lu, &reciprocal));
    TRY(kry_vec_inverse(s->A, NULL, s->inverse));
    TRY(kry_vec_transpose(s->inverse, s->A));
    st = kry_vec_rref(s->A, 0, pivots, &rank);
    assert_int_equal(rank, st < 0 ? 0 : M);
done:
    return st;
}

static void dense_end(dense *s)
{
    if (s->lu != POISONED(kry_op)) kry_op_release(&s->lu);
    if (s->op != POISONED(kry_op)) kry_op_release(&s->op);
    kry_vec_release(&s->A), kry_vec_release(&s->B);
    kry_vec_release(&s->X), kry_vec_release(&s->inverse);
}

static void fault__every_request_of_dense_matrices(void **state)
{
    (void)state;
    kry_device *dev = device();
    dense s;
    int all = 0;

    OK(dense_run(dev, &s)); /* compiles */
    dense_end(&s);
    EACH_REQUEST(k)
    {
        /* What a panel in one launch wants is done without: then there is a launch for each column. */
        kry_status st = FAILING(k, dense_run(dev, &s));
        SAYS_SO(st);
        dense_end(&s);
        assert_int_equal(device_references(dev), 1);
        all++;
    }
    assert_in_range(all, 60, 100000);
    print_message("# %d requests\n", all);
}

/* ---- two devices: flux form, read back, deflation in single; whichever part it hits ---------------- */

static kry_status team_run(kry_device *team, bool fp64)
{
    kry_status st = KRY_OK;
    double wide[3 * N], kept[3 * N];
    int64_t ptr[N + 1];
    int32_t columns[3 * N];
    kry_op *A = POISONED(kry_op), *S = NULL;
    const void *values = fp64 ? (void *)wide : (void *)val;

    for (int64_t k = 0; k < row_ptr[N]; k++) wide[k] = val[k];
    STEP(kry_csr_create(
             team, fp64 ? KRY_F64 : KRY_F32, N, N, row_ptr, col, values,
             KRY_MATRIX(.traits = KRY_POSITIVE, .format = KRY_FORMAT_CSR, .form = KRY_FLUX), &A),
         A);
    TRY(kry_matrix_read(A, ptr, columns, kept));
    S = POISONED(kry_op);
    STEP(kry_solver_create(A,
                           fp64 ? "method=pcg precision=mixed deflation=stripes:4"
                                : "method=pcg deflation=stripes:4",
                           NULL, NULL, &S),
         S);
    TRY(kry_op_update(A, values));
    TRY(kry_op_update(S, NULL));
done:
    if (S) kry_op_release(&S);
    if (A) kry_op_release(&A);
    return st;
}

static void fault__every_request_of_a_team(void **state)
{
    (void)state;
    const bool fp64 = kry_device_get_info(device())->fp64;
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    int all = 0;

    OK(team_run(team, fp64));                 /* compiles */
    const int held = device_references(team); /* by whoever shares the team among tests */
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, team_run(team, fp64));
        SAYS_SO(st);
        assert_int_equal(device_references(team), held);
        for (int i = 0; i < 2; i++) assert_int_equal(device_references(kry_team_part(team, i)), 1);
        all++;
    }
    assert_in_range(all, 100, 100000);
    print_message("# %d requests\n", all);
    OK(team_run(team, fp64));
    close_team(&team);
}

/* ---- batches of tridiagonal systems: what stays with the device is taken from it each time ------------ */

static void fault__every_request_of_batches(void **state)
{
    (void)state;
    enum { EQUATIONS = 700, SYSTEMS = 3, RUNS = 5 };
    kry_vec *lower, *diagonal, *b, *x;
    int all = 0;

    OK(kry_vec_create(device(), KRY_F32, EQUATIONS, SYSTEMS, &lower));
    OK(kry_vec_create(device(), KRY_F32, EQUATIONS, SYSTEMS, &diagonal));
    OK(kry_vec_create(device(), KRY_F32, EQUATIONS, SYSTEMS, &b));
    OK(kry_vec_create(device(), KRY_F32, EQUATIONS, SYSTEMS, &x));
    OK(kry_vec_fill(lower, 1));
    OK(kry_vec_fill(b, 1));
    const int refs = device_references(device());
    for (int run = 0; run < RUNS; run++) {
        bool reached = true;
        for (int k = -1; reached || k == 0; k++) { /* -1: compiles */
            const kry_tridiagonal_params p = { .struct_size = sizeof p, .periodic = run == 1 };
            OK(kry_vec_fill(diagonal, run < 3 ? 4 : 1.5)); /* 3: solved again, with pivoting */
            if (run == 2) OK(kry_vec_fill(b, 1));
            forget_kept(device());
            kry_status st = FAILING(
                k, run == 4
                       ? kry_pentadiagonal_solve(&p, lower, lower, diagonal, lower, lower, b, x)
                       : kry_tridiagonal_solve(&p, lower, diagonal, lower, b, run == 2 ? b : x));
            reached = k >= 0 && request_failed;
            assert_int_equal(st, reached ? KRY_ERR_MEMORY : KRY_OK);
            assert_int_equal(device_references(device()), refs);
            all += reached;
        }
    }
    assert_in_range(all, 20, 1000);
    kry_vec_release(&x), kry_vec_release(&b);
    kry_vec_release(&diagonal), kry_vec_release(&lower);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault__every_request_of_a_warm_device),
        cmocka_unit_test(fault__every_request_of_relaxations),
        cmocka_unit_test(fault__every_request_of_preconditioners),
        cmocka_unit_test(fault__every_request_of_mixed_precision),
        cmocka_unit_test(fault__every_request_of_several_columns),
        cmocka_unit_test(fault__every_request_of_dense_matrices),
        cmocka_unit_test(fault__every_request_of_a_team),
        cmocka_unit_test(fault__every_request_of_a_new_device),
        cmocka_unit_test(fault__every_request_of_every_format),
        cmocka_unit_test(fault__every_request_in_the_background),
        cmocka_unit_test(fault__every_request_of_batches),
        cmocka_unit_test(device_list__fails),
        cmocka_unit_test(update__failure_keeps_the_old_values),
        cmocka_unit_test(update__failure_to_widen_keeps_the_old_values),

    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, close_device);
}
