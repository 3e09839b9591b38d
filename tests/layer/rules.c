/* rules.c - the made-up device is held to what it claims. */
#define _POSIX_C_SOURCE 200809L
#include "profile.h"
#include <stdarg.h>
#include <sys/stat.h>

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

/* For a device that hides them. */
static const char no_image_functions[] =
    "#ifndef __opencl_c_images\n#define read_imagef not_on_this_device\n"
    "#define read_imageui not_on_this_device\n#endif\n";

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
    if (device->hides_images && has_word(count, text, length, "read_image"))
        strcat(prelude, no_image_functions);
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

/* Keep what a program is built of in the folder KRY_LAYER_PROGRAMS, for tools/gate: a line with its options, then its
 * text. The name is a hash of both. */
static void keep_program(cl_program p, const char *options)
{
    const char *folder = getenv("KRY_LAYER_PROGRAMS");
    size_t size = 0;
    cl_ulong hash = 14695981039346656037u; /* FNV-1a */
    char *text = NULL, path[4096];

    if (!folder || next->clGetProgramInfo(p, CL_PROGRAM_SOURCE, 0, NULL, &size) || !size) return;
    const size_t line = (options ? strlen(options) : 0) + 1;
    if (!(text = calloc(line + size + 1, 1))) abort();
    sprintf(text, "%s\n", options ? options : "");
    next->clGetProgramInfo(p, CL_PROGRAM_SOURCE, size, text + line, NULL);
    for (const char *at = text; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    snprintf(path, sizeof path, "%s/%016llx.program", folder, (unsigned long long)hash);
    mkdir(folder, 0777); /* or it is there */
    FILE *file = fopen(path, "w");
    if (file) fputs(text, file), fclose(file);
    free(text);
}

/* Blank the limit of registers among the options, which PoCL does not know. */
static void take_register_limit(char *options)
{
    char *at = strstr(options, "-cl-nv-maxrregcount=");

    if (at && !strstr(device->extensions, "cl_nv_compiler_options"))
        layer_broke("programs are to be built with an option of NVIDIA's");
    while (at && *at && *at != ' ') *at++ = ' ';
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
    size_t room = (options ? strlen(options) : 0) + 64;
    if (!(all = calloc(room, 1))) abort();
    if (options) strcpy(all, options);
    take_register_limit(all);
    keep_program(p, all);
    if (!language) strcat(all, device->opencl < 12 ? " -cl-std=CL1.1" : " -cl-std=CL1.2");
    if (device->reorders_sums && !strstr(all, "-cl-opt-disable"))
        strcat(all, " -cl-fast-relaxed-math");
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
    if (o && !o->launched)
        o->argument[i] = (unsigned char)(buffer || !value ? device->pointer : size);
    layer_unlock();
    return error;
}

/* ---- launches ---------------------------------------------------------------------------- */

static cl_int check_sizes(cl_kernel k, cl_uint dimensions, const size_t *global,
                          const size_t *local)
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
    /* Within what the device says, a kernel may take less: that breaks no rule. */
    if (items <= device->group)
        return items > layer_largest_group(k) ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
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

static cl_int run_nothing(cl_command_queue q, cl_event *event)
{
    cl_context c = NULL;
    cl_int error = CL_SUCCESS;

    if (!event) return CL_SUCCESS;
    next->clGetCommandQueueInfo(q, CL_QUEUE_CONTEXT, sizeof c, &c, NULL);
    *event = next->clCreateUserEvent(c, &error);
    return error ? error
                 : next->clSetUserEventStatus(*event, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
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
        cl_int error = check_sizes(k, dimensions, global, local);
        if (error) return error;
        layer_lock();
        layer_object *o = layer_find(KERNELS, k);
        for (int i = 0; o && i < LAYER_MOST_ARGS; i++) arguments += o->argument[i];
        if (o) launched = o->launched;
        layer_unlock();
        if (!launched && (error = check_memory(q, k, arguments))) return error;
        if (device->runs_nothing) return run_nothing(q, event);
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
