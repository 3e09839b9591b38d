/* batch_marks.c - which systems of a batch were not solved without pivoting, or not at all. */
#include "dense/batch.h"
#include <limits.h>
#include <stdlib.h>

static void release_marks(kry_device *dev, void *kept)
{
    kry_buffer_release(dev, &((batch_marks *)kept)->found);
}

static const kry_keeper keeper = { sizeof(batch_marks), release_marks };
static const cl_int nothing[BATCH_LIST] = { 0, 0, INT_MAX, 0 };

/* Zeros: no ticket is 0. */
static kry_status grow(kry_device *dev, int64_t systems, batch_marks *marks)
{
    kry_status st = KRY_OK;
    const size_t ints = BATCH_LIST + 4 * (size_t)systems;
    cl_mem found = NULL;
    void *zeros = NULL;

    TRY(kry_alloc(ints, sizeof(cl_int), &zeros));
    TRY(kry_buffer_upload(dev, ints * sizeof(cl_int), zeros, &found));
    kry_buffer_release(dev, &marks->found);
    *marks = (batch_marks){ .found = found, .room = (cl_int)systems, .dirty = true };
done:
    free(zeros);
    return st;
}

kry_status batch_marks_reserve(kry_device *dev, int64_t systems, batch_marks **marks)
{
    kry_status st = KRY_OK;

    TRY(kry_device_keep(dev, &keeper, marks));
    if ((*marks)->room < systems) TRY(grow(dev, systems, *marks));
    if ((*marks)->dirty) TRY(kry_buffer_write(dev, (*marks)->found, 0, sizeof nothing, nothing));
    (*marks)->dirty = false;
done:
    return st;
}

kry_status batch_marks_read(kry_device *dev, batch_marks *marks, cl_int found[BATCH_LIST])
{
    kry_status st = KRY_OK;

    TRY(kry_buffer_read(dev, marks->found, 0, BATCH_LIST * sizeof(cl_int), found));
    marks->dirty = found[BATCH_MARKED] || found[BATCH_BAD];
done:
    return st;
}
