/* box_pairs.h - two operators of a cycle in one pass, between a grid in space and the next coarser one. */
#ifndef KRY_BOX_PAIRS_H
#define KRY_BOX_PAIRS_H

#include "multigrid/box.h"
#include "multigrid/hierarchy.h"

typedef struct kry_box_pairs kry_box_pairs;
/* For kry_level.passes, with a kry_box_pairs as its `self`. */
extern const kry_passes kry_box_pairs_table;

/* Passes between the level of A and that below P; both have to outlive them. *out NULL: there are none, but on GPUs
 * for grid operators in space with constant coefficients. */
kry_status kry_box_pairs_create(const kry_op *A, const kry_op *P, kry_box_pairs **out);
void kry_box_pairs_release(kry_box_pairs **t);

#endif
