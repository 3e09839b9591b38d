/*
 * test_ask.c - what programs ask of the library beside solving: how kernels are launched and which
 * ran, what a product should cost, products on the host, sums that stay on the device.
 */
#include "testing.h"
#include <kry/opencl.h>
#include <kry/problem.h>
#include <kry/tridiagonal.h>

static kry_op *A; /* -1 2 -1 */
enum { N = 300 };

static int set_up(void **state)
{
    (void)state;
    int64_t row_ptr[N + 1] = { 0 }, k = 0;
    int32_t col[3 * N];
    float val[3 * N];
    for (int32_t i = 0; i < N; i++) {
        for (int32_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++)
            col[k] = j, val[k++] = i == j ? 2 : -1;
        row_ptr[i + 1] = k;
    }
    return kry_csr_create(device(), KRY_F32, N, N, row_ptr, col, val,
                          KRY_MATRIX(.traits = KRY_POSITIVE, .format = KRY_FORMAT_CSR), &A);
}

static int tear_down(void **state)
{
    kry_op_release(&A);
    return close_device(state);
}

static void set_launch_shape__what_the_device_can_launch(void **state)
{
    (void)state;
    kry_device *dev;
    OK(kry_device_open(NULL, &dev));
    OK(kry_device_set_launch_shape(dev, NULL));
    const kry_launch_shape usual = kry_device_launch_shape(dev);
    kry_launch_shape other = usual;
    other.chunks = 64, other.per_unit = 8;
    OK(kry_device_set_launch_shape(dev, &other));
    assert_int_equal(kry_device_launch_shape(dev).chunks, 64);
    assert_int_equal(kry_device_launch_shape(dev).per_unit, 8);
    other.group = 3;
    REFUSES(kry_device_set_launch_shape(dev, &other), KRY_ERR_ARGUMENT, "groups of 3");
    assert_int_equal(kry_device_launch_shape(dev).group, usual.group);
    OK(kry_device_set_launch_shape(dev, NULL));
    assert_int_equal(kry_device_launch_shape(dev).chunks, usual.chunks);
    REFUSES(kry_device_set_launch_shape(NULL, NULL), KRY_ERR_ARGUMENT, "NULL");
    kry_device_release(&dev);
}

static char seen[200];
static void see_kernel(void *user, const char *kernel, cl_event event)
{
    ++*(int *)user;
    snprintf(seen, sizeof seen, "%s", kernel);
    clReleaseEvent(event);
}

static void set_trace__tells_of_each_kernel(void **state)
{
    (void)state;
    NOT_ON_HOST("traces");
    int count = 0;
    kry_vec *x;
    OK(kry_vec_create(device(), KRY_F32, N, 1, &x));
    kry_device_set_trace(device(), see_kernel, &count);
    OK(kry_vec_fill(x, 1));
    OK(kry_vec_fill(x, 2));
    kry_device_set_trace(device(), NULL, NULL);
    OK(kry_vec_fill(x, 3));
    assert_int_equal(count, 2);
    assert_string_equal(seen, "vec_fill");
    kry_vec_release(&x);
}

static void set_trace__tells_of_each_transfer(void **state)
{
    (void)state;
    NOT_ON_HOST("traces");
    static const char *const transfers[] = { "write", "copy", "read" };
    float numbers[N] = { 0 };
    int count = 0;
    kry_vec *x, *y;
    OK(kry_vec_create(device(), KRY_F32, N, 1, &x));
    OK(kry_vec_create(device(), KRY_F32, N, 1, &y));
    for (int i = 0; i < 3; i++) {
        count = 0, seen[0] = 0;
        kry_device_set_trace(device(), see_kernel, &count);
        if (i == 0) OK(kry_vec_write(x, numbers));
        if (i == 1) OK(kry_vec_copy(x, y));
        if (i == 2) OK(kry_vec_read(y, numbers));
        kry_device_set_trace(device(), NULL, NULL);
        assert_int_equal(count, 1);
        if (strcmp(seen, "vec_copy"))
            assert_string_equal(seen, transfers[i]); /* by a kernel or not */
    }
    kry_vec_release(&y);
    kry_vec_release(&x);
}

static void csr_predict__a_time_for_each_format(void **state)
{
    (void)state;
    static const int64_t row_ptr[] = { 0, 2, 4, 5 };
    static const int32_t col[] = { 0, 1, 1, 2, 2 };
    static const double val[] = { 4, 1, 4, 1, 4 };
    double seconds[KRY_FORMAT_COUNT];
    OK(kry_csr_predict(device(), KRY_F64, 3, 3, row_ptr, col, val, NULL, seconds));
    assert_true(isinf(seconds[KRY_FORMAT_AUTO]));
    assert_true(isinf(seconds[KRY_FORMAT_SYMDIA])); /* for it is not symmetric */
    assert_true(seconds[KRY_FORMAT_CSR] > 0 && seconds[KRY_FORMAT_CSR] < 1e-3);
    REFUSES(kry_csr_predict(NULL, KRY_F64, 3, 3, row_ptr, col, val, NULL, seconds),
            KRY_ERR_ARGUMENT, "NULL");
}

/* As kry_csr_create checks. */
static void csr_predict__refuses(void **state)
{
    (void)state;
    static const int64_t row_ptr[] = { 0, 2, 4, 5 }, falls[] = { 0, 4, 2, 5 },
                         late[] = { 1, 2, 4, 5 }, negative[] = { 0, 2, 4, -5 };
    static const int32_t col[] = { 1, 0, 1, 2, 2 }, wide[] = { 0, 1, 1, 3, 2 },
                         below[] = { 0, 1, -1, 2, 2 }, twice[] = { 0, 0, 1, 2, 2 };
    static const double val[] = { 4, 1, 4, 1, 4 }, nan[] = { 4, 1, NAN, 1, 4 };
    double s[KRY_FORMAT_COUNT];
    kry_device *d = device();

#define WRONG(rows, cols, p, c, v, params, text)                                         \
    assert_true(kry_csr_predict(d, KRY_F64, rows, cols, p, c, v, params, s) < 0);        \
    if (!strstr(kry_last_error(), "kry_csr_predict") || !strstr(kry_last_error(), text)) \
    fail_msg("no '%s' in '%s'", text, kry_last_error())
    OK(kry_csr_predict(d, KRY_F64, 3, 3, row_ptr, col, val, NULL, s)); /* in any order */
    WRONG(-1, 3, row_ptr, col, val, NULL, "-1-by-3");
    WRONG(3, INT64_MAX, row_ptr, col, val, NULL, "outside");
    WRONG(3, 3, falls, col, val, NULL, "row_ptr");
    WRONG(3, 3, late, col, val, NULL, "row_ptr[0]");
    WRONG(3, 3, negative, col, val, NULL, "negative");
    WRONG(3, 3, row_ptr, wide, val, NULL, "column 3");
    WRONG(3, 3, row_ptr, below, val, NULL, "column -1");
    WRONG(3, 3, row_ptr, twice, val, NULL, "");
    WRONG(3, 3, row_ptr, col, nan, NULL, "nan");
    WRONG(3, 3, row_ptr, col, val, KRY_MATRIX(.values = (kry_values)9), "9 is not");
    WRONG(3, 3, row_ptr, NULL, val, NULL, "NULL");
    REFUSES(kry_csr_predict(d, (kry_type)7, 3, 3, row_ptr, col, val, NULL, s), KRY_ERR_ARGUMENT,
            "7 is not a number type");
}

static void stencil_apply_host__as_the_entries_say(void **state)
{
    (void)state;
    kry_problem *p;
    OK(kry_problem_create("twophase2d:9:100:bubble", 1, &p));
    double x[81], y[81];
    for (int i = 0; i < 81; i++) x[i] = sin(i);
    OK(kry_stencil_apply_host(p->grid, KRY_F64, x, y));
    for (int i = 0; i < 81; i++) {
        double sum = 0, size = 0;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            sum += p->val[e] * x[p->col[e]];
            size += fabs(p->val[e] * x[p->col[e]]);
        }
        NEAR(y[i], sum, 16 * DBL_EPSILON * size, "row %d", i);
    }
    REFUSES(kry_stencil_apply_host(NULL, KRY_F64, x, y), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_stencil_apply_host(&(kry_stencil_params){ .size = { 9, 9 } }, KRY_F64, x, y),
            KRY_ERR_ARGUMENT, "KRY_STENCIL");
    kry_problem_release(&p);
}

static void op_apply_dot__product_and_sum(void **state)
{
    (void)state;
    kry_vec *x, *y, *pair;
    kry_sum *sum;
    double dot, want;
    float ones[N];
    for (int i = 0; i < N; i++) ones[i] = (float)(i % 7);
    OK(kry_vec_create(device(), KRY_F32, N, 1, &x));
    OK(kry_vec_create(device(), KRY_F32, N, 1, &y));
    OK(kry_vec_create(device(), KRY_F32, N, 2, &pair));
    OK(kry_sum_create(device(), 1, &sum));
    OK(kry_vec_write(x, ones));
    OK(kry_op_apply_dot(A, x, y, sum));
    OK(read_sum(device(), sum, &dot));
    OK(kry_vec_dot(x, y, &want));
    assert_true(dot == want); /* whole numbers */
    OK(kry_vec_dot_sum(x, x, sum));
    OK(read_sum(device(), sum, &dot));
    OK(kry_vec_dot(x, x, &want));
    assert_true(dot == want);
    REFUSES(kry_op_apply_dot(A, pair, pair, sum), KRY_ERR_ARGUMENT, "overlap");
    REFUSES(kry_op_apply_dot(A, x, y, NULL), KRY_ERR_ARGUMENT, "NULL");
    kry_sum_release(&sum);
    kry_vec_release(&pair);
    kry_vec_release(&y);
    kry_vec_release(&x);
}

static void random_unit__the_same_everywhere(void **state)
{
    (void)state;
    double sum = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double r = kry_random_unit(1, 2, i);
        assert_true(r >= 0 && r < 1);
        sum += r;
    }
    NEAR(sum, 5000, 5 * sqrt(10000.0 / 12), "mean");
    assert_true(kry_random_unit(1, 2, 3) == kry_random_unit(1, 2, 3));
    assert_true(kry_random_unit(1, 2, 3) != kry_random_unit(1, 3, 3));
    assert_true(kry_random_unit(1, 2, 3) != kry_random_unit(2, 2, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_launch_shape__what_the_device_can_launch),
        cmocka_unit_test(set_trace__tells_of_each_kernel),
        cmocka_unit_test(set_trace__tells_of_each_transfer),
        cmocka_unit_test(csr_predict__a_time_for_each_format),
        cmocka_unit_test(csr_predict__refuses),
        cmocka_unit_test(stencil_apply_host__as_the_entries_say),
        cmocka_unit_test(op_apply_dot__product_and_sum),
        cmocka_unit_test(random_unit__the_same_everywhere),
    };
    return cmocka_run_group_tests_name("ask", tests, set_up, tear_down);
}
