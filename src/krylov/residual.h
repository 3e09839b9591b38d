/*
 * residual.h - the true residual b - A x that solvers stop by: without what lies along the null space of a
 * singular A.
 */
#ifndef KRY_RESIDUAL_H
#define KRY_RESIDUAL_H

#include "krylov/stop.h"
#include "operator/null_space.h"

typedef struct kryi_residual {
    const kry_op *A;      /* borrowed */
    kryi_null_space null; /* of A: kept out of r, and in the end out of x */
    kry_vec *room;        /* n: workspace of singular ones; else NULL */
    kry_sum *square;
    bool computed; /* the next r = b - A x is there, computed with those of other columns */
    bool measures; /* the size of the next residual's part along the null space is wanted: */
    double along;  /* this, once known; till then that of b's part */
    int64_t count; /* residuals of this solve, so far */
} kryi_residual;

/* projects: the method knows about null spaces. */
kry_status kryi_residual_create(const kry_op *A, bool projects, kryi_residual *R);
void kryi_residual_release(kryi_residual *R);

/* kryi_null_space_add for this A. */
kry_status kryi_residual_add_null(kryi_residual *R, const kry_vec *v);
/* A new solve: ||b||, refusing a b that has none that can be worked with, and the size of its part
 * along the null space. Checks A, too. Waits. */
kry_status kryi_residual_begin(kryi_residual *R, const kry_vec *b, double *norm_b,
                               double *inconsistent);
/* r := b - A x without its part along the null space; norm: ||r||. Waits. */
kry_status kryi_residual_compute(kryi_residual *R, const kry_vec *b, const kry_vec *x, kry_vec *r,
                                 double *norm);
/* Take the null space out of a guess that is nearly all in it, where rounding would drown the rest: a
 * pressure of 101325 everywhere. Left as it is if its residual is not finite, or would double. r: room. Waits. */
kry_status kryi_residual_centre_guess(kryi_residual *R, const kry_vec *b, kry_vec *x, kry_vec *r);
/* Take the null space out of x at the end, unless that costs it the target, or digits: of two
 * phases in single precision the stiff one has no place for a large constant. norm: the true residual, of x
 * before and after. r: room. Waits. */
kry_status kryi_residual_centre(kryi_residual *R, const kry_vec *b, kry_vec *x, kry_vec *r,
                                double target, double *norm);
/* Whether a solve takes a right-hand side of this norm: its square can be summed. */
bool kryi_residual_has_range(const kry_device *dev, double norm);
/* ||v||, which may be of any size. Waits. */
kry_status kryi_residual_norm(kryi_residual *R, const kry_vec *v, double *norm);
/* ||A||, from below, by a few steps of the power method. v: room. Waits. */
kry_status kryi_residual_norm_of_A(kryi_residual *R, kry_vec *v, double *norm);
/* Refuse a right-hand side with an entry that is not finite, and name it. Waits. */
kry_status kryi_check_finite(const kry_vec *b);

#endif
