/*
 * devices.c - devices that are made up: what they answer, and that they keep to it. Numbers of the
 * NVIDIA devices are those of their last drivers.
 */
#define _POSIX_C_SOURCE 200809L
#include "layer.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NV_MAJOR = 0x4000, NV_MINOR, NV_REGISTERS, NV_WARP }; /* cl_nv_device_attribute_query */

typedef struct profile {
    const char *word; /* in KRY_LAYER_DEVICE */
    const char *name, *vendor, *driver, *platform, *version, *language, *extensions;
    int opencl; /* 11: 1.1 */
    cl_bool fp64, images, image3d_writes, unified;
    cl_uint units, lanes, major, minor, registers; /* lanes 0: no such query */
    size_t group, items[3];
    size_t groups; /* the most in one dimension; cannot be asked for */
    cl_ulong local, constant, global, largest;
    size_t arguments, pointer; /* bytes of all arguments of a kernel; of one that is a buffer */
    bool arguments_in_local;   /* they take up local memory */
    size_t image2d[2], image3d[3];
} profile;

#define KB *1024
#define MB *1048576ull
#define GB *1073741824ull

#define ATOMICS                                                              \
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics " \
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics "   \
    "cl_khr_byte_addressable_store"
#define NVIDIA \
    ATOMICS " cl_khr_icd cl_nv_compiler_options cl_nv_device_attribute_query cl_nv_pragma_unroll"

static const profile profiles[] = {
    /* Arguments lie in local memory; the first 256 bytes of them. */
    { .word = "tesla-c1060",
      .name = "Tesla C1060",
      .vendor = "NVIDIA Corporation",
      .driver = "340.108",
      .platform = "OpenCL 1.1 CUDA 6.5.51",
      .version = "OpenCL 1.1 CUDA",
      .language = "OpenCL C 1.1 ",
      .extensions = NVIDIA,
      .opencl = 11,
      .fp64 = true,
      .images = true,
      .units = 30,
      .lanes = 32,
      .major = 1,
      .minor = 3,
      .registers = 16384,
      .group = 512,
      .items = { 512, 512, 64 },
      .groups = 65535,
      .local = 16 KB,
      .constant = 64 KB,
      .global = 4 GB,
      .largest = 1 GB,
      .arguments = 1024,
      .pointer = 4,
      .arguments_in_local = true,
      .image2d = { 4096, 16383 },
      .image3d = { 2048, 2048, 2048 } },
    { .word = "fermi-c2070",
      .name = "Tesla C2070",
      .vendor = "NVIDIA Corporation",
      .driver = "390.157",
      .platform = "OpenCL 1.2 CUDA 9.1.84",
      .version = "OpenCL 1.1 CUDA",
      .language = "OpenCL C 1.1 ",
      .extensions = NVIDIA,
      .opencl = 11,
      .fp64 = true,
      .images = true,
      .units = 14,
      .lanes = 32,
      .major = 2,
      .registers = 32768,
      .group = 1024,
      .items = { 1024, 1024, 64 },
      .groups = 65535,
      .local = 48 KB,
      .constant = 64 KB,
      .global = 6 GB,
      .largest = 1536 MB,
      .arguments = 4352,
      .pointer = 8,
      .image2d = { 16384, 16384 },
      .image3d = { 2048, 2048, 2048 } },
    { .word = "kepler-gtx660",
      .name = "GeForce GTX 660",
      .vendor = "NVIDIA Corporation",
      .driver = "470.256.02",
      .platform = "OpenCL 3.0 CUDA 11.4.557",
      .version = "OpenCL 1.2 CUDA",
      .language = "OpenCL C 1.2 ",
      .extensions = NVIDIA,
      .opencl = 12,
      .fp64 = true,
      .images = true,
      .image3d_writes = true,
      .units = 5,
      .lanes = 32,
      .major = 3,
      .registers = 65536,
      .group = 1024,
      .items = { 1024, 1024, 64 },
      .groups = 2147483647,
      .local = 48 KB,
      .constant = 64 KB,
      .global = 2 GB,
      .largest = 512 MB,
      .arguments = 4352,
      .pointer = 8,
      .image2d = { 16384, 16384 },
      .image3d = { 4096, 4096, 4096 } },
    { .word = "integrated",
      .name = "Integrated graphics",
      .vendor = "Somebody",
      .driver = "1.0",
      .platform = "OpenCL 1.2",
      .version = "OpenCL 1.2",
      .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS,
      .opencl = 12,
      .images = true,
      .unified = true,
      .units = 16,
      .group = 256,
      .items = { 256, 256, 256 },
      .groups = 2147483647,
      .local = 64 KB,
      .constant = 64 KB,
      .global = 1 GB,
      .largest = 256 MB,
      .arguments = 1024,
      .pointer = 8,
      .image2d = { 8192, 8192 },
      .image3d = { 2048, 2048, 2048 } },
    { .word = "no-images",
      .name = "Accelerator without textures",
      .vendor = "Somebody",
      .driver = "1.0",
      .platform = "OpenCL 1.2",
      .version = "OpenCL 1.2",
      .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS,
      .opencl = 12,
      .fp64 = true,
      .units = 8,
      .group = 256,
      .items = { 256, 256, 256 },
      .groups = 2147483647,
      .local = 32 KB,
      .constant = 64 KB,
      .global = 2 GB,
      .largest = 512 MB,
      .arguments = 1024,
      .pointer = 8 },
    { .word = "tiny-alloc",
      .name = "Device of small pieces",
      .vendor = "Somebody",
      .driver = "1.0",
      .platform = "OpenCL 1.2",
      .version = "OpenCL 1.2",
      .language = "OpenCL C 1.2 ",
      .extensions = ATOMICS,
      .opencl = 12,
      .fp64 = true,
      .images = true,
      .units = 4,
      .group = 64,
      .items = { 64, 64, 64 },
      .groups = 2147483647,
      .local = 16 KB,
      .constant = 64 KB,
      .global = 64 MB,
      .largest = 2 MB,
      .arguments = 1024,
      .pointer = 8,
      .image2d = { 8192, 8192 },
      .image3d = { 2048, 2048, 2048 } },
};

static const profile *device; /* NULL: what it is */
static profile chosen;
static char extensions[1024];
static long broken;

void layer_broke(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    layer_lock();
    broken++;
    fprintf(stderr, "layer: RULE BROKEN on '%s': ", device ? device->name : "this device");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    layer_unlock();
    va_end(args);
}

long layer_broken(void) { return broken; }
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

/* ---- questions --------------------------------------------------------------------------- */

static cl_int give(const void *answer, size_t bytes, size_t size, void *value, size_t *got)
{
    if (got) *got = bytes;
    if (value && size < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, answer, bytes);
    return CL_SUCCESS;
}

cl_int layer_platform_info(cl_platform_id p, ASKS_(cl_platform_info what))
{
    if (device && what == CL_PLATFORM_VERSION)
        return give(device->platform, strlen(device->platform) + 1, size, value, got);
    return next->clGetPlatformInfo(p, what, size, value, got);
}

/* Whatever is there is a GPU. False: the kind asked for is not there. */
static bool kind_of_device(cl_device_type *type)
{
    if (!device) return true;
    bool there =
        *type == CL_DEVICE_TYPE_ALL || (*type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT));
    *type = CL_DEVICE_TYPE_ALL;
    return there;
}

cl_int layer_device_ids(cl_platform_id p, cl_device_type type, cl_uint most, cl_device_id *id,
                        cl_uint *count)
{
    if (kind_of_device(&type)) return next->clGetDeviceIDs(p, type, most, id, count);
    if (count) *count = 0;
    return CL_DEVICE_NOT_FOUND;
}

cl_context layer_context_from_type(const cl_context_properties *properties, cl_device_type type,
                                   void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                             void *),
                                   void *user, cl_int *err)
{
    if (kind_of_device(&type))
        return next->clCreateContextFromType(properties, type, notify, user, err);
    *err = CL_DEVICE_NOT_FOUND;
    return NULL;
}

/* Where the answer to a question stands in a profile; a text if size is 0. */
static const struct answer {
    cl_device_info what;
    size_t at, size;
} answers[] = {
#define SIZED(what, field)                                          \
    {                                                               \
        what, offsetof(profile, field), sizeof((profile *)0)->field \
    }
#define TEXT(what, field)                 \
    {                                     \
        what, offsetof(profile, field), 0 \
    }
    TEXT(CL_DEVICE_NAME, name),
    TEXT(CL_DEVICE_VENDOR, vendor),
    TEXT(CL_DRIVER_VERSION, driver),
    TEXT(CL_DEVICE_VERSION, version),
    TEXT(CL_DEVICE_OPENCL_C_VERSION, language),
    TEXT(CL_DEVICE_EXTENSIONS, extensions),
    SIZED(CL_DEVICE_MAX_COMPUTE_UNITS, units),
    SIZED(CL_DEVICE_MAX_WORK_GROUP_SIZE, group),
    SIZED(CL_DEVICE_MAX_WORK_ITEM_SIZES, items),
    SIZED(CL_DEVICE_LOCAL_MEM_SIZE, local),
    SIZED(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, constant),
    SIZED(CL_DEVICE_MAX_PARAMETER_SIZE, arguments),
    SIZED(CL_DEVICE_HOST_UNIFIED_MEMORY, unified),
    SIZED(CL_DEVICE_IMAGE_SUPPORT, images),
    SIZED(CL_DEVICE_IMAGE2D_MAX_WIDTH, image2d[0]),
    SIZED(CL_DEVICE_IMAGE2D_MAX_HEIGHT, image2d[1]),
    SIZED(CL_DEVICE_IMAGE3D_MAX_WIDTH, image3d[0]),
    SIZED(CL_DEVICE_IMAGE3D_MAX_HEIGHT, image3d[1]),
    SIZED(CL_DEVICE_IMAGE3D_MAX_DEPTH, image3d[2]),
    SIZED(NV_MAJOR, major),
    SIZED(NV_MINOR, minor),
    SIZED(NV_REGISTERS, registers),
    SIZED(NV_WARP, lanes),
};

/* Of memory the device has no more than PoCL gives. */
static cl_ulong memory(cl_device_id d, cl_device_info what)
{
    cl_ulong claimed = what == CL_DEVICE_GLOBAL_MEM_SIZE ? device->global : device->largest;
    cl_ulong there = 0;
    next->clGetDeviceInfo(d, what, sizeof there, &there, NULL);
    return there < claimed ? there : claimed;
}

static bool is_unknown(cl_device_info what)
{
    bool nvidia = what >= NV_MAJOR && what <= NV_WARP,
         of_1_2 = (what >= CL_DEVICE_LINKER_AVAILABLE && what <= CL_DEVICE_PRINTF_BUFFER_SIZE) ||
                  what == CL_DEVICE_DOUBLE_FP_CONFIG,
         newer = what > CL_DEVICE_PRINTF_BUFFER_SIZE && what <= 0x10ff;
    return (nvidia && !device->lanes) || newer || (of_1_2 && device->opencl < 12);
}

cl_int layer_device_info(cl_device_id d, ASKS_(cl_device_info what))
{
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const cl_device_fp_config none = 0;
    const struct answer *a = answers;

    if (!device) return next->clGetDeviceInfo(d, what, size, value, got);
    if (is_unknown(what)) return CL_INVALID_VALUE;
    if (what == CL_DEVICE_TYPE) return give(&gpu, sizeof gpu, size, value, got);
    if (what == CL_DEVICE_DOUBLE_FP_CONFIG && !device->fp64)
        return give(&none, sizeof none, size, value, got);
    if (what == CL_DEVICE_GLOBAL_MEM_SIZE || what == CL_DEVICE_MAX_MEM_ALLOC_SIZE) {
        cl_ulong bytes = memory(d, what);
        return give(&bytes, sizeof bytes, size, value, got);
    }
    while (a < answers + COUNT(answers) && a->what != what) a++;
    if (a == answers + COUNT(answers)) return next->clGetDeviceInfo(d, what, size, value, got);
    const char *field = (const char *)device + a->at;
    if (a->size) return give(field, a->size, size, value, got);
    const char *text = *(const char *const *)field;
    return give(text, strlen(text) + 1, size, value, got);
}

cl_int layer_image_formats(cl_context c, cl_mem_flags flags, cl_mem_object_type type, cl_uint most,
                           cl_image_format *format, cl_uint *count)
{
    if (!device || device->images)
        return next->clGetSupportedImageFormats(c, flags, type, most, format, count);
    if (count) *count = 0;
    return CL_SUCCESS;
}

cl_int layer_kernel_info(cl_kernel k, cl_device_id d, ASKS_(cl_kernel_work_group_info what))
{
    size_t number = 0;
    bool group = what == CL_KERNEL_WORK_GROUP_SIZE;

    if (device &&
        (group || (what == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE && device->lanes))) {
        cl_int error = next->clGetKernelWorkGroupInfo(k, d, what, sizeof number, &number, NULL);
        if (error) return error;
        if (!group) number = device->lanes;
        if (group && number > device->group) number = device->group;
        return give(&number, sizeof number, size, value, got);
    }
    return next->clGetKernelWorkGroupInfo(k, d, what, size, value, got);
}

/* ---- memory ------------------------------------------------------------------------------ */

cl_mem layer_buffer(cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *err)
{
    const cl_mem_flags of_1_2 =
        CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;

    *err = CL_SUCCESS;
    if (device && device->opencl < 12 && flags & of_1_2) {
        layer_broke("CL_MEM_HOST_... is of OpenCL 1.2");
        *err = CL_INVALID_VALUE;
    } else if (device && size > device->largest) {
        *err = CL_INVALID_BUFFER_SIZE;
    } else if (device && size + layer_bytes() > device->global) {
        *err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    return *err ? NULL : next->clCreateBuffer(c, flags, size, host, err);
}

static cl_int image_is_allowed(size_t width, size_t height, size_t depth)
{
    if (!device) return CL_SUCCESS;
    if (!device->images) {
        layer_broke("an image on a device without images");
        return CL_INVALID_OPERATION;
    }
    bool fits = depth ? width <= device->image3d[0] && height <= device->image3d[1] &&
                            depth <= device->image3d[2]
                      : width <= device->image2d[0] && height <= device->image2d[1];
    return fits ? CL_SUCCESS : CL_INVALID_IMAGE_SIZE;
}

cl_mem layer_image_2d(cl_context c, cl_mem_flags flags, const cl_image_format *format, size_t width,
                      size_t height, size_t row, void *host, cl_int *err)
{
    *err = image_is_allowed(width, height, 0);
    return *err ? NULL : next->clCreateImage2D(c, flags, format, width, height, row, host, err);
}

cl_mem layer_image_3d(cl_context c, cl_mem_flags flags, const cl_image_format *format, size_t width,
                      size_t height, size_t depth, size_t row, size_t slice, void *host,
                      cl_int *err)
{
    *err = image_is_allowed(width, height, depth);
    return *err ? NULL
                : next->clCreateImage3D(c, flags, format, width, height, depth, row, slice, host,
                                        err);
}

cl_mem layer_image(cl_context c, cl_mem_flags flags, const cl_image_format *format,
                   const cl_image_desc *desc, void *host, cl_int *err)
{
    bool flat = desc->image_type == CL_MEM_OBJECT_IMAGE2D,
         deep = desc->image_type == CL_MEM_OBJECT_IMAGE3D;
    *err = image_is_allowed(flat || deep ? desc->image_width : 0,
                            flat || deep ? desc->image_height : 0, deep ? desc->image_depth : 0);
    return *err ? NULL : next->clCreateImage(c, flags, format, desc, host, err);
}

cl_sampler layer_sampler(cl_context c, cl_bool normalised, cl_addressing_mode addressing,
                         cl_filter_mode filter, cl_int *err)
{
    *err = image_is_allowed(0, 0, 0);
    return *err ? NULL : next->clCreateSampler(c, normalised, addressing, filter, err);
}

/* ---- programs ---------------------------------------------------------------------------- */

/* What the compiler of the device would not know, but PoCL's does, as macros in front of a source.
 * They stand there only if their word does, so that devices share what PoCL has compiled. */
static const struct {
    const char *word, *macros;
    size_t at; /* of the cl_bool in profile that makes them superfluous */
} missing[] = {
#define NO(word) "#define " word " not_on_this_device\n"
    { "double",
      "#undef cl_khr_fp64\n" NO("double") NO("double2") NO("double3") NO("double4") NO("double8")
          NO("double16"),
      offsetof(profile, fp64) },
    { "image",
      "#undef __IMAGE_SUPPORT__\n" NO("image2d_t") NO("image3d_t") NO("image1d_buffer_t")
          NO("sampler_t"),
      offsetof(profile, images) },
    { "cl_khr_3d_image_writes", "#undef cl_khr_3d_image_writes\n",
      offsetof(profile, image3d_writes) },
#undef NO
};

static bool has(const profile *p, size_t at)
{
    cl_bool there;
    memcpy(&there, (const char *)p + at, sizeof there);
    return there;
}

/* Texts without a length end with a zero; others are taken to have every word. */
static bool has_word(cl_uint count, const char **text, const size_t *length, const char *word)
{
    for (cl_uint i = 0; i < count; i++)
        if ((length && length[i]) || strstr(text[i], word)) return true;
    return false;
}

static void write_prelude(cl_uint count, const char **text, const size_t *length,
                          char prelude[1024])
{
    prelude[0] = 0;
    for (size_t i = 0; i < COUNT(missing); i++)
        if (!has(device, missing[i].at) && has_word(count, text, length, missing[i].word))
            strcat(prelude, missing[i].macros);
    if (has_word(count, text, length, "__OPENCL_VERSION__"))
        sprintf(prelude + strlen(prelude),
                "#undef __OPENCL_VERSION__\n#define __OPENCL_VERSION__ %d\n", 10 * device->opencl);
    if (prelude[0]) strcat(prelude, "#line 1\n");
}

cl_program layer_source(cl_context c, cl_uint count, const char **text, const size_t *length,
                        cl_int *err)
{
    char prelude[1024];

    if (!device || !count || !text)
        return next->clCreateProgramWithSource(c, count, text, length, err);
    const char **all = calloc(count + 1, sizeof *all);
    size_t *lengths = calloc(count + 1, sizeof *lengths); /* 0: up to the end */
    if (!all || !lengths) abort();
    write_prelude(count, text, length, prelude);
    all[0] = prelude;
    for (cl_uint i = 0; i < count; i++) {
        all[i + 1] = text[i];
        lengths[i + 1] = length ? length[i] : 0;
    }
    cl_program program = next->clCreateProgramWithSource(c, count + 1, all, lengths, err);
    free(lengths);
    free(all);
    return program;
}

/* The language that is asked for: 12 for -cl-std=CL1.2; 0: none. */
static int language_of(const char *options)
{
    int major = 0, minor = 0;
    const char *at = options ? strstr(options, "-cl-std=CL") : NULL;
    return at && sscanf(at, "-cl-std=CL%d.%d", &major, &minor) == 2 ? 10 * major + minor : 0;
}

/* A launch may still be compiling its kernel, in a thread of PoCL's, and LLVM takes one at a time.
 */
cl_int layer_build(cl_program p, cl_uint count, const cl_device_id *id, const char *options,
                   void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    int language = language_of(options);
    char *all = NULL;

    if (!device) return next->clBuildProgram(p, count, id, options, notify, user);
    if (language > device->opencl) {
        layer_broke("programs are to be built as OpenCL C %d.%d", language / 10, language % 10);
        return CL_INVALID_BUILD_OPTIONS;
    }
    size_t room = (options ? strlen(options) : 0) + 32;
    if (!(all = calloc(room, 1))) abort();
    snprintf(all, room, "%s%s", options ? options : "",
             language              ? ""
             : device->opencl < 12 ? " -cl-std=CL1.1"
                                   : " -cl-std=CL1.2");
    layer_settle();
    cl_int error = next->clBuildProgram(p, count, id, all, notify, user);
    free(all);
    return error;
}

/* Arguments are counted as the device stores them. */
cl_int layer_argument(cl_kernel k, cl_uint i, size_t size, const void *value)
{
    cl_int error = next->clSetKernelArg(k, i, size, value);
    void *handle = NULL;

    if (error || !device || i >= LAYER_MOST_ARGS) return error;
    if (value && size == sizeof handle) memcpy(&handle, value, sizeof handle);
    layer_lock();
    layer_object *o = layer_find(KERNELS, k);
    bool buffer = handle && layer_find(MEMS, handle);
    if (o && !o->launched) o->argument[i] = (unsigned char)(buffer ? device->pointer : size);
    layer_unlock();
    return error;
}

/* ---- launches ---------------------------------------------------------------------------- */

static cl_int check_sizes(cl_uint dimensions, const size_t *global, const size_t *local)
{
    size_t items = 1;
    for (cl_uint i = 0; local && i < dimensions && i < 3; i++) {
        items *= local[i];
        if (local[i] == 0 || global[i] % local[i]) {
            layer_broke("%zu work-items in groups of %zu", global[i], local[i]);
            return CL_INVALID_WORK_GROUP_SIZE;
        }
        if (local[i] > device->items[i]) {
            layer_broke("groups of %zu work-items in dimension %u, at most %zu", local[i], i,
                        device->items[i]);
            return CL_INVALID_WORK_ITEM_SIZE;
        }
        if (global[i] / local[i] > device->groups) {
            layer_broke("%zu groups, at most %zu", global[i] / local[i], device->groups);
            return CL_OUT_OF_RESOURCES;
        }
    }
    if (items <= device->group) return CL_SUCCESS;
    layer_broke("groups of %zu work-items, at most %zu", items, device->group);
    return CL_INVALID_WORK_GROUP_SIZE;
}

static const char *name_of(cl_kernel k, char name[64])
{
    name[0] = 0;
    next->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, 63, name, NULL);
    name[63] = 0;
    return name;
}

static cl_int check_memory(cl_command_queue q, cl_kernel k, size_t arguments)
{
    cl_device_id d = NULL;
    cl_ulong local = 0;
    char name[64];

    next->clGetCommandQueueInfo(q, CL_QUEUE_DEVICE, sizeof d, &d, NULL);
    next->clGetKernelWorkGroupInfo(k, d, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    if (device->arguments_in_local) local += arguments;
    if (local > device->local) {
        layer_broke("kernel %s takes %llu bytes of local memory, there are %llu", name_of(k, name),
                    (unsigned long long)local, (unsigned long long)device->local);
        return CL_OUT_OF_RESOURCES;
    }
    if (arguments > device->arguments) {
        layer_broke("kernel %s takes %zu bytes of arguments, at most %zu", name_of(k, name),
                    arguments, device->arguments);
        return CL_OUT_OF_RESOURCES;
    }
    return CL_SUCCESS;
}

/* PoCL compiles a kernel in a thread of its own when it is launched with new sizes; on a CPU kry
 * waits for the first launch, since LLVM 15 crashes if a program is built meanwhile. Here the layer
 * must. */
cl_int layer_launch(cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *first,
                    const size_t *global, const size_t *local, WAITS_)
{
    bool launched = true;
    size_t arguments = 0;

    if (device) {
        cl_int error = check_sizes(dimensions, global, local);
        if (error) return error;
        layer_lock();
        layer_object *o = layer_find(KERNELS, k);
        for (int i = 0; o && i < LAYER_MOST_ARGS; i++) arguments += o->argument[i];
        if (o) launched = o->launched;
        layer_unlock();
        if (!launched && (error = check_memory(q, k, arguments))) return error;
    }
    cl_int error = next->clEnqueueNDRangeKernel(q, k, dimensions, first, global, local, WAITS);
    if (error || launched) return error;
    next->clFinish(q);
    layer_lock();
    layer_object *o = layer_find(KERNELS, k);
    if (o) o->launched = true;
    layer_unlock();
    return error;
}
