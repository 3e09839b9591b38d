/*
 * hierarchy.h - the levels of multigrid, and the cycle over them.
 *
 * A family (grids, aggregation, classical coarsening) makes the levels: on each an operator A, and a
 * prolongation P from the next, coarser level. The cycle is the same for all of them:
 *
 *   smooth x;  r := b - A x;  e := cycle(P' r) on the coarser level;  x := x + P e;  smooth x
 */
#ifndef KRY_HIERARCHY_H
#define KRY_HIERARCHY_H

#include "multigrid/narrow.h"
#include "operator/op.h"
#include <kry/multigrid.h>

/* Smoothing steps, one after the other: x := x + step[i] D^-1 (b - A x), D the diagonal. Damped Jacobi
 * has one step, a polynomial of Chebyshev as many different ones as its degree (the inverses of its
 * roots). */
typedef struct kryi_sweeps {
    int count;
    const double *step;
    bool coloured; /* a step is for one colour after the other, in place, */
    bool reverse;  /* from the last to the first */
    kry_sum
        *sum; /* NULL, or the last step leaves the pair (b.x, b.b): with D^-1 and without colours */
} kryi_sweeps;

/* Several passes of the cycle in one, for levels that can do better than one operator after the other.
 * The vectors have the sizes of the levels, and none overlaps another. Enqueue only. */
typedef struct kryi_passes {
    int most; /* steps that `down` and `up` take; 0: there is `correct` instead */
    /* x := the steps from x = 0;  coarse := P' (b - A x) */
    kry_status (*down)(void *self, const kryi_sweeps *s, const kry_vec *b, kry_vec *x,
                       kry_vec *coarse);
    /* y := the steps from x + P e; s->sum as of any steps */
    kry_status (*up)(void *self, const kryi_sweeps *s, const kry_vec *b, const kry_vec *x,
                     const kry_vec *e, kry_vec *y);
    /* coarse := P' (b - A x); NULL: there is no such pass */
    kry_status (*descend)(void *self, const kry_vec *b, const kry_vec *x, kry_vec *coarse);
    /* y := v + step D^-1 (b - A v) with v = x + P e */
    kry_status (*correct)(void *self, double step, const kry_vec *b, const kry_vec *x,
                          const kry_vec *e, kry_vec *y);
    /* down and up of the finest level in single, in their place: b and y are in double; s->sum is there */
    kry_status (*down_narrow)(void *self, const kryi_sweeps *s, const kryi_narrow *narrow,
                              const kry_vec *b, kry_vec *x, kry_vec *coarse);
    kry_status (*up_narrow)(void *self, const kryi_sweeps *s, const kryi_narrow *narrow,
                            const kry_vec *b, const kry_vec *x, const kry_vec *e, kry_vec *y);
    /* Bytes that the way down and the way up move at least: `down` and `up`; or `descend`, where that is NULL a residual and a
     * restriction, and `correct` */
    double (*bytes)(const void *self);
} kryi_passes;

struct kryi_shell; /* part_window.h */

typedef struct kryi_level {
    kry_op *
        A; /* n-by-n, retained; offers `relax`, or a diagonal; for red-black `sweep_colour`. Symmetric, unless `unsymmetric` */
    kry_op *P; /* n-by-m, m the unknowns of the next level; retained. NULL on the coarsest level */
    kry_op *R; /* m-by-n: P'; retained. NULL: P offers apply_transpose */
    double
        factor; /* finest level, in single for an A in double: that A times a power of two; else 0 */
    bool unsymmetric; /* A need not be symmetric, nor R = P'; on all levels or on none */
    double highest;   /* no eigenvalue of D^-1 A is larger; 0: estimate it */
    /* NULL, or borrowed: vectors have numbers of other parts around the own ones. P' brings these for b of the next level,
     * in so many layers that a visit from x = 0 needs no more of them */
    const struct kryi_shell *shell;
    const kryi_passes *passes; /* static; NULL: none */
    void *self;                /* of the passes; the family's */
} kryi_level;

extern const kryi_field kryi_cycle_fields[]; /* of kry_cycle_params */
/* The word for the field `gather` of kry_mg_params and kry_amg_params. */
#define KRY_GATHER_WORD                                                                \
    {                                                                                  \
        "gather", KRY_WORD_WHOLE, "gather=N",                                          \
            "on several devices: unknowns from which on levels are on each as a whole" \
    }

typedef struct kryi_hierarchy kryi_hierarchy;

/* The levels from one on, all at once. */
typedef struct kryi_tail {
    int from; /* level, not the finest; 0: there is no tail */
    /* x := M b on that level. Enqueue only */
    kry_status (*run)(void *self, const kry_vec *b, kry_vec *x);
    void *self; /* the family's */
} kryi_tail;

/* How the levels are made, all of one type: that of A, or in single for an A in double; the coarsest one may always be of
 * that of A. `self` is what create made. */
typedef struct kryi_family {
    const char *kind; /* of the operator: "mg", "amg" */
    const char *who;  /* public constructor, in messages */
    int64_t coarsest; /* unknowns up to which a level is solved exactly, unless told otherwise */
    /* Append the levels to H, from the finest on, by kryi_hierarchy_add: no more than H's cycle allows,
     * down to so few unknowns as it says. params: the family's own. Waits. */
    kry_status (*create)(kryi_hierarchy *H, const kry_op *A, const void *params, void **self);
    /* A has new numbers: give those of the levels theirs. Patterns, sizes and kryi_level stay, but for
     * `highest`. Waits. */
    kry_status (*update)(kryi_hierarchy *H, void *self);
    /* NULL, or called when all levels have their smoothers and the coarsest its solution, at first and after
     * each update: *tail := what takes the coarser levels at once, if there is such a thing. Waits. */
    kry_status (*settle)(kryi_hierarchy *H, void *self, kryi_tail *tail);
    void (*destroy)(void *self); /* takes NULL */
} kryi_family;

/* Append a level below the ones that are there. Its operators are retained; whoever made them releases
 * his. */
kry_status kryi_hierarchy_add(kryi_hierarchy *H, const kryi_level *level);
int kryi_hierarchy_levels(const kryi_hierarchy *H);
kryi_level *kryi_hierarchy_level(kryi_hierarchy *H, int i); /* 0: the finest */
/* What was asked for, with the defaults filled in. */
const kry_cycle_params *kryi_hierarchy_cycle(const kryi_hierarchy *H);
/* For a family that makes levels: what smooths them if nobody has asked for a smoother, for a degree, for a number of sweeps. */
void kryi_hierarchy_prefer(kryi_hierarchy *H, kry_smoother smoother, int degree, int sweeps);

/* M := a cycle over the levels that the family makes of A: what the `create` of a kryi_constructor calls. Of a
 * share of an operator on a team: team_levels.h. Waits.
 *   params  handed to the family
 * Returns  KRY_ERR_ARGUMENT for a cycle that is none; what the family returned */
kry_status kryi_hierarchy_create(const kryi_family *family, const kry_op *A,
                                 const kry_cycle_params *cycle, const void *params, kry_op **M);
/* What is behind an operator that was made here; NULL: it is none. */
kryi_hierarchy *kryi_hierarchy_of(const kry_op *op);

#endif
