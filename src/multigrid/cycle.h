/* cycle.h - what is behind an operator of multigrid. */
#ifndef KRY_MULTIGRID_CYCLE_H
#define KRY_MULTIGRID_CYCLE_H

#include "multigrid/coarsest.h"
#include "multigrid/smoother.h"

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
/* levels.c: what a V-cycle moves at least, 0: not known; what the set-up keeps beside A, in bytes, as far as its operators say. */
double kry_cycle_bytes(const kry_hierarchy *H);
double kry_cycle_bytes_stored(const kry_hierarchy *H);
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

/* ---- cycle_vectors.c ---- */

/* As many columns of a level's room as the cycle has; and room for so many from now on. */
kry_vec kry_cycle_columns(const kry_hierarchy *H, const kry_vec *room);
kry_status kry_cycle_make_room(kry_hierarchy *H, int64_t columns);
/* A cycle, or full multigrid; but_one: without the last step on the finest level. */
typedef kry_status kry_plain_cycle(kry_hierarchy *H, const kry_vec *b, kry_vec *x, bool but_one);
/* x := M b, or full multigrid, with levels whose vectors are not the caller's: in single, while b and x are in double, or
 * with the numbers of other parts around. */
kry_status kry_cycle_apart(kry_hierarchy *H, kry_plain_cycle *run, const kry_vec *b, kry_vec *x,
                           kry_cycle_sums sums);

#endif
