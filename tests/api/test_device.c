/* test_device.c - choosing, wrapping and shrinking devices. */
#include "unit.h"

static void device_open__default_and_by_kind_and_by_name(void **state)
{
    (void)state;
    kry_device *dev, *again;
    char number[16], part[8];
    OK(kry_device_open(NULL, &dev));
    const kry_device_info *info = kry_device_get_info(dev);
    assert_true(info->name[0] && info->platform[0] && info->driver[0] && info->opencl >= 100);
    assert_true(info->compute_units >= 1 && info->max_group >= 1 && info->local_bytes > 0);
    const char *kind = info->gpu ? "gpu" : "cpu";
    OK(kry_device_open(kind, &again));
    assert_string_equal(kry_device_get_info(again)->name, info->name);
    kry_device_release(&again);
    snprintf(number, sizeof number, "%s:0", kind);
    OK(kry_device_open(number, &again));
    assert_string_equal(kry_device_get_info(again)->name, info->name);
    kry_device_release(&again);
    snprintf(part, sizeof part, "%.5s", info->platform); /* in any case */
    for (char *c = part; *c; c++) *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    OK(kry_device_open(part, &again));
    kry_device_release(&again);
    kry_device_release(&dev);
    assert_null(dev);
    kry_device_release(&dev); /* NULL is allowed */
}

static void device_open__nothing_matches(void **state)
{
    (void)state;
    const char *const bad[] = { "no such device", "gpu:77", "cpu:99", "gpu:x", "gpu:-1" };
    for (size_t i = 0; i < COUNT(bad); i++) {
        kry_device *dev = (kry_device *)&i;
        assert_int_equal(kry_device_open(bad[i], &dev), KRY_ERR_ARGUMENT);
        assert_null(dev);
        assert_non_null(strstr(kry_last_error(), bad[i]));
        assert_non_null(strstr(kry_last_error(), ":0")); /* and what there is */
    }
}

static void device_open__environment_chooses(void **state)
{
    (void)state;
    kry_device *dev;
    char *kept = strdup(getenv("KRY_DEVICE"));
    assert_int_equal(setenv("KRY_DEVICE", "nothing like this", 1), 0);
    assert_int_equal(kry_device_open(NULL, &dev), KRY_ERR_ARGUMENT);
    assert_non_null(strstr(kry_last_error(), "nothing like this"));
    setenv("KRY_DEVICE", kept, 1);
    free(kept);
}

/* Without a name: the first GPU, else the host if it has kernels, else the first device. */
static void device_open__takes_the_best(void **state)
{
    (void)state;
    kry_device *best, *first, *host = NULL;
    char *kept = strdup(getenv("KRY_DEVICE"));

    OK(kry_device_open("opencl", &first));
    if (has_host()) OK(kry_device_open("host", &host));
    unsetenv("KRY_DEVICE");
    OK(kry_device_open(NULL, &best));
    setenv("KRY_DEVICE", kept, 1);
    const kry_device *expected = kry_device_get_info(first)->gpu || !host ? first : host;
    assert_string_equal(kry_device_get_info(best)->name, kry_device_get_info(expected)->name);
    kry_device_release(&best);
    kry_device_release(&first);
    kry_device_release(&host);
    free(kept);
}

static void device_open__profile_takes_away(void **state)
{
    (void)state;
    kry_device *dev;
    kry_vec *v = NULL;
    const char *old = getenv("KRY_PROFILE");
    char *kept = old ? strdup(old) : NULL;
    setenv("KRY_PROFILE", "no-fp64,no-images gpu-kernels local=16384 group=64", 1);
    OK(kry_device_open(NULL, &dev));
    const kry_device_info *info = kry_device_get_info(dev);
    assert_false(info->fp64 || info->images || info->image3d_writes || info->cpu_kernels);
    assert_true(info->local_bytes <= 16384 && info->max_group <= 64);
    assert_int_equal(kry_vec_create(dev, KRY_F64, 10, 1, &v), KRY_ERR_UNSUPPORTED);
    assert_null(v);
    assert_non_null(strstr(kry_last_error(), "double"));
    OK(kry_vec_create(dev, KRY_F32, 10, 1, &v));
    kry_vec_release(&v);
    kry_device_release(&dev);
    setenv("KRY_PROFILE", "no-fp46", 1);
    assert_int_equal(kry_device_open(NULL, &dev), KRY_ERR_ARGUMENT);
    assert_non_null(strstr(kry_last_error(), "no-fp46"));
    if (kept)
        setenv("KRY_PROFILE", kept, 1);
    else
        unsetenv("KRY_PROFILE");
    free(kept);
}

static void device_list__has_what_opens(void **state)
{
    (void)state;
    kry_device_info *info;
    int count;
    kry_device *dev;
    OK(kry_device_list(&info, &count));
    assert_true(count >= 1);
    OK(kry_device_open(NULL, &dev));
    assert_string_equal(info[0].name, kry_device_get_info(dev)->name);
    kry_device_release(&dev);
    free(info);
}

/* By the names that these drivers give, whole: "7." is not "17." or "0.7.". */
static void device_info__says_what_a_driver_does_wrong(void **state)
{
    (void)state;
    static const char pocl[] = "Portable Computing Language";
    kry_device *dev;

    assert_non_null(strstr(driver_faults(pocl, "7.1+debian"), "CLBlast"));
    assert_non_null(strstr(driver_faults("rusticl", "26.0.3"), "take PoCL"));
    assert_null(driver_faults(pocl, "3.1+debian"));
    assert_null(driver_faults(pocl, "17.1"));
    assert_null(driver_faults("Clover", "26.0.3"));
    OK(kry_device_open(NULL, &dev));
    const kry_device_info *info = kry_device_get_info(dev);
    assert_ptr_equal(info->driver_faults, driver_faults(info->platform, info->driver));
    kry_device_release(&dev);
}

static void device_wrap__callers_context_and_queue(void **state)
{
    (void)state;
    kry_device *own, *dev = NULL;
    cl_int err;
    cl_uint refs;
    OK(kry_device_open(NULL, &own));
    cl_context context = kry_device_context(own);
    cl_device_id id = kry_device_id(own);
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, &err);
    assert_int_equal(err, CL_SUCCESS);
    OK(kry_device_wrap(context, id, queue, &dev));
    assert_ptr_equal(kry_device_queue(dev), queue);
    kry_device_release(&dev);
    clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof refs, &refs, NULL);
    assert_int_equal(refs, 1); /* the caller's reference is the only one left */
    assert_int_equal(kry_device_wrap(context, NULL, queue, &dev), KRY_ERR_ARGUMENT);
    clReleaseCommandQueue(queue);
    queue = clCreateCommandQueue(context, id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &err);
    if (err == CL_SUCCESS) {
        assert_int_equal(kry_device_wrap(context, id, queue, &dev), KRY_ERR_ARGUMENT);
        assert_non_null(strstr(kry_last_error(), "out of order"));
        assert_null(dev);
        clReleaseCommandQueue(queue);
    }
    cl_context other = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
    queue = clCreateCommandQueue(other, id, 0, &err);
    assert_int_equal(kry_device_wrap(context, id, queue, &dev), KRY_ERR_ARGUMENT);
    assert_non_null(strstr(kry_last_error(), "another context"));
    clReleaseCommandQueue(queue);
    clReleaseContext(other);
    kry_device_release(&own);
}

static void buffer__larger_than_the_device_is_refused(void **state)
{
    (void)state;
    kry_device *dev;
    kry_vec *v;
    OK(kry_device_open(NULL, &dev));
    int64_t n = kry_device_get_info(dev)->max_alloc_bytes / 4 + 1;
    assert_int_equal(kry_vec_create(dev, KRY_F32, n, 1, &v), KRY_ERR_MEMORY);
    assert_null(v);
    assert_non_null(strstr(kry_last_error(), "GB"));
    assert_int_equal(device_references(dev), 1);
    OK(kry_vec_create(dev, KRY_F32, 1000, 1, &v)); /* and the device goes on */
    kry_vec_release(&v);
    kry_device_release(&dev);
}

/* In a child of fork() a device cannot be used any more, but nothing waits for ever; the host is as it was. */
static void use_in_child(void *user)
{
    float numbers[10];
    kry_vec *v = user, *w = NULL;
    kry_device *dev = kry_vec_device(v), *other = NULL;
    kry_device_info *info = NULL;
    int count;
    if (!is_host(dev)) {
        REFUSED_IN_CHILD(kry_vec_fill(v, 2));
        REFUSED_IN_CHILD(kry_vec_read(v, numbers));
        REFUSED_IN_CHILD(kry_vec_create(dev, KRY_F32, 10, 1, &w));
        REFUSED_IN_CHILD(kry_device_finish(dev));
        REFUSED_IN_CHILD(kry_device_open("cpu", &other));
        REFUSED_IN_CHILD(kry_device_list(&info, &count));
    }
    kry_vec_release(&v);
    kry_device_release(&dev);
    if (!has_host()) return;
    if (kry_device_open("host", &other) || kry_vec_create(other, KRY_F32, 10, 1, &w) ||
        kry_vec_fill(w, 3) || kry_vec_read(w, numbers) || numbers[9] != 3)
        _exit(1);
    kry_vec_release(&w);
    kry_device_release(&other);
}

static void fork__with_a_device_open(void **state)
{
    (void)state;
    float numbers[10];
    kry_device *dev;
    kry_vec *v;
    OK(kry_device_open(NULL, &dev));
    OK(kry_vec_create(dev, KRY_F32, 10, 1, &v));
    OK(kry_vec_fill(v, 1));
    assert_int_equal(exit_of_child(use_in_child, v), 0);
    OK(kry_vec_fill(v, 4)); /* the parent goes on */
    OK(kry_vec_read(v, numbers));
    assert_true(numbers[9] == 4);
    kry_vec_release(&v);
    kry_device_release(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_open__default_and_by_kind_and_by_name),
        cmocka_unit_test(device_open__nothing_matches),
        cmocka_unit_test(device_open__environment_chooses),
        cmocka_unit_test(device_open__takes_the_best),
        cmocka_unit_test(device_open__profile_takes_away),
        cmocka_unit_test(device_list__has_what_opens),
        cmocka_unit_test(device_info__says_what_a_driver_does_wrong),
        cmocka_unit_test(device_wrap__callers_context_and_queue),
        cmocka_unit_test(buffer__larger_than_the_device_is_refused),
        cmocka_unit_test(fork__with_a_device_open),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
