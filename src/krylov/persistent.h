/*
 * persistent.h - conjugate gradients in one kernel that stays on the device, as a method sees them:
 * an offer of the operator that may end at any time, and then the method goes on by itself.
 */
#ifndef KRY_PERSISTENT_H
#define KRY_PERSISTENT_H

#include "krylov/method.h"
#include "operator/resident.h"

typedef struct kryi_persistent {
    const kry_op *A, *M;          /* borrowed: the product, and the preconditioner or NULL */
    kryi_resident_cg *R;          /* owned; NULL: not to be used */
    int64_t A_updates, M_updates; /* of A and M when R was made, which knows their buffers */
    bool insisted;                /* the caller wants it, whether it is faster or not */
    bool
        doubtful; /* something broke down in it: launches, whose recurrences lose less, go on with this solve */
    double *history; /* owned, KRY_CG_CHUNK + 1 */
} kryi_persistent;

/* Make ready if the parameters ask for it and A can; else iterations are the method's own. */
void kryi_persistent_prepare(kryi_persistent *P, const kry_op *A, const kry_op *M,
                             const kry_pcg_params *params);
void kryi_persistent_release(kryi_persistent *P);
/* Iterations from c->x and c->r. With *begun false there were none, and x and r are what they were;
 * else the cycle is over. Waits. */
kry_status kryi_persistent_iterate(kryi_persistent *P, kryi_cycle *c, int64_t check_every,
                                   bool *begun);

#endif
