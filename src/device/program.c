/* program.c - compiling cl/<stem>.cl for a device. Programs are kept in memory per device, and
 * their binaries on disk (program_disk.c). */
#include "device/launch.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kry_program {
    struct kry_program *next;
    char *key;     /* owned: stem, type and defines, one to a line */
    uint64_t hash; /* of text and options */
    cl_program handle;
    kry_kernel *_Atomic kernels; /* owned, a list that only grows */
};

/* ---- options -------------------------------------------------------------------------- */

static bool uses_images(const char *source) { return strstr(source, "_image"); }

/* OpenCL C 1.1, which every driver has, unless the options name another version. PoCL 7 knows image functions
 * in it only if the macro of OpenCL C 3.0 is defined. */
static void compile_options(const kry_device *dev, kry_type type, const char *defines,
                            const char *source, char *text, size_t size)
{
    snprintf(text, size, "%s-w%s%s -DREAL=%s -DVW=%d -DWG=%d%s%s%s %s",
             strstr(defines, "-cl-std=") ? "" : "-cl-std=CL1.1 ",
             dev->info.images && uses_images(source) ? " -D__opencl_c_images=1" : "",
             dev->layout.unoptimised ? " -cl-opt-disable" : "",
             type == KRY_F64 ? "double" : "float", kry_vector_width(dev, type), kry_group_size(dev),
             dev->info.fp64 ? " -DKRY_FP64" : "", dev->info.cpu_kernels ? " -DKRY_CPU" : "",
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
    TRY(kry_cl_check(err, "kry_kernel_get", "clCreateProgramWithSource"));
    err = clBuildProgram(*program, 1, &dev->id, options, NULL, NULL);
    /* Processes that compile the same program at the same time disturb each other in PoCL's own cache. */
    if (err != CL_SUCCESS && kry_is_pocl(dev))
        err = clBuildProgram(*program, 1, &dev->id, options, NULL, NULL);
    if (err != CL_SUCCESS) {
        /* Ask for the size first: a smaller buffer gets nothing. */
        clGetProgramBuildInfo(*program, dev->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
        if (kry_alloc(size + 1, 1, &log) == KRY_OK)
            clGetProgramBuildInfo(*program, dev->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
        /* Whatever the device says, to a program that has another way it is one without images. */
        st = kry_fail(uses_images(source) ? KRY_ERR_UNSUPPORTED : KRY_ERR_BUILD,
                      "kernels '%s'%s do not compile on '%s' with %s: %s\n%s", name,
                      uses_images(source) ? ", which use images," : "", dev->info.name, options,
                      kry_cl_error_name(err), log ? log : "");
    }
done:
    free(log);
    if (st < 0 && *program) clReleaseProgram(*program), *program = NULL;
    return st;
}

static cl_program build_from_binary(kry_device *dev, const char *key)
{
    unsigned char *binary = NULL;
    size_t size = 0;
    cl_int status = CL_SUCCESS, err = CL_SUCCESS;
    cl_program program = NULL;

    if (!kry_disk_load(key, &binary, &size)) return NULL;
    program = clCreateProgramWithBinary(dev->context, 1, &dev->id, &size,
                                        (const unsigned char **)&binary, &status, &err);
    if (program && (err || status || clBuildProgram(program, 1, &dev->id, "", NULL, NULL)))
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
    if (size == 0 || kry_alloc(size, 1, &binary) < 0) return;
    if (!clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL))
        kry_disk_store(key, binary, size);
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
    kry_status st = kry_alloc(size, 1, key);

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
    if ((*program = build_from_binary(dev, key))) goto done;
    lock = kry_disk_lock(key);
    if ((*program = build_from_binary(dev, key))) goto done; /* another process has built it */
    TRY(build_from_source(dev, name, source, options, program));
    save_binary(key, *program);
done:
    kry_disk_unlock(key, lock);
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
    const bool keeps = kry_cache_directory(dir, sizeof dir);

    if (keeps) pthread_mutex_lock(&building);
    kry_compiling_begin(dev);
    /* PoCL may be compiling a kernel of the caller in a thread of its own. */
    if (!dev->info.gpu) TRY_CL(clFinish(dev->queue));
    TRY((keeps ? build_and_save : build_from_source)(dev, name, source, options, program));
done:
    kry_compiling_end(dev);
    if (keeps) pthread_mutex_unlock(&building);
    return st;
}

kry_status kry_opencl_build(kry_device *dev, const kry_wanted *w, cl_program *program,
                            uint64_t *hash)
{
    kry_status st = KRY_OK;
    char options[1024], *source = NULL;

    TRY(kry_program_source(w->stem, &source));
    compile_options(dev, w->type, w->defines, source, options, sizeof options);
    TRY(build(dev, w->stem, source, options, program));
    *hash = kry_hash(KRY_HASH_START, options, strlen(options) + 1);
    *hash = kry_hash(*hash, source, strlen(source));
done:
    free(source);
    return st;
}

/* ---- the cache in memory ---------------------------------------------------------- */

static void kernel_release(kry_device *dev, kry_kernel *k)
{
    if (!k) return;
    kernel_release(dev, k->spare);
    if (k->handle) dev->driver->drop_kernel(k->handle);
    free((char *)k->name);
    free(k);
}

static void program_release(kry_device *dev, struct kry_program *p)
{
    for (kry_kernel *k = p->kernels, *next; k; k = next) {
        next = k->next;
        kernel_release(dev, k);
    }
    if (p->handle) dev->driver->drop_program(p->handle);
    free(p->key);
    free(p);
}

void kry_programs_release(kry_device *dev)
{
    for (struct kry_program *p = dev->programs, *next; p; p = next) {
        next = p->next;
        program_release(dev, p);
    }
    dev->programs = NULL;
}

static kry_status program_make(kry_device *dev, const kry_wanted *w, struct kry_program **made)
{
    kry_status st = KRY_OK;
    struct kry_program *p = NULL;

    TRY(kry_alloc(1, sizeof *p, &p));
    TRY(kry_alloc(strlen(w->key) + 1, 1, &p->key));
    strcpy(p->key, w->key);
    TRY(dev->driver->build(dev, w, &p->handle, &p->hash));
    p->next = dev->programs;
    dev->programs = p;
    *made = p;
    p = NULL;
done:
    if (p) program_release(dev, p);
    return st;
}

static struct kry_program *program_find(kry_device *dev, const char *key)
{
    struct kry_program *p = dev->programs;
    while (p && strcmp(p->key, key)) p = p->next;
    return p;
}

static kry_kernel *kernel_find(const struct kry_program *p, const char *name)
{
    kry_kernel *k = p ? p->kernels : NULL;
    while (k && strcmp(k->name, name)) k = k->next;
    return k;
}

/* w: NULL for a spare one */
static kry_status kernel_make(kry_device *dev, cl_program program, uint64_t hash,
                              const kry_wanted *w, const char *name, kry_kernel **made)
{
    kry_status st = KRY_OK;
    kry_kernel *k = NULL;
    char *copy = NULL;

    TRY(kry_alloc(1, sizeof *k, &k));
    TRY(kry_alloc(strlen(name) + 1, 1, &copy));
    strcpy(copy, name);
    TRY(dev->driver->kernel(program, w, name, &k->handle));
    k->name = copy;
    k->hash = hash;
    k->program = program;
    copy = NULL;
    *made = k;
    k = NULL;
done:
    free(copy);
    free(k);
    return st;
}

kry_status kry_kernel_take(kry_device *dev, kry_kernel *kernel, kry_kernel **mine)
{
    kry_status st = KRY_OK;
    kry_kernel *k = kernel, *fresh = NULL;

    *mine = NULL;
    do
        if (!atomic_exchange(&k->taken, true)) return *mine = k, KRY_OK;
    while ((k = atomic_load(&k->spare)));
    TRY(kernel_make(dev, kernel->program, kernel->hash, NULL, kernel->name, &fresh));
    atomic_init(&fresh->taken, true);
    *mine = fresh;
    for (k = kernel; k;) { /* append, while other threads may do so, too */
        kry_kernel *next = NULL;
        k = atomic_compare_exchange_strong(&k->spare, &next, fresh) ? NULL : next;
    }
done:
    return st;
}

kry_status kry_kernel_get(kry_device *dev, const char *stem, kry_type type, const char *defines,
                          const char *name, kry_kernel **kernel)
{
    kry_status st = KRY_OK;
    kry_wanted w = { .stem = stem, .defines = defines, .type = type };
    kry_kernel *k = NULL;
    bool locked = false;

    *kernel = NULL;
    TRY(kry_device_check_thread(dev));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "this cannot be done on several devices ('%s') yet",
          dev->info.name);
    CHECK(snprintf(w.key, sizeof w.key, "%s\n%d\n%d\n%d\n%s", stem, (int)type,
                   dev->layout.reproducible + dev->layout.unoptimised, kry_group_size(dev),
                   defines) < (int)sizeof w.key,
          KRY_ERR_BUILD, "kernels '%s': too many defines", stem);
    if ((*kernel = kernel_find(program_find(dev, w.key), name))) return KRY_OK;
    pthread_mutex_lock(&dev->making); /* threads that ask for the same program wait */
    locked = true;
    struct kry_program *p = program_find(dev, w.key);
    if (!p) TRY(program_make(dev, &w, &p));
    if ((k = kernel_find(p, name)) == NULL) {
        TRY(kernel_make(dev, p->handle, p->hash, &w, name, &k));
        k->next = p->kernels;
        p->kernels = k;
    }
    *kernel = k;
done:
    if (locked) pthread_mutex_unlock(&dev->making);
    return st;
}

kry_status kry_device_kernel(kry_device *dev, kry_type type, const char *name, const char *source,
                             const char *options, const char *kernel_name, cl_kernel *kernel)
{
    kry_status st = KRY_OK;
    char *text = NULL, all[1024];
    cl_program program = NULL;
    cl_int err;

    TRY(GIVEN(kernel));
    *kernel = NULL;
    CHECK(dev && name && kernel_name, KRY_ERR_ARGUMENT, "kry_device_kernel: NULL");
    CHECK(dev->context, KRY_ERR_UNSUPPORTED, "kry_device_kernel: '%s' runs no OpenCL kernels",
          dev->info.name);
    TRY(kry_device_check_process(dev));
    TRY(source ? kry_program_source_given(name, source, &text) : kry_program_source(name, &text));
    compile_options(dev, type, options ? options : "", text, all, sizeof all);
    TRY(build(dev, name, text, all, &program));
    *kernel = clCreateKernel(program, kernel_name, &err);
    CHECK(err == CL_SUCCESS, KRY_ERR_BUILD, "kernel '%s' in '%s': %s", kernel_name, name,
          kry_cl_error_name(err));
done:
    if (program) clReleaseProgram(program); /* the kernel keeps it alive */
    free(text);
    return st;
}
