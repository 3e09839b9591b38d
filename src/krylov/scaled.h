/* scaled.h - solvers that work with the rows and columns of a matrix scaled by powers of two. */
#ifndef KRY_SCALED_H
#define KRY_SCALED_H

#include "krylov/options.h"

/* The solver that `o` asks for, for R A C where its equilibrate says so and for A elsewhere; b and x stay those of A.
 * Returns  KRY_ERR_UNSUPPORTED if scaling was asked for that there is not for this A, or with these words */
kry_status kryi_scaled_create(const kry_op *A, const kryi_options *o, kryi_solver_maker maker,
                              kry_op **solver);

#endif
