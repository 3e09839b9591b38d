/* part_operators.c - operators of a part's rows of a matrix that its host has made. */
#include "amg/part_levels.h"
#include "matrix/matrix.h"
#include "operator/halo.h"

/* far := the same in another type */
static kry_status far_in(kry_type type, const kry_sparse *from, kry_sparse *far)
{
    kry_status st = kry_sparse_copy(from, far);
    return st < 0 ? st : kry_sparse_convert(far, type);
}

kry_status kry_part_operator(kry_keep keep, unsigned traits, kry_part_rows *rows, kry_halo *halo,
                             kry_op **op)
{
    kry_status st = KRY_OK;
    kry_coupled made = { .traits = traits, .halo = halo };
    kry_device *dev = kry_halo_links_of(halo).dev;
    kry_op *own = NULL;

    TRY(kry_rounded_operator(dev, keep, &rows->own, traits, &own));
    TRY(far_in(keep.type, &rows->far, &made.far));
    made.own = own;
    made.place = rows->place, rows->place = NULL;
    st = kry_coupled_create(&made, false, op);
    made.halo = NULL, made.far = (kry_sparse){ 0 };
    TRY(st);
    TRY(kry_coupled_store(*op, NULL, kry_coupled_of(*op)->far.val));
done:
    kry_halo_release(&made.halo);
    kry_sparse_release(&made.far);
    kry_op_release(&own);
    if (st < 0) kry_op_release(op);
    return st;
}

kry_status kry_part_operator_store(kry_op *op, const kry_part_rows *rows)
{
    kry_status st = KRY_OK;
    kry_sparse far = { 0 };

    TRY(far_in(op->shape.type, &rows->far, &far));
    TRY(kry_rounded_set_numbers((kry_op *)kry_op_own(op), &rows->own));
    TRY(kry_coupled_store(op, NULL, far.val));
    TRY(kry_op_update(op, NULL));
done:
    kry_sparse_release(&far);
    return st;
}
