/*
 * host_threads.c - the threads that run the work-groups of a launch on the host.
 *
 * Each thread has a share of the groups, the same one in each launch of that size, so that what it has in its caches is its own
 * again; when that is done it helps others. The caller's thread is the first of them. Threads without work look for the next launch for
 * some microseconds, for solves launch one kernel after the other, and then sleep. Devices have one pool of threads in common, of which one
 * launch at a time makes use; those that are parts of a team, and launch at the same time, have a pool each.
 */
#include "base/system.h"
#include "host/compiled.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { MOST_THREADS = 256, FEW_GROUPS = 4, LOOKS = 4000, CLOSED = 1 << 30, CACHE_LINE = 64 };

/* The struct of opencl_c.clh: where the work-group is that this thread runs. */
typedef struct place {
    int64_t group[2], groups[2];
    const int *late;
} place;
static _Thread_local place here;
const place *kryi_host_here(void);
const place *kryi_host_here(void) { return &here; }

/* Groups of a launch that one thread runs unless others help. */
typedef struct share {
    _Atomic int64_t next;
    int64_t end;
    char beside[CACHE_LINE -
                2 * sizeof(int64_t)]; /* no other share is in its cache line, or only in part */
} share;

typedef struct worker {
    kryi_host_pool *pool;
    int number; /* of its share */
    pthread_t thread;
} worker;

struct kryi_host_pool {
    kryi_host_pool *next;  /* in `pools` */
    pthread_mutex_t owner; /* held by the thread whose launch it is */
    pthread_mutex_t mutex; /* of `sleeping` and the threads */
    pthread_cond_t wake;
    int wanted; /* threads; 0: as many as kryi_host_threads says when they are started */
    worker workers[MOST_THREADS];
    int count; /* threads, the caller's among them; 0: none were started */
    int users; /* devices; protected by `owner` */
    const kryi_host_work *launch;
    share shares[MOST_THREADS];
    atomic_uint turn;    /* counts launches */
    atomic_int inside;   /* threads that look at the launch, and CLOSED if it has ended */
    atomic_int sleeping; /* threads that wait for `wake` */
    atomic_bool ends;
};

static kryi_host_pool common = { .owner = PTHREAD_MUTEX_INITIALIZER,
                                 .mutex = PTHREAD_MUTEX_INITIALIZER,
                                 .wake = PTHREAD_COND_INITIALIZER,
                                 .inside = CLOSED };
static kryi_host_pool *pools = &common;                  /* all that there are */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of that list */

static void run_group(const kryi_host_work *l, int64_t group)
{
    here.group[0] = group % l->groups;
    here.group[1] = group / l->groups;
    l->run(l->arguments);
}

static void enter_launch(const kryi_host_work *l)
{
    here.groups[0] = l->groups;
    here.groups[1] = l->columns;
    here.late = l->late;
}

/* Run the groups of share `first`, then what is left of the others. */
static void run_shares(kryi_host_pool *pool, int first)
{
    const kryi_host_work *l = pool->launch;

    enter_launch(l);
    for (int i = 0; i < pool->count; i++) {
        share *s = &pool->shares[(first + i) % pool->count];
        for (int64_t g; (g = atomic_fetch_add(&s->next, 1)) < s->end;) run_group(l, g);
    }
}

static void pause_thread(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Wait for another turn than `last`. */
static unsigned next_turn(kryi_host_pool *pool, unsigned last)
{
    unsigned turn;

    for (int i = 0; i < LOOKS; i++) {
        if ((turn = atomic_load(&pool->turn)) != last) return turn;
        pause_thread();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleeping, 1);
    while ((turn = atomic_load(&pool->turn)) == last) pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleeping, 1);
    pthread_mutex_unlock(&pool->mutex);
    return turn;
}

static void begin_turn(kryi_host_pool *pool)
{
    atomic_fetch_add(&pool->turn, 1);
    if (!atomic_load(&pool->sleeping)) return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void *thread_main(void *user)
{
    const worker *mine = user;
    kryi_host_pool *pool = mine->pool;
    unsigned turn = 0;

    for (;;) {
        turn = next_turn(pool, turn);
        if (atomic_load(&pool->ends)) return NULL;
        if (!(atomic_fetch_add(&pool->inside, 1) & CLOSED)) run_shares(pool, mine->number);
        atomic_fetch_sub(&pool->inside, 1);
    }
}

int kryi_host_threads(void)
{
    const char *text = getenv("KRY_THREADS");
    long threads = text ? strtol(text, NULL, 10) : 0;

    if (threads < 1) threads = kryi_processors();
    return threads > MOST_THREADS ? MOST_THREADS : (int)threads;
}

/* The caller owns the pool. Where a thread cannot be had, fewer do the work. */
static void start_threads(kryi_host_pool *pool)
{
    const int wanted = pool->wanted ? pool->wanted : kryi_host_threads();

    atomic_store(&pool->turn, 0);
    for (pool->count = 1; pool->count < wanted; pool->count++) {
        worker *w = &pool->workers[pool->count];
        w->pool = pool, w->number = pool->count;
        if (pthread_create(&w->thread, NULL, thread_main, w)) break;
    }
}

static void end_threads(kryi_host_pool *pool)
{
    atomic_store(&pool->ends, true);
    begin_turn(pool);
    for (int t = 1; t < pool->count; t++) pthread_join(pool->workers[t].thread, NULL);
    pool->count = 0;
    atomic_store(&pool->ends, false);
}

/* After a fork the child has the calling thread alone; it starts threads of its own. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    for (kryi_host_pool *p = pools; p; p = p->next) {
        pthread_mutex_lock(&p->owner);
        pthread_mutex_lock(&p->mutex);
    }
}

static void after_fork(void)
{
    for (kryi_host_pool *p = pools; p; p = p->next) {
        pthread_mutex_unlock(&p->mutex);
        pthread_mutex_unlock(&p->owner);
    }
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    for (kryi_host_pool *p = pools; p; p = p->next) {
        p->count = 0;
        atomic_store(&p->inside, CLOSED);
        atomic_store(&p->sleeping, 0);
        pthread_cond_init(&p->wake, NULL);
    }
    after_fork();
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, in_child); }

kryi_host_pool *kryi_host_pool_common(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&common.owner);
    common.users++;
    pthread_mutex_unlock(&common.owner);
    return &common;
}

kry_status kryi_host_pool_create(int threads, kryi_host_pool **pool)
{
    const kry_status st = kryi_alloc(1, sizeof **pool, pool);

    if (st < 0) return st;
    kryi_host_pool *p = *pool;
    p->wanted = threads < 1 ? 1 : threads;
    p->users = 1;
    atomic_store(&p->inside, CLOSED);
    pthread_mutex_init(&p->owner, NULL);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_mutex_lock(&lock);
    p->next = pools;
    pools = p;
    pthread_mutex_unlock(&lock);
    return KRY_OK;
}

static void destroy(kryi_host_pool *pool)
{
    pthread_mutex_lock(&lock);
    kryi_host_pool **at = &pools;
    while (*at != pool) at = &(*at)->next;
    *at = pool->next;
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    pthread_mutex_destroy(&pool->owner);
    free(pool);
}

void kryi_host_pool_release(kryi_host_pool **pool)
{
    kryi_host_pool *p = *pool;

    *pool = NULL;
    if (!p) return;
    pthread_mutex_lock(&p->owner);
    const bool last = !--p->users;
    if (last) end_threads(p);
    pthread_mutex_unlock(&p->owner);
    if (last && p != &common) destroy(p);
}

void kryi_host_run(kryi_host_pool *pool, const kryi_host_work *l)
{
    const int64_t groups = l->groups * l->columns;

    if (groups < FEW_GROUPS || pthread_mutex_trylock(&pool->owner)) {
        enter_launch(l);
        for (int64_t g = 0; g < groups; g++) run_group(l, g);
        return;
    }
    if (!pool->count) start_threads(pool);
    pool->launch = l;
    for (int t = 0; t < pool->count; t++) {
        atomic_store(&pool->shares[t].next, groups * t / pool->count);
        pool->shares[t].end = groups * (t + 1) / pool->count;
    }
    atomic_fetch_and(&pool->inside, ~CLOSED);
    begin_turn(pool);
    run_shares(pool, 0);
    atomic_fetch_or(&pool->inside, CLOSED);
    for (int looks = 0; atomic_load(&pool->inside) != CLOSED; looks++)
        if (looks < LOOKS)
            pause_thread();
        else
            sched_yield();
    pthread_mutex_unlock(&pool->owner);
}
