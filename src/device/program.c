/* program.c - the programs of a device and their kernels, kept in memory. To compile one takes NVIDIA's driver tenths of a
 * second, and a set-up asks for more than a solve launches. So a program is compiled when one of its kernels is first
 * launched or asked about, and on GPUs only the part of its file that this kernel is in. */
#include "device/launch.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part of a program, or all of it, compiled. */
typedef struct built {
    struct built *next;
    cl_program handle;
    uint64_t hash; /* of text and options */
    int part;
} built;

struct kryi_program {
    struct kryi_program *next;
    kryi_wanted wanted; /* its texts are owned */
    char *source;       /* owned; NULL until something of it is compiled */
    built *built;
    kryi_kernel *_Atomic kernels; /* owned, a list that only grows */
};

static void kernel_release(kry_device *dev, kryi_kernel *k)
{
    if (!k) return;
    kernel_release(dev, k->spare);
    if (k->handle) dev->driver->drop_kernel(k->handle);
    free((char *)k->name);
    free(k);
}

static void program_release(kry_device *dev, struct kryi_program *p)
{
    for (kryi_kernel *k = p->kernels, *next; k; k = next) {
        next = k->next;
        kernel_release(dev, k);
    }
    for (built *b = p->built, *next; b; b = next) {
        next = b->next;
        if (b->handle) dev->driver->drop_program(b->handle);
        free(b);
    }
    free(p->source);
    free((char *)p->wanted.stem);
    free((char *)p->wanted.defines);
    free((char *)p->wanted.options);
    free(p);
}

void kryi_programs_release(kry_device *dev)
{
    for (struct kryi_program *p = dev->programs, *next; p; p = next) {
        next = p->next;
        program_release(dev, p);
    }
    dev->programs = NULL;
}

static kry_status program_make(kry_device *dev, const kryi_wanted *w, struct kryi_program **made)
{
    kry_status st = KRY_OK;
    struct kryi_program *p = NULL;
    char options[KRY_MAX_OPTIONS];

    kryi_program_options(dev, w->type, w->defines, options, sizeof options);
    TRY(kryi_alloc(1, sizeof *p, &p));
    p->wanted = *w;
    p->wanted.stem = p->wanted.defines = NULL; /* until there are copies */
    TRY(kryi_copy_text(w->stem, &p->wanted.stem));
    TRY(kryi_copy_text(w->defines, &p->wanted.defines));
    TRY(kryi_copy_text(options, &p->wanted.options));
    p->next = dev->programs;
    dev->programs = p;
    *made = p;
    p = NULL;
done:
    if (p) program_release(dev, p);
    return st;
}

static bool is_alike(const kryi_wanted *a, const kryi_wanted *b)
{
    return a->type == b->type && a->group == b->group && a->reproducible == b->reproducible &&
           a->unoptimised == b->unoptimised && !strcmp(a->stem, b->stem) &&
           !strcmp(a->defines, b->defines);
}

/* Every launch of a kernel that its caller does not keep comes here, so nothing is printed or allocated. */
static struct kryi_program *program_find(kry_device *dev, const kryi_wanted *w)
{
    struct kryi_program *p = dev->programs;
    while (p && !is_alike(&p->wanted, w)) p = p->next;
    return p;
}

static kryi_kernel *kernel_find(const struct kryi_program *p, const char *name)
{
    kryi_kernel *k = p ? p->kernels : NULL;
    while (k && strcmp(k->name, name)) k = k->next;
    return k;
}

static kry_status kernel_make(struct kryi_program *p, const char *name, kryi_kernel **made)
{
    kry_status st = KRY_OK;
    kryi_kernel *k = NULL;

    TRY(kryi_alloc(1, sizeof *k, &k));
    k->program = p;
    TRY(kryi_copy_text(name, &k->name));
    *made = k;
    k = NULL;
done:
    free(k);
    return st;
}

static kry_status build(kry_device *dev, struct kryi_program *p, int part, built **out)
{
    kry_status st = KRY_OK;
    built *b = NULL;

    TRY(kryi_alloc(1, sizeof *b, &b));
    b->part = part;
    TRY(dev->driver->build(dev, &p->wanted, p->source, part, &b->handle, &b->hash));
    b->next = p->built;
    *out = p->built = b;
    b = NULL;
done:
    free(b);
    return st;
}

/* The caller has the lock. */
static kry_status compile(kry_device *dev, kryi_kernel *k)
{
    kry_status st = KRY_OK;
    struct kryi_program *p = k->program;
    built *b = p->built;
    int part = KRY_ALL_PARTS;
    const double start = kryi_now();

    if (dev->context) {
        if (!p->source) TRY(kryi_program_source(p->wanted.stem, &p->source));
        if (!dev->info.cpu_kernels) part = kryi_program_part(p->source, k->name);
    }
    while (b && b->part != part) b = b->next;
    if (!b) TRY(build(dev, p, part, &b));
    if (!k->handle) TRY(dev->driver->kernel(b->handle, &p->wanted, k->name, &k->handle));
    k->hash = b->hash;
    atomic_store(&k->ready, true);
done:
    kryi_compiling_count(dev, start);
    return st;
}

kry_status kryi_kernel_ready(kry_device *dev, kryi_kernel *kernel)
{
    if (atomic_load(&kernel->ready)) return KRY_OK;
    pthread_mutex_lock(&dev->making); /* threads that need the same program wait */
    kry_status st = kernel->ready ? KRY_OK : compile(dev, kernel);
    pthread_mutex_unlock(&dev->making);
    return st;
}

kry_status kryi_kernel_take(kry_device *dev, kryi_kernel *kernel, kryi_kernel **mine)
{
    kry_status st = KRY_OK;
    kryi_kernel *k = kernel, *fresh = NULL;

    *mine = NULL;
    TRY(kryi_kernel_ready(dev, kernel));
    do
        if (!atomic_exchange(&k->taken, true)) return *mine = k, KRY_OK;
    while ((k = atomic_load(&k->spare)));
    TRY(kernel_make(kernel->program, kernel->name, &fresh));
    fresh->persistent = kernel->persistent;
    TRY(kryi_kernel_ready(dev, fresh));
    atomic_init(&fresh->taken, true);
    *mine = fresh;
    for (k = kernel; k;) { /* append, while other threads may do so, too */
        kryi_kernel *next = NULL;
        k = atomic_compare_exchange_strong(&k->spare, &next, fresh) ? NULL : next;
    }
    fresh = NULL;
done:
    kernel_release(dev, fresh);
    return st;
}

kry_status kryi_kernel_get(kry_device *dev, const char *stem, kry_type type, const char *defines,
                           const char *name, kryi_kernel **kernel)
{
    kry_status st = KRY_OK;
    const kryi_wanted w = { .stem = stem,
                            .defines = defines,
                            .type = type,
                            .reproducible = dev->layout.reproducible,
                            .unoptimised = dev->layout.unoptimised,
                            .group = kryi_group_size(dev) };
    kryi_kernel *k = NULL, *fresh = NULL;
    bool locked = false;

    *kernel = NULL;
    TRY(kryi_device_check_thread(dev));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "this cannot be done on several devices ('%s') yet",
          dev->info.name);
    if ((*kernel = kernel_find(program_find(dev, &w), name))) return KRY_OK;
    CHECK(strlen(defines) < KRY_MAX_OPTIONS / 2, KRY_ERR_BUILD, "kernels '%s': too many defines",
          stem);
    pthread_mutex_lock(&dev->making);
    locked = true;
    struct kryi_program *p = program_find(dev, &w);
    if (!p) TRY(program_make(dev, &w, &p));
    if ((k = kernel_find(p, name)) == NULL) {
        TRY(kernel_make(p, name, &fresh));
        if (!dev->context)
            TRY(compile(dev, fresh)); /* the host: what it does not have is refused here */
        fresh->next = p->kernels;
        p->kernels = k = fresh;
        fresh = NULL;
    }
    *kernel = k;
done:
    kernel_release(dev, fresh);
    if (locked) pthread_mutex_unlock(&dev->making);
    return st;
}

kry_status kryi_kernels_get(kry_device *dev, const char *stem, kry_type type, const char *defines,
                            const kryi_named_kernel *kernels, size_t count)
{
    kry_status st = KRY_OK;

    for (size_t i = 0; i < count; i++)
        TRY(kryi_kernel_get(dev, stem, type, defines, kernels[i].name, kernels[i].kernel));
done:
    return st;
}
