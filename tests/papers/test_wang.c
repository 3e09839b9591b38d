/*
 * test_wang.c - the memory paths of Wang et al. against a matrix written down on the host: with CPU
 * and GPU kernels, images of one row and of many, without images, around the sizes of tiles.
 */
#include "op_suite.h"
#include <paths.h>

/* 4 on the diagonal, -1 for each of the four neighbours on n x n points. */
static matrix laplacian_of(int64_t n)
{
    matrix A = { .rows = n * n, .cols = n * n };
    A.row_ptr = calloc((size_t)(n * n + 1), sizeof *A.row_ptr);
    A.col = calloc((size_t)(5 * n * n), sizeof *A.col);
    A.val = calloc((size_t)(5 * n * n), sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t row = 0; row < n * n; row++) {
        const int64_t i = row % n, j = row / n, col[] = { row - n, row - 1, row, row + 1, row + n };
        const bool there[] = { j > 0, i > 0, true, i < n - 1, j < n - 1 };
        for (int e = 0; e < 5; e++)
            if (there[e]) A.col[A.nnz] = (int32_t)col[e], A.val[A.nnz++] = e == 2 ? 4 : -1;
        A.row_ptr[row + 1] = A.nnz;
    }
    return A;
}

static void check_path(wang_path path, int64_t n, const char *variant)
{
    matrix A = laplacian_of(n);
    kry_op *op = NULL;
    kry_op_info info;
    OK(wang_create(device(), path, n, &op));
    kry_op_describe(op, &info);
    assert_string_equal(info.variant, variant);
    assert_int_equal(info.nnz, A.nnz);
    op_suite(op, &A);
    kry_op_release(&op);
    matrix_release(&A);
}

static void wang__every_path(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    static const char *const profiles[] = { "", "gpu-kernels" };
    static const int64_t sizes[] = { 1, 2, 16, 33, 65 };
    (void)state;
    for (size_t p = 0; p < COUNT(profiles); p++) {
        use_profile(profiles[p]);
        const kry_device_info *info = kry_device_get_info(device());
        if (!info->fp64) SKIP("the device has no double precision");
        for (int path = 0; path < WANG_PATH_COUNT; path++) {
            bool copies = path == WANG_TEXTURE1D && info->opencl < 120;
            if (path >= WANG_TEXTURE1D && !info->images) continue;
            for (size_t s = 0; s < COUNT(sizes); s++)
                check_path(path, sizes[s],
                           copies ? "texture1d, x copied to a 2-D image" : wang_path_name(path));
        }
    }
    use_profile("opencl=1.1");
    if (!kry_device_get_info(device())->images) return;
    check_path(WANG_TEXTURE1D, 33, "texture1d, x copied to a 2-D image");
    check_path(WANG_TEXTURE1D, 200, "texture1d, x copied to a 2-D image");
}

static void wang__devices_without(void **state)
{
    kry_op *A = NULL;
    (void)state;
    use_profile("no-images");
    REFUSES(wang_create(device(), WANG_TEXTURE1D, 8, &A), KRY_ERR_UNSUPPORTED,
            "use path march, global or local");
    REFUSES(wang_create(device(), WANG_TEXTURE2D, 8, &A), KRY_ERR_UNSUPPORTED, "has no images");
    assert_null(A);
    use_profile("");
    if (!kry_device_get_info(device())->images) return;
    REFUSES(wang_create(device(), WANG_TEXTURE2D, 40000, &A), KRY_ERR_UNSUPPORTED,
            "fits into no image");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wang__every_path),
        cmocka_unit_test(wang__devices_without),
    };
    return cmocka_run_group_tests_name("wang", tests, keep_profile, restore_profile);
}
