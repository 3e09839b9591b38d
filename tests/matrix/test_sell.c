/*
 * test_sell.c - SELL-C-sigma in slices of all heights, sorted in windows of all sizes, with columns
 * of all widths; what it must refuse.
 */
#include "format_suite.h"
#include "step_suite.h"

static bool on_cpu(void) { return kry_device_get_info(device())->cpu_kernels; }

/* Numbers in slices of `height` rows as long as their longest: rows in order. */
static int64_t slots_unsorted(const matrix *A, int64_t height)
{
    int64_t slots = 0;
    for (int64_t i = 0; i < A->rows; i += height) {
        int64_t width = 0;
        for (int64_t r = i; r < i + height && r < A->rows; r++)
            if (A->row_ptr[r + 1] - A->row_ptr[r] > width)
                width = A->row_ptr[r + 1] - A->row_ptr[r];
        slots += width * height;
    }
    return slots;
}

static void check_sell(const matrix *A, kry_type type, int slice, int sigma, int bits)
{
    kry_op *op;
    kry_op_info info;
    char text[96];
    OK(create(
        A, type,
        KRY_MATRIX(.format = KRY_FORMAT_SELL, .slice = slice, .sigma = sigma, .index_bits = bits),
        &op));
    kry_op_describe(op, &info);
    snprintf(text, sizeof text, "slices of %d, sorted in windows of %d, %d-bit columns", slice,
             sigma, bits);
    assert_string_equal(info.variant, text);
    int64_t unsorted = slots_unsorted(A, slice);
    assert_true(sigma == 1 ? info.slots == unsorted : info.slots <= unsorted);
    assert_true(info.slots >= A->nnz && info.slots % slice == 0);
    op_suite(op, A);
    step_suite(op, A, info.variant);
    assert_reads_back(op, A);
    kry_op_release(&op);
}

/* Slices of all sizes, windows that end inside the matrix, columns of all widths. */
static void sell__slices_windows_and_columns(void **state)
{
    static const struct {
        int slice, sigma, bits;
    } shapes[] = { { 4, 1, 8 },    { 4, 32, 16 },   { 16, 32, 8 },    { 32, 1, 16 }, { 32, 32, 32 },
                   { 32, 256, 8 }, { 64, 256, 16 }, { 128, 256, 32 }, { 256, 1, 32 } },
      cpu_shapes[] = { { 8, 1, 8 }, { 8, 32, 16 }, { 8, 256, 32 }, { 8, 8, 8 } };
    kry_type type = type_of(state);
    matrix few = matrix_create(type, 250, 250, gaps),
           long_rows = matrix_create(type, 250, 250, power_law);

    for (size_t i = 0; i < (on_cpu() ? COUNT(cpu_shapes) : COUNT(shapes)); i++) {
        int slice = on_cpu() ? cpu_shapes[i].slice : shapes[i].slice;
        int sigma = on_cpu() ? cpu_shapes[i].sigma : shapes[i].sigma;
        int bits = on_cpu() ? cpu_shapes[i].bits : shapes[i].bits;
        check_sell(&few, type, slice, sigma, bits);
        check_sell(&long_rows, type, slice, sigma, bits);
    }
    matrix_release(&few), matrix_release(&long_rows);
}

/* Two rows, two columns `apart`: what 8 and 16 bits can tell apart, less one place for padding. */
static void sell__columns_as_narrow_as_they_fit(void **state)
{
    static const struct {
        int32_t apart;
        int bits;
    } cases[] = { { 254, 8 }, { 255, 16 }, { 65534, 16 }, { 65535, 32 } };
    kry_type type = type_of(state);

    for (size_t c = 0; c < COUNT(cases); c++) {
        matrix A = matrix_create(type, 2, 70000, one);
        A.col[0] = 3, A.col[1] = 3 + cases[c].apart;
        char text[32];
        kry_op *op;
        kry_op_info info;
        OK(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_SELL), &op));
        kry_op_describe(op, &info);
        snprintf(text, sizeof text, "%d-bit columns",
                 on_cpu() ? 32 : cases[c].bits); /* in its caches */
        assert_non_null(strstr(info.variant, text));
        kry_op_release(&op);
        OK(create(&A, type, KRY_MATRIX(.format = KRY_FORMAT_SELL, .index_bits = cases[c].bits),
                  &op));
        op_suite(op, &A);
        assert_reads_back(op, &A);
        kry_op_release(&op);
        if (cases[c].bits > 8)
            REFUSES(create(&A, type,
                           KRY_MATRIX(.format = KRY_FORMAT_SELL, .index_bits = cases[c].bits / 2),
                           &op),
                    KRY_ERR_UNSUPPORTED, "too far");
        matrix_release(&A);
    }
}

/* y = A x in whole numbers, where nothing is rounded, whichever way rows are summed. */
static void check_whole_numbers(kry_op *op, const matrix *A)
{
    double *numbers = calloc((size_t)A->cols, sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t j = 0; j < A->cols; j++) numbers[j] = (double)(j * 7 % 23 - 11);
    guarded x = guarded_create(KRY_F32, A->cols, 1, 0, numbers);
    guarded y = guarded_create(KRY_F32, A->rows, 1, 3, numbers);
    poison(&y);
    OK(kry_op_apply(op, 1, x.v, 0, y.v));
    double *got = guarded_read(&y);
    for (int64_t i = 0; i < A->rows; i++) {
        long double magnitude, want = row_times(A, i, numbers, NULL, &magnitude);
        if (got[i] != (double)want) fail_msg("row %lld: %g", (long long)i, got[i]);
    }
    free(got);
    guarded_release(&y), guarded_release(&x);
    free(numbers);
}

/* Columns in a band of at most 20,001, so that 16 bits tell those of a slice apart, however many rows there are. */
static matrix near_the_diagonal(int64_t rows, length_fn *length)
{
    const int64_t width = rows < 20001 ? rows : 20001;
    matrix A = matrix_create(KRY_F32, rows, width, length);
    A.cols = rows;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            A.col[k] += (int32_t)(i < rows - width ? i : rows - width);
    return A;
}

/* So many rows that in single a work-item of a GPU takes two: their number is odd, or ends inside a slice, or between
 * two; sorted or not; narrow columns or not; products of differences. */
static void sell__pairs_of_rows(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    static const struct {
        int more, sigma, bits;
        kry_form form;
    } cases[] = {
        { 1, 1, 16, 0 }, { 2, 256, 32, 0 }, { 45, 1, 16, KRY_FLUX }, { 64, 64, 32, KRY_FLUX }
    };
    (void)state;
    use_profile("gpu-kernels");
    kry_sum *sum;
    OK(kry_sum_create(device(), 1, &sum));
    const int groups = kry_device_launch_shape(device()).per_unit *
                       kry_device_get_info(device())->compute_units,
              room = kry_sum_capacity(sum) / 2;
    const int64_t at_once =
        (int64_t)kry_device_group_size(device()) * (groups < room ? groups : room);
    kry_sum_release(&sum);
    for (size_t c = 0; c < COUNT(cases); c++)
        for (int below = 0; below < 2; below++) {
            const int64_t rows = 2 * at_once + (below ? 0 : cases[c].more);
            matrix A = near_the_diagonal(rows, c % 2 ? gaps : three);
            kry_op *op;
            for (int64_t k = 0; k < A.nnz && cases[c].form == KRY_FLUX; k++)
                A.val[k] = (double)(k % 9 - 4);
            OK(create(&A, KRY_F32,
                      KRY_MATRIX(.format = KRY_FORMAT_SELL, .slice = 32, .sigma = cases[c].sigma,
                                 .index_bits = cases[c].bits, .form = cases[c].form),
                      &op));
            assert_int_equal(look_into_matrix(op).rows_each, below ? 1 : 2);
            if (cases[c].form == KRY_FLUX)
                check_whole_numbers(op, &A);
            else
                op_suite(op, &A);
            kry_op_release(&op);
            matrix_release(&A);
        }
    use_profile(NULL);
}

static void sell__refusals(void **state)
{
    (void)state;
    matrix A = matrix_create(KRY_F32, 40, 40, three);
    kry_op *op;
    int slice = on_cpu() ? 8 : 32;
#define SELL(...) create(&A, KRY_F32, KRY_MATRIX(.format = KRY_FORMAT_SELL, __VA_ARGS__), &op)
    REFUSES(SELL(.slice = 2), KRY_ERR_ARGUMENT, "4 to 256");
    REFUSES(SELL(.slice = 12), KRY_ERR_ARGUMENT, "power of two");
    REFUSES(SELL(.slice = 512), KRY_ERR_ARGUMENT, "512");
    REFUSES(SELL(.slice = -8), KRY_ERR_ARGUMENT, "-8");
    REFUSES(SELL(.slice = slice, .sigma = slice + 4), KRY_ERR_ARGUMENT, "multiple of the slice");
    REFUSES(SELL(.sigma = -1), KRY_ERR_ARGUMENT, "-1");
    REFUSES(SELL(.index_bits = 12), KRY_ERR_ARGUMENT, "12 bits");
    if (on_cpu()) REFUSES(SELL(.slice = 32), KRY_ERR_UNSUPPORTED, "vector of 8");
#undef SELL
    assert_null(op);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(sell__slices_windows_and_columns),
        BOTH(sell__columns_as_narrow_as_they_fit),
        cmocka_unit_test(sell__pairs_of_rows),
        cmocka_unit_test(sell__refusals),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
