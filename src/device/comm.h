/*
 * comm.h - what the parts of a computation tell each other: the whole of it, so that threads of one
 * process and processes of many machines can stand behind it alike.
 *
 * Every part runs the same program on its own rows. Calls marked collective are made by all parts
 * in the same order; they return an error on all of them once one part has failed.
 */
#ifndef KRY_COMM_H
#define KRY_COMM_H

#include "device/launch.h"
#include <stdatomic.h>

typedef struct kry_message {
    const void *bytes;
    atomic_uint held; /* 1: the receiver reads it */
} kry_message;

/* First in what is to be released later. */
typedef struct kry_deferred {
    void (*release)(struct kry_deferred *what);
    struct kry_deferred *next;
} kry_deferred;

struct kry_comm {
    int rank, size; /* size 1: alone, nothing is called */
    unsigned run;   /* which call of the caller's this is: nothing is under way between two */
    /* Collective. all: size blocks of `bytes`, in the order of ranks. */
    kry_status (*gather)(kry_comm *comm, const void *mine, size_t bytes, void *all);

    /* Messages between two parts arrive in the order in which they were posted. `message` is the
     * sender's: nothing of it changes until kry_comm.settle has returned. */
    kry_status (*post)(kry_comm *comm, int to, kry_message *message);
    /* Wait for what `from` posted next; to be read until kry_comm.release, which may come late. */
    kry_status (*take)(kry_comm *comm, int from, kry_message **message);
    void (*release)(kry_comm *comm, kry_message *message);
    /* Wait until it has been released. */
    kry_status (*settle)(kry_comm *comm, kry_message *message);
    /* Release it when no part runs any more. Until then neighbours may look at messages that were
     * posted, also of a part that has failed. */
    void (*defer)(kry_comm *comm, kry_deferred *what);
};

#endif
