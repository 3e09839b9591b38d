/* box_passes.h - several passes of a cycle in one, on a level of a grid. */
#ifndef KRY_BOX_PASSES_H
#define KRY_BOX_PASSES_H

#include "multigrid/box.h"
#include "multigrid/hierarchy.h"

typedef struct kryi_box_passes kryi_box_passes;
/* For kryi_level.passes, with a kryi_box_passes as its `self`. */
extern const kryi_passes kryi_box_passes_table, kryi_box_passes_narrow_table;

/* Passes of so many steps between the level of A and that below P; both have to outlive them. *out NULL: there are none,
 * for more than 4 steps, for boxes on CPUs and in space on GPUs. Made of the coefficients that A has when they run.
 * narrow: they read and write vectors in double though A is in single, which GPUs do; for kryi_box_passes_narrow_table. */
kry_status kryi_box_passes_create(const kry_op *A, const kry_op *P, int steps, bool narrow,
                                  kryi_box_passes **out);
void kryi_box_passes_release(kryi_box_passes **p);

/* ---- box_tail.c ---- */

typedef struct kryi_box_tail kryi_box_tail;
/* A tail of H, whose coarser levels are boxes, without their numbers. *out NULL: there is none, because no level
 * but the coarsest is small enough, the coarsest has no dense inverse, the cycle is no V or the device has no kernel for
 * it. H has to outlive it. Waits. */
kry_status kryi_box_tail_create(const kryi_hierarchy *H, kryi_box_tail **out);
void kryi_box_tail_release(kryi_box_tail **t);
/* *tail := *t, with the numbers that the levels have now; the first time, or with what the last time has set. If its groups
 * have waited in vain meanwhile, another one takes the place of *t, or NULL. Takes a *t of NULL. Waits. */
kry_status kryi_box_tail_settle(kryi_box_tail **t, kryi_tail *tail);

#endif
