/* describe.c - which grid an operator lies on, and what a part of an operator exchanges. */
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"

kry_status kry_stencil_describe(const kry_op *A, kry_stencil_info *info)
{
    kry_status st = KRY_OK;

    if (info) *info = (kry_stencil_info){ 0 };
    CHECK(A && info, KRY_ERR_ARGUMENT, "kry_stencil_describe: NULL");
    const kry_op *first = kryi_op_first(A);
    const kryi_stencil *S = kryi_stencil_here(first);
    CHECK(S, KRY_ERR_UNSUPPORTED, "kry_stencil_describe: '%s' lies on no grid", first->table->kind);
    info->axes = S->axes, info->varies = S->variable, info->by_face = S->faces_given;
    for (int a = 0; a < 3; a++) {
        info->size[a] = a < S->axes ? kryi_stencil_whole(S, a) : 1;
        info->spacing[a] = S->spacing[a], info->diffusion[a] = S->diffusion[a];
        info->low[a] = kryi_stencil_side(S, a, false);
        info->high[a] = kryi_stencil_side(S, a, true);
    }
done:
    return st;
}

kry_status kry_op_volume(const kry_op *op, int i, kry_part_volume *volume)
{
    kry_status st = KRY_OK;
    kry_op_info info;

    if (volume) *volume = (kry_part_volume){ 0 };
    CHECK(op && volume, KRY_ERR_ARGUMENT, "kry_op_volume: NULL");
    const kryi_here here = kryi_op_here(op);
    CHECK(i >= here.begin && i < here.end, KRY_ERR_ARGUMENT,
          "kry_op_volume: part %d; parts %d to %d of %d are here", i, here.begin, here.end - 1,
          kry_op_parts(op));
    const kry_op *A = kryi_op_piece(op, i);
    const kryi_stencil *grid = kryi_stencil_of(A);
    const kryi_extended *wide = kryi_extended_of(A);
    const kryi_coupled *coupled = kryi_coupled_of(A);
    const kryi_halo *halo = grid      ? grid->slab.halo
                            : wide    ? wide->halo
                            : coupled ? coupled->part.halo
                                      : NULL;
    kry_op_describe(A, &info);
    volume->rows = A->shape.rows, volume->entries = info.nnz;
    if (!grid && !wide && !coupled && !kryi_matrix_of(A)) {
        volume->coupled = volume->received = volume->sent = volume->neighbours = -1;
    } else if (halo) {
        const int layers = grid ? grid->slab.low + grid->slab.high : 0;
        volume->coupled = grid ? layers < grid->slab.count ? layers * grid->slab.layer : grid->n
                          : coupled ? coupled->rows
                                    : -1;
        volume->received = kryi_halo_count(halo), volume->sent = kryi_halo_sent(halo);
        volume->neighbours = kryi_halo_neighbours(halo);
    }
done:
    return st;
}
