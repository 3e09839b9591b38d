/*
 * crew.c - the threads of a team, one for each part, and how they wait for each other.
 *
 * Rank 0 is the caller's thread; the others sleep until kryi_team_run has a task for them. When a
 * part fails, every wait of the others ends with an error, so that no thread waits for ever.
 */
#include "team/ranks.h"
#include "team/team.h"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 256, SENTENCE = 512, BOX = 16 /* messages on their way, a power of two */ };

/* The messages from one part to one other part: a ring. */
typedef struct mailbox {
    kryi_message *message[BOX];
    atomic_uint posted, taken;
} mailbox;

typedef struct member {
    kryi_comm comm; /* first: the functions of the table get it */
    struct kryi_crew *crew;
    pthread_t thread;
    kry_status status;
    kryi_deferred *deferred; /* a list */
    char error[SENTENCE];
} member;

typedef struct kryi_crew {
    struct kryi_team *team; /* borrowed */
    int spin;               /* how often a wait looks before it sleeps */
    int threads;            /* that have been started */
    pid_t process;          /* where they run */
    member *member;
    mailbox *mail; /* team->size squared, [from * team->size + to] */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* signalled after every change that a thread may wait for */

    /* The run. */
    kryi_task_of_part *task;
    void *user;
    const kryi_split *split; /* borrowed; NULL: none */
    int members;
    atomic_uint run;      /* its number */
    atomic_bool occupied; /* a thread is in kryi_team_run */
    atomic_uint running;  /* threads that have not ended their task */
    atomic_int failed;    /* the part that failed first, -1: none */
    atomic_bool quit;

    /* Gathering uses two sets of slots in turn: no part is two gathers ahead of another. */
    atomic_int arrived;
    atomic_uint turn;
    unsigned char *slot; /* 2 * team->size * SMALL */
    const void **large;  /* team->size */
} kryi_crew;

static _Thread_local bool in_run; /* this thread is running a task of a team */

/* ---- waiting -------------------------------------------------------------------------------- */

/* Wake all threads that wait. */
static void notify(kryi_crew *c)
{
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* Wait while *number is `value`; `stops`: no longer than until a part fails. */
static void wait_while(kryi_crew *c, const atomic_uint *number, unsigned value, bool stops)
{
    for (int i = 0; i < c->spin; i++)
        if (atomic_load(number) != value || (stops && atomic_load(&c->failed) >= 0)) return;
    pthread_mutex_lock(&c->lock);
    while (atomic_load(number) == value && !(stops && atomic_load(&c->failed) >= 0))
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static kry_status wait_for_part(kryi_crew *c, const atomic_uint *number, unsigned value)
{
    wait_while(c, number, value, true);
    if (atomic_load(number) != value) return KRY_OK;
    return kry_fail(KRY_ERR_DEVICE, "another device of the team failed");
}

/* ---- gathering ------------------------------------------------------------------------------ */

/* Wait until all parts of the run have come here. */
static kry_status meet(kryi_crew *c)
{
    unsigned turn = atomic_load(&c->turn);

    if (atomic_fetch_add(&c->arrived, 1) + 1 == c->members) {
        atomic_store(&c->arrived, 0);
        atomic_fetch_add(&c->turn, 1);
        notify(c);
        return KRY_OK;
    }
    return wait_for_part(c, &c->turn, turn);
}

static kry_status crew_gather(kryi_comm *comm, const void *mine, size_t bytes, void *all)
{
    kry_status st = KRY_OK;
    member *m = (member *)comm;
    kryi_crew *c = m->crew;
    size_t set_bytes = SMALL * (size_t)c->team->size;
    unsigned char *to = all, *set = c->slot + atomic_load(&c->turn) % 2 * set_bytes;
    bool large = bytes > SMALL;

    if (large)
        c->large[comm->rank] = mine;
    else
        memcpy(set + SMALL * (size_t)comm->rank, mine, bytes);
    TRY(meet(c));
    for (int r = 0; r < comm->size; r++)
        memcpy(to + bytes * (size_t)r, large ? c->large[r] : set + SMALL * (size_t)r, bytes);
    if (large) TRY(meet(c)); /* all have read `mine` */
done:
    return st;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Only the sender changes `posted`, and only the receiver `taken`. */
static kry_status crew_post(kryi_comm *comm, int to, kryi_message *message)
{
    kry_status st = KRY_OK;
    kryi_crew *c = ((member *)comm)->crew;
    mailbox *box = &c->mail[comm->rank * c->team->size + to];
    unsigned posted = atomic_load(&box->posted);

    TRY(wait_for_part(c, &box->taken, posted - BOX));
    atomic_store(&message->held, 1);
    box->message[posted % BOX] = message;
    atomic_fetch_add(&box->posted, 1);
    notify(c);
done:
    return st;
}

static kry_status crew_take(kryi_comm *comm, int from, kryi_message *room, kryi_message **message)
{
    kry_status st = KRY_OK;
    kryi_crew *c = ((member *)comm)->crew;
    mailbox *box = &c->mail[from * c->team->size + comm->rank];
    unsigned taken = atomic_load(&box->taken);

    TRY(wait_for_part(c, &box->posted, taken));
    *message = box->message[taken % BOX];
    assert((*message)->size == room->size);
    (void)room;
    atomic_fetch_add(&box->taken, 1);
    notify(c);
done:
    return st;
}

static void crew_release(kryi_comm *comm, kryi_message *message)
{
    atomic_store(&message->held, 0);
    notify(((member *)comm)->crew);
}

static kry_status crew_settle(kryi_comm *comm, kryi_message *message)
{
    return wait_for_part(((member *)comm)->crew, &message->held, 1);
}

static void crew_defer(kryi_comm *comm, kryi_deferred *what)
{
    member *m = (member *)comm;
    what->next = m->deferred;
    m->deferred = what;
}

/* ---- running -------------------------------------------------------------------------------- */

static void work(kryi_crew *c, int rank)
{
    member *m = &c->member[rank];
    kryi_layout *layout = &c->team->part[rank]->layout;

    in_run = true;
    m->comm.size = c->members;
    m->comm.run = atomic_load(&c->run);
    if (c->members > 1) layout->comm = &m->comm;
    layout->split = c->split;
    m->status = c->task(c->user, rank);
    layout->split = NULL;
    /* When a run ends, neighbours have read what they read of each other: the queues are empty. */
    if (m->status < 0) snprintf(m->error, sizeof m->error, "%s", kry_last_error());
    if (kry_device_finish(c->team->part[rank]) < 0 && m->status >= 0) {
        snprintf(m->error, sizeof m->error, "%s", kry_last_error());
        m->status = KRY_ERR_DEVICE;
    }
    layout->comm = &kryi_comm_alone;
    in_run = false;
    int none = -1;
    if (m->status >= 0 || !atomic_compare_exchange_strong(&c->failed, &none, rank)) return;
    notify(c);
}

static void *thread_main(void *arg)
{
    member *m = arg;
    kryi_crew *c = m->crew;

    for (unsigned run = 0;;) {
        wait_while(c, &c->run, run, false);
        pthread_mutex_lock(&c->lock);
        run = atomic_load(&c->run);
        bool called = m->comm.rank < c->members;
        pthread_mutex_unlock(&c->lock);
        /* Asked after `run` is read: kryi_crew_release sets `quit`, then counts `run` up. */
        if (atomic_load(&c->quit)) return NULL;
        if (!called) continue;
        work(c, m->comm.rank);
        atomic_fetch_sub(&c->running, 1);
        notify(c);
    }
}

/* The error of the part that failed first; the message names its device if that may be the
 * cause. */
static kry_status outcome(const struct kryi_team *team)
{
    const kryi_crew *c = team->crew;
    int r = atomic_load(&c->failed);

    if (r < 0) return c->member[0].status;
    const member *m = &c->member[r];
    if (m->status != KRY_ERR_DEVICE && m->status != KRY_ERR_MEMORY && m->status != KRY_ERR_BUILD)
        return kry_fail(m->status, "%s", m->error);
    return kry_fail(m->status, "device %d of %d, '%s': %s", r, c->members, team->part[r]->info.name,
                    m->error);
}

static void start(kryi_crew *c, const kryi_split *split, kryi_task_of_part *task, void *user)
{
    int size = c->team->size;

    pthread_mutex_lock(&c->lock);
    c->task = task, c->user = user, c->split = split;
    c->members = split ? split->members : size;
    atomic_store(&c->failed, -1);
    atomic_store(&c->arrived, 0);
    for (int i = 0; i < size * size; i++) {
        atomic_store(&c->mail[i].posted, 0);
        atomic_store(&c->mail[i].taken, 0);
    }
    atomic_store(&c->running, (unsigned)c->members - 1);
    atomic_fetch_add(&c->run, 1);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

kry_status kryi_team_run(struct kryi_team *team, const kryi_split *split, kryi_task_of_part *task,
                         void *user)
{
    kryi_crew *c = team->crew;

    if (team->ranks) return kryi_ranks_run(team->ranks, split, task, user);
    kry_status st = kryi_device_check_process(team->part[0]);
    if (st < 0) return st;
    if (c->process != getpid())
        return kry_fail(KRY_ERR_DEVICE, "the team of devices has its threads in the process that "
                                        "forked this one: open another one here");
    if (in_run)
        return kry_fail(KRY_ERR_ARGUMENT,
                        "called from within a call on several devices, which has to "
                        "return first");
    if (atomic_exchange(&c->occupied, true))
        return kry_fail(KRY_ERR_ARGUMENT, "the team of devices is at work for another thread: "
                                          "one thread at a time (docs/devices.md)");
    start(c, split, task, user);
    work(c, 0);
    for (unsigned left; (left = atomic_load(&c->running)) > 0;)
        wait_while(c, &c->running, left, false);
    for (int r = 0; r < c->team->size; r++)
        for (kryi_deferred *d = c->member[r].deferred; d; d = c->member[r].deferred) {
            c->member[r].deferred = d->next;
            d->release(d);
        }
    st = outcome(team);
    atomic_store(&c->occupied, false);
    return st;
}

/* ---- making --------------------------------------------------------------------------------- */

void kryi_crew_release(struct kryi_team *team)
{
    kryi_crew *c = team->crew;

    team->crew = NULL;
    if (!c) return;
    if (c->process == getpid()) {
        atomic_store(&c->quit, true);
        atomic_fetch_add(&c->run, 1);
        notify(c);
        for (int r = 1; r <= c->threads; r++) pthread_join(c->member[r].thread, NULL);
        pthread_mutex_destroy(&c->lock);
        pthread_cond_destroy(&c->changed);
    }
    free(c->large);
    free(c->slot);
    free(c->mail);
    free(c->member);
    free(c);
}

kry_status kryi_crew_create(struct kryi_team *team, bool spin)
{
    kry_status st = KRY_OK;
    kryi_crew *c = NULL;
    size_t size = (size_t)team->size;

    TRY(kryi_alloc(1, sizeof *c, &c));
    team->crew = c;
    c->team = team;
    c->process = getpid();
    c->spin = spin ? 20000 : 0;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    TRY(kryi_alloc(size, sizeof *c->member, &c->member));
    TRY(kryi_alloc(size * size, sizeof *c->mail, &c->mail));
    TRY(kryi_alloc(2 * size, SMALL, &c->slot));
    TRY(kryi_alloc(size, sizeof *c->large, &c->large));
    for (int r = 0; r < team->size; r++) {
        member *m = &c->member[r];
        m->crew = c;
        m->comm = (kryi_comm){ .rank = r,
                               .gather = crew_gather,
                               .post = crew_post,
                               .take = crew_take,
                               .release = crew_release,
                               .settle = crew_settle,
                               .defer = crew_defer };
        team->part[r]->in_team = true;
        if (r == 0) continue;
        CHECK(pthread_create(&m->thread, NULL, thread_main, m) == 0, KRY_ERR_MEMORY,
              "kry_team_create: no thread for part %d", r);
        c->threads++;
    }
done:
    if (st < 0) kryi_crew_release(team);
    return st;
}
