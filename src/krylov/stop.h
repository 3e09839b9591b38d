/*
 * stop.h - what every Krylov method shares beside its recurrence: when to stop, how the host
 * looks on without holding the device up, and what is reported.
 *
 * A method enqueues iterations while kry_watch_next says so. The device writes each residual into
 * a short history and stops by itself; the host reads that history a batch behind.
 */
#ifndef KRY_STOP_H
#define KRY_STOP_H

#include "operator/direction.h"
#include "operator/op.h"

enum { KRY_BATCH = 64 }; /* iterations between two looks, at most */
/* Residuals of a look, at most: of a whole batch, and the one that a look at the limit adds. */
enum { KRY_LOOK = KRY_BATCH + 1 };

typedef struct kry_look {
    int64_t first; /* iteration of the first history entry */
    int count;
    cl_event ready; /* NULL: nothing under way */
} kry_look;

/* Who knows the true residual, where that is not b - A x in the solver's own numbers. What the
 * solver calls x is then a correction, that is moved to where the solution is kept. */
typedef struct kry_truth kry_truth;
struct kry_truth {
    /* Take x over and clear it; r := the true residual, less what no x can reach, in numbers that
     * suit the solver. Sets norm, unit and scale. Waits. */
    kry_status (*residual)(kry_truth *T, kry_vec *x, kry_vec *r);
    kry_vec *rhs;        /* relaxations: r, which their sweeps read */
    double norm_b;       /* units of b */
    double inconsistent; /* as in kry_result */
    double drop;         /* a cycle ends when its residual has fallen to this share of its first */
    bool keep;           /* the next cycle begins along the direction that the last one came to */
    double norm;         /* [out] of the true residual, units of b */
    double unit;         /* [out] ||r|| times this is norm */
    double scale;        /* [out] x and r are so many times smaller than they should be */
};

typedef struct kry_watch {
    kry_device *dev;  /* borrowed */
    kry_truth *truth; /* borrowed; NULL: the solver computes its residual */
    kry_stop stop;
    kry_monitor monitor;
    void *monitor_user;

    cl_mem state, step, history; /* see kry_direction; history: KRY_LOOK entries */
    cl_mem pinned;               /* where the reads land */
    char *mirror;                /* pinned, mapped: two looks of STATE_SIZE + KRY_LOOK entries */
    kry_look look[2];
    int current, batch; /* the look being filled, and how many iterations it gets */
    int64_t looked_at;  /* the last iteration that the look before the last one saw */

    double start, looked;                              /* seconds */
    double norm_b, target, first_residual, last_claim; /* units of b; last_claim < 0: none yet */
    double goal,
        unit;     /* where this cycle ends, units of b; what a number of the solver's is in those */
    int in_vain;  /* cycles in a row that did not halve the true residual */
    double scale; /* the truth's, of the cycle that is under way */
    bool attentive;    /* look at every iteration: they cost more than looks do */
    int64_t iteration; /* the next to be enqueued = those done, once the device stopped */
    int device_stop;   /* what the device said: 0, or its reason */
    double device_value, residual;
    bool monitor_stopped;
    int restarts;
    double *host_history; /* owned */
    int64_t history_count, history_capacity;
    int64_t every; /* iterations between two entries of the history; 1 unless a method looks less
                      often */
} kry_watch;

/* Fill in defaults and refuse what makes no sense. `who` names the constructor. */
kry_status kry_stop_check(const char *who, kry_type type, int64_t n, kry_stop *stop);

kry_status kry_watch_create(kry_device *dev, const kry_stop *stop, kry_monitor monitor, void *user,
                            kry_watch *w);
void kry_watch_release(kry_watch *w);

/* A new solve with this ||b||. */
void kry_watch_begin(kry_watch *w, double norm_b);
/* So much of b no x can reach: what is left of the target is for the rest of the residual. */
void kry_watch_leave(kry_watch *w, double inconsistent);
/* Where a cycle ends that begins with the residual that the truth has just told. */
void kry_watch_aim(kry_watch *w);
/* Whether the next cycle begins along the last direction. */
bool kry_watch_keeps(const kry_watch *w);
/* What the device compares r.r with. */
double kry_watch_goal2(const kry_watch *w);
/* A new cycle of the recurrence from the true residual. */
kry_status kry_watch_cycle(kry_watch *w);
/* Whether to enqueue another iteration; if so, d->iteration and d->slot are its. */
kry_status kry_watch_next(kry_watch *w, kry_direction *d, bool *go);
/* Take in iterations that ran without the host: `done` of them, r.r at 0 ... done, and what the
 * device said at the end. */
kry_status kry_watch_take(kry_watch *w, const double *residual2, int done, int stop, double value);
/* For methods whose residual the host reads now and then: how many iterations until then, and the
 * residual at w->iteration, which may end them. */
int64_t kry_watch_until_look(const kry_watch *w);
kry_status kry_watch_measured(kry_watch *w, double residual, bool *go);
/* Between cycles: whether another one is worth it, given the true residual; if not, res says why.
 */
bool kry_watch_judge(kry_watch *w, double true_residual, kry_result *res);
/* End at once for a reason found outside the recurrence. */
void kry_watch_end(kry_watch *w, kry_reason reason, double true_residual, const char *why,
                   kry_result *res);
kry_status kry_reason_status(kry_reason reason);
/* The watch of a solver of the library, NULL if op is none: for those who drive it. */
kry_watch *kry_pcg_watch(const kry_op *op);
kry_watch *kry_relaxation_watch(const kry_op *op);

/* ---- solve.c: around the iterations ---- */

/* ||b||, refusing what has none that can be worked with. Waits. */
kry_status kry_rhs_norm(const kry_vec *b, kry_sum *sum, double *norm);
/* Of a singular A: a solve that converged has not solved A x = b if b's part along the null space is
 * larger than the target. */
void kry_judge_consistency(double inconsistent, double target, kry_result *res);
/* x was changed after a solve: its true residual, which may meet the target now. */
void kry_judge_again(double true_residual, kry_result *res);
/* Refuses a guess whose residual is not finite. */
kry_status kry_guess_check(double residual);

typedef kry_status kry_solve_fn(void *self, const kry_vec *b, kry_vec *x, kry_result *result);
typedef struct kry_scaling {
    double alpha, beta;
} kry_scaling;
/* y := alpha solve(x) + beta y, from a zero guess: what makes a solver an operator. */
kry_status kry_apply_by_solve(kry_solve_fn *solve, void *self, const kry_scaling *by,
                              const kry_vec *x, kry_vec *y);

#endif
