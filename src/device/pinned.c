/*
 * pinned.c - memory of the host that devices read and write by themselves. A driver takes longer to make it than a whole
 * multigrid hierarchy takes to set up (0.7 ms on an H100), so that a device keeps what was released for whoever asks for as
 * much next.
 */
#include "device/device.h"
#include <pthread.h>

enum { KEPT = 8, LARGEST = 1 << 20 /* bytes that are worth keeping */ };

typedef struct spares {
    int count;
    struct {
        kryi_pinned pinned;
        size_t bytes;
    } item[KEPT];
} spares;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all devices */

static void give_back(kry_device *dev, kryi_pinned *pinned)
{
    if (pinned->host) {
        dev->driver->unmap(dev, pinned->buffer, pinned->host);
        kryi_device_drain(dev);
    }
    kryi_buffer_release(dev, &pinned->buffer);
    pinned->host = NULL;
}

static void release(kry_device *dev, void *kept)
{
    spares *s = kept;
    for (int i = 0; i < s->count; i++) give_back(dev, &s->item[i].pinned);
}

static const kryi_keeper keeper = { sizeof(spares), release };

/* A spare of exactly so many bytes. */
static bool take(kry_device *dev, size_t bytes, kryi_pinned *pinned)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    spares *s = kryi_device_kept(dev, &keeper);
    for (int i = 0; s && i < s->count && !found; i++) {
        if (s->item[i].bytes != bytes) continue;
        *pinned = s->item[i].pinned, found = true;
        s->item[i] = s->item[--s->count];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

kry_status kryi_pinned_create(kry_device *dev, size_t bytes, kryi_pinned *pinned)
{
    kry_status st = KRY_OK;
    spares *s;

    *pinned = (kryi_pinned){ .buffer = NULL };
    TRY(kryi_device_keep(dev, &keeper, &s)); /* so that releasing cannot fail */
    if (!take(dev, bytes, pinned)) {
        cl_int err = dev->driver->create(dev, bytes, &pinned->buffer, &pinned->host);
        TRY(kryi_cl_check(err, __func__, pinned->buffer ? "clEnqueueMapBuffer" : "clCreateBuffer"));
    }
    pinned->bytes = bytes;
done:
    if (st < 0) give_back(dev, pinned);
    return st;
}

kry_status kryi_pinned_over(kry_device *dev, void *memory, size_t bytes, kryi_pinned *pinned)
{
    kry_status st = KRY_OK;

    *pinned = (kryi_pinned){ .host = memory, .bytes = bytes, .over = true };
    cl_int err = dev->driver->create(dev, bytes, &pinned->buffer, &pinned->host);
    if (!pinned->buffer) pinned->host = NULL;
    TRY(kryi_cl_check(err, __func__, pinned->buffer ? "clEnqueueMapBuffer" : "clCreateBuffer"));
done:
    if (st < 0) give_back(dev, pinned);
    return st;
}

void kryi_pinned_release(kry_device *dev, kryi_pinned *pinned)
{
    if (!pinned->host) goto done;
    kryi_device_drain(dev); /* the device may still use it */
    pthread_mutex_lock(&lock);
    spares *s = kryi_device_kept(dev, &keeper);
    if (s && !pinned->over && s->count < KEPT && pinned->bytes <= LARGEST) {
        s->item[s->count].pinned = *pinned, s->item[s->count++].bytes = pinned->bytes;
        *pinned = (kryi_pinned){ .buffer = NULL };
    }
    pthread_mutex_unlock(&lock);
done:
    give_back(dev, pinned);
}
