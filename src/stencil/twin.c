/* twin.c - a grid operator in another number type; and grids that stay on the host. */
#include "host.h"
#include "stencil.h"
#include <stdlib.h>
#include <string.h>

kry_status kry_stencil_twin(void *self, kry_type type, double factor, const double *scale,
                            kry_op **twin)
{
    const kry_stencil *A = self;
    kry_status st = KRY_OK;
    kry_stencil_params p = *KRY_STENCIL(.path = A->path);

    CHECK(!scale, KRY_ERR_UNSUPPORTED, "kry_op_twin: a grid operator is not scaled by a diagonal");
    if (*twin) return kry_stencil_copy_faces(kry_stencil_of(*twin), A, factor);
    for (int a = 0; a < A->axes; a++) {
        p.size[a] = A->size[a];
        p.spacing[a] = A->spacing[a], p.diffusion[a] = A->diffusion[a];
        p.low[a] = A->low[a], p.high[a] = A->high[a];
    }
    TRY(kry_stencil_make(A->dev, type, &p, A, factor, twin));
done:
    return st;
}
