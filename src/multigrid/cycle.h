/* cycle.h - what is behind an operator of multigrid. */
#ifndef KRY_MULTIGRID_CYCLE_H
#define KRY_MULTIGRID_CYCLE_H

#include "multigrid/hierarchy.h"
#include "multigrid/smoother.h"
#include "precond/coarse.h"

typedef struct kry_rung {
    kry_level level;
    kry_smoothing smooth; /* of all but the coarsest level */
    /* Of as many columns as there ever were: */
    kry_vec *b,
        *x; /* of the finest level in single for vectors in double, or with a shell, else NULL: the caller's */
    kry_vec *work;     /* of all but the coarsest level */
    kry_vec *again[4]; /* of levels that a cycle visits twice: see cycle.c */
} kry_rung;

struct kry_hierarchy {
    const kry_family *family;
    kry_op_table table; /* of the family's kind */
    void *self;         /* the family's */
    kry_cycle_params cycle;
    bool any_smoother, any_degree; /* none was asked for */
    kry_rung *rung;                /* count of them */
    int count;
    int64_t columns;    /* of the cycle that runs */
    kry_coarse *coarse; /* NULL: A has no unknowns */
    kry_tail tail;
    kry_narrow *narrow; /* the levels are in single, the vectors in double; else NULL */
    bool
        widens; /* the last step on the finest level is not of its smoother, but on the way to double */
    kry_sum *dots; /* borrowed, while a cycle runs that leaves (b.x, b.b) there; else NULL */
    char smoother[32], variant[160]; /* in words */
};

/* How many of kry_rung.again a cycle of that shape needs on level i, of `count`. */
int kry_cycle_room(kry_cycle_shape shape, int i, int count);
/* Whether the level takes all of the steps in the same pass as what follows them. */
bool kry_rung_is_fused(const kry_rung *g);
/* Whether it takes the first step on the way up in the same pass as the correction. */
bool kry_rung_corrects_at_once(const kry_rung *g);
/* Whether the finest level's passes are from and to vectors in double. */
bool kry_rung_has_narrow_passes(const kry_rung *g);
/* For levels in single: see `widens`. Waits. */
kry_status kry_cycle_widen(kry_hierarchy *H);
/* Whether a cycle takes several columns at once. */
bool kry_cycle_takes_columns(const kry_hierarchy *H);
/* Whether the last step on the finest level is a sweep that may leave sums. */
bool kry_cycle_leaves_dots(const kry_hierarchy *H);
/* Sums beside a cycle. They may be the same. */
typedef struct kry_cycle_sums {
    kry_sum *dots;        /* := (b.x, b.b); NULL: not asked for */
    const kry_sum *known; /* a pair whose second number is b.b; NULL: nobody knows */
} kry_cycle_sums;
/* x := M b; of several columns only where a cycle takes them, and without sums. The first time with k columns waits. */
kry_status kry_cycle_run(kry_hierarchy *H, const kry_vec *b, kry_vec *x, kry_cycle_sums sums);

#endif
