/*
 * ranks.h - processes that are the ranks of a team, and a transport between them over pairs of sockets.
 *
 * A test forks them; the parent does not open a device before, for a driver of OpenCL does not outlive a fork.
 * In a rank nothing of cmocka is used: NEED prints what went wrong and ends the process.
 */
#ifndef KRY_TEST_RANKS_H
#define KRY_TEST_RANKS_H

#include "testing.h"
#include <errno.h>
#include <fcntl.h>
#include <kry/io.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 7 };

/* ---- the transport ----------------------------------------------------------------------------- */

typedef struct bytes {
    char *at;
    size_t begin, end, room;
} bytes;

typedef struct envelope {
    int32_t tag; /* 0: of a gather */
    uint32_t size;
} envelope;

typedef struct peer {
    int fd;
    bytes in, out;
    size_t queued, flushed; /* bytes, since the start */
} peer;

typedef struct wires {
    int rank, size;
    peer peer[MOST_RANKS];
    bool gathering;
    double begun, delay; /* of the gather, when it began; how long one takes, at least: seconds */
    int overlapped;      /* messages of tag 1 that were sent during a gather */
    int gathers;         /* that were begun */
    int64_t sent;        /* bytes, of all messages and gathers */
    char *all;
    size_t bytes;
    bool dead; /* fails from now on */
    int released;
} wires;

/* What a send or a gather waits for. */
typedef struct ticket {
    int to; /* -1: a gather */
    size_t flushed;
} ticket;

static void wire_append(bytes *b, const void *from, size_t size)
{
    if (b->end + size > b->room) {
        if (b->end > b->begin) memmove(b->at, b->at + b->begin, b->end - b->begin);
        b->end -= b->begin, b->begin = 0;
        while (b->end + size > b->room) b->room = b->room ? 2 * b->room : 4096;
        b->at = realloc(b->at, b->room);
        if (!b->at) abort();
    }
    if (size) memcpy(b->at + b->end, from, size);
    b->end += size;
}

static void wire_progress(wires *w)
{
    char room[65536];

    for (int r = 0; r < w->size; r++) {
        peer *p = &w->peer[r];
        if (r == w->rank) continue;
        while (p->out.begin < p->out.end) {
            ssize_t n = write(p->fd, p->out.at + p->out.begin, p->out.end - p->out.begin);
            if (n <= 0) break;
            p->out.begin += (size_t)n, p->flushed += (size_t)n;
        }
        for (;;) {
            ssize_t n = read(p->fd, room, sizeof room);
            if (n <= 0) break;
            wire_append(&p->in, room, (size_t)n);
        }
    }
}

static void wire_queue(wires *w, int to, int tag, const void *message, size_t size)
{
    peer *p = &w->peer[to];
    const envelope e = { tag, (uint32_t)size };

    wire_append(&p->out, &e, sizeof e);
    wire_append(&p->out, message, size);
    p->queued += sizeof e + size;
    w->sent += (int64_t)size;
    w->overlapped += tag == 1 && w->gathering;
}

/* Where the first whole message with this tag of a peer begins; NULL: there is none. Its envelope: *e. */
static char *wire_find(peer *p, int tag, envelope *e)
{
    for (size_t at = p->in.begin; at + sizeof *e <= p->in.end; at += sizeof *e + e->size) {
        memcpy(e, p->in.at + at, sizeof *e);
        if (at + sizeof *e + e->size > p->in.end) return NULL;
        if (e->tag == tag) return p->in.at + at;
    }
    return NULL;
}

static void wire_take(peer *p, char *message, const envelope *e, void *to)
{
    const size_t whole = sizeof *e + e->size;
    char *end = p->in.at + p->in.end;

    if (e->size) memcpy(to, message + sizeof *e, e->size);
    memmove(message, message + whole, (size_t)(end - message) - whole);
    p->in.end -= whole;
}

static double wire_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wire_gather(void *user, const void *mine, size_t size, void *all, void **pending)
{
    wires *w = user;
    ticket *t = calloc(1, sizeof *t);

    if (w->dead || w->gathering || !t) return free(t), 1;
    w->gathering = true, w->all = all, w->bytes = size, w->begun = wire_clock();
    w->gathers++;
    if (size) memcpy(w->all + (size_t)w->rank * size, mine, size);
    for (int r = 0; r < w->size; r++)
        if (r != w->rank) wire_queue(w, r, 0, mine, size);
    t->to = -1;
    *pending = t;
    return 0;
}

static int wire_send(void *user, int to, int tag, const void *message, size_t size, void **pending)
{
    wires *w = user;
    ticket *t = calloc(1, sizeof *t);

    if (w->dead || !t) return free(t), 1;
    wire_queue(w, to, tag, message, size);
    *t = (ticket){ to, w->peer[to].queued };
    *pending = t;
    return 0;
}

/* All of them are there, or none is taken. */
static bool wire_gathered(wires *w)
{
    envelope e;

    if (w->delay > 0 && wire_clock() - w->begun < w->delay) return false;
    for (int r = 0; r < w->size; r++)
        if (r != w->rank && !wire_find(&w->peer[r], 0, &e)) return false;
    for (int r = 0; r < w->size; r++) {
        if (r == w->rank) continue;
        char *message = wire_find(&w->peer[r], 0, &e);
        if (e.size != w->bytes) {
            fprintf(stderr, "rank %d: a gather of %zu bytes, rank %d brings %u\n", w->rank,
                    w->bytes, r, e.size);
            abort();
        }
        wire_take(&w->peer[r], message, &e, w->all + (size_t)r * w->bytes);
    }
    w->gathering = false;
    return true;
}

static int wire_test(void *user, void **pending, int *ended)
{
    wires *w = user;
    ticket *t = *pending;

    if (w->dead) return 1;
    wire_progress(w);
    *ended = t->to < 0 ? wire_gathered(w) : w->peer[t->to].flushed >= t->flushed;
    if (*ended) free(t), *pending = NULL;
    return 0;
}

static int wire_probe(void *user, int from, int tag, size_t *size, int *there)
{
    wires *w = user;
    envelope e;

    if (w->dead) return 1;
    wire_progress(w);
    *there = 0;
    for (int r = 0; r < w->size && !*there; r++) {
        if (r == w->rank || (from >= 0 && r != from)) continue;
        *there = wire_find(&w->peer[r], tag, &e) != NULL;
        if (*there) *size = e.size;
    }
    return 0;
}

static int wire_receive(void *user, int from, int tag, void *message, size_t size)
{
    wires *w = user;
    envelope e;
    char *at;

    while (!(at = wire_find(&w->peer[from], tag, &e))) wire_progress(w);
    if (w->dead || e.size != size) return 1;
    wire_take(&w->peer[from], at, &e, message);
    return 0;
}

static void wire_release(void *user) { ((wires *)user)->released++; }

MAYBE_UNUSED static kry_transport transport_of(wires *w)
{
    return (kry_transport){ .struct_size = sizeof(kry_transport),
                            .user = w,
                            .rank = w->rank,
                            .size = w->size,
                            .gather = wire_gather,
                            .send = wire_send,
                            .test = wire_test,
                            .probe = wire_probe,
                            .receive = wire_receive,
                            .release = wire_release };
}

/* ---- processes --------------------------------------------------------------------------------- */

/* What a rank does; `shared`: memory of all ranks, zeroed. It returns if all is well. */
typedef void rank_scene(wires *w, void *shared);

/* Ends this rank if the condition is false. */
#define NEED(cond, ...)                                                                        \
    do {                                                                                       \
        if (!(cond)) {                                                                         \
            fprintf(stderr, "# %s:%d: rank %d: %s: ", __FILE__, __LINE__, rank_number, #cond); \
            fprintf(stderr, __VA_ARGS__);                                                      \
            fputc('\n', stderr);                                                               \
            _exit(1);                                                                          \
        }                                                                                      \
    } while (0)
#define GOOD(call)                                                    \
    do {                                                              \
        kry_status got_ = (call);                                     \
        NEED(got_ == KRY_OK, "%s", got_ > 0 ? "" : kry_last_error()); \
    } while (0)
static int rank_number MAYBE_UNUSED;

/* Wait until all have ended; what is left after a failure is ended, too. */
static int wait_for_ranks(const pid_t *child, int size)
{
    int bad = -1, status;

    for (int left = size; left > 0; left--) {
        pid_t pid = waitpid(-1, &status, 0);
        int r = 0;
        while (r < size && child[r] != pid) r++;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        if (bad < 0) bad = r;
        for (int other = 0; other < size; other++)
            if (other != r) kill(child[other], SIGKILL);
    }
    return bad;
}

/* Returns the rank that failed first, -1 if none did. seconds: then all are ended, and fail. */
MAYBE_UNUSED static int run_ranks(int size, unsigned seconds, size_t shared_bytes,
                                  rank_scene *scene)
{
    int pair[MOST_RANKS][MOST_RANKS] = { { 0 } };
    pid_t child[MOST_RANKS];
    FILE *file = tmpfile();

    assert_true(file && ftruncate(fileno(file), (off_t)shared_bytes + 1) == 0);
    void *shared =
        mmap(NULL, shared_bytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    assert_true(shared != MAP_FAILED && size <= MOST_RANKS);
    fclose(file);
    for (int a = 0; a < size; a++)
        for (int b = 0; b < a; b++) {
            int fd[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
            for (int i = 0; i < 2; i++) assert_int_equal(fcntl(fd[i], F_SETFL, O_NONBLOCK), 0);
            pair[a][b] = fd[0], pair[b][a] = fd[1];
        }
    fflush(NULL);
    for (int r = 0; r < size; r++) {
        child[r] = fork();
        assert_true(child[r] >= 0);
        if (child[r]) continue;
        wires w = { .rank = r, .size = size };
        for (int o = 0; o < size; o++) w.peer[o].fd = pair[r][o];
        signal(SIGPIPE, SIG_IGN);
        signal(SIGALRM, SIG_DFL);
        alarm(seconds);
        setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
        setenv("KRY_THREADS", "1", 1); /* as each host device of a team of them has */
        rank_number = r;
        scene(&w, shared);
        fflush(NULL);
        _exit(0);
    }
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++)
            if (a != b) close(pair[a][b]);
    const int bad = wait_for_ranks(child, size);
    munmap(shared, shared_bytes + 1);
    return bad;
}

/* How a rank makes its team. */
typedef kry_status rank_opener(wires *w, kry_device *dev, const kry_team_params *params,
                               kry_device **team);

static kry_status open_by_wires(wires *w, kry_device *dev, const kry_team_params *params,
                                kry_device **team)
{
    const kry_transport t = transport_of(w);
    return kry_team_of_transport(&t, dev, params, team);
}

static rank_opener *open_ranks MAYBE_UNUSED = open_by_wires;

/* A team of this rank's and all others' devices. */
MAYBE_UNUSED static kry_device *ranks_team(wires *w, kry_team_params params)
{
    kry_device *dev, *team;

    params.struct_size = sizeof params;
    GOOD(kry_device_open(NULL, &dev));
    GOOD(open_ranks(w, dev, &params, &team));
    kry_device_release(&dev);
    return team;
}

/* A team of this process alone, that is to give the same. */
MAYBE_UNUSED static kry_device *team_here(int size, kry_team_params params)
{
    kry_device *part[MOST_RANKS], *team;

    params.struct_size = sizeof params, params.use_all = true;
    for (int i = 0; i < size; i++) GOOD(kry_device_open(NULL, &part[i]));
    GOOD(kry_team_create(part, size, &params, &team));
    for (int i = 0; i < size; i++) kry_device_release(&part[i]);
    return team;
}

#endif
