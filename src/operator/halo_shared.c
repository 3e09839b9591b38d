/*
 * halo_shared.c - halos between ranks of one machine. The device of one writes its packed numbers into memory that both processes
 * have and both devices reach by themselves, and the device of the other reads them there: no process copies them. What
 * the transport carries is the number of the exchange, once they are there.
 */
#include "operator/halo_shared.h"
#include "base/hooks.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* ---- POSIX shared memory, which processes of one machine have in common ---------------------------- */

enum { PATH = 32, LARGE = 32 << 10 };

/* Another process finds shared memory by this. bytes = 0: there is none. */
typedef struct shm_name {
    uint64_t token; /* of which its name is made, and with which it begins */
    uint64_t bytes;
} shm_name;

typedef struct shm {
    void *memory; /* owned, at the beginning of a page; NULL: none */
    shm_name name;
    bool named; /* this process made it, and others can find it */
} shm;

static void path_of(uint64_t token, char path[PATH])
{
    snprintf(path, PATH, "/kry-%016llx", (unsigned long long)token);
}

/* A number that no other process has, here or on another machine. */
static uint64_t new_token(const shm *s)
{
    char host[64] = "";
    const double time = kryi_now();
    const pid_t process = getpid();
    uint64_t token = KRY_HASH_START;

    (void)gethostname(host, sizeof host - 1);
    token = kryi_hash(token, host, sizeof host);
    token = kryi_hash(token, &time, sizeof time);
    token = kryi_hash(token, &process, sizeof process);
    return kryi_hash(token, &s, sizeof s);
}

/* Memory that is not there is noticed here, and not when it is written to. */
static bool reserve(int file, size_t bytes)
{
#ifdef __linux__
    return posix_fallocate(file, 0, (off_t)bytes) == 0;
#else /* not every system has it */
    return ftruncate(file, (off_t)bytes) == 0;
#endif
}

static void map(int file, shm *s)
{
    void *memory = mmap(NULL, (size_t)s->name.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    s->memory = memory == MAP_FAILED ? NULL : memory;
}

/* Nobody else is to find it. Who has it keeps it. */
static void unname_shm(shm *s)
{
    char path[PATH];

    path_of(s->name.token, path);
    if (s->named) shm_unlink(path);
    s->named = false;
}

static void release_shm(shm *s)
{
    unname_shm(s);
    if (s->memory) munmap(s->memory, (size_t)s->name.bytes);
    *s = (shm){ .memory = NULL };
}

/* Make zeroed memory, the first 8 bytes of which are taken. Where it cannot be made memory is NULL, as nothing depends on it. */
static void create_shm(size_t bytes, shm *s)
{
    char path[PATH];

    *s = (shm){ .name = { new_token(s), bytes } };
    path_of(s->name.token, path);
    const int file =
        kryi_test_fails() ? -1 : shm_open(path, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    s->named = file >= 0;
    if (file >= 0 && reserve(file, bytes)) map(file, s);
    if (file >= 0) close(file);
    if (s->memory)
        memcpy(s->memory, &s->name.token, sizeof s->name.token);
    else
        release_shm(s);
}

static bool is_ours(int file, size_t bytes)
{
    struct stat info;
    return fstat(file, &info) == 0 && info.st_uid == geteuid() && (size_t)info.st_size == bytes;
}

/* Take part in what another process has made and still names; memory is NULL if it runs on another machine, or for another
 * user. */
static void open_shm(const shm_name *name, shm *s)
{
    char path[PATH];

    *s = (shm){ .name = *name };
    path_of(name->token, path);
    const int file = name->bytes ? shm_open(path, O_RDWR, 0) : -1;
    if (file >= 0 && is_ours(file, (size_t)name->bytes)) map(file, s);
    if (file >= 0) close(file);
    if (s->memory && memcmp(s->memory, &name->token, sizeof name->token) != 0) release_shm(s);
}

/* ---- halos ----------------------------------------------------------------------------------- */

/* A rank tells this to a neighbour about its memory. */
typedef struct offer {
    shm_name name;
    uint64_t numbers,
        read; /* in bytes: where those for the neighbour begin, and where it says what it has read */
} offer;

/* A neighbour's memory. */
typedef struct source {
    shm memory;         /* none: its numbers come in messages */
    kryi_pinned pinned; /* the same for the device */
    atomic_uint *read;  /* in it: the last exchange whose numbers this rank has read */
    kryi_message seen;  /* its numbers for this rank, */
    kryi_message word;  /* and that they are there, */
    unsigned turn;      /* those of this exchange */
    kryi_message answer;
    int32_t attached; /* the answer to its offer */
} source;

/* A neighbour that reads. */
typedef struct reader {
    bool attached;
    kryi_message word, offer;
    offer offered;
} reader;

struct kryi_halo_shared {
    kryi_halo_links links; /* borrowed from the halo */
    shm memory;            /* a counter for each reader, then this rank's numbers; or none */
    kryi_pinned pinned;    /* the same for the device */
    size_t numbers;        /* in bytes: where they begin */
    unsigned turn;         /* of the exchange */
    reader *to;            /* links.outs */
    source *from;          /* links.ins */
};

static bool has_many(const kryi_link *link, size_t size)
{
    /* Messages of so many bytes are worth it: with fewer MPI is as fast, and to make memory takes a device a millisecond. */
    return (size_t)link->count * size >= (kryi_test_large ? (size_t)kryi_test_large : LARGE);
}

static bool any_has_many(const kryi_link *link, int links, size_t size)
{
    bool any = false;
    for (int i = 0; i < links; i++) any |= has_many(&link[i], size);
    return any;
}

static atomic_uint *counter(const kryi_halo_shared *s, int i)
{
    return (atomic_uint *)s->memory.memory + sizeof(uint64_t) / sizeof(atomic_uint) + i;
}

/* ---- finding each other ------------------------------------------------------------------------ */

/* Let the device reach the memory; where it cannot, the memory is of no use. */
static void give_to_device(kry_device *dev, shm *memory, kryi_pinned *pinned)
{
    if (memory->memory &&
        kryi_pinned_over(dev, memory->memory, (size_t)memory->name.bytes, pinned) < 0)
        release_shm(memory);
}

static void make_memory(kryi_halo_shared *s, size_t size)
{
    const kryi_halo_links *l = &s->links;
    const kryi_link *last = &l->out[l->outs - 1];
    const size_t counters = sizeof(uint64_t) + (size_t)l->outs * sizeof(atomic_uint);

    s->numbers = (counters + PAGE - 1) / PAGE * PAGE;
    create_shm(s->numbers + (size_t)(last->first + last->count) * size, &s->memory);
    give_to_device(l->dev, &s->memory, &s->pinned);
}

static kry_status offer_memory(kryi_halo_shared *s, size_t size)
{
    kry_status st = KRY_OK;
    const kryi_halo_links *l = &s->links;
    kryi_comm *comm = l->dev->layout.comm;

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
static kry_status attach(kryi_halo_shared *s, size_t size)
{
    kry_status st = KRY_OK;
    const kryi_halo_links *l = &s->links;
    kryi_comm *comm = l->dev->layout.comm;

    for (int i = 0; i < l->ins; i++) {
        source *f = &s->from[i];
        offer o;
        if (!has_many(&l->in[i], size)) continue;
        TRY(kryi_receive(comm, l->in[i].rank, &o, sizeof o));
        open_shm(&o.name, &f->memory);
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
static kry_status hear_answers(kryi_halo_shared *s, size_t size, bool *any)
{
    kry_status st = KRY_OK;
    const kryi_halo_links *l = &s->links;
    kryi_comm *comm = l->dev->layout.comm;
    bool read = false;

    *any = false;
    for (int i = 0; i < l->outs; i++) {
        reader *r = &s->to[i];
        int32_t attached = 0;
        if (!has_many(&l->out[i], size)) continue;
        TRY(kryi_receive(comm, l->out[i].rank, &attached, sizeof attached));
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
    unname_shm(&s->memory);
    if (!read) kryi_pinned_release(l->dev, &s->pinned), release_shm(&s->memory);
done:
    return st;
}

kry_status kryi_halo_shared_create(const kryi_halo_links *l, size_t size, kryi_halo_shared **shared)
{
    kry_status st = KRY_OK;
    const bool out = any_has_many(l->out, l->outs, size), in = any_has_many(l->in, l->ins, size);
    kryi_halo_shared *s = NULL;
    bool any = false;

    *shared = NULL;
    if (!out && !in) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *s, &s));
    *shared = s; /* also if this fails: messages are under way */
    s->links = *l;
    TRY(kryi_alloc((size_t)l->outs, sizeof *s->to, &s->to));
    TRY(kryi_alloc((size_t)l->ins, sizeof *s->from, &s->from));
    if (out) make_memory(s, size);
    TRY(offer_memory(s, size));
    TRY(attach(s, size));
    TRY(hear_answers(s, size, &any));
    if (!any) kryi_halo_shared_release(l->dev, shared);
done:
    return st;
}

void kryi_halo_shared_release(kry_device *dev, kryi_halo_shared **shared)
{
    kryi_halo_shared *s = *shared;

    *shared = NULL;
    if (!s) return;
    for (int i = 0; s->from && i < s->links.ins; i++) {
        kryi_pinned_release(dev, &s->from[i].pinned);
        release_shm(&s->from[i].memory);
    }
    kryi_pinned_release(dev, &s->pinned);
    release_shm(&s->memory);
    free(s->from);
    free(s->to);
    free(s);
}

/* ---- an exchange ------------------------------------------------------------------------------- */

char *kryi_halo_shared_out(const kryi_halo_shared *s)
{
    return s && s->pinned.host ? s->pinned.host + s->numbers : NULL;
}

kryi_message *kryi_halo_shared_word(kryi_halo_shared *s, int i)
{
    return s && s->to[i].attached ? &s->to[i].word : NULL;
}

bool kryi_halo_shared_comes(const kryi_halo_shared *s, int i) { return s && s->from[i].attached; }

kry_status kryi_halo_shared_take(kryi_halo_shared *s, int i, kryi_message **message)
{
    kry_status st = KRY_OK;
    kryi_comm *comm = s->links.dev->layout.comm;
    kryi_message *heard;

    TRY(comm->take(comm, s->links.in[i].rank, &s->from[i].word, &heard));
    *message = &s->from[i].seen;
done:
    return st;
}

void kryi_halo_shared_done(kryi_halo_shared *s, int i)
{
    atomic_store(s->from[i].read, s->from[i].turn);
}

kry_status kryi_halo_shared_next(kryi_halo_shared *s, bool wait)
{
    kry_status st = KRY_OK;

    if (!s) return KRY_OK;
    kryi_comm *comm = s->links.dev->layout.comm;
    for (int i = 0; wait && i < s->links.outs; i++)
        if (s->to[i].attached) TRY(comm->watch(comm, counter(s, i), s->turn));
    s->turn++;
done:
    return st;
}
