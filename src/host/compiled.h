/* compiled.h - kernels that were compiled with the library, and the threads that run them. */
#ifndef KRY_HOST_COMPILED_H
#define KRY_HOST_COMPILED_H

#include "host/host.h"

/* A kernel, by its file, the defines of its program and its name. sizes: for each argument a digit, its bytes, or p for a pointer. */
typedef struct kryi_compiled {
    const char *stem, *program, *name, *sizes;
    void (*run)(const kry_arg *arguments);
} kryi_compiled;

/* The kernels that were compiled for a kind of processor, a table for each file, the last table NULL and the last kernel of each
 * without a name. compile.py makes them when the library is built. */
typedef struct kryi_host_level {
    const char *processor;
    const kryi_compiled *const *tables;
} kryi_host_level;
extern const kryi_host_level kryi_host_levels[]; /* from the best on; the last one without a name */

enum { KRY_HOST_LATE = 8 }; /* numbers of a program that are known when it is launched */

/* ---- host_threads.c ---- */

/* A launch: the kernel's function, once for each work-group. late: the numbers that KRY_LATE reads. */
typedef struct kryi_host_work {
    void (*run)(const kry_arg *arguments);
    const kry_arg *arguments;
    const int *late;
    int64_t groups, columns;
} kryi_host_work;

/* Threads that run launches, together with the thread that calls. They start when a launch first needs them. */
typedef struct kryi_host_pool kryi_host_pool;
/* Return the pool that devices have in common. Each caller releases it. */
kryi_host_pool *kryi_host_pool_common(void);
/* Make a pool for one device. threads: at least one, the calling thread among them. */
kry_status kryi_host_pool_create(int threads, kryi_host_pool **pool);
/* Whoever releases a pool last ends its threads. */
void kryi_host_pool_release(kryi_host_pool **pool);
/* Run all work-groups of a launch, on the pool's threads if they are many and no other launch has the pool. */
void kryi_host_run(kryi_host_pool *pool, const kryi_host_work *launch);
/* The threads that a launch runs on: $KRY_THREADS, else as many as the process may use processors. */
int kryi_host_threads(void);

#endif
