/*
 * test_matrix_persistent.c - conjugate gradients in one persistent kernel with a stored matrix and a preconditioner:
 * the answer of plain C code in the iterations that a launch for each step takes, the same ends, and the
 * launched path where the kernel is refused or lets go. What all products share is in test_resident.c.
 */
#include "testing.h"

/* ---- matrices --------------------------------------------------------------------------------- */

/* Symmetric on five diagonals with holes, diagonally dominant, rows of very different size; of `empty` rows at the
 * end nothing is stored. sign -1: negative definite. */
static matrix make_matrix(kry_type type, int64_t n, int64_t empty, int sign)
{
    double *a = calloc((size_t)(n * n), sizeof *a);
    const int64_t far = n > 20 ? n / 9 : 2, full = n - empty;
    assert_non_null(a);
    for (int64_t i = 0; i < full; i++) {
        for (int64_t j = i + 1; j < full && j <= i + far; j += j == i + 1 ? far - 1 : 1) {
            if ((j - i != 1 && j - i != far) || random_below(8) == 0) continue;
            a[i * n + j] = a[j * n + i] = to_type(type, -0.5 - 0.5 * fabs(random_number(type)));
        }
    }
    for (int64_t i = 0; i < full; i++) {
        double sum = 0.1 + (i % 7 == 0 ? 20 : 0);
        for (int64_t j = 0; j < n; j++) sum += fabs(a[i * n + j]);
        a[i * n + i] = sum;
    }
    for (int64_t i = 0; i < n * n; i++) a[i] = to_type(type, sign * a[i]);
    matrix A = matrix_from(a, n);
    free(a);
    return A;
}

static double *right_side(kry_type type, const matrix *A)
{
    double *b = random_array(type, A->rows);
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i] == A->row_ptr[i + 1]) b[i] = 0;
    return b;
}

/* ---- a plain solve ------------------------------------------------------------------------------ */

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* x with a residual far below what the library is asked for; to be freed */
static double *plain_cg(const matrix *A, const double *b)
{
    const int64_t n = A->rows;
    double *v[4], rho = 0;
    long double size;
    for (int k = 0; k < 4; k++) assert_non_null(v[k] = calloc((size_t)n, sizeof(double)));
    double *x = v[0], *r = v[1], *p = v[2], *q = v[3];
    memcpy(r, b, (size_t)n * sizeof *r);
    for (int k = 0; k < 10 * (int)n; k++) {
        const double old = rho;
        rho = dot(r, r, n);
        if (rho <= 1e-24 * dot(b, b, n)) break;
        for (int64_t i = 0; i < n; i++) p[i] = r[i] + (k ? rho / old : 0) * p[i];
        for (int64_t i = 0; i < n; i++) q[i] = (double)row_times(A, i, p, NULL, &size);
        const double alpha = rho / dot(p, q, n);
        for (int64_t i = 0; i < n; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    }
    free(r), free(p), free(q);
    return x;
}

/* ---- solves by the library ------------------------------------------------------------------------ */

typedef struct outcome {
    kry_status status;
    kry_result res;
    double *x, *history; /* to be freed */
} outcome;

static double rtol_of(kry_type type) { return type == KRY_F32 ? 2e-5 : 1e-8; }

/* From zero, x between guards at an odd place. */
static outcome solve_by(const kry_op *solver, kry_type type, const double *b, int64_t n)
{
    outcome out;
    double *zero = calloc((size_t)n, sizeof *zero);
    guarded B = guarded_create(type, n, 1, 0, b), X = guarded_create(type, n, 1, 3, zero);

    out.status = kry_solve(solver, B.v, X.v, &out.res);
    const size_t count = (size_t)out.res.history_count;
    assert_non_null(out.history = calloc(count + 1, sizeof(double)));
    if (count) memcpy(out.history, out.res.history, count * sizeof(double));
    out.x = guarded_read(&X);
    guarded_release(&X);
    guarded_release(&B);
    free(zero);
    return out;
}

static kry_op *solver_of(const kry_op *A, const char *words, const char *resident, double rtol)
{
    char text[160];
    kry_op *solver;
    snprintf(text, sizeof text, "%s rtol=%g resident=%s", words, rtol, resident);
    OK(kry_solver_create(A, text, NULL, NULL, &solver));
    return solver;
}

static outcome solve(const kry_op *A, const char *words, const char *resident, const double *b)
{
    const kry_type type = kry_op_get_shape(A)->type;
    kry_op *solver = solver_of(A, words, resident, rtol_of(type));
    outcome out = solve_by(solver, type, b, kry_op_get_shape(A)->rows);
    kry_op_release(&solver);
    return out;
}

static void drop(outcome *o)
{
    free(o->x);
    free(o->history);
}

static bool ran_in_kernel(const outcome *o)
{
    return o->res.resident_iterations == o->res.iterations && !o->res.restarts;
}

/* Both answers lie within rtol ||b|| / smallest eigenvalue of the right one, and the condition is below 1e3. */
static void check_answer(const matrix *A, kry_type type, const double *b, const outcome *o)
{
    double *x = plain_cg(A, b), size = 0;
    if (o->status != KRY_OK) fail_msg("%s", o->res.why);
    for (int64_t i = 0; i < A->rows; i++) size = fmax(size, fabs(x[i]));
    for (int64_t i = 0; i < A->rows; i++)
        NEAR(o->x[i], x[i], 1e3 * rtol_of(type) * size, "unknown %lld of %lld", (long long)i,
             (long long)A->rows);
    free(x);
}

/* A solve whose persistent kernel does not compile, or is given wrong arguments, takes launches, and nobody learns it. */
static void assert_makes_kernel(const kry_op *A)
{
    const kry_status st = make_resident_cg(A);
    if (st < 0 && st != KRY_ERR_UNSUPPORTED) fail_msg("%s", kry_last_error());
}

/* The answer of plain code in as many iterations as by launches. *in_kernel: on a busy machine a launch may have been
 * aborted, and then the answer is right all the same. */
static void compare(const matrix *A, const kry_op *op, const char *words, int *in_kernel)
{
    const kry_type type = kry_op_get_shape(op)->type;
    double *b = right_side(type, A);
    outcome on = solve(op, words, "on", b), off = solve(op, words, "off", b);

    check_answer(A, type, b, &on);
    assert_int_equal(off.res.resident_iterations, 0);
    if (on.res.resident_iterations && on.res.resident_iterations < on.res.iterations)
        fail_msg("%s: broke down in the kernel after %lld iterations", words,
                 (long long)on.res.resident_iterations);
    assert_true(on.res.history_count == on.res.iterations + 1);
    if (ran_in_kernel(&on)) {
        *in_kernel += on.res.iterations > 0;
        if (llabs(on.res.iterations - off.res.iterations) > 1 + off.res.iterations / 50)
            fail_msg("%s: %lld iterations instead of %lld", words, (long long)on.res.iterations,
                     (long long)off.res.iterations);
        for (int k = 0; k < 3 && k <= off.res.iterations && k <= on.res.iterations; k++)
            NEAR(on.history[k], off.history[k], 1e3 * eps_of(type) * off.history[0],
                 "%s: residual %d", words, k);
    } else {
        print_message("# %s not in one kernel: %s\n", words, kry_last_error());
        assert_makes_kernel(op);
    }
    drop(&on);
    drop(&off);
    free(b);
}

/* ---- formats, sizes and preconditioners ------------------------------------------------------------- */

static void persistent__formats(void **state)
{
    const kry_type type = type_of(state);
    static const struct {
        kry_format format;
        kry_form form;
        const char *words;
        int64_t n, empty;
    } cases[] = {
        { KRY_FORMAT_CSR, KRY_ASSEMBLED, "method=cg", 263, 5 },
        { KRY_FORMAT_CSR, KRY_ASSEMBLED, "precond=jacobi", 131, 0 },
        { KRY_FORMAT_CSR, KRY_ASSEMBLED, "precond=chebyshev:3", 301, 0 },
        { KRY_FORMAT_SELL, KRY_ASSEMBLED, "precond=chebyshev:2", 97, 0 },
        { KRY_FORMAT_SELL, KRY_ASSEMBLED, "precond=jacobi", 259, 0 },
        { KRY_FORMAT_SELL, KRY_ASSEMBLED, "method=cg", 65, 3 },
        { KRY_FORMAT_ELL, KRY_ASSEMBLED, "precond=neumann:2", 129, 0 },
        { KRY_FORMAT_DIA, KRY_ASSEMBLED, "method=cg", 255, 2 },
        { KRY_FORMAT_DIA, KRY_ASSEMBLED, "precond=chebyshev:1", 33, 0 },
        { KRY_FORMAT_SYMDIA, KRY_ASSEMBLED, "precond=jacobi", 193, 0 },
        { KRY_FORMAT_CSR, KRY_FLUX, "precond=jacobi", 77, 0 },
        { KRY_FORMAT_DIA, KRY_FLUX, "method=cg", 1, 0 },
        { KRY_FORMAT_SYMDIA, KRY_FLUX, "method=cg", 94, 1 },
        { KRY_FORMAT_DIA, KRY_ASSEMBLED, "precond=ip", 66, 0 },
        { KRY_FORMAT_SELL, KRY_ASSEMBLED, "precond=ssor-ai:1", 130, 0 },
    };
    int in_kernel = 0, run = 0;

    for (size_t i = 0; i < COUNT(cases); i++) {
        if (!in_sample((int64_t)i + (type == KRY_F32))) continue;
        matrix A = make_matrix(type, cases[i].n, cases[i].empty, 1);
        kry_op *op = csr_of(
            &A, type,
            KRY_MATRIX(.traits = KRY_SYMMETRIC, .format = cases[i].format, .form = cases[i].form));
        compare(&A, op, cases[i].words, &in_kernel);
        kry_op_release(&op);
        matrix_release(&A);
        run++;
    }
    print_message("# %d of %d in the persistent kernel\n", in_kernel, run);
}

/* In CSR with Jacobi, which the cases below share, so that few programs are compiled. */
typedef struct system_ {
    matrix host;
    kry_op *A;
    double *b;
} linear;

static linear linear_create(kry_type type, int64_t n, int sign)
{
    linear s = { .host = make_matrix(type, n, 0, sign) };
    s.A = csr_of(&s.host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC, .format = KRY_FORMAT_CSR));
    s.b = right_side(type, &s.host);
    return s;
}

static void linear_release(linear *s)
{
    kry_op_release(&s->A);
    matrix_release(&s->host);
    free(s->b);
}

/* Several unknowns to a work-item, whose entries it keeps; work-items without any. Of diagonals it computes the columns where so
 * many unknowns leave no registers for them. */
static void persistent__shapes(void **state)
{
    static const struct {
        kry_format format;
        const char *shape, *words;
    } cases[] = {
        { KRY_FORMAT_CSR, "group=64 per-item=3 groups=1 held=1", "precond=jacobi" },
        { KRY_FORMAT_CSR, "group=64 per-item=2 groups=2 held=1", "precond=jacobi" },
        { KRY_FORMAT_SELL, "group=64 per-item=2 groups=2 held=1", "precond=jacobi" },
        { KRY_FORMAT_SYMDIA, "group=32 per-item=2 groups=2 held=1", "method=cg" },
        { KRY_FORMAT_SYMDIA, "group=4 per-item=16 groups=2 held=1", "method=cg" },
        { KRY_FORMAT_DIA, "group=4 per-item=16 groups=2 held=1", "precond=chebyshev:2" },
    };
    const kry_type type = type_of(state);
    linear s = linear_create(type, 101, 1);
    int in_kernel = 0;

    for (size_t i = 0; i < COUNT(cases); i++) {
        kry_op *A =
            csr_of(&s.host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC, .format = cases[i].format));
        tune(device(), "resident/matrix", cases[i].shape);
        compare(&s.host, A, cases[i].words, &in_kernel);
        kry_op_release(&A);
    }
    tune(device(), "resident/matrix", "auto");
    print_message("# %d of %d in the persistent kernel\n", in_kernel, (int)COUNT(cases));
    linear_release(&s);
}

/* The numbers that are multiplied are not A's, also where work-items hold those: one group has all rows. */
static void persistent__factors(void **state)
{
    const kry_type type = type_of(state);
    matrix A = make_matrix(type, 151, 0, 1);
    kry_op *op = csr_of(&A, type, KRY_MATRIX(.traits = KRY_SYMMETRIC, .format = KRY_FORMAT_CSR));
    int in_kernel = 0;

    compare(&A, op, "precond=ip", &in_kernel);
    kry_op_release(&op);
    matrix_release(&A);
}

/* All entries of a matrix, so many that a GPU makes the format itself and the host knows no places. */
static void persistent__factors_in_places_of_the_device(void **state)
{
    enum { N = 257 };
    static const kry_format formats[] = { KRY_FORMAT_CSR, KRY_FORMAT_SELL };
    const kry_type type = type_of(state);
    double *a = calloc(N * N, sizeof *a);
    int in_kernel = 0;

    assert_non_null(a);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j <= i; j++)
            a[i * N + j] = a[j * N + i] =
                to_type(type, i == j ? 3 : (1 + fabs(random_number(type))) / N);
    matrix A = matrix_from(a, N);
    for (size_t f = 0; f < COUNT(formats); f++) {
        kry_op *op = csr_of(&A, type, KRY_MATRIX(.traits = KRY_SYMMETRIC, .format = formats[f]));
        assert_int_equal(look_into_matrix(op).placed,
                         kry_device_get_info(device())->fp64 &&
                             !kry_device_get_info(device())->cpu_kernels);
        compare(&A, op, "precond=ip", &in_kernel);
        kry_op_release(&op);
    }
    if (!in_kernel) print_message("# no solve in one kernel\n");
    matrix_release(&A);
    free(a);
}

/* ---- every way to stop ------------------------------------------------------------------------------- */

static void persistent__same_result_twice(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    outcome one = solve(s.A, "precond=jacobi", "on", s.b),
            two = solve(s.A, "precond=jacobi", "on", s.b);

    if (ran_in_kernel(&one) && ran_in_kernel(&two)) assert_same_bits(one.x, two.x, s.host.rows);
    drop(&two);
    drop(&one);
    linear_release(&s);
}

static void persistent__iteration_limit(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    outcome on = solve(s.A, "precond=jacobi maxit=4", "on", s.b),
            off = solve(s.A, "precond=jacobi maxit=4", "off", s.b);

    assert_int_equal(on.status, KRY_NOT_CONVERGED);
    assert_int_equal(on.res.reason, KRY_ITERATION_LIMIT);
    assert_int_equal(on.res.iterations, 4);
    assert_int_equal(on.res.history_count, 5);
    for (int k = 0; k <= 4; k++)
        NEAR(on.history[k], off.history[k], 1e3 * eps_of(type) * off.res.norm_b, "residual %d", k);
    for (int64_t i = 0; i < s.host.rows; i++)
        NEAR(on.x[i], off.x[i], 1e3 * eps_of(type) * off.res.norm_b, "unknown %lld", (long long)i);
    drop(&off);
    drop(&on);
    linear_release(&s);
}

/* A and its Jacobi are negative definite: M breaks down with it, A without. */
static void persistent__breakdowns(void **state)
{
    static const char *const words[] = { "precond=jacobi check=none", "method=cg check=none" };
    static const kry_reason reasons[] = { KRY_INDEFINITE_PRECOND, KRY_INDEFINITE_MATRIX };
    const kry_type type = type_of(state);
    linear s = linear_create(type, 61, -1);

    for (int i = 0; i < 2; i++) {
        outcome on = solve(s.A, words[i], "on", s.b), off = solve(s.A, words[i], "off", s.b);
        assert_int_equal(on.status, KRY_BREAKDOWN);
        assert_int_equal(on.res.reason, reasons[i]);
        assert_int_equal(off.res.reason, reasons[i]);
        assert_int_equal(on.res.iterations, off.res.iterations);
        drop(&off);
        drop(&on);
    }
    linear_release(&s);
}

typedef struct seen {
    int count;
    int64_t at[20], stop_at;
} seen;

static int look(void *user, const kry_iteration *it)
{
    seen *s = user;
    s->at[s->count++] = it->iteration;
    return it->iteration >= s->stop_at;
}

/* Short launches carry the recurrence over. */
static void persistent__monitor_at_every_second(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    seen saw = { .stop_at = 8 };
    kry_op *solver;

    OK(kry_solver_create(s.A, "precond=jacobi check-every=2 resident=on", look, &saw, &solver));
    outcome on = solve_by(solver, type, s.b, s.host.rows),
            off = solve(s.A, "precond=jacobi maxit=8", "off", s.b);
    assert_int_equal(on.status, KRY_STOPPED);
    assert_int_equal(on.res.iterations, 8);
    assert_int_equal(saw.count, 5);
    for (int i = 0; i < 5; i++) assert_int_equal(saw.at[i], 2 * i);
    for (int k = 0; k <= 8; k++)
        NEAR(on.history[k], off.history[k], 1e3 * eps_of(type) * off.res.norm_b, "residual %d", k);
    drop(&off);
    drop(&on);
    kry_op_release(&solver);
    linear_release(&s);
}

/* ---- new numbers, several solvers --------------------------------------------------------------------- */

/* A solver made before takes the new numbers of A and of M. Halves are kept as they are; thirds in double ask for
 * another buffer if the first ones were kept in single. */
static void persistent__new_values(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    kry_op *solver = solver_of(s.A, "precond=jacobi", "on", rtol_of(type));
    outcome before = solve_by(solver, type, s.b, s.host.rows);

    check_answer(&s.host, type, s.b, &before);
    for (int64_t i = 0; i < s.host.rows; i++)
        for (int64_t k = s.host.row_ptr[i]; k < s.host.row_ptr[i + 1]; k++)
            s.host.val[k] = to_type(type, s.host.val[k] * (s.host.col[k] == i ? 1.75 : 1) / 3);
    void *values = in_type(type, s.host.val, s.host.nnz);
    OK(kry_op_update(s.A, values));
    OK(kry_op_update(solver, NULL));
    outcome after = solve_by(solver, type, s.b, s.host.rows);
    check_answer(&s.host, type, s.b, &after);
    if (ran_in_kernel(&before)) assert_true(after.res.resident_iterations > 0);
    free(values);
    drop(&after);
    drop(&before);
    kry_op_release(&solver);
    linear_release(&s);
}

/* Two solvers of one matrix, in turn. */
static void persistent__two_solvers(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    kry_op *solver[2] = { solver_of(s.A, "method=cg", "on", rtol_of(type)),
                          solver_of(s.A, "precond=jacobi", "on", rtol_of(type)) };

    for (int k = 0; k < 4; k++) {
        outcome o = solve_by(solver[k % 2], type, s.b, s.host.rows);
        check_answer(&s.host, type, s.b, &o);
        drop(&o);
    }
    kry_op_release(&solver[1]);
    kry_op_release(&solver[0]);
    linear_release(&s);
}

/* ---- refused, or let go ---------------------------------------------------------------------------------- */

static void never_in_kernel(const matrix *A, const kry_op *op, const char *words)
{
    double *b = right_side(kry_op_get_shape(op)->type, A);
    outcome o = solve(op, words, "on", b);
    check_answer(A, kry_op_get_shape(op)->type, b, &o);
    assert_int_equal(o.res.resident_iterations, 0);
    drop(&o);
    free(b);
}

static void persistent__refused(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    kry_op *coo =
        csr_of(&s.host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC, .format = KRY_FORMAT_COO));

    never_in_kernel(&s.host, coo, "method=cg");
    never_in_kernel(&s.host, s.A, "precond=block-jacobi:2");
    never_in_kernel(&s.host, s.A, "precond=chebyshev:33");
    never_in_kernel(&s.host, s.A, "precond=ip:unscaled");
    tune(device(), "resident/matrix", "group=128 per-item=1 groups=1000000 held=0");
    never_in_kernel(&s.host, s.A, "precond=jacobi");
    tune(device(), "resident/matrix", "auto");
    kry_op_release(&coo);
    linear_release(&s);
}

static void persistent__aborted(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    kry_op *solver;
    seen saw = { .stop_at = 1000 };

    abort_launch(0);
    never_in_kernel(&s.host, s.A, "precond=jacobi");
    OK(kry_solver_create(s.A, "precond=jacobi check-every=4 maxit=8 resident=on", look, &saw,
                         &solver));
    abort_launch(2); /* after the launch of no step for the first look, and one of four */
    outcome o = solve_by(solver, type, s.b, s.host.rows);
    abort_launch(-1);
    assert_int_equal(o.status, KRY_NOT_CONVERGED);
    assert_true(o.res.resident_iterations == 4 || o.res.resident_iterations == 0);
    assert_int_equal(o.res.history_count, 9);
    drop(&o);
    kry_op_release(&solver);
    linear_release(&s);
}

/* Request k for memory fails while the solver is made: it is made without the persistent kernel, or says so. */
static void persistent__no_memory(void **state)
{
    const kry_type type = type_of(state);
    linear s = linear_create(type, 150, 1);
    kry_op *solver;

    EACH_REQUEST(k)
    {
        kry_status st =
            FAILING(k, kry_solver_create(s.A, "precond=jacobi resident=on", NULL, NULL, &solver));
        assert_true(st == KRY_OK || st == KRY_ERR_MEMORY);
        kry_op_release(&solver);
    }
    linear_release(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BOTH(persistent__formats),           BOTH(persistent__shapes),
        BOTH(persistent__factors),           FOUR(persistent__factors_in_places_of_the_device),
        BOTH(persistent__same_result_twice), BOTH(persistent__iteration_limit),
        BOTH(persistent__breakdowns),        BOTH(persistent__monitor_at_every_second),
        BOTH(persistent__new_values),        BOTH(persistent__two_solvers),
        BOTH(persistent__refused),           BOTH(persistent__aborted),
        BOTH(persistent__no_memory),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, close_device);
}
