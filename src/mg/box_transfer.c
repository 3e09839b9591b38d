/*
 * box_transfer.c - interpolation between two grids, one of which has every second point of the other along
 * some of its axes, with stored weights. Kernels: cl/multigrid/box_transfer.cl.
 */
#include "multigrid/box.h"
#include <stdio.h>
#include <stdlib.h>

/* Both kernels take the same arguments. */
static kry_status transfer(const kryi_box_transfer *P, kryi_kernel *kernel, double alpha,
                           const kry_vec *x, double beta, kry_vec *y)
{
    const kryi_box_args c = kryi_box_args_of(&P->coarse), f = kryi_box_args_of(&P->fine);
    kryi_scalar a = kryi_scalar_of(P->dev, alpha), b = kryi_scalar_of(P->dev, beta);
    const kry_arg args[] = { KRY_BOX_ARGS(c), ARG(f.size[0]),     ARG(f.size[1]),
                             ARG(f.size[2]),  ARG(P->numbers),    ARG_ACC(P->dev, a),
                             ARG_VEC(x),      ARG_ACC(P->dev, b), ARG_VEC(y) };
    return kryi_launch(P->dev, kernel, kryi_groups_for(P->dev, P->type, P->coarse.n), args,
                       COUNT(args));
}

static kry_status transfer_apply(void *self, double alpha, const kry_vec *x, double beta,
                                 kry_vec *y)
{
    const kryi_box_transfer *P = self;
    return transfer(P, P->prolong, alpha, x, beta, y);
}

static kry_status transfer_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                           kry_vec *y)
{
    const kryi_box_transfer *P = self;
    return transfer(P, P->restrict_, alpha, x, beta, y);
}

static void transfer_describe(void *self, kry_op_info *info)
{
    const kryi_box_transfer *P = self;
    const double size = (double)kry_type_size(P->type);
    const double stored = (double)P->weights * (double)P->coarse.n * size;

    info->variant = "weights";
    info->slots = P->weights * P->coarse.n;
    info->bytes_stored = stored;
    const double moved = kryi_box_rows_alike(&P->coarse) ? 0 : stored;
    info->bytes_per_apply = moved + (double)(P->coarse.n + P->fine.n) * size;
}

static void transfer_destroy(void *self)
{
    kryi_box_transfer *P = self;
    if (!P) return;
    kryi_buffer_release(P->dev, &P->numbers);
    free(P);
}

static const kry_op_table transfer_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "box-transfer",
    .apply = transfer_apply,
    .apply_transpose = transfer_apply_transpose,
    .describe = transfer_describe,
    .destroy = transfer_destroy,
};

kryi_box_transfer *kryi_box_transfer_of(const kry_op *op)
{
    return op && op->table == &transfer_table ? op->self : NULL;
}

kry_status kryi_box_transfer_create(kry_device *dev, kry_type type, const kryi_box_grid *fine,
                                    unsigned coarsened, kry_op **out)
{
    kry_status st = KRY_OK;
    kryi_box_transfer *P = NULL;
    kry_vec *zero = NULL;
    char defines[64];

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *P, &P));
    *P = (kryi_box_transfer){ .dev = dev, .type = type, .fine = *fine, .coarsened = coarsened };
    P->coarse = kryi_box_grid_coarser(fine, coarsened);
    P->weights = 1;
    for (int a = 0; a < 3; a++) P->weights *= coarsened >> a & 1 ? 3 : 1;
    P->weights--;
    snprintf(defines, sizeof defines, "-DAXES=%d -DLANES=1 -DCX=%u -DCY=%u -DCZ=%u%s", fine->axes,
             coarsened & 1, coarsened >> 1 & 1, coarsened >> 2 & 1, kryi_box_uniform(&P->coarse));
    TRY(kryi_kernel_get(dev, "box_transfer", type, defines, "box_prolong", &P->prolong));
    TRY(kryi_kernel_get(dev, "box_transfer", type, defines, "box_restrict", &P->restrict_));
    const int64_t count = P->weights * P->coarse.n;
    TRY(kryi_buffer_create(dev, (size_t)count * kry_type_size(type), &P->numbers));
    TRY(kry_vec_wrap(dev, type, count, 1, P->numbers, 0, &zero));
    TRY(kry_vec_fill(zero, 0));
    const kry_op_shape shape = { P->fine.n, P->coarse.n, type, 0 };
    TRY(kry_op_create(dev, &transfer_table, P, &shape, out));
    P = NULL;
done:
    kry_vec_release(&zero);
    transfer_destroy(P);
    return st;
}
