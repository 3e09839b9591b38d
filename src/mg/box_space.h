/* box_space.h - passes between a grid operator in space and the next coarser level, by tiles of columns. */
#ifndef KRY_BOX_SPACE_H
#define KRY_BOX_SPACE_H

#include "multigrid/box.h"
#include "multigrid/hierarchy.h"

typedef struct kryi_box_space kryi_box_space;

/* Make the passes between the level of A and that below P; both have to outlive them. *out NULL: there are none, but on GPUs for
 * grid operators in space with constant coefficients. */
kry_status kryi_box_space_create(const kry_op *A, const kry_op *P, kryi_box_space **out);
void kryi_box_space_release(kryi_box_space **s);
/* Whether there is a pass for `descend`, as there is for `correct`; see kryi_passes, of which all that follow are. */
bool kryi_box_space_descends(const kryi_box_space *s);
kry_status kryi_box_space_descend(void *self, const kry_vec *b, const kry_vec *x, kry_vec *coarse);
kry_status kryi_box_space_correct(void *self, double step, const kry_vec *b, const kry_vec *x,
                                  const kry_vec *e, kry_vec *y);
double kryi_box_space_bytes(const void *self);
/* For kryi_level.passes, with s as its `self`. */
const kryi_passes *kryi_box_space_passes(const kryi_box_space *s);

#endif
