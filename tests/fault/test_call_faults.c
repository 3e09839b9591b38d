/*
 * test_call_faults.c - the k-th OpenCL call of any kind fails (sweep.h): setting up, solving,
 * taking new values and letting go, for every format, grid operator, preconditioner and solver.
 */
#include "jagged.h"
#include "sweep.h"
#include "teams.h"
#include <jacobi.h>
#include <kry/deflation.h>
#include <kry/precond.h>
#include <kry/stencil.h>
#include <paths.h>

/* ---- what is solved: a matrix of three diagonals, and a grid ----------------------------- */

enum { N = 60, NX = 10 };
static int64_t row_ptr[N + 1];
static int32_t col[3 * N];
static double val[2][3 * N], ones[N], waves[N]; /* old values, and new ones; 1 and -1 in turn */

static int setup(void **state)
{
    (void)state;
    int64_t k = 0;
    for (int i = 0; i < N; i++) {
        ones[i] = 1, waves[i] = i % 2 ? -1 : 1;
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, k++)
            col[k] = j, val[0][k] = i == j ? 4 : -1, val[1][k] = 2 * val[0][k];
        row_ptr[i + 1] = k;
    }
    return 0;
}

/* ---- formats ----------------------------------------------------------------------------- */

static kry_status make_matrix(kry_device *dev, const scene *s, const double *values, kry_op **A)
{
    void *numbers = in_type(s->type, values, 3 * N);
    kry_status st = kry_csr_create(dev, s->type, N, N, row_ptr, col, numbers,
                                   KRY_MATRIX(.traits = KRY_POSITIVE, .format = s->format,
                                              .form = s->form, .on_host = s->on_host),
                                   A);
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

/* New values that were not taken leave the old ones: y := A 1 is what it was. */
static void check_old_values(kry_op *A, kry_vec *x, kry_vec *y, const float *old)
{
    float product[N] = { 0 };
    char told[400];

    if (lost) return; /* nothing can be looked at */
    snprintf(told, sizeof told, "%s", kry_last_error());
    disarm();
    if (kry_op_apply(A, 1, x, 0, y) < 0 || kry_vec_read(y, product) < 0)
        complain("nothing works after an update that failed");
    else if (memcmp(product, old, sizeof product))
        complain("an update that failed has changed values");
    (void)kry_fail(KRY_ERR_DEVICE, "%s", told);
}

static kry_status run_format(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;
    kry_vec *x = NULL, *y = NULL, *d = NULL;
    float product[N] = { 0 }, old[N] = { 0 }, next[3 * N];
    int64_t ptr[N + 1];
    int32_t columns[3 * N];

    for (int k = 0; k < 3 * N; k++) next[k] = (float)val[1][k];
    STEP(make_matrix(dev, s, val[0], &A), A);
    STEP(kry_vec_create(dev, s->type, N, 1, &x), x);
    STEP(kry_vec_create(dev, s->type, N, 1, &y), y);
    STEP(kry_vec_create(dev, s->type, N, 1, &d), d);
    TRY(kry_vec_fill(x, 1));
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_vec_read(y, old));
    TRY(kry_op_residual(A, y, x, d));
    TRY(kry_op_diagonal(A, d));
    st = kry_op_update(A, next);
    if (st < 0) check_old_values(A, x, y, old);
    TRY(st);
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_vec_read(y, product));
    TRY(kry_matrix_read(A, ptr, columns, next));
    *good = is_product(old, 1) && is_product(product, 2) && !memcmp(ptr, row_ptr, sizeof ptr);
done:
    kry_vec_release(&d);
    kry_vec_release(&y);
    kry_vec_release(&x);
    kry_op_release(&A);
    return st;
}

/* ---- operators on a grid ----------------------------------------------------------------- */

/* Kinds of grids. */
enum { GRID_COEFFICIENT, GRID_FACES, GRID_IN_SPACE, GRID_SINGULAR, GRID_KINDS };

static kry_status make_grid(kry_device *dev, const scene *s, kry_op **A)
{
    kry_stencil_params p = *KRY_STENCIL(.size = { NX, N / NX }, .coefficient = ones);

    if (s->kind == GRID_IN_SPACE) p.size[1] = 3, p.size[2] = N / NX / 3;
    if (s->kind == GRID_FACES) p.face[0] = p.face[1] = ones;
    if (s->kind == GRID_SINGULAR)
        for (int a = 0; a < 2; a++) p.low[a] = p.high[a] = KRY_NEUMANN;
    p.on_host = s->on_host;
    return kry_stencil_create(dev, s->type, &p, A);
}

static kry_status run_grid(kry_device *dev, const scene *s, bool *good)
{
    static const kry_side_values sides[3] = { { .constant = 1 }, { .array = ones }, { NULL, 0 } };
    kry_status st = KRY_OK;
    kry_op *A = NULL, *B = NULL;
    kry_vec *x = NULL, *y = NULL, *r = NULL;
    float old[N] = { 0 }, stored[N] = { 0 }, product[N] = { 0 };
    double next[2 * N];

    for (int i = 0; i < 2 * N; i++) next[i] = 2;
    STEP(make_grid(dev, s, &A), A);
    STEP(kry_vec_create(dev, s->type, N, 1, &x), x);
    STEP(kry_vec_create(dev, s->type, N, 1, &y), y);
    TRY(kry_vec_fill(x, 1));
    STEP(kry_vec_create(dev, s->type, N, 1, &r), r);
    TRY(kry_vec_fill(y, 0));
    TRY(kry_stencil_boundary(A, sides, sides, y));
    TRY(kry_op_residual(A, y, x, r));
    TRY(kry_op_diagonal(A, r));
    STEP(kry_stencil_matrix(A, NULL, &B), B);
    TRY(kry_op_apply(B, 1, x, 0, y));
    TRY(kry_vec_read(y, stored));
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_vec_read(y, old));
    st = kry_op_update(A, next);
    if (st < 0) check_old_values(A, x, y, old);
    TRY(st);
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_vec_read(y, product));
    *good = old[0] > 0 || s->kind == GRID_SINGULAR;
    for (int i = 0; i < N; i++)
        *good = *good && (product[i] == 2 * old[i] || s->kind == GRID_FACES) && stored[i] == old[i];
done:
    kry_vec_release(&r);
    kry_vec_release(&y);
    kry_vec_release(&x);
    kry_op_release(&B);
    kry_op_release(&A);
    return st;
}

static kry_status make_operator(kry_device *dev, const scene *s, kry_op **A)
{
    return s->grid ? make_grid(dev, s, A) : make_matrix(dev, s, val[0], A);
}

/* ---- preconditioners --------------------------------------------------------------------- */

/* Made, applied, with new values, applied again: half of what it was, if it knows the scale of A.
 */
static kry_status run_precond(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *M = NULL;
    kry_vec *x = NULL, *y = NULL;
    float before[N] = { 0 }, after[N] = { 0 }, narrow[3 * N];
    double twice[N];

    for (int k = 0; k < 3 * N; k++) narrow[k] = (float)val[1][k];
    for (int i = 0; i < N; i++) twice[i] = 2;
    STEP(make_operator(dev, s, &A), A);
    STEP(kry_vec_create(dev, s->type, N, 1, &x), x);
    STEP(kry_vec_create(dev, s->type, N, 1, &y), y);
    TRY(kry_vec_fill(x, 1));
    STEP(kry_precond_create(A, s->name, &M), M);
    TRY(kry_op_apply(M, 1, x, 0, y));
    TRY(kry_vec_read(y, before));
    TRY(kry_op_update(A, s->grid ? (void *)twice : (void *)narrow));
    TRY(kry_op_update(M, NULL));
    TRY(kry_op_apply(M, 1, x, 0, y));
    TRY(kry_vec_read(y, after));
    const float factor = strstr(s->name, "unscaled") ? 1 : 0.5f;
    *good = true;
    for (int i = 0; i < N; i++)
        *good = *good && before[i] > 0 && fabsf(after[i] - factor * before[i]) <= 1e-4f * before[i];
done:
    kry_op_release(&M);
    kry_vec_release(&y);
    kry_vec_release(&x);
    kry_op_release(&A);
    return st;
}

static const char *const preconditioners[] = {
    "fsai",           "fsai:2",         "fsai:entries=3",   "jacobi",
    "block-jacobi:7", "block-jacobi:4", "chebyshev:3",      "ip",
    "ip:unscaled",    "ip:drop",        "ip:unscaled,drop", "neumann:2",
    "ssor-ai:3",      "block-ic:20",    "block-ic:20@half", "block-ilu:20",
    "block-ilu@half", "ilu0",           "ilu:1,levels",     "icc:1,isai",
    "ras:1",          "saddle:20",      "saddle:13,lower",  "amg:coarsest=20,restrict=air"
};

/* ---- solvers ----------------------------------------------------------------------------- */

/* The guess is still there after a solve that failed. */
static kry_status solve(const kry_op *S, const double *b, double *x, bool *good)
{
    double guess[N];
    kry_result res;
    for (int i = 0; i < N; i++) guess[i] = x[i] = i % 7;
    kry_status st = kry_solve_host(S, b, x, &res);
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
    const double *b = s->kind == GRID_SINGULAR ? waves : ones; /* in the range of A */
    void *values = s->grid ? (void *)twice : s->type == KRY_F64 ? (void *)val[1] : (void *)narrow;

    for (int k = 0; k < 3 * N; k++) narrow[k] = (float)val[1][k];
    for (int i = 0; i < N; i++) twice[i] = 2;
    STEP(make_operator(dev, s, &A), A);
    STEP(kry_solver_create(A, s->name, NULL, NULL, &S), S);
    TRY(solve(S, b, x, &solved));
    TRY(kry_op_update(A, values));
    TRY(kry_op_update(S, NULL));
    TRY(solve(S, b, x, &again));
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
#define ON_HOST(words, is_grid)                                                                    \
    {                                                                                              \
        SOLVES(words), .type = KRY_F64, .format = KRY_FORMAT_CSR, .on_host = true, .grid = is_grid \
    }
#define SINGULAR(words)                                                     \
    {                                                                       \
        SOLVES(words), .type = KRY_F32, .grid = true, .kind = GRID_SINGULAR \
    }
static const scene solvers[] = {
    STORED("method=cg"),
    STORED("method=pcg"),
    STORED("method=pipe-cg precond=jacobi"),
    STORED("method=cg guess=project:2"),
    STORED("method=block-cg precond=jacobi"),
    STORED("method=cr"),
    STORED("method=cr precond=jacobi"),
    STORED("method=minres precond=jacobi"),
    STORED("method=bicgstab precond=jacobi"),
    STORED("method=tfqmr precond=jacobi"),
    STORED("method=gmres:5 precond=jacobi"),
    STORED("method=idr:2 precond=jacobi"),
    STORED("method=lsqr precond=columns"),
    STORED("precond=block-ic:20 reorder=rcm"),
    STORED("precond=jacobi equilibrate=on"),
    STORED("method=lsmr"),
    STORED("method=fgmres"),
    STORED("precond=chebyshev:2"),
    STORED("precond=chebyshev:2 resident=on"),
    STORED("precond=ip"),
    STORED("precond=ssor-ai:2"),
    STORED("precond=fsai:2"),
    STORED("method=fgmres precond=saddle:20,full,simple,first=jacobi,second=fsai"),
    STORED("precond=neumann"),
    STORED("precond=block-jacobi:7"),
    STORED("precond=block-ic:20"),
    STORED("method=jacobi"),
    STORED("method=cg deflation=stripes:4"),
    STORED("method=pcg deflation=stripes:4,variant=def1"),
    STORED("method=pcg deflation=stripes:4,variant=bnn,az=product"),
    STORED("method=cg deflation=graph:5,coarse=cholesky"),
    STORED("method=pcg deflation=recycle:2"),
    GRID("method=pcg precond=jacobi resident=off"),
    GRID("method=cg resident=on"),
    GRID("precond=chebyshev:2"),
    GRID("precond=ip"),
    GRID("precond=mg:coarsest=8"),
    GRID("precond=mg:coarsest=8,values=double"),
    SINGULAR("precond=mg:coarsest=8"),
    GRID("method=sor"),
    GRID("method=jacobi"),
    GRID("method=cg deflation=blocks:4"),
    GRID("precond=ip deflation=blocks:4,variant=def1"),
    GRID("precond=ip deflation=blocks:4,variant=bnn"),
    SINGULAR("method=pcg precond=jacobi resident=off"),
    DOUBLE("precision=mixed"),
    DOUBLE("precision=mixed scheme=flexible"),
    DOUBLE("precision=mixed scheme=classical method=pcg"),
    DOUBLE("precision=mixed method=pcg equilibrate=on"),
    DOUBLE("precision=mixed method=jacobi"),
    DOUBLE("precision=mixed delta=0.9"),
    ON_HOST("precision=mixed", false),
    ON_HOST("precision=mixed scheme=flexible precond=ip deflation=blocks:4", true),
};

/* ---- sweeps over a box, through buffers, images and a barrier between groups ------------- */

static kry_status run_jacobi(kry_device *dev, const scene *s, bool *good)
{
    enum { POINTS = 7 * 6 * 5 };
    kry_status st = KRY_OK;
    jacobi *J = NULL;
    double side[7 * 6], change = -1;
    float start[POINTS], end[POINTS];

    for (int i = 0; i < 7 * 6; i++) side[i] = 1;
    for (int i = 0; i < POINTS; i++) start[i] = 0.25f, end[i] = 0;
    const jacobi_box box = { .size = { 7, 6, 5 }, .side = { [Z_LOW] = side } };
    STEP(jacobi_create(dev, s->type, (jacobi_kernel)s->kind, &box, &J), J);
    TRY(jacobi_write(J, start));
    TRY(jacobi_run(J, 3, &change));
    TRY(jacobi_run(J, 2, NULL));
    TRY(jacobi_read(J, end));
    *good = change > 0 && end[0] > 0 && end[0] < 1;
done:
    jacobi_release(&J);
    return st;
}

static kry_status run_wang(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;
    kry_vec *x = NULL, *y = NULL;
    double corner[25] = { 0 };

    STEP(wang_create(dev, (wang_path)s->kind, 5, &A), A);
    STEP(kry_vec_create(dev, s->type, 25, 1, &x), x);
    STEP(kry_vec_create(dev, s->type, 25, 1, &y), y);
    TRY(kry_vec_fill(x, 1));
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_vec_read(y, corner));
    *good = corner[0] == 2;
done:
    kry_vec_release(&y);
    kry_vec_release(&x);
    kry_op_release(&A);
    return st;
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
        bool fp64 = kry_device_get_info(device())->fp64 || solvers[i].on_host;
        if (solvers[i].type == KRY_F32 || fp64) sweep(device(), &solvers[i]);
    }
    assert_int_equal(complaints, 0);
}

static void call__fails_in_every_grid(void **state)
{
    (void)state;
    static const char *const names[] = { "a grid", "a grid with faces", "a grid in space",
                                         "a singular grid" };
    complaints = 0;
    for (int i = 0; i < GRID_KINDS; i++)
        sweep(device(), &(scene){ .name = names[i], .run = run_grid, .type = KRY_F32, .kind = i });
    assert_int_equal(complaints, 0);
}

static void call__fails_in_every_preconditioner(void **state)
{
    (void)state;
    complaints = 0;
    for (size_t i = 0; i < 2 * COUNT(preconditioners); i++)
        sweep(device(), &(scene){ .name = preconditioners[i / 2],
                                  .run = run_precond,
                                  .type = KRY_F32,
                                  .format = KRY_FORMAT_CSR,
                                  .grid = i % 2 });
    assert_int_equal(complaints, 0);
}

static kry_status run_jagged(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;
    kry_vec *x = NULL, *y = NULL;
    float numbers[3 * N], product[N] = { 0 };
    const jagged_rows rows = {
        .type = KRY_F32, .rows = N, .cols = N, .row_ptr = row_ptr, .col = col, .val = numbers
    };

    for (int k = 0; k < 3 * N; k++) numbers[k] = (float)val[0][k];
    STEP(jagged_create(dev, &rows, (jagged_product)s->kind, &A), A);
    STEP(kry_vec_create(dev, KRY_F32, N, 1, &x), x);
    STEP(kry_vec_create(dev, KRY_F32, N, 1, &y), y);
    TRY(kry_vec_fill(x, 1));
    TRY(kry_op_apply(A, 1, x, 0, y));
    TRY(kry_vec_read(y, product));
    *good = is_product(product, 1);
done:
    kry_vec_release(&y);
    kry_vec_release(&x);
    kry_op_release(&A);
    return st;
}

static void call__fails_in_images(void **state)
{
    (void)state;
    complaints = 0;
    sweep(device(), &(scene){ .name = "jds:basic", .run = run_jagged, .kind = JAGGED_BASIC });
    sweep(device(), &(scene){ .name = "jds:texture", .run = run_jagged, .kind = JAGGED_TEXTURE });
    assert_int_equal(complaints, 0);
}

static void call__fails_in_papers(void **state)
{
    (void)state;
    static const jacobi_kernel kernels[] = { JACOBI_STREAM, JACOBI_BLOCK, JACOBI_K2,
                                             JACOBI_K5,     JACOBI_K8,    JACOBI_K1A };
    complaints = 0;
    for (size_t i = 0; i < COUNT(kernels); i++)
        sweep(device(), &(scene){ .name = jacobi_kernel_name(kernels[i]),
                                  .run = run_jacobi,
                                  .type = KRY_F32,
                                  .kind = kernels[i] });
    for (int path = 0; path < WANG_PATH_COUNT && kry_device_get_info(device())->fp64; path++)
        sweep(device(), &(scene){ .name = wang_path_name((wang_path)path),
                                  .run = run_wang,
                                  .type = KRY_F64,
                                  .kind = path });
    assert_int_equal(complaints, 0);
}

static void call__fails_on_a_team(void **state)
{
    (void)state;
    static const scene scenes[] = { STORED("method=pcg"),
                                    STORED("method=jacobi"),
                                    GRID("method=sor"),
                                    DOUBLE("precision=mixed"),
                                    STORED("precond=block-ic:10 deflation=stripes:4,variant=bnn"),
                                    STORED("precond=amg:gather=8,coarsest=4"),
                                    GRID("method=cg deflation=stripes:4 resident=off") };
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    complaints = 0;
    for (size_t i = 0; i < COUNT(scenes); i++) sweep(team, &scenes[i]);
    close_team(&team);
    assert_int_equal(complaints, 0);
}

/* What a solve hands back is read part by part. */
static void solve__keeps_the_guess_if_a_part_is_not_read(void **state)
{
    (void)state;
    enum { LAST = 8 }; /* reads, those of the parts of x among them */
    static const scene s = DOUBLE("method=pcg");
    bool good;

    if (!kry_device_get_info(device())->fp64) SKIP("no double");
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    complaints = 0, on_stage = &s;
    assert_int_equal(run_solver(team, &s, &good), KRY_OK);
    layer()->arm("clEnqueueReadBuffer", 0, CL_SUCCESS, false);
    assert_int_equal(run_solver(team, &s, &good), KRY_OK);
    long reads = layer()->calls();
    assert_true(reads > LAST);
    for (at_call = reads - LAST + 1; at_call <= reads; at_call++) {
        layer()->arm("clEnqueueReadBuffer", at_call, CL_OUT_OF_RESOURCES, false);
        assert_true(run_solver(team, &s, &good) < 0); /* which looks at the guess */
        disarm();
    }
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
    if (dev && device_references(dev) != 1) complain("references to the device are left");
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
    for (long k = first_call(&of); reached; k = next_call(&of, k)) {
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

static void device__lost(void **state)
{
    (void)state;
    static const scene csr = {
        .name = "csr", .run = run_format, .type = KRY_F32, .format = KRY_FORMAT_CSR
    };
    complaints = 0;
    lose(device(), &csr);
    for (size_t i = 0; i < COUNT(solvers); i++)
        if (solvers[i].type == KRY_F32 || kry_device_get_info(device())->fp64)
            lose(device(), &solvers[i]);
    assert_int_equal(complaints, 0);
}

static void device__lost_by_a_team(void **state)
{
    (void)state;
    static const scene scenes[] = { STORED("method=pcg"), STORED("method=jacobi"),
                                    STORED("precond=amg:gather=8,coarsest=4"),
                                    GRID("method=cg deflation=stripes:4 resident=off") };
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    complaints = 0;
    for (size_t i = 0; i < COUNT(scenes); i++) lose(team, &scenes[i]);
    close_team(&team);
    assert_int_equal(complaints, 0);
}

/* A pattern chooses among the tests: test_call_faults 'device*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__fails_in_every_format),
        cmocka_unit_test(call__fails_in_every_grid),
        cmocka_unit_test(call__fails_in_every_preconditioner),
        cmocka_unit_test(call__fails_in_every_solver),
        cmocka_unit_test(call__fails_in_images),
        cmocka_unit_test(call__fails_in_papers),
        cmocka_unit_test(call__fails_on_a_team),
        cmocka_unit_test(solve__keeps_the_guess_if_a_part_is_not_read),
        cmocka_unit_test(call__fails_on_a_new_device),
        cmocka_unit_test(device__lost),
        cmocka_unit_test(device__lost_by_a_team),
    };
    NEED_LAYER;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    limit_time();
    return cmocka_run_group_tests(tests, setup, close_device);
}
