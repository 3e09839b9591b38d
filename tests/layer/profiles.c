/* profiles.c - the devices that can be made up. Numbers of NVIDIA's are those of their last
 * drivers. */
#define _POSIX_C_SOURCE 200809L
#include "profile.h"

#define KB *1024
#define MB *1048576ull
#define GB *1073741824ull

#define ATOMICS                                                              \
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics " \
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics "   \
    "cl_khr_byte_addressable_store"
#define NVIDIA \
    ATOMICS " cl_khr_icd cl_nv_compiler_options cl_nv_device_attribute_query cl_nv_pragma_unroll"

/* One field to a line would hide what differs. */
/* clang-format off */
static const profile profiles[] = {
    { .word = "tesla-c1060", .name = "Tesla C1060", .vendor = "NVIDIA Corporation",
      .driver = "340.108", .platform = "OpenCL 1.1 CUDA 6.5.51", .version = "OpenCL 1.1 CUDA",
      .language = "OpenCL C 1.1 ", .extensions = NVIDIA, .opencl = 11, .fp64 = true,
      .images = true, .units = 30, .lanes = 32, .major = 1, .minor = 3, .registers = 16384,
      .group = 512, .items = { 512, 512, 64 }, .groups = 65535, .local = 16 KB, .constant = 64 KB,
      .global = 4 GB, .largest = 1 GB, .arguments = 256, .pointer = 4,
      .arguments_in_local = true, .image2d = { 4096, 16383 }, .image3d = { 2048, 2048, 2048 } },
    { .word = "fermi-c2070", .name = "Tesla C2070", .vendor = "NVIDIA Corporation",
      .driver = "390.157", .platform = "OpenCL 1.2 CUDA 9.1.84", .version = "OpenCL 1.1 CUDA",
      .language = "OpenCL C 1.1 ", .extensions = NVIDIA, .opencl = 11, .fp64 = true,
      .images = true, .units = 14, .lanes = 32, .major = 2, .registers = 32768, .group = 1024,
      .items = { 1024, 1024, 64 }, .groups = 65535, .local = 48 KB, .constant = 64 KB,
      .global = 6 GB, .largest = 1536 MB, .arguments = 4352, .pointer = 8,
      .image2d = { 16384, 16384 }, .image3d = { 2048, 2048, 2048 } },
    { .word = "kepler-gtx660", .name = "GeForce GTX 660", .vendor = "NVIDIA Corporation",
      .driver = "470.256.02", .platform = "OpenCL 3.0 CUDA 11.4.557",
      .version = "OpenCL 1.2 CUDA", .language = "OpenCL C 1.2 ", .extensions = NVIDIA,
      .opencl = 12, .fp64 = true, .images = true, .image3d_writes = true, .units = 5, .lanes = 32,
      .major = 3, .registers = 65536, .group = 1024, .items = { 1024, 1024, 64 },
      .groups = 2147483647, .local = 48 KB, .constant = 64 KB, .global = 2 GB, .largest = 512 MB,
      .arguments = 4352, .pointer = 8, .image2d = { 16384, 16384 },
      .image3d = { 4096, 4096, 4096 } },
    { .word = "integrated", .name = "Integrated graphics", .vendor = "Somebody", .driver = "1.0",
      .platform = "OpenCL 1.2", .version = "OpenCL 1.2", .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS, .opencl = 12, .images = true, .unified = true, .units = 16,
      .group = 256, .items = { 256, 256, 256 }, .groups = 2147483647, .local = 64 KB,
      .constant = 64 KB, .global = 1 GB, .largest = 256 MB, .arguments = 1024, .pointer = 8,
      .image2d = { 8192, 8192 }, .image3d = { 2048, 2048, 2048 } },
    { .word = "no-images", .name = "Accelerator without textures", .vendor = "Somebody",
      .driver = "1.0", .platform = "OpenCL 1.2", .version = "OpenCL 1.2",
      .language = "OpenCL C 1.2 ", .extensions = ATOMICS, .opencl = 12, .fp64 = true, .units = 8,
      .group = 256, .items = { 256, 256, 256 }, .groups = 2147483647, .local = 32 KB,
      .constant = 64 KB, .global = 2 GB, .largest = 512 MB, .arguments = 1024, .pointer = 8 },
    { .word = "tiny-alloc", .name = "Device of small pieces", .vendor = "Somebody",
      .driver = "1.0", .platform = "OpenCL 1.2", .version = "OpenCL 1.2",
      .language = "OpenCL C 1.2 ", .extensions = ATOMICS, .opencl = 12, .fp64 = true,
      .images = true, .units = 4, .group = 64, .items = { 64, 64, 64 }, .groups = 2147483647,
      .local = 16 KB, .constant = 64 KB, .global = 64 MB, .largest = 2 MB, .arguments = 1024,
      .pointer = 8, .image2d = { 8192, 8192 }, .image3d = { 2048, 2048, 2048 } },
    { .word = "fpga-emulator", .name = "Emulator of gate arrays", .vendor = "Somebody",
      .driver = "2025.1", .platform = "OpenCL 1.2", .version = "OpenCL 1.2",
      .language = "OpenCL C 1.2 ", .extensions = ATOMICS, .type = CL_DEVICE_TYPE_ACCELERATOR,
      .opencl = 12, .fp64 = true, .units = 2, .group = 67108864,
      .items = { 67108864, 67108864, 67108864 }, .groups = 2147483647, .local = 256 KB,
      .constant = 128 KB, .global = 1 GB, .largest = 256 MB, .arguments = 3840, .pointer = 8 },
    { .word = "other-cpu", .name = "CPU with other compilers", .vendor = "Somebody", .driver = "7.0",
      .platform = "OpenCL 3.0", .version = "OpenCL 3.0", .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS, .type = CL_DEVICE_TYPE_CPU, .opencl = 30, .fp64 = true,
      .images = true, .units = 2, .group = 4096, .items = { 4096, 4096, 4096 },
      .groups = 2147483647, .local = 512 KB, .constant = 512 KB, .global = 1 GB,
      .largest = 256 MB, .arguments = 1024, .pointer = 8, .image2d = { 8192, 8192 },
      .image3d = { 2048, 2048, 2048 }, .hides_images = true, .reorders_sums = true },
    { .word = "spilling", .name = "Graphics with few registers", .vendor = "Somebody", .driver = "1.0",
      .platform = "OpenCL 3.0", .version = "OpenCL 3.0", .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS, .opencl = 30, .fp64 = true, .unified = true, .units = 16,
      .group = 256, .items = { 256, 256, 256 }, .groups = 2147483647, .local = 64 KB,
      .constant = 64 KB, .global = 1 GB, .largest = 256 MB, .arguments = 1024, .pointer = 8,
      .spills = true, .kernel_group = 64 },
    { .word = "choosy", .name = "Graphics with one large kernel", .vendor = "Somebody", .driver = "1.0",
      .platform = "OpenCL 3.0", .version = "OpenCL 3.0", .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS, .opencl = 30, .unified = true, .units = 16,
      .group = 256, .items = { 256, 256, 256 }, .groups = 2147483647, .local = 64 KB,
      .constant = 64 KB, .global = 1 GB, .largest = 256 MB, .arguments = 1024, .pointer = 8,
      .kernel_group = 32, .limited = "vec_copy" },
    { .word = "idle-cpu", .name = "CPU that runs nothing", .vendor = "Somebody", .driver = "7.1",
      .platform = "OpenCL 3.0", .version = "OpenCL 3.0", .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS, .type = CL_DEVICE_TYPE_CPU, .opencl = 30, .fp64 = true, .units = 2,
      .group = 4096, .items = { 4096, 4096, 4096 }, .groups = 2147483647, .local = 512 KB,
      .constant = 512 KB, .global = 1 GB, .largest = 256 MB, .arguments = 1024, .pointer = 8,
      .runs_nothing = true },
};
/* clang-format on */

const profile *device;
static profile chosen;
static char extensions[1024];

int layer_version(void) { return device ? device->opencl : 99; }

const char *layer_device_name(int i)
{
    return i >= 0 && i < (int)COUNT(profiles) ? profiles[i].word : NULL;
}

bool layer_device(const char *name)
{
    size_t i = 0, length = strcspn(name, ",");
    bool no_fp64 = !strcmp(name + length, ",no-fp64");

    while (i < COUNT(profiles) &&
           (strlen(profiles[i].word) != length || strncmp(profiles[i].word, name, length)))
        i++;
    if ((i == COUNT(profiles) && length) || (name[length] && !no_fp64)) return false;
    layer_lock();
    device = NULL;
    if (length) {
        chosen = profiles[i];
        if (!chosen.type) chosen.type = CL_DEVICE_TYPE_GPU;
        if (no_fp64) chosen.fp64 = false;
        snprintf(extensions, sizeof extensions, "%s%s%s", chosen.extensions,
                 chosen.fp64 ? " cl_khr_fp64" : "",
                 chosen.image3d_writes ? " cl_khr_3d_image_writes" : "");
        chosen.extensions = extensions;
        device = &chosen;
    }
    layer_unlock();
    return true;
}
