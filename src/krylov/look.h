/*
 * look.h - how the host follows the scalars of a method on the device without holding it up.
 *
 * A method enqueues iterations while kry_look_next says so. The device writes each squared residual
 * into a short history and decides by itself when to stop; the host reads both a batch behind.
 */
#ifndef KRY_LOOK_H
#define KRY_LOOK_H

#include "krylov/method.h"
#include "operator/direction.h"

enum { KRY_BATCH = 64 }; /* iterations between two looks, at most */
/* Residuals of a look, at most: of a whole batch, and the one that a look at the limit adds. */
enum { KRY_LOOK = KRY_BATCH + 1 };

typedef struct kry_window {
    int64_t first; /* iteration of the first history entry */
    int count;
    cl_event ready; /* NULL: nothing is being read */
} kry_window;

/* The next iteration, for the kernel that ends iterations: its number, and where in `history` its
 * squared residual goes. */
typedef struct kry_turn {
    cl_int iteration, slot;
} kry_turn;

typedef struct kry_look {
    kry_device *dev; /* borrowed */
    int columns; /* recurrences that are followed at once: all below is for each, column by column */
    cl_mem state,
        step; /* STATE_SIZE scalars each, of which no launch writes what it reads: `state` is
                           written by the kernel that judges the residual, `step` by the next one */
    cl_mem
        history; /* KRY_LOOK numbers of type ACC: squared residuals, of all columns side by side */
    kry_pinned pinned; /* where the reads land: room for two looks */
    kry_window window[2];
    int current, batch;  /* the window being filled, and how many iterations it gets */
    int64_t looked_at;   /* the last iteration that the look before the last one saw */
    double looked;       /* seconds */
    int64_t check_every; /* 0: chosen by how long iterations take */
    bool at_each;        /* look at every iteration: they take longer than a look */
    bool by_one; /* batches of one iteration: they take so long that the host is not to run ahead */
    bool due;    /* the method has seen the end: look at the next iterate */
    /* Launch the stopping test alone, for the present residual. */
    kry_status (*check)(void *self, const kry_turn *turn);
    void *self;
} kry_look;

kry_status kry_look_create(kry_device *dev, int64_t check_every, bool at_each, kry_look *look);
/* The same for several columns. All functions then take an array of as many cycles; those that are not over go
 * on together, from the same iteration. */
kry_status kry_look_create_columns(kry_device *dev, int columns, int64_t check_every, bool at_each,
                                   kry_look *look);
void kry_look_release(kry_look *look);
/* A cycle begins, with zeros for scalars, but the target of each column and, of those that are over, a reason
 * to stop; `step` is left if the cycle goes on along the last direction. */
kry_status kry_look_begin(kry_look *look, const kry_cycle *c,
                          kry_status (*check)(void *self, const kry_turn *turn), void *self);
/* Whether to enqueue another iteration; if so, which. When it says no, the cycle is over, and the
 * story knows where and why. */
kry_status kry_look_next(kry_look *look, const kry_cycle *c, kry_turn *turn, bool *go);
/* A cycle ends for a reason of its method's: look at the residual that it has come to. Waits. */
kry_status kry_look_close(kry_look *look, const kry_cycle *c);

#endif
