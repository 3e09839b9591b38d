/* direct.h - the direct solver for those that know the order of its factors. */
#ifndef KRY_DIRECT_H
#define KRY_DIRECT_H

#include "krylov/options.h"
#include "precond/factor.h"

/* method=direct for an A of one device whose entries were analysed.
 *   analysed  [in,out]  taken over, but where A is refused before it is needed */
kry_status kry_direct_create(const kry_op *A, const kry_options *o, kry_factor *analysed,
                             kry_op **solver);

#endif
