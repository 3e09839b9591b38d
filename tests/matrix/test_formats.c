/*
 * test_formats.c - every format against a plain product in long double: which matrices it takes,
 * products, fused steps, residuals, reading back.
 */
#include "format_suite.h"
#include "step_suite.h"

/* ---- products ------------------------------------------------------------------------------ */

static void assert_described(const kry_op *op, const matrix *A, kry_format format)
{
    kry_op_info info;
    double least = (double)kry_type_size(KRY_F32);
    kry_op_describe(op, &info);
    assert_string_equal(info.kind, kry_format_name(format));
    assert_int_equal(info.nnz, A->nnz);
    assert_true(info.slots >= (format == KRY_FORMAT_SYMDIA ? A->nnz / 2 : A->nnz));
    assert_true(info.bytes_stored >= least * (double)info.slots);
    assert_true(info.bytes_per_apply >= info.bytes_stored);
    assert_true(info.bytes_per_direction >= info.bytes_stored);
}

/* Each pattern, each format: the operator's contract, its description, the entries read back, and
 * the same bits from another matrix that is made in the same way. */
static void formats__patterns(void **state)
{
    kry_type type = type_of(state);
    int taken[KRY_FORMAT_COUNT] = { 0 }, tried = 0;

    for (size_t p = 0; p < COUNT(patterns); p++) {
        if (too_large(patterns[p].rows) || too_large(patterns[p].cols)) continue;
        matrix A = pattern_matrix(&patterns[p], type);
        tried++;
        EACH_FORMAT(format)
        {
            kry_op *op = in_format(&A, type, format, 0);
            if (!op) continue;
            taken[format]++;
            op_suite(op, &A);
            assert_described(op, &A, format);
            assert_reads_back(op, &A);
            kry_op *again = in_format(&A, type, format, 0);
            assert_same_product(op, again);
            kry_op_release(&again);
            kry_op_release(&op);
        }
        matrix_release(&A);
    }
    /* Some formats take everything, the others most of these, and must refuse some. */
    EACH_FORMAT(format)
    {
        bool picky =
            format == KRY_FORMAT_DIA || format == KRY_FORMAT_SYMDIA || format == KRY_FORMAT_ELL;
        if (picky) assert_in_range(taken[format], format == KRY_FORMAT_SYMDIA ? 8 : 20, tried - 3);
        if (!picky) assert_int_equal(taken[format], tried);
    }
}

/* Symmetric: every format lends its product as its transpose, and x'Ay = y'Ax. */
static void formats__symmetric(void **state)
{
    static const pattern symmetric[] = { { "five points", 289, 289, NULL, poisson },
                                         { "a band", 131, 131, NULL, symmetric_band },
                                         { "at random", 200, 200, NULL, symmetric_random },
                                         { "an arrow", 150, 150, NULL, arrow } };
    kry_type type = type_of(state);

    for (size_t p = 0; p < COUNT(symmetric); p++) {
        matrix A = pattern_matrix(&symmetric[p], type);
        assert_true(is_symmetric(&A));
        EACH_FORMAT(format)
        {
            kry_op *op = in_format(&A, type, format, KRY_POSITIVE);
            assert_non_null(op);
            assert_int_equal(kry_op_get_shape(op)->traits, KRY_POSITIVE | KRY_SYMMETRIC);
            op_suite(op, &A);
            kry_op_release(&op);
        }
        matrix_release(&A);
    }
}

static double transpose_bytes(const kry_op *op)
{
    kry_op_info info;
    kry_op_describe(op, &info);
    return info.bytes_transposed;
}

/* The copy of A' is made by the first product, takes new numbers, and is not made of a symmetric matrix. */
static void formats_apply_transpose__new_numbers(void **state)
{
    kry_type type = type_of(state);

    for (int symmetric = 0; symmetric < 2; symmetric++) {
        matrix A = matrix_where(type, 131, 131, symmetric_band);
        EACH_FORMAT(format)
        {
            kry_op *op = in_format(&A, type, format, symmetric ? KRY_SYMMETRIC : 0);
            assert_non_null(op);
            assert_true(transpose_bytes(op) == 0);
            op_suite(op, &A);
            assert_true((transpose_bytes(op) > 0) == !symmetric);
            matrix B = A;
            B.val = calloc((size_t)A.nnz, sizeof *B.val);
            assert_non_null(B.val);
            const double low = format == KRY_FORMAT_SYMDIA || symmetric ? -3 : 0.5;
            for (int64_t i = 0; i < A.rows; i++)
                for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                    B.val[k] = to_type(type, (A.col[k] < i ? low : -3) * A.val[k]);
            void *val = in_type(type, B.val, B.nnz);
            OK(kry_op_update(op, val));
            op_suite(op, &B);
            free(val), free(B.val);
            kry_op_release(&op);
        }
        matrix_release(&A);
    }
}

/* An entry that stands alone, or has another number than its mirror image: not for symdia. */
static void symdia__not_symmetric(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_where(type, 60, 60, symmetric_band);
    kry_op *op = NULL;

    A.val[A.row_ptr[7]] *= 2; /* a(7, 4), on the third diagonal below the main one */
    REFUSES(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_SYMDIA), &op), KRY_ERR_ARGUMENT,
            "differs from its mirror image");
    A.col[A.row_ptr[7]] = 2;
    REFUSES(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_SYMDIA), &op), KRY_ERR_ARGUMENT,
            "has no mirror image");
    assert_null(op);
    matrix_release(&A);
}

/* Below the diagonal alone: no diagonal above has room for it. */
static void symdia__nothing_above(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 60, 60, one);
    kry_op *op = NULL;

    for (int64_t i = 0; i < 60; i++) A.col[i] = (int32_t)(i < 50 ? i : i - 5);
    REFUSES(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_SYMDIA), &op), KRY_ERR_ARGUMENT,
            "an entry on diagonal -5 has no mirror image");
    assert_null(op);
    matrix_release(&A);
}

/* ---- fused steps ----------------------------------------------------------------------------- */

static const pattern square_patterns[] = {
    { "the smallest", 1, 1, one, NULL },
    { "empty rows in between", 259, 259, gaps, NULL },
    { "a tile of empty rows, then some entries", 600, 600, late, NULL },
    { "a row longer than a run", 700, 700, dense_row, NULL },
    { "a row longer than many runs", 5000, 5000, dense_row, NULL },
    { "one entry a row", 1400, 1400, one, NULL },
    { "short rows among long ones", 1100, 1100, power_law, NULL },
    { "rows around the borders", 1100, 1100, borders, NULL },
    { "more runs than groups on a small device", 12000, 12000, three, NULL },
    { "five points", 961, 961, NULL, poisson },
    { "a symmetric band", 6001, 6001, NULL, symmetric_band },
    { "an arrow", 150, 150, NULL, arrow },
};

static void formats__fused_steps(void **state)
{
    kry_type type = type_of(state);
    for (size_t p = 0; p < COUNT(square_patterns); p++) {
        if (too_large(square_patterns[p].rows)) continue;
        matrix A = pattern_matrix(&square_patterns[p], type);
        EACH_FORMAT(format)
        {
            kry_op *op = in_format(&A, type, format, 0);
            if (op) step_suite(op, &A, square_patterns[p].why);
            kry_op_release(&op);
        }
        matrix_release(&A);
    }
}

static void formats__fused_steps_stop(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_where(type, 150, 150, arrow);
    EACH_FORMAT(format)
    {
        kry_op *op = in_format(&A, type, format, 0);
        assert_non_null(op);
        step_suite_stops(op, &A);
        kry_op_release(&op);
    }
    matrix_release(&A);
}

/* ---- residuals ---------------------------------------------------------------------------------
 */

/* Single precision: the true residual is summed in double and rounded once; by a matrix of several
 * stages, hyb or one whose long rows are split, once in each. */
static void check_residual(const kry_op *op, const matrix *A)
{
    int later = look_into_matrix(op).passes - 1;
    double *x = random_array(KRY_F32, A->cols), *b = calloc((size_t)A->rows + 1, sizeof *b);
    assert_non_null(b);
    for (int64_t i = 0; i < A->rows; i++) { /* b close to A x, so that everything cancels */
        long double m;
        b[i] = (float)row_times(A, i, x, NULL, &m);
    }
    guarded X = guarded_create(KRY_F32, A->cols, 1, 0, x),
            B = guarded_create(KRY_F32, A->rows, 1, 0, b),
            R = guarded_create(KRY_F32, A->rows, 1, 0, NULL);
    OK(kry_op_residual(op, B.v, X.v, R.v));
    double *r = guarded_read(&R);
    for (int64_t i = 0; i < A->rows; i++) {
        long double m, want = (long double)b[i] - row_times(A, i, x, NULL, &m);
        long double size = m + fabsl((long double)b[i]);
        NEAR(r[i], want,
             FLT_EPSILON * (fabsl(want) + later * size) + row_bound(A, i, KRY_F64, size),
             "row %lld", (long long)i);
    }
    free(r), free(b), free(x);
    guarded_release(&R), guarded_release(&B), guarded_release(&X);
}

static void formats_residual__single_summed_in_double(void **state)
{
    static const pattern shapes[] = { { "lengths", 300, 300, borders, NULL },
                                      { "a split row", 5000, 5000, dense_row, NULL },
                                      { "symmetric", 515, 515, NULL, symmetric_band } };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    for (size_t p = 0; p < COUNT(shapes); p++) {
        matrix A = pattern_matrix(&shapes[p], KRY_F32);
        EACH_FORMAT(format)
        {
            kry_op *op = in_format(&A, KRY_F32, format, 0);
            if (op) check_residual(op, &A);
            kry_op_release(&op);
        }
        matrix_release(&A);
    }
}

/* ---- refusals
 * ------------------------------------------------------------------------------------ */

static void formats_create__unknown(void **state)
{
    (void)state;
    matrix A = matrix_create(KRY_F32, 4, 4, one);
    kry_op *op;
    REFUSES(create(&A, KRY_F32, KRY_MATRIX(.format = KRY_FORMAT_COUNT), &op), KRY_ERR_ARGUMENT,
            "not a format");
    REFUSES(create(&A, KRY_F32, KRY_MATRIX(.format = (kry_format)-1), &op), KRY_ERR_ARGUMENT, "-1");
    REFUSES(create(&A, KRY_F32, KRY_MATRIX(.values = (kry_values)9), &op), KRY_ERR_ARGUMENT, "9");
    assert_null(op);
    assert_string_equal(kry_format_name((kry_format)-1), "?");
    assert_string_equal(kry_format_name(KRY_FORMAT_COUNT), "?");
    matrix_release(&A);
}

static void matrix_read__refusals(void **state)
{
    (void)state;
    matrix A = matrix_create(KRY_F32, 4, 4, one);
    kry_op *op, *M;
    int64_t row_ptr[5];
    int32_t col[4];
    float val[4];
    for (int64_t i = 0; i < 4; i++) A.col[i] = (int32_t)i, A.val[i] = 2;
    op = csr_of(&A, KRY_F32, NULL);
    OK(kry_jacobi_create(op, &M));
    REFUSES(kry_matrix_read(M, row_ptr, col, val), KRY_ERR_UNSUPPORTED, "jacobi");
    REFUSES(kry_matrix_read(NULL, row_ptr, col, val), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_matrix_read(op, NULL, col, val), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_matrix_read(op, row_ptr, NULL, val), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_matrix_read(op, row_ptr, col, NULL), KRY_ERR_ARGUMENT, "NULL");
    kry_op_release(&M);
    kry_op_release(&op);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(formats__patterns),
        BOTH(formats__symmetric),
        BOTH(formats_apply_transpose__new_numbers),
        BOTH(symdia__not_symmetric),
        BOTH(symdia__nothing_above),
        BOTH(formats__fused_steps),
        BOTH(formats__fused_steps_stop),
        cmocka_unit_test(formats_residual__single_summed_in_double),
        cmocka_unit_test(formats_create__unknown),
        cmocka_unit_test(matrix_read__refusals),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
