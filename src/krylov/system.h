/*
 * system.h - b and b - A x as solvers judge by them: without what lies along the null space of a
 * singular A, and where A pins an unknown, by the residual of what it pins.
 */
#ifndef KRY_SYSTEM_H
#define KRY_SYSTEM_H

#include "operator/null_space.h"
#include "operator/pin.h"

typedef struct kry_system {
    const kry_op *A;        /* borrowed */
    kry_null_space null;    /* of A: kept out of r, and in the end out of x */
    const kry_op *unpinned; /* borrowed: what A pins an unknown of; NULL: no unknown is pinned */
    kry_null_space unpinned_null; /* of that */
    kry_vec *room;                /* n, of singular and of pinned ones; else NULL */
    kry_sum *square;
    bool unpins;       /* of a b that has a solution the residual without the pin is looked at */
    bool given;        /* the next r = b - A x is there, made with those of other columns */
    bool measures;     /* the next residual's part along the null space is wanted: */
    double along;      /* its size, once known; till then b's */
    int64_t residuals; /* of this solve, so far */
} kry_system;

/* projects: the method knows about null spaces. */
/* find_null.c: look at A's entries, unless its null space is known or they were looked at: systems of A that are created
 * from then on know which constants on parts, and which empty rows, it maps to zero from both sides, of up to 64. No work
 * for an A that promises to be positive, has no entries, or is a part of another on a team. Collective. Waits.
 * Cost  A's entries on the host, once; on ranks the rows of each on its own */
kry_status kry_system_find_null(const char *who, const kry_op *A);
kry_status kry_system_create(const kry_op *A, bool projects, kry_system *s);
void kry_system_release(kry_system *s);

/* Refuse a right-hand side with an entry that is not finite, and name it. Waits. */
kry_status kry_system_check_finite(const kry_vec *b);
/* Refuse an A that was updated and no longer has the null space. */
kry_status kry_system_check(kry_system *s);
/* kry_null_space_add for this A. */
kry_status kry_system_add_null(kry_system *s, const kry_vec *v);
/* A new solve: ||b||, refusing a b that has none that can be worked with, and the size of its part
 * along the null space. Checks A, too. Waits. */
kry_status kry_system_measure(kry_system *s, const kry_vec *b, double *norm_b,
                              double *inconsistent);
/* The right-hand side to solve with: b, or if an unknown is pinned and the target is, or was, at least
 * `inconsistent` b without its part along the null space, in s->room. */
kry_status kry_system_rhs(kry_system *s, double inconsistent, double target, const kry_vec **b);
/* r := b - A x without its part along the null space. norm: the norm that is judged; unit: that
 * norm over ||r||, larger than 1 where the residual without the pin is larger. Waits. */
kry_status kry_system_residual(kry_system *s, const kry_vec *b, const kry_vec *x, kry_vec *r,
                               double *norm, double *unit);
/* Take the null space out of a guess that is nearly all in it, where rounding would drown the rest: a
 * pressure of 101325 everywhere. Left as it is if its residual is not finite, or would double. r: room. Waits. */
kry_status kry_system_clear(kry_system *s, const kry_vec *b, kry_vec *x, kry_vec *r);
/* Take the null space out of x at the end, unless that costs it the target, or digits: of two
 * phases in single precision the stiff one has no place for a large constant. norm: the true residual, of x
 * before and after. r: room. Waits. */
kry_status kry_system_centre(kry_system *s, const kry_vec *b, kry_vec *x, kry_vec *r, double target,
                             double *norm);
/* ||v||, which may be of any size. Waits. */
kry_status kry_system_norm(kry_system *s, const kry_vec *v, double *norm);
/* ||x|| without its part along the null space. Waits. */
kry_status kry_system_size(kry_system *s, const kry_vec *x, double *norm);
/* ||A||, from below, by a few steps of the power method. v: room. Waits. */
kry_status kry_system_estimate(kry_system *s, kry_vec *v, double *norm);
/* Refuses a guess whose residual is not finite. */
kry_status kry_guess_check(double residual);

#endif
