/*
 * staged.c - large arrays from the host to a GPU, by way of memory that the GPU reads by itself.
 *
 * A driver that is given any other memory copies it to such memory first, on one thread, which takes longer than the way
 * to the GPU. Here several threads do, each with two slots: it fills one while the other is on its way.
 */
#include "device/staged.h"
#include "base/hooks.h"
#include <string.h>

enum { MOST_PARTS = 8, SLOTS = 2 };
enum { CHUNK = 1 << 20, SMALL = 1 << 12 /* bytes of a slot; in tests */ };

typedef struct staging {
    atomic_bool busy; /* with another thread's array */
    kry_pinned slots; /* of all parts; made for the first array */
} staging;

static void staging_release(kry_device *dev, void *kept)
{
    kry_pinned_release(dev, &((staging *)kept)->slots);
}

static const kry_keeper keeper = { sizeof(staging), staging_release };

/* The staging of this device, which nobody else uses then. NULL: others do, or there is no such memory. */
static staging *take(kry_device *dev)
{
    staging *s;

    if (kry_device_keep(dev, &keeper, &s) < 0 || atomic_exchange(&s->busy, true)) return NULL;
    if (s->slots.host || kry_pinned_create(dev, MOST_PARTS * SLOTS * CHUNK, &s->slots) == KRY_OK)
        return s;
    atomic_store(&s->busy, false);
    return NULL;
}

typedef struct sending {
    kry_device *dev;
    const kry_transfer *t;
    char *slots;
    int64_t chunk;              /* bytes, at most */
    pthread_mutex_t lock;       /* of the queue, and of whoever traces it */
    cl_int err[KRY_MOST_PARTS]; /* of each part: messages are their thread's own */
} sending;

static cl_int wait_for(kry_device *dev, cl_event *sent)
{
    const cl_event event = *sent;

    *sent = NULL;
    return event ? dev->driver->wait(dev, event) : CL_SUCCESS;
}

static cl_int send_chunk(sending *s, int64_t chunk, char *slot, cl_event *sent)
{
    const kry_transfer *t = s->t;
    const size_t at = (size_t)(chunk * s->chunk), left = t->bytes - at;
    const size_t bytes = left < (size_t)s->chunk ? left : (size_t)s->chunk;

    cl_int err = wait_for(s->dev, sent);
    if (err) return err;
    memcpy(slot, (const char *)t->from + at, bytes);
    pthread_mutex_lock(&s->lock);
    err = s->dev->driver->write(s->dev, false,
                                &(kry_transfer){ t->buffer, t->at + at, bytes, slot }, sent);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static void send_chunks(void *user, int part, int64_t begin, int64_t end)
{
    sending *s = user;
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
    const int parts = kry_parts((int64_t)(bytes / sizeof(double)));
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

/* To make the slots takes about as long as a driver takes for the larger size. */
static bool is_worth_it(const kry_device *dev, size_t bytes)
{
    enum { WORTH = 8 * CHUNK, WORTH_SLOTS = 64 * CHUNK };
    const staging *s = kry_device_kept(dev, &keeper);

    if (kry_test_parts) return dev->context && bytes > SMALL;
    return dev->info.gpu && bytes >= (s && s->slots.host ? WORTH : WORTH_SLOTS) &&
           parts_for(bytes) > 1;
}

static kry_status send(kry_device *dev, const kry_transfer *t, char *slots)
{
    kry_status st = KRY_OK;
    const int parts = parts_for(t->bytes);
    sending s = { .dev = dev, .t = t, .slots = slots, .chunk = kry_test_parts ? SMALL : CHUNK };
    const int64_t chunks = ((int64_t)t->bytes + s.chunk - 1) / s.chunk;

    pthread_mutex_init(&s.lock, NULL);
    kry_parallel(parts, chunks, send_chunks, &s);
    pthread_mutex_destroy(&s.lock);
    for (int p = 0; p < parts; p++)
        TRY(kry_cl_check(s.err[p], "kry_buffer_write", "clEnqueueWriteBuffer"));
done:
    return st;
}

kry_status kry_staged_write(kry_device *dev, const kry_transfer *t, bool *written)
{
    staging *s = is_worth_it(dev, t->bytes) ? take(dev) : NULL;

    *written = s != NULL;
    if (!s) return KRY_OK;
    const kry_status st = send(dev, t, s->slots.host);
    atomic_store(&s->busy, false);
    return st;
}
