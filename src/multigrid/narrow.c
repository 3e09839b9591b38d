/* narrow.c - between vectors in double and a cycle of multigrid in single. Kernels: cl/multigrid/narrow.cl. */
#include "multigrid/narrow.h"
#include <stdlib.h>

kry_status kryi_narrow_create(kry_device *dev, kryi_narrow **out)
{
    kry_status st = KRY_OK;
    kryi_narrow *N = NULL;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *N, &N));
    N->dev = dev, N->factor = 1;
    TRY(kry_sum_create(dev, 1, &N->square));
    TRY(kry_sum_create(dev, 2, &N->dots));
    TRY(kryi_buffer_create(dev, 2 * sizeof(cl_double), &N->unit));
    TRY(kryi_kernel_get(dev, "narrow", KRY_F64, "", "narrow_unit", &N->measure));
    TRY(kryi_kernel_get(dev, "narrow", KRY_F64, "", "narrow_unit_of_pair", &N->measure_pair));
    TRY(kryi_kernel_get(dev, "narrow", KRY_F64, "", "narrow_down", &N->down));
    TRY(kryi_kernel_get(dev, "narrow", KRY_F64, "", "narrow_up", &N->up));
    *out = N, N = NULL;
done:
    kryi_narrow_release(&N);
    return st;
}

void kryi_narrow_release(kryi_narrow **address)
{
    kryi_narrow *N = *address;
    *address = NULL;
    if (!N) return;
    kryi_buffer_release(N->dev, &N->unit);
    kry_sum_release(&N->dots);
    kry_sum_release(&N->squares);
    kry_sum_release(&N->square);
    free(N);
}

kry_status kryi_narrow_widen(kryi_narrow *N, int64_t columns)
{
    kry_status st = KRY_OK;
    kry_sum *squares = NULL;
    cl_mem unit = NULL;

    if (columns == 1 || (N->squares && N->squares->columns == columns)) return KRY_OK;
    TRY(kryi_sum_create_columns(N->dev, 1, (int)columns, NULL, &squares));
    TRY(kryi_buffer_create(N->dev, (uint64_t)columns * 2 * sizeof(cl_double), &unit));
    kry_sum_release(&N->squares);
    kryi_buffer_release(N->dev, &N->unit);
    N->squares = squares, N->unit = unit;
    squares = NULL;
done:
    kry_sum_release(&squares);
    return st;
}

kry_status kryi_narrow_measure(kryi_narrow *N, const kry_vec *r, const kry_sum *known)
{
    kry_status st = KRY_OK;
    const bool alone = kryi_layout_size(&N->dev->layout) == 1;

    if (known && !alone && N->measured) return KRY_OK;
    if (!alone) known = NULL;
    kry_sum *own = r->k > 1 ? N->squares : N->square;
    const kry_sum *square = known ? known : own;

    if (!known) {
        TRY(kry_vec_dot_sum(r, r, own));
        TRY(kryi_layout_reduce(&N->dev->layout, &own, 1));
    }
    const kry_arg args[] = { ARG(square->count), ARG(square->buffer), ARG(N->factor),
                             ARG(N->unit) };
    TRY(kryi_launch_range(N->dev, known ? N->measure_pair : N->measure,
                          (kryi_range){ 1, .columns = r->k }, args, COUNT(args)));
    N->measured = true;
done:
    return st;
}

kry_status kryi_narrow_down(const kryi_narrow *N, const kry_vec *r, kry_vec *d)
{
    const kry_arg args[] = {
        ARG(r->n), ARG(N->unit), ARG_VEC(r), ARG(r->ld), ARG_VEC(d), ARG(d->ld)
    };
    return kryi_launch_range(
        N->dev, N->down, (kryi_range){ kryi_groups_for(N->dev, KRY_F64, r->n), .columns = r->k },
        args, COUNT(args));
}

kry_status kryi_narrow_up(const kryi_narrow *N, const kry_vec *r, const kry_vec *d, kry_vec *z,
                          kry_sum *dots)
{
    const int64_t groups = kryi_groups_for_sums(N->dev, KRY_F64, r->n);
    const cl_int sums = dots != NULL;
    const cl_mem part = dots ? dots->buffer : z->buffer;
    const kry_arg args[] = { ARG(r->n),  ARG(N->unit), ARG_VEC(r), ARG(r->ld), ARG_VEC(d),
                             ARG(d->ld), ARG_VEC(z),   ARG(z->ld), ARG(sums),  ARG(part) };

    if (dots) dots->count = (cl_int)groups;
    return kryi_launch_range(N->dev, N->up, (kryi_range){ groups, .columns = r->k }, args,
                             COUNT(args));
}
