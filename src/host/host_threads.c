/*
 * host_threads.c - the threads that run the work-groups of a launch on the host.
 *
 * Each thread has a share of the groups, the same one in each launch of that size, so that what it has in its caches is its own
 * again; when that is done it helps others. The caller's thread is the first of them. Threads without work look for the next launch for
 * some microseconds, for solves launch one kernel after the other, and then sleep.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "host/compiled.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { MOST_THREADS = 256, FEW_GROUPS = 4, LOOKS = 4000, CLOSED = 1 << 30, CACHE_LINE = 64 };

/* The struct of opencl_c.clh: where the work-group is that this thread runs. */
typedef struct place {
    long group[2], groups[2];
    const int *late;
} place;
static _Thread_local place here;
const place *kry_host_here(void);
const place *kry_host_here(void) { return &here; }

/* Groups of a launch that one thread runs unless others help. */
typedef struct share {
    _Alignas(CACHE_LINE) _Atomic int64_t next;
    int64_t end;
} share;

static struct {
    pthread_mutex_t owner; /* held by the thread whose launch it is */
    pthread_mutex_t mutex; /* of `sleeping`, `users` and the threads */
    pthread_cond_t wake;
    pthread_t threads[MOST_THREADS];
    int number[MOST_THREADS]; /* of each thread */
    int count;                /* threads, the caller's among them; 0: none were started */
    int users;                /* devices */
    const kry_host_work *launch;
    share shares[MOST_THREADS];
    atomic_uint turn;    /* counts launches */
    atomic_int inside;   /* threads that look at the launch, and CLOSED if it has ended */
    atomic_int sleeping; /* threads that wait for `wake` */
    atomic_bool ends;
} pool = { .owner = PTHREAD_MUTEX_INITIALIZER,
           .mutex = PTHREAD_MUTEX_INITIALIZER,
           .wake = PTHREAD_COND_INITIALIZER,
           .inside = CLOSED };

static void run_group(const kry_host_work *l, int64_t group)
{
    here.group[0] = group % l->groups;
    here.group[1] = group / l->groups;
    l->run(l->arguments);
}

static void enter_launch(const kry_host_work *l)
{
    here.groups[0] = l->groups;
    here.groups[1] = l->columns;
    here.late = l->late;
}

/* Run the groups of share `first`, then what is left of the others. */
static void run_shares(int first)
{
    const kry_host_work *l = pool.launch;

    enter_launch(l);
    for (int i = 0; i < pool.count; i++) {
        share *s = &pool.shares[(first + i) % pool.count];
        for (int64_t g; (g = atomic_fetch_add(&s->next, 1)) < s->end;) run_group(l, g);
    }
}

static void pause_thread(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Wait for another turn than `last`. */
static unsigned next_turn(unsigned last)
{
    unsigned turn;

    for (int i = 0; i < LOOKS; i++) {
        if ((turn = atomic_load(&pool.turn)) != last) return turn;
        pause_thread();
    }
    pthread_mutex_lock(&pool.mutex);
    atomic_fetch_add(&pool.sleeping, 1);
    while ((turn = atomic_load(&pool.turn)) == last) pthread_cond_wait(&pool.wake, &pool.mutex);
    atomic_fetch_sub(&pool.sleeping, 1);
    pthread_mutex_unlock(&pool.mutex);
    return turn;
}

static void begin_turn(void)
{
    atomic_fetch_add(&pool.turn, 1);
    if (!atomic_load(&pool.sleeping)) return;
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.mutex);
}

static void *thread_main(void *number)
{
    const int mine = *(const int *)number;
    unsigned turn = 0;

    for (;;) {
        turn = next_turn(turn);
        if (atomic_load(&pool.ends)) return NULL;
        if (!(atomic_fetch_add(&pool.inside, 1) & CLOSED)) run_shares(mine);
        atomic_fetch_sub(&pool.inside, 1);
    }
}

int kry_host_threads(void)
{
    const char *text = getenv("KRY_THREADS");
    long threads = text ? strtol(text, NULL, 10) : 0;
    cpu_set_t set;

    if (threads < 1 && !sched_getaffinity(0, sizeof set, &set)) threads = CPU_COUNT(&set);
    return threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : (int)threads;
}

/* The caller owns the pool. Where a thread cannot be had, fewer do the work. */
static void start_threads(void)
{
    const int wanted = kry_host_threads();

    atomic_store(&pool.turn, 0);
    for (pool.count = 1; pool.count < wanted; pool.count++) {
        pool.number[pool.count] = pool.count;
        if (pthread_create(&pool.threads[pool.count], NULL, thread_main, &pool.number[pool.count]))
            break;
    }
}

static void end_threads(void)
{
    atomic_store(&pool.ends, true);
    begin_turn();
    for (int t = 1; t < pool.count; t++) pthread_join(pool.threads[t], NULL);
    pool.count = 0;
    atomic_store(&pool.ends, false);
}

/* After a fork the child has the calling thread alone; it starts threads of its own. */
static void before_fork(void)
{
    pthread_mutex_lock(&pool.owner);
    pthread_mutex_lock(&pool.mutex);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&pool.mutex);
    pthread_mutex_unlock(&pool.owner);
}

static void in_child(void)
{
    pool.count = 0;
    atomic_store(&pool.inside, CLOSED);
    atomic_store(&pool.sleeping, 0);
    pthread_cond_init(&pool.wake, NULL);
    after_fork();
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, in_child); }

void kry_host_pool_retain(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&pool.owner);
    pool.users++;
    pthread_mutex_unlock(&pool.owner);
}

void kry_host_pool_release(void)
{
    pthread_mutex_lock(&pool.owner);
    if (!--pool.users) end_threads();
    pthread_mutex_unlock(&pool.owner);
}

static void run_alone(const kry_host_work *l)
{
    enter_launch(l);
    for (int64_t g = 0; g < l->groups * l->columns; g++) run_group(l, g);
}

static void share_out(int64_t groups)
{
    for (int t = 0; t < pool.count; t++) {
        atomic_store(&pool.shares[t].next, groups * t / pool.count);
        pool.shares[t].end = groups * (t + 1) / pool.count;
    }
}

void kry_host_run(const kry_host_work *l)
{
    const int64_t groups = l->groups * l->columns;

    if (groups < FEW_GROUPS || pthread_mutex_trylock(&pool.owner)) {
        run_alone(l);
        return;
    }
    if (!pool.count) start_threads();
    pool.launch = l;
    share_out(groups);
    atomic_fetch_and(&pool.inside, ~CLOSED);
    begin_turn();
    run_shares(0);
    atomic_fetch_or(&pool.inside, CLOSED);
    for (int looks = 0; atomic_load(&pool.inside) != CLOSED; looks++)
        if (looks < LOOKS)
            pause_thread();
        else
            sched_yield();
    pthread_mutex_unlock(&pool.owner);
}
