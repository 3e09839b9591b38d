/* scaled.h - solvers that work with the rows and columns of a matrix scaled by powers of two. */
#ifndef KRY_SCALED_H
#define KRY_SCALED_H

#include "krylov/options.h"

/* The solver that `o` asks for, for R A C where its equilibrate says so and for A elsewhere; b and x stay those of A.
 * Returns  KRY_ERR_UNSUPPORTED if scaling was asked for that there is not for this A, or with these words */
kry_status kryi_scaled_create(const kry_op *A, const kryi_options *o, kry_op **solver);
/* The solver for R A C; NULL: op is not one of these. */
kry_op *kryi_scaled_inner(const kry_op *op);
/* kry_solver_set_stop of a solver that kryi_scaled_inner has something for. */
kry_status kryi_scaled_set_stop(const kry_op *op, const kry_stop *stop);

#endif
