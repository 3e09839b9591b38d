/*
 * team.h - several devices of one process that work as one: a thread for each part, which runs the
 * library's usual code on its share of the rows.
 */
#ifndef KRY_TEAM_INTERNAL_H
#define KRY_TEAM_INTERNAL_H

#include "comm.h"
#include "split.h"
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
    kry_shape *shape;      /* and how it launched kernels */
    kry_split *splits;     /* of the vectors and operators there are; a list, borrowed */
    struct kry_crew *crew; /* threads.c */
};

/* team.c, team_open.c */
void kry_team_release(struct kry_team **team);
kry_status kry_team_open(const char *spec, kry_device **device); /* of kry_device_open */
bool kry_team_is_spec(const char *spec);

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

/* ---- vec_parts.c: what vec.c does on a team ---- */

kry_status kry_vec_allocate_parts(kry_vec *v); /* after a failure, release */
void kry_vec_release_parts(kry_vec *v);
kry_status kry_vec_share_parts(const kry_vec *block, kry_vec *v); /* v: a view of block */
kry_status kry_vec_write_parts(kry_vec *v, const void *host);
kry_status kry_vec_read_parts(const kry_vec *v, void *host);

/* The columns of v on one part: borrowed, for the caller's stack. */
kry_vec kry_vec_on_part(const kry_vec *v, int rank);

/* ---- op_parts.c ---- */

/* Make one part's operator, within a run of all parts. */
typedef kry_status kry_make_part(const void *user, int rank, kry_op **local);

/* How an operator on a team takes new values; for kinds that take any. */
typedef struct kry_parts_extra {
    void *self; /* owned */
    /* kry_op_update(op, values): look at them, on the caller's thread. A failure changes nothing. */
    kry_status (*prepare)(void *self, const void *values);
    /* Hand a part its share, within a run. */
    kry_status (*update)(void *self, int rank, kry_op *local);
    void (*destroy)(void *self);
} kry_parts_extra;

/* The operator made of what `make` makes on each part that has rows of `split`. extra: NULL, or taken
 * over if the call succeeds. */
kry_status kry_parts_create(kry_device *team, kry_split *split, const kry_parts_extra *extra,
                            kry_make_part *make, const void *user, kry_op **op);
/* The same on the rows of A, which lies on a team: what constructors do whose A has parts. */
kry_status kry_parts_like(const kry_op *A, kry_make_part *make, const void *user, kry_op **op);
extern const kry_op_table kry_parts_table;
/* A preconditioner of one part, and those of all parts: constructors hand on to this what they were
 * given for an A on a team. */
typedef kry_status kry_precond_of_part(const kry_op *A, const void *params, kry_op **M);
kry_status kry_parts_precond(const kry_op *A, kry_precond_of_part *make, const void *params,
                             kry_op **M);
/* Whether op was made by these; and whether B (NULL: yes) was, for the devices of A. */
bool kry_op_in_parts(const kry_op *op);
kry_status kry_parts_check(const char *who, const kry_op *A, const kry_op *B);
/* op's part; NULL for NULL, so that optional arguments need no test. */
const kry_op *kry_op_on_part(const kry_op *op, int rank);
kry_split *kry_op_split(const kry_op *op); /* borrowed */
/* On how many parts op lies, 1 for any other operator; and what is on part r, that operator itself. */
int kry_op_parts(const kry_op *op);
const kry_op *kry_op_piece(const kry_op *op, int r);

#endif
