/* box_tail.h - the coarsest levels of a cycle in one launch, on GPUs. */
#ifndef KRY_BOX_TAIL_H
#define KRY_BOX_TAIL_H

#include "multigrid/hierarchy.h"

typedef struct kry_box_tail kry_box_tail;

/* A tail of H, whose coarser levels are boxes, without their numbers. *out NULL: there is none, because no level
 * but the coarsest is small enough for a single group, the coarsest has no dense inverse, the cycle is no V or
 * the device has no kernel for it. H has to outlive it. */
kry_status kry_box_tail_create(const kry_hierarchy *H, kry_box_tail **out);
/* Take the numbers that the levels have now. Waits. */
kry_status kry_box_tail_fill(kry_box_tail *tail);
int kry_box_tail_from(const kry_box_tail *tail);
/* For kry_tail. */
kry_status kry_box_tail_run(void *tail, const kry_vec *b, kry_vec *x);
void kry_box_tail_release(kry_box_tail **tail);

#endif
