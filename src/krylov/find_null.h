/* find_null.h - what a matrix maps to zero, found by its entries. */
#ifndef KRY_FIND_NULL_H
#define KRY_FIND_NULL_H

#include "operator/op.h"
#include "sparse/csr.h"

/* Inspect A's entries, unless its null space is known or they were inspected: solvers of A that are created
 * from then on know which constants on parts, and which empty rows, it maps to zero from both sides, of up to 64. No work
 * for an A that promises to be positive, has no entries, or is a part of another on a team. Collective. Waits.
 * Cost  A's entries on the host, once; on ranks the rows of each on its own */
kry_status kryi_find_null(const char *who, const kry_op *A);

#endif
