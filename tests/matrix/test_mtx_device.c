/*
 * test_mtx_device.c - Matrix Market data as operators and vectors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kry/kry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static kry_device *device;

static int open_device(void **state)
{
    (void)state;
    return kry_device_open(NULL, &device) == KRY_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    kry_device_release(&device);
    return 0;
}

/* Double where the device has it. */
static kry_type best_type(void) { return kry_device_get_info(device)->fp64 ? KRY_F64 : KRY_F32; }

static void read_numbers(const kry_vec *v, double *out)
{
    float single[64];
    int64_t count = kry_vec_rows(v) * kry_vec_cols(v);
    assert_true(count <= 64);
    if (kry_vec_type(v) == KRY_F64) {
        assert_int_equal(kry_vec_read(v, out), KRY_OK);
        return;
    }
    assert_int_equal(kry_vec_read(v, single), KRY_OK);
    for (int64_t i = 0; i < count; i++) out[i] = single[i];
}

/* A is 3-by-3; its columns, one by one, must be those of `want` (row major). */
static void check_matrix(const kry_mtx *mtx, kry_type type, const double *want)
{
    kry_op *A = NULL;
    kry_vec *x = NULL, *y = NULL;
    assert_int_equal(kry_mtx_matrix(device, type, mtx, NULL, &A), KRY_OK);
    assert_int_equal(kry_vec_create(device, type, 3, 1, &x), KRY_OK);
    assert_int_equal(kry_vec_create(device, type, 3, 1, &y), KRY_OK);
    for (int j = 0; j < 3; j++) {
        double unit[3] = { j == 0, j == 1, j == 2 }, got[3];
        float single[3] = { j == 0, j == 1, j == 2 };
        assert_int_equal(kry_vec_write(x, type == KRY_F64 ? (void *)unit : single), KRY_OK);
        assert_int_equal(kry_op_apply(A, 1, x, 0, y), KRY_OK);
        read_numbers(y, got);
        for (int i = 0; i < 3; i++) assert_true(got[i] == want[3 * i + j]);
    }
    bool symmetric = mtx->symmetry == KRY_MTX_SYMMETRIC;
    assert_int_equal(kry_op_get_shape(A)->traits & KRY_SYMMETRIC, symmetric ? KRY_SYMMETRIC : 0);
    kry_vec_release(&x);
    kry_vec_release(&y);
    kry_op_release(&A);
}

static void mtx_matrix__each_symmetry(void **state)
{
    (void)state;
    int32_t row[] = { 0, 1, 2, 2 }, col[] = { 0, 0, 1, 2 };
    double val[] = { 4, -1, -2, 5 };
    kry_mtx mtx = { .rows = 3, .cols = 3, .nnz = 4, .row = row, .col = col, .val = val };
    check_matrix(&mtx, best_type(), (double[]){ 4, 0, 0, -1, 0, 0, 0, -2, 5 });
    check_matrix(&mtx, KRY_F32, (double[]){ 4, 0, 0, -1, 0, 0, 0, -2, 5 });
    mtx.symmetry = KRY_MTX_SYMMETRIC;
    check_matrix(&mtx, best_type(), (double[]){ 4, -1, 0, -1, 0, -2, 0, -2, 5 });
    mtx.symmetry = KRY_MTX_SKEW;
    mtx.nnz = 2;
    mtx.row++, mtx.col++, mtx.val++;
    check_matrix(&mtx, best_type(), (double[]){ 0, 1, 0, -1, 0, 2, 0, -2, 0 });
}

static void mtx_matrix__array_goes_down_its_columns(void **state)
{
    (void)state;
    double val[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    kry_mtx mtx = { .array = true, .rows = 3, .cols = 3, .nnz = 9, .val = val };
    check_matrix(&mtx, best_type(), (double[]){ 1, 4, 7, 2, 5, 8, 3, 6, 9 });
    mtx.symmetry = KRY_MTX_SYMMETRIC;
    mtx.nnz = 6;
    check_matrix(&mtx, best_type(), (double[]){ 1, 2, 3, 2, 4, 5, 3, 5, 6 });
    mtx.symmetry = KRY_MTX_SKEW;
    mtx.nnz = 3;
    check_matrix(&mtx, best_type(), (double[]){ 0, -1, -2, 1, 0, -3, 2, 3, 0 });
    kry_op *A = NULL;
    mtx.nnz = 4;
    assert_int_equal(kry_mtx_matrix(device, best_type(), &mtx, NULL, &A), KRY_ERR_ARGUMENT);
    assert_null(A);
}

static void mtx_matrix__too_large_for_single_names_entry(void **state)
{
    (void)state;
    int32_t row[] = { 0, 2 }, col[] = { 0, 1 };
    double val[] = { 1, -1e300 };
    kry_mtx mtx = { .rows = 3, .cols = 3, .nnz = 2, .row = row, .col = col, .val = val };
    kry_op *A = NULL;
    assert_int_equal(kry_mtx_matrix(device, KRY_F32, &mtx, NULL, &A), KRY_ERR_ARGUMENT);
    assert_non_null(strstr(kry_last_error(), "row 2, column 1: -1e+300"));
    assert_null(A);
}

/* A struct that a caller filled in is not believed. */
static void mtx__of_the_caller(void **state)
{
    int32_t row[] = { 0, 1 }, col[] = { 0, 1 }, outside[] = { 0, 2 };
    double val[] = { 1, 2, 3, 4 };
    const kry_mtx good = { false, KRY_MTX_REAL, KRY_MTX_GENERAL, 2, 2, 2, row, col, val };
    kry_mtx wrong[12];
    kry_op *A = NULL;
    kry_vec *v = NULL;
    const char *path = "/nonexistent/file";

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) wrong[i] = good;
    wrong[0].symmetry = (kry_mtx_symmetry)7;
    wrong[1].symmetry = (kry_mtx_symmetry)-1;
    wrong[2].val = NULL;
    wrong[3].row = outside;
    wrong[4].col = outside;
    wrong[5].nnz = -1;
    wrong[6].rows = -2;
    wrong[7].array = true, wrong[7].nnz = 5;
    wrong[8].col = NULL;
    wrong[9].symmetry = KRY_MTX_SYMMETRIC, wrong[9].cols = 3;
    wrong[10].field = (kry_mtx_field)3;
    wrong[11].array = true, wrong[11].rows = INT64_MAX, wrong[11].nnz = 4;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(kry_mtx_matrix(device, best_type(), &wrong[i], NULL, &A),
                         KRY_ERR_ARGUMENT);
        assert_non_null(strstr(kry_last_error(), "kry_mtx_matrix: "));
        assert_null(A);
        assert_int_equal(kry_mtx_vec(device, best_type(), &wrong[i], &v), KRY_ERR_ARGUMENT);
        assert_non_null(strstr(kry_last_error(), "kry_mtx_vec: "));
        assert_null(v);
        assert_int_equal(kry_mtx_write(path, &wrong[i], NULL), KRY_ERR_ARGUMENT);
        assert_non_null(strstr(kry_last_error(), "kry_mtx_write: "));
        assert_int_equal(kry_petsc_write(path, &wrong[i]), KRY_ERR_ARGUMENT);
        assert_non_null(strstr(kry_last_error(), "kry_petsc_write: "));
    }
}

static void mtx_vec__array_and_coordinates(void **state)
{
    (void)state;
    int32_t row[] = { 2, 0 }, col[] = { 1, 0 };
    double val[] = { 7, 8, 9, 10, 11, 12 }, got[6];
    kry_mtx mtx = { .array = true, .rows = 3, .cols = 2, .nnz = 6, .val = val };
    kry_vec *v = NULL;
    assert_int_equal(kry_mtx_vec(device, best_type(), &mtx, &v), KRY_OK);
    assert_int_equal(kry_vec_cols(v), 2);
    read_numbers(v, got);
    assert_memory_equal(got, val, sizeof got);
    kry_vec_release(&v);

    mtx = (kry_mtx){ .rows = 3, .cols = 2, .nnz = 2, .row = row, .col = col, .val = val };
    assert_int_equal(kry_mtx_vec(device, KRY_F32, &mtx, &v), KRY_OK);
    read_numbers(v, got);
    assert_memory_equal(got, ((double[]){ 8, 0, 0, 0, 0, 7 }), sizeof got);
    kry_vec_release(&v);

    row[1] = 2, col[1] = 1;
    assert_int_equal(kry_mtx_vec(device, KRY_F32, &mtx, &v), KRY_ERR_ARGUMENT);
    assert_non_null(strstr(kry_last_error(), "row 2, column 1"));
    mtx.symmetry = KRY_MTX_SYMMETRIC;
    assert_int_equal(kry_mtx_vec(device, KRY_F32, &mtx, &v), KRY_ERR_ARGUMENT);
    assert_null(v);
}

static void mtx_write_vec__reads_back_to_the_bit(void **state)
{
    (void)state;
    const char *dir = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/kry-mtx-XXXXXX", dir ? dir : "/tmp");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    double values[] = { 0.1, 1.0 / 3, -2e-30, 3 }, got[4];
    float single[] = { 0.1f, 1.0f / 3, -2e-30f, 3 };
    for (kry_type type = KRY_F32; type <= best_type(); type++) {
        kry_vec *v = NULL, *w = NULL;
        assert_int_equal(kry_vec_create(device, type, 2, 2, &v), KRY_OK);
        assert_int_equal(kry_vec_write(v, type == KRY_F64 ? (void *)values : single), KRY_OK);
        assert_int_equal(kry_mtx_write_vec(path, v), KRY_OK);
        assert_int_equal(kry_mtx_read_vec(device, type, path, &w), KRY_OK);
        assert_int_equal(kry_vec_rows(w), 2);
        assert_int_equal(kry_vec_cols(w), 2);
        read_numbers(w, got);
        for (int i = 0; i < 4; i++)
            assert_true(got[i] == (type == KRY_F64 ? values[i] : single[i]));
        kry_vec_release(&v);
        kry_vec_release(&w);
    }
    remove(path);
    kry_vec *none = NULL;
    kry_op *A = NULL;
    assert_int_equal(kry_mtx_read_vec(device, KRY_F32, path, &none), KRY_ERR_FILE);
    assert_int_equal(kry_mtx_read_matrix(device, KRY_F32, path, &A), KRY_ERR_FILE);
    assert_int_equal(kry_mtx_write_vec(path, NULL), KRY_ERR_ARGUMENT);
}

static int by_place(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* KiB that this process has had at most. */
static long peak(void)
{
    struct rusage use;
    assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
    return use.ru_maxrss;
}

/* A few entries of a matrix that claims up to 2^31 - 1 columns are sorted as those of any other, in little memory. */
static void entries__sorted_whatever_columns_are_claimed(void **state)
{
    enum { MOST = 3000, TRIALS = 40 };
    static int32_t place[MOST][2], row[MOST], col[MOST];
    static double val[MOST];
    char path[64];
    (void)state;
    const unsigned seed =
        getenv("KRY_TEST_SEED") ? (unsigned)atoi(getenv("KRY_TEST_SEED")) : (unsigned)time(NULL);
    print_message("# KRY_TEST_SEED=%u\n", seed);
    srand(seed);
    snprintf(path, sizeof path, "mtx_wide_%ld.petsc", (long)getpid());
    const long before = peak();
    for (int trial = 0; trial < TRIALS; trial++) {
        const int32_t rows = 1 + rand() % 100, bits = 1 + rand() % 31,
                      cols =
                          trial % 4
                              ? 1 + (int32_t)(((uint32_t)rand() * 2654435761u) >> 1 >> (31 - bits))
                              : INT32_MAX;
        int64_t count = 0;
        const int64_t tried = rand() % MOST;
        for (int64_t e = 0; e < tried; e++)
            place[e][0] = rand() % rows, place[e][1] = (int32_t)((uint32_t)rand() % (uint32_t)cols);
        qsort(place, (size_t)tried, sizeof *place, by_place);
        for (int64_t e = 0; e < tried; e++) { /* each place once */
            if (count && !memcmp(place[e], place[count - 1], sizeof *place)) continue;
            memcpy(place[count++], place[e], sizeof *place);
        }
        for (int64_t e = 0; e < count; e++)
            row[e] = place[e][0], col[e] = place[e][1], val[e] = (double)e;
        for (int64_t e = count - 1; e > 0; e--) { /* in any order */
            const int64_t k = rand() % (e + 1);
            const int32_t r = row[e], c = col[e];
            const double v = val[e];
            row[e] = row[k], col[e] = col[k], val[e] = val[k];
            row[k] = r, col[k] = c, val[k] = v;
        }
        kry_mtx m = { .rows = rows,
                      .cols = cols,
                      .nnz = count,
                      .row = row,
                      .col = col,
                      .val = val },
                *back = NULL;
        assert_int_equal(kry_petsc_write(path, &m), KRY_OK);
        assert_int_equal(kry_mtx_read(path, &back), KRY_OK);
        assert_int_equal(back->nnz, count);
        assert_int_equal(back->cols, cols);
        for (int64_t e = 0; e < count; e++) {
            assert_int_equal(back->row[e], place[e][0]);
            assert_int_equal(back->col[e], place[e][1]);
            assert_true(back->val[e] == (double)e);
        }
        kry_mtx_release(&back);
        if (cols < INT32_MAX) continue;
        kry_op *A = NULL;
        assert_int_equal(kry_mtx_matrix(device, best_type(), &m, NULL, &A), KRY_OK);
        kry_op_release(&A);
    }
    unlink(path);
    assert_in_range(peak() - before, 0, 500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mtx_matrix__each_symmetry),
        cmocka_unit_test(mtx_matrix__array_goes_down_its_columns),
        cmocka_unit_test(mtx_matrix__too_large_for_single_names_entry),
        cmocka_unit_test(mtx__of_the_caller),
        cmocka_unit_test(mtx_vec__array_and_coordinates),
        cmocka_unit_test(entries__sorted_whatever_columns_are_claimed),
        cmocka_unit_test(mtx_write_vec__reads_back_to_the_bit),
    };
    return cmocka_run_group_tests_name("mtx_device", tests, open_device, close_device);
}
