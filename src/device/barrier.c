/* barrier.c - work-groups that wait for each other: how many the device runs at once, and whether
 * all of a launch came to their end. The protocol is in cl/common/barrier.clh. */
#include "device/barrier.h"
#include "base/hooks.h"
#include "device/launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of the control buffer, as in cl/common/barrier.clh. */
enum {
    CONTROL_GROUPS,
    CONTROL_LAUNCHED,
    CONTROL_PATIENCE,
    CONTROL_POLLS,
    CONTROL_ROUNDS,
    CONTROL_ARRIVED = 32,
    CONTROL_FINISHED = 64,
    CONTROL_FOUND = 128,
    CONTROL_STALE = 160,
    CONTROL_SLOTS = 192,
    CONTROL_HIGH = 1 << 30
};

struct kryi_barrier {
    kry_device *dev;     /* borrowed */
    kryi_kernel *kernel; /* borrowed */
    int size;            /* work-items per group */
    int groups;          /* how many may wait for each other */
    cl_mem control;      /* CONTROL_SLOTS + 2 KRY_BARRIER_MOST words */
    cl_int words[CONTROL_SLOTS];
    bool pending; /* the device may still be reading them */
};

/* The slots of the groups, behind these words, need no start value. */
static kry_status write_words(kryi_barrier *b)
{
    b->pending = true;
    return kryi_buffer_write_later(b->dev, b->control, 0, sizeof b->words, b->words);
}

static kry_status read_words(kryi_barrier *b)
{
    const kry_status st = kryi_buffer_read(b->dev, b->control, 0, sizeof b->words, b->words);
    if (st >= 0) b->pending = false;
    return st;
}

/* How often a group looks before it gives up: about 0.3 s. A look reads past the caches, which
 * takes 0.4 us on an H200 and a few ns on CPUs, where however the threads of other groups may not
 * run for some 10 ms. */
static cl_int polls_of(const kry_device *dev) { return dev->info.gpu ? 1 << 19 : 1 << 27; }

/* Start values of the control words for a launch of so many groups. */
static kry_status reset(kryi_barrier *b, int groups)
{
    memset(b->words, 0, sizeof b->words);
    b->words[CONTROL_GROUPS] = groups;
    b->words[CONTROL_POLLS] = polls_of(b->dev);
    return write_words(b);
}

static kry_status check_groups(const kryi_barrier *b, int groups)
{
    if (groups > 0 && groups <= b->groups) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kernel %s: %d groups cannot wait for each other, %d can",
                    b->kernel->name, groups, b->groups);
}

kry_status kryi_barrier_launch_next(kryi_barrier *b, int groups, kry_arg *args, size_t count)
{
    static const cl_int aborted = CONTROL_HIGH;
    kry_status st = KRY_OK;

    TRY(check_groups(b, groups));
    if (kryi_test_aborts())
        TRY(kryi_buffer_write_later(b->dev, b->control, CONTROL_ARRIVED * sizeof(cl_int),
                                    sizeof aborted, &aborted));
    args[0] = (kry_arg)ARG(b->control);
    TRY(kryi_launch_range(b->dev, b->kernel, (kryi_range){ groups, .size = b->size }, args, count));
done:
    return st;
}

kry_status kryi_barrier_launch_after(kryi_barrier *b, kry_arg *args, size_t count)
{
    args[0] = (kry_arg)ARG(b->control);
    return kryi_launch_range(b->dev, b->kernel, (kryi_range){ 1, .size = b->size }, args, count);
}

kry_status kryi_barrier_launch(kryi_barrier *b, int groups, kry_arg *args, size_t count)
{
    kry_status st = check_groups(b, groups); /* before b->words is on its way to the device */
    if (st >= 0) st = reset(b, groups);
    return st < 0 ? st : kryi_barrier_launch_next(b, groups, args, count);
}

/* The last group of a launch in a series sets CONTROL_ARRIVED back to 0. */
static kry_status read_end(kryi_barrier *b, bool series, bool *finished)
{
    kry_status st = KRY_OK;
    const cl_int groups = b->words[CONTROL_GROUPS], *now = b->words;

    *finished = false;
    TRY(read_words(b));
    *finished = series ? now[CONTROL_ARRIVED] == 0
                       : now[CONTROL_FINISHED] == groups && now[CONTROL_ARRIVED] < CONTROL_HIGH;
    if (!*finished) b->groups = 0; /* not again: every attempt may wait as long */
done:
    return st;
}

kry_status kryi_barrier_finished(kryi_barrier *b, bool *finished)
{
    return read_end(b, false, finished);
}

/* Each launch of a series has its own number of groups. */
kry_status kryi_barrier_begin_series(kryi_barrier *b) { return reset(b, 1); }

kry_status kryi_barrier_series_finished(kryi_barrier *b, bool *finished)
{
    return read_end(b, true, finished);
}

/* Find how many groups run at the same time and receive each other's messages. *sure: false if the
 * device was busy with something else, so that the result says nothing about the next launch. */
static kry_status probe(kryi_barrier *b, kry_arg *args, size_t count, bool *sure)
{
    kry_status st = KRY_OK;
    const kry_device_info *info = &b->dev->info;
    int launched = info->gpu ? KRY_BARRIER_MOST : 2 * info->compute_units;

    if (launched > KRY_BARRIER_MOST) launched = KRY_BARRIER_MOST;
    memset(b->words, 0, sizeof b->words);
    b->words[CONTROL_LAUNCHED] = launched;
    b->words[CONTROL_PATIENCE] = info->gpu ? 1 << 15 : 1 << 24; /* 10 to 30 ms */
    b->words[CONTROL_POLLS] = polls_of(b->dev);
    b->words[CONTROL_ROUNDS] = info->gpu ? 500 : 20;
    args[0] = (kry_arg)ARG(b->control);
    TRY(write_words(b));
    TRY(kryi_launch_range(b->dev, b->kernel, (kryi_range){ launched, .size = b->size }, args,
                          count));
    TRY(read_words(b));
    int found = b->words[CONTROL_FOUND];
    bool stale = b->words[CONTROL_STALE] + kryi_test_stale_messages > 0;
    *sure = stale || b->words[CONTROL_FINISHED] == found;
    b->groups = stale || !*sure ? 0 : found;
done:
    return st;
}

/* The name under which the result is kept: it has all that the result depends on. */
static void probe_name(const kryi_barrier *b, char *name, size_t size)
{
    const int detail[] = { b->size, b->dev->info.compute_units };
    uint64_t h = kryi_hash(b->kernel->hash, detail, sizeof detail);
    snprintf(name, size, "barrier/%s/%016llx", b->kernel->name, (unsigned long long)h);
}

/* Take what was found earlier, or else probe. */
static kry_status count_groups(kryi_barrier *b, kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;
    char name[128], value[32];
    bool sure = false;

    probe_name(b, name, sizeof name);
    if (kryi_tuning_get(b->dev, name, value, sizeof value) &&
        sscanf(value, "groups=%d", &b->groups) == 1 && b->groups >= 0 &&
        b->groups <= KRY_BARRIER_MOST)
        return KRY_OK;
    b->groups = 0;
    TRY(probe(b, args, count, &sure));
    snprintf(value, sizeof value, "groups=%d", b->groups);
    if (sure && !kryi_test_stale_messages) kryi_tuning_set(b->dev, name, value);
done:
    return st;
}

kry_status kryi_barrier_create(kry_device *dev, kryi_kernel *kernel, int size, kry_arg *args,
                               size_t count, kryi_barrier **barrier)
{
    kry_status st = KRY_OK;
    kryi_barrier *b = NULL;

    *barrier = NULL;
    TRY(kryi_alloc(1, sizeof *b, &b));
    *b = (kryi_barrier){ .dev = dev, .kernel = kernel, .size = size };
    TRY(kryi_kernel_check_size(dev, kernel, size));
    TRY(kryi_buffer_create(dev, (CONTROL_SLOTS + 2 * KRY_BARRIER_MOST) * sizeof(cl_int),
                           &b->control));
    TRY(count_groups(b, args, count));
    *barrier = b;
    b = NULL;
done:
    kryi_barrier_release(&b);
    return st;
}

int kryi_barrier_groups(const kryi_barrier *b) { return b->groups; }

void kryi_barrier_release(kryi_barrier **barrier)
{
    kryi_barrier *b = *barrier;
    *barrier = NULL;
    if (!b) return;
    if (b->pending)
        (void)b->dev->driver->wait(b->dev, NULL); /* a call failed before they were read back */
    kryi_buffer_release(b->dev, &b->control);
    free(b);
}
