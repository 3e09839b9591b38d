/*
 * test_host.c - the host as a device, with no OpenCL in reach: products against plain loops, solves,
 * and what it refuses. Other test programs run on it as well: host_vec, host_stencil, ...
 */
#include "testing.h"
#include <kry/deflation.h>
#include <kry/dense.h>
#include <kry/problem.h>
#include <kry/stencil.h>
#include <kry/team.h>
#include <pthread.h>

static const int64_t sizes[] = { 0, 1, 2, 3, 5, 31, 255, 256, 257, 1001 };

/* ---- vectors ---- */

static void vec__plain_loops(void **state)
{
    kry_type type = type_of(state);

    for (size_t s = 0; s < COUNT(sizes); s++) {
        int64_t n = sizes[s];
        double *x = random_array(type, n), *y = random_array(type, n), dot, sum = 0, size = 0;
        kry_vec *X = vec_of(type, x, n, 1), *Y = vec_of(type, y, n, 1);
        for (int64_t i = 0; i < n; i++) sum += x[i] * y[i], size += fabs(x[i] * y[i]);
        OK(kry_vec_dot(X, Y, &dot));
        NEAR(dot, sum, (double)n * DBL_EPSILON * size, "x.y of %lld", (long long)n);
        OK(kry_vec_axpby(0.5, X, -2, Y));
        double *got = numbers_of(Y);
        for (int64_t i = 0; i < n; i++)
            NEAR(got[i], 0.5 * x[i] - 2 * y[i], 3 * eps_of(type), "y[%lld]", (long long)i);
        free(got), free(x), free(y);
        kry_vec_release(&X), kry_vec_release(&Y);
    }
}

/* ---- matrices ---- */

/* A matrix of n rows with up to five entries each, and the diagonal. */
static matrix random_matrix(kry_type type, int64_t n)
{
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)n * 6 + 1, sizeof *A.col);
    A.val = random_array(type, n * 6);
    assert_true(A.row_ptr && A.col);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i > 2 ? i - 3 : 0; j < n && j <= i + 2; j++)
            if (j == i || random_below(3)) A.col[A.nnz++] = (int32_t)j;
        A.row_ptr[i + 1] = A.nnz;
    }
    return A;
}

/* b - A x in flux form or not, for the same numbers. */
static void check_residual(const matrix *A, kry_type type, kry_form form)
{
    int64_t n = A->rows;
    kry_op *op = csr_of(A, type, KRY_MATRIX(.form = form));
    double *x = random_array(type, n), *b = random_array(type, n), *got;
    kry_vec *X = vec_of(type, x, n, 1), *B = vec_of(type, b, n, 1), *R;

    OK(kry_vec_create(device(), type, n, 1, &R));
    OK(kry_op_residual(op, B, X, R));
    got = numbers_of(R);
    for (int64_t i = 0; i < n; i++) {
        long double size, sum = row_times(A, i, x, NULL, &size);
        NEAR(got[i], b[i] - sum, row_bound(A, i, type, size + fabs(b[i])), "row %lld",
             (long long)i);
    }
    free(got);
    OK(kry_op_diagonal(op, R));
    got = numbers_of(R);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (A->col[k] == i) assert_true(got[i] == A->val[k]);
    free(got), free(x), free(b);
    kry_vec_release(&X), kry_vec_release(&B), kry_vec_release(&R);
    kry_op_release(&op);
}

static void csr__plain_loops(void **state)
{
    kry_type type = type_of(state);

    for (size_t s = 0; s < COUNT(sizes); s++) {
        matrix A = random_matrix(type, sizes[s]);
        check_residual(&A, type, KRY_ASSEMBLED);
        if (sizes[s]) check_residual(&A, type, KRY_FLUX);
        matrix_release(&A);
    }
}

/* ---- solves ---- */

static kry_result solve_problem(const kry_op *A, const kry_problem *p, const char *words)
{
    kry_op *S;
    kry_result res;
    double *x = calloc((size_t)p->n, sizeof *x);

    assert_non_null(x);
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    OK(kry_solve_host(S, p->rhs, x, &res));
    long double sum = 0, norm = 0;
    for (int64_t i = 0; i < p->n; i++) {
        long double r = p->rhs[i];
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            r -= (long double)p->val[k] * x[p->col[k]];
        sum += r * r, norm += (long double)p->rhs[i] * p->rhs[i];
    }
    if (sum > 1e-16L * norm * 1.01L) fail_msg("%s: residual %Lg", words, sqrtl(sum / norm));
    kry_op_release(&S);
    free(x);
    return res;
}

/* The same counts with a matrix and without, to one or two. */
static void solve__converges(void **state)
{
    static const char *const words[] = { "precond=jacobi rtol=1e-8",
                                         "method=pcg precond=jacobi rtol=1e-8",
                                         "method=cr precond=jacobi rtol=1e-8",
                                         "method=pcg precond=chebyshev:3 rtol=1e-8",
                                         "precision=mixed precond=jacobi rtol=1e-8" };
    kry_problem *p;
    kry_op *A, *G;

    (void)state;
    OK(kry_problem_create("poisson2d:37", 1, &p));
    OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val,
                      KRY_MATRIX(.traits = KRY_POSITIVE), &A));
    OK(kry_stencil_create(device(), KRY_F64, p->grid, &G));
    for (size_t w = 0; w < COUNT(words); w++) {
        kry_result a = solve_problem(A, p, words[w]), g = solve_problem(G, p, words[w]);
        const int most = strstr(words[w], "mixed") ? 20 : 2; /* in single other sums, too */
        NEAR(a.iterations, g.iterations, most, "iterations of %s", words[w]);
        assert_in_range(a.iterations, 10, 200);
    }
    kry_op_release(&A), kry_op_release(&G);
    kry_problem_release(&p);
}

static void *solve_in_thread(void *unused)
{
    kry_problem *p;
    kry_op *A;

    OK(kry_problem_create("poisson2d:23", 1, &p));
    OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
    for (int i = 0; i < 5; i++) solve_problem(A, p, "method=pcg rtol=1e-8");
    kry_op_release(&A);
    kry_problem_release(&p);
    return unused;
}

static void solve__threads(void **state)
{
    pthread_t thread[4];

    (void)state;
    (void)device();
    for (size_t i = 0; i < COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, solve_in_thread, NULL), 0);
    for (size_t i = 0; i < COUNT(thread); i++) pthread_join(thread[i], NULL);
}

/* ---- what it does not do ---- */

static void device__describes_itself(void **state)
{
    const kry_device_info *info = kry_device_get_info(device());
    kry_device *dev;

    (void)state;
    assert_string_equal(info->name, "host");
    assert_true(info->fp64 && info->cpu_kernels && !info->gpu && !info->opencl);
    assert_null(kry_device_queue(device()));
    REFUSES(kry_device_open("opencl", &dev), KRY_ERR_DEVICE, "'host', which needs none");
}

/* Without OpenCL. */
static void device__opens_as_a_team(void **state)
{
    static const struct {
        const char *spec;
        int size;
    } given[] = { { "host,reproducible", 1 },
                  { "host/3", 3 },
                  { "host+host,use-all", 2 },
                  { "host/2+host", 3 } };
    kry_device *dev;

    (void)state;
    for (size_t i = 0; i < COUNT(given); i++) {
        OK(kry_device_open(given[i].spec, &dev));
        assert_int_equal(kry_team_size(dev), given[i].size);
        kry_device_release(&dev);
    }
    REFUSES(kry_device_open("host/0", &dev), KRY_ERR_ARGUMENT, "cannot be cut into 0");
    REFUSES(kry_device_open("host,fast", &dev), KRY_ERR_ARGUMENT, "'fast' is none of");
}

/* Preconditioners and methods. */
static void solve__methods(void **state)
{
    static const struct {
        const char *words;
        int64_t iterations;
    } given[] = { { "precond=block-ic", 40 }, { "precond=block-jacobi:4", 46 },
                  { "precond=amg", 8 },       { "deflation=stripes:4", 60 },
                  { "method=bicgstab", 40 },  { "method=gmres", 70 },
                  { "method=idr", 50 },       { "method=minres", 64 },
                  { "method=tfqmr", 50 },     { "method=lsqr", 300 } };
    kry_problem *p;
    kry_op *A;

    (void)state;
    OK(kry_problem_create("poisson2d:20", 1, &p));
    OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val,
                      KRY_MATRIX(.traits = KRY_POSITIVE), &A));
    for (size_t i = 0; i < COUNT(given); i++) {
        kry_result r = solve_problem(A, p, given[i].words);
        if (r.iterations < 1 || r.iterations > given[i].iterations)
            fail_msg("%s: %lld iterations", given[i].words, (long long)r.iterations);
    }
    kry_op_release(&A);
    kry_problem_release(&p);
}

static void refused__others(void **state)
{
    kry_launch_shape shape = { .group = 1, .per_unit = 16, .chunks = 64 };
    kry_vec *x, *y;
    kry_op *lu = NULL;
    cl_kernel kernel;

    (void)state;
    OK(kry_vec_create(device(), KRY_F64, 5, 5, &x));
    OK(kry_vec_create(device(), KRY_F64, 5, 1, &y));
    OK(kry_vec_fill(x, 1));
    REFUSES(kry_vec_gemv(false, 1, x, y, 0, y), KRY_ERR_ARGUMENT, "overlaps");
    REFUSES(kry_vec_gemm(false, false, 1, x, x, 0, y), KRY_ERR_SHAPE, "");
    OK(kry_lu_create(x, NULL, &lu));
    kry_op_release(&lu);
    REFUSES(kry_device_kernel(device(), KRY_F64, "own", "kernel void own() {}", "", "own", &kernel),
            KRY_ERR_UNSUPPORTED, "runs no OpenCL kernels");
    OK(kry_device_set_launch_shape(device(), &shape));
    OK(kry_device_set_launch_shape(device(), NULL));
    OK(kry_device_finish(device()));
    kry_vec_release(&x), kry_vec_release(&y);
}

static kry_status refuse_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self, (void)alpha, (void)x, (void)beta, (void)y;
    return kry_fail(KRY_ERR_UNSUPPORTED, "not called");
}

/* Memory of the caller's is no buffer of this device; the numbers of a vector are. */
static void refused__other_memory(void **state)
{
    enum { N = 4 };
    kry_vec *v, *w;
    kry_op *A;
    int32_t *ptr = calloc(N + 1, sizeof *ptr), *col = calloc(N, sizeof *col);
    double *val = calloc(N, sizeof *val);
    const cl_mem p = (cl_mem)(void *)ptr, c = (cl_mem)(void *)col, x = (cl_mem)(void *)val;

    (void)state;
    assert_true(ptr && col && val);
    for (int i = 0; i < N; i++) ptr[i + 1] = i + 1, col[i] = i, val[i] = 1;
    REFUSES(kry_vec_wrap(device(), KRY_F64, N, 1, x, 0, &v), KRY_ERR_ARGUMENT,
            "kry_vec_wrap: on the device 'host' a buffer is what kry_vec_buffer gives");
    assert_null(v);
    REFUSES(kry_csr_wrap(device(), KRY_F64, N, N, N, false, p, c, x, NULL, &A), KRY_ERR_ARGUMENT,
            "kry_csr_wrap: on the device 'host' a buffer is what kry_vec_buffer gives");
    assert_null(A);
    OK(kry_vec_create(device(), KRY_F64, 2 * N, 1, &v));
    OK(kry_vec_wrap(device(), KRY_F64, N, 1, kry_vec_buffer(v, NULL), N, &w));
    const cl_mem gone = kry_vec_buffer(v, NULL);
    kry_vec_release(&v);
    OK(kry_vec_fill(w, 1));
    kry_vec_release(&w);
    REFUSES(kry_vec_wrap(device(), KRY_F64, N, 1, gone, 0, &w), KRY_ERR_ARGUMENT, "kry_vec_buffer");
    free(val), free(col), free(ptr);
}

/* A sum keeps its device, and is none of another one's. */
static void sum__of_a_device(void **state)
{
    kry_type type = type_of(state);
    static const int64_t row_ptr[] = { 0, 1, 2 };
    static const int32_t col[] = { 0, 1 };
    kry_device *dev;
    kry_sum *sum, *own;
    kry_vec *x, *y;
    kry_op *A;
    void *ones = in_type(type, (double[]){ 1, 1 }, 2);

    OK(kry_device_open("host", &dev));
    OK(kry_sum_create(dev, 1, &sum));
    kry_device_release(&dev);
    OK(kry_sum_create(device(), 1, &own));
    OK(kry_csr_create(device(), type, 2, 2, row_ptr, col, ones,
                      KRY_MATRIX(.format = KRY_FORMAT_CSR), &A));
    OK(kry_vec_create(device(), type, 2, 1, &x));
    OK(kry_vec_create(device(), type, 2, 1, &y));
    REFUSES(kry_op_apply_dot(A, x, y, sum), KRY_ERR_ARGUMENT,
            "kry_op_apply_dot: the sum lives on another device than 'csr'");
    REFUSES(kry_vec_dot_sum(x, y, sum), KRY_ERR_ARGUMENT, "kry_vec_dot_sum: the sum lives");
    OK(kry_op_apply_dot(A, x, y, own));
    OK(kry_vec_dot_sum(x, y, own));
    kry_sum_release(&sum);
    kry_sum_release(&own);
    kry_op_release(&A);
    kry_vec_release(&x), kry_vec_release(&y);
    free(ones);
}

/* A' of a rectangular matrix is another one: it cannot be said to be symmetric. */
static void refused__rectangular_and_symmetric(void **state)
{
    static const unsigned traits[] = { KRY_SYMMETRIC, KRY_POSITIVE, KRY_SINGULAR };
    static const int64_t row_ptr[] = { 0, 1, 2 };
    static const int32_t col[] = { 0, 1 };
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "own",
                                        .apply = refuse_apply };
    kry_type type = type_of(state);
    void *ones = in_type(type, (double[]){ 1, 1 }, 2);
    kry_op *A;

    for (size_t i = 0; i < COUNT(traits); i++) {
        REFUSES(kry_csr_create(device(), type, 2, 9, row_ptr, col, ones,
                               KRY_MATRIX(.traits = traits[i]), &A),
                KRY_ERR_SHAPE, "kry_csr_create: 2-by-9 cannot be");
        REFUSES(kry_coo_create(device(), type, 2, 9, 2, col, col, ones,
                               KRY_MATRIX(.traits = traits[i]), &A),
                KRY_ERR_SHAPE, "kry_coo_create: 2-by-9 cannot be");
        REFUSES(kry_op_create(device(), &table, NULL, &(kry_op_shape){ 9, 2, type, traits[i] }, &A),
                KRY_ERR_SHAPE, "kry_op_create: 9-by-2 cannot be");
    }
    REFUSES(kry_csr_create(device(), type, 2, 2, row_ptr, col, ones, KRY_MATRIX(.traits = 64), &A),
            KRY_ERR_ARGUMENT, "there are no traits 0x40");
    REFUSES(kry_csr_create(device(), type, 2, 2, row_ptr, col, ones,
                           KRY_MATRIX(.storage = (kry_storage)3), &A),
            KRY_ERR_ARGUMENT, "3 is not a storage");
    free(ones);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(vec__plain_loops),
        BOTH(csr__plain_loops),
        cmocka_unit_test(solve__converges),
        cmocka_unit_test(solve__threads),
        cmocka_unit_test(device__describes_itself),
        cmocka_unit_test(device__opens_as_a_team),
        cmocka_unit_test(solve__methods),
        cmocka_unit_test(refused__others),
        cmocka_unit_test(refused__other_memory),
        BOTH(sum__of_a_device),
        BOTH(refused__rectangular_and_symmetric),
    };

    if (!has_host()) {
        printf("1..0 # SKIP kry was built without kernels for the host\n");
        return 0;
    }
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    unsetenv("OCL_ICD_FILENAMES");
    setenv("KRY_DEVICE", "host", 1);
    (void)!device();
    unsetenv("KRY_DEVICE");
    return cmocka_run_group_tests_name("host", tests, NULL, close_device);
}
