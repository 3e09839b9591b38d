/* auto_precond.h - precond=auto. */
#ifndef KRY_AUTO_PRECOND_H
#define KRY_AUTO_PRECOND_H

#include "sparse/csr.h"
#include <kry/op.h>

/* kry_precond_create. single: a cycle of multigrid may work in single, unless its settings say in what it works. */
kry_status kryi_precond_create(const kry_op *A, const char *name, bool single, kry_op **M);

/*
 * M := the preconditioner that suits A by rules that docs/choosing.md lists: mg, amg, block-ic, fsai or jacobi.
 * kry_op_info.chosen of M says why. single: a cycle of multigrid may work in single. Waits.
 *
 * Cost     12 products on the host, and what M costs
 * Returns  what the constructor of jacobi returned, which is tried where the others refuse A
 */
kry_status kryi_precond_auto(const kry_op *A, bool single, kry_op **M);

/*
 * Iterations of conjugate gradients with Jacobi's preconditioner to 1e-8: what it takes, or less. INFINITY for rows
 * that are not symmetric with a positive diagonal.
 *
 *   rows  [in,out]  the entries of A, in double; made symmetric to the bit
 */
kry_status kryi_precond_predict(const kry_op *A, kryi_csr *rows, double *iterations);

#endif
