/*
 * test_jds.c - the three products of jagged diagonals against a plain product in long double, on
 * CPU and GPU kernels; the image that x is read from when vectors come and go; refusals.
 */
#include "op_suite.h"

/* ---- patterns ------------------------------------------------------------------------------ */

typedef int64_t length_fn(int64_t row, int64_t rows, int64_t cols);

static int64_t none(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 0; }
static int64_t one(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 1; }
static int64_t five(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 5; }
static int64_t gaps(int64_t i, int64_t n, int64_t m) { return (void)n, (void)m, i % 3 ? i % 5 : 0; }
static int64_t dense_row(int64_t i, int64_t n, int64_t m) { return i == n / 2 ? m : 2; }
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
    { "nothing at all", 0, 0, none },
    { "no rows", 0, 5, none },
    { "no columns", 5, 0, none },
    { "no entry", 300, 300, none },
    { "the smallest", 1, 1, one },
    { "wide: an image of several rows, the last one short", 9, 20000, any },
    { "wide: an image of whole rows on PoCL", 7, 16384, any },
    { "tall and narrow", 1000, 3, any },
    { "empty rows in between", 259, 259, gaps },
    { "many diagonals of one row", 40, 40, dense_row },
    { "diagonals of all lengths", 90, 60, power_law },
    { "all rows alike", 1031, 1031, five },
    { "several groups, several rows of an image", 12007, 11989, any },
};

/* What there is to choose from, and what kry_op_describe says of it. */
static const struct way {
    kry_jds_product product;
    const char *profile, *variant;
} ways[] = {
    { KRY_JDS_PROPOSED, "", "diagonals" },
    { KRY_JDS_BASIC, "", ", basic product" },
    { KRY_JDS_TEXTURE, "", ", x by image1d_buffer" },
    { KRY_JDS_TEXTURE, "opencl=1.1", ", x copied to a 2-D image" },
    { KRY_JDS_PROPOSED, "gpu-kernels", "diagonals" },
    { KRY_JDS_BASIC, "gpu-kernels", ", basic product" },
    { KRY_JDS_TEXTURE, "gpu-kernels", ", x by image1d_buffer" },
    { KRY_JDS_TEXTURE, "gpu-kernels opencl=1.1", ", x copied to a 2-D image" },
};

/* The device for a way, or false if it has no images. */
static bool use_way(const struct way *w)
{
    use_profile(w->profile);
    return w->product != KRY_JDS_TEXTURE || kry_device_get_info(device())->images;
}

static kry_op *jds_of(const matrix *A, kry_type type, kry_jds_product product, kry_values values)
{
    return csr_of(A, type, KRY_MATRIX(.format = KRY_FORMAT_JDS, .jds = product, .values = values));
}

/* ---- products ------------------------------------------------------------------------------ */

static void jds__patterns(void **state)
{
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (!use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        bool old = kry_device_get_info(device())->opencl < 120;
        for (size_t p = 0; p < COUNT(patterns); p++) {
            matrix A = matrix_create(type, patterns[p].rows, patterns[p].cols, patterns[p].length);
            kry_op *op = jds_of(&A, type, ways[w].product, KRY_VALUES_COMPACT);
            kry_op_info info;
            kry_op_describe(op, &info);
            assert_string_equal(info.kind, "jds");
            if (!old || !strstr(ways[w].variant, "image1d")) {
                const char *end = strstr(info.variant, "diagonals");
                assert_non_null(end);
                assert_string_equal(strchr(end, ',') ? strchr(end, ',') : end, ways[w].variant);
            }
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
static void jds_texture__vectors_come_and_go(void **state)
{
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (ways[w].product != KRY_JDS_TEXTURE || !use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        matrix A = matrix_create(type, 400, 9001, any);
        kry_op *op = jds_of(&A, type, KRY_JDS_TEXTURE, KRY_VALUES_COMPACT);
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
static void jds_texture__wrapped_buffers(void **state)
{
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (ways[w].product != KRY_JDS_TEXTURE || !use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        size_t size = kry_type_size(type);
        matrix A = matrix_create(type, 50, 333, five);
        kry_op *op = jds_of(&A, type, KRY_JDS_TEXTURE, KRY_VALUES_COMPACT);
        for (int64_t round = 0; round < 12; round++) {
            cl_int err;
            kry_vec *x;
            int64_t first = round % 5;
            double *numbers = random_array(type, A.cols);
            void *host = in_type(type, numbers, A.cols);
            cl_mem buffer = clCreateBuffer(kry_device_context(device()), CL_MEM_READ_WRITE,
                                           (size_t)(first + A.cols) * size, NULL, &err);
            assert_int_equal(err, CL_SUCCESS);
            OK(kry_vec_wrap(device(), type, A.cols, 1, buffer, first, &x));
            clReleaseMemObject(buffer);
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

/* ---- numbers ------------------------------------------------------------------------------- */

/* Doubles kept as singles, and back again when new ones do not fit. */
static void jds__values_in_single(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (!use_way(&ways[w])) continue;
        if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
        matrix A = matrix_create(KRY_F64, 500, 300, any);
        double *exact = A.val, *numbers = random_array(KRY_F64, A.cols);
        guarded X = guarded_create(KRY_F64, A.cols, 1, 1, numbers);

        kry_op *op = jds_of(&A, KRY_F64, ways[w].product, KRY_VALUES_SINGLE);
        A.val = calloc((size_t)A.nnz + 1, sizeof *A.val);
        assert_non_null(A.val);
        for (int64_t k = 0; k < A.nnz; k++) A.val[k] = (float)exact[k];
        op_suite(op, &A);
        kry_op_release(&op);

        op = jds_of(&A, KRY_F64, ways[w].product, KRY_VALUES_COMPACT); /* loses nothing */
        check_product(op, &A, KRY_F64, X.v, numbers);
        memcpy(A.val, exact, (size_t)A.nnz * sizeof *exact);
        OK(kry_op_update(op, exact));
        check_product(op, &A, KRY_F64, X.v, numbers);
        kry_op_release(&op);
        guarded_release(&X);
        free(numbers);
        free(exact);
        matrix_release(&A);
    }
}

/* The structure comes back whichever product reads it. */
static void jds__read_back(void **state)
{
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (!use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        matrix A = matrix_create(type, 259, 700, power_law);
        kry_op *op = jds_of(&A, type, ways[w].product, KRY_VALUES_COMPACT);
        int64_t *row_ptr = calloc((size_t)A.rows + 1, sizeof *row_ptr);
        int32_t *col = calloc((size_t)A.nnz, sizeof *col);
        void *val = calloc((size_t)A.nnz, kry_type_size(type));
        OK(kry_matrix_read(op, row_ptr, col, val));
        assert_memory_equal(row_ptr, A.row_ptr, ((size_t)A.rows + 1) * sizeof *row_ptr);
        assert_memory_equal(col, A.col, (size_t)A.nnz * sizeof *col);
        for (int64_t k = 0; k < A.nnz; k++) assert_true(at(type, val, k) == A.val[k]);
        free(val);
        free(col);
        free(row_ptr);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* What a product moves besides what all of them move; steps of a solver run the plain one. */
static void jds__bytes_are_counted(void **state)
{
    for (size_t w = 0; w < COUNT(ways); w++) {
        if (!use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        double size = (double)kry_type_size(type), extra = 0;
        matrix A = matrix_create(type, 100, 150, five);
        kry_op *plain = jds_of(&A, type, KRY_JDS_PROPOSED, KRY_VALUES_AS_GIVEN),
               *op = jds_of(&A, type, ways[w].product, KRY_VALUES_AS_GIVEN);
        kry_op_info p, info;
        kry_op_describe(plain, &p);
        kry_op_describe(op, &info);
        if (ways[w].product == KRY_JDS_BASIC) extra = 2 * (500 + 100) * size;
        if (strstr(info.variant, "2-D")) extra = 2 * 150 * size;
        assert_true(info.bytes_per_apply == p.bytes_per_apply + extra);
        assert_true(info.bytes_per_direction == p.bytes_per_direction);
        kry_op_release(&op);
        kry_op_release(&plain);
        matrix_release(&A);
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void jds_create__refusals(void **state)
{
    kry_type type = type_of(state);
    const int64_t row_ptr[] = { 0, 1 };
    const int32_t col[] = { 0 };
    const double number = 1;
    size_t width = 0, height = 0, power = 1;
    kry_op *op = NULL;
    const kry_matrix_params *texture = KRY_MATRIX(.format = KRY_FORMAT_JDS, .jds = KRY_JDS_TEXTURE);

    use_profile("no-images");
    void *val = in_type(type, &number, 1);
    REFUSES(kry_csr_create(device(), type, 1, 1, row_ptr, col, val, texture, &op),
            KRY_ERR_UNSUPPORTED, "has no images");
    assert_null(op);
    REFUSES(kry_csr_create(device(), type, 1, 1, row_ptr, col, val,
                           KRY_MATRIX(.format = KRY_FORMAT_JDS, .jds = (kry_jds_product)7), &op),
            KRY_ERR_ARGUMENT, "jds = 7");
    assert_null(op);

    use_profile("opencl=1.1");
    if (kry_device_get_info(device())->images) {
        cl_device_id id = kry_device_id(device());
        clGetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof width, &width, NULL);
        clGetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof height, &height, NULL);
        while (2 * power <= width) power *= 2;
        if (power * height < INT32_MAX)
            REFUSES(kry_csr_create(device(), type, 1, (int64_t)(power * height) + 1, row_ptr, col,
                                   val, texture, &op),
                    KRY_ERR_UNSUPPORTED, "fits into no image");
        assert_null(op);
    }
    free(val);
}

/* Without memory at any point: nothing is made, nothing stays behind, and then it works. */
static void jds_create__no_memory(void **state)
{
    for (size_t w = 0; w < 4; w++) {
        if (!use_way(&ways[w])) continue;
        kry_type type = type_of(state);
        matrix A = matrix_create(type, 30, 40, five);
        void *val = in_type(type, A.val, A.nnz);
        double *numbers = random_array(type, A.cols);
        guarded X = guarded_create(type, A.cols, 1, 0, numbers);
        kry_status st = KRY_ERR_MEMORY;
        kry_op *op = NULL;
        for (int k = 0; st == KRY_ERR_MEMORY; k++) {
            int refs = device()->refs;
            kry_test_fail_at = k;
            st = kry_csr_create(device(), type, A.rows, A.cols, A.row_ptr, A.col, val,
                                KRY_MATRIX(.format = KRY_FORMAT_JDS, .jds = ways[w].product), &op);
            kry_test_fail_at = -1;
            if (st < 0) assert_null(op);
            if (st < 0) assert_int_equal(device()->refs, refs);
        }
        OK(st);
        check_product(op, &A, type, X.v, numbers);
        kry_op_release(&op);
        guarded_release(&X);
        free(numbers);
        free(val);
        matrix_release(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(jds__patterns),
        BOTH(jds_texture__vectors_come_and_go),
        BOTH(jds_texture__wrapped_buffers),
        cmocka_unit_test(jds__values_in_single),
        BOTH(jds__read_back),
        BOTH(jds__bytes_are_counted),
        BOTH(jds_create__refusals),
        BOTH(jds_create__no_memory),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
