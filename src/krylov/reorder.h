/* reorder.h - solvers that work with the rows of a matrix in another order. */
#ifndef KRY_REORDER_H
#define KRY_REORDER_H

#include "krylov/options.h"

/* The solver that `o` asks for, for A in the order that it asks for; b and x stay in A's.
 * Returns  KRY_ERR_UNSUPPORTED if an order was asked for that there is not for this A, or with these words */
kry_status kryi_reordered_create(const kry_op *A, const kryi_options *o, kryi_solver_maker maker,
                                 kry_op **solver);

#endif
