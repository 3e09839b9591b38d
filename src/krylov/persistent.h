/*
 * persistent.h - conjugate gradients that stay on the chip, as a solver sees them: an offer of the
 * operator that may end at any time, and then the solver goes on by itself.
 */
#ifndef KRY_SOLVER_RESIDENT_H
#define KRY_SOLVER_RESIDENT_H

#include "krylov/stop.h"
#include "operator/direction.h"

typedef struct kry_chip {
    const kry_op *A;    /* borrowed; NULL: not to be used */
    double *history;    /* owned, KRY_CG_CHUNK + 1 */
    int64_t iterations; /* of this solve, so far */
} kry_chip;

/* Make ready if the parameters ask for it and A can; else iterations are the solver's own. */
void kry_chip_prepare(kry_chip *chip, const kry_op *A, const kry_pcg_params *params);
void kry_chip_release(kry_chip *chip);
/* A cycle from x and its residual r. Not complete: w->iteration and x are as far as it came, and
 * the solver has to go on. Waits. */
kry_status kry_chip_iterate(kry_chip *chip, kry_watch *w, const kry_vec *r, kry_vec *x,
                            bool *complete);

#endif
