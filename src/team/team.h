/* team.h - several devices that work as one. Each part has a thread, which runs the library's usual code on
 * the part's rows. */
#ifndef KRY_TEAM_INTERNAL_H
#define KRY_TEAM_INTERNAL_H

#include "base/params.h"
#include "device/comm.h"
#include "team/split.h"
#include <kry/team.h>

enum { KRY_TEAM_MOST = 64 }; /* parts */

struct kryi_team {
    int size;
    /* Arrays of `size`. */
    kry_device **part;       /* retained; NULL: it is in another process */
    double *share;           /* speed of each part in bytes per second, measured or given */
    bool *fp64;              /* whether each part had double precision by itself */
    kry_launch_shape *shape; /* and its launch shape */
    double sum_seconds;      /* duration of a sum over all parts, measured */
    bool use_all;            /* even for small problems */
    bool by_graph;           /* matrices are split by METIS */
    bool reproducible;
    kryi_split *splits; /* a list, borrowed: the splits of the vectors and operators there are */
    struct kryi_crew *crew;   /* owned; crew.c. Or */
    struct kryi_ranks *ranks; /* owned; ranks.c: parts are processes */
};

/* Seconds from a clock that stands still while the device compiles. */
double kryi_work_clock(const kry_device *dev);

/* The time of a call: `seconds` leaves out compiling, `compile_seconds` is compiling alone. */
typedef struct kryi_spent {
    double seconds, compile_seconds;
    int64_t programs; /* that were compiled from their source */
} kryi_spent;

typedef struct kryi_stopwatch {
    const kry_device *device; /* borrowed */
    double start, compile_seconds;
    int64_t programs;
} kryi_stopwatch;
/* From the begin to the end; `device` may be NULL. */
kryi_stopwatch kryi_stopwatch_begin(const kry_device *device);
kryi_spent kryi_stopwatch_end(const kryi_stopwatch *w);

/* What each part does. All parts run it at once; rank 0 is the caller's thread. */
typedef kry_status kryi_task_of_part(void *user, int rank);

/*
 * Run `task` on the parts that have rows of `split` (NULL: on all) and wait until all have ended.
 * Collective functions may be called within it. If a part fails, parts that wait for it fail, too, and
 * the call returns the error of the part that failed first; the message names its device if that may be
 * the cause.
 *
 * Returns  also KRY_ERR_ARGUMENT if called within such a run, or while another thread is in this
 *          function.
 */
kry_status kryi_team_run(struct kryi_team *team, const kryi_split *split, kryi_task_of_part *task,
                         void *user);

/* crew.c: threads, and how the parts communicate. spin: threads wait
 * in a loop for a moment before they sleep. */
kry_status kryi_crew_create(struct kryi_team *team, bool spin);
void kryi_crew_release(struct kryi_team *team);

/* How public functions that use a team begin and end, where their arguments have it; `device` may be NULL or a
 * plain one. On ranks, kryi_team_leave waits until all are there, and returns an error on all if there is one on
 * any: whoever has made something by then releases it. On other devices it returns `mine`.
 *   call   the public function
 *   split  how the rows are cut that it is about; NULL: it is about none */
void kryi_team_enter(const kry_device *device, const char *call, const kryi_split *split);
kry_status kryi_team_leave(const kry_device *device, kry_status mine);
/* In between: what decides how the call goes and is to be the same on all ranks. Where they meet next, those that gave
 * something else are told. */
void kryi_team_same(const kry_device *device, const void *given, size_t bytes);
/* kryi_team_same for all fields of a struct of parameters by its table, but for those that may differ from rank to rank. */
void kryi_team_same_fields(const kry_device *device, const kryi_field *fields, const void *params);
/* Ranks only: kryi_team_run; within a run, where only monitors ask for sums, the task by itself. */
kry_status kryi_team_sum(const kry_device *device, const kryi_split *split, kryi_task_of_part *task,
                         void *user);

/* open.c: for what no caller names a device for: the host, or the first of OpenCL where the library has no kernels for the host. */
kry_status kryi_device_open_aside(kry_device **device);

/* team.c: a device that is a team of so many parts, none of which are there yet. */
kry_status kryi_team_new(int size, const kry_team_params *params, kry_device **device);
/* Measure the bytes per second that a copy moves. */
kry_status kryi_team_measure(kry_device *part, double *speed);
/* Refuse hosts, which compute in double, beside a device that does not. */
kry_status kryi_team_check_hosts(const kry_device *team);
/* Let a part sum as all parts do in reproducible teams. */
kry_status kryi_team_take_shape(struct kryi_team *team, int i);

#endif
