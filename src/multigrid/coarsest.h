/* coarsest.h - the exact solution on the coarsest level. */
#ifndef KRY_COARSEST_H
#define KRY_COARSEST_H

#include "multigrid/hierarchy.h"
#include "precond/coarse.h"

/*
 * x := A^-1 b for a symmetric A, definite or, with A 1 = 0, semi-definite. Waits.
 *
 *   E  the entries of A in double, both triangles; NULL: they are read from A, or found by products with unit
 *      vectors
 *
 * Returns  KRY_ERR_ARGUMENT for an A that is not positive definite; as kry_coarse_create
 */
kry_status kry_coarsest_create(const char *who, const kry_op *A, const kry_sparse *E,
                               kry_coarse **coarse);

#endif
