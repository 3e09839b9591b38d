/* box_correct.h - the correction from the next coarser grid and a smoothing step in one pass. */
#ifndef KRY_BOX_CORRECT_H
#define KRY_BOX_CORRECT_H

#include "multigrid/box.h"
#include "multigrid/hierarchy.h"

typedef struct kryi_box_correct kryi_box_correct;
/* For kryi_level.passes, with a kryi_box_correct as its `self`. */
extern const kryi_passes kryi_box_correct_table;

/* The pass between the level of A and that below P; both have to outlive it. *out NULL: there is none, but on GPUs for
 * grid operators in space with constant coefficients. */
kry_status kryi_box_correct_create(const kry_op *A, const kry_op *P, kryi_box_correct **out);
void kryi_box_correct_release(kryi_box_correct **c);

#endif
