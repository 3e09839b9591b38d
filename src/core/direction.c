/* direction.c - p := z + beta p with beta, and the decision to go on, still on the device.
 * Kernels: begin_direction and begin_step in cl/direction.clh, used by operators too. */
#include "internal.h"

void kry_direction_args(const kry_direction *d, kry_arg args[KRY_DIRECTION_ARGS])
{
    const kry_arg all[KRY_DIRECTION_ARGS] = {
        ARG(d->iteration),   ARG(d->slot),       ARG_ACC(d->rho->dev, d->target2),
        ARG(d->rho->buffer), ARG(d->rho->count), ARG(d->step_state),
        ARG(d->state),       ARG(d->history),
    };
    for (int i = 0; i < KRY_DIRECTION_ARGS; i++) args[i] = all[i];
}

kry_status kry_direction_run(const kry_direction *d, kry_vec *p)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    kry_device *dev = p->dev;
    kry_arg args[KRY_DIRECTION_ARGS + 4];

    kry_direction_args(d, args);
    const kry_arg rest[] = { ARG(p->n), ARG(d->z->buffer), ARG(d->old->buffer), ARG(p->buffer) };
    for (size_t i = 0; i < COUNT(rest); i++) args[KRY_DIRECTION_ARGS + i] = rest[i];
    TRY(kry_kernel_get(dev, "pcg", p->type, "", "pcg_direction", &kernel));
    TRY(kry_launch(dev, kernel, kry_groups_for_sums(dev, p->type, p->n), args, COUNT(args)));
done:
    return st;
}

kry_status kry_direction_check(const kry_direction *d)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    kry_arg args[KRY_DIRECTION_ARGS];

    kry_direction_args(d, args);
    TRY(kry_kernel_get(d->z->dev, "pcg", d->z->type, "", "pcg_check", &kernel));
    TRY(kry_launch(d->z->dev, kernel, 1, args, COUNT(args)));
done:
    return st;
}

void kry_step_args(const kry_step *s, kry_arg args[KRY_STEP_ARGS])
{
    const kry_arg all[KRY_STEP_ARGS] = { ARG(s->update), ARG(s->state), ARG(s->step),
                                         ARG(s->pq->buffer), ARG(s->pq->count) };
    for (int i = 0; i < KRY_STEP_ARGS; i++) args[i] = all[i];
}
