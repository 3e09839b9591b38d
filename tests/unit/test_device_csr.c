/*
 * test_device_csr.c - matrices in rows on the device: products with the bits of the host's, transposes, rows of matrices by
 * diagonals, and the places of fill that a device finds; matrices in double with a twin for vectors in single.
 */
#include "format_suite.h"
#include "matrix/device_csr.h"
#include "precond/block_ic.h"
#include "precond/incomplete.h"

/* The reference on the host has the same bits. */
static void multiply__as_on_the_host(void **state)
{
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    matrix A = matrix_where(KRY_F64, 900, 900, poisson);
    kry_op *a = csr_of(&A, KRY_F64, NULL), *C = NULL;
    const kryi_csr host = { A.rows, A.cols, KRY_F64, A.row_ptr, A.col, A.val };
    kryi_csr want;

    OK(kryi_csr_multiply(&host, &host, &want));
    const matrix same = { want.rows,    want.cols, kryi_csr_nnz(&want),
                          want.row_ptr, want.col,  want.val };
    OK(kry_csr_multiply(a, a, &C));
    assert_reads_back(C, &same);
    kry_op_release(&C);
    kry_op_release(&a);
    kryi_csr_release(&want);
    matrix_release(&A);
}

/* Random entries in blocks, of which about `row` come in each row of blocks, and none in the fourth one. */
static kryi_csr matrix_of_blocks(int64_t rows, int64_t cols, int tall, int wide, int row)
{
    kryi_csr A;
    int64_t end = 0;

    OK(kryi_csr_create(rows * tall, cols * wide, KRY_F64, rows * cols * tall * wide, &A));
    bool *there = calloc((size_t)cols, sizeof *there);
    assert_non_null(there);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) there[j] = i != 3 && random_below(cols) < row;
        for (int r = 0; r < tall; r++) {
            for (int64_t j = 0; j < cols * wide; j++) {
                if (!there[j / wide]) continue;
                A.col[end] = (int32_t)j;
                ((double *)A.val)[end++] = random_number(KRY_F64);
            }
            A.row_ptr[i * tall + r + 1] = end;
        }
    }
    free(there);
    return A;
}

/* The pattern of both, and their numbers, above the diagonal only where they are wanted. */
static void expect_same(const kryi_device_csr *A, const kryi_device_csr *B, bool lower)
{
    kryi_csr a, b;

    OK(kryi_device_csr_download(A, &a));
    OK(kryi_device_csr_download(B, &b));
    assert_int_equal(kryi_csr_nnz(&a), kryi_csr_nnz(&b));
    assert_memory_equal(a.row_ptr, b.row_ptr, (size_t)(a.rows + 1) * sizeof *a.row_ptr);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t e = a.row_ptr[i]; e < a.row_ptr[i + 1]; e++) {
            assert_int_equal(a.col[e], b.col[e]);
            if (!lower || a.col[e] <= i)
                assert_memory_equal((double *)a.val + e, (double *)b.val + e, sizeof(double));
        }
    kryi_csr_release(&a), kryi_csr_release(&b);
}

/* Products in blocks have the bits of those of single entries, also with new numbers. */
static void multiply__in_blocks(void **state)
{
    static const int sizes[][3] = {
        { 3, 3, 6 }, { 6, 3, 6 }, { 6, 6, 6 }, { 2, 2, 3 }, { 3, 2, 3 },
        { 3, 3, 3 }, { 2, 2, 2 }, { 5, 4, 7 }, { 1, 3, 1 }, { 12, 2, 1 }
    };
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    for (size_t k = 0; k < 2 * COUNT(sizes); k++) {
        const int *of = sizes[k / 2];
        const bool lower = k % 2;
        const int64_t rows = 40 + random_below(60), inner = 30 + random_below(30);
        kryi_csr A = matrix_of_blocks(rows, inner, of[0], of[1], 5),
                 B = matrix_of_blocks(inner, lower ? rows : 70, of[1], of[2], 4);
        kryi_device_csr a, b, a_blocks, b_blocks, C, want;
        cl_mem from;
        OK(kryi_device_csr_upload(device(), &A, &a));
        OK(kryi_device_csr_upload(device(), &B, &b));
        OK(kryi_device_csr_convert(&a, KRY_F64, &a_blocks));
        OK(kryi_device_csr_find_blocks(of[0], of[1], &a_blocks));
        OK(kryi_device_csr_convert(&b, KRY_F64, &b_blocks));
        OK(kryi_device_csr_find_blocks(of[1], of[2], &b_blocks));
        assert_true(a_blocks.tall == of[0] && b_blocks.wide == of[2]);
        const bool half = lower && of[0] == of[2];
        OK(kryi_device_csr_product(&a, &b, half, &want));
        OK(kryi_device_csr_product(&a_blocks, &b_blocks, half, &C));
        expect_same(&C, &want, half);
        OK(kryi_device_csr_product_again(&a_blocks, &b_blocks, half, &C));
        expect_same(&C, &want, half);
        kryi_device_csr_release(&b);
        OK(kryi_device_csr_transpose(&a_blocks, &b, &from));
        assert_true(b.tall == of[1] && b.wide == of[0]);
        kryi_device_csr_release(&C), kryi_device_csr_release(&want);
        kryi_device_csr_release(&a), kryi_device_csr_release(&b);
        kryi_device_csr_release(&a_blocks), kryi_device_csr_release(&b_blocks);
        buffer_release(device(), &from);
        kryi_csr_release(&A), kryi_csr_release(&B);
    }
}

static void expect_blocks(const kryi_csr *A, int tall, int wide, bool whole)
{
    kryi_device_csr a;

    OK(kryi_device_csr_upload(device(), A, &a));
    OK(kryi_device_csr_find_blocks(tall, wide, &a));
    assert_int_equal(a.tall, whole ? tall : 0);
    assert_int_equal(a.wide, whole ? wide : 0);
    kryi_device_csr_release(&a);
}

/* One column elsewhere, in one row of a block or in all, is enough. */
static void blocks__are_whole_or_not_there(void **state)
{
    kryi_csr A = matrix_of_blocks(40, 30, 3, 2, 4);
    const int64_t e = A.row_ptr[3 * 11], width = A.row_ptr[3 * 11 + 1] - e;
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    expect_blocks(&A, 3, 2, true);
    expect_blocks(&A, 3, 1, true);
    expect_blocks(&A, 1, 2, true);
    expect_blocks(&A, 7, 2, false);
    expect_blocks(&A, 3, 4, false);
    if (width) {
        const int32_t last = A.col[e + width - 1];
        for (int r = 0; r < 3; r++) {
            A.col[e + r * width + width - 1] = last + 2;
            expect_blocks(&A, 3, 2, false);
            A.col[e + r * width + width - 1] = last;
        }
        for (int r = 0; r < 3; r++) A.col[e + r * width + width - 1] = last + 1;
        expect_blocks(&A, 3, 2, false);
        expect_blocks(&A, 3, 1, true);
    }
    kryi_csr_release(&A);
}

static void transpose__long_columns(void **state)
{
    (void)state;
    static place_fn *const places[] = { dense_column, arrow, symmetric_band };

    for (size_t i = 0; i < COUNT(places); i++) {
        matrix A = matrix_where(KRY_F32, 1300, 1300, places[i]), want = transpose_of(&A);
        kry_op *op = csr_of(&A, KRY_F32, NULL), *read = NULL;
        kryi_device_csr a, T;
        cl_mem from;
        kryi_source *none_needed = NULL;
        OK(kryi_device_csr_of(kryi_matrix_of(op), &a));
        OK(kryi_device_csr_transpose(&a, &T, &from));
        OK(kryi_device_csr_operator(&T, 0, &none_needed, &read));
        assert_reads_back(read, &want);
        buffer_release(device(), &from);
        kryi_device_csr_release(&T);
        kryi_device_csr_release(&a);
        kry_op_release(&read);
        kry_op_release(&op);
        matrix_release(&want);
        matrix_release(&A);
    }
}

/* A matrix by its diagonals is the same in rows, whether the device or the host knows its entries: the host where
 * one of them is zero. */
static void rows__of_diagonals(void **state)
{
    kry_type type = type_of(state);
    for (int what = 0; what < 4; what++) {
        const kry_format format = what % 2 ? KRY_FORMAT_SYMDIA : KRY_FORMAT_DIA;
        matrix A = matrix_where(type, 900, 900, poisson);
        for (int64_t i = 0; i < A.rows; i++)
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                A.val[k] =
                    what >= 2 && i + A.col[k] == 777 ? 0 : 1.0 + (double)(i + A.col[k]) / 1024;
        kry_op *op = csr_of(&A, type, KRY_MATRIX(.format = format)), *read = NULL;
        kryi_device_csr rows;
        OK(kryi_device_csr_of(kryi_matrix_of(op), &rows));
        OK(kryi_device_csr_operator(&rows, 0, NULL, &read));
        assert_reads_back(read, &A);
        kry_op_release(&read);
        for (int64_t k = 0; k < A.nnz; k++) A.val[k] *= 2;
        void *val = in_type(type, A.val, A.nnz);
        OK(kry_op_update(op, val));
        OK(kryi_device_csr_of_again(kryi_matrix_of(op), &rows));
        OK(kryi_device_csr_operator(&rows, 0, NULL, &read));
        assert_reads_back(read, &A);
        free(val);
        kryi_device_csr_release(&rows);
        kry_op_release(&read), kry_op_release(&op);
        matrix_release(&A);
    }
}

static void check_places(const double *a, int64_t n, int fill)
{
    dense f = { .n = n, .a = (double *)a };
    kryi_csr R;
    kryi_device_csr A, places;
    matrix S = matrix_from(a, n);

    f.there = calloc((size_t)(n * n), sizeof *f.there);
    assert_non_null(f.there);
    find_places(&f, fill);
    OK(kryi_csr_create(n, n, KRY_F64, S.nnz, &R));
    memcpy(R.row_ptr, S.row_ptr, (size_t)(n + 1) * sizeof *R.row_ptr);
    memcpy(R.col, S.col, (size_t)S.nnz * sizeof *R.col);
    OK(kryi_device_csr_upload(device(), &R, &A));
    OK(kryi_block_fill_places(&A, fill, &places));
    int64_t *row_ptr = calloc((size_t)n + 1, sizeof *row_ptr);
    int32_t *col = calloc((size_t)places.nnz, sizeof *col);
    assert_true(row_ptr && col);
    OK(kryi_device_csr_read_offsets(&places, row_ptr));
    OK(buffer_read(device(), places.col, 0, (size_t)places.nnz * sizeof *col, col));
    for (int64_t i = 0, e = 0; i < n; i++, assert_int_equal(e, row_ptr[i]))
        for (int64_t j = 0; j < n; j++)
            if (f.there[i * n + j]) assert_int_equal(col[e++], j);
    free(row_ptr), free(col);
    kryi_csr_release(&R);
    kryi_device_csr_release(&A), kryi_device_csr_release(&places);
    matrix_release(&S);
    free(f.there);
}

/* Also of a chain that bites its tail, whose last row and column fill one place with each level. */
static void fill__by_a_device(void **state)
{
    static const int64_t sizes[] = { 1, 2, 9, 40, 71 };
    double ring[900] = { 0 };

    (void)state;
    use_profile("gpu-kernels");
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int fill = 1; fill <= KRY_MOST_DEVICE_FILL; fill += 1 + fill / 2) {
            double *a = dense_random(KRY_F64, sizes[s], s % 2, 4, 1);
            check_places(a, sizes[s], fill);
            free(a);
        }
    for (int i = 0; i < 30; i++) ring[31 * i] = 2, ring[30 * i + (i + 1) % 30] = -1;
    for (int i = 0; i < 30; i++) ring[30 * ((i + 1) % 30) + i] = -1;
    for (int fill = 1; fill <= KRY_MOST_DEVICE_FILL; fill++) check_places(ring, 30, fill);
    use_profile(NULL);
}

/* Of a matrix with a full first row, whose fill is n^2, not one product too many is made, whether they have to be counted
 * or not. */
static void fill__that_a_device_refuses(void **state)
{
    (void)state;
    use_profile("gpu-kernels");
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    for (int k = 0; k < 3; k++) {
        static const int64_t sizes[] = { 900, 2000, 8000 };
        matrix S = matrix_where(KRY_F64, sizes[k], sizes[k], arrow);
        kryi_csr R;
        kryi_device_csr A, places;
        OK(kryi_csr_create(S.rows, S.rows, KRY_F64, S.nnz, &R));
        memcpy(R.row_ptr, S.row_ptr, (size_t)(S.rows + 1) * sizeof *R.row_ptr);
        memcpy(R.col, S.col, (size_t)S.nnz * sizeof *R.col);
        OK(kryi_device_csr_upload(device(), &R, &A));
        OK(kryi_block_fill_places(&A, 1, &places));
        if (k == 0)
            assert_int_equal(places.nnz, S.rows * S.rows);
        else
            assert_null(places.dev);
        kryi_device_csr_release(&A), kryi_device_csr_release(&places);
        kryi_csr_release(&R);
        matrix_release(&S);
    }
    use_profile(NULL);
}

/* y := N x and, in double, the rounded entries of A with what rounding took from their rows. */
static void expect_products(const matrix *A, const kry_op *N)
{
    double *x = random_array(KRY_F32, A->cols), *zero = calloc((size_t)A->rows, sizeof *zero);
    kry_vec *in = vec_of(KRY_F32, x, A->cols, 1), *out = vec_of(KRY_F32, zero, A->rows, 1);

    OK(kry_op_apply(N, 1, in, 0, out));
    double *y = numbers_of(out);
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0, size = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            sum += (double)(float)A->val[e] * x[A->col[e]] +
                   (A->val[e] - (double)(float)A->val[e]) * x[i];
            size += fabs(A->val[e]);
        }
        NEAR(y[i], sum, 1.2e-7 * size * (double)(A->row_ptr[i + 1] - A->row_ptr[i] + 2), "row %lld",
             (long long)i);
    }
    free(y), free(zero), free(x);
    kry_vec_release(&in), kry_vec_release(&out);
}

static void expect_diagonal(const matrix *A, const kry_op *N)
{
    double *zero = calloc((size_t)A->rows, sizeof *zero);
    kry_vec *d = vec_of(KRY_F32, zero, A->rows, 1);

    OK(kry_op_diagonal(N, d));
    double *y = numbers_of(d);
    for (int64_t i = 0; i < A->rows; i++) {
        double entry = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] == i) entry = A->val[e];
        NEAR(y[i], entry, 1e-6 * fabs(entry), "row %lld", (long long)i);
    }
    free(y), free(zero);
    kry_vec_release(&d);
}

static cl_mem rest_of(const matrix *A)
{
    float *rest = calloc((size_t)A->rows, sizeof *rest);
    cl_mem buffer;

    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            sum += A->val[e] - (double)(float)A->val[e];
        rest[i] = (float)sum;
    }
    OK(buffer_upload(device(), (size_t)A->rows * sizeof *rest, rest, &buffer));
    free(rest);
    return buffer;
}

/* From singles, whose buffer is shared, to numbers that are none, and back. */
static void narrowed__multiplies_as_the_rounded_rows(void **state)
{
    static const kry_format formats[] = { KRY_FORMAT_CSR, KRY_FORMAT_SELL,   KRY_FORMAT_ELL,
                                          KRY_FORMAT_DIA, KRY_FORMAT_SYMDIA, KRY_FORMAT_JDS,
                                          KRY_FORMAT_HYB, KRY_FORMAT_COO };
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    for (size_t f = 0; f < COUNT(formats); f++) {
        matrix A = matrix_where(KRY_F64, 900, 900, poisson);
        kry_op *op = csr_of(&A, KRY_F64,
                            KRY_MATRIX(.format = formats[f], .values = KRY_VALUES_COMPACT)),
               *N;
        assert_true(kryi_matrix_narrows(op));
        OK(kryi_matrix_narrowed(op, NULL, &N));
        assert_true(kryi_matrix_narrowed_bytes(N) == 0);
        expect_products(&A, N);
        expect_diagonal(&A, N);
        for (int exact = 0; exact < 2; exact++) {
            for (int64_t k = 0; k < A.nnz; k++) A.val[k] = exact ? A.val[k] * 3 : A.val[k] / 3;
            for (int64_t k = 0; exact && k < A.nnz; k++) A.val[k] = round(A.val[k]);
            cl_mem rest = rest_of(&A);
            OK(kry_op_update(op, A.val));
            OK(kryi_matrix_narrowed_again(N, rest));
            buffer_release(device(), &rest);
            expect_products(&A, N);
            expect_diagonal(&A, N);
        }
        kry_op_release(&N);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(multiply__as_on_the_host, on_cpu_kernels),
        cmocka_unit_test_setup(multiply__as_on_the_host, on_gpu_kernels),
        cmocka_unit_test_setup(multiply__in_blocks, on_cpu_kernels),
        cmocka_unit_test_setup(multiply__in_blocks, on_gpu_kernels),
        cmocka_unit_test_setup(blocks__are_whole_or_not_there, on_cpu_kernels),
        cmocka_unit_test_setup(blocks__are_whole_or_not_there, on_gpu_kernels),
        cmocka_unit_test_setup(transpose__long_columns, on_cpu_kernels),
        cmocka_unit_test_setup(transpose__long_columns, on_gpu_kernels),
        FOUR(rows__of_diagonals),
        cmocka_unit_test(fill__by_a_device),
        cmocka_unit_test(fill__that_a_device_refuses),
        cmocka_unit_test(narrowed__multiplies_as_the_rounded_rows),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
