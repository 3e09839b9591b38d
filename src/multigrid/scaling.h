/* scaling.h - what smoothing steps multiply the residual with in place of D^-1. */
#ifndef KRY_MULTIGRID_SCALING_H
#define KRY_MULTIGRID_SCALING_H

#include "operator/op.h"
#include <kry/multigrid.h>

/* *M NULL: D^-1. kry_op_update(M, NULL) follows A. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if A has no entries to read; KRY_ERR_SINGULAR if M does not exist */
kry_status kry_scaling_create(const kry_op *A, kry_smoother_scaling scaling, kry_op **M);

#endif
