/*
 * test_jds.c - products with jagged diagonals against a plain product in long double, on CPU and GPU
 * kernels; updates, reading back, no memory.
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
    { "wide", 9, 20000, any },
    { "tall and narrow", 1000, 3, any },
    { "empty rows in between", 259, 259, gaps },
    { "many diagonals of one row", 40, 40, dense_row },
    { "diagonals of all lengths", 90, 60, power_law },
    { "all rows alike", 1031, 1031, five },
    { "several groups", 12007, 11989, any },
};

static const char *const profiles[] = { "", "gpu-kernels" };

static kry_op *jds_of(const matrix *A, kry_type type, kry_values values)
{
    return csr_of(A, type, KRY_MATRIX(.format = KRY_FORMAT_JDS, .values = values));
}

/* ---- products ------------------------------------------------------------------------------ */

static void jds__patterns(void **state)
{
    kry_type type = type_of(state);
    for (size_t w = 0; w < COUNT(profiles); w++) {
        use_profile(profiles[w]);
        for (size_t p = 0; p < COUNT(patterns); p++) {
            matrix A = matrix_create(type, patterns[p].rows, patterns[p].cols, patterns[p].length);
            kry_op *op = jds_of(&A, type, KRY_VALUES_COMPACT);
            kry_op_info info;
            kry_op_describe(op, &info);
            assert_string_equal(info.kind, "jds");
            assert_non_null(strstr(info.variant, "jagged diagonals"));
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

/* ---- numbers ------------------------------------------------------------------------------- */

/* Doubles kept as singles, and back again when new ones do not fit. */
static void jds__values_in_single(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(profiles); w++) {
        use_profile(profiles[w]);
        if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
        matrix A = matrix_create(KRY_F64, 500, 300, any);
        double *exact = A.val, *numbers = random_array(KRY_F64, A.cols);
        guarded X = guarded_create(KRY_F64, A.cols, 1, 1, numbers);

        kry_op *op = jds_of(&A, KRY_F64, KRY_VALUES_SINGLE);
        A.val = calloc((size_t)A.nnz + 1, sizeof *A.val);
        assert_non_null(A.val);
        for (int64_t k = 0; k < A.nnz; k++) A.val[k] = (float)exact[k];
        op_suite(op, &A);
        kry_op_release(&op);

        op = jds_of(&A, KRY_F64, KRY_VALUES_COMPACT); /* loses nothing */
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

static void jds__read_back(void **state)
{
    for (size_t w = 0; w < COUNT(profiles); w++) {
        use_profile(profiles[w]);
        kry_type type = type_of(state);
        matrix A = matrix_create(type, 259, 700, power_law);
        kry_op *op = jds_of(&A, type, KRY_VALUES_COMPACT);
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

/* Without memory at any point: nothing is made, nothing stays behind, and then it works. */
static void jds_create__no_memory(void **state)
{
    for (size_t w = 0; w < COUNT(profiles); w++) {
        use_profile(profiles[w]);
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
                                KRY_MATRIX(.format = KRY_FORMAT_JDS), &op);
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
        cmocka_unit_test(jds__values_in_single),
        BOTH(jds__read_back),
        BOTH(jds_create__no_memory),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
