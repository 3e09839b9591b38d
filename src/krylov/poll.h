/*
 * poll.h - how the host follows a method's stop flag on the device while launches are queued.
 *
 * A method enqueues iterations while kryi_poll_next says so. The device writes each squared residual
 * into a short history and decides by itself when to stop; the host reads both a batch of iterations behind.
 */
#ifndef KRY_POLL_H
#define KRY_POLL_H

#include "krylov/method.h"
#include "operator/direction.h"

enum { KRY_POLL_BATCH = 64 }; /* iterations of a batch, at most */
/* Residuals of a batch, at most: of all its iterations, and of the one that the limit ends. */
enum { KRY_POLL_RESIDUALS = KRY_POLL_BATCH + 1 };

/* Iterations that are enqueued before the host reads what the device has decided. */
typedef struct kryi_poll_batch {
    int64_t first; /* iteration of the first residual */
    int count;
    cl_event ready; /* NULL: nothing is being read */
} kryi_poll_batch;

typedef struct kryi_poll {
    kry_device *dev; /* borrowed */
    /* Recurrences that are followed at once: all below is for each, column by column. */
    int columns;
    /* The cycle under way, borrowed: an array of as many as there are columns. Those that are not over go on together,
     * from the same iteration. */
    const kryi_cycle *c;
    /* STATE_SIZE scalars each, of which no launch writes what it reads: `state` is written by the kernel that
     * tests the residual, `step` by the next one. */
    cl_mem state, step;
    /* KRY_POLL_RESIDUALS numbers of type ACC: squared residuals, of all columns side by side. */
    cl_mem history;
    kryi_pinned pinned; /* where the reads land: room for two batches */
    kryi_poll_batch batch[2];
    int current;         /* the batch being enqueued */
    int batch_size;      /* iterations that it gets */
    int64_t last_polled; /* the last iteration that was known when the batch before was read */
    double polled_at;    /* seconds */
    int64_t check_every; /* 0: chosen by how long iterations take */
    /* Test each iteration, and wait: it takes longer than that, or A or M waits for the device as well. */
    bool each_iteration;
    /* True if iterations take so long that the host is not to run ahead: batches of one iteration, and
     * kryi_poll_look_ahead. */
    bool one_by_one;
    bool due;            /* the end was seen: test the next iterate */
    int64_t seen_at;     /* the last iteration whose ||r|| the host has waited for; -1: none */
    double seen;         /* this norm */
    int64_t start;       /* iteration that the cycle under way began with */
    kryi_scalar target2; /* of the cycle under way: the goal of one column, squared */
    /* The iteration to enqueue or, for `check`, to test: its squared residual goes to history[slot]. */
    cl_int iteration, slot;
    /* Launch the stopping test alone, for the present residual. */
    kry_status (*check)(void *self);
    void *self;
} kryi_poll;

kry_status kryi_poll_create(const kryi_krylov *K, int columns, kryi_poll *poll);
void kryi_poll_release(kryi_poll *poll);
/* A cycle begins, with zeros for scalars, but the target of each column and, of those that are over, a reason
 * to stop; if the cycle goes on along the last direction `step` has what it had, in the units of this cycle. */
kry_status kryi_poll_begin(kryi_poll *poll, const kryi_cycle *c, kry_status (*check)(void *self),
                           void *self);
/* Whether to enqueue another iteration, poll->iteration. If not, the cycle is over, and stopping says where and why. */
kry_status kryi_poll_next(kryi_poll *poll, bool *go);
/* The last step has left a residual r and, second of `sums`, r'r. Where the end may be near, and iterations take long, wait for that
 * sum: poll->due if ||r|| is small enough, so that the method need not precondition r. */
kry_status kryi_poll_look_ahead(kryi_poll *poll, kry_sum *sums);
/* The scalars that poll->state or poll->step have now, of one column. Waits. */
kry_status kryi_poll_read(const kryi_poll *poll, cl_mem scalars, double v[STATE_SIZE]);
/* A cycle ends for a reason of its method's: test the residual that it has come to. Waits. */
kry_status kryi_poll_close(kryi_poll *poll);

#endif
