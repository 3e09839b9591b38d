/*
 * team.h - several devices of one process that work as one: a thread for each part, which runs the
 * library's usual code on its share of the rows.
 */
#ifndef KRY_TEAM_INTERNAL_H
#define KRY_TEAM_INTERNAL_H

#include "device/comm.h"
#include "team/split.h"
#include <kry/team.h>

struct kry_team {
    int size;
    kry_device **part;  /* owned; their layouts lead here */
    double *share;      /* speed of each part: bytes a second, measured or as told */
    double sum_seconds; /* what a sum over all parts costs: measured */
    bool use_all;       /* of small problems, too */
    bool by_graph;      /* matrices are split by METIS */
    bool reproducible;
    bool *fp64;            /* what each part had before it came */
    kry_launch_shape *shape;      /* and how it launched kernels */
    kry_split *splits;     /* of the vectors and operators there are; a list, borrowed */
    struct kry_crew *crew; /* threads.c */
};

/* What each part does: called by `members` threads at once, rank 0's is the caller's. */
typedef kry_status kry_task_of_part(void *user, int rank);

/*
 * Run `task` on the first `members` parts, and wait for them to come to an end. Collectives work
 * within it. If a part fails, those that wait for it fail, too, and the error is that of the part
 * which failed first; its device is named where it is to blame.
 *
 * Returns  also KRY_ERR_ARGUMENT if called from within such a run.
 */
kry_status kry_team_run(struct kry_team *team, int members, kry_task_of_part *task, void *user);

/* The same on the parts that have rows of `split`, for work on those rows. */
kry_status kry_split_run(kry_split *split, kry_task_of_part *task, void *user);

/* threads.c. `spin`: wait in a loop for a moment before going to sleep. */
kry_status kry_crew_create(struct kry_team *team, bool spin);
void kry_crew_release(struct kry_team *team);
/* Of part `rank`; owned by the crew. */
kry_comm *kry_crew_comm(struct kry_team *team, int rank);

#endif
