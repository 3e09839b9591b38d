/* mixed_round.c - between double and single: residuals are scaled and rounded, corrections scaled back and
 * added. Kernels: cl/krylov/mixed.cl. */
#include "host/host.h"
#include "krylov/mixed_outer.h"
#include <math.h>

kry_status kry_outer_widen(kry_outer *O, double beta, const kry_vec *x, double a, kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_inner *I = &O->M->inner;
    const kry_vec *d = O->single ? O->single : I->x;
    const cl_mem s = O->scale ? O->scale->buffer : NULL;

    if (O->single) {
        TRY(kry_vec_read(I->x, kry_host_memory(O->single->buffer)));
        TRY(kry_vec_fill(I->x, 0));
    }
    a *= O->M->e.factor * I->scale;
    const kry_arg args[] = { ARG(y->n), ARG(beta),      ARG(x->buffer), ARG(a),
                             ARG(s),    ARG(d->buffer), ARG(y->buffer) };
    TRY(kry_launch(O->dev, O->widen, kry_groups_for(O->dev, KRY_F64, y->n), args, COUNT(args)));
done:
    return st;
}

/* ||S r||, of ||r|| = norm. Waits where S is not the identity. */
static kry_status scaled_norm_of(kry_outer *O, const kry_vec *r, double norm, double *scaled)
{
    kry_status st = KRY_OK;
    const kry_chunks rows = kry_chunks_of(r);

    *scaled = norm;
    if (!O->scale) return KRY_OK;
    const kry_arg rest[] = { ARG(O->scale->buffer), ARG(r->buffer), ARG(O->sum->buffer) };
    TRY(kry_launch_chunks(O->dev, O->measure, &rows, rest, COUNT(rest)));
    O->sum->count = (cl_int)rows.groups;
    TRY(kry_sum_read(r->layout, O->sum, scaled));
    *scaled = sqrt(*scaled);
done:
    return st;
}

kry_status kry_outer_narrow(kry_outer *O, const kry_vec *r, double norm, double *scaled)
{
    kry_status st = KRY_OK;
    kry_inner *I = &O->M->inner;
    const kry_vec *to = O->single ? O->single : I->r;
    const cl_mem s = O->scale ? O->scale->buffer : NULL;

    TRY(scaled_norm_of(O, r, norm, scaled));
    kry_inner_scale(I, *scaled);
    const double a = 1 / I->scale;
    const kry_arg args[] = { ARG(r->n), ARG(a), ARG(s), ARG(r->buffer), ARG(to->buffer) };
    TRY(kry_launch(O->dev, O->narrow, kry_groups_for(O->dev, KRY_F64, r->n), args, COUNT(args)));
    if (O->single) TRY(kry_vec_write(I->r, kry_host_memory(O->single->buffer)));
done:
    return st;
}
