/* mixed_outer.h - what a solver in mixed precision has in double. For mixed_outer.c and mixed_round.c. */
#ifndef KRY_MIXED_OUTER_H
#define KRY_MIXED_OUTER_H

#include "krylov/mixed.h"

struct kry_outer {
    kry_mixed *M;    /* borrowed */
    kry_device *dev; /* borrowed: of A */
    kry_vec *x[2];   /* n in double; x[at] is the one that is kept */
    int at;
    kry_vec *scale;   /* S; NULL: the identity */
    kry_vec *single;  /* n in single, on their way to another device or back; NULL: there is none */
    const kry_vec *b; /* borrowed for a solve */
    kry_sum *sum;
    kry_kernel *widen, *narrow, *measure;
    kry_op *refine;           /* restarts from residuals in double, around corrections in single */
    kry_op *precond;          /* a correction in single, as a preconditioner of `flexible` */
    kry_op *flexible, *plain; /* made when they are needed */
    kry_krylov *last;         /* borrowed: of them the one that ran last, */
    bool other;               /* and whether another x than the one that it came to is kept */
};

/* y := beta x + a S d for the correction d in single, and d := 0; x is not read with beta = 0, and may be y. */
kry_status kry_outer_widen(kry_outer *O, double beta, const kry_vec *x, double a, kry_vec *y);
/* The residual in single := S r by a power of two; *scaled := ||S r||, for ||r|| = norm. Waits where S is
 * not the identity. */
kry_status kry_outer_narrow(kry_outer *O, const kry_vec *r, double norm, double *scaled);

#endif
