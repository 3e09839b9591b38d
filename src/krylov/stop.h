/*
 * stop.h - when a solve stops: stopping criteria, the convergence history, the verdict, for every method.
 *
 * A solve is cycles of a method's recurrence. A cycle ends when the residual of the recurrence meets its goal,
 * breaks down or diverges, at the limit, or by the monitor: the device finds out, and the host polls it (poll.h), or
 * the host by kryi_progress_test. Between two cycles the true residual b - A x is computed, and it alone says whether
 * the solve has converged and whether another cycle is worth it: kryi_stopping_restarts.
 */
#ifndef KRY_STOP_H
#define KRY_STOP_H

#include "vector/vec.h"
#include <kry/solver.h>

/* Why a cycle of iterations ended: the reasons of cl/common/direction.clh, and two of the host's. Each
 * method says in its own words what PRECOND and MATRIX mean (kryi_breakdown). */
typedef enum kryi_cycle_end {
    KRY_END_NONE, /* the limit, the monitor, or the method wants to restart */
    KRY_END_CONVERGED,
    KRY_END_PRECOND,
    KRY_END_MATRIX,
    KRY_END_NOT_FINITE,
    KRY_END_DIVERGED,
    KRY_END_SLOW /* a correction in single that took too many iterations */
} kryi_cycle_end;

/* A number that a method cannot go on with: its name, and what it says about M or A: "p'Ap" and "is not
 * positive: ...", for KRY_END_PRECOND and KRY_END_MATRIX. */
typedef struct kryi_breakdown {
    const char *quantity, *meaning;
    kry_reason reason;
} kryi_breakdown;

/* A method diverges when its residual has grown to this multiple of the first. Less will not do: on
 * positive definite matrices conjugate gradients may take it to sqrt(condition number): 2e8 was seen. */
#define KRY_DIVERGED_AT 1e10

enum { KRY_CHECKS = 64 }; /* true residuals that are kept */

/* How far a solve is: cycles go by this, and leave it. Residuals and targets are in units of b. */
typedef struct kryi_progress {
    kry_device *dev;     /* borrowed */
    kry_monitor monitor; /* NULL: none */
    void *monitor_user;
    bool shows_x; /* the monitor is called at fixed iterations, and may look at x then */
    bool inner;   /* the solve is a part of another one, which calls the monitor of the device */
    double start; /* seconds */
    int64_t max_iter; /* a cycle ends there */
    /* The true residual, without the null space, at which the solve has converged. */
    double target;
    /* A residual in the method's numbers times `unit` is in units of b. */
    double unit;
    /* The next iteration to be enqueued; once a cycle is over, the number of those that were done. */
    int64_t iteration;
    int64_t persistent; /* iterations that one kernel did, without a launch for each */

    double residual; /* the last one of the recurrence */
    double *history; /* owned: residuals of the recurrence */
    int64_t history_count, history_capacity;
    int64_t history_every; /* iterations between two entries */

    /* How the last cycle ended, and the number that decided. */
    kryi_cycle_end end;
    double end_value;
    bool monitor_stopped;
    int breakdowns; /* after which the method restarted */
    /* The next cycle is to use alternative vectors, such as a random shadow: the last one broke down and was of no use. */
    bool alternative;
} kryi_progress;

/* Stopping criteria, and the judgement of true residuals between cycles. Norms and residuals are in units of b. */
typedef struct kryi_stopping {
    kryi_progress progress;
    kry_stop criteria; /* checked */
    /* The meaning of KRY_END_PRECOND and KRY_END_MATRIX; NULL: the method has no such breakdown. */
    const kryi_breakdown *breakdown[2];
    /* Unit roundoff of the numbers in which true residuals are computed. */
    double roundoff;
    /* A cycle ends when its residual has fallen to this share of its first one; 0: at the target. */
    double drop;
    /* Least squares: true if A is square and not known to be singular, so that A x = b is wanted. */
    bool regular;

    /* ---- of the solve under way ---- */

    double norm_b, inconsistent; /* as in kry_result */
    /* KRY_STOP_BACKWARD: an estimate of ||A||, and ||x|| without the null space; else 0. */
    double norm_A, norm_x;
    double cycle_target; /* the target when the cycle under way began */
    kry_true_residual check[KRY_CHECKS];
    int check_count;
    int restarts;     /* -1: no cycle yet */
    int stagnant;     /* cycles in a row that did not halve the true residual */
    double last_true; /* the true residual that the next one is compared with; < 0: none yet */
    double accepted;  /* the true residual of the x that was accepted last */
    /* Least squares: ||A'r|| / (||A|| ||r||) of the last true residual, which is 0 at the solution whatever ||r|| is,
     * and of the one before; infinite: another problem, or not known. */
    double gradient, last_gradient;
    /* Least squares: what cycles have found out about A, as in kry_result. */
    double found_norm_A, condition;
    bool best_reported; /* kry_result.why says already that x is the best that was seen */
} kryi_stopping;

/* ---- criteria ---- */

extern const kryi_field kryi_stop_fields[]; /* of kry_stop */
/* Fill in defaults and refuse what makes no sense. `who` names the constructor. */
kry_status kryi_stop_check(const char *who, kry_type type, int64_t n, kry_stop *stop);
/* "rtol=1e-08 atol=0 maxit=1000". Returns text. */
const char *kryi_stop_text(const kry_stop *stop, char *text, size_t size);
/* The true residual that is small enough. norm_Ax: ||A|| ||x||, or 0 if that does not count. */
double kryi_stop_target(const kry_stop *stop, double norm_b, double norm_Ax);
/* Least squares: the gradient that is small enough. */
double kryi_stop_gradient(const kry_stop *stop);
double kryi_unit_roundoff(kry_type type);

/* ---- a cycle ---- */

/* Room for the history of this many iterations. It is made before a solve, for once iterations have changed x it is
 * too late to be out of memory. */
kry_status kryi_progress_reserve(kryi_progress *p, int64_t max_iter);
/* No iteration has been done. */
void kryi_progress_begin(kryi_progress *p, int64_t max_iter, bool inner);
/* Whether iterations may go on, for all that is known. */
bool kryi_progress_iterates(const kryi_progress *p);
/* Write the residual of an iteration, in the method's numbers, into the history. */
kry_status kryi_progress_record(kryi_progress *p, int64_t iteration, double residual);
/* Call the monitor with the last residual, as that of this iteration. */
kry_status kryi_progress_call_monitor(kryi_progress *p, int64_t iteration);
/* For methods whose residual the host knows: record that of the present iteration, which is number `entry` of the
 * history, and call the monitor. It may end the cycle: at the goal, by divergence, or if it is not finite. */
kry_status kryi_progress_test(kryi_progress *p, int64_t entry, double residual, double goal);
/* Where a cycle has broken down: restart from the true residual, unless it was of no use, with alternative vectors, too.
 *   barren           the cycle was of no use
 *   has_alternative  the method has alternative vectors, and follows p->alternative */
void kryi_progress_retry(kryi_progress *p, bool barren, bool has_alternative);

/* ---- a solve ---- */

void kryi_stopping_begin(kryi_stopping *s, int64_t max_iter, bool inner);
/* kryi_stop_target by the norms that are known now, for the residual together with b's part along the null space. */
double kryi_stopping_whole_target(const kryi_stopping *s);
/* Set the target to what is left of that without b's part along the null space. */
void kryi_stopping_set_target(kryi_stopping *s);

/* ---- between cycles, and at the end ---- */

/* Whether another cycle is worth it from an x with the true residual t. */
bool kryi_stopping_restarts(kryi_stopping *s, double t);
/* If none is: fill in res, and say why the cycles ended. */
void kryi_stopping_end(const kryi_stopping *s, double t, kry_result *res);
/*
 * The verdict, last of all, on the x that is returned: the target is that of this x, and res says why the cycles ended.
 *
 *   t      its true residual, without what lies along the null space
 *   along  of a singular A: what lies along it. A x = b is not solved if b's part there is larger than
 *          the target, or if that of b - A x is another one: then A does not map the null space to zero
 *   other  it is not the x that the cycles came to
 */
void kryi_stopping_verdict(kryi_stopping *s, double t, double along, bool other, kry_result *res);

#endif
