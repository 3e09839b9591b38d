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

#include "operator/op.h"
#include <kry/multigrid.h>

typedef struct kry_level {
    kry_op *A; /* n-by-n, retained; offers `relax`, or a diagonal. Symmetric */
    kry_op *P; /* n-by-m, m the unknowns of the next level; retained. NULL on the coarsest level */
    kry_op *R; /* m-by-n: P'; retained. NULL: P offers apply_transpose */
} kry_level;

typedef struct kry_hierarchy kry_hierarchy;

/* How the levels are made. `self` is what create made. */
typedef struct kry_family {
    const char *kind; /* of the operator: "mg", "amg" */
    const char *who;  /* public constructor, in messages */
    /* Append the levels to H, from the finest on, by kry_hierarchy_add. params: the family's own. Waits. */
    kry_status (*create)(kry_hierarchy *H, const kry_op *A, const void *params, void **self);
    /* A has new numbers: give those of the levels theirs. Patterns, sizes and kry_level stay. Waits. */
    kry_status (*update)(kry_hierarchy *H, void *self);
    void (*destroy)(void *self); /* takes NULL */
} kry_family;

/* Append a level below the ones that are there. Its operators are retained; whoever made them releases
 * his. */
kry_status kry_hierarchy_add(kry_hierarchy *H, const kry_level *level);
int kry_hierarchy_levels(const kry_hierarchy *H);
const kry_level *kry_hierarchy_level(const kry_hierarchy *H, int i); /* 0: the finest */

/* M := a cycle over the levels that the family makes of A. */
kry_status kry_hierarchy_create(const kry_family *family, const kry_op *A,
                                const kry_cycle_params *cycle, const void *params, kry_op **M);
/* What is behind an operator that was made here; NULL: it is none. */
kry_hierarchy *kry_hierarchy_of(const kry_op *op);

#endif
