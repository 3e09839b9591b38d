/* adaptive.h - the near null space that a matrix itself tells. */
#ifndef KRY_ADAPTIVE_H
#define KRY_ADAPTIVE_H

#include "operator/op.h"
#include <kry/multigrid.h>

/* improved := p->near_null_space, or that of A, or constants, after p->adaptive sweeps of a smoother for
 * A v = 0: what is left of each vector is what A maps to almost zero. To be released. Waits.
 * Returns  KRY_ERR_ARGUMENT for rows that are no multiple of the unknowns of a node; as kryi_smoothing_create */
kry_status kryi_adaptive_vectors(const char *who, const kry_op *A, const kry_amg_params *p,
                                 kry_vec **improved);

#endif
