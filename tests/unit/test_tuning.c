/*
 * test_tuning.c - what is measured on a device comes back in another device object; files that
 * are damaged, foreign or too large do no harm; the choice of formats uses what is kept.
 */
#include "device/device.h"
#include "device/launch.h"
#include "patterns.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/kry-tuning-XXXXXX", path[640];

/* The suite's folder is the first thing of its own; the device is opened after it is named. */
static int own_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || setenv("KRY_CACHE_DIR", folder, 1)) return 1;
    umask(022); /* files that others could write are not read */
    kry_tuning_path(device(), path, sizeof path);
    return strncmp(path, folder, strlen(folder)) != 0;
}

static void assert_kept(kry_device *dev, const char *name, const char *want)
{
    char value[256];
    assert_true(kryi_tuning_get(dev, name, value, sizeof value));
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
    assert_false(kryi_tuning_get(dev, "nothing", value, sizeof value));
    tune(dev, "first", "1 and more");
    tune(dev, "second", "2");
    tune(dev, "first", "3 words now");
    assert_kept(dev, "first", "3 words now");
    assert_false(kryi_tuning_get(dev, "first", value, sizeof value)); /* too long for the room */
    assert_false(kryi_tuning_get(dev, "fir", value, sizeof value));
    kry_device *reader = another();
    assert_kept(reader, "first", "3 words now");
    assert_kept(reader, "second", "2");
    tune(reader, "third", "4"); /* the writer adds to what another one wrote */
    tune(dev, "fourth", "5");
    assert_kept(dev, "third", "4");
    kry_device_release(&reader);
    kry_device_release(&dev);
}

static void tuning__damaged_files(void **state)
{
    (void)state;
    static const char *const text[] = { "",
                                        "\n\n\n",
                                        "no newline at the end",
                                        "shape\nshape \n",
                                        "shape group=3 per-unit=0 chunks=-5\n",
                                        "shape group=999999999999 per-unit=16 chunks=128\n",
                                        "good no\ngood nor now\ngood\n",
                                        "\001\002\377 \200\n" };
    for (size_t i = 0; i < COUNT(text); i++) {
        put_file(text[i]);
        kry_device *dev = another();
        kry_launch_shape usual = kryi_shape_default(dev);
        assert_memory_equal(&dev->shape, &usual, sizeof usual);
        tune(dev, "good", "yes");
        assert_kept(dev, "good", "yes");
        kry_device_release(&dev);
    }
}

/* Numbers of zero bytes, and half a file of nothing else. */
static void tuning__zeros_in_the_file(void **state)
{
    (void)state;
    static const char zeros[5000];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("first one\n", f);
    fwrite(zeros, 1, sizeof zeros, f);
    assert_true(fputs("\nsecond two\n", f) >= 0 && !fclose(f));
    kry_device *dev = another();
    assert_kept(dev, "first", "one");
    tune(dev, "third", "three");
    assert_kept(dev, "third", "three");
    kry_device_release(&dev);
    assert_int_equal(remove(path), 0);
}

/* In place of the file: nothing is read of it, nobody waits for it, and values stay in memory. */
static void tuning__foreign_things_in_its_place(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        (void)remove(path);
        assert_int_equal(i == 0   ? mkfifo(path, 0600)
                         : i == 1 ? mkdir(path, 0700)
                                  : symlink(i == 2 ? "/dev/zero" : "/nowhere/at/all", path),
                         0);
        kry_device *dev = another();
        tune(dev, "good", "yes");
        assert_kept(dev, "good", "yes");
        kry_device_release(&dev);
    }
    assert_int_equal(remove(path), 0);
}

static void tuning__place_that_cannot_be_written(void **state)
{
    (void)state;
    static const char *const places[] = { "/proc/nowhere", "/dev/null/kry", "/dev/full", "" };
    for (size_t i = 0; i < COUNT(places); i++) {
        setenv("KRY_CACHE_DIR", places[i], 1);
        kry_device *dev = another();
        tune(dev, "good", "yes");
        assert_kept(dev, "good", "yes");
        kry_device_release(&dev);
    }
    setenv("KRY_CACHE_DIR", folder, 1);
}

/* No file grows beyond 100 bytes, as on a disk that is full: what was there before is still whole.
 */
static void tuning__full_disk(void **state)
{
    (void)state;
    struct rlimit old, little;
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    char value[200];
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = 0;
    put_file("first one\n");
    kry_device *dev = another();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    little = old;
    little.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    tune(dev, "second", value);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, was);
    assert_kept(dev, "second", value);
    kry_device *reader = another();
    assert_kept(reader, "first", "one");
    assert_false(kryi_tuning_get(reader, "second", value, sizeof value));
    kry_device_release(&reader);
    kry_device_release(&dev);
    assert_int_equal(remove(path), 0);
}

/* Four processes write at once: one may undo what another has just added, but the file is whole at
 * any time, and what is written last stays. */
static void tuning__many_processes_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 4, TIMES = 100 };
    pid_t child[PROCESSES];
    kry_device *dev = another();
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i]) continue;
        char name[32], value[200]; /* no OpenCL here: a driver does not survive a fork */
        bool good = true;
        for (int k = 0; k < TIMES && good; k++) {
            snprintf(name, sizeof name, "process/%d", i);
            snprintf(value, sizeof value, "%0*d", 10 + k % 100, k);
            tune(dev, name, value);
            char *text = NULL;
            size_t room = 0;
            FILE *f = fopen(path, "rb");
            while (f && getline(&text, &room, f) > 0)
                good =
                    good && (*text == '#' || !strncmp(text, "process/", 8)) && strchr(text, '\n');
            good = good && f;
            if (f) fclose(f);
            free(text);
        }
        _exit(good ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        waitpid(child[i], &status, 0);
        assert_int_equal(status, 0);
    }
    tune(dev, "last", "one");
    kry_device *reader = another();
    assert_kept(reader, "last", "one");
    kry_device_release(&reader);
    kry_device_release(&dev);
    assert_int_equal(remove(path), 0);
}

static void tuning__shape_is_loaded(void **state)
{
    (void)state;
    kry_device *dev = another();
    dev->shape.chunks = 37;
    dev->shape.per_unit = 9;
    kry_tuning_keep(dev, 0);
    kry_device *reader = another();
    assert_memory_equal(&reader->shape, &dev->shape, sizeof dev->shape);
    kry_device_release(&reader);
    kry_device_release(&dev);
    assert_int_equal(remove(path), 0);
}

/* How kernels run is kept, and KRY_PROFILE has the last word. */
static void tuning__kind_of_kernels(void **state)
{
    (void)state;
    NOT_ON_HOST("kernels of two kinds");
    kry_device *dev = another(), *next;
    const bool own = kry_device_get_info(dev)->cpu_kernels;

    kry_tuning_keep_kernels(NULL, true);
    for (int i = 0; i < 2; i++) {
        kry_tuning_keep_kernels(dev, i ? own : !own);
        next = another();
        assert_true(kry_device_get_info(next)->cpu_kernels == (i ? own : !own));
        assert_true(kry_device_launch_shape(next).group == 1 ? next->info.cpu_kernels
                                                             : !next->info.cpu_kernels);
        kry_device_release(&next);
        assert_int_equal(setenv("KRY_PROFILE", own ? "cpu-kernels" : "gpu-kernels", 1), 0);
        next = another();
        assert_true(kry_device_get_info(next)->cpu_kernels == own);
        kry_device_release(&next);
        unsetenv("KRY_PROFILE");
    }
    tune(dev, "kernels", "quantum");
    next = another();
    assert_true(kry_device_get_info(next)->cpu_kernels == own);
    kry_device_release(&next);
    kry_tuning_keep_kernels(dev, own);
    kry_device_release(&dev);
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
        tune(dev, name, "sell");
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
        cmocka_unit_test(tuning__zeros_in_the_file),
        cmocka_unit_test(tuning__foreign_things_in_its_place),
        cmocka_unit_test(tuning__place_that_cannot_be_written),
        cmocka_unit_test(tuning__full_disk),
        cmocka_unit_test(tuning__many_processes_at_once),
        cmocka_unit_test(tuning__shape_is_loaded),
        cmocka_unit_test(tuning__kind_of_kernels),
        cmocka_unit_test(tuning__does_not_grow_for_ever),
        cmocka_unit_test(tuning__choice_is_kept),
    };
    alarm(800); /* what hangs is killed */
    return cmocka_run_group_tests(tests, own_folder, drop_folder);
}
