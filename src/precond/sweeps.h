/*
 * sweeps.h - y := x + c0 (x - old) + c1 D^-1 (b - A x) for any operator with a diagonal, the step
 * of the iterations of Jacobi and Chebyshev; or with another M in place of D^-1.
 */
#ifndef KRY_RELAX_H
#define KRY_RELAX_H

#include "operator/op.h"

typedef struct kryi_relaxer {
    kry_op *A;          /* retained */
    kry_op *M;          /* D^-1; this and all below NULL if A has `relax` */
    kry_vec *residual;  /* room for b - A x */
    kryi_kernel *sweep; /* for aligned vectors */
} kryi_relaxer;

/* `who` names the constructor. Returns  KRY_ERR_UNSUPPORTED if A offers no diagonal,
 * KRY_ERR_SINGULAR if it has a zero. Waits. */
kry_status kryi_relaxer_create(const char *who, const kry_op *A, kryi_relaxer *w);
/* kryi_relaxer_create with M in place of D^-1; M is retained. If it is no diagonal matrix, kryi_relaxer_run takes
 * no c0 and no sum. */
kry_status kryi_relaxer_create_with(const char *who, const kry_op *A, const kry_op *M,
                                    kryi_relaxer *w);
void kryi_relaxer_release(kryi_relaxer *w);
/* After a change of A. */
kry_status kryi_relaxer_update(kryi_relaxer *w);
/* As kryi_op_fused.relax, of one column or, without a sum, of several. */
kry_status kryi_relaxer_run(kryi_relaxer *w, const kryi_relax *s, kry_vec *y, kry_sum *sum);
/* Bytes that a sweep without `old` moves, by the model; 0: not known. */
double kryi_relaxer_bytes(const kryi_relaxer *w);

#endif
