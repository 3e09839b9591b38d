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

struct kry_program {
    struct kry_program *next;
    kry_wanted wanted; /* its texts are owned */
    char *source;      /* owned; NULL until something of it is compiled */
    built *built;
    kry_kernel *_Atomic kernels; /* owned, a list that only grows */
};

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
    char options[KRY_MAX_OPTIONS];

    kry_program_options(dev, w->type, w->defines, options, sizeof options);
    TRY(kry_alloc(1, sizeof *p, &p));
    p->wanted = (kry_wanted){ .type = w->type, .reproducible = w->reproducible };
    strcpy(p->wanted.key, w->key);
    TRY(kry_copy_text(w->stem, &p->wanted.stem));
    TRY(kry_copy_text(w->defines, &p->wanted.defines));
    TRY(kry_copy_text(options, &p->wanted.options));
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
    while (p && strcmp(p->wanted.key, key)) p = p->next;
    return p;
}

static kry_kernel *kernel_find(const struct kry_program *p, const char *name)
{
    kry_kernel *k = p ? p->kernels : NULL;
    while (k && strcmp(k->name, name)) k = k->next;
    return k;
}

static kry_status kernel_make(struct kry_program *p, const char *name, kry_kernel **made)
{
    kry_status st = KRY_OK;
    kry_kernel *k = NULL;

    TRY(kry_alloc(1, sizeof *k, &k));
    k->program = p;
    TRY(kry_copy_text(name, &k->name));
    *made = k;
    k = NULL;
done:
    free(k);
    return st;
}

static kry_status build(kry_device *dev, struct kry_program *p, int part, built **out)
{
    kry_status st = KRY_OK;
    built *b = NULL;

    TRY(kry_alloc(1, sizeof *b, &b));
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
static kry_status compile(kry_device *dev, kry_kernel *k)
{
    kry_status st = KRY_OK;
    struct kry_program *p = k->program;
    built *b = p->built;
    int part = KRY_ALL_PARTS;
    const double start = kry_now();

    if (dev->context) {
        if (!p->source) TRY(kry_program_source(p->wanted.stem, &p->source));
        if (!dev->info.cpu_kernels) part = kry_program_part(p->source, k->name);
    }
    while (b && b->part != part) b = b->next;
    if (!b) TRY(build(dev, p, part, &b));
    if (!k->handle) TRY(dev->driver->kernel(b->handle, &p->wanted, k->name, &k->handle));
    k->hash = b->hash;
    atomic_store(&k->ready, true);
done:
    kry_compiling_count(dev, start);
    return st;
}

kry_status kry_kernel_ready(kry_device *dev, kry_kernel *kernel)
{
    if (atomic_load(&kernel->ready)) return KRY_OK;
    pthread_mutex_lock(&dev->making); /* threads that need the same program wait */
    kry_status st = kernel->ready ? KRY_OK : compile(dev, kernel);
    pthread_mutex_unlock(&dev->making);
    return st;
}

kry_status kry_kernel_take(kry_device *dev, kry_kernel *kernel, kry_kernel **mine)
{
    kry_status st = KRY_OK;
    kry_kernel *k = kernel, *fresh = NULL;

    *mine = NULL;
    TRY(kry_kernel_ready(dev, kernel));
    do
        if (!atomic_exchange(&k->taken, true)) return *mine = k, KRY_OK;
    while ((k = atomic_load(&k->spare)));
    TRY(kernel_make(kernel->program, kernel->name, &fresh));
    fresh->persistent = kernel->persistent;
    TRY(kry_kernel_ready(dev, fresh));
    atomic_init(&fresh->taken, true);
    *mine = fresh;
    for (k = kernel; k;) { /* append, while other threads may do so, too */
        kry_kernel *next = NULL;
        k = atomic_compare_exchange_strong(&k->spare, &next, fresh) ? NULL : next;
    }
    fresh = NULL;
done:
    kernel_release(dev, fresh);
    return st;
}

kry_status kry_kernel_get(kry_device *dev, const char *stem, kry_type type, const char *defines,
                          const char *name, kry_kernel **kernel)
{
    kry_status st = KRY_OK;
    kry_wanted w = {
        .stem = stem, .defines = defines, .type = type, .reproducible = dev->layout.reproducible
    };
    kry_kernel *k = NULL, *fresh = NULL;
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
    pthread_mutex_lock(&dev->making);
    locked = true;
    struct kry_program *p = program_find(dev, w.key);
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
