/* direction.c - the two passes of conjugate gradients over vectors, with scalars and the decision to go on still on the device.
 * Kernels: cl/krylov/pcg.cl; begin_direction and begin_step in cl/common/direction.clh are used by operators, too. */
#include "operator/direction.h"
#include "operator/op.h"
#include <string.h>

void kryi_direction_args(const kryi_direction *d, kry_arg args[KRY_DIRECTION_ARGS])
{
    const kry_arg all[KRY_DIRECTION_ARGS] = {
        ARG(d->iteration),   ARG(d->slot),       ARG_ACC(d->rho->dev, d->target2),
        ARG(d->rho->buffer), ARG(d->rho->count), ARG(d->step_state),
        ARG(d->state),       ARG(d->history),
    };
    memcpy(args, all, sizeof all);
}

kry_status kryi_direction_run(const kryi_direction *d, kry_vec *p)
{
    kry_status st = KRY_OK;
    const kry_arg rest[] = { ARG(p->n), ARG(d->z->buffer), ARG(d->old->buffer), ARG(p->buffer),
                             ARG(p->ld) };
    kry_arg args[KRY_DIRECTION_ARGS + COUNT(rest)];
    kryi_kernel *kernel;

    kryi_direction_args(d, args);
    memcpy(args + KRY_DIRECTION_ARGS, rest, sizeof rest);
    TRY(kryi_kernel_get(p->dev, "pcg", p->type, "", "pcg_direction", &kernel));
    TRY(kryi_launch_range(
        p->dev, kernel,
        (kryi_range){ kryi_groups_for_sums(p->dev, p->type, p->n), .columns = p->k }, args,
        COUNT(args)));
done:
    return st;
}

kry_status kryi_direction_check(const kryi_direction *d)
{
    kry_status st = KRY_OK;
    kry_arg args[KRY_DIRECTION_ARGS];
    kryi_kernel *kernel;

    kryi_direction_args(d, args);
    TRY(kryi_kernel_get(d->z->dev, "pcg", d->z->type, "", "pcg_check", &kernel));
    TRY(kryi_launch_range(d->z->dev, kernel, (kryi_range){ 1, .columns = d->z->k }, args,
                          COUNT(args)));
done:
    return st;
}

size_t kryi_step_args(const kryi_step *s, bool drift, kry_arg args[KRY_STEP_ARGS + KRY_DRIFT_ARGS])
{
    static const int64_t none = 0;
    const kry_sum *in = s->drift ? s->drift : s->pq, *out = s->drift ? s->next_drift : s->pq;
    const kry_arg all[KRY_STEP_ARGS + KRY_DRIFT_ARGS] = {
        ARG(s->update),     ARG(s->state),     ARG(s->step),
        ARG(s->pq->buffer), ARG(s->pq->count), ARG(in->buffer),
        ARG(in->count),     ARG(out->buffer),  { sizeof none, s->drift ? &s->unknowns : &none },
    };
    size_t count = KRY_STEP_ARGS + (drift ? KRY_DRIFT_ARGS : 0);

    memcpy(args, all, count * sizeof *all);
    return count;
}

kry_status kryi_step_run(const kryi_step *s, kryi_kernel *kernel, kry_vec *x, kry_vec *r,
                         kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kryi_chunks rows = kryi_chunks_of_columns(x);
    const bool aligned = !rows.chunk && kryi_vec_aligned(x);
    const cl_mem d = s->d ? s->d->buffer : NULL, z = s->d ? s->z->buffer : NULL;
    const kry_arg more[] = { ARG(s->p->buffer),
                             ARG(s->old->buffer),
                             ARG(s->q->buffer),
                             ARG_VEC(x),
                             ARG(r->buffer),
                             ARG(sum->buffer),
                             ARG(d),
                             ARG(z),
                             ARG(s->p->ld),
                             ARG(x->ld) };
    kry_arg args[KRY_CHUNKS_ARGS + KRY_STEP_ARGS + KRY_DRIFT_ARGS + COUNT(more)];

    size_t count = kryi_chunks_args(&rows, args);
    count += kryi_step_args(s, true, args + count);
    memcpy(args + count, more, sizeof more), count += COUNT(more);
    sum->count = (cl_int)rows.groups;
    if (s->drift) s->next_drift->count = sum->count;
    if (!aligned && !x->dev->info.cpu_kernels) /* few are: compiled when one comes */
        TRY(kryi_kernel_get(x->dev, "pcg", x->type, "-DKRY_UNALIGNED", "pcg_step", &kernel));
    TRY(kryi_launch_range(x->dev, kernel, (kryi_range){ rows.groups, .columns = x->k }, args,
                          count));
done:
    return st;
}

kry_status kryi_step_catch_up(const kryi_step *s, const kry_vec *first, int64_t start, int64_t done,
                              kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_device *dev = x->dev;
    const size_t size = kryi_acc_size(dev);
    const cl_int begun = (cl_int)start;
    const kryi_range range = { kryi_groups_for(dev, x->type, x->n), .columns = x->k };
    kryi_kernel *kernel;
    kryi_scalar alpha;

    if (done > 0 && x->k > 1) { /* the device knows how many steps each has done */
        TRY(kryi_kernel_get(dev, "pcg", x->type, "", "pcg_add_lasts", &kernel));
        TRY(kryi_launch_range(dev, kernel, range,
                              ARGS(ARG(x->n), ARG(begun), ARG(s->step), ARG(first->buffer),
                                   ARG(first->ld), ARG_VEC(x), ARG(x->ld))));
    } else if (done % 2) { /* no kernel has to be compiled for this alone */
        TRY(kryi_buffer_read(dev, s->step, STATE_ALPHA * size, size, &alpha));
        TRY(kry_vec_axpby(dev->info.fp64 ? alpha.f64 : alpha.f32, first, 1, x));
    }
done:
    return st;
}
