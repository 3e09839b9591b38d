/* cycle.h - what is behind an operator of multigrid. */
#ifndef KRY_MULTIGRID_CYCLE_H
#define KRY_MULTIGRID_CYCLE_H

#include "multigrid/hierarchy.h"
#include "multigrid/smoother.h"
#include "precond/coarse.h"

typedef struct kryi_rung {
    kryi_level level;
    kryi_smoothing smooth; /* of all but the coarsest level */
    /* Vectors with as many columns as there ever were: */
    kry_vec *b,
        *x; /* of the finest level in single for vectors in double, or with a shell, else NULL: the caller's */
    kry_vec *work;     /* of all but the coarsest level */
    kry_vec *again[4]; /* of levels that a cycle visits twice: see cycle.c */
    struct {
        kry_vec b, x, work;
        kry_vec *place[2]; /* x and work: where the iterate is, and room */
    } now;                 /* views of what the cycle that runs works on */
} kryi_rung;

struct kryi_hierarchy {
    const kryi_family *family;
    kry_op_table table; /* of the family's kind */
    void *self;         /* the family's */
    kry_cycle_params cycle;
    bool any_smoother, any_degree, any_sweeps; /* none was asked for */
    kryi_rung *rung;                           /* count of them */
    int count;
    int64_t columns;     /* of the cycle that runs */
    kryi_coarse *coarse; /* NULL: A has no unknowns */
    kryi_tail tail;
    kryi_narrow *narrow; /* the levels are in single, the vectors in double; else NULL */
    bool
        widens; /* the last step on the finest level is not of its smoother, but on the way to double */
    kry_sum *dots; /* borrowed, while a cycle runs that leaves (b.x, b.b) there; else NULL */
    char smoother[32], variant[160]; /* in words */
};

/* How many of kryi_rung.again a cycle of that shape needs on level i, of `count`. */
int kryi_cycle_room(kry_cycle_shape shape, int i, int count);
/* Whether the level takes all of the steps in the same pass as what follows them. */
bool kryi_rung_is_fused(const kryi_rung *g);
/* Whether it takes the first step on the way up in the same pass as the correction. */
bool kryi_rung_corrects_at_once(const kryi_rung *g);
/* Whether the finest level's passes are from and to vectors in double. */
bool kryi_rung_has_narrow_passes(const kryi_rung *g);
/* For levels in single: see `widens`. Waits. */
kry_status kryi_cycle_widen(kryi_hierarchy *H);
/* Whether a cycle takes several columns at once. */
bool kryi_cycle_takes_columns(const kryi_hierarchy *H);
/* Whether the last step on the finest level is a sweep that may leave sums. */
bool kryi_cycle_leaves_dots(const kryi_hierarchy *H);
/* Sums beside a cycle. They may be the same. */
typedef struct kryi_cycle_sums {
    kry_sum *dots;        /* := (b.x, b.b); NULL: not asked for */
    const kry_sum *known; /* a pair whose second number is b.b; NULL: nobody knows */
} kryi_cycle_sums;
/*
 * x := M b; of several columns only where a cycle takes them, and without sums. The first time with k columns waits.
 *
 *   is_full  x := the approximation of A^-1 b by full multigrid: the coarsest level's solution, prolongated to one level after
 *            the other, on each of which it goes through a cycle; without sums
 *
 * Source  A. Brandt, Math. Comp. 31 (1977), 333-390, section 6
 */
kry_status kryi_cycle_run(kryi_hierarchy *H, bool is_full, const kry_vec *b, kry_vec *x,
                          kryi_cycle_sums sums);

#endif
