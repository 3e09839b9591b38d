/* narrow.c - between vectors in double and a cycle of multigrid in single. Kernels: cl/narrow.cl. */
#include "multigrid/narrow.h"
#include <stdlib.h>

kry_status kry_narrow_create(kry_device *dev, kry_narrow **out)
{
    kry_status st = KRY_OK;
    kry_narrow *N = NULL;

    *out = NULL;
    TRY(kry_alloc(1, sizeof *N, &N));
    N->dev = dev, N->factor = 1;
    TRY(kry_sum_create(dev, 1, &N->square));
    TRY(kry_sum_create(dev, 2, &N->dots));
    TRY(kry_buffer_create(dev, 2 * sizeof(cl_double), &N->unit));
    TRY(kry_kernel_get(dev, "narrow", KRY_F64, "", "narrow_unit", &N->measure));
    TRY(kry_kernel_get(dev, "narrow", KRY_F64, "", "narrow_unit_of_pair", &N->measure_pair));
    TRY(kry_kernel_get(dev, "narrow", KRY_F64, "", "narrow_down", &N->down));
    TRY(kry_kernel_get(dev, "narrow", KRY_F64, "", "narrow_up", &N->up));
    *out = N, N = NULL;
done:
    kry_narrow_release(&N);
    return st;
}

void kry_narrow_release(kry_narrow **address)
{
    kry_narrow *N = *address;
    *address = NULL;
    if (!N) return;
    kry_buffer_release(N->dev, &N->unit);
    kry_sum_release(&N->dots);
    kry_sum_release(&N->square);
    free(N);
}

kry_status kry_narrow_measure(const kry_narrow *N, const kry_vec *r, const kry_sum *known)
{
    kry_status st = KRY_OK;
    const kry_sum *square = known ? known : N->square;

    if (!known) TRY(kry_vec_dot_sum(r, r, N->square));
    const kry_arg args[] = { ARG(square->count), ARG(square->buffer), ARG(N->factor),
                             ARG(N->unit) };
    TRY(kry_launch(N->dev, known ? N->measure_pair : N->measure, 1, args, COUNT(args)));
done:
    return st;
}

kry_status kry_narrow_down(const kry_narrow *N, const kry_vec *r, kry_vec *d)
{
    const kry_arg args[] = { ARG(r->n), ARG(N->unit), ARG_VEC(r), ARG(d->buffer) };
    return kry_launch(N->dev, N->down, kry_groups_for(N->dev, KRY_F64, r->n), args, COUNT(args));
}

kry_status kry_narrow_up(const kry_narrow *N, const kry_vec *r, const kry_vec *d, kry_vec *z,
                         kry_sum *dots)
{
    const kry_arg args[] = { ARG(r->n),      ARG(N->unit), ARG_VEC(r),
                             ARG(d->buffer), ARG_VEC(z),   ARG(dots->buffer) };

    dots->count = (cl_int)kry_groups_for_sums(N->dev, KRY_F64, r->n);
    return kry_launch(N->dev, N->up, dots->count, args, COUNT(args));
}
