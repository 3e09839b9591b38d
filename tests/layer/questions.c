/* questions.c - what the made-up device answers. */
#define _POSIX_C_SOURCE 200809L
#include "profile.h"

enum { SPILL_MEM_SIZE_INTEL = 0x4109 };                      /* cl_intel_required_subgroup_size */
enum { NV_MAJOR = 0x4000, NV_MINOR, NV_REGISTERS, NV_WARP }; /* cl_nv_device_attribute_query */

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

/* Whatever is there is of the device's kind. False: the kind asked for is not there. */
static bool kind_of_device(cl_device_type *type)
{
    if (!device) return true;
    bool there = *type == CL_DEVICE_TYPE_ALL || (*type & (device->type | CL_DEVICE_TYPE_DEFAULT));
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
    SIZED(CL_DEVICE_TYPE, type),
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

/* Nor larger images. */
static bool is_image_size(cl_device_info what)
{
    return what >= CL_DEVICE_IMAGE2D_MAX_WIDTH && what <= CL_DEVICE_IMAGE3D_MAX_DEPTH;
}

static size_t image_size(cl_device_id d, cl_device_info what, size_t claimed)
{
    size_t there = 0;
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
    const cl_device_fp_config none = 0;
    const struct answer *a = answers;

    if (!device) return next->clGetDeviceInfo(d, what, size, value, got);
    if (is_unknown(what)) return CL_INVALID_VALUE;
    if (what == CL_DEVICE_DOUBLE_FP_CONFIG && !device->fp64)
        return give(&none, sizeof none, size, value, got);
    if (what == CL_DEVICE_GLOBAL_MEM_SIZE || what == CL_DEVICE_MAX_MEM_ALLOC_SIZE) {
        cl_ulong bytes = memory(d, what);
        return give(&bytes, sizeof bytes, size, value, got);
    }
    while (a < answers + COUNT(answers) && a->what != what) a++;
    if (a == answers + COUNT(answers)) return next->clGetDeviceInfo(d, what, size, value, got);
    const char *field = (const char *)device + a->at;
    if (is_image_size(what)) {
        size_t claimed;
        memcpy(&claimed, field, sizeof claimed);
        claimed = image_size(d, what, claimed);
        return give(&claimed, sizeof claimed, size, value, got);
    }
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

size_t layer_largest_group(cl_kernel k)
{
    char name[64] = "";
    if (device->limited) next->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return device->kernel_group && (!device->limited || !strcmp(name, device->limited))
               ? device->kernel_group
               : device->group;
}

/* Bytes that registers do not hold. Before compute capability 3.5 there are 63 for a work-item, too few for
 * these kernels with these options, or without -DFEW_REGISTERS. */
static cl_ulong spilled(cl_kernel k, cl_device_id d)
{
    static const char *const large[][2] = {
        { "gemm_tile", "-DFOURS=2" },
        { "lu_panel", "-DPANEL=32" },
        { "lu_panel", "-DPANEL=16" },
        { "tridiagonal_solve", "-DM=8" },
        { "tridiagonal_solve", "-DM=16" },
        { "lu_block_row", NULL },
        { "lu_block", NULL },
        { "coarse_tiles", NULL },
        { "resident_dia_held", "-DHELD=" },
        { "panel_column", NULL },
    };
    char options[1024] = "", name[64] = "";
    cl_program p = NULL;

    next->clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof p, &p, NULL);
    next->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    next->clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL);
    if (!device->spills && (!device->major || 10 * device->major + device->minor >= 35)) return 0;
    for (size_t i = 0; i < COUNT(large); i++)
        if (!strcmp(name, large[i][0]) && (large[i][1] ? strstr(options, large[i][1]) != NULL
                                                       : !strstr(options, "-DFEW_REGISTERS")))
            return 5120;
    return 0;
}

cl_int layer_kernel_info(cl_kernel k, cl_device_id d, ASKS_(cl_kernel_work_group_info what))
{
    size_t number = 0;
    bool group = what == CL_KERNEL_WORK_GROUP_SIZE;

    if (device &&
        (what == CL_KERNEL_PRIVATE_MEM_SIZE || (what == SPILL_MEM_SIZE_INTEL && device->spills))) {
        cl_ulong bytes = device->spills && what == CL_KERNEL_PRIVATE_MEM_SIZE ? 0 : spilled(k, d);
        return give(&bytes, sizeof bytes, size, value, got);
    }
    if (device &&
        (group || (what == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE && device->lanes))) {
        cl_int error = next->clGetKernelWorkGroupInfo(k, d, what, sizeof number, &number, NULL);
        if (error) return error;
        if (!group) number = device->lanes;
        if (group && number > layer_largest_group(k)) number = layer_largest_group(k);
        return give(&number, sizeof number, size, value, got);
    }
    return next->clGetKernelWorkGroupInfo(k, d, what, size, value, got);
}
