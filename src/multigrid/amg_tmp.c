#include "operator/op.h"
#include <kry/multigrid.h>
kry_status kry_amg_create(const kry_op *A, const kry_amg_params *params, kry_op **M)
{
    (void)A;
    (void)params;
    *M = NULL;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_amg_create: not yet");
}
