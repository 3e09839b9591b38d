/* pin.h - the operator behind one that pins an unknown of it. */
#ifndef KRY_PIN_H
#define KRY_PIN_H

#include "operator/null_space.h"

/* A of P = A + a_rr e_r e_r', which has the same pattern and lies on the same grid; any operator
 * that pins nothing is handed back as it is. Borrowed. */
const kry_op *kry_pin_of(const kry_op *op);

/* What an operator pins an unknown of, for solvers that judge by its residual. */
typedef struct kry_unpinned {
    const kry_op *A;     /* borrowed; NULL: no unknown is pinned */
    kry_null_space null; /* of A */
} kry_unpinned;

kry_status kry_unpinned_create(const kry_op *op, kry_unpinned *U);
void kry_unpinned_release(kry_unpinned *U);
/* r := b - A x without its part along the null space of A. Does not wait. */
kry_status kry_unpinned_residual(kry_unpinned *U, const kry_vec *b, const kry_vec *x, kry_vec *r);

#endif
