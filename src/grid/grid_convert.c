/* grid_convert.c - grid operators in another number type, and grid operators on the host. */
#include "grid/host_grid.h"
#include "grid/stencil.h"
#include <stdlib.h>
#include <string.h>

/* If a number of one slab does not fit, the conversion fails on all parts, so that all go on in the
 * same way. */
static kry_status agree(const kry_stencil *A, kry_status mine)
{
    kry_status st = KRY_OK;
    double refused = mine == KRY_ERR_UNSUPPORTED;

    if (mine < 0 && !refused) return mine;
    TRY(kry_layout_combine(&A->dev->layout, KRY_MAX, &refused, 1));
    if (mine >= 0 && refused)
        return kry_fail(KRY_ERR_UNSUPPORTED, "kry_op_twin: not on another device of the team");
    st = mine;
done:
    return st;
}

kry_status kry_stencil_twin(void *self, kry_type type, double factor, const double *scale,
                            kry_op **twin)
{
    const kry_stencil *A = self;
    kry_status st = KRY_OK;
    kry_stencil_params p = *KRY_STENCIL();
    kry_slab slab = A->slab;

    CHECK(!scale, KRY_ERR_UNSUPPORTED, "kry_op_twin: a grid operator is not scaled by a diagonal");
    if (*twin) {
        TRY(agree(A, kry_stencil_copy_faces(kry_stencil_of(*twin), A, factor)));
        TRY(kry_stencil_share_faces(kry_stencil_of(*twin)));
        return KRY_OK;
    }
    for (int a = 0; a < A->axes; a++) {
        p.size[a] = kry_stencil_size_of_all(A, a);
        p.spacing[a] = A->spacing[a], p.diffusion[a] = A->diffusion[a];
        p.low[a] = A->low[a], p.high[a] = A->high[a];
    }
    slab.halo = NULL, slab.numbers = slab.face_below = NULL;
    if (kry_stencil_is_slab(A)) TRY(kry_slab_make_halo(A->dev, type, &slab));
    TRY(agree(A, kry_stencil_make(A->dev, type, &p, &slab, A, factor, twin)));
    TRY(kry_stencil_share_faces(kry_stencil_of(*twin)));
done:
    return st;
}
