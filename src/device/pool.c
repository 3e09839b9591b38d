/*
 * pool.c - buffers that go from hand to hand while something is set up. A driver takes longer for a large buffer than many
 * a kernel that fills it, and the host has to wait to know that there is room (buffer.c).
 *
 * While a device's pool is open the last release of a buffer made meanwhile keeps it, for whoever asks for about as many
 * bytes next. Work on the old one may still be under way: the queue is in order, so that the new owner's comes later. Some
 * stay when the pool is closed, for what is set up next: to let go of one of a few megabytes also takes longer than to fill it.
 */
#include "device/pool.h"
#include "device/device.h"
#include <pthread.h>

enum { SMALL = 1 << 20 /* bytes: drivers are fast below that */, MOST = 256 };
enum { KEPT = 1 << 25 /* bytes that stay, */, SHARE = 64 /* or of which part of a GPU's memory */ };

typedef struct pool {
    int open; /* how often */
    int count;
    struct {
        cl_mem buffer;
        size_t bytes;
        bool idle;
    } item[MOST]; /* made since it was opened */
} pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all pools */

/* Let go of idle buffers, but for so many bytes of those that were made last. */
static void drain(kry_device *dev, pool *p, size_t keep)
{
    int count = 0;

    for (int i = p->count - 1; i >= 0; i--) {
        if (!p->item[i].idle) continue;
        if (p->item[i].bytes <= keep) {
            keep -= p->item[i].bytes;
        } else {
            dev->driver->drop(p->item[i].buffer);
            p->item[i].buffer = NULL;
        }
    }
    for (int i = 0; i < p->count; i++)
        if (p->item[i].buffer) p->item[count++] = p->item[i];
    p->count = count;
}

static void release(kry_device *dev, void *kept) { drain(dev, kept, 0); }

static const kryi_keeper keeper = { sizeof(pool), release };

static pool *open_pool(const kry_device *dev)
{
    pool *p = kryi_device_kept(dev, &keeper);
    return p && p->open ? p : NULL;
}

kry_status kryi_pool_open(kry_device *dev)
{
    kry_status st = KRY_OK;
    pool *p = NULL;

    if (!dev->context) return KRY_OK; /* the host's memory is its allocator's */
    TRY(kryi_device_keep(dev, &keeper, &p));
    pthread_mutex_lock(&lock);
    p->open++;
    pthread_mutex_unlock(&lock);
done:
    return st;
}

bool kryi_pool_is_open(kry_device *dev)
{
    pthread_mutex_lock(&lock);
    const bool open = open_pool(dev) != NULL;
    pthread_mutex_unlock(&lock);
    return open;
}

void kryi_pool_close(kry_device *dev)
{
    const uint64_t share = dev->info.cpu_kernels ? 0 : dev->info.global_bytes / SHARE;
    int count = 0;

    pthread_mutex_lock(&lock);
    pool *p = open_pool(dev);
    if (p && --p->open == 0) {
        drain(dev, p, share < KEPT ? (size_t)share : KEPT);
        for (int i = 0; i < p->count; i++) /* what others have is theirs from now on */
            if (p->item[i].idle) p->item[count++] = p->item[i];
        p->count = count;
    }
    pthread_mutex_unlock(&lock);
}

bool kryi_pool_drain(kry_device *dev)
{
    pthread_mutex_lock(&lock);
    pool *p = kryi_device_kept(dev, &keeper);
    const int before = p ? p->count : 0;
    if (p) drain(dev, p, 0);
    const bool drained = p && p->count < before;
    pthread_mutex_unlock(&lock);
    return drained;
}

/* One that is at most a quarter too large. */
cl_mem kryi_pool_take(kry_device *dev, size_t bytes)
{
    cl_mem buffer = NULL;
    int best = -1;

    if (bytes < SMALL) return NULL;
    pthread_mutex_lock(&lock);
    pool *p = open_pool(dev);
    for (int i = 0; p && i < p->count; i++) {
        const size_t there = p->item[i].bytes;
        if (!p->item[i].idle || there < bytes || there - bytes > bytes / 4) continue;
        if (best < 0 || there < p->item[best].bytes) best = i;
    }
    if (best >= 0) p->item[best].idle = false, buffer = p->item[best].buffer;
    pthread_mutex_unlock(&lock);
    return buffer;
}

void kryi_pool_enter(kry_device *dev, cl_mem buffer, size_t bytes)
{
    if (bytes < SMALL) return;
    pthread_mutex_lock(&lock);
    pool *p = open_pool(dev);
    int i = 0;
    while (p && i < p->count && p->item[i].buffer != buffer)
        i++; /* an earlier one had its handle */
    if (p && i < MOST) {
        p->item[i].buffer = buffer, p->item[i].bytes = bytes, p->item[i].idle = false;
        if (i == p->count) p->count++;
    }
    pthread_mutex_unlock(&lock);
}

/* Drivers hold buffers of work under way: one that was dropped then is gone some time later, and another one may have got
 * its handle, perhaps a small one that was not entered. Its size tells. */
static bool is_the_last_of(kry_device *dev, cl_mem buffer, size_t bytes)
{
    cl_uint owners = 0;
    size_t there = 0;

    return dev->driver->owners(buffer, &owners) == CL_SUCCESS && owners == 1 &&
           dev->driver->size(buffer, &there) == CL_SUCCESS && there == bytes;
}

bool kryi_pool_give(kry_device *dev, cl_mem buffer)
{
    bool kept = false;

    pthread_mutex_lock(&lock);
    pool *p = open_pool(dev);
    for (int i = 0; p && i < p->count && !kept; i++) {
        if (p->item[i].buffer != buffer || p->item[i].idle) continue;
        kept = is_the_last_of(dev, buffer, p->item[i].bytes);
        p->item[i].idle = kept;
    }
    pthread_mutex_unlock(&lock);
    return kept;
}
