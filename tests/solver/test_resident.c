/*
 * test_resident.c - conjugate gradients in one persistent kernel: the iterates of a plain C code on
 * every kind of grid, and the same answer by a launch per step whenever the persistent kernel is refused or
 * lets go.
 */
#include "device/barrier.h"
#include "grid/stencil.h"
#include "operator/op.h"
#include "operator/resident.h"
#include "testing.h"

enum { MOST = 300 };

/* ---- a grid: the stencil as cl/grid/resident.cl takes it, and the same as a dense matrix -----------
 */

typedef struct grid {
    kryi_stencil stencil; /* first: the table's self */
    kry_op *csr;          /* owned: apply, until the operator itself comes along */
    double *dense;        /* n-by-n */
} grid;

static kry_status grid_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_op_apply(((grid *)self)->csr, alpha, x, beta, y);
}

static void grid_destroy(void *self)
{
    grid *G = self;
    kryi_stencil *S = &G->stencil;
    buffer_release(S->dev, &S->coefficient);
    for (int a = 0; a < 3; a++) buffer_release(S->dev, &S->face[a]);
    kry_op_release(&G->csr);
    free(G->dense);
    free(G);
}

static const kry_op_table grid_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "grid",
    .apply = grid_apply,
    .destroy = grid_destroy,
};
static const kryi_op_fused grid_fused = { .make_resident = kryi_stencil_make_resident };

typedef struct spec {
    int size[3]; /* size[2] = 0: two axes */
    kry_side low[3], high[3];
    bool coefficient;
    int sign; /* -1: an indefinite matrix */
} spec;

static cl_mem upload(kry_type type, const double *v, int64_t n)
{
    cl_mem buffer;
    void *numbers = in_type(type, v, n);
    OK(buffer_upload(device(), (size_t)n * kry_type_size(type), numbers, &buffer));
    free(numbers);
    return buffer;
}

/* The flux f (x_i - x_j) in row i, or with the ghost g x_i instead of x_j. */
static void add_flux(double *row, int64_t i, int64_t j, double f, bool outside, int ghost)
{
    row[i] += outside ? f * (1 - ghost) : f;
    if (!outside) row[j] -= f;
}

/* Row by row what stencil.h says; faces between cells by the harmonic mean of theirs. */
static void fill(grid *G, const spec *s, kry_type type, const double *k, double *face[3])
{
    kryi_stencil *S = &G->stencil;
    int64_t n = S->n, stride = 1;

    for (int a = 0; a < S->axes; stride *= S->size[a++])
        for (int64_t i = 0; i < n; i++) {
            int64_t c = i / stride % S->size[a], last = S->size[a] - 1;
            int64_t above = c < last ? i + stride : i - last * stride;
            bool wrap = s->low[a] == KRY_PERIODIC, outside = c == last && !wrap;
            double mean = outside ? k[i] : to_type(type, 2 / (1 / k[i] + 1 / k[above]));
            double f = face[a][i] = to_type(type, S->weight[a] * mean);
            add_flux(G->dense + i * n, i, above, f, outside, kryi_ghost(s->high[a]));
            if (!outside) add_flux(G->dense + above * n, above, i, f, false, 0);
            if (c == 0 && !wrap)
                add_flux(G->dense + i * n, i, i, S->weight[a] * k[i], true, kryi_ghost(s->low[a]));
        }
}

static kry_op *csr_of_dense(const double *dense, int64_t n, kry_type type)
{
    int64_t row_ptr[MOST + 1] = { 0 }, nnz = 0;
    int32_t *col = calloc((size_t)(n * n), sizeof *col);
    double *val = calloc((size_t)(n * n), sizeof *val);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            if (dense[i * n + j] != 0) col[nnz] = (int32_t)j, val[nnz++] = dense[i * n + j];
        row_ptr[i + 1] = nnz;
    }
    matrix A = { .rows = n, .cols = n, .nnz = nnz, .row_ptr = row_ptr, .col = col, .val = val };
    kry_op *op = csr_of(&A, type, NULL);
    free(col);
    free(val);
    return op;
}

static bool low_values(const spec *s)
{
    bool given = false;
    for (int a = 0; a < (s->size[2] ? 3 : 2); a++)
        given |= s->low[a] == KRY_DIRICHLET || s->low[a] == KRY_DIRICHLET_FACE;
    return given;
}

static grid *grid_create(const spec *s, kry_type type, kry_op **A)
{
    grid *G = calloc(1, sizeof *G);
    kryi_stencil *S = &G->stencil;
    double k[MOST], faces[3][MOST], *face[3] = { faces[0], faces[1], faces[2] };

    *S = (kryi_stencil){ .dev = device(), .type = type, .axes = s->size[2] ? 3 : 2, .n = 1 };
    for (int a = 0; a < 3; a++) {
        S->size[a] = a < S->axes ? s->size[a] : 1;
        S->weight[a] = to_type(type, (s->sign ? s->sign : 1) * (1 + 0.3 * a));
        S->low[a] = s->low[a], S->high[a] = s->high[a];
        S->n *= S->size[a];
    }
    assert_true(S->n <= MOST);
    for (int64_t i = 0; i < S->n; i++)
        k[i] = s->coefficient ? to_type(type, 1.5 + random_number(type)) : 1;
    G->dense = calloc((size_t)(S->n * S->n), sizeof *G->dense);
    fill(G, s, type, k, face);
    if (s->coefficient) {
        if (low_values(s)) S->coefficient = upload(type, k, S->n); /* else they are not there */
        for (int a = 0; a < S->axes; a++) S->face[a] = upload(type, face[a], S->n);
    }
    G->csr = csr_of_dense(G->dense, S->n, type);
    OK(kryi_op_create_fused(device(), &grid_table, &grid_fused, G,
                            &(kry_op_shape){ .rows = S->n, .cols = S->n, .type = type }, A));
    return G;
}

/* ---- a plain solve ----------------------------------------------------------------------------
 */

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void times(const grid *G, const double *x, double *y)
{
    int64_t n = G->stencil.n;
    for (int64_t i = 0; i < n; i++) y[i] = dot(G->dense + i * n, x, n);
}

/* x from a zero guess; how many iterations */
static int plain_cg(const grid *G, const double *b, double rtol, double *x)
{
    double r[MOST], p[MOST] = { 0 }, q[MOST], rho = 0;
    int64_t n = G->stencil.n;
    memset(x, 0, (size_t)n * sizeof *x);
    memcpy(r, b, (size_t)n * sizeof *r);
    for (int k = 0;; k++) {
        double old = rho;
        rho = dot(r, r, n);
        if (rho <= rtol * rtol * dot(b, b, n) || k == 10 * MOST) return k;
        for (int64_t i = 0; i < n; i++) p[i] = r[i] + (k ? rho / old : 0) * p[i];
        times(G, p, q);
        double alpha = rho / dot(p, q, n);
        for (int64_t i = 0; i < n; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    }
}

/* ---- solves by the library --------------------------------------------------------------------
 */

typedef struct run {
    kry_status status;
    kry_result res;
    double x[MOST], history[10 * MOST];
} run;

/* In a view that starts at an odd place: x is the caller's. */
static run solve(const kry_op *A, const char *options, const double *b_numbers)
{
    static run out;
    kry_type type = kry_op_get_shape(A)->type;
    int64_t n = kry_op_get_shape(A)->rows;
    double zero[MOST] = { 0 };
    kry_op *solver;
    guarded b = guarded_create(type, n, 1, 0, b_numbers), x = guarded_create(type, n, 1, 3, zero);

    OK(kry_solver_create(A, options, NULL, NULL, &solver));
    out.status = kry_solve(solver, b.v, x.v, &out.res);
    for (int64_t k = 0; k < out.res.history_count && k < 10 * MOST; k++)
        out.history[k] = out.res.history[k];
    double *numbers = guarded_read(&x);
    memcpy(out.x, numbers, (size_t)n * sizeof *numbers);
    free(numbers);
    kry_op_release(&solver);
    guarded_release(&b);
    guarded_release(&x);
    return out;
}

static void right_side(kry_type type, int64_t n, bool mean_zero, double *b)
{
    double mean = 0;
    for (int64_t i = 0; i < n; i++) b[i] = random_number(type), mean += b[i] / (double)n;
    for (int64_t i = 0; i < n && mean_zero; i++) b[i] = to_type(type, b[i] - mean);
}

/* A shape of groups for the solvers made from now on. "auto": kry's own. */
static void use_shape(const char *shape) { tune(device(), "resident/shape", shape); }

static const char *options_of(kry_type type)
{
    return type == KRY_F32 ? "rtol=2e-5 resident=on" : "rtol=1e-8 resident=on";
}

/* Solvers do without a kernel that cannot be made: here it has to be, unless the device is too busy to hold its groups at once. */
static void check_kernel(const kry_op *A)
{
    kryi_resident_cg *R = NULL;
    const kry_status st = A->fused->make_resident(A->self, NULL, &R);

    if (st != KRY_ERR_UNSUPPORTED) OK(st);
    kryi_resident_release(&R);
}

/* The persistent kernel's answer is that of the plain code. A busy machine may have aborted it: the answer is
 * the same, and *resident says so. */
static void compare(const spec *s, kry_type type, int *resident)
{
    kry_op *A;
    grid *G = grid_create(s, type, &A);
    double b[MOST], x[MOST], rtol = type == KRY_F32 ? 2e-5 : 1e-8, size = 0;
    int64_t n = G->stencil.n;

    right_side(type, n, false, b);
    check_kernel(A);
    int iterations = plain_cg(G, b, rtol, x);
    run got = solve(A, options_of(type), b);
    assert_int_equal(got.status, KRY_OK);
    if (!got.res.resident_iterations)
        print_message("# no persistent kernel: %s\n", kry_last_error());
    if (got.res.resident_iterations == got.res.iterations && !got.res.restarts) {
        (*resident)++;
        if (llabs(got.res.iterations - iterations) > 1 + iterations / 50)
            fail_msg("%lld iterations instead of %d", (long long)got.res.iterations, iterations);
    }
    assert_true(got.res.history_count == got.res.iterations + 1);
    for (int64_t i = 0; i < n; i++) size = fmax(size, fabs(x[i]));
    /* Both are within rtol ||b|| / smallest eigenvalue; the condition is below 1e3 here. */
    for (int64_t i = 0; i < n; i++)
        NEAR(got.x[i], x[i], 1e3 * rtol * size, "unknown %lld of %lld", (long long)i, (long long)n);
    kry_op_release(&A);
}

/* ---- every kind of grid ------------------------------------------------------------------------
 */

#define D KRY_DIRICHLET
#define F KRY_DIRICHLET_FACE
#define N KRY_NEUMANN
#define P KRY_PERIODIC

/* The shapes of groups: kry's own, and others that hold the grid in one group, or in two. */
static void resident__grids(void **state)
{
    kry_type type = type_of(state);
    static const struct {
        const char *shape;
        spec s;
    } cases[] = {
        { "auto", { .size = { 17, 13 }, .low = { D, D }, .high = { D, D } } },
        { "group=32 per-item=8 shared=1",
          { .size = { 16, 16 }, .low = { F, N }, .high = { N, F }, .coefficient = true } },
        { "group=64 per-item=4 shared=0",
          { .size = { 19, 7 }, .low = { P, D }, .high = { P, N }, .coefficient = true } },
        { "group=32 per-item=4 shared=1",
          { .size = { 11, 10 }, .low = { N, P }, .high = { F, P }, .coefficient = true } },
        { "auto", { .size = { 5, 1 }, .low = { D, P }, .high = { F, P } } },
        { "group=32 per-item=4 shared=1",
          { .size = { 7, 6, 5 }, .low = { D, N, P }, .high = { F, D, P } } },
        { "group=16 per-item=5 shared=0",
          { .size = { 3, 5, 9 }, .low = { P, F, N }, .high = { P, N, D }, .coefficient = true } },
        { "auto", { .size = { 1, 1 }, .low = { D, N }, .high = { N, D } } },
        { "group=64 per-item=4 shared=1 pipelined=1",
          { .size = { 19, 13 }, .low = { F, N }, .high = { N, F }, .coefficient = true } },
        { "group=16 per-item=5 shared=1 pipelined=1",
          { .size = { 3, 5, 9 }, .low = { P, F, N }, .high = { P, N, D }, .coefficient = true } },
        { "group=32 per-item=8 shared=1 pipelined=1",
          { .size = { 16, 16 }, .low = { D, P }, .high = { N, P } } },
    };
    int resident = 0;

    for (size_t i = 0; i < COUNT(cases); i++) {
        if (!in_sample((int64_t)i + (type == KRY_F32))) continue;
        use_shape(cases[i].shape);
        compare(&cases[i].s, type, &resident);
    }
    use_shape("auto");
    print_message("# %d of %zu in the persistent kernel\n", resident, COUNT(cases));
}

/* More iterations than are between two replacements of what rounding has spoilt, in one group and in two. */
static void resident__pipelined_for_long(void **state)
{
    kry_type type = type_of(state);
    const spec s = { .size = { 25, 11 }, .low = { D, N }, .high = { D, N } };
    int resident = 0;

    use_shape(in_sample((int64_t)type) ? "group=64 per-item=5 shared=1 pipelined=1"
                                       : "group=32 per-item=5 shared=1 pipelined=1");
    compare(&s, type, &resident);
    use_shape("auto");
}

/* Consistent, with constants in the null space: the residual is what counts. */
static void resident__singular(void **state)
{
    kry_type type = type_of(state);
    const spec s = { .size = { 9, 8 }, .low = { N, P }, .high = { N, P } };
    double b[MOST];
    kry_op *A;
    grid *G = grid_create(&s, type, &A);
    right_side(type, G->stencil.n, true, b);
    run got = solve(A, type == KRY_F32 ? "rtol=1e-3 resident=on" : options_of(type), b);
    assert_int_equal(got.status, KRY_OK);
    kry_op_release(&A);
}

/* ---- every way to stop ----------------------------------------------------------------------- */

static const spec square = { .size = { 14, 11 }, .low = { D, D }, .high = { D, D } };

static void resident__same_result_twice(void **state)
{
    kry_type type = type_of(state);
    double b[MOST];
    kry_op *A;
    grid *G = grid_create(&square, type, &A);
    right_side(type, G->stencil.n, false, b);
    run first = solve(A, options_of(type), b), second = solve(A, options_of(type), b);
    if (first.res.resident_iterations == first.res.iterations &&
        second.res.resident_iterations == second.res.iterations)
        assert_same_bits(first.x, second.x, G->stencil.n);
    run off = solve(A, type == KRY_F32 ? "rtol=2e-5 resident=off" : "resident=off", b);
    assert_int_equal(off.res.resident_iterations, 0);
    assert_true(llabs(off.res.iterations - first.res.iterations) <= 1 + off.res.iterations / 50);
    kry_op_release(&A);
}

static void resident__iteration_limit(void **state)
{
    kry_type type = type_of(state);
    double b[MOST];
    kry_op *A;
    grid *G = grid_create(&square, type, &A);
    right_side(type, G->stencil.n, false, b);
    run got = solve(A, "maxit=5 resident=on", b);
    assert_int_equal(got.status, KRY_NOT_CONVERGED);
    assert_int_equal(got.res.reason, KRY_ITERATION_LIMIT);
    assert_int_equal(got.res.iterations, 5);
    assert_int_equal(got.res.history_count, 6);
    NEAR(got.res.residual, got.res.true_residual, 1e3 * eps_of(type) * got.res.norm_b, "residual");
    run off = solve(A, "maxit=5 resident=off", b);
    for (int64_t i = 0; i < G->stencil.n; i++)
        NEAR(got.x[i], off.x[i], 1e3 * eps_of(type), "unknown %lld", (long long)i);
    kry_op_release(&A);
}

static void resident__indefinite_matrix(void **state)
{
    kry_type type = type_of(state);
    spec s = square;
    double b[MOST];
    kry_op *A;
    s.sign = -1;
    grid *G = grid_create(&s, type, &A);
    right_side(type, G->stencil.n, false, b);
    run got = solve(A, "resident=on", b);
    assert_int_equal(got.status, KRY_BREAKDOWN);
    assert_int_equal(got.res.reason, KRY_INDEFINITE_MATRIX);
    assert_int_equal(got.res.iterations, 0);
    assert_non_null(strstr(got.res.why, "p'Ap = -"));
    kry_op_release(&A);
}

typedef struct seen {
    int count;
    int64_t at[MOST], stop_at;
} seen;

static int look(void *user, const kry_iteration *it)
{
    seen *s = user;
    s->at[s->count++] = it->iteration;
    return it->iteration >= s->stop_at;
}

/* ON serves an exact monitor by short launches; they carry the recurrence over. */
static void resident__monitor_at_every_third(void **state)
{
    kry_type type = type_of(state);
    double numbers[MOST];
    seen s = { .stop_at = 12 };
    kry_op *A, *solver;
    kry_vec *b, *x;
    kry_result res;
    grid *G = grid_create(&square, type, &A);

    right_side(type, G->stencil.n, false, numbers);
    OK(kry_vec_create(device(), type, G->stencil.n, 1, &b));
    OK(kry_vec_create(device(), type, G->stencil.n, 1, &x));
    void *host = in_type(type, numbers, G->stencil.n);
    OK(kry_vec_write(b, host));
    free(host);
    OK(kry_solver_create(A, "check-every=3 resident=on", look, &s, &solver));
    assert_int_equal(kry_solve(solver, b, x, &res), KRY_STOPPED);
    assert_int_equal(res.iterations, 12);
    assert_int_equal(s.count, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(s.at[i], 3 * i);
    run whole = solve(A, "maxit=12 resident=off", numbers);
    for (int k = 0; k <= 12; k++)
        NEAR(res.history[k], whole.history[k], 1e3 * eps_of(type) * res.norm_b, "residual %d", k);
    kry_op_release(&solver);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

/* ---- refused, or let go ---------------------------------------------------------------------- */

/* The right answer, and how many iterations ran in the persistent kernel. */
static int64_t answers(const grid *G, const kry_op *A, kry_type type, const double *b)
{
    double x[MOST], rtol = type == KRY_F32 ? 2e-5 : 1e-8, size = 0;
    int64_t n = G->stencil.n;
    plain_cg(G, b, rtol, x);
    run got = solve(A, options_of(type), b);
    assert_int_equal(got.status, KRY_OK);
    for (int64_t i = 0; i < n; i++) size = fmax(size, fabs(x[i]));
    for (int64_t i = 0; i < n; i++)
        NEAR(got.x[i], x[i], 1e3 * rtol * size, "unknown %lld", (long long)i);
    return got.res.resident_iterations;
}

/* Not tried again by that solver; by another one it is. */
static void resident__aborted_at_once(void **state)
{
    kry_type type = type_of(state);
    double b[MOST];
    kry_op *A, *solver;
    kry_result res;
    grid *G = grid_create(&square, type, &A);
    right_side(type, G->stencil.n, false, b);
    kry_vec *v = vec_of(type, b, G->stencil.n, 1), *x = vec_of(type, b, G->stencil.n, 1);

    abort_launch(0);
    assert_int_equal(answers(G, A, type, b), 0);
    OK(kry_solver_create(A, options_of(type), NULL, NULL, &solver));
    abort_launch(0);
    for (int k = 0; k < 2; k++, abort_launch(-1)) {
        OK(kry_solve(solver, v, x, &res));
        assert_int_equal(res.resident_iterations, 0);
    }
    answers(G, A, type, b);
    kry_op_release(&solver);
    kry_vec_release(&x);
    kry_vec_release(&v);
    kry_op_release(&A);
}

/* The second launch fails: what the first one did is kept. */
static void resident__aborted_later(void **state)
{
    kry_type type = type_of(state);
    double numbers[MOST];
    seen s = { .stop_at = MOST };
    kry_op *A, *solver;
    kry_result res;
    grid *G = grid_create(&square, type, &A);
    right_side(type, G->stencil.n, false, numbers);
    guarded b = guarded_create(type, G->stencil.n, 1, 0, numbers),
            x = guarded_create(type, G->stencil.n, 1, 0, numbers);

    OK(kry_solver_create(A, "maxit=200 check-every=4 resident=on", look, &s, &solver));
    abort_launch(2);
    kry_status st = kry_solve(solver, b.v, x.v, &res);
    abort_launch(-1);
    OK(st);
    if (res.resident_iterations) {
        assert_int_equal(res.resident_iterations, 4);
        assert_int_equal(res.restarts, 1);
    }
    assert_int_equal(res.history_count, res.iterations + 1);
    kry_op_release(&solver);
    kry_op_release(&A);
    guarded_release(&b);
    guarded_release(&x);
}

static void resident__too_few_groups(void **state)
{
    kry_type type = type_of(state);
    double b[MOST];
    kry_op *A;
    grid *G = grid_create(&square, type, &A);
    right_side(type, G->stencil.n, false, b);
    use_shape("group=16 per-item=1 shared=1"); /* 154 unknowns want 10 groups */
    int64_t resident = answers(G, A, type, b);
    use_shape("auto");
    if (!kry_device_get_info(device())->gpu) assert_int_equal(resident, 0);
    kry_op_release(&A);
}

/* A kernel that no probe has seen yet. */
static void resident__stale_messages(void **state)
{
    kry_type type = type_of(state);
    spec s = square;
    double b[MOST];
    kry_op *A;
    s.low[0] = N, s.low[1] = F;
    grid *G = grid_create(&s, type, &A);
    right_side(type, G->stencil.n, false, b);
    count_as_stale(1);
    int64_t resident = answers(G, A, type, b);
    count_as_stale(0);
    assert_int_equal(resident, 0);
    kry_op_release(&A);
}

/* Request k for memory fails while the solver is made: it is made without the persistent kernel, or says so. */
static void resident__no_memory(void **state)
{
    kry_type type = type_of(state);
    double b[MOST];
    kry_op *A, *solver;
    grid *G = grid_create(&square, type, &A);
    right_side(type, G->stencil.n, false, b);
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, kry_solver_create(A, options_of(type), NULL, NULL, &solver));
        assert_true(st == KRY_OK || st == KRY_ERR_MEMORY);
        kry_op_release(&solver);
    }
    answers(G, A, type, b);
    kry_op_release(&A);
}

static void resident__words(void **state)
{
    (void)state;
    kry_op *A, *solver = NULL;
    grid_create(&square, KRY_F32, &A);
    REFUSES(kry_solver_create(A, "resident=maybe", NULL, NULL, &solver), KRY_ERR_PARSE,
            "none of auto, off, on");
    OK(kry_solver_create(A, "resident=auto", NULL, NULL, &solver));
    kry_op_release(&solver);
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(resident__grids),
        BOTH(resident__pipelined_for_long),
        BOTH(resident__singular),
        BOTH(resident__same_result_twice),
        BOTH(resident__iteration_limit),
        BOTH(resident__indefinite_matrix),
        BOTH(resident__monitor_at_every_third),
        BOTH(resident__aborted_at_once),
        BOTH(resident__aborted_later),
        BOTH(resident__too_few_groups),
        BOTH(resident__stale_messages),
        BOTH(resident__no_memory),
        cmocka_unit_test(resident__words),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
