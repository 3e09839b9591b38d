/* launch.c - launching kernels: how many groups of what size. */
#include "device/launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 128 fills every GPU from Tesla on, keeps barriers cheap (CSR on an H200: 4.1 against 3.85 TB/s
 * with 256) and needs less than 16 KB of local memory in every kernel.
 * As many groups as fit on the device at once, for sums: no second wave, and few partial sums. On
 * an H200 16 groups of 128 to a multiprocessor do CSR at 3.88 TB/s, 12 at 3.53 and 24 at 3.41.
 * CPUs: 128 chunks in all, whatever the number of cores. */
kry_launch_shape kryi_shape_default(const kry_device *dev)
{
    const kry_device_info *info = &dev->info;
    kry_launch_shape shape = { .group = 128, .per_unit = 16, .chunks = 128 };
    if (info->cpu_kernels) shape.group = 1;
    while (shape.group > info->max_group) shape.group /= 2;
    return shape;
}

static bool fits(const kry_device *dev, kry_launch_shape s)
{
    bool group = dev->info.cpu_kernels
                     ? s.group == 1
                     : s.group >= 8 && s.group <= dev->info.max_group && !(s.group & (s.group - 1));
    return group && s.per_unit >= 1 && s.per_unit <= 64 && s.chunks >= 1 && s.chunks <= 4096;
}

void kryi_shape_load(kry_device *dev)
{
    kry_launch_shape s = { 0 };
    char text[64];

    dev->shape = kryi_shape_default(dev);
    if (kryi_tuning_get(dev, "shape", text, sizeof text) &&
        sscanf(text, "group=%d per-unit=%d chunks=%d", &s.group, &s.per_unit, &s.chunks) == 3 &&
        fits(dev, s))
        dev->shape = s;
}

static void keep_shape(kry_device *dev, kry_launch_shape s)
{
    char text[64];
    snprintf(text, sizeof text, "group=%d per-unit=%d chunks=%d", s.group, s.per_unit, s.chunks);
    kryi_tuning_set(dev, "shape", text);
}

static bool asks_largest_group(const kry_device *dev, const kryi_kernel *kernel, size_t *most)
{
    return !clGetKernelWorkGroupInfo(kernel->handle, dev->id, CL_KERNEL_WORK_GROUP_SIZE,
                                     sizeof *most, most, NULL) &&
           *most >= 1;
}

static int smaller_group(int group, size_t most)
{
    while ((size_t)group > most) group /= 2;
    return group;
}

/* A sum, of the type that most solves have. NVIDIA's driver, which says 256 of every kernel, is not asked. */
kry_status kryi_shape_fit(kry_device *dev)
{
    enum { WARP_SIZE_NV = 0x4003 };
    kry_status st = KRY_OK;
    kryi_kernel *kernel;
    cl_uint lanes;
    size_t most = 0;

    if (!dev->info.gpu || dev->info.cpu_kernels ||
        !clGetDeviceInfo(dev->id, WARP_SIZE_NV, sizeof lanes, &lanes, NULL))
        return KRY_OK;
    while (most < (size_t)dev->info.max_group) {
        TRY(kryi_kernel_get(dev, "vec", kryi_acc_type(dev), "", "vec_dot", &kernel));
        TRY(kryi_kernel_ready(dev, kernel));
        if (!asks_largest_group(dev, kernel, &most) || most >= (size_t)dev->info.max_group) break;
        dev->info.max_group = smaller_group(dev->info.max_group, most);
        kryi_tuning_release(dev); /* it has another file */
        kryi_shape_load(dev);
    }
done:
    return st;
}

kry_status kryi_shape_shrink(kry_device *dev, const kryi_kernel *kernel, int size)
{
    enum { LEAST = 8 };
    size_t most;

    if (!dev->info.gpu || size != kryi_group_size(dev) || !asks_largest_group(dev, kernel, &most) ||
        most >= (size_t)size || most < LEAST)
        return KRY_OK;
    kry_launch_shape smaller = dev->shape;
    smaller.group = smaller_group(size, most);
    keep_shape(dev, smaller);
    return kry_fail(
        KRY_ERR_UNSUPPORTED,
        "kernel %s: '%s' takes it in groups of %zu work-items at most, not of %d: open the "
        "device once more, and it launches all kernels in groups of %d (docs/devices.md)",
        kernel->name, dev->info.name, most, size, smaller.group);
}

/* The two kinds of kernels have a tuning file each; which kind is in that of the device's own. */
void kryi_kernels_load(kry_device *dev)
{
    const char *profile = getenv("KRY_PROFILE");
    char text[8];

    if (profile && strstr(profile, "-kernels")) return;
    if (!kryi_tuning_get(dev, "kernels", text, sizeof text)) return;
    const bool cpu = !strcmp(text, "cpu");
    if (cpu == dev->info.cpu_kernels || (!cpu && strcmp(text, "gpu"))) return;
    dev->info.cpu_kernels = cpu;
    kryi_tuning_release(dev);
}

void kry_tuning_keep_kernels(kry_device *dev, bool cpu_kernels)
{
    if (dev) kryi_tuning_set(dev, "kernels", cpu_kernels ? "cpu" : "gpu");
}

void kry_tuning_keep(kry_device *dev, double copy_bandwidth)
{
    char text[64];

    if (!dev) return;
    keep_shape(dev, dev->shape);
    if (!(copy_bandwidth > 0)) return;
    kryi_print_double(text, sizeof text, 4, copy_bandwidth);
    kryi_tuning_set(dev, "copy-bandwidth", text);
}

kry_launch_shape kry_device_launch_shape(const kry_device *dev)
{
    return dev ? dev->shape : (kry_launch_shape){ 0 };
}

kry_status kry_device_set_launch_shape(kry_device *dev, const kry_launch_shape *shape)
{
    kry_status st = KRY_OK;

    CHECK(dev, KRY_ERR_ARGUMENT, "kry_device_set_launch_shape: NULL");
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED,
          "kry_device_set_launch_shape: '%s' are several devices, each with a shape of its own",
          dev->info.name);
    CHECK(!shape || fits(dev, *shape), KRY_ERR_ARGUMENT,
          "kry_device_set_launch_shape: '%s' cannot launch groups of %d, %d to a unit, %d chunks",
          dev->info.name, shape->group, shape->per_unit, shape->chunks);
    dev->shape = shape ? *shape : kryi_shape_default(dev);
done:
    return st;
}

void kry_device_set_trace(kry_device *dev, kry_trace *trace, void *user)
{
    if (!dev) return;
    dev->trace = trace;
    dev->trace_user = user;
}

int kryi_group_size(const kry_device *dev) { return dev->shape.group; }

/* 16-byte loads pay on GPUs (4.29 against 3.93 TB/s of copy on an H200); a CPU's registers
 * take 32 bytes, and two of them in flight hide the latency of the sums. */
int kryi_vector_width(const kry_device *dev, kry_type type)
{
    if (dev->info.cpu_kernels) return 8;
    return type == KRY_F64 ? 2 : 4;
}

/* CPUs: chunks of at least 4096 numbers. GPUs: a vector for each work-item,
 * `most` groups at most. Nothing but n and the device decides, so sums keep their order. */
static int64_t groups_up_to(const kry_device *dev, kry_type type, int64_t n, int64_t most)
{
    enum { CPU_CHUNK = 4096 };
    int64_t per_group = dev->info.cpu_kernels
                            ? CPU_CHUNK
                            : (int64_t)kryi_group_size(dev) * kryi_vector_width(dev, type);
    int64_t groups = n / per_group + (n % per_group != 0);

    if (dev->info.cpu_kernels) most = dev->shape.chunks;
    if (groups > most) groups = most;
    return groups > 0 ? groups : 1;
}

int64_t kryi_groups_at_once(const kry_device *dev, int per_unit)
{
    enum { ROOM = KRY_SUM_CAPACITY / 2 };
    int64_t most = (int64_t)per_unit * dev->info.compute_units;
    return most < ROOM ? most : ROOM;
}

int64_t kryi_groups_for_sums(const kry_device *dev, kry_type type, int64_t n)
{
    return groups_up_to(dev, type, n, kryi_groups_at_once(dev, dev->shape.per_unit));
}

/* NVIDIA's driver says 256 of every kernel, even of one that was compiled for larger groups. */
kry_status kryi_kernel_check_size(kry_device *dev, kryi_kernel *kernel, int size)
{
    kry_status st = KRY_OK;
    size_t most = 0, compiled[3] = { 0 };

    TRY(kryi_kernel_ready(dev, kernel));
    TRY_CL(clGetKernelWorkGroupInfo(kernel->handle, dev->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                    &most, NULL));
    TRY_CL(clGetKernelWorkGroupInfo(kernel->handle, dev->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                    sizeof compiled, compiled, NULL));
    CHECK((size_t)size <= most || (size_t)size == compiled[0], KRY_ERR_UNSUPPORTED,
          "kernel %s: groups of %d are wanted, %zu is the most", kernel->name, size, most);
done:
    return st;
}

/* Intel's driver tells of spilled registers apart from private memory (cl_intel_required_subgroup_size); others do not
 * know the question. */
bool kryi_kernel_spills(kry_device *dev, kryi_kernel *kernel)
{
    enum { BEARABLE = 256, /* bytes */ SPILL_MEM_SIZE_INTEL = 0x4109 };
    static const cl_kernel_work_group_info asked[] = { CL_KERNEL_PRIVATE_MEM_SIZE,
                                                       SPILL_MEM_SIZE_INTEL };
    cl_ulong most = 0;

    if (!dev->info.gpu || kryi_kernel_ready(dev, kernel) < 0) return false;
    for (size_t i = 0; i < COUNT(asked); i++) {
        cl_ulong bytes = 0;
        if (!clGetKernelWorkGroupInfo(kernel->handle, dev->id, asked[i], sizeof bytes, &bytes,
                                      NULL) &&
            bytes > most)
            most = bytes;
    }
    return most > BEARABLE;
}

void kryi_room_option(const kry_device *dev, int items, char text[32])
{
    enum { REGISTERS_PER_BLOCK_NV = 0x4002, LEAST = 64, UNIT = 8 };
    cl_uint registers = 0;

    text[0] = '\0';
    if (!dev->info.gpu || !dev->context ||
        clGetDeviceInfo(dev->id, REGISTERS_PER_BLOCK_NV, sizeof registers, &registers, NULL))
        return;
    const int each = (int)registers / items / UNIT * UNIT;
    if (each >= LEAST) snprintf(text, 32, " -cl-nv-maxrregcount=%d", each);
}

kry_status kryi_kernel_get_fitting(kry_device *dev, const char *stem, kry_type type,
                                   const char *defines, const char *name, kryi_kernel **kernel)
{
    kry_status st = KRY_OK;
    char fewer[256];

    TRY(kryi_kernel_get(dev, stem, type, defines, name, kernel));
    if (!kryi_kernel_spills(dev, *kernel)) return KRY_OK;
    snprintf(fewer, sizeof fewer, "%s -DFEW_REGISTERS", defines);
    TRY(kryi_kernel_get(dev, stem, type, fewer, name, kernel));
done:
    return st;
}

enum { MOST_GROUPS = 65535 }; /* of a launch, on devices before Kepler */

/* Without sums more groups are better: 4.13 against 3.93 TB/s of copy. */
int64_t kryi_groups_for(const kry_device *dev, kry_type type, int64_t n)
{
    return groups_up_to(dev, type, n, MOST_GROUPS);
}

int64_t kryi_groups_at_most(const kry_device *dev, int64_t groups)
{
    const int64_t most = dev->info.cpu_kernels ? dev->shape.chunks : MOST_GROUPS;
    return groups < most ? groups : most;
}

kryi_scalar kryi_scalar_of(const kry_device *dev, double value)
{
    kryi_scalar s = { .f64 = 0 };
    kryi_number_put(kryi_acc_type(dev), &s, 0, value);
    return s;
}

kry_type kryi_acc_type(const kry_device *dev) { return dev->info.fp64 ? KRY_F64 : KRY_F32; }

size_t kryi_acc_size(const kry_device *dev) { return kry_type_size(kryi_acc_type(dev)); }

kry_status kryi_launch_range(kry_device *dev, kryi_kernel *kernel, kryi_range range,
                             const kry_arg *args, size_t count)
{
    kry_status st = kryi_device_check_thread(dev);

    if (!range.columns) range.columns = 1;
    if (!range.size) range.size = kryi_group_size(dev);
    return st < 0 ? st : dev->driver->launch(dev, kernel, &range, args, count);
}

kry_status kryi_launch(kry_device *dev, kryi_kernel *kernel, int64_t groups, const kry_arg *args,
                       size_t count)
{
    const kryi_range range = { groups, 1, kryi_group_size(dev) };
    const kry_status st = kryi_device_check_thread(dev);
    return st < 0 ? st : dev->driver->launch(dev, kernel, &range, args, count);
}

kry_status kryi_run(kry_device *dev, const char *stem, kry_type type, const char *defines,
                    const char *name, int64_t groups, const kry_arg *args, size_t count)
{
    kryi_kernel *kernel;
    kry_status st = kryi_kernel_get(dev, stem, type, defines, name, &kernel);
    return st < 0 ? st : kryi_launch(dev, kernel, groups, args, count);
}

int kry_device_group_size(const kry_device *dev) { return dev ? kryi_group_size(dev) : 1; }

int64_t kry_device_groups(const kry_device *dev, kry_type type, int64_t n)
{
    return dev ? kryi_groups_for(dev, type, n) : 1;
}

static kry_status launch_failed(cl_kernel kernel, int64_t groups, int size, cl_int err)
{
    char name[128] = "?";
    kry_status st = err == CL_MEM_OBJECT_ALLOCATION_FAILURE ? KRY_ERR_MEMORY
                    : err == CL_INVALID_WORK_GROUP_SIZE     ? KRY_ERR_UNSUPPORTED
                                                            : KRY_ERR_DEVICE;

    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return kry_fail(st, "kry_device_launch: kernel %s, %lld groups of %d: %s (%d)", name,
                    (long long)groups, size, kryi_cl_error_name(err), err);
}

kry_status kry_device_launch(kry_device *dev, cl_kernel kernel, int64_t groups, int size,
                             const kry_arg *args, int count)
{
    kry_status st = KRY_OK;
    cl_int err = CL_SUCCESS;

    CHECK(dev && kernel && (args || !count), KRY_ERR_ARGUMENT, "kry_device_launch: NULL");
    CHECK(dev->queue, KRY_ERR_UNSUPPORTED, "kry_device_launch: '%s' runs no OpenCL kernels",
          dev->info.name);
    TRY(kryi_device_check_process(dev));
    CHECK(groups >= 0 && size >= 0, KRY_ERR_ARGUMENT, "kry_device_launch: %lld groups of %d",
          (long long)groups, size);
    size_t local = size ? (size_t)size : (size_t)kryi_group_size(dev);
    size_t global = (size_t)groups * local;
    if (groups == 0) goto done;
    for (int i = 0; i < count && !err; i++)
        err = clSetKernelArg(kernel, (cl_uint)i, args[i].size, args[i].value);
    if (!err)
        err = clEnqueueNDRangeKernel(dev->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    if (err) TRY(launch_failed(kernel, groups, (int)local, err));
done:
    return st;
}
