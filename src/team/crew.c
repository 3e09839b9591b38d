/*
 * crew.c - the parts of one process: a thread for each, and how they wait for each other.
 *
 * Rank 0 is the caller's thread; the others sleep until there is something to run. A part that
 * fails says so, and whoever waits for it fails too, so nobody waits for ever.
 */
#include "team/team.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 256, SENTENCE = 512, BOX = 16 /* messages on their way, a power of two */ };

/* What one part says to one other. */
typedef struct mailbox {
    kry_message *message[BOX];
    atomic_uint posted, taken;
} mailbox;

typedef struct member {
    kry_comm comm; /* first: the functions of the table get it */
    struct kry_crew *crew;
    pthread_t thread;
    bool started;
    kry_status status;
    unsigned failed_as;     /* 1: the first that failed, 2: the second ...; 0: it did not */
    kry_deferred *deferred; /* a list */
    char error[SENTENCE];
} member;

typedef struct kry_crew {
    struct kry_team *team; /* borrowed */
    int size, spin;        /* spin: turns of a loop before a wait goes to sleep */
    member *member;
    mailbox *mail; /* size * size, [from * size + to] */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* something that others may wait for */

    /* The run. */
    kry_task_of_part *task;
    void *user;
    int members;
    atomic_uint run;      /* its number */
    atomic_bool occupied; /* by a thread that waits for its run */
    atomic_int running;
    atomic_bool failed, quit;
    unsigned failures;

    /* Gathering: two sets of places in turn, for nobody is two gathers ahead. */
    atomic_int arrived;
    atomic_uint turn;
    unsigned char *slot; /* 2 * size * SMALL */
    const void **large;  /* size */
} kry_crew;

static _Thread_local const kry_crew *inside; /* of a run of this crew */

/* ---- waiting -------------------------------------------------------------------------------- */

/* Tell whoever waits that something has changed. */
static void moved(kry_crew *c)
{
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

typedef bool condition(const void *of);

/* Until the condition holds: `*fails` ends the wait as well. Returns whether it holds. */
static bool wait_until(kry_crew *c, condition *holds, const void *of, const atomic_bool *fails)
{
    for (int i = 0; i < c->spin; i++) {
        if (holds(of)) return true;
        if (fails && atomic_load(fails)) return false;
    }
    pthread_mutex_lock(&c->lock);
    while (!holds(of) && !(fails && atomic_load(fails))) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return holds(of);
}

static kry_status others_failed(void)
{
    return kry_fail(KRY_ERR_DEVICE, "another device of the team failed");
}

/* ---- gathering ------------------------------------------------------------------------------ */

typedef struct turning {
    const kry_crew *crew;
    unsigned turn;
} turning;

static bool has_turned(const void *of)
{
    const turning *t = of;
    return atomic_load(&t->crew->turn) != t->turn;
}

/* All members have come here. */
static kry_status meet(kry_crew *c)
{
    turning t = { c, atomic_load(&c->turn) };

    if (atomic_fetch_add(&c->arrived, 1) + 1 == c->members) {
        atomic_store(&c->arrived, 0);
        atomic_fetch_add(&c->turn, 1);
        moved(c);
        return KRY_OK;
    }
    return wait_until(c, has_turned, &t, &c->failed) ? KRY_OK : others_failed();
}

static kry_status crew_gather(kry_comm *comm, const void *mine, size_t bytes, void *all)
{
    kry_status st = KRY_OK;
    member *m = (member *)comm;
    kry_crew *c = m->crew;
    unsigned char *to = all, *set = c->slot + atomic_load(&c->turn) % 2 * SMALL * (size_t)c->size;
    bool large = bytes > SMALL;

    if (large)
        c->large[comm->rank] = mine;
    else
        memcpy(set + SMALL * (size_t)comm->rank, mine, bytes);
    TRY(meet(c));
    for (int r = 0; r < comm->size; r++)
        memcpy(to + bytes * (size_t)r, large ? c->large[r] : set + SMALL * (size_t)r, bytes);
    if (large) TRY(meet(c)); /* `mine` is the caller's again */
done:
    return st;
}

/* ---- messages ------------------------------------------------------------------------------- */

static bool has_room(const void *of)
{
    const mailbox *box = of;
    return atomic_load(&box->posted) - atomic_load(&box->taken) < BOX;
}

static kry_status crew_post(kry_comm *comm, int to, kry_message *message)
{
    kry_crew *c = ((member *)comm)->crew;
    mailbox *box = &c->mail[comm->rank * c->size + to];

    if (!wait_until(c, has_room, box, &c->failed)) return others_failed();
    atomic_store(&message->held, true);
    box->message[atomic_load(&box->posted) % BOX] = message;
    atomic_fetch_add(&box->posted, 1);
    moved(c);
    return KRY_OK;
}

static bool has_mail(const void *of)
{
    const mailbox *box = of;
    return atomic_load(&box->posted) != atomic_load(&box->taken);
}

static kry_status crew_take(kry_comm *comm, int from, kry_message **message)
{
    kry_crew *c = ((member *)comm)->crew;
    mailbox *box = &c->mail[from * c->size + comm->rank];

    if (!wait_until(c, has_mail, box, &c->failed)) return others_failed();
    *message = box->message[atomic_load(&box->taken) % BOX];
    atomic_fetch_add(&box->taken, 1);
    moved(c);
    return KRY_OK;
}

static void crew_release(kry_comm *comm, kry_message *message)
{
    atomic_store(&message->held, false);
    moved(((member *)comm)->crew);
}

static bool is_settled(const void *of) { return !atomic_load(&((const kry_message *)of)->held); }

static kry_status crew_settle(kry_comm *comm, kry_message *message)
{
    kry_crew *c = ((member *)comm)->crew;
    return wait_until(c, is_settled, message, &c->failed) ? KRY_OK : others_failed();
}

static void crew_defer(kry_comm *comm, kry_deferred *what)
{
    member *m = (member *)comm;
    what->next = m->deferred;
    m->deferred = what;
}

static void release_deferred(kry_crew *c)
{
    for (int r = 0; r < c->size; r++)
        for (kry_deferred *d = c->member[r].deferred; d; d = c->member[r].deferred) {
            c->member[r].deferred = d->next;
            d->release(d);
        }
}

/* ---- running -------------------------------------------------------------------------------- */

static void work(kry_crew *c, int rank)
{
    member *m = &c->member[rank];

    inside = c;
    m->comm.size = c->members;
    m->comm.run = atomic_load(&c->run);
    m->status = c->task(c->user, rank);
    /* What neighbours read of each other has been read when a run ends. */
    if (m->status < 0) snprintf(m->error, sizeof m->error, "%s", kry_last_error());
    if (kry_device_finish(c->team->part[rank]) < 0 && m->status >= 0) {
        snprintf(m->error, sizeof m->error, "%s", kry_last_error());
        m->status = KRY_ERR_DEVICE;
    }
    m->comm.size = 1;
    inside = NULL;
    if (m->status >= 0) return;
    pthread_mutex_lock(&c->lock);
    m->failed_as = ++c->failures;
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->failed, true);
    moved(c);
}

typedef struct waiting {
    const kry_crew *crew;
    unsigned run;
} waiting;

static bool is_called(const void *of)
{
    const waiting *w = of;
    return atomic_load(&w->crew->run) != w->run || atomic_load(&w->crew->quit);
}

static bool has_ended(const void *of) { return atomic_load(&((const kry_crew *)of)->running) == 0; }

static void *thread_main(void *arg)
{
    member *m = arg;
    kry_crew *c = m->crew;
    waiting w = { c, 0 };

    for (;;) {
        wait_until(c, is_called, &w, NULL);
        if (atomic_load(&c->quit)) return NULL;
        pthread_mutex_lock(&c->lock);
        w.run = atomic_load(&c->run);
        bool called = m->comm.rank < c->members;
        pthread_mutex_unlock(&c->lock);
        if (!called) continue;
        work(c, m->comm.rank);
        atomic_fetch_sub(&c->running, 1);
        moved(c);
    }
}

/* The error of the part that failed first, with its device if that is to blame. */
static kry_status outcome(const struct kry_team *team)
{
    const kry_crew *c = team->crew;

    for (int r = 0; r < c->members; r++) {
        const member *m = &c->member[r];
        if (m->failed_as != 1) continue;
        bool device = m->status == KRY_ERR_DEVICE || m->status == KRY_ERR_MEMORY ||
                      m->status == KRY_ERR_BUILD;
        if (!device) return kry_fail(m->status, "%s", m->error);
        return kry_fail(m->status, "device %d of %d, '%s': %s", r, c->members,
                        team->part[r]->info.name, m->error);
    }
    return c->member[0].status;
}

kry_status kry_team_run(struct kry_team *team, int members, kry_task_of_part *task, void *user)
{
    kry_crew *c = team->crew;

    if (inside)
        return kry_fail(KRY_ERR_ARGUMENT,
                        "called from within a call on several devices, which has to "
                        "return first");
    if (atomic_exchange(&c->occupied, true))
        return kry_fail(KRY_ERR_ARGUMENT, "the team of devices is at work for another thread: "
                                          "one thread at a time (docs/threads.md)");
    pthread_mutex_lock(&c->lock);
    c->task = task, c->user = user, c->members = members;
    c->failures = 0;
    atomic_store(&c->failed, false);
    atomic_store(&c->arrived, 0);
    for (int i = 0; i < c->size * c->size; i++) {
        atomic_store(&c->mail[i].posted, 0);
        atomic_store(&c->mail[i].taken, 0);
    }
    for (int r = 0; r < c->size; r++) c->member[r].status = KRY_OK, c->member[r].failed_as = 0;
    atomic_store(&c->running, members - 1);
    atomic_fetch_add(&c->run, 1);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    work(c, 0);
    wait_until(c, has_ended, c, NULL);
    release_deferred(c);
    kry_status st = outcome(team);
    atomic_store(&c->occupied, false);
    return st;
}

typedef struct on_rows {
    kry_split *split;
    kry_task_of_part *task;
    void *user;
} on_rows;

static kry_status run_on_rows(void *user, int rank)
{
    const on_rows *o = user;
    kry_layout *layout = &o->split->team->part[rank]->layout;

    layout->split = o->split;
    kry_status st = o->task(o->user, rank);
    layout->split = NULL;
    return st;
}

kry_status kry_split_run(kry_split *split, kry_task_of_part *task, void *user)
{
    on_rows o = { split, task, user };
    return kry_team_run(split->team, split->members, run_on_rows, &o);
}

/* ---- making --------------------------------------------------------------------------------- */

kry_comm *kry_crew_comm(struct kry_team *team, int rank) { return &team->crew->member[rank].comm; }

void kry_crew_release(struct kry_team *team)
{
    kry_crew *c = team->crew;

    team->crew = NULL;
    if (!c) return;
    atomic_store(&c->quit, true);
    moved(c);
    for (int r = 1; c->member && r < c->size; r++)
        if (c->member[r].started) pthread_join(c->member[r].thread, NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c->large);
    free(c->slot);
    free(c->mail);
    free(c->member);
    free(c);
}

kry_status kry_crew_create(struct kry_team *team, bool spin)
{
    kry_status st = KRY_OK;
    kry_crew *c = NULL;
    size_t size = (size_t)team->size;

    TRY(kry_alloc(1, sizeof *c, &c));
    team->crew = c;
    c->team = team;
    c->size = team->size;
    c->spin = spin ? 20000 : 0;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    TRY(kry_alloc(size, sizeof *c->member, &c->member));
    TRY(kry_alloc(size * size, sizeof *c->mail, &c->mail));
    TRY(kry_alloc(2 * size, SMALL, &c->slot));
    TRY(kry_alloc(size, sizeof *c->large, &c->large));
    for (int r = 0; r < c->size; r++) {
        member *m = &c->member[r];
        m->crew = c;
        m->comm = (kry_comm){ .rank = r,
                              .size = 1,
                              .gather = crew_gather,
                              .post = crew_post,
                              .take = crew_take,
                              .release = crew_release,
                              .settle = crew_settle,
                              .defer = crew_defer };
        if (r == 0) continue;
        CHECK(pthread_create(&m->thread, NULL, thread_main, m) == 0, KRY_ERR_MEMORY,
              "kry_team_create: no thread for part %d", r);
        m->started = true;
    }
done:
    if (st < 0) kry_crew_release(team);
    return st;
}
