/* buffer.c - memory of a device. */
#include "base/hooks.h"
#include "device/device.h"
#include "device/pool.h"
#include "device/staged.h"
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
    if (kry_pool_is_open(dev)) return kry_buffer_write_later(dev, buffer, bytes - 1, 1, &zero);
    return kry_buffer_write(dev, buffer, bytes - 1, 1, &zero);
}

/* For tests. */
static kry_status poison(kry_device *dev, cl_mem buffer, size_t bytes)
{
    kry_status st = KRY_OK;
    char *ones = NULL; /* all bits, which is NaN in single and in double */

    if (!kry_test_poison || bytes == 0) return KRY_OK;
    TRY(kry_alloc(bytes, 1, &ones));
    memset(ones, 0xff, bytes);
    TRY(kry_buffer_write(dev, buffer, 0, bytes, ones));
done:
    free(ones);
    return st;
}

/* host: NULL, or where it is mapped. */
static kry_status create(kry_device *dev, size_t bytes, cl_mem *buffer, char **host)
{
    kry_status st = KRY_OK;
    cl_mem mem = NULL;
    cl_int err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    bool forced = false;
    long long most = (long long)dev->info.max_alloc_bytes;

    *buffer = NULL;
    TRY(kry_device_check_process(dev));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "this cannot be done on several devices ('%s') yet",
          dev->info.name);
    CHECK(bytes <= (size_t)most, KRY_ERR_MEMORY,
          "'%s' cannot hold a buffer of %.3f GB: its largest is %.3f GB", dev->info.name,
          1e-9 * (double)bytes, 1e-9 * (double)most);
    if (!host && (*buffer = kry_pool_take(dev, bytes))) return poison(dev, *buffer, bytes);
    forced = kry_test_fails();
    if (!forced) err = dev->driver->create(dev, bytes ? bytes : 16, &mem, host);
    CHECK(err == CL_SUCCESS, KRY_ERR_MEMORY, "'%s' has no room for a buffer of %.6f GB: %s",
          dev->info.name, 1e-9 * (double)bytes, kry_cl_error_name(err));
    if (!host && touch(dev, mem, bytes) < 0)
        TRY(kry_fail(KRY_ERR_MEMORY, "'%s' has no room for a buffer of %.6f GB: %s", dev->info.name,
                     1e-9 * (double)bytes, kry_last_error()));
    if (!host) TRY(poison(dev, mem, bytes));
    kry_pool_enter(dev, mem, bytes);
    *buffer = mem;
    mem = NULL;
done:
    if (mem) dev->driver->drop(mem);
    return st < 0 && !forced && kry_pool_drain(dev) ? create(dev, bytes, buffer, host) : st;
}

kry_status kry_buffer_create(kry_device *dev, size_t bytes, cl_mem *buffer)
{
    return create(dev, bytes, buffer, NULL);
}

/* Where arrays are small, drivers are as fast. */
static bool is_the_hosts(const kry_device *dev, size_t bytes)
{
    const size_t least = kry_test_parts ? 1 : KRY_LARGE_ARRAY;
    return dev->context && bytes >= least && !strcmp(dev->info.kind, "cpu");
}

kry_status kry_buffer_create_mapped(kry_device *dev, size_t bytes, cl_mem *buffer, char **host)
{
    kry_status st = KRY_OK;

    *buffer = NULL, *host = NULL;
    if (!is_the_hosts(dev, bytes)) return KRY_OK;
    TRY(create(dev, bytes, buffer, host));
    if (kry_test_poison) memset(*host, 0xff, bytes);
done:
    return st;
}

kry_status kry_buffer_unmap(kry_device *dev, cl_mem buffer, char **host)
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
void kry_buffer_release(kry_device *dev, cl_mem *buffer)
{
    if (!*buffer) return;
    dev->generation++;
    if (!kry_test_keep_buffers && !kry_pool_give(dev, *buffer)) dev->driver->drop(*buffer);
    *buffer = NULL;
}

kry_status kry_buffer_retain(kry_device *dev, cl_mem buffer)
{
    return kry_cl_check(dev->driver->retain(buffer), __func__, "clRetainMemObject");
}

kry_status kry_buffer_size(const char *who, kry_device *dev, cl_mem buffer, size_t *bytes)
{
    kry_status st = KRY_OK;
    cl_context context = dev->context; /* NULL: of the host device */

    if (!context)
        CHECK(!dev->driver->size(buffer, bytes), KRY_ERR_ARGUMENT,
              "%s: on the device '%s' a buffer is what kry_vec_buffer gives, not other memory", who,
              dev->info.name);
    TRY(kry_cl_check(dev->driver->size(buffer, bytes), who, "clGetMemObjectInfo"));
    if (context)
        TRY(kry_cl_check(clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, NULL),
                         who, "clGetMemObjectInfo"));
    CHECK(context == dev->context, KRY_ERR_ARGUMENT,
          "%s: the buffer belongs to another OpenCL context than the device '%s'", who,
          dev->info.name);
done:
    return st;
}

static kry_status write_bytes(kry_device *dev, bool wait, const kry_transfer *t)
{
    if (t->bytes == 0) return KRY_OK;
    return kry_cl_check(dev->driver->write(dev, wait, t, NULL), "kry_buffer_write",
                        "clEnqueueWriteBuffer");
}

kry_status kry_buffer_write(kry_device *dev, cl_mem buffer, size_t at, size_t bytes,
                            const void *from)
{
    kry_status st = KRY_OK;
    const kry_transfer t = { buffer, at, bytes, from };
    bool written;

    TRY(kry_staged_write(dev, &t, &written));
    if (!written) TRY(write_bytes(dev, true, &t));
done:
    return st;
}

kry_status kry_buffer_write_later(kry_device *dev, cl_mem buffer, size_t at, size_t bytes,
                                  const void *from)
{
    return write_bytes(dev, false, &(kry_transfer){ buffer, at, bytes, from });
}

typedef struct copying {
    const char *from;
    char *to;
} copying;

static void copy_bytes(void *user, int part, int64_t begin, int64_t end)
{
    const copying *c = user;

    (void)part;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
}

kry_status kry_buffer_upload(kry_device *dev, size_t bytes, const void *from, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    copying c = { .from = from };

    TRY(kry_buffer_create_mapped(dev, bytes, buffer, &c.to));
    if (c.to) {
        kry_parallel(kry_parts((int64_t)(bytes / sizeof(double))), (int64_t)bytes, copy_bytes, &c);
        TRY(kry_buffer_unmap(dev, *buffer, &c.to));
    } else {
        TRY(kry_buffer_create(dev, bytes, buffer));
        TRY(kry_buffer_write(dev, *buffer, 0, bytes, from));
    }
done:
    if (st < 0) kry_buffer_release(dev, buffer);
    return st;
}

kry_status kry_buffer_read(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, void *to)
{
    if (bytes == 0) return KRY_OK;
    return kry_cl_check(dev->driver->read(dev, true, buffer, at, bytes, to, NULL), __func__,
                        "clEnqueueReadBuffer");
}

kry_status kry_buffer_read_later(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, void *to,
                                 cl_event *ended)
{
    return kry_cl_check(dev->driver->read(dev, false, buffer, at, bytes, to, ended), __func__,
                        "clEnqueueReadBuffer");
}

kry_status kry_buffer_copy(kry_device *dev, cl_mem from, size_t from_at, cl_mem to, size_t to_at,
                           size_t bytes)
{
    if (bytes == 0) return KRY_OK;
    return kry_cl_check(dev->driver->copy(dev, from, from_at, to, to_at, bytes), __func__,
                        "clEnqueueCopyBuffer");
}

kry_status kry_event_wait(kry_device *dev, cl_event *event)
{
    cl_event given = *event;

    *event = NULL;
    if (!given) return KRY_OK;
    return kry_cl_check(dev->driver->wait(dev, given), __func__, "clWaitForEvents");
}

void kry_event_release(kry_device *dev, cl_event *event)
{
    if (*event) dev->driver->drop_event(*event);
    *event = NULL;
}

void kry_device_drain(kry_device *dev) { dev->driver->wait(dev, NULL); }
