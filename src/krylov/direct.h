/* direct.h - the direct solver for those that know the order of its factors. */
#ifndef KRY_DIRECT_H
#define KRY_DIRECT_H

#include "krylov/options.h"
#include "precond/factor.h"

/* Pin what A is seen to map to zero (kryi_find_null), where somebody has asked for that. rows: A's entries in double. */
kry_status kryi_direct_pin(const kry_op *A, kryi_csr *rows);
/* method=direct for an A of one device whose entries were analysed.
 *   analysed  [in,out]  taken over, but where A is refused before it is needed */
kry_status kryi_direct_create(const kry_op *A, const kryi_options *o, kryi_factor *analysed,
                              kry_op **solver);

#endif
