/* test_totals.c - sums over rows on devices without double: pairs of singles, as good as double. */
#include "testing.h"
#include <kry/problem.h>
#include <kry/solver.h>

static const char *const profiles[] = { "no-fp64 cpu-kernels", "no-fp64 gpu-kernels" };

/* 2 m numbers whose products nearly cancel, in random order; the dot, and how wrong plain singles
 * are. */
static long double cancelling(int64_t m, double *x, double *y, double *plain_error)
{
    long double dot = 0;
    float plain = 0;

    for (int64_t i = 0; i < m; i++) {
        x[i] = x[i + m] = random_number(KRY_F32) + 1.5;
        y[i] = to_type(KRY_F32, random_number(KRY_F32) * exp2((double)random_below(8)));
        y[i + m] = to_type(KRY_F32, -y[i] * (1 - ldexp(1, -21)));
        x[i] = x[i + m] = to_type(KRY_F32, y[i] < 0 ? -x[i] : x[i]);
    }
    for (int64_t i = 2 * m - 1; i > 0; i--) {
        int64_t j = random_below(i + 1);
        double xi = x[i], yi = y[i];
        x[i] = x[j], y[i] = y[j], x[j] = xi, y[j] = yi;
    }
    for (int64_t i = 0; i < 2 * m; i++) {
        dot += (long double)x[i] * y[i];
        plain += (float)((float)x[i] * (float)y[i]);
    }
    *plain_error = (double)fabsl((plain - dot) / dot);
    return dot;
}

static void dot__of_vectors_that_cancel(void **state)
{
    static const int64_t halves[] = { 500, 20011, 200003 };
    double worst = 0;
    (void)state;
    for (size_t p = 0; p < COUNT(profiles); p++) {
        use_profile(profiles[p]);
        for (size_t h = 0; h < COUNT(halves); h++)
            for (int offset = 0; offset < 2; offset++) {
                int64_t n = 2 * halves[h];
                double *x = calloc((size_t)n, 8), *y = calloc((size_t)n, 8), wrong, got, pair[2];
                long double want = cancelling(halves[h], x, y, &wrong);
                guarded X = guarded_create(KRY_F32, n, 1, offset, x);
                guarded Y = guarded_create(KRY_F32, n, 1, 3 * offset, y);
                kry_sum *sum = NULL;
                print_message("# %lld: plain singles are %.2g off\n", (long long)n, wrong);
                worst = fmax(worst, wrong);
                OK(kry_vec_dot(X.v, Y.v, &got));
                NEAR(got, want, 4 * FLT_EPSILON * fabsl(want), "dot of %lld", (long long)n);
                OK(kry_sum_create(device(), 2, &sum));
                OK(dot_pair(X.v, Y.v, sum));
                OK(read_sum(device(), sum, pair));
                NEAR(pair[0], want, 4 * FLT_EPSILON * fabsl(want), "pair of %lld", (long long)n);
                OK(kry_vec_dot(X.v, X.v, &got));
                NEAR(pair[1], got, 1e-12 * got, "square of %lld", (long long)n);
                kry_sum_release(&sum);
                guarded_release(&X), guarded_release(&Y);
                free(x), free(y);
            }
    }
    assert_true(worst > 0.01);
}

/* An overflow is no number, but not hidden either. */
static void dot__overflows(void **state)
{
    NOT_ON_HOST("devices without double");
    const double x[] = { 3e38, 1, 3e38 };
    double dot;
    (void)state;
    for (size_t p = 0; p < COUNT(profiles); p++) {
        use_profile(profiles[p]);
        guarded X = guarded_create(KRY_F32, 3, 1, 0, x);
        OK(kry_vec_dot(X.v, X.v, &dot));
        assert_true(isinf(dot));
        OK(kry_vec_norm2(X.v, &dot));
        NEAR(dot, 3e38L * sqrtl(2), 1e33, "norm");
        guarded_release(&X);
    }
}

/* ---- the arithmetic itself, with fma and without ---- */

static const char *const source =
    "kernel void totals(int n, global const float *x, global const float *y, global float *out)\n"
    "{\n"
    "    TOTALV v = NO_TOTALV;\n"
    "    TOTAL s = NO_TOTAL, t = NO_TOTAL, one = NO_TOTAL;\n"
    "    for (int i = 0; i < n; i++) ADD_PRODUCT(s, x[i], y[i]);\n"
    "    for (int i = 0; i < n; i++) ADD(t, x[i]);\n"
    "    for (int i = 0; i < n / VW; i++)\n"
    "        ADD_PRODUCTV(v, KRY_JOIN(vload, VW)(i, x), KRY_JOIN(vload, VW)(i, y));\n"
    "    ADD(one, 1.0f);\n"
    "    TOTAL all = ALL_LANES(v, one);\n"
    "    out[0] = s.hi, out[1] = s.lo, out[2] = t.hi, out[3] = t.lo;\n"
    "    out[4] = all.hi, out[5] = all.lo, out[6] = RATIO(s, t), out[7] = RATIO(t, s);\n"
    "}\n";

static void run_totals(cl_kernel kernel, int n, cl_mem x, cl_mem y, cl_mem out, float *got)
{
    const size_t one = 1;
    cl_command_queue queue = kry_device_queue(device());
    assert_int_equal(clSetKernelArg(kernel, 0, sizeof n, &n), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 1, sizeof x, &x), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 2, sizeof y, &y), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 3, sizeof out, &out), CL_SUCCESS);
    assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(
        clEnqueueReadBuffer(queue, out, CL_TRUE, 0, 8 * sizeof *got, got, 0, NULL, NULL),
        CL_SUCCESS);
}

static void totals__with_fma_and_without(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    enum { N = 4096 };
    static const char *const options[] = { "", "-DKRY_NO_FMA" };
    (void)state;
    for (size_t o = 0; o < 2 * COUNT(options); o++) {
        double x[N], y[N];
        float got[8];
        long double xy = 1, sx = 0, size = 0, sizes = 0;
        cl_kernel kernel = NULL;
        kry_vec *out = NULL;
        use_profile(profiles[o / 2]);
        for (int i = 0; i < N; i++) {
            x[i] = to_type(KRY_F32, random_number(KRY_F32) * exp2((double)random_below(40) - 20));
            y[i] = to_type(KRY_F32, random_number(KRY_F32) * exp2((double)random_below(40) - 20));
            xy += (long double)x[i] * y[i], size += fabsl((long double)x[i] * y[i]);
            sx += x[i], sizes += fabs(x[i]);
        }
        guarded X = guarded_create(KRY_F32, N, 1, 0, x), Y = guarded_create(KRY_F32, N, 1, 0, y);
        kry_vec *xv = vec_of(KRY_F32, x, N, 1), *yv = vec_of(KRY_F32, y, N, 1);
        OK(kry_vec_create(device(), KRY_F32, 8, 1, &out));
        OK(kry_device_kernel(device(), KRY_F32, "totals", source, options[o % 2], "totals",
                             &kernel));
        run_totals(kernel, N, kry_vec_buffer(xv, NULL), kry_vec_buffer(yv, NULL),
                   kry_vec_buffer(out, NULL), got);
        /* of doubles this would be 1e-16 of the sizes, of plain singles 1e-7 */
        NEAR((long double)got[0] + got[1], xy - 1, 1e-12 * size, "products %s", options[o % 2]);
        NEAR((long double)got[2] + got[3], sx, 1e-12 * sizes, "numbers %s", options[o % 2]);
        NEAR((long double)got[4] + got[5], xy, 1e-12 * size, "lanes %s", options[o % 2]);
        assert_true(got[1] != 0 && got[3] != 0 && got[5] != 0);
        NEAR(got[6], (xy - 1) / sx, 0.51L * FLT_EPSILON * fabsl((xy - 1) / sx), "ratio");
        NEAR(got[7], sx / (xy - 1), 0.51L * FLT_EPSILON * fabsl(sx / (xy - 1)), "ratio");
        clReleaseKernel(kernel);
        kry_vec_release(&out), kry_vec_release(&xv), kry_vec_release(&yv);
        guarded_release(&X), guarded_release(&Y);
    }
}

/* ---- conjugate gradients ---- */

/* Iterations until the recurrence's residual is first below rtol ||b||: where the history leaps to
 * the true one, or ends. */
static int64_t iterations_to(const char *spec, bool stencil, const char *options)
{
    kry_problem *p = NULL;
    kry_op *A = NULL, *S = NULL;
    kry_result result;
    int64_t k = 2;

    OK(kry_problem_create(spec, 1, &p));
    kry_vec *b = vec_of(KRY_F32, p->rhs, p->n, 1), *x = NULL;
    if (stencil) {
        int64_t side = (int64_t)sqrt((double)p->n);
        OK(kry_stencil_create(device(), KRY_F32, KRY_STENCIL(.size = { side, side }), &A));
    } else {
        void *val = in_type(KRY_F32, p->val, p->nnz);
        OK(kry_csr_create(device(), KRY_F32, p->n, p->n, p->row_ptr, p->col, val,
                          KRY_MATRIX(.format = KRY_FORMAT_CSR, .traits = KRY_POSITIVE), &A));
        free(val);
    }
    OK(kry_vec_create(device(), KRY_F32, p->n, 1, &x));
    OK(kry_solver_create(A, options, NULL, NULL, &S));
    assert_true(kry_solve(S, b, x, &result) >= 0);
    while (k < result.history_count && result.history[k] < 20 * result.history[k - 1]) k++;
    k = k < result.history_count ? k : result.history_count - 1;
    kry_op_release(&S), kry_op_release(&A);
    kry_vec_release(&x), kry_vec_release(&b);
    kry_problem_release(&p);
    return k;
}

/* The golden counts to 1e-6 on the recurrence: 192, 387. Plain singles took 224 and 449. */
static void cg__needs_the_iterations_of_double(void **state)
{
    static const struct {
        const char *spec;
        int64_t golden;
    } of[] = { { "poisson2d:128", 192 }, { "poisson2d:256", 387 } };
    (void)state;
    for (size_t p = 0; p < COUNT(profiles); p++) {
        use_profile(profiles[p]);
        for (size_t i = 0; i < COUNT(of); i++)
            for (int stencil = 0; stencil < 2; stencil++) {
                int64_t k = iterations_to(of[i].spec, stencil,
                                          "precond=none rtol=1e-6 maxit=500 resident=off");
                print_message("# %s, %s%s: %lld iterations\n", of[i].spec, profiles[p],
                              stencil ? ", stencil" : "", (long long)k);
                NEAR(k, of[i].golden, 0.03L * of[i].golden, "%s", of[i].spec);
            }
    }
}

/* To what single reaches without a restart, with and without double. */
static void cg__as_with_double(void **state)
{
    int64_t count[3];
    (void)state;
    use_profile(NULL);
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    for (int p = 0; p < 3; p++) {
        use_profile(p ? profiles[p - 1] : "cpu-kernels");
        count[p] = iterations_to("poisson2d:256", false, "precond=jacobi rtol=1e-4 maxit=500");
    }
    print_message("# %lld, %lld, %lld iterations\n", (long long)count[0], (long long)count[1],
                  (long long)count[2]);
    for (int p = 1; p < 3; p++) NEAR(count[p], count[0], 0.03L * count[0], "iterations");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot__of_vectors_that_cancel),
        cmocka_unit_test(dot__overflows),
        cmocka_unit_test(totals__with_fma_and_without),
        cmocka_unit_test(cg__needs_the_iterations_of_double),
        cmocka_unit_test(cg__as_with_double),
    };
    return cmocka_run_group_tests_name("totals", tests, keep_profile, restore_profile);
}
