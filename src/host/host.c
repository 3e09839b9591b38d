/* host.c - the host as a driver of kry_device: memory of the process, and functions that were compiled with the
 * library in place of programs (compiled.c). Everything has happened when a call returns. */
#include "host/compiled.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- buffers: a cl_mem is the address of the bytes, which this stands before ---- */

enum { ALIGNED = 128 }; /* bytes, as OpenCL has it: kernels load whole vectors */

typedef struct block {
    struct block *before, *next; /* in `blocks` */
    atomic_size_t refs;
    size_t bytes;
    void *memory; /* to be freed */
} block;

static block *block_of(cl_mem buffer) { return (block *)(void *)((char *)buffer - sizeof(block)); }

/* All blocks that there are: host_size knows by them which addresses are buffers. */
static block *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void unlock(void) { pthread_mutex_unlock(&lock); }
static void take_lock(void) { pthread_mutex_lock(&lock); }
/* The child of a fork() finds a list that is whole. */
static void watch_forks(void) { pthread_atfork(take_lock, unlock, unlock); }

static void lock_blocks(void)
{
    pthread_once(&once, watch_forks);
    take_lock();
}

static void enlist(block *b)
{
    lock_blocks();
    b->next = blocks;
    if (blocks) blocks->before = b;
    blocks = b;
    unlock();
}

static void delist(const block *b)
{
    lock_blocks();
    if (b->next) b->next->before = b->before;
    *(b->before ? &b->before->next : &blocks) = b->next;
    unlock();
}

/* Memory of somebody else is not put into a block: the buffer is only what releases its handle. */
static cl_int host_create(kry_device *dev, size_t bytes, cl_mem *buffer, char **host)
{
    char *memory = NULL;
    const bool over = host && *host;

    (void)dev;
    if (over) bytes = 0;
    if (kryi_alloc(1, sizeof(block) + ALIGNED + bytes, &memory) < 0) return CL_OUT_OF_HOST_MEMORY;
    char *data = memory + sizeof(block);
    data += (ALIGNED - (uintptr_t)data % ALIGNED) % ALIGNED;
    block *b = block_of((cl_mem)(void *)data);
    *b = (block){ .refs = 1, .bytes = bytes, .memory = memory };
    enlist(b);
    *buffer = (cl_mem)(void *)data;
    if (host && !over) *host = data;
    return CL_SUCCESS;
}

static cl_int host_unmap(kry_device *dev, cl_mem buffer, char *host)
{
    (void)dev, (void)buffer, (void)host;
    return CL_SUCCESS;
}

static cl_int host_retain(cl_mem buffer)
{
    block_of(buffer)->refs++;
    return CL_SUCCESS;
}

static cl_int host_drop(cl_mem buffer)
{
    block *b = block_of(buffer);
    if (--b->refs) return CL_SUCCESS;
    delist(b);
    free(b->memory);
    return CL_SUCCESS;
}

static cl_int host_size(cl_mem buffer, size_t *bytes)
{
    const block *b;

    lock_blocks();
    for (b = blocks; b && (const void *)(b + 1) != (const void *)buffer;) b = b->next;
    if (b) *bytes = b->bytes;
    unlock();
    return b ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

/* An event that has happened: not NULL, for that would be none. */
static char happened;

static cl_int host_read(kry_device *dev, bool wait, cl_mem buffer, size_t at, size_t bytes,
                        void *to, cl_event *ended)
{
    (void)dev, (void)wait;
    memcpy(to, (const char *)buffer + at, bytes);
    if (ended) *ended = (cl_event)(void *)&happened;
    return CL_SUCCESS;
}

static cl_int host_write(kry_device *dev, bool wait, const kryi_transfer *t, cl_event *ended)
{
    (void)dev, (void)wait;
    memcpy((char *)t->buffer + t->at, t->from, t->bytes);
    if (ended) *ended = NULL;
    return CL_SUCCESS;
}

static cl_int host_copy(kry_device *dev, cl_mem from, size_t from_at, cl_mem to, size_t to_at,
                        size_t bytes)
{
    const kryi_transfer t = { to, to_at, bytes, (const char *)from + from_at };
    return host_write(dev, true, &t, NULL);
}

static cl_int host_wait(kry_device *dev, cl_event event)
{
    (void)dev, (void)event;
    return CL_SUCCESS;
}

static void drop_event(cl_event event) { (void)event; }

/* ---- kernels: programs are nothing ---- */

static kry_status host_build(kry_device *dev, const kryi_wanted *w, const char *source, int part,
                             cl_program *program, uint64_t *hash)
{
    (void)dev, (void)w, (void)source, (void)part;
    *program = NULL, *hash = 0; /* NULL is never dropped */
    return KRY_OK;
}

static kry_status host_kernel(cl_program program, const kryi_wanted *w, const char *name,
                              cl_kernel *kernel)
{
    (void)program;
    return kryi_host_kernel(w, name, kernel);
}

static void drop_kernel(cl_kernel kernel) { free(kernel); }

static kry_status host_launch(kry_device *dev, kryi_kernel *kernel, const kryi_range *range,
                              const kry_arg *args, size_t count)
{
    const kry_status st = kryi_kernel_ready(dev, kernel);
    return st < 0 ? st : kryi_host_launch(dev, kernel, range, args, count);
}

/* ---- the device ---- */

static kry_status host_finish(kry_device *dev)
{
    (void)dev;
    return KRY_OK;
}

static void host_release(kry_device *dev)
{
    kryi_programs_release(dev);
    kryi_tuning_release(dev);
    kry_device_release(&dev->beside);
    kryi_host_pool_release(&dev->pool);
}

static const kryi_driver host_driver = { .finish = host_finish,
                                         .release = host_release,
                                         .create = host_create,
                                         .unmap = host_unmap,
                                         .retain = host_retain,
                                         .drop = host_drop,
                                         .size = host_size,
                                         .read = host_read,
                                         .write = host_write,
                                         .copy = host_copy,
                                         .wait = host_wait,
                                         .drop_event = drop_event,
                                         .build = host_build,
                                         .kernel = host_kernel,
                                         .drop_kernel = drop_kernel,
                                         .launch = host_launch };

static void describe(kry_device_info *info)
{
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    if (memory > PTRDIFF_MAX) memory = PTRDIFF_MAX; /* the most that a process of 32 bits gets */

    *info = (kry_device_info){ .name = "host",
                               .vendor = "kry",
                               .driver = KRY_VERSION,
                               .platform = "no OpenCL",
                               .kind = "host",
                               .fp64 = true,
                               .cpu_kernels = true,
                               .lanes = 1,
                               .max_group = 1,
                               .local_bytes = 32768,
                               .max_alloc_bytes = memory,
                               .global_bytes = memory };
}

kry_status kryi_host_open(kry_device **device)
{
    kry_status st = KRY_OK;
    kry_device_info info;

    *device = NULL;
    describe(&info);
    TRY(kryi_device_new(&host_driver, device));
    kryi_host_kernels_describe(&info);
    (*device)->pool = kryi_host_pool_common();
    (*device)->info = info;
    kryi_shape_load(*device);
done:
    return st;
}

static void change_pool(kry_device *dev, kryi_host_pool *pool, int threads)
{
    kryi_host_pool_release(&dev->pool);
    dev->pool = pool;
    dev->info.compute_units = threads;
}

kry_status kryi_host_take_threads(kry_device *dev, int threads)
{
    kryi_host_pool *pool;
    const kry_status st = kryi_host_pool_create(threads, &pool);

    if (st == KRY_OK) change_pool(dev, pool, threads);
    return st;
}

void kryi_host_share_threads(kry_device *dev)
{
    change_pool(dev, kryi_host_pool_common(), kryi_host_threads());
}

kry_status kryi_host_beside(kry_device *beside, kry_device **device)
{
    kry_status st = KRY_OK;

    TRY(kryi_host_check_kernels());
    TRY(kryi_host_open(device));
    (*device)->beside = kry_device_retain(beside);
done:
    return st;
}
