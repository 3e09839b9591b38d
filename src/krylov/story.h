/*
 * story.h - what a solve tells: the history of its residuals, what its monitor is shown and answers,
 * and why its iterations ended.
 */
#ifndef KRY_STORY_H
#define KRY_STORY_H

#include "vector/vec.h"
#include <kry/solver.h>

/* Why a cycle of iterations ended: the reasons of cl/common/direction.clh, and two of the host's. Each
 * method says in its own words what PRECOND and MATRIX mean (kry_breakdown). */
typedef enum kry_cycle_end {
    KRY_END_NONE, /* the limit, the monitor, or the method wants to begin anew */
    KRY_END_CONVERGED,
    KRY_END_PRECOND,
    KRY_END_MATRIX,
    KRY_END_NOT_FINITE,
    KRY_END_DIVERGED,
    KRY_END_SLOW /* a correction in single that took too many iterations */
} kry_cycle_end;

/* A method diverges when its residual has grown to this multiple of the first. Less will not do: on
 * positive definite matrices conjugate gradients may take it to sqrt(condition number): 2e8 was seen. */
#define KRY_DIVERGED_AT 1e10

enum { KRY_CHECKS = 64 }; /* true residuals that a story keeps */

typedef struct kry_story {
    kry_device *dev; /* borrowed */
    kry_monitor monitor;
    void *monitor_user;
    bool inner;        /* a part of another solve, which the observer looks at */
    bool exact;        /* the monitor is called at fixed iterations, and may look at x then */
    bool waits;        /* A or M does (KRY_WAITS): the host looks at each iteration */
    double start;      /* seconds */
    double target;     /* units of b */
    double unit;       /* what a method's residual has to be multiplied by for units of b */
    int64_t max_iter;  /* a cycle ends there */
    int64_t iteration; /* the next to be enqueued; once a cycle is over, those that were done */
    double residual;   /* the last one of the recurrence, units of b */
    double *history;   /* owned; units of b */
    int64_t history_count, history_capacity;
    int64_t history_every; /* iterations between two entries */
    kry_true_residual check[KRY_CHECKS];
    int check_count;
    kry_cycle_end end; /* of the last cycle */
    double end_value;  /* that decided */
    bool monitor_stopped;
    int anew;           /* breakdowns after which the method began anew */
    int64_t persistent; /* iterations that one kernel did, without a launch for each */
} kry_story;

/* Room for the history is made here, for once iterations have changed x it is too late to be out of
 * memory. */
kry_status kry_story_create(kry_device *dev, const kry_stop *stop, kry_monitor monitor, void *user,
                            kry_story *s);
void kry_story_release(kry_story *s);
/* Room for this many iterations. */
kry_status kry_story_reserve(kry_story *s, int64_t max_iter);
/* A new solve. */
void kry_story_begin(kry_story *s, int64_t max_iter);
/* A cycle has broken down, and the method wants another one from the true residual. */
void kry_story_begin_anew(kry_story *s);
/* The residual of an iteration, in the method's numbers. */
kry_status kry_story_add(kry_story *s, int64_t iteration, double residual);
/* The true residual of the present iteration, units of b. */
void kry_story_check(kry_story *s, double residual);
/* Show the last residual to the monitor, as that of this iteration. */
kry_status kry_story_show(kry_story *s, int64_t iteration);
/* Both, for methods whose residual the host knows: the residual of the present iteration, which is number
 * `entry` of the history, may end the cycle: at the goal, by divergence, or if it is not finite. */
kry_status kry_story_look(kry_story *s, int64_t entry, double residual, double goal);
/* Whether iterations may go on, for all that is known. */
bool kry_story_goes_on(const kry_story *s);
/* Whether nothing but the limit ended them. */
bool kry_story_ran_out(const kry_story *s);
/* res: what the story knows, and why it ended. true_residual in units of b. */
void kry_story_tell(const kry_story *s, kry_reason reason, double true_residual, const char *why,
                    kry_result *res);

#endif
