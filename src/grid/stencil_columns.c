/* stencil_columns.c - products of several columns by a grid operator, which read its coefficients from memory once
 * for up to 16 of them; and what steps of conjugate gradients of several columns need. Kernels: cl/grid/stencil.cl. */
#include "grid/stencil.h"

static bool aligned(const kry_stencil *A, const kry_vec *v)
{
    return v->first % A->lanes == 0 && v->ld % A->lanes == 0;
}

static kry_status multiply(kry_stencil *A, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    const int sweep =
        aligned(A, x) && aligned(A, y) ? KRY_SWEEP_APPLY_ABREAST : KRY_SWEEP_APPLY_ABREAST_ANYWHERE;
    kry_scalar a = kry_scalar_of(A->dev, alpha), b = kry_scalar_of(A->dev, beta);
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG_VEC(x), ARG_ACC(A->dev, b),
                             ARG_VEC(y),         ARG(x->ld), ARG(y->ld) };

    TRY(kry_stencil_make_sweeps(A, sweep, sweep));
    const kry_sweep s = kry_stencil_plan_columns(A, sweep, x->k);
    TRY(kry_stencil_launch(A, &s, rest, COUNT(rest)));
done:
    return st;
}

/* A slab exchanges its halo for one column at a time. */
static int64_t most_at_once(const kry_stencil *A)
{
    enum { ABREAST = 16 };
    return kry_stencil_is_slab(A) ? 1 : ABREAST;
}

kry_status kry_stencil_apply_block(void *self, double alpha, const kry_vec *x, double beta,
                                   kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_stencil *A = self;
    const int64_t most = most_at_once(A);

    for (int64_t j = 0, count; j < x->k; j += count) {
        count = x->k - j < most ? x->k - j : most;
        const kry_vec xs = kry_vec_columns(x, j, count);
        kry_vec ys = kry_vec_columns(y, j, count);
        TRY(count > 1 ? multiply(A, alpha, &xs, beta, &ys)
                      : kry_stencil_apply(A, alpha, &xs, beta, &ys));
    }
done:
    return st;
}

kry_status kry_stencil_prepare_columns(void *self)
{
    return kry_stencil_make_sweeps(self, KRY_SWEEP_APPLY_ABREAST, KRY_SWEEP_STEP_ABREAST);
}
