/* pin.h - the operator behind one that pins an unknown of it. */
#ifndef KRY_PIN_H
#define KRY_PIN_H

#include "operator/op.h"

/* A of P = A + a_rr e_r e_r', which has the same pattern and lies on the same grid; any operator
 * that pins nothing is handed back as it is. Borrowed. */
const kry_op *kryi_pin_of(const kry_op *op);
/* r, on this part; -1: op pins nothing here. */
int64_t kryi_pin_row(const kry_op *op);

#endif
