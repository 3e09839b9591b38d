/*
 * comm.h - how the parts of a computation communicate: threads of one process (team/crew.c), or
 * processes, on one machine or on several (team/ranks.c). A device has the communicator of its team during a run on several
 * parts, and otherwise that of a device by itself.
 *
 * Every part runs the same program on its own rows. Collective functions are called by all parts in
 * the same order. They return an error on all parts once one part has failed.
 */
#ifndef KRY_COMM_H
#define KRY_COMM_H

#include "device/launch.h"
#include <stdatomic.h>

typedef struct kryi_message {
    void *bytes;
    size_t size;
    size_t beside;    /* bytes that go another way with it, and count as sent */
    atomic_uint held; /* 1: the receiver reads it */
    /* Between processes, while it is under way: the transport's own, and a list of such messages. */
    void *pending;
    struct kryi_message *next;
} kryi_message;

/* First member of an object that is to be released later. */
typedef struct kryi_deferred {
    void (*release)(struct kryi_deferred *what);
    struct kryi_deferred *next;
} kryi_deferred;

struct kryi_comm {
    int rank, size;
    unsigned run; /* the number of the run: no message outlives its run */
    bool apart;   /* the other parts are in processes of their own, with callers of their own */
    /* Collective. all: size blocks of `bytes`, in the order of ranks. */
    kry_status (*gather)(kryi_comm *comm, const void *mine, size_t bytes, void *all);
    /* gather in halves, for a few numbers: whatever a part does between begin and end, other collective functions
     * included, it does while the numbers travel. all is complete after end; until then nobody else writes to it. For
     * at most `most_begun` bytes, which may be 0. */
    kry_status (*gather_begin)(kryi_comm *comm, const void *mine, size_t bytes, void *all);
    kry_status (*gather_end)(kryi_comm *comm);
    size_t most_begun;
    /* Collective: kryi_layout_combine of many numbers, without those of all parts being brought to each. NULL: they
     * are gathered. */
    kry_status (*combine)(kryi_comm *comm, kryi_combine how, double *numbers, size_t count);

    /* Send. Messages between two parts arrive in the order in which they were posted. The sender
     * owns `message` and does not change it until settle has returned. */
    kry_status (*post)(kryi_comm *comm, int to, kryi_message *message);
    /* Wait for the next message of part `from`, which has room->size bytes. It may be read until
     * release is called: where its sender keeps it, or, from another process, at room->bytes. */
    kry_status (*take)(kryi_comm *comm, int from, kryi_message *room, kryi_message **message);
    void (*release)(kryi_comm *comm, kryi_message *message);
    /* Wait until the receiver has released it. */
    kry_status (*settle)(kryi_comm *comm, kryi_message *message);
    /* Release an object when the run has ended on all parts. Until then other parts may read
     * messages that were posted, even those of a part that has failed. */
    void (*defer)(kryi_comm *comm, kryi_deferred *what);
    /* Wait until *number is `value`, which another process writes there. NULL where parts are threads. */
    kry_status (*watch)(kryi_comm *comm, const atomic_uint *number, unsigned value);
};

/* layout.c: take the next message of part `from`, and copy it. size: its bytes; 0: there is none */
kry_status kryi_receive(kryi_comm *comm, int from, void *bytes, size_t size);

/* layout.c: a device by itself, which is all parts. It has neither messages nor sums in halves, and what is deferred is
 * released at once. */
extern kryi_comm kryi_comm_alone;

#endif
