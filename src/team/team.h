/* team.h - several devices that work as one. Each part has a thread, which runs the library's usual code on
 * the part's rows. */
#ifndef KRY_TEAM_INTERNAL_H
#define KRY_TEAM_INTERNAL_H

#include "device/comm.h"
#include "team/split.h"
#include <kry/team.h>

enum { KRY_TEAM_MOST = 64 }; /* parts */

struct kry_team {
    int size;
    kry_device *part[KRY_TEAM_MOST]; /* retained */
    double share[KRY_TEAM_MOST];     /* speed of each part in bytes per second, measured or given */
    double sum_seconds;              /* duration of a sum over all parts, measured */
    bool use_all;                    /* even for small problems */
    bool by_graph;                   /* matrices are split by METIS */
    bool reproducible;
    bool fp64[KRY_TEAM_MOST];              /* whether each part had double precision by itself */
    kry_launch_shape shape[KRY_TEAM_MOST]; /* and its launch shape */
    kry_split *splits;     /* a list, borrowed: the splits of the vectors and operators there are */
    struct kry_crew *crew; /* owned; crew.c */
};

/* What each part does. All parts run it at once; rank 0 is the caller's thread. */
typedef kry_status kry_task_of_part(void *user, int rank);

/*
 * Run `task` on the parts that have rows of `split` (NULL: on all) and wait until all have ended.
 * Collective functions may be called within it. If a part fails, parts that wait for it fail, too, and
 * the call returns the error of the part that failed first; the message names its device if that may be
 * the cause.
 *
 * Returns  also KRY_ERR_ARGUMENT if called within such a run, or while another thread is in this
 *          function.
 */
kry_status kry_team_run(struct kry_team *team, const kry_split *split, kry_task_of_part *task,
                        void *user);

/* crew.c: threads, and how the parts communicate (kry_layout.comm, owned by the crew). spin: threads wait
 * in a loop for a moment before they sleep. */
kry_status kry_crew_create(struct kry_team *team, bool spin);
void kry_crew_release(struct kry_team *team);

#endif
