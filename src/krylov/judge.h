/*
 * judge.h - targets, true residuals, restarts, stagnation: the same for every method.
 *
 * A solve is cycles of a method's recurrence. Between two of them the residual b - A x is computed
 * afresh, and it alone says whether the solve has converged and whether another cycle is worth it.
 */
#ifndef KRY_JUDGE_H
#define KRY_JUDGE_H

#include "krylov/story.h"

/* What a method cannot go on with: its quantity, and what it says about M or A: "p'Ap" and "is not
 * positive: ...", for KRY_END_PRECOND and KRY_END_MATRIX. */
typedef struct kry_breakdown {
    const char *quantity, *meaning;
    kry_reason reason;
} kry_breakdown;

typedef struct kry_judge {
    kry_stop stop;                 /* checked */
    const kry_breakdown *words[2]; /* for PRECOND, MATRIX; NULL: the method has none */
    double roundoff;               /* of the numbers in which true residuals are computed */
    double drop; /* a cycle ends when its residual has fallen to this share; 0: at the target */
    double norm_b, inconsistent; /* as in kry_result */
    double norm_A,
        norm_x; /* KRY_STOP_BACKWARD: an estimate of ||A||, and ||x|| without the null space; else 0 */
    double target; /* what is left of the whole target for the residual that an x can change */
    double aimed;  /* the target when the cycle under way began */
    double
        gradient; /* least squares: ||A'r|| / (||A|| ||r||) of the last true residual, which is 0 at
                          the solution whatever ||r|| is; infinite: another problem, or not known */
    double norm_AN, condition; /* least squares: as norm_A and condition in kry_result; else 0 */
    bool
        regular; /* least squares: A is square and not known to be singular, so that A x = b is wanted */
    double last_claim;    /* true residual that the next one is compared with; < 0: none yet */
    double last_gradient; /* the same of `gradient` */
    double least;         /* true residual of the x that was accepted last */
    int in_vain;          /* cycles in a row that did not halve the true residual */
    int restarts;         /* -1: no cycle yet */
    bool told;            /* kry_result.why says already that x is the best that was seen */
} kry_judge;

#define KRY_STOP_FIELDS "ddqqi" /* of kry_stop, for kry_team_same_fields */
/* Fill in defaults and refuse what makes no sense. `who` names the constructor. */
kry_status kry_stop_check(const char *who, kry_type type, int64_t n, kry_stop *stop);
double kry_unit_roundoff(kry_type type);
kry_status kry_reason_status(kry_reason reason);
/* "rtol=1e-08 atol=0 maxit=1000". Returns text. */
const char *kry_stop_text(const kry_stop *stop, char *text, size_t size);

/* A new solve; of a singular A: with a b that has a part of this size along the null space. */
void kry_judge_begin(kry_judge *J, double norm_b, double inconsistent);
/* The target by the norms that are known now. */
void kry_judge_aim(kry_judge *J);
/* kry_stop's target with the norms that are known, for the residual together with b's part along the null space. */
double kry_judge_whole_target(const kry_judge *J);
/* Where a cycle ends that begins with this true residual. Both in units of b. */
double kry_judge_goal(const kry_judge *J, double residual);
/* Of least squares: the gradient that is small enough. */
double kry_judge_gradient_goal(const kry_judge *J);
/* Whether the last cycle ended so well that the next one may go on along its direction. */
bool kry_judge_keeps(const kry_judge *J, const kry_story *s);
/* Whether an x with this residual may take the place of the one before, whose residual *least is. */
bool kry_residual_accept(double residual, double *least);

/* Whether another cycle is worth it from an x with the true residual t; if not, why the rounds ended. */
bool kry_judge_goes_on(kry_judge *J, const kry_story *s, double t);
void kry_judge_stop(const kry_judge *J, const kry_story *s, double t, kry_result *res);
/* res for a reason found outside of the rounds. */
void kry_judge_end(const kry_judge *J, const kry_story *s, kry_reason reason, const char *why,
                   double true_residual, kry_result *res);

/*
 * The verdict, after the end and last of all, on the x that is returned: the target is that of this x, by
 * kry_judge_aim, and res says why the rounds ended.
 *
 *   t      its true residual, without what lies along the null space
 *   along  of a singular A: what lies along it. A x = b is not solved if b's part there is larger than
 *          the target, or if that of b - A x is another one: then A does not map the null space to zero
 *   other  it is not the x that the rounds came to
 */
void kry_judge_conclude(kry_judge *J, double t, double along, bool other, kry_result *res);

#endif
