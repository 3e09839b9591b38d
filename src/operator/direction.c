/* direction.c - the two passes of conjugate gradients, with scalars and the decision to go on still on the device.
 * Kernels: cl/krylov/pcg.cl; begin_direction and begin_step in cl/common/direction.clh are used by operators, too. */
#include "operator/direction.h"
#include "operator/op.h"
#include <string.h>

kry_status kryi_cg_prepare(kryi_cg *cg, kry_device *dev, kry_type type)
{
    kryi_kernel *found; /* once more by the functions below */
    const kryi_named_kernel kernels[] = { { "pcg_step", &cg->step_aligned },
                                          { "pcg_direction", &found },
                                          { "pcg_check", &found },
                                          { "pcg_add_lasts", &found },
                                          { "pcg_flexible", &found } };
    return kryi_kernels_get(dev, "pcg", type, "", kernels, COUNT(kernels));
}

void kryi_direction_args(const kryi_cg *cg, kry_arg args[KRY_DIRECTION_ARGS])
{
    const kry_arg all[KRY_DIRECTION_ARGS] = {
        ARG(cg->iteration), ARG(cg->slot), ARG_ACC(cg->rho->dev, cg->target2),
        ARG_SUM(cg->rho),   ARG(cg->step), ARG(cg->state),
        ARG(cg->history),
    };
    memcpy(args, all, sizeof all);
}

kry_status kryi_direction_run(const kryi_cg *cg)
{
    kry_status st = KRY_OK;
    const kry_vec *p = cg->p;
    const kry_arg rest[] = { ARG(p->n), ARG(cg->z->buffer), ARG(cg->old->buffer), ARG(p->buffer),
                             ARG(p->ld) };
    kry_arg args[KRY_DIRECTION_ARGS + COUNT(rest)];
    kryi_kernel *kernel;

    kryi_direction_args(cg, args);
    memcpy(args + KRY_DIRECTION_ARGS, rest, sizeof rest);
    TRY(kryi_kernel_get(p->dev, "pcg", p->type, "", "pcg_direction", &kernel));
    TRY(kryi_launch_range(
        p->dev, kernel,
        (kryi_range){ kryi_groups_for_sums(p->dev, p->type, p->n), .columns = p->k }, args,
        COUNT(args)));
done:
    return st;
}

kry_status kryi_cg_direct(const kry_op *A, const kryi_cg *cg)
{
    kry_status st = KRY_OK;

    if (cg->fuses && A->fused->apply_direction) return A->fused->apply_direction(A->self, cg);
    TRY(kryi_direction_run(cg));
    TRY(kryi_op_run_dot(A, cg->p, cg->q, cg->pq));
done:
    return st;
}

kry_status kryi_cg_correct_beta(const kryi_cg *cg)
{
    kry_status st = KRY_OK;
    const kry_vec *z = cg->z;
    kry_sum *zq = cg->zq;

    TRY(kry_vec_dot_sum(z, cg->q, zq));
    TRY(kryi_layout_reduce(z->layout, &zq, 1));
    TRY(kryi_run(z->dev, "pcg", z->type, "", "pcg_flexible", 1,
                 ARGS(ARG_SUM(cg->rho), ARG_SUM(zq), ARG(cg->step))));
done:
    return st;
}

kry_status kryi_cg_check(const kryi_cg *cg)
{
    kry_status st = KRY_OK;
    const kry_vec *z = cg->z;
    kry_arg args[KRY_DIRECTION_ARGS];
    kryi_kernel *kernel;

    kryi_direction_args(cg, args);
    TRY(kryi_kernel_get(z->dev, "pcg", z->type, "", "pcg_check", &kernel));
    TRY(kryi_launch_range(z->dev, kernel, (kryi_range){ 1, .columns = z->k }, args, COUNT(args)));
done:
    return st;
}

/* Whether x waits in this step, or how it is updated: a number of direction.clh. */
static const cl_int *update_of_x(const kryi_cg *cg)
{
    static const cl_int waits = 0, adds = 1, adds_both = 2, adds_old = 3;
    const bool has_z = cg->d || cg->z == cg->r; /* which the old p can be made of */

    if (!cg->x_waits) return &adds;
    if (cg->done % 2 == 0) return &waits;
    return has_z ? &adds_both : &adds_old;
}

size_t kryi_step_args(const kryi_cg *cg, bool drift, kry_arg args[KRY_STEP_ARGS + KRY_DRIFT_ARGS])
{
    static const int64_t none = 0;
    const kry_sum *in = cg->drift ? cg->drift : cg->pq;
    const kry_sum *out = cg->drift ? cg->next_drift : cg->pq;
    const kry_arg all[KRY_STEP_ARGS + KRY_DRIFT_ARGS] = {
        { sizeof(cl_int), update_of_x(cg) },
        ARG(cg->state),
        ARG(cg->step),
        ARG_SUM(cg->pq),
        ARG_SUM(in),
        ARG(out->buffer),
        { sizeof none, cg->drift ? &cg->unknowns : &none },
    };
    size_t count = KRY_STEP_ARGS + (drift ? KRY_DRIFT_ARGS : 0);

    memcpy(args, all, count * sizeof *all);
    return count;
}

/* The step over vectors, with a q that is there. */
static kry_status run_step(const kryi_cg *cg)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel = cg->step_aligned;
    const kry_vec *x = cg->x, *p = cg->p;
    const kryi_chunks rows = kryi_chunks_of_columns(x);
    const bool aligned = !rows.chunk && kryi_vec_aligned(x);
    const cl_mem d = cg->d ? cg->d->buffer : NULL, z = cg->d ? cg->z->buffer : NULL;
    const kry_arg more[] = { ARG(p->buffer),
                             ARG(cg->old->buffer),
                             ARG(cg->q->buffer),
                             ARG_VEC(x),
                             ARG(cg->r->buffer),
                             ARG(cg->rho->buffer),
                             ARG(d),
                             ARG(z),
                             ARG(p->ld),
                             ARG(x->ld) };
    kry_arg args[KRY_CHUNKS_ARGS + KRY_STEP_ARGS + KRY_DRIFT_ARGS + COUNT(more)];

    size_t count = kryi_chunks_args(&rows, args);
    count += kryi_step_args(cg, true, args + count);
    memcpy(args + count, more, sizeof more), count += COUNT(more);
    cg->rho->count = (cl_int)rows.groups;
    if (cg->drift) cg->next_drift->count = cg->rho->count;
    if (!aligned && !x->dev->info.cpu_kernels) /* few are: compiled when one comes */
        TRY(kryi_kernel_get(x->dev, "pcg", x->type, "-DKRY_UNALIGNED", "pcg_step", &kernel));
    TRY(kryi_launch_range(x->dev, kernel, (kryi_range){ rows.groups, .columns = x->k }, args,
                          count));
done:
    return st;
}

kry_status kryi_cg_step(const kry_op *A, const kryi_cg *cg)
{
    return cg->q ? run_step(cg) : A->fused->apply_step(A->self, cg);
}

kry_status kryi_cg_catch_up(const kryi_cg *cg, const kry_vec *first, int64_t start, int64_t done)
{
    kry_status st = KRY_OK;
    kry_vec *x = cg->x;
    kry_device *dev = x->dev;
    const size_t size = kryi_acc_size(dev);
    const cl_int begun = (cl_int)start;
    const kryi_range range = { kryi_groups_for(dev, x->type, x->n), .columns = x->k };
    kryi_kernel *kernel;
    kryi_scalar alpha;

    if (!cg->x_waits) return KRY_OK;
    if (done > 0 && x->k > 1) { /* the device knows how many steps each has done */
        TRY(kryi_kernel_get(dev, "pcg", x->type, "", "pcg_add_lasts", &kernel));
        TRY(kryi_launch_range(dev, kernel, range,
                              ARGS(ARG(x->n), ARG(begun), ARG(cg->step), ARG(first->buffer),
                                   ARG(first->ld), ARG_VEC(x), ARG(x->ld))));
    } else if (done % 2) { /* no kernel has to be compiled for this alone */
        TRY(kryi_buffer_read(dev, cg->step, STATE_ALPHA * size, size, &alpha));
        TRY(kry_vec_axpby(dev->info.fp64 ? alpha.f64 : alpha.f32, first, 1, x));
    }
done:
    return st;
}

double kryi_cg_bytes(const kry_op *A, const kry_op *M, const kryi_cg *cg)
{
    const kry_op_shape *shape = &A->shape;
    const bool diagonal = kryi_op_as_diagonal(M);
    const double old =
        M && !diagonal ? 0.5 : 0; /* x reads the old p where it cannot be made of z */
    double words = M && (diagonal || !M->table->apply_dots) ? 2 : 0, bytes;
    kry_op_info info;

    kry_op_describe(A, &info);
    if (info.bytes_per_apply <= 0) return 0;
    if (!cg->q)
        bytes = info.bytes_per_direction + info.bytes_per_step, words += cg->x_waits ? old : 1;
    else if (info.bytes_per_direction <= 0 || A->dev->layout.reproducible)
        bytes = info.bytes_per_apply, words += A->table->apply_dot ? 9 : 11;
    else /* r twice and q; twice x and p, or in every second step twice x, p and the old p */
        bytes = info.bytes_per_direction, words += cg->x_waits ? 4.5 + old : 6;
    if (M && !diagonal) {
        kry_op_describe(M, &info);
        if (info.bytes_per_apply <= 0) return 0;
        bytes += info.bytes_per_apply;
    }
    return bytes + words * (double)shape->rows * (double)kry_type_size(shape->type);
}
