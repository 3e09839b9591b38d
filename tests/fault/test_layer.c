/*
 * test_layer.c - devices that are made up (tests/layer): what they claim, that they hold a program
 * to it, and that kry keeps to it and solves.
 */
#include "dense/lu.h"
#include "layered.h"

/* What a device is known for. */
static const struct expected {
    const char *name;
    int opencl;
    bool fp64, images;
    size_t group;
    int64_t local;
} devices[] = {
    { "tesla-c1060", 110, true, true, 512, 16384 },
    { "tesla-c1060,no-fp64", 110, false, true, 512, 16384 },
    { "fermi-c2070", 110, true, true, 1024, 49152 },
    { "kepler-gtx660", 120, true, true, 1024, 49152 },
    { "integrated", 120, false, true, 256, 65536 },
    { "no-images", 120, true, false, 256, 32768 },
    { "tiny-alloc", 120, true, true, 64, 16384 },
    { "spilling", 300, true, false, 64, 65536 }, /* what its kernels take */
    { "choosy", 300, false, false, 256, 65536 },
};

/* One of them, opened; and plain handles for calls that kry would not make. */
typedef struct opened {
    const struct expected *is;
    kry_device *dev;
    cl_context context;
    cl_device_id id;
    cl_command_queue queue;
} opened;

static opened open_device(const struct expected *is)
{
    opened o = { .is = is };
    assert_true(layer()->device(is->name));
    OK(kry_device_open("gpu", &o.dev));
    o.context = kry_device_context(o.dev);
    o.id = kry_device_id(o.dev);
    o.queue = kry_device_queue(o.dev);
    return o;
}

static void close_opened(opened *o)
{
    kry_device_release(&o->dev);
    assert_true(layer()->device(""));
}

static const opened *find(opened *o, const char *name)
{
    size_t i = 0;
    while (strcmp(devices[i].name, name)) i++;
    *o = open_device(&devices[i]);
    return o;
}

static void device__is_what_it_claims(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        opened o = open_device(&devices[i]);
        const kry_device_info *info = kry_device_get_info(o.dev);
        assert_true(info->gpu && !info->cpu_kernels);
        assert_int_equal(info->opencl, devices[i].opencl);
        assert_int_equal(info->fp64, devices[i].fp64);
        assert_int_equal(info->images, devices[i].images);
        assert_int_equal(info->max_group, devices[i].group);
        assert_int_equal(info->local_bytes, devices[i].local);
        assert_int_equal(info->lanes, 32);
        close_opened(&o);
    }
    assert_false(layer()->device("tesla"));
    assert_false(layer()->device("tesla-c1060,no-images"));
    assert_non_null(layer()->device_name(0));
}

static void device__no_cpu_is_left(void **state)
{
    (void)state;
    kry_device *dev = NULL;
    assert_true(layer()->device("fermi-c2070"));
    REFUSES(kry_device_open("cpu", &dev), KRY_ERR_ARGUMENT, "gpu:0 'Tesla C2070'");
    assert_true(layer()->device(""));
}

/* A rule that is broken is counted, and reported on stderr. */
static long breaks(long before) { return layer()->broken() - before; }

static void entry_points__newer_than_the_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        opened o = open_device(&devices[i]);
        long before = layer()->broken();
        cl_event event = NULL;
        cl_int err = clEnqueueMarkerWithWaitList(o.queue, 0, NULL, &event);
        assert_int_equal(err, o.is->opencl < 120 ? CL_INVALID_OPERATION : CL_SUCCESS);
        assert_int_equal(breaks(before), o.is->opencl < 120);
        if (event) clReleaseEvent(event);
        close_opened(&o);
    }
}

/* A program that squares one number, with a group of `size` and an array of `local` bytes. */
static cl_int run_square(const opened *o, const char *type, size_t size, size_t local,
                         const char *options)
{
    char text[400];
    const char *source = text;
    cl_int err;
    cl_mem m = clCreateBuffer(o->context, CL_MEM_READ_WRITE, 8, NULL, &err);

    assert_int_equal(err, CL_SUCCESS);
    snprintf(text, sizeof text,
             "#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\n"
             "#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\n"
             "kernel void square(global %s *x)\n{\n    local char room[%zu];\n"
             "    room[get_local_id(0) %% %zu] = 1;\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
             "    if (get_global_id(0) == 0) x[0] = x[0] * x[0] * room[0];\n}\n",
             type, local, local);
    cl_program p = clCreateProgramWithSource(o->context, 1, &source, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    err = clBuildProgram(p, 1, &o->id, options, NULL, NULL);
    if (!err) {
        cl_kernel k = clCreateKernel(p, "square", &err);
        assert_int_equal(err, CL_SUCCESS);
        assert_int_equal(clSetKernelArg(k, 0, sizeof m, &m), CL_SUCCESS);
        err = clEnqueueNDRangeKernel(o->queue, k, 1, NULL, &size, &size, 0, NULL, NULL);
        assert_int_equal(clFinish(o->queue), CL_SUCCESS);
        clReleaseKernel(k);
    }
    clReleaseProgram(p);
    clReleaseMemObject(m);
    return err;
}

static void kernels__double(void **state)
{
    (void)state;
    opened o;
    find(&o, "tesla-c1060");
    assert_int_equal(run_square(&o, "double", 1, 16, ""), CL_SUCCESS);
    close_opened(&o);
    find(&o, "integrated");
    assert_int_equal(run_square(&o, "float", 1, 16, ""), CL_SUCCESS);
    cl_int got = run_square(&o, "double", 1, 16, "");
    close_opened(&o);
    if (got == CL_SUCCESS) SKIP("this compiler knows double without the extension, as NVIDIA's do");
    assert_int_equal(got, CL_BUILD_PROGRAM_FAILURE);
}

static void kernels__images(void **state)
{
    (void)state;
    opened o;
    find(&o, "no-images");
    assert_int_equal(run_square(&o, "float *y, read_only image2d_t i, global float", 1, 16, ""),
                     CL_BUILD_PROGRAM_FAILURE);
    close_opened(&o);
}

static void kernels__language(void **state)
{
    (void)state;
    opened o;
    long before = layer()->broken();
    find(&o, "fermi-c2070");
    assert_int_equal(run_square(&o, "float", 1, 16, "-cl-std=CL1.2"), CL_INVALID_BUILD_OPTIONS);
    assert_int_equal(breaks(before), 1);
    close_opened(&o);
}

static void launches__groups_and_local_memory(void **state)
{
    (void)state;
    static const char *const names[] = { "tesla-c1060", "tiny-alloc" };
    for (size_t i = 0; i < COUNT(names); i++) {
        opened o;
        find(&o, names[i]);
        long before = layer()->broken();
        assert_int_equal(run_square(&o, "float", o.is->group, 64, ""), CL_SUCCESS);
        assert_int_equal(run_square(&o, "float", 2, 16000, ""), CL_SUCCESS);
        assert_int_equal(breaks(before), 0);
        assert_int_equal(run_square(&o, "float", 2 * o.is->group, 64, ""),
                         CL_INVALID_WORK_ITEM_SIZE);
        assert_int_equal(run_square(&o, "float", 2, (size_t)o.is->local + 64, ""),
                         CL_OUT_OF_RESOURCES);
        assert_int_equal(breaks(before), 2);
        close_opened(&o);
    }
}

static void buffers__too_large(void **state)
{
    (void)state;
    enum { LARGEST = 2 << 20, ALL = 64 << 20 };
    opened o;
    cl_mem m[ALL / LARGEST] = { NULL };
    size_t count = 0;
    kry_vec *v = NULL;
    cl_int err = CL_SUCCESS;

    find(&o, "tiny-alloc");
    assert_null(clCreateBuffer(o.context, CL_MEM_READ_WRITE, LARGEST + 1, NULL, &err));
    assert_int_equal(err, CL_INVALID_BUFFER_SIZE);
    REFUSES(kry_vec_create(o.dev, KRY_F32, LARGEST, 1, &v), KRY_ERR_MEMORY, "its largest is 0.002");
    assert_null(v);
    OK(kry_vec_create(o.dev, KRY_F32, 10, 1, &v));
    while (count < COUNT(m) &&
           (m[count] = clCreateBuffer(o.context, CL_MEM_READ_WRITE, LARGEST, NULL, &err)))
        count++;
    assert_int_equal(err, CL_MEM_OBJECT_ALLOCATION_FAILURE); /* all of it, but for the vector */
    assert_int_equal(count, COUNT(m) - 1);
    while (count) clReleaseMemObject(m[--count]);
    kry_vec_release(&v);
    close_opened(&o);
}

static void images__where_there_are_none(void **state)
{
    (void)state;
    const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
                                 .image_width = 4,
                                 .image_height = 4 };
    opened o;
    cl_int err = CL_SUCCESS;
    cl_uint count = 7;

    find(&o, "no-images");
    long before = layer()->broken();
    assert_null(clCreateImage(o.context, CL_MEM_READ_ONLY, &format, &desc, NULL, &err));
    assert_int_equal(err, CL_INVALID_OPERATION);
    assert_int_equal(breaks(before), 1);
    assert_int_equal(clGetSupportedImageFormats(o.context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D,
                                                0, NULL, &count),
                     CL_SUCCESS);
    assert_int_equal(count, 0);
    close_opened(&o);
}

/* Nothing that is live when it is opened is left behind, and no rule is broken on the way. */
static void solve_on(const struct expected *is, kry_type type)
{
    enum { N = 300 };
    static double x[N], b[N], val[3 * N];
    int64_t row_ptr[N + 1] = { 0 }, k = 0;
    int32_t col[3 * N];
    long before = layer()->broken();
    opened o = open_device(is);
    kry_op *A = NULL, *S = NULL;
    kry_result res;

    for (int i = 0; i < N; i++) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, k++)
            col[k] = j, put(type, val, k, i == j ? 3 : -1);
        row_ptr[i + 1] = k, b[i] = 1, x[i] = 0;
    }
    OK(kry_csr_create(o.dev, type, N, N, row_ptr, col, val, KRY_MATRIX(.traits = KRY_POSITIVE),
                      &A));
    OK(kry_solver_create(A, "method=pcg resident=off", NULL, NULL, &S));
    OK(kry_solve_host(S, b, x, &res));
    assert_true(res.true_residual <= res.target);
    kry_op_release(&S);
    kry_op_release(&A);
    assert_int_equal(device_references(o.dev), 1);
    close_opened(&o);
    assert_int_equal(breaks(before), 0);
}

/* One of each kind: compiling takes its time. All of the suite runs on any of them:
 * docs/developers/testing.md. */
static void solve__on_some(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        kry_type type;
    } on[] = { { "tesla-c1060,no-fp64", KRY_F32 },
               { "fermi-c2070", KRY_F64 },
               { "tiny-alloc", KRY_F32 } };
    long live[KINDS];
    for (int i = 0; i < KINDS; i++) live[i] = layer()->live((layer_kind)i);
    for (size_t i = 0; i < COUNT(devices); i++) {
        for (size_t k = 0; k < COUNT(on); k++)
            if (!strcmp(devices[i].name, on[k].name)) solve_on(&devices[i], on[k].type);
        for (int k = 0; k < KINDS; k++) assert_int_equal(layer()->live((layer_kind)k), live[k]);
    }
}

/* ---- what other implementations do ------------------------------------------------------------ */

/* main() asks PoCL for two devices. */
static void list__one_device_does_not_answer(void **state)
{
    (void)state;
    kry_device_info *info = NULL;
    int all = 0, count = 0;

    OK(kry_device_list(&info, &all));
    free(info);
    if (all < 2) SKIP("there is one device");
    layer()->arm("clGetDeviceInfo", 1, CL_DEVICE_NOT_AVAILABLE, false);
    OK(kry_device_list(&info, &count));
    assert_string_equal(layer()->failed(), "clGetDeviceInfo");
    layer()->arm(NULL, 0, CL_SUCCESS, false);
    free(info);
    assert_int_equal(count, all - 1);
}

static void accelerator__has_its_own_name_and_groups(void **state)
{
    (void)state;
    kry_device *dev = NULL;
    kry_device_info *list = NULL;
    int count = 0;

    assert_true(layer()->device("fpga-emulator"));
    REFUSES(kry_device_open("cpu", &dev), KRY_ERR_ARGUMENT, "accelerator:0 'Emulator");
    OK(kry_device_open("accelerator", &dev));
    const kry_device_info *info = kry_device_get_info(dev);
    assert_string_equal(info->kind, "accelerator");
    assert_int_equal(info->max_group, 65536); /* it claims 2^26 */
    assert_int_equal(kry_device_launch_shape(dev).group, 128);
    kry_device_release(&dev);
    OK(kry_device_open("Accelerator:all,use-all", &dev));
    OK(kry_device_list(&list, &count));
    assert_int_equal(kry_team_size(dev), count);
    free(list);
    kry_device_release(&dev);
    REFUSES(kry_device_open("cpu:all", &dev), KRY_ERR_ARGUMENT, "accelerator:0 'Emulator");
    assert_true(layer()->device(""));
}

static void reproducible__compiler_reorders_sums(void **state)
{
    (void)state;
    kry_device *dev = NULL;
    if (!getenv("KRY_FULL"))
        SKIP("PoCL does not optimise here (hooks.c), and keeps the order of sums");
    assert_true(layer()->device("other-cpu"));
    OK(kry_device_open("cpu,reproducible", &dev));
    assert_non_null(strstr(kry_device_get_info(dev)->name, "kernels not optimised"));
    assert_true(kry_team_part(dev, 0)->layout.unoptimised);
    kry_device_release(&dev);
    assert_true(layer()->device(""));
}

static void launches__device_runs_nothing(void **state)
{
    (void)state;
    kry_device *dev = NULL;
    kry_vec *x = NULL;

    assert_true(layer()->device("idle-cpu"));
    OK(kry_device_open("cpu", &dev));
    for (int times = 0; times < 2; times++) /* a device that failed is asked again */
        REFUSES(kry_vec_create(dev, KRY_F64, 1, 1, &x), KRY_ERR_DEVICE,
                "vec_fill: 'CPU that runs nothing', driver 7.1, took it and then did not run it");
    assert_null(x);
    kry_device_release(&dev);
    assert_true(layer()->device(""));
}

static void images__compiler_hides_them(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "kernel void first(read_only image2d_t image, global float *y)\n"
        "{ y[0] = read_imagef(image, CLK_FILTER_NEAREST, (int2)(0, 0)).x; }\n",
        "#pragma kry images\n"
        "kernel void first(read_only image2d_t image, global float *y)\n"
        "{ y[0] = read_imagef(no image, CLK_FILTER_NEAREST, (int2)(0, 0)).x; }\n",
    };
    kry_device *dev = NULL;
    cl_kernel kernel = NULL;

    assert_true(layer()->device("other-cpu"));
    OK(kry_device_open("cpu", &dev));
    OK(kry_device_kernel(dev, KRY_F32, "first", texts[0], "", "first", &kernel));
    clReleaseKernel(kernel);
    REFUSES(kry_device_kernel(dev, KRY_F32, "first", texts[1], "", "first", &kernel),
            KRY_ERR_UNSUPPORTED, "images: kernels 'first' do not compile on 'CPU with");
    kry_device_release(&dev);
    assert_true(layer()->device(""));
}

/* For tests that programs must be built in: binaries of kry's cache do not tell their options. */
static int keep_no_programs(void **state)
{
    const char *cache = getenv("KRY_CACHE_DIR");
    *state = cache ? strdup(cache) : NULL;
    return setenv("KRY_CACHE_DIR", "", 1);
}

static int keep_programs(void **state)
{
    int failed = *state && setenv("KRY_CACHE_DIR", *state, 1);
    free(*state);
    return failed;
}

/* 128-by-128 numbers are one tile where the registers suffice for 8-by-8 of them in a work-item, else four: here of as many
 * as keep more than half of the compute units busy. Nothing runs, for compiling takes long: the launch fails, and says how
 * many groups it had. */
static void gemm__tiles_by_registers(void **state)
{
    (void)state;
    enum { DEEP = 4 }; /* not for CLBlast */
    static const char *const names[] = { "integrated", "kepler-gtx660" };

    for (int i = 0; i < 2; i++) {
        opened o;
        kry_vec *x = NULL, *y = NULL, *z = NULL;
        char launch[40];
        find(&o, names[i]);
        const int tiles = kry_device_get_info(o.dev)->compute_units / 2 + 1;
        OK(kry_vec_create(o.dev, KRY_F32, 128, DEEP, &x));
        OK(kry_vec_create(o.dev, KRY_F32, DEEP, 128 * tiles, &y));
        OK(kry_vec_create(o.dev, KRY_F32, 128, 128 * tiles, &z));
        layer()->arm("clEnqueueNDRangeKernel", 1, CL_INVALID_KERNEL_ARGS, true);
        kry_status st = kry_vec_gemm(false, false, 1, x, y, 1, z);
        layer()->arm(NULL, 0, CL_SUCCESS, false);
        snprintf(launch, sizeof launch, "launch of %d groups", (i ? 4 : 1) * tiles);
        assert_int_equal(st, KRY_ERR_DEVICE);
        assert_non_null(strstr(kry_last_error(), launch));
        kry_vec_release(&x), kry_vec_release(&y), kry_vec_release(&z);
        close_opened(&o);
    }
}

/* All kernels take less than the device says: kry finds out when it opens it. */
static void groups__smaller_for_all_kernels(void **state)
{
    (void)state;
    enum { N = 5000 };
    opened o;
    kry_vec *x = NULL;
    double norm = 0;

    find(&o, "spilling");
    assert_int_equal(kry_device_launch_shape(o.dev).group, 64);
    OK(kry_vec_create(o.dev, KRY_F64, N, 1, &x));
    OK(kry_vec_fill(x, 2));
    OK(kry_vec_norm2(x, &norm));
    assert_true(fabs(norm - 2 * sqrt((double)N)) < 1e-10);
    kry_vec_release(&x);
    close_opened(&o);
}

/* One kernel takes less than the others: the device's next opening heeds it. */
static void groups__smaller_for_one_kernel(void **state)
{
    (void)state;
    enum { N = 1000 };
    char folder[] = "/tmp/kry-layer-XXXXXX", path[600];

    assert_non_null(mkdtemp(folder));
    setenv("KRY_CACHE_DIR", folder, 1);
    for (int times = 0; times < 2; times++) {
        opened o;
        kry_vec *x = NULL, *y = NULL;
        float got[N] = { 0 };
        find(&o, "choosy");
        assert_int_equal(kry_device_launch_shape(o.dev).group, times ? 32 : 128);
        OK(kry_vec_create(o.dev, KRY_F32, N, 1, &x));
        OK(kry_vec_create(o.dev, KRY_F32, N, 1, &y));
        OK(kry_vec_fill(x, 7));
        if (times == 0)
            REFUSES(kry_vec_copy(x, y), KRY_ERR_UNSUPPORTED,
                    "kernel vec_copy: 'Graphics with one large kernel' takes it in groups of 32 "
                    "work-items at most, not of 128: open the device once more");
        else
            OK(kry_vec_copy(x, y));
        OK(kry_vec_read(y, got));
        for (int i = 0; i < N && times; i++) assert_true(got[i] == 7);
        if (times) {
            assert_int_equal(unlink(kry_tuning_path(o.dev, path, sizeof path)), 0);
        }
        kry_vec_release(&x), kry_vec_release(&y);
        close_opened(&o);
    }
}

/* Where registers are few, systems in single are solved in chunks of 8 rows, and factors are made with panels of 8
 * columns: both give x. */
static void solve__tiles_by_registers(void **state)
{
    enum { N = 140 };
    float *T = calloc(N * N, sizeof *T), a[N], d[N], c[N], b[N], y[N];
    kry_vec *v[5] = { NULL }, *A = NULL;
    kry_op *lu = NULL;
    opened o;

    find(&o, *state);
    assert_non_null(T);
    for (int i = 0; i < N; i++) {
        a[i] = i > 0 ? -1.0f - (float)(i % 5) / 8 : 0, d[i] = (float)(5 + i % 3);
        c[i] = i + 1 < N ? 1.5f - (float)(i % 3) / 4 : 0;
        T[i * N + i] = d[i];
        if (i > 0) T[(i - 1) * N + i] = a[i];
        if (i + 1 < N) T[(i + 1) * N + i] = c[i];
    }
    for (int i = 0; i < N; i++) /* x_i = 1 + i mod 7; nothing is rounded */
        b[i] = d[i] * (float)(1 + i % 7) + a[i] * (float)(1 + (i + 6) % 7) +
               c[i] * (float)(1 + (i + 1) % 7);
    const float *from[] = { a, d, c, b, b };
    for (int i = 0; i < 5; i++) {
        OK(kry_vec_create(o.dev, KRY_F32, N, 1, &v[i]));
        OK(kry_vec_write(v[i], from[i]));
    }
    OK(kry_tridiagonal_solve(NULL, v[0], v[1], v[2], v[3], v[4]));
    OK(kry_vec_read(v[4], y));
    /* Rows are dominated by a half at least: the error is some roundings of 7. */
    for (int i = 0; i < N; i++) assert_true(fabsf(y[i] - (float)(1 + i % 7)) < 2e-5f);
    OK(kry_vec_create(o.dev, KRY_F32, N, N, &A));
    OK(kry_vec_write(A, T));
    for (int by_columns = 0; by_columns < 2;
         by_columns++) { /* a launch for each column, and as usual */
        const kryi_lu_how columns = { 0 };
        OK(kryi_lu_make(A, KRY_LU(.block = 32), by_columns ? &columns : NULL, &lu));
        OK(kry_vec_fill(v[4], NAN));
        OK(kry_op_apply(lu, 1, v[3], 0, v[4]));
        OK(kry_vec_read(v[4], y));
        for (int i = 0; i < N; i++) assert_true(fabsf(y[i] - (float)(1 + i % 7)) < 2e-5f);
        kry_op_release(&lu);
    }
    int64_t rank = 0; /* of the reduced echelon form, which is the unit matrix */
    OK(kry_vec_rref(A, 0, NULL, &rank));
    assert_int_equal(rank, N);
    OK(kry_vec_read(A, T));
    for (int i = 0; i < N * N; i++) assert_true(T[i] == (i % (N + 1) == 0));
    kry_vec_release(&A);
    for (int i = 0; i < 5; i++) kry_vec_release(&v[i]);
    close_opened(&o);
    free(T);
}

/* Where registers are few, persistent conjugate gradients read diagonals for each product. */
static void solve__diagonals_by_registers(void **state)
{
    enum { N = 100 };
    (void)state;
    static const char streamed[] = " -DGROUP=128 -DPER=1 -DHELD=1 -DPRECOND=NONE",
                      held[] = " -DGROUP=128 -DPER=1 -DHELD=3 -DPRECOND=NONE";
    double val[3 * N], b[N], x[N] = { 0 };
    int64_t row_ptr[N + 1] = { 0 }, k = 0;
    int32_t col[3 * N];
    kry_op *A = NULL, *S = NULL;
    kryi_kernel *kernel[2];
    kry_result res;
    opened o;

    find(&o, "fermi-c2070");
    for (int i = 0; i < N; i++) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++)
            col[k] = j, val[k++] = i == j ? 3.1 : -1;
        row_ptr[i + 1] = k, b[i] = 1;
    }
    OK(kry_csr_create(o.dev, KRY_F64, N, N, row_ptr, col, val, KRY_MATRIX(.format = KRY_FORMAT_DIA),
                      &A));
    OK(kry_solver_create(A, "method=pcg precond=none resident=on", NULL, NULL, &S));
    OK(kry_solve_host(S, b, x, &res));
    OK(kryi_kernel_get(o.dev, "resident_dia", KRY_F64, held, "resident_dia_held", &kernel[0]));
    OK(kryi_kernel_get(o.dev, "resident_dia", KRY_F64, streamed, "resident_dia", &kernel[1]));
    assert_true(kernel[0]->ready && !kernel[0]->launched); /* asked what it spills */
    assert_true(kernel[1]->ready);
    kry_op_release(&S);
    kry_op_release(&A);
    close_opened(&o);
}

/* A device of OpenCL 1.1 has no sub-devices, and the call that would make them may not be there. */
static void team__of_sub_devices_needs_1_2(void **state)
{
    (void)state;
    kry_device *dev = NULL;
    long before = layer()->broken();
    assert_true(layer()->device("fermi-c2070"));
    REFUSES(kry_device_open("gpu/2", &dev), KRY_ERR_UNSUPPORTED, "1.2");
    assert_int_equal(breaks(before), 0);
    assert_true(layer()->device(""));
}

static void faults__one_call_and_all_after_it(void **state)
{
    (void)state;
    opened o;
    cl_int err;

    find(&o, "kepler-gtx660");
    layer()->arm("clCreateBuffer", 2, CL_OUT_OF_RESOURCES, false);
    for (int i = 1; i <= 3; i++) {
        cl_mem m = clCreateBuffer(o.context, CL_MEM_READ_WRITE, 8, NULL, &err);
        assert_int_equal(err, i == 2 ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
        assert_int_equal(m == NULL, i == 2);
        if (m) clReleaseMemObject(m);
    }
    assert_string_equal(layer()->failed(), "clCreateBuffer");
    assert_int_equal(layer()->calls(), 3);
    layer()->arm(NULL, 2, CL_DEVICE_NOT_AVAILABLE, true);
    assert_int_equal(clFinish(o.queue), CL_SUCCESS);
    for (int i = 0; i < 3; i++) assert_int_equal(clFlush(o.queue), CL_DEVICE_NOT_AVAILABLE);
    assert_string_equal(layer()->failed(), "clFlush");
    layer()->arm(NULL, 0, CL_SUCCESS, false);
    assert_int_equal(clFlush(o.queue), CL_SUCCESS);
    assert_null(layer()->failed());
    close_opened(&o);
}

static void faults__calls_from_the_same_place(void **state)
{
    (void)state;
    opened o;
#ifndef __GLIBC__
    SKIP("no stack can be read here");
#endif

    find(&o, "kepler-gtx660");
    layer()->arm(NULL, 0, CL_SUCCESS, false);
    layer()->watch();
    for (int i = 0; i < 3; i++) assert_int_equal(clFlush(o.queue), CL_SUCCESS);
    assert_int_equal(clFlush(o.queue), CL_SUCCESS);
    const long calls = layer()->calls();
    layer()->arm(NULL, 0, CL_SUCCESS, false);
    assert_int_equal(clFlush(o.queue), CL_SUCCESS);
    assert_int_equal(calls, 4);
    for (long k = 1; k <= 3; k++) assert_int_equal(layer()->earlier(k), k - 1);
    assert_int_equal(layer()->earlier(4), 0);
    assert_int_equal(layer()->earlier(5), 0); /* it was not watched */
    close_opened(&o);
}

/* PoCL's own cache is not safe where processes compile the same program at the same time. */
static void build__is_tried_twice_on_pocl(void **state)
{
    (void)state;
    static const char source[] = "kernel void put(global int *x) { x[0] = 1; }\n";
    kry_device *dev;
    cl_kernel kernel = NULL;

    OK(kry_device_open(NULL, &dev));
    if (!strcmp(dev->info.platform, "Portable Computing Language")) {
        layer()->arm("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE, false);
        OK(kry_device_kernel(dev, KRY_F32, "put", source, NULL, "put", &kernel));
        assert_int_equal(layer()->calls(), 2);
        clReleaseKernel(kernel);
        layer()->arm("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE, true);
        assert_int_equal(kry_device_kernel(dev, KRY_F32, "put", source, NULL, "put", &kernel),
                         KRY_ERR_BUILD);
        layer()->arm(NULL, 0, CL_SUCCESS, false);
    }
    kry_device_release(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device__is_what_it_claims),
        cmocka_unit_test(device__no_cpu_is_left),
        cmocka_unit_test(entry_points__newer_than_the_device),
        cmocka_unit_test(kernels__double),
        cmocka_unit_test(kernels__images),
        cmocka_unit_test(kernels__language),
        cmocka_unit_test(launches__groups_and_local_memory),
        cmocka_unit_test(buffers__too_large),
        cmocka_unit_test(images__where_there_are_none),
        cmocka_unit_test(solve__on_some),
        cmocka_unit_test(list__one_device_does_not_answer),
        cmocka_unit_test(accelerator__has_its_own_name_and_groups),
        cmocka_unit_test(reproducible__compiler_reorders_sums),
        cmocka_unit_test(images__compiler_hides_them),
        cmocka_unit_test(launches__device_runs_nothing),
        cmocka_unit_test_setup_teardown(gemm__tiles_by_registers, keep_no_programs, keep_programs),
        { "solve__tiles_by_registers/kepler", solve__tiles_by_registers, NULL, NULL,
          (void *)"kepler-gtx660" },
        cmocka_unit_test(solve__diagonals_by_registers),
        { "solve__tiles_by_registers/spilling", solve__tiles_by_registers, NULL, NULL,
          (void *)"spilling" },
        cmocka_unit_test(team__of_sub_devices_needs_1_2),
        cmocka_unit_test_setup_teardown(groups__smaller_for_all_kernels, keep_no_programs,
                                        keep_programs),
        cmocka_unit_test_setup_teardown(groups__smaller_for_one_kernel, keep_no_programs,
                                        keep_programs),
        cmocka_unit_test(faults__one_call_and_all_after_it),
        cmocka_unit_test(faults__calls_from_the_same_place),
        cmocka_unit_test_setup_teardown(build__is_tried_twice_on_pocl, keep_no_programs,
                                        keep_programs),
    };
    setenv("POCL_DEVICES", "pthread pthread", 1);
    NEED_LAYER;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
