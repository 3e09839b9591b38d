/* buffer.c - memory of a device. */
#include "base/hooks.h"
#include "device/device.h"
#include "device/pool.h"
#include <stdlib.h>
#include <string.h>

/* Drivers that allocate lazily accept a buffer that they cannot hold: write one byte and wait,
 * so that a full device says so here and not in the middle of a solve. While something is set up with an open
 * pool, that waits for all in the end. */
static kry_status touch(kry_device *dev, cl_mem buffer, size_t bytes)
{
    enum { SMALL = 1 << 20 }; /* below it, waiting costs more than a late error */
    static const char zero = 0;
    if (bytes < SMALL) return KRY_OK;
    if (kryi_pool_is_open(dev)) return kryi_buffer_write_later(dev, buffer, bytes - 1, 1, &zero);
    return kryi_buffer_write(dev, buffer, bytes - 1, 1, &zero);
}

/* For tests. */
static kry_status poison(kry_device *dev, cl_mem buffer, size_t bytes)
{
    kry_status st = KRY_OK;
    char *ones = NULL; /* all bits, which is NaN in single and in double */

    TRY(kryi_alloc(bytes, 1, &ones));
    memset(ones, 0xff, bytes);
    TRY(kryi_buffer_write(dev, buffer, 0, bytes, ones));
done:
    free(ones);
    return st;
}

/* host: NULL, or where it is mapped. */
static kry_status create(kry_device *dev, uint64_t wanted, cl_mem *buffer, char **host)
{
    kry_status st = KRY_OK;
    cl_mem mem = NULL;
    cl_int err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    bool forced = false;
    const size_t bytes = (size_t)wanted;
    const uint64_t most = (uint64_t)dev->info.max_alloc_bytes;

    *buffer = NULL;
    TRY(kryi_device_check_process(dev));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "this cannot be done on several devices ('%s') yet",
          dev->info.name);
    CHECK(wanted <= most, KRY_ERR_MEMORY,
          "'%s' cannot hold a buffer of %.3f GB: its largest is %.3f GB", dev->info.name,
          1e-9 * (double)wanted, 1e-9 * (double)most);
    if (!host && (*buffer = kryi_pool_take(dev, bytes)))
        return kryi_test_poison ? poison(dev, *buffer, bytes) : KRY_OK;
    forced = kryi_test_fails();
    if (!forced) err = dev->driver->create(dev, bytes ? bytes : 16, &mem, host);
    CHECK(err == CL_SUCCESS, KRY_ERR_MEMORY, "'%s' has no room for a buffer of %.6f GB: %s",
          dev->info.name, 1e-9 * (double)bytes, kryi_cl_error_name(err));
    if (!host && touch(dev, mem, bytes) < 0)
        TRY(kry_fail(KRY_ERR_MEMORY, "'%s' has no room for a buffer of %.6f GB: %s", dev->info.name,
                     1e-9 * (double)bytes, kry_last_error()));
    if (!host && kryi_test_poison && bytes > 0) TRY(poison(dev, mem, bytes));
    kryi_pool_enter(dev, mem, bytes);
    *buffer = mem;
    mem = NULL;
done:
    if (mem) dev->driver->drop(mem);
    return st < 0 && !forced && kryi_pool_drain(dev) ? create(dev, wanted, buffer, host) : st;
}

kry_status kryi_buffer_create(kry_device *dev, uint64_t bytes, cl_mem *buffer)
{
    return create(dev, bytes, buffer, NULL);
}

kry_status kryi_buffer_create_mapped(kry_device *dev, size_t bytes, cl_mem *buffer, char **host)
{
    kry_status st = KRY_OK;
    const size_t least = kryi_test_parts ? 1 : KRY_LARGE_ARRAY; /* drivers are as fast below it */

    *buffer = NULL, *host = NULL;
    if (!dev->context || bytes < least || strcmp(dev->info.kind, "cpu") != 0) return KRY_OK;
    TRY(create(dev, bytes, buffer, host));
    if (kryi_test_poison) memset(*host, 0xff, bytes);
done:
    return st;
}

kry_status kryi_buffer_unmap(kry_device *dev, cl_mem buffer, char **host)
{
    kry_status st = KRY_OK;
    char *given = *host;

    *host = NULL;
    if (!given) return KRY_OK;
    TRY_CL(dev->driver->unmap(dev, buffer, given));
    TRY_CL(dev->driver->wait(dev, NULL)); /* other queues may use it next */
done:
    return st;
}

/* Counted first: once it is gone, the device's thread may get another buffer with the same handle. */
void kryi_buffer_release(kry_device *dev, cl_mem *buffer)
{
    if (!*buffer) return;
    dev->generation++;
    if (!kryi_test_keep_buffers && !kryi_pool_give(dev, *buffer)) dev->driver->drop(*buffer);
    *buffer = NULL;
}

kry_status kryi_buffer_retain(kry_device *dev, cl_mem buffer)
{
    return kryi_cl_check(dev->driver->retain(buffer), __func__, "clRetainMemObject");
}

kry_status kryi_buffer_size(const char *who, kry_device *dev, cl_mem buffer, size_t *bytes)
{
    kry_status st = KRY_OK;
    cl_context context = dev->context; /* NULL: of the host device */

    if (!context)
        CHECK(!dev->driver->size(buffer, bytes), KRY_ERR_ARGUMENT,
              "%s: on the device '%s' a buffer is what kry_vec_buffer gives, not other memory", who,
              dev->info.name);
    TRY(kryi_cl_check(dev->driver->size(buffer, bytes), who, "clGetMemObjectInfo"));
    if (context)
        TRY(kryi_cl_check(
            clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, NULL), who,
            "clGetMemObjectInfo"));
    CHECK(context == dev->context, KRY_ERR_ARGUMENT,
          "%s: the buffer belongs to another OpenCL context than the device '%s'", who,
          dev->info.name);
done:
    return st;
}

static kry_status write_bytes(kry_device *dev, bool wait, const kryi_transfer *t)
{
    if (t->bytes == 0) return KRY_OK;
    return kryi_cl_check(dev->driver->write(dev, wait, t, NULL), "kryi_buffer_write",
                         "clEnqueueWriteBuffer");
}

/* ---- large arrays by way of memory that the GPU reads by itself ------------------------------ */

/*
 * A driver that is given memory that the GPU does not read by itself copies it to such memory first, on one thread, which takes longer than the way
 * to the GPU. Here several threads do, each with two slots: it fills one while the other is on its way.
 */

enum { MOST_PARTS = 8, SLOTS = 2 };
enum { CHUNK = 1 << 20, SMALL = 1 << 12 /* bytes of a slot; in tests */ };

typedef struct staging {
    atomic_bool busy;  /* with another thread's array */
    kryi_pinned slots; /* of all parts; made for the first array */
} staging;

static void staging_release(kry_device *dev, void *kept)
{
    kryi_pinned_release(dev, &((staging *)kept)->slots);
}

static const kryi_keeper keeper = { sizeof(staging), staging_release };

/* The staging of this device, which nobody else uses then. NULL: others do, or there is no such memory. */
static staging *take(kry_device *dev)
{
    staging *s;

    if (kryi_device_keep(dev, &keeper, &s) < 0 || atomic_exchange(&s->busy, true)) return NULL;
    if (s->slots.host || kryi_pinned_create(dev, MOST_PARTS * SLOTS * CHUNK, &s->slots) == KRY_OK)
        return s;
    atomic_store(&s->busy, false);
    return NULL;
}

typedef struct send_job {
    kry_device *dev;
    const kryi_transfer *t;
    char *slots;
    int64_t chunk;              /* bytes, at most */
    pthread_mutex_t lock;       /* of the queue, and of whoever traces it */
    cl_int err[KRY_MOST_PARTS]; /* of each part: messages are their thread's own */
} send_job;

static cl_int wait_for(kry_device *dev, cl_event *sent)
{
    const cl_event event = *sent;

    *sent = NULL;
    return event ? dev->driver->wait(dev, event) : CL_SUCCESS;
}

static cl_int send_chunk(send_job *s, int64_t chunk, char *slot, cl_event *sent)
{
    const kryi_transfer *t = s->t;
    const size_t at = (size_t)(chunk * s->chunk), left = t->bytes - at;
    const size_t bytes = left < (size_t)s->chunk ? left : (size_t)s->chunk;

    cl_int err = wait_for(s->dev, sent);
    if (err) return err;
    memcpy(slot, (const char *)t->from + at, bytes);
    pthread_mutex_lock(&s->lock);
    err = s->dev->driver->write(s->dev, false,
                                &(kryi_transfer){ t->buffer, t->at + at, bytes, slot }, sent);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static void send_chunks(void *user, int part, int64_t begin, int64_t end)
{
    send_job *s = user;
    char *slot = s->slots + (int64_t)part * SLOTS * CHUNK;
    cl_event sent[SLOTS] = { NULL };
    cl_int err = CL_SUCCESS;

    for (int64_t c = begin; c < end && !err; c++)
        err = send_chunk(s, c, slot + c % SLOTS * CHUNK, &sent[c % SLOTS]);
    for (int i = 0; i < SLOTS; i++) {
        const cl_int waited = wait_for(s->dev, &sent[i]);
        if (!err) err = waited;
    }
    s->err[part] = err;
}

static int parts_for(size_t bytes)
{
    const int parts = kryi_parts((int64_t)(bytes / sizeof(double)));
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

/* To make the slots takes about as long as a driver takes for the larger size. */
static bool is_worth_it(const kry_device *dev, size_t bytes)
{
    enum { WORTH = 8 * CHUNK, WORTH_SLOTS = 64 * CHUNK };

    if (kryi_test_parts) return dev->context && bytes > SMALL;
    if (!dev->info.gpu || bytes < WORTH || parts_for(bytes) <= 1) return false;
    const staging *s = kryi_device_kept(dev, &keeper);
    return bytes >= WORTH_SLOTS || (s && s->slots.host);
}

static kry_status send(kry_device *dev, const kryi_transfer *t, char *slots)
{
    kry_status st = KRY_OK;
    const int parts = parts_for(t->bytes);
    send_job s = { .dev = dev, .t = t, .slots = slots, .chunk = kryi_test_parts ? SMALL : CHUNK };
    const int64_t chunks = ((int64_t)t->bytes + s.chunk - 1) / s.chunk;

    pthread_mutex_init(&s.lock, NULL);
    kryi_parallel(parts, chunks, send_chunks, &s);
    pthread_mutex_destroy(&s.lock);
    for (int p = 0; p < parts; p++)
        TRY(kryi_cl_check(s.err[p], "kryi_buffer_write", "clEnqueueWriteBuffer"));
done:
    return st;
}

/* ---- copies ---------------------------------------------------------------------------------- */

kry_status kryi_buffer_write(kry_device *dev, cl_mem buffer, size_t at, size_t bytes,
                             const void *from)
{
    const kryi_transfer t = { buffer, at, bytes, from };
    staging *s = is_worth_it(dev, bytes) ? take(dev) : NULL;

    if (!s) return write_bytes(dev, true, &t);
    const kry_status st = send(dev, &t, s->slots.host);
    atomic_store(&s->busy, false);
    return st;
}

kry_status kryi_buffer_write_later(kry_device *dev, cl_mem buffer, size_t at, size_t bytes,
                                   const void *from)
{
    return write_bytes(dev, false, &(kryi_transfer){ buffer, at, bytes, from });
}

typedef struct copy_job {
    const char *from;
    char *to;
} copy_job;

static void copy_bytes(void *user, int part, int64_t begin, int64_t end)
{
    const copy_job *c = user;

    (void)part;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
}

kry_status kryi_buffer_upload(kry_device *dev, size_t bytes, const void *from, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    copy_job c = { .from = from };

    TRY(kryi_buffer_create_mapped(dev, bytes, buffer, &c.to));
    if (c.to) {
        kryi_parallel(kryi_parts((int64_t)(bytes / sizeof(double))), (int64_t)bytes, copy_bytes,
                      &c);
        TRY(kryi_buffer_unmap(dev, *buffer, &c.to));
    } else {
        TRY(kryi_buffer_create(dev, bytes, buffer));
        TRY(kryi_buffer_write(dev, *buffer, 0, bytes, from));
    }
done:
    if (st < 0) kryi_buffer_release(dev, buffer);
    return st;
}

kry_status kryi_buffer_read(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, void *to)
{
    if (bytes == 0) return KRY_OK;
    return kryi_cl_check(dev->driver->read(dev, true, buffer, at, bytes, to, NULL), __func__,
                         "clEnqueueReadBuffer");
}

kry_status kryi_buffer_read_later(kry_device *dev, cl_mem buffer, size_t bytes, void *to,
                                  cl_event *ended)
{
    return kryi_cl_check(dev->driver->read(dev, false, buffer, 0, bytes, to, ended), __func__,
                         "clEnqueueReadBuffer");
}

kry_status kryi_buffer_copy(kry_device *dev, cl_mem from, size_t from_at, cl_mem to, size_t to_at,
                            size_t bytes)
{
    if (bytes == 0) return KRY_OK;
    return kryi_cl_check(dev->driver->copy(dev, from, from_at, to, to_at, bytes), __func__,
                         "clEnqueueCopyBuffer");
}

kry_status kryi_event_wait(kry_device *dev, cl_event *event)
{
    cl_event given = *event;

    *event = NULL;
    if (!given) return KRY_OK;
    return kryi_cl_check(dev->driver->wait(dev, given), __func__, "clWaitForEvents");
}

void kryi_event_release(kry_device *dev, cl_event *event)
{
    if (*event) dev->driver->drop_event(*event);
    *event = NULL;
}

void kryi_device_drain(kry_device *dev) { dev->driver->wait(dev, NULL); }
