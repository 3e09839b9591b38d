/* coarsest.h - the exact solution on the coarsest level. */
#ifndef KRY_COARSEST_H
#define KRY_COARSEST_H

#include "multigrid/hierarchy.h"
#include "precond/coarse.h"

/*
 * x := A^-1 b for a symmetric A, definite or semi-definite; above 1024 unknowns with A 1 = 0 and no other
 * null space. A is a box, or has rows to be read; x and b are of `type`. Waits.
 *
 * Returns  KRY_ERR_ARGUMENT for an A that is not positive definite; as kry_coarse_create
 */
kry_status kry_coarsest_create(const char *who, const kry_op *A, kry_type type,
                               kry_coarse **coarse);

#endif
