/*
 * test_barrier.c - work-groups that wait for each other: what the probe finds, what it refuses,
 * and launches that are aborted. The kernels and the cache are in a folder of the test's own.
 */
#include "base/hooks.h"
#include "device/barrier.h"
#include "testing.h"
#include <dirent.h>
#include <unistd.h>

/* Each group hands its numbers to the one before it, again and again. */
static const char ring_source[] =
    "#include \"common/barrier.clh\"\n"
    "kernel void ring(RESIDENT_PARAMS, int steps, volatile global int *a, global int *out)\n"
    "{\n"
    "    RESIDENT_LOCALS\n"
    "    resident me;\n"
    "    resident_begin(&me, RESIDENT_PASS);\n"
    "    int l = get_local_id(0), size = get_local_size(0), sum = 0, k = 0;\n"
    "    do {\n"
    "        if (me.groups) a[((k & 1) * me.groups + me.group) * size + l] = k + l;\n"
    "        resident_wait(&me);\n"
    "        if (me.groups) sum += a[((k & 1) * me.groups + (me.group + 1) % me.groups) * size + "
    "l];\n"
    "    } while (++k < steps && me.groups && !me.aborted);\n"
    "    if (me.groups) out[me.group * size + l] = sum;\n"
    "    resident_end(&me);\n"
    "}\n";

enum { SIZE = 16, STEPS = 20, ROOM = 64 * 1024 };
static char folder[] = "/tmp/kry-barrier-XXXXXX", *old_path, *old_cache;
static cl_mem numbers, out;
static cl_int steps = STEPS;

static void own_file(char *path, size_t size, const char *file)
{
    snprintf(path, size, "%s/%s", folder, file);
}

static int own_kernels(void **state)
{
    (void)state;
    char from[1024], to[1024];
    if (!getenv("KRY_CL_PATH") || !mkdtemp(folder)) return -1;
    old_path = strdup(getenv("KRY_CL_PATH"));
    if (getenv("KRY_CACHE_DIR")) old_cache = strdup(getenv("KRY_CACHE_DIR"));
    snprintf(from, sizeof from, "%s/common", old_path);
    own_file(to, sizeof to, "common");
    if (symlink(from, to)) return -1;
    own_file(to, sizeof to, "ring.cl");
    FILE *f = fopen(to, "w");
    if (!f || fputs(ring_source, f) < 0 || fclose(f)) return -1;
    setenv("KRY_CL_PATH", folder, 1);
    setenv("KRY_CACHE_DIR", folder, 1);
    if (kryi_buffer_create(device(), ROOM, &numbers) < 0) return -1;
    return kryi_buffer_create(device(), ROOM, &out) < 0 ? -1 : 0;
}

static int drop_kernels(void **state)
{
    struct dirent *entry;
    char path[1024];
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        own_file(path, sizeof path, entry->d_name);
        unlink(path);
    }
    if (dir) closedir(dir);
    rmdir(folder);
    kryi_buffer_release(device(), &numbers);
    kryi_buffer_release(device(), &out);
    setenv("KRY_CL_PATH", old_path, 1);
    if (old_cache)
        setenv("KRY_CACHE_DIR", old_cache, 1);
    else
        unsetenv("KRY_CACHE_DIR");
    free(old_path);
    free(old_cache);
    return close_device(state);
}

/* Nothing of an earlier probe: `other` makes it another kernel. */
static kry_status barrier_of(int other, kryi_barrier **b)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel;
    char defines[32];
    kry_arg args[] = { { 0 }, ARG(steps), ARG(numbers), ARG(out) };

    *b = NULL;
    snprintf(defines, sizeof defines, "-DGROUP=%d -DOTHER=%d", SIZE, other);
    TRY(kryi_kernel_get(device(), "ring", KRY_F32, defines, "ring", &kernel));
    TRY(kryi_barrier_create(device(), kernel, SIZE, args, COUNT(args), b));
done:
    return st;
}

static kry_status ring(kryi_barrier *b, int groups, bool *finished)
{
    kry_status st = KRY_OK;
    kry_arg args[] = { { 0 }, ARG(steps), ARG(numbers), ARG(out) };
    TRY(kryi_barrier_launch(b, groups, args, COUNT(args)));
    TRY(kryi_barrier_finished(b, finished));
done:
    return st;
}

static void barrier_create__counts_what_is_resident(void **state)
{
    (void)state;
    kryi_barrier *b, *again;
    const kry_device_info *info = kry_device_get_info(device());
    OK(barrier_of(0, &b));
    int found = kryi_barrier_groups(b);
    print_message("# %d groups of %d, %d compute units\n", found, SIZE, info->compute_units);
    assert_true(found >= 0 && found <= KRY_BARRIER_MOST);
    if (!info->gpu) assert_true(found <= info->compute_units);
    OK(barrier_of(0, &again));
    if (found) assert_int_equal(kryi_barrier_groups(again), found);
    kryi_barrier_release(&again);
    kryi_barrier_release(&b);
    assert_null(b);
    kryi_barrier_release(&b);
}

static void barrier_create__stale_messages_refuse(void **state)
{
    (void)state;
    kryi_barrier *b;
    count_as_stale(1);
    kry_status st = barrier_of(1, &b);
    count_as_stale(0);
    OK(st);
    assert_int_equal(kryi_barrier_groups(b), 0);
    kry_arg args[] = { { 0 }, ARG(steps), ARG(numbers), ARG(out) };
    REFUSES(kryi_barrier_launch(b, 1, args, COUNT(args)), KRY_ERR_UNSUPPORTED, "0 can");
    kryi_barrier_release(&b);
}

static void barrier_create__group_too_large(void **state)
{
    (void)state;
    kryi_kernel *kernel;
    kryi_barrier *b = (kryi_barrier *)(uintptr_t)16;
    kry_arg args[] = { { 0 }, ARG(steps), ARG(numbers), ARG(out) };
    OK(kryi_kernel_get(device(), "ring", KRY_F32, "", "ring", &kernel));
    REFUSES(kryi_barrier_create(device(), kernel, 1 << 20, args, COUNT(args), &b),
            KRY_ERR_UNSUPPORTED, "ring: groups of 1048576");
    assert_null(b);
}

static void barrier_create__no_memory(void **state)
{
    (void)state;
    kryi_barrier *b;
    OK(barrier_of(0, &b));
    kryi_barrier_release(&b);
    for (int k = 0; k < 2; k++) {
        kry_status st = FAILING(k, barrier_of(0, &b));
        assert_int_equal(st, KRY_ERR_MEMORY);
        assert_null(b);
    }
}

/* Work-item l of each group sums k + l over the steps. */
static void barrier_launch__messages_arrive(void **state)
{
    (void)state;
    kryi_barrier *b;
    bool finished;
    cl_int sums[2 * SIZE];
    OK(barrier_of(0, &b));
    int groups = kryi_barrier_groups(b) > 2 ? 2 : kryi_barrier_groups(b);
    if (!groups) {
        kryi_barrier_release(&b);
        SKIP("the device is too busy");
    }
    for (int run = 0; run < 5; run++) {
        OK(ring(b, groups, &finished));
        if (!finished) break; /* a busy machine; aborts have a test of their own */
        assert_int_equal(clEnqueueReadBuffer(device()->queue, out, CL_TRUE, 0,
                                             (size_t)groups * SIZE * sizeof *sums, sums, 0, NULL,
                                             NULL),
                         CL_SUCCESS);
        for (int i = 0; i < groups * SIZE; i++)
            assert_int_equal(sums[i], STEPS * (STEPS - 1) / 2 + STEPS * (i % SIZE));
    }
    kryi_barrier_release(&b);
}

static void barrier_finished__aborted_launch_is_the_last(void **state)
{
    (void)state;
    kryi_barrier *b;
    bool finished = true;
    OK(barrier_of(0, &b));
    if (kryi_barrier_groups(b)) {
        abort_launch(0);
        OK(ring(b, 1, &finished));
        assert_int_equal(kryi_test_abort_at, -1);
        assert_false(finished);
        assert_int_equal(kryi_barrier_groups(b), 0);
        REFUSES(ring(b, 1, &finished), KRY_ERR_UNSUPPORTED, "0 can");
    }
    kryi_barrier_release(&b);
}

/* A file that says more groups run at once than do, as of another device: the launch comes to its
 * end all the same, and says so. */
static void lie(const char *name, const char *value, void *user)
{
    (void)value;
    if (!strncmp(name, "barrier/ring/", 13)) snprintf(user, 128, "%s", name);
}

static void barrier_launch__a_tuning_file_that_lies(void **state)
{
    (void)state;
    kryi_barrier *b;
    bool finished = true;
    char name[128] = "";
    const int groups = ROOM / (2 * SIZE * (int)sizeof(cl_int)); /* as many as there is room for */

    OK(barrier_of(2, &b));
    kryi_barrier_release(&b);
    kry_tuning_each(device(), lie, name); /* the last one that was kept */
    if (!*name || device()->info.gpu) SKIP("nothing was kept, or a GPU that may have room for all");
    tune(device(), name, "groups=1024");
    OK(barrier_of(2, &b));
    assert_int_equal(kryi_barrier_groups(b), 1024);
    double start = seconds_now();
    OK(ring(b, groups, &finished));
    assert_false(finished);
    assert_int_equal(kryi_barrier_groups(b), 0);
    assert_true(seconds_now() - start < 300);
    kryi_barrier_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_create__counts_what_is_resident),
        cmocka_unit_test(barrier_create__stale_messages_refuse),
        cmocka_unit_test(barrier_create__group_too_large),
        cmocka_unit_test(barrier_create__no_memory),
        cmocka_unit_test(barrier_launch__messages_arrive),
        cmocka_unit_test(barrier_finished__aborted_launch_is_the_last),
        cmocka_unit_test(barrier_launch__a_tuning_file_that_lies),
    };
    alarm(800); /* what hangs is killed */
    return cmocka_run_group_tests(tests, own_kernels, drop_kernels);
}
