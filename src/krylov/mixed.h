/*
 * mixed.h - x and its residual in double around a solver in single.
 */
#ifndef KRY_MIXED_INTERNAL_H
#define KRY_MIXED_INTERNAL_H

#include "krylov/method.h"
#include "krylov/options.h"

/* ---- equilibrate.c: the matrix in single is factor S A S ---- */

typedef struct kryi_equilibrium {
    double factor; /* a power of two */
    double *scale; /* n powers of two; owned; NULL: S is the identity */
} kryi_equilibrium;

/* Find them from A's diagonal; `diagonally`: S may differ from row to row. Waits. */
kry_status kryi_equilibrium_find(const kry_op *A, kry_equilibrate how, bool diagonally,
                                 kryi_equilibrium *e);
void kryi_equilibrium_release(kryi_equilibrium *e);

/* ---- the solver in single ---- */

typedef struct kryi_inner {
    kry_op *solver; /* retained */
    kryi_krylov *K; /* what is behind the solver */
    kry_vec *r, *x; /* n in single; x is zero between corrections */
    int64_t most;   /* iterations of a correction for the flexible scheme; 0: any number */
    double rtol;    /* what such a correction leaves of its residual; 0: nothing */
    double scale, last_scale; /* r and x are so many times smaller than they should be; and were in
                                 the correction before */
    int64_t iterations;       /* of this solve so far, and bytes that they moved */
    double bytes;
} kryi_inner;

/* ---- mixed_outer.c: the outer iteration in double ---- */

typedef struct kryi_mixed kryi_mixed;
typedef struct kryi_outer kryi_outer;

kry_status kryi_outer_create(kryi_mixed *M, kryi_outer **O);
void kryi_outer_destroy(kryi_outer *O);
/* A solve begins: x is copied. */
kry_status kryi_outer_begin(kryi_outer *O, const kry_vec *b, const kry_vec *x);
/* Go on by this scheme with the x that is there. */
kry_status kryi_outer_run(kryi_outer *O, kry_scheme scheme, const kryi_terms *terms,
                          kry_result *res);
/* x := the x that was kept, or it stays the guess; and the verdict on it, if it is another one than res is about. */
kry_status kryi_outer_end(kryi_outer *O, bool guess, kry_vec *x, kry_result *res);
kry_status kryi_outer_update(kryi_outer *O); /* A has new values */
/* Set the stopping criteria of all solvers that there are. On failure *stop is that of before. */
kry_status kryi_outer_set_stop(kryi_outer *O, const kry_stop *stop);

/* ---- the solver: mixed.c solves, mixed_create.c makes one ---- */

/* How far the solve under way is. */
typedef struct kryi_mixed_run {
    kry_scheme scheme;   /* under way */
    int64_t before;      /* iterations before it that do not count for its limit */
    int64_t digit;       /* reliable: the most iterations that the first two corrections took, */
    int corrections;     /* how many there were, */
    bool slow;           /* and whether the last one took too many */
    int64_t doubled;     /* iterations of the plain method in double so far, */
    double bytes;        /* and what they moved */
    double start;        /* seconds */
    double best;         /* flexible: the least residual so far, */
    int64_t best_step;   /* the step that gave it, */
    bool stalled, spent; /* and whether it was stopped: no progress, no iterations left */
    double least;        /* true residual of the x that is kept */
    double guess;        /* that of the x that the solve began with; infinite: not known yet */
    int64_t products;    /* in double, outside of the plain method */
} kryi_mixed_run;

struct kryi_mixed {
    kry_op *A;         /* in double, retained */
    kry_op *converted; /* A in single; NULL: single cannot hold it */
    kry_check check;   /* of A, whose updates were `checked` when kryi_check_matrix took it */
    kryi_takes takes;
    int64_t checked;
    kryi_inner inner;
    kryi_equilibrium e;
    kryi_outer *outer;
    kryi_options options; /* of the solver in single, but for stop and monitor: of the whole */
    kryi_subdomains subdomains; /* on a part of a team; owned */
    kry_scheme fitting;         /* what a solve begins with where single can hold the matrix */
    double drop;                /* a cycle of refinement ends at this share of its first residual */
    int64_t unknowns;           /* of the whole problem */
    bool limits;                /* max_iter is kry's own choice, and each scheme may take as many */
    char refused[160];          /* why single cannot hold the matrix; "": it can */
    kryi_mixed_run now;
    char text[500]; /* for kry_op_describe */
};

#define KRY_NEVER_MIXED \
    "%s: mixed precision ends by the residual; KRY_STOP_NEVER is for one precision"
extern const kry_op_table kryi_mixed_table;
extern const kryi_op_fused kryi_mixed_fused;
void kryi_mixed_destroy(void *self);
/* Monitors of the solvers in single and in double: they show the numbers of the whole solve. user: M */
int kryi_mixed_inner_monitor(void *user, const kry_iteration *it);
int kryi_mixed_outer_monitor(void *user, const kry_iteration *it);

#endif
