/* direct.h - the direct solver for those that know the order of its factors. */
#ifndef KRY_DIRECT_H
#define KRY_DIRECT_H

#include "krylov/options.h"
#include "precond/factor.h"

/* Where kryi_find_null was asked to look, and found unconnected parts whose rows add up to zero, or empty rows: pin an unknown
 * of each in `rows`, A's entries in double, so that they have factors. */
kry_status kryi_direct_pin(const kry_op *A, kryi_csr *rows);
/* method=direct for an A of one device whose entries were analysed.
 *   analysed  [in,out]  taken over, but where A is refused before it is needed */
kry_status kryi_direct_create(const kry_op *A, const kryi_options *o, kryi_factor *analysed,
                              kry_op **solver);

#endif
