/* ranks.h - a team whose parts are processes: one part is here, and a transport leads to the others. */
#ifndef KRY_RANKS_H
#define KRY_RANKS_H

#include "team/team.h"
#include <kry/transport.h>

/* All ranks come to the same meetings in the same order: one where a public call first runs something on all
 * parts, one for each exchange of numbers, one where it ends. To each they bring a packet of one size, so that
 * a rank that has failed, and is at the end of its call, is met by all others wherever they are: they learn
 * that it failed, why, and end the call as well. A rank that waits for a message instead gets a word. */

enum { KRY_RANKS_MOST = 4096, KRY_SENTENCE = 384, KRY_BROUGHT = 104 /* bytes, to a meeting */ };

/* The tags of messages. */
enum {
    KRY_DATA = 1,
    KRY_WORD = 2 /* the sender has failed */,
    KRY_LATE = 3 /* it waits too long */
};

typedef struct kryi_packet {
    int32_t status; /* < 0: the rank has failed and ends its call */
    int32_t first;  /* by itself, not because another one did */
    uint32_t call;  /* which public function it is in: a hash of its name */
    uint32_t bytes; /* that it brings to this meeting */
    uint64_t given; /* how rows are cut that the call is about, and its options: a hash */
    unsigned char data[KRY_BROUGHT];
} kryi_packet;

typedef struct kryi_ranks {
    kryi_comm comm; /* first: its functions get it */
    kry_transport t;
    struct kryi_team *team;  /* borrowed */
    pthread_t thread;        /* that made the team; no other one may call */
    double timeout;          /* seconds; 0: wait for ever */
    kryi_packet mine, *all;  /* of a meeting; all: size */
    void *meeting;           /* pending: one that is begun, or NULL. Then */
    bool begun;              /* it has not been ended, */
    void *brought;           /* where what each brings goes; borrowed */
    char *sentence;          /* size * KRY_SENTENCE: of ranks that failed */
    int32_t *posted, *taken; /* size: messages to and from each rank in this call */
    int32_t *count;          /* size: room for such counts of all ranks */
    void **word;             /* size: pending words to each rank */
    kryi_message *under_way; /* a list: messages that were posted */
    kryi_deferred *deferred; /* a list */

    /* The public call that this rank is in. */
    const char *call;
    int depth;      /* of calls within calls */
    uint64_t given; /* kryi_packet */
    bool inside;    /* a task is running */
    bool met;       /* the ranks have met in it */
    bool others;    /* this rank fails because another one did */
    bool ended;     /* it has ended on all ranks, with */
    kry_status status;
    char why[KRY_SENTENCE + 32];

    bool broken; /* for good, with `status` and `why` */
    kry_rank_facts facts;
} kryi_ranks;

/* ranks.c: what kryi_team_run, _enter, _same, _leave do on ranks; and numbers of all ranks outside of runs. */
kry_status kryi_ranks_run(kryi_ranks *R, const kryi_split *split, kryi_task_of_part *task,
                          void *user);
void kryi_ranks_enter(kryi_ranks *R, const char *call, const kryi_split *split);
void kryi_ranks_same(kryi_ranks *R, const void *given, size_t bytes);
kry_status kryi_ranks_leave(kryi_ranks *R, kry_status mine);
kry_status kryi_ranks_gather(kryi_ranks *R, const void *mine, size_t bytes, void *all);
extern const kryi_comm kryi_ranks_comm; /* the functions */

/* ranks_wait.c: what takes time. All end with an error once `timeout` is over, and then name whom they waited
 * for; if `hears`, also with KRY_ERR_DEVICE and R->others once a rank has failed. */
kry_status kryi_ranks_await(kryi_ranks *R, void **pending, bool hears);
kry_status kryi_ranks_exchange(kryi_ranks *R, const void *mine, size_t bytes, void *all);
kry_status kryi_ranks_probe(kryi_ranks *R, int from, bool hears,
                            size_t *bytes); /* for the next message */
kry_status kryi_ranks_receive(kryi_ranks *R, int from, void *room,
                              size_t bytes); /* which is there */
kry_status kryi_ranks_watch(kryi_ranks *R, const atomic_uint *number, unsigned value); /* comm.h */
kry_status kryi_ranks_break(kryi_ranks *R, const char *what); /* the transport failed in `what` */
kry_status kryi_ranks_others_failed(kryi_ranks *R); /* this rank fails because another one did */
kry_status kryi_ranks_broken(const kryi_ranks *R);  /* once more what broke the team */

void kryi_ranks_release(kryi_ranks **ranks); /* ranks_open.c */

#endif
