/*
 * test_op.c - operators of the caller's own: the defaults that fill their tables, the checks in
 * front of them, and their lives.
 */
#include "op_suite.h"

/* ---- an operator that offers apply and nothing else: any matrix, on the host ---------------- */

typedef struct host_op {
    const matrix *A;
    kry_type type;
    int applied, destroyed;
    kry_status fails; /* what apply returns, if negative */
} host_op;

static kry_status host_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    host_op *h = self;
    kry_status st = KRY_OK;
    double *X = calloc((size_t)h->A->cols + 1, sizeof *X), *Y = calloc((size_t)h->A->rows + 1, 8);

    h->applied++;
    assert_true(X && Y);
    assert_int_equal(kry_vec_cols(x), 1);
    assert_int_equal(kry_vec_cols(y), 1);
    CHECK(h->fails == KRY_OK, h->fails, "host_apply: told to fail");
    TRY(kry_vec_read(x, X));
    TRY(kry_vec_read(y, Y));
    for (int64_t i = 0; i < h->A->rows; i++) {
        double sum = 0;
        for (int64_t k = h->A->row_ptr[i]; k < h->A->row_ptr[i + 1]; k++)
            sum += h->A->val[k] * at(h->type, X, h->A->col[k]);
        put(h->type, Y, i, beta == 0 ? alpha * sum : alpha * sum + beta * at(h->type, Y, i));
    }
    TRY(kry_vec_write(y, Y));
done:
    free(X), free(Y);
    return st;
}

static void host_destroy(void *self) { ((host_op *)self)->destroyed++; }

static const kry_op_table host_table = { .struct_size = sizeof(kry_op_table),
                                         .kind = "host",
                                         .apply = host_apply,
                                         .destroy = host_destroy };

static kry_op *host_op_create(host_op *h, unsigned traits)
{
    kry_op *op;
    kry_op_shape shape = { h->A->rows, h->A->cols, h->type, traits };
    OK(kry_op_create(device(), &host_table, h, &shape, &op));
    return op;
}

static int64_t gaps(int64_t i, int64_t n, int64_t m) { return (void)n, (void)m, i % 3 ? i % 7 : 0; }
static int64_t tridiagonal(int64_t i, int64_t n, int64_t m)
{
    return (void)m, 1 + (i > 0) + (i + 1 < n);
}

/* 4 on the diagonal, -1 beside it: positive definite with eigenvalues in (2, 6). */
static matrix tridiagonal_matrix(kry_type type, int64_t n)
{
    matrix A = matrix_create(type, n, n, tridiagonal);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = A.row_ptr[i];
        for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++, at++)
            A.col[at] = (int32_t)j, A.val[at] = i == j ? 4 : -1;
    }
    return A;
}

static void op__only_apply_keeps_the_contract(void **state)
{
    kry_type type = type_of(state);
    static const int64_t shapes[][2] = {
        { 131, 131 }, { 40, 100 }, { 100, 40 }, { 0, 3 }, { 3, 0 }
    };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        matrix A = matrix_create(type, shapes[i][0], shapes[i][1], gaps);
        host_op h = { .A = &A, .type = type };
        kry_op *op = host_op_create(&h, 0);
        op_suite(op, &A);
        kry_op_release(&op);
        assert_int_equal(h.destroyed, 1);
        matrix_release(&A);
    }
}

static void op__symmetric_trait_lends_apply_as_transpose(void **state)
{
    kry_type type = type_of(state);
    matrix A = tridiagonal_matrix(type, 77);
    host_op h = { .A = &A, .type = type };
    kry_op *op = host_op_create(&h, KRY_POSITIVE);
    assert_true(kry_op_get_shape(op)->traits & KRY_SYMMETRIC);
    op_suite(op, &A);
    kry_op_release(&op);
    matrix_release(&A);
}

static void op__once_per_column(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 5, 6, gaps);
    host_op h = { .A = &A, .type = type };
    kry_op *op = host_op_create(&h, 0);
    kry_vec *x, *y;
    OK(kry_vec_create(device(), type, 6, 4, &x));
    OK(kry_vec_create(device(), type, 5, 4, &y));
    OK(kry_op_apply(op, 1, x, 0, y));
    assert_int_equal(h.applied, 4);
    kry_vec_release(&x), kry_vec_release(&y);
    kry_op_release(&op);
    matrix_release(&A);
}

static void op__failing_apply_is_handed_on(void **state)
{
    kry_type type = type_of(state);
    matrix A = tridiagonal_matrix(type, 6);
    host_op h = { .A = &A, .type = type, .fails = KRY_ERR_CALLBACK };
    kry_op *op = host_op_create(&h, KRY_POSITIVE), *solver;
    kry_vec *x, *y;
    double before[6] = { 1, 2, 3, 4, 5, 6 };
    OK(kry_vec_create(device(), type, 6, 1, &x));
    OK(kry_vec_create(device(), type, 6, 1, &y));
    OK(kry_vec_fill(y, 1));
    REFUSES(kry_op_apply(op, 1, x, 0, y), KRY_ERR_CALLBACK, "told to fail");
    REFUSES(kry_op_apply_transpose(op, 1, x, 0, y), KRY_ERR_CALLBACK, "told to fail");
    REFUSES(kry_op_residual(op, y, x, y), KRY_ERR_CALLBACK, "told to fail");
    OK(kry_pcg_create(op, NULL, &solver));
    void *guess = in_type(type, before, 6);
    OK(kry_vec_write(x, guess));
    REFUSES(kry_solve(solver, y, x, NULL), KRY_ERR_CALLBACK, "told to fail");
    double after[6];
    OK(kry_vec_read(x, after));
    for (int i = 0; i < 6; i++) assert_true(at(type, after, i) == before[i]);
    free(guess);
    kry_op_release(&solver);
    kry_vec_release(&x), kry_vec_release(&y);
    kry_op_release(&op);
    matrix_release(&A);
}

/* Products beyond two for each iteration of bicgstab and tfqmr, one for each of other methods; -1: the host has no such
 * method. */
static int applied_in_vain(kry_type type, const matrix *A, unsigned traits, const char *word)
{
    host_op h = { .A = A, .type = type };
    kry_op *op = host_op_create(&h, KRY_POSITIVE | traits), *solver;
    kry_vec *b, *x;
    kry_result res;
    char words[80];
    const bool twice = strstr(word, "bicgstab") || strstr(word, "tfqmr");

    snprintf(words, sizeof words, "method=%s precond=none rtol=1e-4", word);
    const kry_status st = kry_solver_create(op, words, NULL, NULL, &solver);
    if (is_host(device()) && st == KRY_ERR_UNSUPPORTED) {
        kry_op_release(&op);
        return -1;
    }
    OK(st);
    OK(kry_vec_create(device(), type, A->rows, 1, &b));
    OK(kry_vec_create(device(), type, A->rows, 1, &x));
    OK(kry_vec_fill(b, 1));
    h.applied = 0;
    OK(kry_solve(solver, b, x, &res));
    assert_true(res.iterations > 2);
    kry_op_release(&solver);
    kry_vec_release(&x), kry_vec_release(&b);
    kry_op_release(&op);
    return h.applied - (int)res.iterations * (twice ? 2 : 1);
}

static void op__that_waits_is_not_applied_in_vain(void **state)
{
    static const struct {
        const char *word;
        int ends; /* products at the begin and the end of a solve */
    } methods[] = { { "cg", 2 },       { "cr", 3 },      { "minres", 3 }, { "pipe-cg", 4 },
                    { "bicgstab", 2 }, { "gmres:9", 2 }, { "idr:4", 2 },  { "tfqmr", 3 } };
    matrix A = tridiagonal_matrix(type_of(state), 60);
    int saved = 0;

    for (size_t i = 0; i < COUNT(methods); i++) {
        const char *word = methods[i].word;
        const int beyond = applied_in_vain(type_of(state), &A, KRY_WAITS, word);
        if (beyond > methods[i].ends)
            fail_msg("%s: %d products beyond its iterations, not %d", word, beyond,
                     methods[i].ends);
        saved += applied_in_vain(type_of(state), &A, 0, word) > beyond;
    }
    assert_true(saved > 0); /* without the promise the host runs ahead */
    matrix_release(&A);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void op_create__table_of_another_version(void **state)
{
    (void)state;
    kry_op_shape shape = { 3, 3, KRY_F32, 0 }, bad;
    kry_op_table table = host_table;
    kry_op *op = (kry_op *)&op;
    host_op h = { 0 };

    table.struct_size = sizeof table + sizeof(void *);
    REFUSES(kry_op_create(device(), &table, &h, &shape, &op), KRY_ERR_ARGUMENT, "a later version");
    assert_null(op);
    table.struct_size = 0;
    REFUSES(kry_op_create(device(), &table, &h, &shape, &op), KRY_ERR_ARGUMENT, "not made by");
    table = host_table, table.apply = NULL;
    REFUSES(kry_op_create(device(), &table, &h, &shape, &op), KRY_ERR_ARGUMENT, "no apply");
    table = host_table, table.kind = NULL;
    REFUSES(kry_op_create(device(), &table, &h, &shape, &op), KRY_ERR_ARGUMENT, "no kind");
    bad = shape, bad.rows = -1;
    REFUSES(kry_op_create(device(), &host_table, &h, &bad, &op), KRY_ERR_ARGUMENT, "-1-by-3");
    bad = shape, bad.cols = -2;
    REFUSES(kry_op_create(device(), &host_table, &h, &bad, &op), KRY_ERR_ARGUMENT, "3-by--2");
    bad = shape, bad.type = (kry_type)5;
    REFUSES(kry_op_create(device(), &host_table, &h, &bad, &op), KRY_ERR_ARGUMENT, "5");
    REFUSES(kry_op_create(NULL, &host_table, &h, &shape, &op), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_create(device(), NULL, &h, &shape, &op), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_create(device(), &host_table, &h, NULL, &op), KRY_ERR_ARGUMENT, "NULL");
    assert_null(op);
    assert_int_equal(h.destroyed, 0); /* self is the caller's until a call succeeds */
}

static void op__not_offered(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 4, 4, gaps);
    host_op h = { .A = &A, .type = type };
    kry_op *op = host_op_create(&h, 0);
    kry_vec *x, *y;
    kry_op_info info;
    double values[4] = { 0 };

    OK(kry_vec_create(device(), type, 4, 1, &x));
    OK(kry_vec_create(device(), type, 4, 1, &y));
    REFUSES(kry_op_apply_transpose(op, 1, x, 0, y), KRY_ERR_UNSUPPORTED, "host");
    REFUSES(kry_op_diagonal(op, y), KRY_ERR_UNSUPPORTED, "host");
    REFUSES(kry_op_update(op, values), KRY_ERR_UNSUPPORTED, "host");
    OK(kry_op_update(op, NULL));
    REFUSES(kry_op_update(NULL, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_solve(op, x, y, NULL), KRY_ERR_TYPE, "not a solver");
    kry_op_describe(op, &info);
    assert_string_equal(info.kind, "host");
    assert_string_equal(info.variant, "");
    assert_int_equal(info.nnz, -1);
    assert_true(info.bytes_per_apply == 0 && info.bytes_per_direction == 0);
    assert_ptr_equal(kry_op_device(op), device());
    kry_vec_release(&x), kry_vec_release(&y);
    kry_op_release(&op);
    matrix_release(&A);
}

static void op__retained_and_released(void **state)
{
    (void)state;
    matrix A = matrix_create(KRY_F32, 4, 4, gaps);
    host_op h = { .A = &A, .type = KRY_F32 };
    int held = device_references(device());
    kry_op *op = host_op_create(&h, 0), *second = kry_op_retain(op), *none = NULL;

    assert_int_equal(device_references(device()), held + 1);
    kry_op_release(&op);
    assert_null(op);
    assert_int_equal(h.destroyed, 0);
    kry_op_release(&second);
    assert_int_equal(h.destroyed, 1);
    assert_int_equal(device_references(device()), held);
    kry_op_release(&none);
    matrix_release(&A);
}

/* A solver keeps its matrix and its preconditioner. */
static void op__kept_alive_by_what_is_built_on_it(void **state)
{
    (void)state;
    matrix A = tridiagonal_matrix(KRY_F32, 9);
    host_op h = { .A = &A, .type = KRY_F32 };
    kry_op *op = host_op_create(&h, KRY_POSITIVE), *solver;
    kry_vec *x, *b;
    OK(kry_pcg_create(op, NULL, &solver));
    kry_op_release(&op);
    assert_int_equal(h.destroyed, 0);
    OK(kry_vec_create(device(), KRY_F32, 9, 1, &x));
    OK(kry_vec_create(device(), KRY_F32, 9, 1, &b));
    OK(kry_vec_fill(b, 1));
    OK(kry_solve(solver, b, x, NULL));
    kry_op_release(&solver);
    assert_int_equal(h.destroyed, 1);
    kry_vec_release(&x), kry_vec_release(&b);
    matrix_release(&A);
}

static void op_apply__vector_of_another_device(void **state)
{
    (void)state;
    kry_device *other;
    kry_vec *theirs, *ours;
    matrix A = matrix_create(KRY_F32, 4, 4, gaps);
    host_op h = { .A = &A, .type = KRY_F32 };
    kry_op *op = host_op_create(&h, KRY_SYMMETRIC);

    OK(kry_device_open(NULL, &other));
    OK(kry_vec_create(other, KRY_F32, 4, 1, &theirs));
    OK(kry_vec_create(device(), KRY_F32, 4, 1, &ours));
    REFUSES(kry_op_apply(op, 1, theirs, 0, ours), KRY_ERR_ARGUMENT, "another device");
    REFUSES(kry_op_apply(op, 1, ours, 0, theirs), KRY_ERR_ARGUMENT, "another device");
    REFUSES(kry_op_apply_transpose(op, 1, theirs, 0, ours), KRY_ERR_ARGUMENT, "another device");
    REFUSES(kry_op_residual(op, theirs, ours, ours), KRY_ERR_ARGUMENT, "");
    assert_int_equal(h.applied, 0);
    kry_vec_release(&theirs);
    kry_vec_release(&ours);
    kry_device_release(&other);
    kry_op_release(&op);
    matrix_release(&A);
}

/* ---- the fused steps' defaults -----------------------------------------------------------------
 */

/*
 * Conjugate gradients through apply alone and through CSR's fused steps: both end with
 * ||b - A x|| <= rtol ||b||, so the solutions differ by at most 2 rtol ||b|| / 2 (the smallest
 * eigenvalue), and the histories by rounding.
 */
static void check_defaults(kry_type type, int64_t n, bool jacobi)
{
    const double rtol = type == KRY_F32 ? 1e-5 : 1e-10;
    matrix A = tridiagonal_matrix(type, n);
    host_op h = { .A = &A, .type = type };
    kry_op *op[2] = { host_op_create(&h, KRY_POSITIVE),
                      csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE)) };
    kry_op *M = NULL;
    double *b = random_array(type, n), *x[2], norm_b;
    guarded B = guarded_create(type, n, 1, 1, b);
    kry_result res[2];
    double history[2][200] = { { 0 }, { 0 } };

    OK(kry_vec_norm2(B.v, &norm_b));
    if (jacobi) OK(kry_jacobi_create(op[1], &M));
    for (int i = 0; i < 2; i++) {
        guarded X = guarded_create(type, n, 1, 3, NULL);
        kry_op *solver;
        OK(kry_vec_fill(X.v, 0));
        OK(kry_pcg_create(op[i], KRY_PCG(.precond = M, .stop = { .rtol = rtol }), &solver));
        OK(kry_solve(solver, B.v, X.v, &res[i]));
        assert_in_range(res[i].history_count, 2, 200);
        memcpy(history[i], res[i].history, (size_t)res[i].history_count * sizeof **history);
        x[i] = guarded_read(&X);
        kry_op_release(&solver);
        guarded_release(&X);
    }
    assert_int_equal(res[0].history_count, res[1].history_count);
    for (int64_t i = 0; i < res[0].history_count; i++)
        NEAR(history[0][i], history[1][i],
             100 * (long double)(i + 1) * eps_of(type) * norm_b + 1e-6L * history[1][i],
             "residual %lld", (long long)i);
    long double difference = 0;
    for (int64_t i = 0; i < n; i++) difference += powl((long double)x[0][i] - x[1][i], 2);
    NEAR(sqrtl(difference), 0, rtol * norm_b, "difference of the solutions");
    assert_true(h.applied > 2);
    free(x[0]), free(x[1]), free(b);
    kry_op_release(&M);
    kry_op_release(&op[0]), kry_op_release(&op[1]);
    guarded_release(&B);
    matrix_release(&A);
}

static void op__pcg_through_defaults_equals_fused(void **state)
{
    kry_type type = type_of(state);
    check_defaults(type, 1, false);
    check_defaults(type, 257, false);
    check_defaults(type, 1400, true);
}

/* ---- a caller's operator with kernels of its own, that leaves its sums behind --------------- */

/* y := A x of (-1, 3, -1), and the partial sums of x.y: one of each work-item, which has a chunk of
 * rows. */
static const char chain_source[] =
    "kernel void chain(long n, REAL alpha, global const REAL *x, long x0, REAL beta,\n"
    "                  global REAL *y, long y0, int sums, global TOTAL *part)\n"
    "{\n"
    "    long items = get_global_size(0), me = get_global_id(0), chunk = (n + items - 1) / items;\n"
    "    TOTAL sum = NO_TOTAL;\n"
    "    x += x0, y += y0;\n"
    "    for (long i = me * chunk; i < min(n, (me + 1) * chunk); i++) {\n"
    "        REAL y_i = 3 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0);\n"
    "        y[i] = beta == 0 ? alpha * y_i : alpha * y_i + beta * y[i];\n"
    "        ADD_PRODUCT(sum, x[i], y_i);\n"
    "    }\n"
    "    if (sums) part[me] = sum;\n"
    "}\n";

typedef struct chain {
    kry_device *dev;
    kry_type type;
    cl_kernel kernel;
    int applied, summed;
} chain;

static kry_status chain_run(chain *C, double alpha, const kry_vec *x, double beta, kry_vec *y,
                            kry_sum *sum)
{
    kry_status st = KRY_OK;
    int64_t n = kry_vec_rows(x), x0, y0;
    cl_mem in = kry_vec_buffer(x, &x0), out = kry_vec_buffer(y, &y0);
    cl_mem part = sum ? kry_sum_buffer(sum) : out;
    double a64 = alpha, b64 = beta;
    float a32 = (float)alpha, b32 = (float)beta;
    cl_int sums = sum != NULL;
    size_t items = 24, one = 1, word = kry_type_size(C->type);
    const void *a = C->type == KRY_F64 ? (void *)&a64 : &a32,
               *b = C->type == KRY_F64 ? (void *)&b64 : &b32;
    const struct {
        size_t size;
        const void *value;
    } args[] = { { sizeof n, &n },      { word, a },
                 { sizeof in, &in },    { sizeof x0, &x0 },
                 { word, b },           { sizeof out, &out },
                 { sizeof y0, &y0 },    { sizeof sums, &sums },
                 { sizeof part, &part } };

    if (sum) assert_in_range(items, 1, kry_sum_capacity(sum));
    for (size_t i = 0; i < COUNT(args); i++)
        assert_int_equal(clSetKernelArg(C->kernel, (cl_uint)i, args[i].size, args[i].value), 0);
    CHECK(clEnqueueNDRangeKernel(kry_device_queue(C->dev), C->kernel, 1, NULL, &items, &one, 0,
                                 NULL, NULL) == CL_SUCCESS,
          KRY_ERR_DEVICE, "chain: clEnqueueNDRangeKernel");
    if (sum) kry_sum_set_count(sum, (int)items);
done:
    return st;
}

static kry_status chain_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    ((chain *)self)->applied++;
    return chain_run(self, alpha, x, beta, y, NULL);
}

static kry_status chain_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    ((chain *)self)->summed++;
    return chain_run(self, 1, x, 0, y, sum);
}

static void chain_destroy(void *self) { clReleaseKernel(((chain *)self)->kernel); }

static void op__of_the_caller_leaves_its_sums(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "chain",
                                        .apply = chain_apply,
                                        .apply_dot = chain_apply_dot,
                                        .destroy = chain_destroy };
    kry_type type = type_of(state);
    enum { N = 257 };
    const double rtol = type == KRY_F32 ? 1e-5 : 1e-10;
    chain C = { .dev = device(), .type = type };
    double *ones = random_array(type, N), *x;
    kry_op *A, *solver;
    kry_result res;
    guarded B = guarded_create(type, N, 1, 1, ones), X = guarded_create(type, N, 1, 3, ones);

    OK(kry_device_kernel(device(), type, "chain", chain_source, "", "chain", &C.kernel));
    OK(kry_op_create(device(), &table, &C, &(kry_op_shape){ N, N, type, KRY_POSITIVE }, &A));
    OK(kry_pcg_create(A, KRY_PCG(.stop = { .rtol = rtol }), &solver));
    OK(kry_solve(solver, B.v, X.v, &res));
    assert_true(C.summed >= res.iterations); /* p'A p of each iteration */
    x = guarded_read(&X);
    long double sum = 0;
    for (int i = 0; i < N; i++) {
        long double r = ones[i] - 3 * (long double)x[i];
        r += (i > 0 ? x[i - 1] : 0) + (i + 1 < N ? x[i + 1] : 0);
        sum += r * r;
    }
    NEAR(sqrtl(sum), res.true_residual, 100 * eps_of(type) * res.norm_b, "residual");
    free(x), free(ones);
    kry_op_release(&solver);
    kry_op_release(&A);
    guarded_release(&B), guarded_release(&X);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(op__only_apply_keeps_the_contract),
        BOTH(op__symmetric_trait_lends_apply_as_transpose),
        BOTH(op__once_per_column),
        BOTH(op__failing_apply_is_handed_on),
        BOTH(op__that_waits_is_not_applied_in_vain),
        cmocka_unit_test(op_create__table_of_another_version),
        BOTH(op__not_offered),
        cmocka_unit_test(op__retained_and_released),
        cmocka_unit_test(op__kept_alive_by_what_is_built_on_it),
        cmocka_unit_test(op_apply__vector_of_another_device),
        BOTH(op__pcg_through_defaults_equals_fused),
        BOTH(op__of_the_caller_leaves_its_sums),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
