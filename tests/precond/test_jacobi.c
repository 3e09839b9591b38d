/*
 * test_jacobi.c - the inverse of a diagonal as an operator: applied, updated, refused.
 */
#include "op_suite.h"

static int64_t gaps(int64_t i, int64_t n, int64_t m) { return (void)n, (void)m, 1 + i % 5; }

/* Any matrix, with a diagonal entry in every row, away from zero. */
static matrix with_diagonal(kry_type type, int64_t n)
{
    matrix A = matrix_create(type, n, n, gaps);
    for (int64_t i = 0; i < n; i++) {
        bool found = false;
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++) found |= A.col[k] == i;
        if (!found) {
            int64_t k = A.row_ptr[i];
            while (k + 1 < A.row_ptr[i + 1] && A.col[k] < i) k++;
            A.col[k] = (int32_t)i;
        }
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            if (A.col[k] == i) A.val[k] = to_type(type, A.val[k] + (A.val[k] < 0 ? -1 : 1));
    }
    return A;
}

/* M on the host: the inverse is rounded when the suite computes with it, too. */
static matrix inverse_of(kry_type type, const matrix *A)
{
    matrix M = { .rows = A->rows, .cols = A->cols, .nnz = A->rows };
    M.row_ptr = calloc((size_t)M.rows + 1, sizeof *M.row_ptr);
    M.col = calloc((size_t)M.rows + 1, sizeof *M.col);
    M.val = calloc((size_t)M.rows + 1, sizeof *M.val);
    assert_true(M.row_ptr && M.col && M.val);
    for (int64_t i = 0; i < M.rows; i++) {
        M.row_ptr[i + 1] = i + 1;
        M.col[i] = (int32_t)i;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (A->col[k] == i) M.val[i] = to_type(type, 1 / A->val[k]);
    }
    return M;
}

static void jacobi__inverts_the_diagonal(void **state)
{
    static const int64_t sizes[] = { 0, 1, 2, 7, 127, 128, 129, 1025, 20011 };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (too_large(sizes[s])) continue;
        matrix A = with_diagonal(type, sizes[s]), M = inverse_of(type, &A);
        kry_op *op = csr_of(&A, type, NULL), *jacobi;
        kry_op_info info;
        OK(kry_jacobi_create(op, &jacobi));
        kry_op_describe(jacobi, &info);
        assert_string_equal(info.kind, "jacobi");
        assert_int_equal(info.nnz, sizes[s]);
        kry_op_release(&op); /* it keeps what it was built from */
        op_suite(jacobi, &M);
        kry_op_release(&jacobi);
        matrix_release(&A), matrix_release(&M);
    }
}

static void jacobi_update__reads_the_diagonal_again(void **state)
{
    kry_type type = type_of(state);
    matrix A = with_diagonal(type, 300), M = inverse_of(type, &A);
    kry_op *op = csr_of(&A, type, NULL), *jacobi;
    OK(kry_jacobi_create(op, &jacobi));
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] *= -4;
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    op_suite(jacobi, &M); /* the old values until it is told */
    OK(kry_op_update(jacobi, NULL));
    matrix_release(&M);
    M = inverse_of(type, &A);
    op_suite(jacobi, &M);
    REFUSES(kry_op_update(jacobi, val), KRY_ERR_ARGUMENT, "jacobi");
    free(val);
    kry_op_release(&jacobi);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M);
}

static void set_diagonal(matrix *A, int64_t row, double v)
{
    for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
        if (A->col[k] == row) A->val[k] = v;
}

/* A pivot that becomes zero is named, and the old inverse stays. */
static void jacobi_update__zero_pivot_keeps_the_old_inverse(void **state)
{
    kry_type type = type_of(state);
    matrix A = with_diagonal(type, 200), M = inverse_of(type, &A);
    kry_op *op = csr_of(&A, type, NULL), *jacobi;
    OK(kry_jacobi_create(op, &jacobi));
    set_diagonal(&A, 131, 0);
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    free(val);
    REFUSES(kry_op_update(jacobi, NULL), KRY_ERR_SINGULAR, "row 131");
    op_suite(jacobi, &M);
    kry_op_release(&jacobi);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M);
}

static void jacobi_create__zero_pivot_names_row(void **state)
{
    kry_type type = type_of(state);
    /* zero; so small that its inverse overflows */
    const double bad[] = { 0, -0.0, type == KRY_F32 ? 2e-39 : 2e-309 };
    for (size_t b = 0; b < COUNT(bad); b++) {
        matrix A = with_diagonal(type, 150);
        set_diagonal(&A, 149, bad[b]);
        kry_op *op = csr_of(&A, type, NULL), *jacobi = op;
        REFUSES(kry_jacobi_create(op, &jacobi), KRY_ERR_SINGULAR, "row 149");
        assert_null(jacobi);
        assert_int_equal(op_references(op), 1);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

static void jacobi_create__missing_diagonal_entry(void **state)
{
    kry_type type = type_of(state);
    static const int64_t ptr[] = { 0, 1, 2, 3 };
    static const int32_t col[] = { 0, 2, 2 };
    double numbers[] = { 1, 2, 3 };
    void *val = in_type(type, numbers, 3);
    kry_op *op, *jacobi;
    OK(kry_csr_create(device(), type, 3, 3, ptr, col, val, NULL, &op));
    REFUSES(kry_jacobi_create(op, &jacobi), KRY_ERR_SINGULAR, "row 1 is 0");
    kry_op_release(&op);
    free(val);
}

static kry_status give_diagonal(void *self, kry_vec *d) { return kry_vec_fill(d, *(double *)self); }
static kry_status give_nothing(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(alpha, x, beta, y);
}

/* An operator of the caller's may have any diagonal. */
static void jacobi_create__diagonal_not_finite(void **state)
{
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "custom",
                                        .apply = give_nothing,
                                        .diagonal = give_diagonal };
    kry_type type = type_of(state);
    const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    for (size_t b = 0; b < COUNT(bad); b++) {
        double value = bad[b];
        kry_op *op, *jacobi;
        OK(kry_op_create(device(), &table, &value, &(kry_op_shape){ 5, 5, type, 0 }, &op));
        REFUSES(kry_jacobi_create(op, &jacobi), KRY_ERR_SINGULAR, "row 0");
        assert_null(jacobi);
        kry_op_release(&op);
    }
}

static void jacobi_create__refusals(void **state)
{
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "custom",
                                        .apply = give_nothing };
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 3, 4, gaps);
    kry_op *op = csr_of(&A, type, NULL), *jacobi;
    REFUSES(kry_jacobi_create(op, &jacobi), KRY_ERR_SHAPE, "3-by-4");
    assert_null(jacobi);
    kry_op_release(&op);
    OK(kry_op_create(device(), &table, NULL, &(kry_op_shape){ 5, 5, type, 0 }, &op));
    REFUSES(kry_jacobi_create(op, &jacobi), KRY_ERR_UNSUPPORTED, "custom");
    kry_op_release(&op);
    REFUSES(kry_jacobi_create(NULL, &jacobi), KRY_ERR_ARGUMENT, "NULL");
    assert_null(jacobi);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(jacobi__inverts_the_diagonal),
        BOTH(jacobi_update__reads_the_diagonal_again),
        BOTH(jacobi_update__zero_pivot_keeps_the_old_inverse),
        BOTH(jacobi_create__zero_pivot_names_row),
        BOTH(jacobi_create__missing_diagonal_entry),
        BOTH(jacobi_create__diagonal_not_finite),
        BOTH(jacobi_create__refusals),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
