/*
 * test_tuning.c - what is measured on a device comes back in another device object; files that
 * are damaged, foreign or too large do no harm; the choice of formats uses what is kept.
 */
#include "patterns.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/kry-tuning-XXXXXX", path[640];

/* The suite's folder is the first thing of its own; the device is opened after it is named. */
static int own_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || setenv("KRY_CACHE_DIR", folder, 1)) return 1;
    kry_tuning_path(device(), path, sizeof path);
    return strncmp(path, folder, strlen(folder)) != 0;
}

static void assert_kept(kry_device *dev, const char *name, const char *want)
{
    char value[256];
    assert_true(kry_tuning_get(dev, name, value, sizeof value));
    assert_string_equal(value, want);
}

static kry_device *another(void)
{
    kry_device *dev = NULL;
    OK(kry_device_open(NULL, &dev));
    return dev;
}

static void put_file(const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && !fclose(f));
}

static void tuning__set_get_replace(void **state)
{
    (void)state;
    char value[8];
    kry_device *dev = another();
    assert_false(kry_tuning_get(dev, "nothing", value, sizeof value));
    kry_tuning_set(dev, "first", "1 and more");
    kry_tuning_set(dev, "second", "2");
    kry_tuning_set(dev, "first", "3 words now");
    assert_kept(dev, "first", "3 words now");
    assert_false(kry_tuning_get(dev, "first", value, sizeof value)); /* too long for the room */
    assert_false(kry_tuning_get(dev, "fir", value, sizeof value));
    kry_device *reader = another();
    assert_kept(reader, "first", "3 words now");
    assert_kept(reader, "second", "2");
    kry_tuning_set(reader, "third", "4"); /* the writer adds to what another one wrote */
    kry_tuning_set(dev, "fourth", "5");
    assert_kept(dev, "third", "4");
    kry_device_release(&reader);
    kry_device_release(&dev);
}

static void tuning__damaged_files(void **state)
{
    (void)state;
    static const char *const text[] = { "", "\n\n\n", "no newline at the end", "shape\nshape \n",
                                        "shape group=3 per-unit=0 chunks=-5\n",
                                        "shape group=999999999999 per-unit=16 chunks=128\n",
                                        "\001\002\377 \200\n" };
    for (size_t i = 0; i < COUNT(text); i++) {
        put_file(text[i]);
        kry_device *dev = another();
        kry_shape usual = kry_shape_default(&dev->info);
        assert_memory_equal(&dev->shape, &usual, sizeof usual);
        kry_tuning_set(dev, "good", "yes");
        assert_kept(dev, "good", "yes");
        kry_device_release(&dev);
    }
}

static void tuning__shape_is_loaded(void **state)
{
    (void)state;
    kry_device *dev = another();
    dev->shape.chunks = 37;
    dev->shape.per_unit = 9;
    kry_shape_keep(dev);
    kry_device *reader = another();
    assert_memory_equal(&reader->shape, &dev->shape, sizeof dev->shape);
    kry_device_release(&reader);
    kry_device_release(&dev);
    assert_int_equal(remove(path), 0);
}

/* Beyond the largest size old decisions go, but not what kry tune found. */
static void tuning__does_not_grow_for_ever(void **state)
{
    (void)state;
    enum { LINES = 9000 };
    char name[64];
    struct stat info;
    kry_device *dev = another();
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("shape group=1 per-unit=16 chunks=64\n", f);
    for (int i = 0; i < LINES; i++) fprintf(f, "format/%016x csr 0.001 s and so on\n", (unsigned)i);
    assert_int_equal(fclose(f), 0);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "format/new%d", i);
        kry_tuning_set(dev, name, "sell");
    }
    assert_int_equal(stat(path, &info), 0);
    assert_in_range(info.st_size, 1000, 256 * 1024);
    assert_kept(dev, "shape", "group=1 per-unit=16 chunks=64");
    assert_kept(dev, "format/new2", "sell");
    kry_device_release(&dev);
    assert_int_equal(remove(path), 0);
}

/* Predicted at first; measured on request; kept then, by the structure alone. */
static void tuning__choice_is_kept(void **state)
{
    (void)state;
    static const char *const want[] = { "predicted", "measured", "kept" };
    matrix A = matrix_create(KRY_F32, 500, 500, three);
    void *val = in_type(KRY_F32, A.val, A.nnz);
    for (size_t i = 0; i < COUNT(want); i++) {
        kry_op *op = NULL;
        kry_op_info info;
        OK(kry_csr_create(device(), KRY_F32, A.rows, A.cols, A.row_ptr, A.col, val,
                          KRY_MATRIX(.measure_seconds = i == 1 ? 0.05 : 0), &op));
        kry_op_describe(op, &info);
        assert_string_equal(info.chosen, want[i]);
        kry_op_release(&op);
    }
    free(val);
    matrix_release(&A);
}

static int drop_folder(void **state)
{
    int failed = close_device(state);
    remove(path);
    return failed; /* compiled kernels stay behind in the temporary folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuning__set_get_replace),
        cmocka_unit_test(tuning__damaged_files),
        cmocka_unit_test(tuning__shape_is_loaded),
        cmocka_unit_test(tuning__does_not_grow_for_ever),
        cmocka_unit_test(tuning__choice_is_kept),
    };
    return cmocka_run_group_tests(tests, own_folder, drop_folder);
}
