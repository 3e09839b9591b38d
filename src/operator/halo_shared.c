/*
 * halo_shared.c - halos between ranks of one machine. The device of one writes its packed numbers into memory that both processes
 * have and both devices reach by themselves, and the device of the other reads them there: no process copies them. What
 * the transport carries is the number of the exchange, once they are there.
 */
#include "operator/halo_shared.h"
#include "team/shm.h"
#include <stdlib.h>

enum { PAGE = 4096 };

/* What a rank tells a neighbour of its memory. */
typedef struct offer {
    kry_shm_name name;
    uint64_t numbers,
        read; /* in bytes: where those for the neighbour begin, and where it says what it has read */
} offer;

/* A neighbour's memory. */
typedef struct source {
    kry_shm memory;    /* none: its numbers come in messages */
    kry_pinned pinned; /* the same for the device */
    atomic_uint *read; /* in it: the last exchange whose numbers this rank has read */
    kry_message seen;  /* its numbers for this rank, */
    kry_message word;  /* and that they are there, */
    unsigned turn;     /* those of this exchange */
    kry_message answer;
    int32_t attached; /* the answer to its offer */
} source;

/* A neighbour that reads. */
typedef struct reader {
    bool attached;
    kry_message word, offer;
    offer offered;
} reader;

struct kry_halo_shared {
    kry_halo_links links; /* borrowed from the halo */
    kry_shm memory;       /* a counter for each reader, then this rank's numbers; or none */
    kry_pinned pinned;    /* the same for the device */
    size_t numbers;       /* in bytes: where they begin */
    unsigned turn;        /* of the exchange */
    reader *to;           /* links.outs */
    source *from;         /* links.ins */
};

static bool has_many(const kry_link *link, size_t size)
{
    return (size_t)link->count * size >= kry_shm_large();
}

static bool any_has_many(const kry_link *link, int links, size_t size)
{
    bool any = false;
    for (int i = 0; i < links; i++) any |= has_many(&link[i], size);
    return any;
}

static atomic_uint *counter(const kry_halo_shared *s, int i)
{
    return (atomic_uint *)s->memory.memory + sizeof(uint64_t) / sizeof(atomic_uint) + i;
}

/* ---- finding each other ------------------------------------------------------------------------ */

/* What the device cannot reach by itself is of no use. */
static void give_to_device(kry_device *dev, kry_shm *memory, kry_pinned *pinned)
{
    if (memory->memory &&
        kry_pinned_over(dev, memory->memory, (size_t)memory->name.bytes, pinned) < 0)
        kry_shm_release(memory);
}

static void make_memory(kry_halo_shared *s, size_t size)
{
    const kry_halo_links *l = &s->links;
    const kry_link *last = &l->out[l->outs - 1];
    const size_t counters = sizeof(uint64_t) + (size_t)l->outs * sizeof(atomic_uint);

    s->numbers = (counters + PAGE - 1) / PAGE * PAGE;
    kry_shm_create(s->numbers + (size_t)(last->first + last->count) * size, &s->memory);
    give_to_device(l->dev, &s->memory, &s->pinned);
}

static kry_status offer_memory(kry_halo_shared *s, size_t size)
{
    kry_status st = KRY_OK;
    const kry_halo_links *l = &s->links;
    kry_comm *comm = l->dev->layout.comm;

    for (int i = 0; i < l->outs; i++) {
        reader *r = &s->to[i];
        if (!has_many(&l->out[i], size)) continue;
        if (s->memory.memory)
            r->offered = (offer){ s->memory.name, s->numbers + (size_t)l->out[i].first * size,
                                  (uint64_t)((char *)counter(s, i) - (char *)s->memory.memory) };
        r->offer.bytes = &r->offered, r->offer.size = sizeof r->offered;
        TRY(comm->post(comm, l->out[i].rank, &r->offer));
    }
done:
    return st;
}

/* Take part in the memory of the neighbours. The device has it before they are told, for to map it may write to it. */
static kry_status attach(kry_halo_shared *s, size_t size)
{
    kry_status st = KRY_OK;
    const kry_halo_links *l = &s->links;
    kry_comm *comm = l->dev->layout.comm;

    for (int i = 0; i < l->ins; i++) {
        source *f = &s->from[i];
        offer o;
        kry_message room = { .bytes = &o, .size = sizeof o }, *heard;
        if (!has_many(&l->in[i], size)) continue;
        TRY(comm->take(comm, l->in[i].rank, &room, &heard));
        kry_shm_open(&o.name, &f->memory);
        give_to_device(l->dev, &f->memory, &f->pinned);
        char *memory = f->memory.memory;
        if (memory) {
            f->read = (atomic_uint *)(void *)(memory + o.read);
            f->seen.bytes = f->pinned.host + o.numbers;
            f->seen.size = (size_t)l->in[i].count * size;
        }
        f->attached = memory != NULL;
        f->answer.bytes = &f->attached, f->answer.size = sizeof f->attached;
        f->word.bytes = &f->turn, f->word.size = sizeof f->turn;
        TRY(comm->post(comm, l->in[i].rank, &f->answer));
    }
done:
    return st;
}

/* Whether a neighbour has attached; *any: whether one has, or this rank to one. */
static kry_status hear_answers(kry_halo_shared *s, size_t size, bool *any)
{
    kry_status st = KRY_OK;
    const kry_halo_links *l = &s->links;
    kry_comm *comm = l->dev->layout.comm;
    bool read = false;

    *any = false;
    for (int i = 0; i < l->outs; i++) {
        reader *r = &s->to[i];
        int32_t attached = 0;
        kry_message room = { .bytes = &attached, .size = sizeof attached }, *heard;
        if (!has_many(&l->out[i], size)) continue;
        TRY(comm->take(comm, l->out[i].rank, &room, &heard));
        r->attached = attached;
        r->word.bytes = &s->turn, r->word.size = sizeof s->turn;
        r->word.beside = (size_t)l->out[i].count * size - sizeof s->turn;
        read |= r->attached;
        TRY(comm->settle(comm, &r->offer));
    }
    for (int i = 0; i < l->ins; i++) {
        if (!has_many(&l->in[i], size)) continue;
        *any |= s->from[i].attached;
        TRY(comm->settle(comm, &s->from[i].answer));
    }
    *any |= read;
    kry_shm_unname(&s->memory);
    if (!read) kry_pinned_release(l->dev, &s->pinned), kry_shm_release(&s->memory);
done:
    return st;
}

kry_status kry_halo_shared_create(const kry_halo_links *l, size_t size, kry_halo_shared **shared)
{
    kry_status st = KRY_OK;
    const bool out = any_has_many(l->out, l->outs, size), in = any_has_many(l->in, l->ins, size);
    kry_halo_shared *s = NULL;
    bool any = false;

    *shared = NULL;
    if (!out && !in) return KRY_OK;
    TRY(kry_alloc(1, sizeof *s, &s));
    *shared = s; /* also if this fails: messages are under way */
    s->links = *l;
    TRY(kry_alloc((size_t)l->outs, sizeof *s->to, &s->to));
    TRY(kry_alloc((size_t)l->ins, sizeof *s->from, &s->from));
    if (out) make_memory(s, size);
    TRY(offer_memory(s, size));
    TRY(attach(s, size));
    TRY(hear_answers(s, size, &any));
    if (!any) kry_halo_shared_release(l->dev, shared);
done:
    return st;
}

void kry_halo_shared_release(kry_device *dev, kry_halo_shared **shared)
{
    kry_halo_shared *s = *shared;

    *shared = NULL;
    if (!s) return;
    for (int i = 0; s->from && i < s->links.ins; i++) {
        kry_pinned_release(dev, &s->from[i].pinned);
        kry_shm_release(&s->from[i].memory);
    }
    kry_pinned_release(dev, &s->pinned);
    kry_shm_release(&s->memory);
    free(s->from);
    free(s->to);
    free(s);
}

/* ---- an exchange ------------------------------------------------------------------------------- */

char *kry_halo_shared_out(const kry_halo_shared *s)
{
    return s && s->pinned.host ? s->pinned.host + s->numbers : NULL;
}

kry_message *kry_halo_shared_word(kry_halo_shared *s, int i)
{
    return s && s->to[i].attached ? &s->to[i].word : NULL;
}

bool kry_halo_shared_comes(const kry_halo_shared *s, int i) { return s && s->from[i].attached; }

kry_status kry_halo_shared_take(kry_halo_shared *s, int i, kry_message **message)
{
    kry_status st = KRY_OK;
    kry_comm *comm = s->links.dev->layout.comm;
    kry_message *heard;

    TRY(comm->take(comm, s->links.in[i].rank, &s->from[i].word, &heard));
    *message = &s->from[i].seen;
done:
    return st;
}

void kry_halo_shared_done(kry_halo_shared *s, int i)
{
    atomic_store(s->from[i].read, s->from[i].turn);
}

kry_status kry_halo_shared_next(kry_halo_shared *s, bool wait)
{
    kry_status st = KRY_OK;

    if (!s) return KRY_OK;
    kry_comm *comm = s->links.dev->layout.comm;
    for (int i = 0; wait && i < s->links.outs; i++)
        if (s->to[i].attached) TRY(comm->watch(comm, counter(s, i), s->turn));
    s->turn++;
done:
    return st;
}
