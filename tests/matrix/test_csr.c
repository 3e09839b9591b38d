/*
 * test_csr.c - what only CSR has: the caller's buffers; and how entries become a matrix, whatever
 * its format: updates and refusals. Products are tested in test_formats.c, with all formats.
 */
#include "op_suite.h"
#include "patterns.h"
#include <time.h>

/* ---- the caller's buffers ----------------------------------------------------------------------
 */

static cl_mem device_copy(const void *host, size_t bytes)
{
    cl_mem buffer;
    OK(buffer_upload(device(), bytes, host, &buffer));
    return buffer;
}

typedef struct wrapped {
    cl_mem row_ptr, col, val;
} wrapped;

static wrapped wrapped_create(const matrix *A, kry_type type, bool wide)
{
    wrapped w;
    cl_int *narrow = calloc((size_t)A->rows + 1, sizeof *narrow);
    void *val = in_type(type, A->val, A->nnz);
    assert_non_null(narrow);
    for (int64_t i = 0; i <= A->rows; i++) narrow[i] = (cl_int)A->row_ptr[i];
    w.row_ptr = wide ? device_copy(A->row_ptr, ((size_t)A->rows + 1) * 8)
                     : device_copy(narrow, ((size_t)A->rows + 1) * 4);
    w.col = device_copy(A->col, (size_t)A->nnz * 4);
    w.val = device_copy(val, (size_t)A->nnz * kry_type_size(type));
    free(val);
    free(narrow);
    return w;
}

static void wrapped_release(wrapped *w)
{
    buffer_release(device(), &w->row_ptr);
    buffer_release(device(), &w->col);
    buffer_release(device(), &w->val);
}

/* Threads of a driver may let go of a buffer a moment after the kernel has ended. */
static cl_uint references(cl_mem buffer)
{
    cl_uint count = 1;
    if (is_host(device())) return count;
    for (int tries = 0; tries < 1000; tries++) {
        assert_int_equal(
            clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL),
            CL_SUCCESS);
        if (count == 1) break;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return count;
}

static void csr_wrap__narrow_and_wide(void **state)
{
    static const pattern shapes[] = { { "", 0, 0, none, NULL },
                                      { "", 4, 3, none, NULL },
                                      { "", 259, 259, gaps, NULL },
                                      { "", 700, 650, dense_row, NULL },
                                      { "", 28, 1100, borders, NULL } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int wide = 0; wide < 2; wide++) {
            matrix A = pattern_matrix(&shapes[i], type);
            for (int64_t r = 0; r < A.rows; r++) /* columns may descend */
                for (int64_t a = A.row_ptr[r], b = A.row_ptr[r + 1] - 1; a < b; a++, b--) {
                    int32_t t = A.col[a];
                    A.col[a] = A.col[b], A.col[b] = t;
                }
            wrapped w = wrapped_create(&A, type, wide);
            kry_op *op = NULL;
            OK(kry_csr_wrap(device(), type, A.rows, A.cols, A.nnz, wide, w.row_ptr, w.col, w.val,
                            NULL, &op));
            op_suite(op, &A);

            /* New values where they are. */
            for (int64_t k = 0; k < A.nnz; k++) A.val[k] = random_number(type);
            void *val = in_type(type, A.val, A.nnz);
            OK(buffer_write(device(), w.val, 0, (size_t)A.nnz * kry_type_size(type), val));
            OK(kry_op_update(op, NULL));
            REFUSES(kry_op_update(op, val), KRY_ERR_ARGUMENT, "wrapped");
            free(val);
            if (!small_run()) op_suite(op, &A);
            kry_op_release(&op);
            assert_int_equal(references(w.row_ptr), 1);
            assert_int_equal(references(w.col), 1);
            assert_int_equal(references(w.val), 1);
            wrapped_release(&w);
            matrix_release(&A);
        }
}

/* A wrapped matrix may hold a place twice, the diagonal too: everything adds them up. */
static void csr_wrap__entries_twice(void **state)
{
    static int64_t row_ptr[] = { 0, 3, 5, 5, 9 };
    static int32_t col[] = { 0, 2, 0, 3, 3, 3, 1, 3, 3 };
    kry_type type = type_of(state);
    double *val = random_array(type, 9);
    matrix A = { .rows = 4, .cols = 4, .nnz = 9, .row_ptr = row_ptr, .col = col, .val = val };
    wrapped w = wrapped_create(&A, type, false);
    kry_op *op;

    OK(kry_csr_wrap(device(), type, 4, 4, 9, false, w.row_ptr, w.col, w.val, NULL, &op));
    op_suite(op, &A);
    kry_op_release(&op);
    wrapped_release(&w);
    free(val);
}

static void csr_wrap__refusals(void **state)
{
    (void)state;
    kry_type type = KRY_F32;
    matrix A = matrix_create(type, 10, 10, three);
    wrapped w = wrapped_create(&A, type, false);
    kry_op *op = (kry_op *)&A;
    kry_device *dev = device();

    REFUSES(kry_csr_wrap(dev, type, 10, 10, 29, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "30");
    assert_null(op);
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 31, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_SHAPE, "col");
    REFUSES(kry_csr_wrap(dev, type, 11, 10, 30, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_SHAPE, "row_ptr");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 30, true, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_SHAPE, "row_ptr");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, -1, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "-1");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 30, false, NULL, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_csr_wrap(dev, type, 10, 10, 30, false, w.row_ptr, w.col, w.val,
                         KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF), &op),
            KRY_ERR_UNSUPPORTED, "symmetric");
    REFUSES(kry_csr_wrap(dev, type, 10, 2, 30, false, w.row_ptr, w.col, w.val, NULL, &op),
            KRY_ERR_ARGUMENT, "row 0");
    assert_null(op);
    assert_int_equal(references(w.val), 1);
    assert_int_equal(references(w.row_ptr), 1);
    wrapped_release(&w);
    matrix_release(&A);
}

/* ---- new values --------------------------------------------------------------------------------
 */

/* The matrix as the operator has it, column by column: y = A e_j. */
static double *dense_of(const kry_op *op)
{
    const kry_op_shape *s = kry_op_get_shape(op);
    double *dense = calloc((size_t)(s->rows * s->cols) + 1, sizeof *dense),
           *unit = calloc((size_t)(s->cols * s->cols) + 1, sizeof *unit);
    assert_true(dense && unit);
    for (int64_t j = 0; j < s->cols; j++) unit[j * s->cols + j] = 1;
    guarded X = guarded_create(s->type, s->cols, s->cols, 0, unit),
            Y = guarded_create(s->type, s->rows, s->cols, 0, NULL);
    OK(kry_op_apply(op, 1, X.v, 0, Y.v));
    double *y = guarded_read(&Y);
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < s->cols; j++) dense[i * s->cols + j] = y[j * s->rows + i];
    guarded_release(&X), guarded_release(&Y);
    free(unit), free(y);
    return dense;
}

static void assert_dense(const kry_op *op, const double *want)
{
    const kry_op_shape *s = kry_op_get_shape(op);
    double *dense = dense_of(op);
    for (int64_t i = 0; i < s->rows * s->cols; i++)
        if (dense[i] != want[i])
            fail_msg("row %lld, column %lld: %g instead of %g", (long long)(i / s->cols),
                     (long long)(i % s->cols), dense[i], want[i]);
    free(dense);
}

/* Small integers, so that sums are exact in single precision too. */
static void check_update(kry_type type, int64_t rows, int64_t cols, const int64_t *row_ptr,
                         const int32_t *col, const double *first, const double *second,
                         const kry_matrix_params *params, const double *want_first,
                         const double *want_second)
{
    int64_t nnz = row_ptr[rows];
    void *val = in_type(type, first, nnz);
    kry_op *op;

    OK(kry_csr_create(device(), type, rows, cols, row_ptr, col, val, params, &op));
    assert_dense(op, want_first);
    OK(kry_op_update(op, NULL)); /* nothing changed */
    assert_dense(op, want_first);
    free(val);
    val = in_type(type, second, nnz);
    OK(kry_op_update(op, val));
    assert_dense(op, want_second);
    put(type, val, nnz - 1, (double)NAN);
    char where[32];
    snprintf(where, sizeof where, "entry %lld", (long long)nnz - 1);
    REFUSES(kry_op_update(op, val), KRY_ERR_ARGUMENT, where);
    assert_dense(op, want_second);
    put(type, val, nnz - 1, -(double)INFINITY);
    put(type, val, 0, 99);
    REFUSES(kry_op_update(op, val), KRY_ERR_ARGUMENT, "not finite");
    assert_dense(op, want_second);
    put(type, val, nnz - 1, first[nnz - 1]);
    put(type, val, 0, first[0]);
    for (int64_t k = 0; k < nnz; k++) put(type, val, k, first[k]);
    OK(kry_op_update(op, val)); /* a refusal has not spoilt anything */
    assert_dense(op, want_first);
    free(val);
    kry_op_release(&op);
}

static void csr_update__ascending_columns(void **state)
{
    static const int64_t row_ptr[] = { 0, 2, 2, 4 };
    static const int32_t col[] = { 0, 2, 1, 2 };
    static const double first[] = { 1, 2, 3, 4 }, second[] = { 5, -6, 7, 8 };
    static const double want_first[] = { 1, 0, 2, 0, 0, 0, 0, 3, 4 },
                        want_second[] = { 5, 0, -6, 0, 0, 0, 0, 7, 8 };
    check_update(type_of(state), 3, 3, row_ptr, col, first, second, NULL, want_first, want_second);
}

static void csr_update__unsorted_columns(void **state)
{
    static const int64_t row_ptr[] = { 0, 3, 3, 5 };
    static const int32_t col[] = { 3, 0, 2, 2, 1 };
    static const double first[] = { 1, 2, 3, 4, 5 }, second[] = { 6, 7, -8, 9, 10 };
    static const double want_first[] = { 2, 0, 3, 1, 0, 0, 0, 0, 0, 5, 4, 0 },
                        want_second[] = { 7, 0, -8, 6, 0, 0, 0, 0, 0, 10, 9, 0 };
    check_update(type_of(state), 3, 4, row_ptr, col, first, second, NULL, want_first, want_second);
}

static void csr_update__summed_duplicates(void **state)
{
    static const int64_t row_ptr[] = { 0, 4, 6 };
    static const int32_t col[] = { 1, 0, 1, 1, 0, 0 };
    static const double first[] = { 1, 2, 3, 4, 5, 6 }, second[] = { -1, 1, 10, 20, 7, -7 };
    static const double want_first[] = { 2, 8, 11, 0 }, want_second[] = { 1, 29, 0, 0 };
    check_update(type_of(state), 2, 2, row_ptr, col, first, second,
                 KRY_MATRIX(.duplicates = KRY_SUM), want_first, want_second);
}

/* Both triangles mixed: (0,0) (1,0) (1,2) (2,2) (0,2). */
static void csr_update__symmetric_half(void **state)
{
    static const int64_t row_ptr[] = { 0, 2, 4, 5 };
    static const int32_t col[] = { 2, 0, 0, 2, 2 };
    static const double first[] = { 1, 2, 3, 4, 5 }, second[] = { 6, 7, 8, 9, 10 };
    static const double want_first[] = { 2, 3, 1, 3, 0, 4, 1, 4, 5 },
                        want_second[] = { 7, 8, 6, 8, 0, 9, 6, 9, 10 };
    check_update(type_of(state), 3, 3, row_ptr, col, first, second,
                 KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF), want_first, want_second);
}

static void csr_update__symmetric_half_summed(void **state)
{
    /* (0,1) and (1,0) are the same place, and (1,1) is given twice */
    static const int64_t row_ptr[] = { 0, 1, 4 };
    static const int32_t col[] = { 1, 0, 1, 1 };
    static const double first[] = { 1, 2, 3, 4 }, second[] = { 5, 6, 7, 8 };
    static const double want_first[] = { 0, 3, 3, 7 }, want_second[] = { 0, 11, 11, 15 };
    check_update(type_of(state), 2, 2, row_ptr, col, first, second,
                 KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF, .duplicates = KRY_SUM), want_first,
                 want_second);
}

static void csr_update__skew_half(void **state)
{
    static const int64_t row_ptr[] = { 0, 1, 2, 2 };
    static const int32_t col[] = { 2, 0 };
    static const double first[] = { 1, 2 }, second[] = { -3, 4 };
    static const double want_first[] = { 0, -2, 1, 2, 0, 0, -1, 0, 0 },
                        want_second[] = { 0, -4, -3, 4, 0, 0, 3, 0, 0 };
    check_update(type_of(state), 3, 3, row_ptr, col, first, second,
                 KRY_MATRIX(.storage = KRY_SKEW_HALF), want_first, want_second);
}

/* ---- refusals ------------------------------------------------------------------------------ */

#define CREATE(rows, cols, ptr, col, val, params) \
    kry_csr_create(device(), KRY_F32, rows, cols, ptr, col, val, params, &op)

/* So many entries for so few work-items that in single each of a GPU takes eight at once. */
static void csr_create__many_entries(void **state)
{
    enum { GROUP = 8 };
    static const pattern shapes[] = { { "", 3000, 2500, any, NULL },
                                      { "", 60, 1100, borders, NULL } };
    const kry_type type = type_of(state);
    const kry_device_info *info = kry_device_get_info(device());
    const bool groups = !info->cpu_kernels;
    const kry_launch_shape few = { .group = GROUP, .per_unit = 1, .chunks = 1 };

    if (groups) OK(kry_device_set_launch_shape(device(), &few));
    for (size_t i = 0; i < COUNT(shapes); i++) {
        matrix A = pattern_matrix(&shapes[i], type);
        kry_op *op = csr_of(&A, type, KRY_MATRIX(.format = KRY_FORMAT_CSR));
        const bool eight = groups && type == KRY_F32 && A.nnz >= 8 * GROUP * info->compute_units;
        assert_int_equal(strstr(look_into_matrix(op).defines, "UNROLL=8") != NULL, eight);
        op_suite(op, &A);
        kry_op_release(&op);
        matrix_release(&A);
    }
    if (groups) OK(kry_device_set_launch_shape(device(), NULL));
}

static void csr_create__sizes(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 2 };
    static const int32_t col[] = { 0, 1 };
    static const float val[] = { 1, 2 };
    kry_op *op = (kry_op *)&op;

    REFUSES(CREATE(-1, 2, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "-1-by-2");
    assert_null(op);
    REFUSES(CREATE(2, -3, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "2-by--3");
    REFUSES(CREATE(INT64_C(1) << 31, 2, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "2147483648");
    REFUSES(CREATE(2, INT64_C(1) << 31, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "2147483648");
    REFUSES(CREATE(2, 2, NULL, col, val, NULL), KRY_ERR_ARGUMENT, "row_ptr");
    REFUSES(CREATE(2, 2, ptr, NULL, val, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(2, 2, ptr, col, NULL, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(2, 3, ptr, col, val, KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF)), KRY_ERR_SHAPE,
            "2-by-3");
    REFUSES(CREATE(2, 2, ptr, col, val, &(kry_matrix_params){ .struct_size = 4 }), KRY_ERR_ARGUMENT,
            "KRY_MATRIX");
    REFUSES(kry_csr_create(NULL, KRY_F32, 2, 2, ptr, col, val, NULL, &op), KRY_ERR_ARGUMENT,
            "device");
    REFUSES(kry_csr_create(device(), (kry_type)7, 2, 2, ptr, col, val, NULL, &op), KRY_ERR_ARGUMENT,
            "7");
    if (!kry_device_get_info(device())->fp64)
        REFUSES(kry_csr_create(device(), KRY_F64, 2, 2, ptr, col, val, NULL, &op),
                KRY_ERR_UNSUPPORTED, "double");
    assert_null(op);
}

static void csr_create__row_pointers_out_of_order(void **state)
{
    (void)state;
    static const int64_t starts_at_one[] = { 1, 2, 3 }, decreases[] = { 0, 3, 1, 3 },
                         negative[] = { 0, 1, -1 };
    static const int32_t col[] = { 0, 1, 0 };
    static const float val[] = { 1, 2, 3 };
    kry_op *op;

    REFUSES(CREATE(2, 2, starts_at_one, col, val, NULL), KRY_ERR_ARGUMENT, "row_ptr[0] = 1");
    REFUSES(CREATE(3, 2, decreases, col, val, NULL), KRY_ERR_ARGUMENT, "from 3 to 1 at row 1");
    REFUSES(CREATE(2, 2, negative, col, val, NULL), KRY_ERR_ARGUMENT, "-1");
    assert_null(op);
}

static void csr_create__column_out_of_range(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 1, 3 };
    static const int32_t high[] = { 0, 1, 2 }, low[] = { 0, -1, 1 };
    static const float val[] = { 1, 2, 3 };
    kry_op *op;

    REFUSES(CREATE(3, 2, ptr, high, val, NULL), KRY_ERR_ARGUMENT, "column 2 at entry 2 (row 2)");
    REFUSES(CREATE(3, 2, ptr, low, val, NULL), KRY_ERR_ARGUMENT, "column -1 at entry 1 (row 2)");
    assert_null(op);
}

static void csr_create__value_not_finite(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 3 };
    static const int32_t col[] = { 0, 0, 1 };
    static const float nan[] = { 1, 2, NAN }, inf[] = { 1, INFINITY, 2 };
    kry_op *op;

    REFUSES(CREATE(2, 2, ptr, col, nan, NULL), KRY_ERR_ARGUMENT, "entry 2");
    REFUSES(CREATE(2, 2, ptr, col, inf, NULL), KRY_ERR_ARGUMENT, "entry 1");
    assert_null(op);
}

static void csr_create__duplicates_name_the_place(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 4 }, half[] = { 0, 1, 2 };
    static const int32_t col[] = { 0, 1, 0, 1 }, both[] = { 1, 0 };
    static const float val[] = { 1, 2, 3, 4 };
    kry_op *op;

    REFUSES(CREATE(2, 2, ptr, col, val, NULL), KRY_ERR_ARGUMENT, "row 1, column 1");
    REFUSES(CREATE(2, 2, half, both, val, KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF)),
            KRY_ERR_ARGUMENT, "row 0, column 1");
    assert_null(op);
}

static void csr_create__skew_diagonal(void **state)
{
    (void)state;
    static const int64_t ptr[] = { 0, 1, 2 };
    static const int32_t col[] = { 1, 1 };
    static const float val[] = { 1, 2 };
    kry_op *op;

    REFUSES(CREATE(2, 2, ptr, col, val, KRY_MATRIX(.storage = KRY_SKEW_HALF)), KRY_ERR_ARGUMENT,
            "entry 1");
    assert_null(op);
}

/* No host sees the numbers of a wrapped matrix: two products say what it is, before and after it changes. */
static void csr_wrap__is_looked_at_by_products(void **state)
{
    static int64_t row_ptr[] = { 0, 2, 5, 7 };
    static int32_t col[] = { 0, 1, 0, 1, 2, 1, 2 };
    static double good[] = { 2, -1, -1, 2, -1, -1, 2 }, bad[] = { 2, -1, -3, 2, -1, -1, 2 };
    kry_type type = type_of(state);
    matrix A = { .rows = 3, .cols = 3, .nnz = 7, .row_ptr = row_ptr, .col = col, .val = good };
    wrapped w = wrapped_create(&A, type, false);
    void *asymmetric = in_type(type, bad, 7), *right = in_type(type, good, 7);
    double rhs[] = { 1, 2, 3 };
    kry_vec *b = vec_of(type, rhs, 3, 1), *x = vec_of(type, rhs, 3, 1);
    kry_op *op, *solver, *other;

    OK(kry_csr_wrap(device(), type, 3, 3, 7, false, w.row_ptr, w.col, w.val, NULL, &op));
    OK(kry_solver_create(op, "rtol=1e-4", NULL, NULL, &solver));
    OK(buffer_write(device(), w.val, 0, 7 * kry_type_size(type), asymmetric));
    OK(kry_op_update(op, NULL));
    REFUSES(kry_solve(solver, b, x, NULL), KRY_ERR_UNSUPPORTED, "x'Ay");
    REFUSES(kry_solver_create(op, "", NULL, NULL, &other), KRY_ERR_UNSUPPORTED, "x'Ay");
    OK(buffer_write(device(), w.val, 0, 7 * kry_type_size(type), right));
    OK(kry_op_update(op, NULL));
    OK(kry_solve(solver, b, x, NULL));
    kry_op_release(&solver);
    kry_op_release(&op);
    kry_vec_release(&x);
    kry_vec_release(&b);
    wrapped_release(&w);
    free(right);
    free(asymmetric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(csr_wrap__narrow_and_wide),
        BOTH(csr_wrap__entries_twice),
        cmocka_unit_test(csr_wrap__refusals),
        BOTH(csr_wrap__is_looked_at_by_products),
        BOTH(csr_update__ascending_columns),
        BOTH(csr_update__unsorted_columns),
        BOTH(csr_update__summed_duplicates),
        BOTH(csr_update__symmetric_half),
        BOTH(csr_update__symmetric_half_summed),
        BOTH(csr_update__skew_half),
        BOTH(csr_create__many_entries),
        cmocka_unit_test(csr_create__sizes),
        cmocka_unit_test(csr_create__row_pointers_out_of_order),
        cmocka_unit_test(csr_create__column_out_of_range),
        cmocka_unit_test(csr_create__value_not_finite),
        cmocka_unit_test(csr_create__duplicates_name_the_place),
        cmocka_unit_test(csr_create__skew_diagonal),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
