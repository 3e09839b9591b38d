/*
 * test_jds.c - jagged diagonals: how many places they take, products and steps of rows of many lengths, new numbers,
 * several vectors; refusals.
 */
#include "format_suite.h"
#include "step_suite.h"

static int64_t five(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 5; }

static const pattern shapes[] = {
    { "no rows", 0, 5, any, NULL },
    { "no columns", 5, 0, gaps, NULL },
    { "the smallest", 1, 1, one, NULL },
    { "wide", 9, 20000, any, NULL },
    { "tall and narrow", 1000, 3, any, NULL },
    { "empty rows in between", 259, 259, gaps, NULL },
    { "many diagonals of one row", 40, 40, dense_row, NULL },
    { "diagonals of all lengths", 90, 60, power_law, NULL },
    { "all rows alike", 1031, 1031, five, NULL },
    { "several groups", 12007, 11989, any, NULL },
};

/* Every diagonal begins at a multiple of 16 places and is as long as there are rows with an entry of it. */
static int64_t places_of(const matrix *A)
{
    int64_t places = 0;
    for (int64_t d = 0; d < longest_row(A); d++) {
        int64_t rows = 0;
        for (int64_t i = 0; i < A->rows; i++) rows += A->row_ptr[i + 1] - A->row_ptr[i] > d;
        places += (rows + 15) / 16 * 16;
    }
    return places;
}

static void jds__rows_of_many_lengths(void **state)
{
    kry_type type = type_of(state);

    for (size_t p = 0; p < COUNT(shapes); p++) {
        matrix A = pattern_matrix(&shapes[p], type);
        kry_op *op;
        kry_op_info info;
        char text[64];
        OK(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_JDS), &op));
        kry_op_describe(op, &info);
        snprintf(text, sizeof text, "%lld jagged diagonals", (long long)longest_row(&A));
        assert_string_equal(info.kind, "jds");
        assert_string_equal(info.variant, text);
        assert_int_equal(info.slots, places_of(&A));
        op_suite(op, &A);
        if (A.rows == A.cols) step_suite(op, &A, shapes[p].why);
        assert_reads_back(op, &A);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* Rows stay where the first numbers put them. */
static void jds_update__new_numbers(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 700, 700, power_law);
    kry_op *op;
    OK(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_JDS), &op));
    for (int round = 0; round < 2; round++) {
        for (int64_t k = 0; k < A.nnz; k++) A.val[k] = to_type(type, A.val[k] / 3);
        void *val = in_type(type, A.val, A.nnz);
        OK(kry_op_update(op, val));
        op_suite(op, &A);
        assert_reads_back(op, &A);
        free(val);
    }
    kry_op_release(&op);
    matrix_release(&A);
}

/* Rows of equal length have nothing to lose; thousands of diagonals of one row lose 15 places in 16. */
static void jds_create__refusals(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 3, 60000, five);
    kry_op *op = NULL;
    A.row_ptr[1] = 1, A.row_ptr[2] = 2, A.row_ptr[3] = A.nnz;
    OK(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_JDS), &op));
    kry_op_release(&op);
    matrix_release(&A);

    A = matrix_create(type, 2, 60000, dense_row);
    REFUSES(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_JDS), &op), KRY_ERR_UNSUPPORTED,
            "format jds does not suit this matrix");
    assert_null(op);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(jds__rows_of_many_lengths),
        BOTH(jds_update__new_numbers),
        BOTH(jds_create__refusals),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
