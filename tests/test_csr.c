/*
 * test_csr.c - CSR against a plain product in long double, on patterns that meet every branch of
 * the kernels and every border of the runs of rows; its updates and its refusals.
 */
#include "op_suite.h"

/* ---- patterns ------------------------------------------------------------------------------ */

typedef int64_t length_fn(int64_t row, int64_t rows, int64_t cols);

static int64_t none(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 0; }
static int64_t one(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 1; }
static int64_t three(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 3; }
static int64_t all(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, m; }
static int64_t gaps(int64_t i, int64_t n, int64_t m) { return (void)n, (void)m, i % 3 ? i % 5 : 0; }
static int64_t dense_row(int64_t i, int64_t n, int64_t m) { return i == n / 2 ? m : 2; }
static int64_t power_law(int64_t i, int64_t n, int64_t m) { return (void)n, m / (i + 1) + 1; }
static int64_t any(int64_t i, int64_t n, int64_t m)
{
    return (void)i, (void)n, (void)m, random_below(10);
}
/* Rows whose lengths lie around a run, a half and a work-group. */
static int64_t borders(int64_t i, int64_t n, int64_t m)
{
    static const int64_t length[] = { 511, 512, 513, 127, 128,  129,  255,
                                      256, 257, 1,   0,   1023, 1024, 1025 };
    return (void)n, (void)m, length[i % (int64_t)COUNT(length)];
}
/* Two rows to a run of 512 entries, that fill it up to 511, 512 and 513. */
static int64_t pairs(int64_t i, int64_t n, int64_t m)
{
    return (void)n, (void)m, i % 2 ? 256 : 255 + i / 2 % 3;
}

static const struct pattern {
    const char *why;
    int64_t rows, cols;
    length_fn *length;
} patterns[] = {
    { "nothing at all", 0, 0, none },
    { "no rows", 0, 5, none },
    { "no columns", 5, 0, none },
    { "the smallest", 1, 1, one },
    { "no entry", 1, 1, none },
    { "a zero matrix over several groups", 300, 300, none },
    { "wide and flat", 3, 1000, any },
    { "tall and narrow", 1000, 3, any },
    { "empty rows in between", 259, 259, gaps },
    { "a row longer than a run", 700, 700, dense_row },
    { "a row longer than many runs", 5000, 5000, dense_row },
    { "one row only, longer than a run", 1, 1300, all },
    { "short rows among long ones", 400, 1400, power_law },
    { "one entry a row: a work-item fewer than a group", 127, 127, one },
    { "one entry a row: a group", 128, 128, one },
    { "one entry a row: one more", 129, 129, one },
    { "one entry a row: a run, less one", 511, 511, one },
    { "one entry a row: a run", 512, 512, one },
    { "one entry a row: a run and one", 513, 513, one },
    { "one entry a row: several runs of several rows a work-item", 1400, 1400, one },
    { "empty rows: more than fit a run", 1100, 4, none },
    { "rows around the borders", 28, 1100, borders },
    { "runs around the borders", 24, 600, pairs },
    { "groups around the borders", 255, 255, three },
    { "more runs than groups on a small device", 12000, 12000, three },
    { "many chunks on a CPU", 12007, 11989, any },
    { "dense", 40, 40, all },
};

static void csr__patterns(void **state)
{
    kry_type type = type_of(state);
    for (size_t p = 0; p < COUNT(patterns); p++) {
        if (too_large(patterns[p].rows) || too_large(patterns[p].cols)) continue;
        matrix A = matrix_create(type, patterns[p].rows, patterns[p].cols, patterns[p].length);
        kry_op *op = csr_of(&A, type, NULL);
        kry_op_info info;
        kry_op_describe(op, &info);
        assert_string_equal(info.kind, "csr");
        assert_int_equal(info.nnz, A.nnz);
        op_suite(op, &A);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* Every row has an entry in column 0: all gathers meet in one place. */
static void csr__dense_column(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 1200, 1200, three);
    for (int64_t i = 0; i < A.rows; i++) A.col[A.row_ptr[i]] = 0;
    kry_op *op = csr_of(&A, type, NULL);
    op_suite(op, &A);
    kry_op_release(&op);
    matrix_release(&A);
}

/* A symmetric matrix lends its product as its transpose. */
static void csr__symmetric_trait_gives_transpose(void **state)
{
    kry_type type = type_of(state);
    enum { N = 150 };
    matrix A = matrix_create(type, N, N, three);
    for (int64_t i = 0; i < N; i++) {
        int64_t first = A.row_ptr[i];
        for (int64_t j = 0; j < 3; j++) {
            A.col[first + j] = (int32_t)((i + N + j - 1) % N);
            A.val[first + j] = to_type(type, 1.0 / (double)(2 + (A.col[first + j] + i) % 7));
        }
    }
    kry_op *op = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
    assert_int_equal(kry_op_get_shape(op)->traits, KRY_POSITIVE | KRY_SYMMETRIC);
    op_suite(op, &A);
    kry_op_release(&op);
    matrix_release(&A);
}

/* Single precision: the true residual is summed in double and rounded once. */
static void csr_residual__single_summed_in_double(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    matrix A = matrix_create(KRY_F32, 300, 300, borders);
    kry_op *op = csr_of(&A, KRY_F32, NULL);
    double *x = random_array(KRY_F32, A.cols), *b = calloc((size_t)A.rows, sizeof *b);
    assert_non_null(b);
    for (int64_t i = 0; i < A.rows; i++) { /* b close to A x, so that everything cancels */
        long double m;
        b[i] = (float)row_times(&A, i, x, NULL, &m);
    }
    guarded X = guarded_create(KRY_F32, A.cols, 1, 0, x),
            B = guarded_create(KRY_F32, A.rows, 1, 0, b),
            R = guarded_create(KRY_F32, A.rows, 1, 0, NULL);
    OK(kry_op_residual(op, B.v, X.v, R.v));
    double *r = guarded_read(&R);
    for (int64_t i = 0; i < A.rows; i++) {
        long double m, want = (long double)b[i] - row_times(&A, i, x, NULL, &m);
        NEAR(r[i], want,
             FLT_EPSILON * fabsl(want) + row_bound(&A, i, KRY_F64, m + fabsl((long double)b[i])),
             "row %lld", (long long)i);
    }
    free(r), free(b), free(x);
    guarded_release(&R), guarded_release(&B), guarded_release(&X);
    kry_op_release(&op);
    matrix_release(&A);
}

/* ---- fused steps ----------------------------------------------------------------------------- */

/* How far a sum of n products of type ACC may be off. */
static long double dot_bound(const double *x, const double *y, int64_t n)
{
    long double size = 0;
    for (int64_t i = 0; i < n; i++) size += fabsl((long double)x[i] * y[i]);
    return (long double)(n + 2) * eps_of(acc_type()) * size;
}
static long double dot_of(const double *x, const double *y, int64_t n)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (long double)x[i] * y[i];
    return sum;
}

static const struct pattern square_patterns[] = {
    { "the smallest", 1, 1, one },
    { "empty rows in between", 259, 259, gaps },
    { "a row longer than a run", 700, 700, dense_row },
    { "one entry a row", 1400, 1400, one },
    { "short rows among long ones", 1100, 1100, power_law },
    { "rows around the borders", 1100, 1100, borders },
    { "more runs than groups on a small device", 12000, 12000, three },
};

static void csr_apply_dot__product_and_sum(void **state)
{
    kry_type type = type_of(state);
    for (size_t p = 0; p < COUNT(square_patterns); p++) {
        const struct pattern *s = &square_patterns[p];
        if (too_large(s->rows)) continue;
        matrix A = matrix_create(type, s->rows, s->cols, s->length);
        kry_op *op = csr_of(&A, type, NULL);
        kry_sum *sum = NULL;
        double *x = random_array(type, A.rows), dot[2];
        guarded X = guarded_create(type, A.rows, 1, 1, x),
                Y = guarded_create(type, A.rows, 1, 3, NULL);
        OK(kry_sum_create(device(), 1, &sum));
        for (int run = 0; run < 2; run++) {
            poison(&Y);
            OK(op->table->apply_dot(op->self, X.v, Y.v, sum));
            assert_in_range(sum->count, 1, KRY_SUM_CAPACITY);
            OK(kry_sum_read(&device()->layout, sum, &dot[run]));
            double *y = guarded_read(&Y);
            for (int64_t i = 0; i < A.rows; i++) {
                long double m, want = row_times(&A, i, x, NULL, &m);
                NEAR(y[i], want, row_bound(&A, i, type, m), "%s: row %lld", s->why, (long long)i);
            }
            NEAR(dot[run], dot_of(x, y, A.rows), dot_bound(x, y, A.rows), "%s: x.y", s->why);
            free(y);
        }
        assert_same_bits(&dot[0], &dot[1], 1);
        free(x);
        guarded_release(&X), guarded_release(&Y);
        kry_sum_release(&sum);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* Everything that a direction reads and writes, and the numbers it was given. */
typedef struct step {
    matrix A;
    kry_op *op;
    double *z, *old;
    guarded Z, Old, P, Q;
    cl_mem in, out, history;
    kry_sum *rho, *pq;
    kry_direction d;
} step;

enum { PARTS = 5, SLOT = 2, SLOTS = 4, ITERATION = 7 };

static cl_mem acc_buffer(const double *numbers, int64_t n)
{
    cl_int err;
    void *host = in_type(acc_type(), numbers, n);
    cl_mem buffer =
        clCreateBuffer(kry_device_context(device()), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       (size_t)n * kry_type_size(acc_type()), host, &err);
    assert_int_equal(err, CL_SUCCESS);
    free(host);
    return buffer;
}

static void acc_read(cl_mem buffer, double *numbers, int64_t n)
{
    double raw[64];
    assert_in_range(n, 0, 64);
    assert_int_equal(clEnqueueReadBuffer(kry_device_queue(device()), buffer, CL_TRUE, 0,
                                         (size_t)n * kry_type_size(acc_type()), raw, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int64_t i = 0; i < n; i++) numbers[i] = at(acc_type(), raw, i);
}

/* A step with r.z = rho and r.r = rr in PARTS partial sums, after one that had r.z = old_rho. */
static step step_create(kry_type type, const struct pattern *shape, double rho, double rr,
                        double old_rho, double target2)
{
    step s = { .A = matrix_create(type, shape->rows, shape->cols, shape->length) };
    double before[STATE_SIZE] = { 0 }, poisoned[STATE_SIZE], parts[2 * PARTS];
    int64_t n = s.A.rows;

    s.op = csr_of(&s.A, type, NULL);
    s.z = random_array(type, n), s.old = random_array(type, n);
    s.Z = guarded_create(type, n, 1, 0, s.z), s.Old = guarded_create(type, n, 1, 0, s.old);
    s.P = guarded_create(type, n, 1, 0, NULL), s.Q = guarded_create(type, n, 1, 0, NULL);
    before[STATE_RHO] = old_rho;
    before[STATE_RESIDUAL2] = 11, before[STATE_ITERATION] = ITERATION - 1, before[STATE_VALUE] = 12;
    for (int i = 0; i < STATE_SIZE; i++) poisoned[i] = NAN;
    s.in = acc_buffer(before, STATE_SIZE);
    s.out = acc_buffer(poisoned, STATE_SIZE);
    s.history = acc_buffer(poisoned, SLOTS);
    OK(kry_sum_create(device(), 2, &s.rho));
    OK(kry_sum_create(device(), 1, &s.pq));
    for (int i = 0; i < PARTS; i++) parts[2 * i] = rho / PARTS, parts[2 * i + 1] = rr / PARTS;
    void *host = in_type(acc_type(), parts, 2 * PARTS);
    assert_int_equal(clEnqueueWriteBuffer(kry_device_queue(device()), s.rho->buffer, CL_TRUE, 0,
                                          2 * PARTS * kry_type_size(acc_type()), host, 0, NULL,
                                          NULL),
                     CL_SUCCESS);
    free(host);
    s.rho->count = PARTS;
    s.d = (kry_direction){ .rho = s.rho,
                           .step_state = s.in,
                           .state = s.out,
                           .history = s.history,
                           .iteration = ITERATION,
                           .slot = SLOT,
                           .target2 = kry_scalar_of(device(), target2) };
    return s;
}

static void step_release(step *s)
{
    kry_sum_release(&s->rho);
    kry_sum_release(&s->pq);
    clReleaseMemObject(s->in);
    clReleaseMemObject(s->out);
    clReleaseMemObject(s->history);
    guarded_release(&s->Z), guarded_release(&s->Old);
    guarded_release(&s->P), guarded_release(&s->Q);
    free(s->z), free(s->old);
    kry_op_release(&s->op);
    matrix_release(&s->A);
}

/* The kernels want vectors that start at element 0: views into guarded buffers do not, so the
 * vectors here are whole buffers, and out-of-range writes are left to the other tests. */
static void step_run(step *s, double *p, double *q, double *pq)
{
    kry_type type = s->Z.type;
    int64_t n = s->A.rows;
    kry_vec *z, *old, *P, *Q;
    void *host;

    OK(kry_vec_create(device(), type, n, 1, &z));
    OK(kry_vec_create(device(), type, n, 1, &old));
    OK(kry_vec_create(device(), type, n, 1, &P));
    OK(kry_vec_create(device(), type, n, 1, &Q));
    OK(kry_vec_copy(s->Z.v, z));
    OK(kry_vec_copy(s->Old.v, old));
    OK(kry_vec_fill(P, (double)NAN));
    OK(kry_vec_fill(Q, (double)NAN));
    s->d.z = z, s->d.old = old;
    OK(s->op->table->apply_direction(s->op->self, &s->d, P, Q, s->pq));
    host = calloc((size_t)n + 1, sizeof(double));
    assert_non_null(host);
    OK(kry_vec_read(P, host));
    for (int64_t i = 0; i < n; i++) p[i] = at(type, host, i);
    OK(kry_vec_read(Q, host));
    for (int64_t i = 0; i < n; i++) q[i] = at(type, host, i);
    OK(kry_vec_read(old, host));
    for (int64_t i = 0; i < n; i++) assert_true(at(type, host, i) == s->old[i]);
    OK(kry_sum_read(&device()->layout, s->pq, pq));
    free(host);
    kry_vec_release(&z), kry_vec_release(&old), kry_vec_release(&P), kry_vec_release(&Q);
}

static void check_direction(kry_type type, const struct pattern *shape, double rho, double old_rho)
{
    const double rr = 1.75;
    long double beta = old_rho > 0 ? (long double)rho / old_rho : 0;
    step s = step_create(type, shape, rho, rr, old_rho, 1e-3);
    int64_t n = s.A.rows;
    double *p = calloc((size_t)n + 1, 8), *q = calloc((size_t)n + 1, 8),
           *p2 = calloc((size_t)n + 1, 8), *q2 = calloc((size_t)n + 1, 8),
           *size = calloc((size_t)n + 1, 8), pq, pq2, state[STATE_SIZE], history[SLOTS];
    /* beta: PARTS roundings of its sum, a division, its own type */
    long double eps = eps_of(type) > eps_of(acc_type()) ? eps_of(type) : eps_of(acc_type());
    long double p_eps = (PARTS + 5) * eps;

    assert_true(p && q && p2 && q2 && size);
    step_run(&s, p, q, &pq);
    for (int64_t i = 0; i < n; i++) {
        long double want = s.z[i] + beta * s.old[i];
        size[i] = (double)(fabsl((long double)s.z[i]) + fabsl(beta * s.old[i]));
        NEAR(p[i], want, p_eps * size[i], "%s: p[%lld]", shape->why, (long long)i);
    }
    for (int64_t i = 0; i < n; i++) {
        long double m, want = row_times(&s.A, i, p, size, &m);
        NEAR(q[i], want, row_bound(&s.A, i, type, m) + 2 * p_eps * m, "%s: q[%lld]", shape->why,
             (long long)i);
    }
    NEAR(pq, dot_of(p, q, n), dot_bound(p, q, n), "%s: p.q", shape->why);
    acc_read(s.out, state, STATE_SIZE);
    acc_read(s.history, history, SLOTS);
    assert_true(state[STATE_STOP] == 0);
    NEAR(state[STATE_RHO], rho, PARTS * eps_of(acc_type()) * rho, "rho");
    NEAR(state[STATE_RESIDUAL2], rr, PARTS * eps_of(acc_type()) * rr, "r.r");
    NEAR(history[SLOT], rr, PARTS * eps_of(acc_type()) * rr, "history");
    assert_true(state[STATE_ITERATION] == ITERATION);
    for (int i = 0; i < SLOTS; i++) assert_true(i == SLOT || isnan(history[i]));
    step_run(&s, p2, q2, &pq2);
    assert_same_bits(p, p2, n);
    assert_same_bits(q, q2, n);
    assert_same_bits(&pq, &pq2, 1);
    free(p), free(q), free(p2), free(q2), free(size);
    step_release(&s);
}

static void csr_apply_direction__beta_and_product(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(square_patterns); i++) {
        if (too_large(square_patterns[i].rows)) continue;
        check_direction(type, &square_patterns[i], 0.8125, 1.3);
        if (small_run()) continue;
        check_direction(type, &square_patterns[i], 3.7, 0.25);
    }
}

static void csr_apply_direction__first_step_has_no_beta(void **state)
{
    check_direction(type_of(state), &square_patterns[1], 0.8125, 0);
}

/* Once there is a reason to stop, p stays as it is and the state says why. */
static void csr_apply_direction__stops(void **state)
{
    static const struct {
        double rho, rr, target2, stop;
    } cases[] = { { 0.5, 0.25, 0.26, 1 },         /* converged */
                  { -0.5, 0.25, 0.01, 2 },        /* M is indefinite */
                  { 0.0, 0.25, 0.01, 2 },         /* or singular */
                  { (double)NAN, 0.25, 0.01, 4 }, /* not finite */
                  { 0.5, (double)INFINITY, 0.01, 4 } };
    kry_type type = type_of(state);
    for (size_t c = 0; c < COUNT(cases); c++) {
        step s = step_create(type, &square_patterns[1], cases[c].rho, cases[c].rr, 1.0,
                             cases[c].target2);
        int64_t n = s.A.rows;
        double *p = calloc((size_t)n, 8), *q = calloc((size_t)n, 8), pq, after[STATE_SIZE],
               history[SLOTS];
        assert_true(p && q);
        step_run(&s, p, q, &pq);
        for (int64_t i = 0; i < n; i++) assert_true(isnan(p[i]));
        acc_read(s.out, after, STATE_SIZE);
        assert_true(after[STATE_STOP] == cases[c].stop);
        acc_read(s.history, history, SLOTS); /* the last residual is told, too */
        NEAR(history[SLOT] == cases[c].rr ? 0 : history[SLOT] - cases[c].rr, 0,
             PARTS * eps_of(acc_type()), "history");
        assert_true(after[STATE_ITERATION] == ITERATION);

        /* A stop that was decided before keeps its reason, its iteration and its value. */
        double before[STATE_SIZE] = { 3, 1, 11, ITERATION - 1, 12 };
        void *host = in_type(acc_type(), before, STATE_SIZE);
        assert_int_equal(clEnqueueWriteBuffer(kry_device_queue(device()), s.in, CL_TRUE, 0,
                                              STATE_SIZE * kry_type_size(acc_type()), host, 0, NULL,
                                              NULL),
                         CL_SUCCESS);
        free(host);
        step_run(&s, p, q, &pq);
        for (int64_t i = 0; i < n; i++) assert_true(isnan(p[i]));
        acc_read(s.out, after, STATE_SIZE);
        assert_true(after[STATE_STOP] == 3);
        assert_true(after[STATE_RESIDUAL2] == 11);
        assert_true(after[STATE_ITERATION] == ITERATION - 1);
        assert_true(after[STATE_VALUE] == 12);
        free(p), free(q);
        step_release(&s);
    }
}

/* ---- the caller's buffers ----------------------------------------------------------------------
 */

static cl_mem device_copy(const void *host, size_t bytes)
{
    cl_int err;
    char nothing[16] = { 0 };
    cl_mem buffer =
        clCreateBuffer(kry_device_context(device()), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       bytes ? bytes : sizeof nothing, bytes ? (void *)host : nothing, &err);
    assert_int_equal(err, CL_SUCCESS);
    return buffer;
}

typedef struct wrapped {
    cl_mem row_ptr, col, val;
} wrapped;

static wrapped wrapped_create(const matrix *A, kry_type type, bool wide)
{
    wrapped w;
    cl_int *narrow = calloc((size_t)A->rows + 1, sizeof *narrow);
    void *val = in_type(type, A->val, A->nnz);
    assert_non_null(narrow);
    for (int64_t i = 0; i <= A->rows; i++) narrow[i] = (cl_int)A->row_ptr[i];
    w.row_ptr = wide ? device_copy(A->row_ptr, ((size_t)A->rows + 1) * 8)
                     : device_copy(narrow, ((size_t)A->rows + 1) * 4);
    w.col = device_copy(A->col, (size_t)A->nnz * 4);
    w.val = device_copy(val, (size_t)A->nnz * kry_type_size(type));
    free(val);
    free(narrow);
    return w;
}

static void wrapped_release(wrapped *w)
{
    clReleaseMemObject(w->row_ptr);
    clReleaseMemObject(w->col);
    clReleaseMemObject(w->val);
}

static cl_uint references(cl_mem buffer)
{
    cl_uint count = 0;
    assert_int_equal(clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL),
                     CL_SUCCESS);
    return count;
}

static void csr_wrap__narrow_and_wide(void **state)
{
    static const struct pattern shapes[] = { { "", 0, 0, none },
                                             { "", 4, 3, none },
                                             { "", 259, 259, gaps },
                                             { "", 700, 650, dense_row },
                                             { "", 28, 1100, borders } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int wide = 0; wide < 2; wide++) {
            matrix A = matrix_create(type, shapes[i].rows, shapes[i].cols, shapes[i].length);
            for (int64_t r = 0; r < A.rows; r++) /* columns may descend */
                for (int64_t a = A.row_ptr[r], b = A.row_ptr[r + 1] - 1; a < b; a++, b--) {
                    int32_t t = A.col[a];
                    A.col[a] = A.col[b], A.col[b] = t;
                }
            wrapped w = wrapped_create(&A, type, wide);
            kry_op *op = NULL;
            OK(kry_csr_wrap(device(), type, A.rows, A.cols, A.nnz, wide, w.row_ptr, w.col, w.val,
                            NULL, &op));
            op_suite(op, &A);

            /* New values where they are. */
            for (int64_t k = 0; k < A.nnz; k++) A.val[k] = random_number(type);
            void *val = in_type(type, A.val, A.nnz);
            if (A.nnz)
                assert_int_equal(clEnqueueWriteBuffer(kry_device_queue(device()), w.val, CL_TRUE, 0,
                                                      (size_t)A.nnz * kry_type_size(type), val, 0,
                                                      NULL, NULL),
                                 CL_SUCCESS);
            OK(kry_op_update(op, NULL));
            REFUSES(kry_op_update(op, val), KRY_ERR_ARGUMENT, "wrapped");
            free(val);
            if (!small_run()) op_suite(op, &A);
            kry_op_release(&op);
            assert_int_equal(references(w.row_ptr), 1);
            assert_int_equal(references(w.col), 1);
            assert_int_equal(references(w.val), 1);
            wrapped_release(&w);
            matrix_release(&A);
        }
}

static void csr_wrap__refusals(void **state)
{
    (void)state;
    kry_type type = KRY_F32;
    matrix A = matrix_create(type, 10, 10, three);
    wrapped w = wrapped_create(&A, type, false);
    kry_op *op = (kry_op *)&A;
    kry_device *dev = device();

    REFUSES(kry_csr_wrap(dev, type, 10, 10, 29, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "30");
    assert_null(op);
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 31, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_SHAPE, "col");
    REFUSES(kry_csr_wrap(dev, type, 11, 10, 30, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_SHAPE, "row_ptr");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 30, true, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_SHAPE, "row_ptr");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, -1, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "-1");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 30, false, NULL, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 30, false, w.row_ptr, w.col, w.val,
                         KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF), &op),
            KRY_ERR_UNSUPPORTED, "symmetric");
    REFUSES(kry_csr_wrap(dev, type, 10, 2, 30, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "row 0");
    assert_null(op);
    assert_int_equal(references(w.val), 1);
    assert_int_equal(references(w.row_ptr), 1);
    wrapped_release(&w);
    matrix_release(&A);
}

/* ---- new values --------------------------------------------------------------------------------
 */

/* The matrix as the operator has it, column by column: y = A e_j. */
static double *dense_of(const kry_op *op)
{
    const kry_op_shape *s = kry_op_get_shape(op);
    double *dense = calloc((size_t)(s->rows * s->cols) + 1, sizeof *dense),
           *unit = calloc((size_t)(s->cols * s->cols) + 1, sizeof *unit);
    assert_true(dense && unit);
    for (int64_t j = 0; j < s->cols; j++) unit[j * s->cols + j] = 1;
    guarded X = guarded_create(s->type, s->cols, s->cols, 0, unit),
            Y = guarded_create(s->type, s->rows, s->cols, 0, NULL);
    OK(kry_op_apply(op, 1, X.v, 0, Y.v));
    double *y = guarded_read(&Y);
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < s->cols; j++) dense[i * s->cols + j] = y[j * s->rows + i];
    guarded_release(&X), guarded_release(&Y);
    free(unit), free(y);
    return dense;
}

static void assert_dense(const kry_op *op, const double *want)
{
    const kry_op_shape *s = kry_op_get_shape(op);
    double *dense = dense_of(op);
    for (int64_t i = 0; i < s->rows * s->cols; i++)
        if (dense[i] != want[i])
            fail_msg("row %lld, column %lld: %g instead of %g", (long long)(i / s->cols),
                     (long long)(i % s->cols), dense[i], want[i]);
    free(dense);
}

/* Small integers, so that sums are exact in single precision too. */
static void check_update(kry_type type, int64_t rows, int64_t cols, const int64_t *row_ptr,
                         const int32_t *col, const double *first, const double *second,
                         const kry_matrix_params *params, const double *want_first,
                         const double *want_second)
{
    int64_t nnz = row_ptr[rows];
    void *val = in_type(type, first, nnz);
    kry_op *op;

    OK(kry_csr_create(device(), type, rows, cols, row_ptr, col, val, params, &op));
    assert_dense(op, want_first);
    OK(kry_op_update(op, NULL)); /* nothing changed */
    assert_dense(op, want_first);
    free(val);
    val = in_type(type, second, nnz);
    OK(kry_op_update(op, val));
    assert_dense(op, want_second);
    put(type, val, nnz - 1, (double)NAN);
    char where[32];
    snprintf(where, sizeof where, "entry %lld", (long long)nnz - 1);
    REFUSES(kry_op_update(op, val), KRY_ERR_ARGUMENT, where);
    assert_dense(op, want_second);
    put(type, val, nnz - 1, -(double)INFINITY);
    put(type, val, 0, 99);
    REFUSES(kry_op_update(op, val), KRY_ERR_ARGUMENT, "not finite");
    assert_dense(op, want_second);
    put(type, val, nnz - 1, first[nnz - 1]);
    put(type, val, 0, first[0]);
    for (int64_t k = 0; k < nnz; k++) put(type, val, k, first[k]);
    OK(kry_op_update(op, val)); /* a refusal has not spoilt anything */
    assert_dense(op, want_first);
    free(val);
    kry_op_release(&op);
}

static void csr_update__ascending_columns(void **state)
{
    static const int64_t row_ptr[] = { 0, 2, 2, 4 };
    static const int32_t col[] = { 0, 2, 1, 2 };
    static const double first[] = { 1, 2, 3, 4 }, second[] = { 5, -6, 7, 8 };
    static const double want_first[] = { 1, 0, 2, 0, 0, 0, 0, 3, 4 },
                        want_second[] = { 5, 0, -6, 0, 0, 0, 0, 7, 8 };
    check_update(type_of(state), 3, 3, row_ptr, col, first, second, NULL, want_first, want_second);
}

static void csr_update__unsorted_columns(void **state)
{
    static const int64_t row_ptr[] = { 0, 3, 3, 5 };
    static const int32_t col[] = { 3, 0, 2, 2, 1 };
    static const double first[] = { 1, 2, 3, 4, 5 }, second[] = { 6, 7, -8, 9, 10 };
    static const double want_first[] = { 2, 0, 3, 1, 0, 0, 0, 0, 0, 5, 4, 0 },
                        want_second[] = { 7, 0, -8, 6, 0, 0, 0, 0, 0, 10, 9, 0 };
    check_update(type_of(state), 3, 4, row_ptr, col, first, second, NULL, want_first, want_second);
}

static void csr_update__summed_duplicates(void **state)
{
    static const int64_t row_ptr[] = { 0, 4, 6 };
    static const int32_t col[] = { 1, 0, 1, 1, 0, 0 };
    static const double first[] = { 1, 2, 3, 4, 5, 6 }, second[] = { -1, 1, 10, 20, 7, -7 };
    static const double want_first[] = { 2, 8, 11, 0 }, want_second[] = { 1, 29, 0, 0 };
    check_update(type_of(state), 2, 2, row_ptr, col, first, second, KRY_MATRIX(.duplicates = KRY_SUM),
                 want_first, want_second);
}

/* Both triangles mixed: (0,0) (1,0) (1,2) (2,2) (0,2). */
static void csr_update__symmetric_half(void **state)
{
    static const int64_t row_ptr[] = { 0, 2, 4, 5 };
    static const int32_t col[] = { 2, 0, 0, 2, 2 };
    static const double first[] = { 1, 2, 3, 4, 5 }, second[] = { 6, 7, 8, 9, 10 };
    static const double want_first[] = { 2, 3, 1, 3, 0, 4, 1, 4, 5 },
                        want_second[] = { 7, 8, 6, 8, 0, 9, 6, 9, 10 };
    check_update(type_of(state), 3, 3, row_ptr, col, first, second,
                 KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF), want_first, want_second);
}

static void csr_update__symmetric_half_summed(void **state)
{
    /* (0,1) and (1,0) are the same place, and (1,1) is given twice */
    static const int64_t row_ptr[] = { 0, 1, 4 };
    static const int32_t col[] = { 1, 0, 1, 1 };
    static const double first[] = { 1, 2, 3, 4 }, second[] = { 5, 6, 7, 8 };
    static const double want_first[] = { 0, 3, 3, 7 }, want_second[] = { 0, 11, 11, 15 };
    check_update(type_of(state), 2, 2, row_ptr, col, first, second,
                 KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF, .duplicates = KRY_SUM), want_first,
                 want_second);
}

static void csr_update__skew_half(void **state)
{
    static const int64_t row_ptr[] = { 0, 1, 2, 2 };
    static const int32_t col[] = { 2, 0 };
    static const double first[] = { 1, 2 }, second[] = { -3, 4 };
    static const double want_first[] = { 0, -2, 1, 2, 0, 0, -1, 0, 0 },
                        want_second[] = { 0, -4, -3, 4, 0, 0, 3, 0, 0 };
    check_update(type_of(state), 3, 3, row_ptr, col, first, second,
                 KRY_MATRIX(.storage = KRY_SKEW_HALF), want_first, want_second);
}

/* ---- refusals
 * ------------------------------------------------------------------------------------ */

#define CREATE(rows, cols, ptr, col, val, params) \
    kry_csr_create(device(), KRY_F32, rows, cols, ptr, col, val, params, &op)

static void csr_create__sizes(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 2 };
    static const int32_t col[] = { 0, 1 };
    static const float val[] = { 1, 2 };
    kry_op *op = (kry_op *)&op;

    REFUSES(CREATE(-1, 2, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "-1-by-2");
    assert_null(op);
    REFUSES(CREATE(2, -3, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "2-by--3");
    REFUSES(CREATE(INT64_C(1) << 31, 2, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "2147483648");
    REFUSES(CREATE(2, INT64_C(1) << 31, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "2147483648");
    REFUSES(CREATE(2, 2, NULL, col, val, NULL), KRY_ERR_ARGUMENT, "row_ptr");
    REFUSES(CREATE(2, 2, ptr, NULL, val, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(2, 2, ptr, col, NULL, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(2, 3, ptr, col, val, KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF)), KRY_ERR_SHAPE,
            "2-by-3");
    REFUSES(CREATE(2, 2, ptr, col, val, &(kry_matrix_params){ .struct_size = 4 }), KRY_ERR_ARGUMENT,
            "KRY_MATRIX");
    REFUSES(kry_csr_create(NULL, KRY_F32, 2, 2, ptr, col, val, NULL, &op), KRY_ERR_ARGUMENT,
            "device");
    REFUSES(kry_csr_create(device(), (kry_type)7, 2, 2, ptr, col, val, NULL, &op), KRY_ERR_ARGUMENT,
            "7");
    if (!kry_device_get_info(device())->fp64)
        REFUSES(kry_csr_create(device(), KRY_F64, 2, 2, ptr, col, val, NULL, &op),
                KRY_ERR_UNSUPPORTED, "double");
    assert_null(op);
}

static void csr_create__row_pointers_out_of_order(void **state)
{
    (void)state;
    static const int64_t starts_at_one[] = { 1, 2, 3 }, decreases[] = { 0, 3, 1, 3 },
                         negative[] = { 0, 1, -1 };
    static const int32_t col[] = { 0, 1, 0 };
    static const float val[] = { 1, 2, 3 };
    kry_op *op;

    REFUSES(CREATE(2, 2, starts_at_one, col, val, NULL), KRY_ERR_ARGUMENT, "row_ptr[0] = 1");
    REFUSES(CREATE(3, 2, decreases, col, val, NULL), KRY_ERR_ARGUMENT, "from 3 to 1 at row 1");
    REFUSES(CREATE(2, 2, negative, col, val, NULL), KRY_ERR_ARGUMENT, "-1");
    assert_null(op);
}

static void csr_create__column_out_of_range(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 1, 3 };
    static const int32_t high[] = { 0, 1, 2 }, low[] = { 0, -1, 1 };
    static const float val[] = { 1, 2, 3 };
    kry_op *op;

    REFUSES(CREATE(3, 2, ptr, high, val, NULL), KRY_ERR_ARGUMENT, "column 2 at entry 2 (row 2)");
    REFUSES(CREATE(3, 2, ptr, low, val, NULL), KRY_ERR_ARGUMENT, "column -1 at entry 1 (row 2)");
    assert_null(op);
}

static void csr_create__value_not_finite(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 3 };
    static const int32_t col[] = { 0, 0, 1 };
    static const float nan[] = { 1, 2, NAN }, inf[] = { 1, INFINITY, 2 };
    kry_op *op;

    REFUSES(CREATE(2, 2, ptr, col, nan, NULL), KRY_ERR_ARGUMENT, "entry 2");
    REFUSES(CREATE(2, 2, ptr, col, inf, NULL), KRY_ERR_ARGUMENT, "entry 1");
    assert_null(op);
}

static void csr_create__duplicates_name_the_place(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 4 }, half[] = { 0, 1, 2 };
    static const int32_t col[] = { 0, 1, 0, 1 }, both[] = { 1, 0 };
    static const float val[] = { 1, 2, 3, 4 };
    kry_op *op;

    REFUSES(CREATE(2, 2, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "row 1, column 1");
    REFUSES(CREATE(2, 2, half, both, val, KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF)), KRY_ERR_ARGUMENT,
            "row 0, column 1");
    assert_null(op);
}

static void csr_create__skew_diagonal(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 2 };
    static const int32_t col[] = { 1, 1 };
    static const float val[] = { 1, 2 };
    kry_op *op;

    REFUSES(CREATE(2, 2, ptr, col, val, KRY_MATRIX(.storage = KRY_SKEW_HALF)), KRY_ERR_ARGUMENT,
            "entry 1");
    assert_null(op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(csr__patterns),
        BOTH(csr__dense_column),
        BOTH(csr__symmetric_trait_gives_transpose),
        cmocka_unit_test(csr_residual__single_summed_in_double),
        BOTH(csr_apply_dot__product_and_sum),
        BOTH(csr_apply_direction__beta_and_product),
        BOTH(csr_apply_direction__first_step_has_no_beta),
        BOTH(csr_apply_direction__stops),
        BOTH(csr_wrap__narrow_and_wide),
        cmocka_unit_test(csr_wrap__refusals),
        BOTH(csr_update__ascending_columns),
        BOTH(csr_update__unsorted_columns),
        BOTH(csr_update__summed_duplicates),
        BOTH(csr_update__symmetric_half),
        BOTH(csr_update__symmetric_half_summed),
        BOTH(csr_update__skew_half),
        cmocka_unit_test(csr_create__sizes),
        cmocka_unit_test(csr_create__row_pointers_out_of_order),
        cmocka_unit_test(csr_create__column_out_of_range),
        cmocka_unit_test(csr_create__value_not_finite),
        cmocka_unit_test(csr_create__duplicates_name_the_place),
        cmocka_unit_test(csr_create__skew_diagonal),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
