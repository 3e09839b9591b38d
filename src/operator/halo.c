/*
 * halo.c - exchanges of vector entries between neighbouring parts. Kernels: cl/operator/halo.cl.
 *
 * The packed numbers are read into host memory that stays mapped, and from there each neighbour writes
 * them to its own device. A neighbour in another process has that memory as well (halo_shared.c), or, on another
 * machine, receives them into such memory of its own. (A buffer that two NVIDIA devices of one context share would
 * move as a whole, which takes 20 times as long.) GPUs copy in a second queue, with barriers of OpenCL 1.2, while the
 * launches between begin and end run. CPUs have no engine for copies, and copy in the order of the device's other work.
 */
#include "operator/halo.h"
#include "operator/direction.h"
#include "operator/halo_shared.h"
#include <stdlib.h>
#include <string.h>

/* Numbers that neighbours want. */
typedef struct outgoing {
    int links;
    kryi_link *link;
    int64_t count;         /* of all links */
    cl_mem row;            /* on the device: which rows; */
    cl_mem packed;         /* their numbers; */
    kryi_pinned pinned;    /* and these on the host; none: in memory that processes share */
    char *host;            /* where neighbours read them */
    kryi_message *message; /* for each link */
} outgoing;

/* Numbers of the neighbours. */
typedef struct incoming {
    int links;
    kryi_link *link;
    int64_t count;
    int32_t *row;           /* which rows, numbered on their parts */
    cl_mem numbers;         /* on the device */
    kryi_message *request;  /* for each link: the rows that are wanted */
    kryi_pinned host;       /* where messages of other processes are received, */
    kryi_message *room;     /* for each link */
    kryi_message **message; /* received, to be released; NULL: nothing */
} incoming;

/* Copies between the device and the host. */
typedef struct copies {
    /* A second one, owned. NULL: copies come in the order of the device's other work. */
    cl_command_queue queue;
    cl_event packed;  /* packing has ended; only with a second queue */
    cl_event ready;   /* the packed numbers are on the host */
    cl_event arrived; /* the neighbours' numbers are on the device */
} copies;

struct kryi_halo {
    kryi_deferred deferred; /* first */
    int refs;
    kry_device *dev; /* borrowed */
    kry_type type;
    outgoing out;
    incoming in;
    copies copies;
    kryi_halo_shared *shared; /* with ranks of this machine; or NULL */
    unsigned run;             /* of the last exchange */
    kryi_kernel *pack, *pack_direction;
};

/* ---- an exchange ---------------------------------------------------------------------------- */

/* The message that is posted to link i: the numbers, or that they are there. */
static kryi_message *message_to(kryi_halo *h, int i)
{
    kryi_message *word = kryi_halo_shared_word(h->shared, i);
    return word ? word : &h->out.message[i];
}

static kry_status take(kryi_halo *h, int i)
{
    kryi_comm *comm = h->dev->layout.comm;
    if (kryi_halo_shared_comes(h->shared, i))
        return kryi_halo_shared_take(h->shared, i, &h->in.message[i]);
    return comm->take(comm, h->in.link[i].rank, &h->in.room[i], &h->in.message[i]);
}

/* Finish the last exchange: release the neighbours' messages and wait until they have read ours. */
static kry_status close_last(kryi_halo *h)
{
    kry_status st = KRY_OK;
    kryi_comm *comm = h->dev->layout.comm;
    bool under_way = h->run == comm->run; /* else the exchange ended with its run */

    h->run = comm->run;
    kryi_event_release(h->dev, &h->copies.packed); /* of an exchange that failed */
    TRY(kryi_event_wait(h->dev, &h->copies.arrived));
    for (int i = 0; i < h->in.links; i++) {
        if (h->in.message[i] && under_way) {
            if (kryi_halo_shared_comes(h->shared, i))
                kryi_halo_shared_done(h->shared, i);
            else
                comm->release(comm, h->in.message[i]);
        }
        h->in.message[i] = NULL;
    }
    for (int i = 0; i < h->out.links && under_way; i++) TRY(comm->settle(comm, message_to(h, i)));
    TRY(kryi_halo_shared_next(h->shared, under_way));
done:
    return st;
}

/* Whoever traces the device hears of its copies, too. */
static void tell(const kryi_halo *h, const char *what, cl_event event)
{
    if (!event || !h->dev->trace || clRetainEvent(event) != CL_SUCCESS) return;
    h->dev->trace(h->dev->trace_user, what, event);
}

/* Read the packed numbers to the host. */
static kry_status fetch(kryi_halo *h)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)h->out.count * kry_type_size(h->type);

    if (h->out.count == 0) return KRY_OK;
    if (!h->copies.queue)
        return kryi_buffer_read_later(h->dev, h->out.packed, bytes, h->out.host, &h->copies.ready);
    TRY_CL(clEnqueueReadBuffer(h->copies.queue, h->out.packed, CL_FALSE, 0, bytes, h->out.host, 1,
                               &h->copies.packed, &h->copies.ready));
    tell(h, "read", h->copies.ready);
    TRY_CL(clFlush(h->copies.queue));
done:
    kryi_event_release(h->dev, &h->copies.packed);
    return st;
}

/* With a second queue, the read is enqueued by kryi_halo_end, after the launches that run beside it:
 * the device waits for the marker. */
static kry_status pack(kryi_halo *h, kryi_kernel *kernel, const kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;

    if (h->out.count == 0) return KRY_OK;
    TRY(kryi_launch(h->dev, kernel, kryi_groups_for(h->dev, h->type, h->out.count), args, count));
    if (h->copies.queue)
        TRY_CL(clEnqueueMarkerWithWaitList(h->dev->queue, 0, NULL, &h->copies.packed));
    else
        TRY(fetch(h));
done:
    return st;
}

kry_status kryi_halo_begin(kryi_halo *h, const kry_vec *x)
{
    kry_status st = KRY_OK;
    const kry_arg args[] = { ARG(h->out.count), ARG(h->out.row), ARG_VEC(x), ARG(h->out.packed) };
    TRY(close_last(h));
    TRY(pack(h, h->pack, args, COUNT(args)));
done:
    return st;
}

kry_status kryi_halo_begin_direction(kryi_halo *h, const kryi_cg *cg)
{
    kry_status st = KRY_OK;
    kry_arg args[KRY_DIRECTION_ARGS + 5];
    const kry_arg rest[] = { ARG(h->out.count), ARG(h->out.row), ARG(cg->z->buffer),
                             ARG(cg->old->buffer), ARG(h->out.packed) };

    kryi_direction_args(cg, args);
    memcpy(args + KRY_DIRECTION_ARGS, rest, sizeof rest);
    TRY(close_last(h));
    TRY(pack(h, h->pack_direction, args, COUNT(args)));
done:
    return st;
}

/* Write the numbers of link i to the device. */
static kry_status put(kryi_halo *h, int i)
{
    kry_status st = KRY_OK;
    const size_t size = kry_type_size(h->type);
    const kryi_link *link = &h->in.link[i];
    const kryi_transfer t = { h->in.numbers, (size_t)link->first * size, (size_t)link->count * size,
                              h->in.message[i]->bytes };
    const bool last = i + 1 == h->in.links;
    cl_event written = NULL, *ended = last ? &h->copies.arrived : h->dev->trace ? &written : NULL;

    if (!h->copies.queue) {
        TRY_CL(h->dev->driver->write(h->dev, false, &t, last ? &h->copies.arrived : NULL));
        return KRY_OK;
    }
    TRY_CL(clEnqueueWriteBuffer(h->copies.queue, t.buffer, CL_FALSE, t.at, t.bytes, t.from, 0, NULL,
                                ended));
    tell(h, "write", ended ? *ended : NULL);
done:
    kryi_event_release(h->dev, &written);
    return st;
}

kry_status kryi_halo_end(kryi_halo *h)
{
    kry_status st = KRY_OK;
    kryi_comm *comm = h->dev->layout.comm;
    const bool apart = h->copies.queue != NULL;

    if (apart) {
        TRY_CL(clFlush(h->dev->queue));
        TRY(fetch(h));
    }
    TRY(kryi_event_wait(h->dev, &h->copies.ready));
    for (int i = 0; i < h->out.links; i++)
        TRY(comm->post(comm, h->out.link[i].rank, message_to(h, i)));
    for (int i = 0; i < h->in.links; i++) {
        TRY(take(h, i));
        TRY(put(h, i));
    }
    if (h->in.links == 0 || !apart) return KRY_OK;
    TRY_CL(clFlush(h->copies.queue));
    TRY_CL(clEnqueueBarrierWithWaitList(h->dev->queue, 1, &h->copies.arrived, NULL));
done:
    return st;
}

cl_mem kryi_halo_numbers(const kryi_halo *h) { return h->in.numbers; }
int64_t kryi_halo_count(const kryi_halo *h) { return h->in.count; }
int64_t kryi_halo_sent(const kryi_halo *h) { return h->out.count; }

int kryi_halo_neighbours(const kryi_halo *h)
{
    int count = h->in.links;

    for (int i = 0; i < h->out.links; i++) {
        bool seen = false;
        for (int k = 0; k < h->in.links; k++) seen |= h->in.link[k].rank == h->out.link[i].rank;
        count += !seen;
    }
    return count;
}

kryi_halo_links kryi_halo_links_of(const kryi_halo *h)
{
    return (
        kryi_halo_links){ h->dev, h->in.links, h->out.links, h->in.link, h->out.link, h->out.row };
}

/* ---- making one ----------------------------------------------------------------------------- */

/* Tell the neighbours which rows this part wants; row[]: which rows they want. Collective. */
static kry_status share_rows(kryi_halo *h, int32_t *row)
{
    kry_status st = KRY_OK;
    kryi_comm *comm = h->dev->layout.comm;

    TRY(kryi_alloc((size_t)h->in.links, sizeof *h->in.request, &h->in.request));
    for (int i = 0; i < h->in.links; i++) {
        h->in.request[i].bytes = h->in.row + h->in.link[i].first;
        h->in.request[i].size = (size_t)h->in.link[i].count * sizeof *row;
        TRY(comm->post(comm, h->in.link[i].rank, &h->in.request[i]));
    }
    for (int i = 0; i < h->out.links; i++) {
        const kryi_link *link = &h->out.link[i];
        TRY(kryi_receive(comm, link->rank, row + link->first, (size_t)link->count * sizeof *row));
    }
    for (int i = 0; i < h->in.links; i++) TRY(comm->settle(comm, &h->in.request[i]));
done:
    return st;
}

/* Find out which neighbours want how many numbers. Collective. */
static kry_status find_readers(kryi_halo *h)
{
    kry_status st = KRY_OK;
    int size = kryi_layout_size(&h->dev->layout), rank = kryi_layout_rank(&h->dev->layout);
    int64_t *mine = NULL, *all = NULL; /* how many numbers a part wants of each; and of all parts */

    TRY(kryi_alloc((size_t)size, sizeof *mine, &mine));
    TRY(kryi_alloc((uint64_t)size * (size_t)size, sizeof *all, &all));
    TRY(kryi_alloc((size_t)size, sizeof *h->out.link, &h->out.link));
    for (int i = 0; i < h->in.links; i++) mine[h->in.link[i].rank] = h->in.link[i].count;
    TRY(kryi_layout_gather(&h->dev->layout, mine, (size_t)size * sizeof *mine, all));
    for (int by = 0; by < size; by++) {
        int64_t count = all[by * size + rank];
        if (count) h->out.link[h->out.links++] = (kryi_link){ by, h->out.count, count };
        h->out.count += count;
    }
done:
    free(all);
    free(mine);
    return st;
}

static kry_status find_neighbours(kryi_halo *h, const kryi_link *want, int wants,
                                  const int32_t *rows)
{
    kry_status st = KRY_OK;
    int32_t *row = NULL;

    TRY(kryi_alloc((size_t)wants, sizeof *h->in.link, &h->in.link));
    if (wants) memcpy(h->in.link, want, (size_t)wants * sizeof *want);
    h->in.links = wants;
    for (int i = 0; i < wants; i++) h->in.count += want[i].count;
    TRY(kryi_alloc((size_t)h->in.count, sizeof *h->in.row, &h->in.row));
    if (wants) memcpy(h->in.row, rows, (size_t)h->in.count * sizeof *rows);
    TRY(find_readers(h));
    TRY(kryi_alloc((size_t)h->out.count, sizeof *row, &row));
    TRY(share_rows(h, row));
    TRY(kryi_buffer_upload(h->dev, (size_t)h->out.count * sizeof *row, row, &h->out.row));
done:
    free(row);
    return st;
}

static kry_status allocate(kryi_halo *h)
{
    kry_status st = KRY_OK;
    kryi_comm *comm = h->dev->layout.comm;
    kry_device *dev = h->dev;
    size_t size = kry_type_size(h->type), bytes = (size_t)h->out.count * size;
    cl_int err;

    TRY(kryi_buffer_create(dev, bytes, &h->out.packed));
    TRY(kryi_buffer_create(dev, (size_t)h->in.count * size, &h->in.numbers));
    if (comm->apart) {
        const kryi_halo_links links = kryi_halo_links_of(h);
        TRY(kryi_halo_shared_create(&links, size, &h->shared));
    }
    h->out.host = kryi_halo_shared_out(h->shared);
    if (!h->out.host) {
        TRY(kryi_pinned_create(dev, bytes ? bytes : size, &h->out.pinned));
        h->out.host = h->out.pinned.host;
    }
    TRY(kryi_alloc((size_t)h->out.links, sizeof *h->out.message, &h->out.message));
    TRY(kryi_alloc((size_t)h->in.links, sizeof *h->in.message, &h->in.message));
    TRY(kryi_alloc((size_t)h->in.links, sizeof *h->in.room, &h->in.room));
    for (int i = 0; i < h->out.links; i++) {
        h->out.message[i].bytes = h->out.host + (size_t)h->out.link[i].first * size;
        h->out.message[i].size = (size_t)h->out.link[i].count * size;
    }
    if (comm->apart && h->in.count)
        TRY(kryi_pinned_create(dev, (size_t)h->in.count * size, &h->in.host));
    for (int i = 0; i < h->in.links; i++) {
        if (h->in.host.host)
            h->in.room[i].bytes = h->in.host.host + (size_t)h->in.link[i].first * size;
        h->in.room[i].size = (size_t)h->in.link[i].count * size;
    }
    if (dev->info.gpu && dev->info.opencl >= 120) {
        cl_command_queue_properties kept = 0; /* times, where the device's own queue keeps them */
        TRY_CL(clGetCommandQueueInfo(dev->queue, CL_QUEUE_PROPERTIES, sizeof kept, &kept, NULL));
        kept &= CL_QUEUE_PROFILING_ENABLE;
        h->copies.queue = clCreateCommandQueue(dev->context, dev->id, kept, &err);
        TRY(kryi_cl_check(err, "kryi_halo_create", "clCreateCommandQueue"));
    }
    TRY(kryi_kernel_get(dev, "halo", h->type, "", "halo_pack", &h->pack));
    TRY(kryi_kernel_get(dev, "halo", h->type, "", "halo_pack_direction", &h->pack_direction));
done:
    return st;
}

kry_status kryi_halo_create(kry_device *dev, kry_type type, const kryi_link *want, int wants,
                            const int32_t *row, kryi_halo **halo)
{
    kry_status st = KRY_OK;
    kryi_halo *h = NULL;

    *halo = NULL;
    TRY(kryi_alloc(1, sizeof *h, &h));
    h->refs = 1, h->dev = dev, h->type = type;
    TRY(find_neighbours(h, want, wants, row));
    TRY(allocate(h));
    *halo = h;
    h = NULL;
done:
    kryi_halo_release(&h);
    return st;
}

kry_status kryi_halo_create_for(kry_device *dev, kry_type type, const kryi_places *p,
                                kryi_halo **halo)
{
    kry_status st = KRY_OK;
    kryi_link *want = NULL;
    int32_t *row = NULL;
    int links = 0, owner = 0;

    *halo = NULL;
    TRY(kryi_alloc((size_t)kryi_layout_size(&dev->layout), sizeof *want, &want));
    TRY(kryi_alloc((size_t)p->count, sizeof *row, &row));
    for (int64_t i = 0; i < p->count; i++) {
        while (p->place[i] >= p->first[owner + 1]) owner++;
        if (links == 0 || want[links - 1].rank != owner) want[links++] = (kryi_link){ owner, i, 0 };
        want[links - 1].count++;
        row[i] = (int32_t)(p->place[i] - p->first[owner]);
    }
    TRY(kryi_halo_create(dev, type, want, links, row, halo));
done:
    free(row);
    free(want);
    return st;
}

kry_status kryi_halo_renumber(kryi_halo *h, int32_t (*number)(const void *user, int32_t row),
                              const void *user)
{
    kry_status st = KRY_OK;
    const size_t count = (size_t)h->out.count;
    int32_t *row = NULL;

    if (!count) return KRY_OK;
    TRY(kryi_alloc(count, sizeof *row, &row));
    TRY(kryi_buffer_read(h->dev, h->out.row, 0, count * sizeof *row, row));
    for (size_t i = 0; i < count; i++) row[i] = number(user, row[i]);
    TRY(kryi_buffer_write(h->dev, h->out.row, 0, count * sizeof *row, row));
done:
    free(row);
    return st;
}

kry_status kryi_halo_like(const kryi_halo *h, kry_type type, kryi_halo **like)
{
    return kryi_halo_create(h->dev, type, h->in.link, h->in.links, h->in.row, like);
}

kryi_halo *kryi_halo_retain(kryi_halo *h)
{
    h->refs++;
    return h;
}

static void halo_destroy(kryi_deferred *deferred)
{
    kryi_halo *h = (kryi_halo *)deferred;

    kryi_event_release(h->dev, &h->copies.packed);
    kryi_event_release(h->dev, &h->copies.ready);
    kryi_event_release(h->dev, &h->copies.arrived);
    kryi_pinned_release(h->dev, &h->in.host);
    kryi_pinned_release(h->dev, &h->out.pinned);
    kryi_halo_shared_release(h->dev, &h->shared);
    kryi_buffer_release(h->dev, &h->in.numbers);
    kryi_buffer_release(h->dev, &h->out.packed);
    kryi_buffer_release(h->dev, &h->out.row);
    if (h->copies.queue) h->dev->driver->drop_queue(h->copies.queue);
    free(h->in.message);
    free(h->in.room);
    free(h->out.message);
    free(h->in.request);
    free(h->in.row);
    free(h->out.link);
    free(h->in.link);
    free(h);
}

void kryi_halo_release(kryi_halo **halo)
{
    kryi_halo *h = *halo;

    *halo = NULL;
    if (!h || --h->refs) return;
    /* The copies read memory of the neighbours. */
    if (h->copies.queue)
        h->dev->driver->drain_queue(h->copies.queue);
    else
        kryi_device_drain(h->dev);
    h->deferred.release = halo_destroy;
    h->dev->layout.comm->defer(h->dev->layout.comm, &h->deferred);
}
