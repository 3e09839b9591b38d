/*
 * test_call_faults.c - the k-th OpenCL call of any kind fails, for every k (a sample of them unless
 * KRY_FULL is set): setting up, solving, taking new values and letting go, for every format and
 * solver. The call says so, hands out nothing, leaves nothing behind and nothing changed, and the
 * same device does the next thing. And the device is lost with call k: everything comes to its end.
 */
#include "layered.h"
#include "teams.h"
#include <kry/deflation.h>
#include <kry/laplace.h>
#include <kry/precond.h>
#include <kry/stencil.h>
#include <unistd.h>

/* ---- what is solved: a matrix of three diagonals, and a grid ----------------------------- */

enum { N = 60, NX = 10 };
static int64_t row_ptr[N + 1];
static int32_t col[3 * N];
static double val[2][3 * N], ones[N]; /* old values, and new ones */

static int setup(void **state)
{
    (void)state;
    int64_t k = 0;
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, k++)
            col[k] = j, val[0][k] = i == j ? 4 : -1, val[1][k] = 2 * val[0][k];
        row_ptr[i + 1] = k;
    }
    return 0;
}

/* Poison, so that an output that is not set to NULL shows. */
#define POISONED(type) ((type *)(uintptr_t)0x10)

/* One sequence of calls, from setting up to letting go. */
typedef struct scene {
    const char *name; /* a format, or words of kry_solver_create */
    kry_status (*run)(kry_device *dev, const struct scene *s, bool *good);
    kry_type type;
    bool grid;
    kry_format format;
    kry_form form;
    kry_jds_product jds;
    kry_laplace_kernel laplace;
} scene;

/* The first call that failed since arm(). */
static const char *kept;

static void arm(long k, cl_int error, bool lost)
{
    layer()->arm(NULL, k, error, lost);
    kept = NULL;
}

static const char *failed_call(void) { return kept ? kept : layer()->failed(); }

static void disarm(void)
{
    kept = failed_call();
    layer()->arm(NULL, 0, CL_SUCCESS, false);
}

/* What went wrong besides the call: counted, and told at once. */
static int complaints;
static const scene *on_stage;
static long at_call;

static void complain(const char *what)
{
    const char *failed = failed_call();
    if (complaints++ < 40)
        print_error("%s, call %ld (%s): %s; last error: %s\n", on_stage->name, at_call,
                    failed ? failed : "none", what, kry_last_error());
}

/* A step that fails has set its output to NULL; a step behind it does not happen. */
#define STEP(call, output)                                              \
    do {                                                                \
        (output) = (void *)POISONED(char);                              \
        st = (call);                                                    \
        if (st < 0 && (output)) complain(#call " hands something out"); \
        if (st < 0) (output) = NULL;                                    \
        if (st < 0) goto done;                                          \
    } while (0)

/* ---- formats ----------------------------------------------------------------------------- */

static kry_status make_matrix(kry_device *dev, const scene *s, const double *values, kry_op **A)
{
    void *numbers = in_type(s->type, values, 3 * N);
    kry_status st = kry_csr_create(
        dev, s->type, N, N, row_ptr, col, numbers,
        KRY_MATRIX(.traits = KRY_POSITIVE, .format = s->format, .form = s->form, .jds = s->jds), A);
    free(numbers);
    return st;
}

/* y := A 1 is 3 or 2, or twice that. */
static bool is_product(const float *y, float times)
{
    for (int i = 0; i < N; i++)
        if (y[i] != times * (i == 0 || i == N - 1 ? 3 : 2)) return false;
    return true;
}

/* New values that were not taken leave the old ones. */
static void check_old_values(kry_op *A, kry_vec *x, kry_vec *y)
{
    float product[N] = { 0 };
    char told[400];

    snprintf(told, sizeof told, "%s", kry_last_error());
    disarm();
    if (kry_op_apply(A, 1, x, 0, y) < 0 || kry_vec_read(y, product) < 0)
        complain("nothing works after an update that failed");
    else if (!is_product(product, 1))
        complain("an update that failed has changed values");
    (void)kry_fail(KRY_ERR_DEVICE, "%s", told);
}

static bool lost; /* nothing can be looked at then */

static kry_status run_format(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;
    kry_vec *x = NULL, *y = NULL, *d = NULL;
    float product[N] = { 0 }, next[3 * N];
    int64_t ptr[N + 1];
    int32_t columns[3 * N];

    for (int k = 0; k < 3 * N; k++) next[k] = (float)val[1][k];
    STEP(make_matrix(dev, s, val[0], &A), A);
    STEP(kry_vec_create(dev, s->type, N, 1, &x), x);
    STEP(kry_vec_create(dev, s->type, N, 1, &y), y);
    STEP(kry_vec_create(dev, s->type, N, 1, &d), d);
    TRY(kry_vec_fill(x, 1));
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_op_residual(A, y, x, d));
    TRY(kry_op_diagonal(A, d));
    st = kry_op_update(A, next);
    if (st < 0 && !lost) check_old_values(A, x, y);
    TRY(st);
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_vec_read(y, product));
    TRY(kry_matrix_read(A, ptr, columns, next));
    *good = is_product(product, 2) && !memcmp(ptr, row_ptr, sizeof ptr);
done:
    kry_vec_release(&d);
    kry_vec_release(&y);
    kry_vec_release(&x);
    kry_op_release(&A);
    return st;
}

/* ---- solvers ----------------------------------------------------------------------------- */

static kry_status make_operator(kry_device *dev, const scene *s, kry_op **A)
{
    if (!s->grid) return make_matrix(dev, s, val[0], A);
    return kry_stencil_create(dev, s->type,
                              KRY_STENCIL(.size = { NX, N / NX }, .coefficient = ones), A);
}

/* The guess is still there after a solve that failed. */
static kry_status solve(const kry_op *S, double *x, bool *good)
{
    double guess[N];
    kry_result res;
    for (int i = 0; i < N; i++) guess[i] = x[i] = i % 7;
    kry_status st = kry_solve_host(S, ones, x, &res);
    if (st < 0 && memcmp(x, guess, sizeof guess)) complain("the guess is gone");
    *good = st == KRY_OK;
    return st;
}

static kry_status run_solver(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *S = NULL;
    double x[N], twice[N];
    float narrow[3 * N];
    bool solved = false, again = false;
    void *values = s->grid ? (void *)twice : s->type == KRY_F64 ? (void *)val[1] : (void *)narrow;

    for (int k = 0; k < 3 * N; k++) narrow[k] = (float)val[1][k];
    for (int i = 0; i < N; i++) twice[i] = 2;
    STEP(make_operator(dev, s, &A), A);
    STEP(kry_solver_create(A, s->name, NULL, NULL, &S), S);
    TRY(solve(S, x, &solved));
    TRY(kry_op_update(A, values));
    TRY(kry_op_update(S, NULL));
    TRY(solve(S, x, &again));
    *good = solved && again;
    st = KRY_OK;
done:
    kry_op_release(&S);
    kry_op_release(&A);
    return st;
}

#define STOP          " rtol=1e-4 check-every=5 maxit=2000"
#define SOLVES(words) .name = words STOP, .run = run_solver
#define STORED(words)                                            \
    {                                                            \
        SOLVES(words), .type = KRY_F32, .format = KRY_FORMAT_CSR \
    }
#define GRID(words)                                  \
    {                                                \
        SOLVES(words), .type = KRY_F32, .grid = true \
    }
#define DOUBLE(words)                                            \
    {                                                            \
        SOLVES(words), .type = KRY_F64, .format = KRY_FORMAT_CSR \
    }
static const scene solvers[] = {
    STORED("method=cg"),
    STORED("method=pcg"),
    STORED("precond=chebyshev:2"),
    STORED("precond=ip"),
    STORED("precond=ssor-ai:2"),
    STORED("precond=neumann"),
    STORED("precond=block-jacobi:7"),
    STORED("precond=block-ic:20"),
    STORED("method=jacobi"),
    STORED("method=cg deflation=stripes:4"),
    GRID("method=pcg resident=off"),
    GRID("method=cg resident=on"),
    GRID("precond=chebyshev:2"),
    GRID("precond=ip"),
    GRID("method=sor"),
    GRID("method=cg deflation=blocks:4"),
    DOUBLE("precision=mixed"),
    DOUBLE("precision=mixed scheme=flexible"),
};

/* ---- sweeps over a box, through buffers, images and a barrier between groups ------------- */

static kry_status run_laplace(kry_device *dev, const scene *s, bool *good)
{
    enum { POINTS = 7 * 6 * 5 };
    kry_status st = KRY_OK;
    kry_laplace *L = NULL;
    double side[7 * 6], change = -1;
    float start[POINTS], end[POINTS];

    for (int i = 0; i < 7 * 6; i++) side[i] = 1;
    for (int i = 0; i < POINTS; i++) start[i] = 0.25f, end[i] = 0;
    const kry_laplace_params *params =
        KRY_LAPLACE(.size = { 7, 6, 5 }, .face = { [KRY_Z_LOW] = side }, .kernel = s->laplace);
    STEP(kry_laplace_create(dev, s->type, params, &L), L);
    TRY(kry_laplace_write(L, start));
    TRY(kry_laplace_run(L, 3, &change));
    TRY(kry_laplace_run(L, 2, NULL));
    TRY(kry_laplace_read(L, end));
    *good = change > 0 && end[0] > 0 && end[0] < 1;
done:
    kry_laplace_release(&L);
    return st;
}

/* ---- one call fails ---------------------------------------------------------------------- */

static const cl_int errors[] = { CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                                 CL_OUT_OF_HOST_MEMORY, CL_INVALID_COMMAND_QUEUE };

/* Of `calls` the ones that fail: all, or about `samples` from a random one on. */
typedef struct sample {
    long first, stride;
} sample;

static sample sample_of(const scene *s, long calls, long samples)
{
    sample of = { 1, getenv("KRY_FULL") ? 1 : calls / samples + 1 };
    of.first += random_below(of.stride);
    print_message("# %s: %ld calls, of which %ld, %ld, ... fail\n", s->name, calls, of.first,
                  of.first + of.stride);
    return of;
}

/* How many calls it makes, once everything is compiled; -1: the device cannot do it. */
static long calls_of(kry_device *dev, const scene *s)
{
    bool good = false;
    on_stage = s, at_call = 0;
    kry_status st = s->run(dev, s, &good);
    if (st == KRY_ERR_UNSUPPORTED) return -1;
    if (st < 0 || !good) complain("it does not even work");
    arm(0, CL_SUCCESS, false);
    (void)s->run(dev, s, &good);
    return layer()->calls();
}

static void count_live(long live[KINDS])
{
    for (int k = 0; k < KINDS; k++) live[k] = layer()->live((layer_kind)k);
}

/* Programs and their kernels stay with a device that goes on. */
static void check_live(const long before[KINDS], bool programs_stay)
{
    long now[KINDS];
    char what[80];
    count_live(now);
    for (int k = 0; k < KINDS; k++) {
        bool stays = programs_stay && (k == PROGRAMS || k == KERNELS);
        if (now[k] == before[k] || (stays && now[k] > before[k])) continue;
        snprintf(what, sizeof what, "%ld of kind %d are live, %ld were", now[k], k, before[k]);
        complain(what);
        if (complaints == 1) layer()->report(stderr);
    }
}

/* The message names the call, or the error. */
static void check_message(cl_int error)
{
    const char *said = kry_last_error(), *failed = failed_call();
    if (!strstr(said, kry_cl_error_name(error)) && !(failed && strstr(said, failed)))
        complain("the message names neither the call nor its error");
}

/* Call k of the scene fails; false: there are not as many. */
static bool fails_cleanly(kry_device *dev, const scene *s, long k)
{
    const cl_int error = errors[k % (long)COUNT(errors)];
    long before[KINDS];
    bool good = false;
    int refs = dev->refs;

    on_stage = s, at_call = k;
    count_live(before);
    arm(k, error, false);
    kry_status st = s->run(dev, s, &good);
    bool reached = failed_call() != NULL;
    if (st < 0 && !reached) complain("it failed by itself");
    if (st < 0 && reached) check_message(error);
    if (st >= 0 && !good) complain("it went on, but the result is wrong");
    disarm();
    if (dev->refs != refs) complain("references to the device are left");
    check_live(before, true);
    if (!reached) return false;
    good = false;
    arm(0, CL_SUCCESS, false);
    st = s->run(dev, s, &good); /* the next thing on the same device */
    if (st < 0 || !good) complain("the device does not go on");
    return true;
}

static void sweep(kry_device *dev, const scene *s)
{
    const long calls = calls_of(dev, s);
    if (calls < 0) return;
    sample of = sample_of(s, calls, 24);
    long k = of.first;
    for (; fails_cleanly(dev, s, k); k += of.stride) continue;
    assert_true(k >= calls - of.stride - calls / 10); /* tests for the end come when they come */
}

static void call__fails_in_every_format(void **state)
{
    (void)state;
    complaints = 0;
    for (int i = 2 * KRY_FORMAT_CSR; i < 2 * KRY_FORMAT_COUNT; i++) {
        kry_format f = (kry_format)(i / 2);
        sweep(device(), &(scene){ .name = kry_format_name(f),
                                  .run = run_format,
                                  .type = KRY_F32,
                                  .format = f,
                                  .form = i % 2 ? KRY_FLUX : KRY_ASSEMBLED });
    }
    assert_int_equal(complaints, 0);
}

static void call__fails_in_every_solver(void **state)
{
    (void)state;
    complaints = 0;
    for (size_t i = 0; i < COUNT(solvers); i++) {
        if (solvers[i].type == KRY_F64 && !kry_device_get_info(device())->fp64) continue;
        sweep(device(), &solvers[i]);
    }
    assert_int_equal(complaints, 0);
}

static void call__fails_in_images(void **state)
{
    (void)state;
    const scene s = { .name = "jds:texture",
                      .run = run_format,
                      .type = KRY_F32,
                      .format = KRY_FORMAT_JDS,
                      .jds = KRY_JDS_TEXTURE };
    complaints = 0;
    sweep(device(), &s);
    assert_int_equal(complaints, 0);
}

static void call__fails_in_laplace(void **state)
{
    (void)state;
    static const kry_laplace_kernel kernels[] = { KRY_LAPLACE_STREAM, KRY_LAPLACE_BLOCK,
                                                  KRY_LAPLACE_K2,     KRY_LAPLACE_K5,
                                                  KRY_LAPLACE_K8,     KRY_LAPLACE_K1A };
    complaints = 0;
    for (size_t i = 0; i < COUNT(kernels); i++) {
        const scene s = { .name = kry_laplace_kernel_name(kernels[i]),
                          .run = run_laplace,
                          .type = KRY_F32,
                          .laplace = kernels[i] };
        sweep(device(), &s);
    }
    assert_int_equal(complaints, 0);
}

static void call__fails_on_a_team(void **state)
{
    (void)state;
    static const scene scenes[] = { STORED("method=pcg"),
                                    GRID("method=cg deflation=stripes:4 resident=off") };
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    complaints = 0;
    for (size_t i = 0; i < COUNT(scenes); i++) sweep(team, &scenes[i]);
    close_team(&team);
    assert_int_equal(complaints, 0);
}

/* ---- with a device of its own: finding it, opening it and compiling fail, too ------------ */

static kry_status run_anew(kry_device *none, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    (void)none;
    STEP(kry_device_open(NULL, &dev), dev);
    TRY(solvers[1].run(dev, &solvers[1], good));
    st = KRY_OK;
done:
    if (dev && dev->refs != 1) complain("references to the device are left");
    (void)s;
    kry_device_release(&dev);
    return st;
}

static void call__fails_on_a_new_device(void **state)
{
    (void)state;
    const scene anew = { .name = "a new device", .run = run_anew };
    long before[KINDS];
    bool reached = true, good = false;

    complaints = 0;
    sample of = sample_of(&anew, calls_of(NULL, &anew), 60); /* what it compiles is on disk now */
    count_live(before);
    for (long k = of.first; reached; k += of.stride) {
        const cl_int error = errors[k % (long)COUNT(errors)];
        at_call = k;
        arm(k, error, false);
        kry_status st = run_anew(NULL, &anew, &good);
        reached = failed_call() != NULL;
        if (st < 0) check_message(error);
        if (st >= 0 && !good) complain("it went on, but the result is wrong");
        disarm();
        check_live(before, false);
    }
    assert_int_equal(complaints, 0);
}

/* ---- the device is lost ------------------------------------------------------------------ */

/* The scene comes to its end with an error, soon, and gives back what it has. */
static bool loses_cleanly(kry_device *dev, const scene *s, long k)
{
    long before[KINDS];
    bool good = false;
    double start = kry_now();

    on_stage = s, at_call = k;
    count_live(before);
    arm(k, CL_DEVICE_NOT_AVAILABLE, true);
    kry_status st = s->run(dev, s, &good);
    bool reached = failed_call() != NULL;
    if (reached && st >= 0 && !good) complain("the device is lost, and nobody says so");
    if (st < 0) check_message(CL_DEVICE_NOT_AVAILABLE);
    disarm();
    check_live(before, true);
    if (kry_now() - start > 30) complain("it took more than 30 seconds");
    return reached;
}

static void lose(kry_device *dev, const scene *s)
{
    const long calls = calls_of(dev, s);
    sample of = sample_of(s, calls, 8);
    lost = true;
    for (long k = of.first; loses_cleanly(dev, s, k); k += of.stride) continue;
    lost = false;
}

static void device__lost(void **state)
{
    (void)state;
    static const scene csr = {
        .name = "csr", .run = run_format, .type = KRY_F32, .format = KRY_FORMAT_CSR
    };
    complaints = 0;
    lose(device(), &csr);
    for (size_t i = 0; i < COUNT(solvers); i++)
        if (solvers[i].type == KRY_F32) lose(device(), &solvers[i]);
    assert_int_equal(complaints, 0);
}

static void device__lost_by_a_team(void **state)
{
    (void)state;
    static const scene stored = STORED("method=pcg");
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    complaints = 0;
    lose(team, &stored);
    close_team(&team);
    assert_int_equal(complaints, 0);
}

/* A pattern chooses among the tests: test_call_faults 'device*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__fails_in_every_format),
        cmocka_unit_test(call__fails_in_every_solver),
        cmocka_unit_test(call__fails_in_images),
        cmocka_unit_test(call__fails_in_laplace),
        cmocka_unit_test(call__fails_on_a_team),
        cmocka_unit_test(call__fails_on_a_new_device),
        cmocka_unit_test(device__lost),
        cmocka_unit_test(device__lost_by_a_team),
    };
    NEED_LAYER;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    alarm(getenv("KRY_FULL") ? 7200 : 1200); /* what hangs is killed */
    return cmocka_run_group_tests(tests, setup, close_device);
}
