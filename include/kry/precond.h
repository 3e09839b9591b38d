/*
 * precond.h - preconditioners: operators M that act like the inverse of A, roughly and cheaply.
 */
#ifndef KRY_PRECOND_H
#define KRY_PRECOND_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * M := inverse of the diagonal of A
 *
 * Keeps A. kry_op_update(M, NULL) reads the diagonal again. Waits.
 *
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if A offers no diagonal;
 *          KRY_ERR_SINGULAR if an entry is zero or not finite (message: which row).
 */
KRY_API KRY_MUST_CHECK kry_status kry_jacobi_create(const kry_op *A, kry_op **M);

#ifdef __cplusplus
}
#endif
#endif
