/*
 * test_cevahir.c - the products of papers/cevahir against a plain product in long double, on CPU
 * and GPU kernels; the image that x is read from when vectors come and go; refusals.
 */
#include "jagged.h"
#include "op_suite.h"

/* ---- patterns ------------------------------------------------------------------------------ */

typedef int64_t length_fn(int64_t row, int64_t rows, int64_t cols);

static int64_t none(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 0; }
static int64_t five(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 5; }
static int64_t power_law(int64_t i, int64_t n, int64_t m) { return (void)n, m / (i + 1) + 1; }
static int64_t any(int64_t i, int64_t n, int64_t m)
{
    return (void)i, (void)n, (void)m, random_below(10);
}

static const struct pattern {
    const char *why;
    int64_t rows, cols;
    length_fn *length;
} patterns[] = {
    { "no rows", 0, 5, none },
    { "no columns", 5, 0, none },
    { "no entry", 300, 300, none },
    { "an image of several rows, the last one short", 9, 20000, any },
    { "an image of whole rows on PoCL", 7, 16384, any },
    { "diagonals of all lengths", 90, 60, power_law },
    { "several groups", 1031, 1031, any },
};

/* What there is to choose from, and what kry_op_describe says of it. */
static const struct way {
    jagged_product product;
    const char *profile, *variant;
} ways[] = {
    { JAGGED_BASIC, "", "basic product" },
    { JAGGED_TEXTURE, "", "x by image1d_buffer" },
    { JAGGED_TEXTURE, "opencl=1.1", "x copied to a 2-D image" },
    { JAGGED_BASIC, "gpu-kernels", "basic product" },
    { JAGGED_TEXTURE, "gpu-kernels", "x by image1d_buffer" },
    { JAGGED_TEXTURE, "gpu-kernels opencl=1.1", "x copied to a 2-D image" },
};

/* The device for a way, or false if it has no images. */
static bool use_way(const struct way *w)
{
    use_profile(w->profile);
    return w->product != JAGGED_TEXTURE || kry_device_get_info(device())->images;
}

static kry_status create(const matrix *A, kry_type type, jagged_product product, kry_op **op)
{
    void *val = in_type(type, A->val, A->nnz);
    const jagged_rows rows = { .type = type,
                               .rows = A->rows,
                               .cols = A->cols,
                               .row_ptr = A->row_ptr,
                               .col = A->col,
                               .val = val };
    kry_status st = jagged_create(device(), &rows, product, op);
    free(val);
    return st;
}

static kry_op *jagged_of(const matrix *A, kry_type type, jagged_product product)
{
    kry_op *op;
    OK(create(A, type, product, &op));
    return op;
}

/* ---- products ------------------------------------------------------------------------------ */

static void jagged__patterns(void **state)
{
    kry_type type = type_of(state);
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (!use_way(&ways[w])) continue;
        bool old = kry_device_get_info(device())->opencl < 120;
        for (size_t p = 0; p < COUNT(patterns); p++) {
            matrix A = matrix_create(type, patterns[p].rows, patterns[p].cols, patterns[p].length);
            kry_op *op = jagged_of(&A, type, ways[w].product);
            kry_op_info info;
            kry_op_describe(op, &info);
            assert_string_equal(info.kind, "jds");
            assert_int_equal(info.nnz, A.nnz);
            if (!old || !strstr(ways[w].variant, "image1d"))
                assert_string_equal(info.variant, ways[w].variant);
            op_suite(op, &A);
            kry_op_release(&op);
            matrix_release(&A);
        }
    }
}

static void check_product(const kry_op *op, const matrix *A, kry_type type, const kry_vec *x,
                          const double *numbers)
{
    guarded Y = guarded_create(type, A->rows, 1, 3, NULL);
    OK(kry_op_apply(op, 1.0, x, 0.0, Y.v));
    double *y = guarded_read(&Y);
    for (int64_t i = 0; i < A->rows; i++) {
        long double m, want = row_times(A, i, numbers, NULL, &m);
        NEAR(y[i], want, row_bound(A, i, type, m), "row %lld", (long long)i);
    }
    free(y);
    guarded_release(&Y);
}

/* An image stands for one buffer: vectors change, take turns, go, and come in one's place. */
static void texture__vectors_come_and_go(void **state)
{
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (ways[w].product != JAGGED_TEXTURE || !use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        matrix A = matrix_create(type, 400, 9001, any);
        kry_op *op = jagged_of(&A, type, JAGGED_TEXTURE);
        kry_vec *kept;
        double *first = random_array(type, A.cols);
        void *host = in_type(type, first, A.cols);
        OK(kry_vec_create(device(), type, A.cols, 1, &kept));
        OK(kry_vec_write(kept, host));
        for (int round = 0; round < 12; round++) {
            kry_vec *x;
            double *numbers = random_array(type, A.cols);
            void *other = in_type(type, numbers, A.cols);
            OK(kry_vec_create(device(), type, A.cols, 1, &x));
            OK(kry_vec_write(x, other));
            check_product(op, &A, type, x, numbers);
            if (round % 3 == 0) check_product(op, &A, type, kept, first);
            OK(kry_vec_axpby(1.0, kept, 1.0, x)); /* the same buffer, by a kernel */
            for (int64_t j = 0; j < A.cols; j++) numbers[j] = to_type(type, numbers[j] + first[j]);
            check_product(op, &A, type, x, numbers);
            kry_vec_release(&x);
            free(other);
            free(numbers);
        }
        check_product(op, &A, type, kept, first);
        kry_vec_release(&kept);
        free(host);
        free(first);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* The caller's buffers, of which kry learns only through their handles, and x at their end. */
static void texture__wrapped_buffers(void **state)
{
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (ways[w].product != JAGGED_TEXTURE || !use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        matrix A = matrix_create(type, 50, 333, five);
        kry_op *op = jagged_of(&A, type, JAGGED_TEXTURE);
        for (int64_t round = 0; round < 12; round++) {
            kry_vec *all, *x;
            int64_t first = round % 5;
            double *numbers = random_array(type, A.cols);
            void *host = in_type(type, numbers, A.cols);
            OK(kry_vec_create(device(), type, first + A.cols, 1, &all));
            OK(kry_vec_wrap(device(), type, A.cols, 1, kry_vec_buffer(all, NULL), first, &x));
            kry_vec_release(&all);
            OK(kry_vec_write(x, host));
            check_product(op, &A, type, x, numbers);
            kry_vec_release(&x);
            free(host);
            free(numbers);
        }
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void jagged_create__refusals(void **state)
{
    kry_type type = type_of(state);
    size_t width = 0, height = 0, power = 1;
    kry_op *op = NULL;
    matrix A = matrix_create(type, 1, 10, five);

    use_profile("no-images");
    REFUSES(create(&A, type, JAGGED_TEXTURE, &op), KRY_ERR_UNSUPPORTED, "has no images");
    assert_null(op);
    use_profile("opencl=1.1");
    if (kry_device_get_info(device())->images) {
        cl_device_id id = kry_device_id(device());
        clGetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof width, &width, NULL);
        clGetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof height, &height, NULL);
        while (2 * power <= width) power *= 2;
        A.cols = (int64_t)(power * height) + 1;
        REFUSES(create(&A, type, JAGGED_TEXTURE, &op), KRY_ERR_UNSUPPORTED, "fits into no image");
        assert_null(op);
        A.cols = 10;
    }
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(jagged__patterns),
        BOTH(texture__vectors_come_and_go),
        BOTH(texture__wrapped_buffers),
        BOTH(jagged_create__refusals),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
