/* batch_space.c - what solvers of batches keep with the device: marks, and scratch storage. */
#include "dense/batch.h"
#include <limits.h>
#include <stdlib.h>

enum { KEPT_BYTES = 128 << 20 }; /* of scratch storage, from one call to the next */

static const cl_int nothing_found[BATCH_LIST] = { 0, 0, INT_MAX, 0 };

static void release_space(kry_device *dev, void *kept)
{
    struct kry_batch_space *space = kept;
    kry_buffer_release(dev, &space->found);
    kry_buffer_release(dev, &space->flag);
    kry_buffer_release(dev, &space->state);
    kry_buffer_release(dev, &space->work);
}

static const kry_keeper keeper = { sizeof(struct kry_batch_space), release_space };

struct kry_batch_space *batch_space_of(const kry_device *dev)
{
    return kry_device_kept(dev, &keeper);
}

static kry_status found_clear(kry_device *dev)
{
    kry_status st = KRY_OK;
    TRY(kry_buffer_write(dev, batch_space_of(dev)->found, 0, sizeof nothing_found, nothing_found));
    batch_space_of(dev)->dirty = false;
done:
    return st;
}

/* New buffers; no flag may look like a ticket. */
static kry_status grow(kry_device *dev, int64_t systems)
{
    kry_status st = KRY_OK;
    struct kry_batch_space *space = batch_space_of(dev);
    cl_mem found = NULL, flag = NULL, state = NULL;
    void *zeros = NULL;

    TRY(kry_alloc((size_t)systems, sizeof(cl_int), &zeros));
    TRY(kry_buffer_create(dev, (size_t)(systems + BATCH_LIST) * sizeof(cl_int), &found));
    TRY(kry_buffer_upload(dev, (size_t)systems * sizeof(cl_int), zeros, &flag));
    TRY(kry_buffer_create(dev, (size_t)systems * sizeof(cl_long), &state));
    kry_buffer_release(dev, &space->found);
    kry_buffer_release(dev, &space->flag);
    kry_buffer_release(dev, &space->state);
    *space = (struct kry_batch_space){ .found = found,
                                       .flag = flag,
                                       .state = state,
                                       .systems = systems,
                                       .work = space->work,
                                       .work_bytes = space->work_bytes,
                                       .dirty = true };
    found = flag = state = NULL;
done:
    kry_buffer_release(dev, &state);
    kry_buffer_release(dev, &flag);
    kry_buffer_release(dev, &found);
    free(zeros);
    return st;
}

kry_status batch_space_reserve(kry_device *dev, int64_t systems)
{
    kry_status st = KRY_OK;
    struct kry_batch_space *space;

    TRY(kry_device_keep(dev, &keeper, &space));
    if (space->systems < systems) TRY(grow(dev, systems));
    if (space->dirty) TRY(found_clear(dev));
done:
    return st;
}

kry_status batch_work_reserve(kry_device *dev, size_t bytes)
{
    kry_status st = KRY_OK;
    struct kry_batch_space *space = batch_space_of(dev);
    if (space->work && space->work_bytes >= bytes) return KRY_OK;
    kry_buffer_release(dev, &space->work);
    space->work_bytes = 0;
    TRY(kry_buffer_create(dev, bytes, &space->work));
    space->work_bytes = bytes;
done:
    return st;
}

void batch_work_trim(kry_device *dev)
{
    struct kry_batch_space *space = batch_space_of(dev);
    if (!space || space->work_bytes <= KEPT_BYTES) return;
    kry_buffer_release(dev, &space->work);
    space->work_bytes = 0;
}

kry_status batch_found_read(kry_device *dev, cl_int found[BATCH_LIST])
{
    kry_status st = KRY_OK;
    TRY(kry_buffer_read(dev, batch_space_of(dev)->found, 0, BATCH_LIST * sizeof(cl_int), found));
    batch_space_of(dev)->dirty = found[BATCH_MARKED] || found[BATCH_BAD];
done:
    return st;
}
