/* program_build.c - compiling <stem>.cl of a folder of cl/ for a device. Binaries are kept on disk (program_disk.c). */
#include "base/hooks.h"
#include "device/launch.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options -------------------------------------------------------------------------- */

/* OpenCL C 1.1, which every driver has, unless the options name another version. */
void kryi_program_options(const kry_device *dev, kry_type type, const char *defines, char *text,
                          size_t size)
{
    snprintf(text, size, "%s-w%s -DREAL=%s -DVW=%d -DWG=%d%s%s%s %s",
             strstr(defines, "-cl-std=") ? "" : "-cl-std=CL1.1 ",
             dev->layout.unoptimised ? " -cl-opt-disable" : "",
             type == KRY_F64 ? "double" : "float", kryi_vector_width(dev, type),
             kryi_group_size(dev), dev->info.fp64 ? " -DKRY_FP64" : "",
             dev->info.cpu_kernels ? " -DKRY_CPU" : "",
             dev->layout.reproducible ? " -DKRY_REPRODUCIBLE" : "", defines);
}

/* ---- building --------------------------------------------------------------------- */

static kry_status build_from_source(kry_device *dev, const char *name, const char *source,
                                    const char *options, cl_program *program)
{
    kry_status st = KRY_OK;
    cl_int err;
    char *log = NULL;
    size_t size = 0;

    *program = clCreateProgramWithSource(dev->context, 1, &source, NULL, &err);
    TRY(kryi_cl_check(err, "kryi_kernel_get", "clCreateProgramWithSource"));
    atomic_fetch_add(&dev->compiled, 1);
    err = clBuildProgram(*program, 1, &dev->id, options, NULL, NULL);
    /* Processes that compile the same program at the same time disturb each other in PoCL's own cache. */
    if (err != CL_SUCCESS && kryi_is_pocl(dev))
        err = clBuildProgram(*program, 1, &dev->id, options, NULL, NULL);
    if (err != CL_SUCCESS) {
        /* Ask for the size first: a smaller buffer gets nothing. */
        clGetProgramBuildInfo(*program, dev->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
        if (kryi_alloc(size + 1, 1, &log) == KRY_OK)
            clGetProgramBuildInfo(*program, dev->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
        st = kry_fail(KRY_ERR_BUILD, "kernels '%s' do not compile on '%s' with %s: %s\n%s", name,
                      dev->info.name, options, kryi_cl_error_name(err), log ? log : "");
    }
done:
    free(log);
    if (st < 0 && *program) clReleaseProgram(*program), *program = NULL;
    return st;
}

static cl_program build_from_binary(kry_device *dev, const char *options, const char *key)
{
    unsigned char *binary = NULL;
    size_t size = 0;
    cl_int status = CL_SUCCESS, err = CL_SUCCESS;
    cl_program program = NULL;

    if (!kryi_disk_load(key, &binary, &size)) return NULL;
    program = clCreateProgramWithBinary(dev->context, 1, &dev->id, &size,
                                        (const unsigned char **)&binary, &status, &err);
    /* NVIDIA's binaries are PTX: what the options say of registers is done now. */
    if (program && (err || status || clBuildProgram(program, 1, &dev->id, options, NULL, NULL)))
        clReleaseProgram(program), program = NULL;
    free(binary);
    return program;
}

static void save_binary(const char *key, cl_program program)
{
    unsigned char *binary = NULL;
    size_t size = 0;

    /* The program was built for one device, so there is one binary. */
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL)) return;
    if (size == 0 || kryi_alloc(size, 1, &binary) < 0) return;
    if (!clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL))
        kryi_disk_store(key, binary, size);
    free(binary);
}

/* Everything that a binary depends on: device, driver, the options that PoCL takes from its environment, ours, source. */
static kry_status disk_key(const kry_device *dev, const char *options, const char *source,
                           char **key)
{
    const kry_device_info *d = &dev->info;
    const char *more = getenv("POCL_EXTRA_BUILD_FLAGS");
    if (!more) more = "";
    size_t size = strlen(source) + strlen(options) + strlen(more) + sizeof *d + 100;
    kry_status st = kryi_alloc(size, 1, key);

    if (st == KRY_OK)
        snprintf(*key, size, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s", KRY_VERSION, d->platform,
                 d->vendor, d->name, d->version, d->driver, more, options, source);
    return st;
}

static kry_status build_and_save(kry_device *dev, const char *name, const char *source,
                                 const char *options, cl_program *program)
{
    kry_status st = KRY_OK;
    char *key = NULL;
    int lock = -1;

    TRY(disk_key(dev, options, source, &key));
    if ((*program = build_from_binary(dev, options, key))) goto done;
    lock = kryi_disk_lock(key);
    if ((*program = build_from_binary(dev, options, key)))
        goto done; /* another process has built it */
    TRY(build_from_source(dev, name, source, options, program));
    save_binary(key, *program);
done:
    kryi_disk_unlock(key, lock);
    free(key);
    return st;
}

/* PoCL keeps what it compiles, and only what is launched: asked for a binary, it compiles all kernels of the program. Of
 * processes that start together one comes first, and the others find in PoCL's cache what it has left there. */
static kry_status build_for_pocl(kry_device *dev, const char *name, const char *source,
                                 const char *options, cl_program *program)
{
    kry_status st = KRY_OK;
    char *key = NULL;
    int lock = -1;

    TRY(disk_key(dev, options, source, &key));
    lock = kryi_disk_go_first(key);
    TRY(build_from_source(dev, name, source, options, program));
done:
    kryi_disk_unlock(key, lock);
    free(key);
    return st;
}

/* The parts of a team ask for the same programs at the same time. One compiles, and the others load
 * its binary. */
static kry_status build(kry_device *dev, const char *name, const char *source, const char *options,
                        cl_program *program)
{
    static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;
    kry_status st = KRY_OK;
    char dir[512];
    const bool by_pocl = kryi_is_pocl(dev) && !kryi_test_keep_pocl,
               keeps = kryi_cache_directory(dir, sizeof dir);

    if (keeps) pthread_mutex_lock(&building);
    kryi_compiling_begin(dev);
    /* PoCL may be compiling a kernel of the caller in a thread of its own. */
    if (!dev->info.gpu) TRY_CL(clFinish(dev->queue));
    TRY((!keeps    ? build_from_source
         : by_pocl ? build_for_pocl
                   : build_and_save)(dev, name, source, options, program));
done:
    kryi_compiling_end(dev);
    if (keeps) pthread_mutex_unlock(&building);
    return st;
}

kry_status kryi_opencl_build(kry_device *dev, const kryi_wanted *w, const char *source, int part,
                             cl_program *program, uint64_t *hash)
{
    kry_status st = KRY_OK;
    char *text = NULL;

    TRY(kryi_program_take_part(source, part, &text));
    TRY(build(dev, w->stem, text, w->options, program));
    *hash = kryi_hash(KRY_HASH_START, w->options, strlen(w->options) + 1);
    *hash = kryi_hash(*hash, text, strlen(text));
done:
    free(text);
    return st;
}

/* Compile a caller's text. PoCL 7 knows image functions in OpenCL C 1.1 only if the macro of OpenCL C 3.0 is defined. */
static kry_status build_of_caller(kry_device *dev, kry_type type, const char *name,
                                  const char *source, const char *options, cl_program *program)
{
    static const char with_images[] = " -D__opencl_c_images=1";
    kry_status st = KRY_OK;
    char *text = NULL, all[KRY_MAX_OPTIONS];
    const bool images = kryi_program_says(source, KRY_IMAGES);

    TRY(kryi_program_take_part(source, KRY_ALL_PARTS, &text));
    kryi_program_options(dev, type, options ? options : "", all, sizeof all - sizeof with_images);
    if (dev->info.images && (images || kryi_is_pocl(dev))) strcat(all, with_images);
    st = build(dev, name, text, all, program);
    /* Whatever the device says, to a program that has another way it is one without images. */
    if (st == KRY_ERR_BUILD && images)
        st = kry_fail(KRY_ERR_UNSUPPORTED, "images: %s", kry_last_error());
done:
    free(text);
    return st;
}

kry_status kry_device_kernel(kry_device *dev, kry_type type, const char *name, const char *source,
                             const char *options, const char *kernel_name, cl_kernel *kernel)
{
    kry_status st = KRY_OK;
    char *text = NULL;
    cl_program program = NULL;
    cl_int err;

    if (kernel) *kernel = NULL;
    TRY(GIVEN(kernel));
    CHECK(dev && name && kernel_name && kernel, KRY_ERR_ARGUMENT, "kry_device_kernel: NULL");
    CHECK(dev->context, KRY_ERR_UNSUPPORTED, "kry_device_kernel: '%s' runs no OpenCL kernels",
          dev->info.name);
    TRY(kryi_device_check_process(dev));
    TRY(source ? kryi_program_source_given(name, source, &text) : kryi_program_source(name, &text));
    TRY(build_of_caller(dev, type, name, text, options, &program));
    *kernel = clCreateKernel(program, kernel_name, &err);
    CHECK(err == CL_SUCCESS, KRY_ERR_BUILD, "kernel '%s' in '%s': %s", kernel_name, name,
          kryi_cl_error_name(err));
done:
    if (program) clReleaseProgram(program); /* the kernel keeps it alive */
    free(text);
    return st;
}

kry_status kry_device_kernel_text(kry_device *dev, kry_type type, const char *name, char **text)
{
    kry_status st = KRY_OK;
    char *source = NULL, *taken = NULL, options[KRY_MAX_OPTIONS];
    int part = KRY_ALL_PARTS;

    if (text) *text = NULL;
    CHECK(dev && name && text, KRY_ERR_ARGUMENT, "kry_device_kernel_text: NULL");
    CHECK(dev->context, KRY_ERR_UNSUPPORTED,
          "kry_device_kernel_text: '%s' has no compiler of its own", dev->info.name);
    CHECK(type == KRY_F32 || (type == KRY_F64 && dev->info.fp64), KRY_ERR_UNSUPPORTED,
          "kry_device_kernel_text: '%s' has no numbers of this type", dev->info.name);
    TRY(kryi_program_source_of(name, &source));
    if (!dev->info.cpu_kernels) part = kryi_program_part(source, name);
    TRY(kryi_program_take_part(source, part, &taken));
    kryi_program_options(dev, type, "", options, sizeof options);
    const size_t size = strlen(taken) + strlen(options) + sizeof "// \n";
    TRY(kryi_alloc(size, 1, text));
    snprintf(*text, size, "// %s\n%s", options, taken);
done:
    free(taken);
    free(source);
    return st;
}
