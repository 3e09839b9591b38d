/* direction.c - p := z + beta p with beta, and the decision to go on, still on the device.
 * Kernels: begin_direction and begin_step in cl/common/direction.clh, used by operators too. */
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
