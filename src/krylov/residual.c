/* residual.c - true residuals without what no x can change. */
#include "krylov/residual.h"
#include <math.h>
#include <stdlib.h>

kry_status kryi_residual_create(const kry_op *A, bool projects, kryi_residual *R)
{
    kry_status st = KRY_OK;

    *R = (kryi_residual){ .A = A };
    TRY(kry_sum_create(A->dev, 1, &R->square));
    if (!projects) return KRY_OK;
    TRY(kryi_null_space_create(A, &R->null));
    if (R->null.A) TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &R->room));
done:
    if (st < 0) kryi_residual_release(R);
    return st;
}

void kryi_residual_release(kryi_residual *R)
{
    kry_vec_release(&R->room);
    kryi_null_space_release(&R->null);
    kry_sum_release(&R->square);
}

/* Names an entry that is not finite. */
static kry_status find_not_finite(const kry_vec *b)
{
    kry_status st = KRY_OK;
    double *host = NULL;

    TRY(kryi_alloc((size_t)b->n, sizeof *host, &host));
    TRY(kryi_vec_read_doubles(b, host));
    for (int64_t i = 0; i < b->n; i++)
        CHECK(isfinite(host[i]), KRY_ERR_ARGUMENT, "kry_solve: b[%lld] is %g" COUNTED,
              ROW(kryi_layout_row(b->layout, i)), host[i], kryi_first_row);
done:
    free(host);
    return kryi_layout_join(b->layout, st);
}

kry_status kryi_check_finite(const kry_vec *b)
{
    kry_status st = KRY_OK;
    double norm;

    TRY(kry_vec_norm2(b, &norm));
    if (!isfinite(norm)) TRY(find_not_finite(b));
done:
    return st;
}

/* Norms whose squares can be summed: with the last of them in single the squares of a residual 1e-6 as
 * large, spread over 1e7 rows, do not flush to zero. */
static double least_norm(const kry_device *dev) { return dev->info.fp64 ? 1e-140 : 1e-10; }
static double largest_norm(const kry_device *dev) { return dev->info.fp64 ? 1e140 : 1e15; }

/* ||v||, whose square is in R->square. One that is zero, tiny, huge or not finite is computed again, scaled. */
static kry_status take_norm(kryi_residual *R, const kry_vec *v, double *norm)
{
    kry_status st = KRY_OK;

    TRY(kryi_sum_read(v->layout, R->square, norm));
    *norm = sqrt(*norm);
    if (!(*norm > least_norm(v->dev) && *norm < largest_norm(v->dev))) TRY(kry_vec_norm2(v, norm));
done:
    return st;
}

kry_status kryi_residual_norm(kryi_residual *R, const kry_vec *v, double *norm)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_dot_sum(v, v, R->square));
    TRY(take_norm(R, v, norm));
done:
    return st;
}

kry_status kryi_residual_add_null(kryi_residual *R, const kry_vec *v)
{
    kry_status st = KRY_OK;

    if (!R->room) TRY(kry_vec_create(v->dev, v->type, v->n, 1, &R->room));
    TRY(kryi_null_space_add(R->A, v, &R->null));
done:
    return st;
}

bool kryi_residual_has_range(const kry_device *dev, double norm)
{
    return norm == 0 || (norm > least_norm(dev) && norm < largest_norm(dev));
}

kry_status kryi_residual_begin(kryi_residual *R, const kry_vec *b, double *norm,
                               double *inconsistent)
{
    kry_status st = KRY_OK;

    R->count = 0, R->measures = false;
    TRY(kryi_null_space_check(&R->null));
    TRY(kryi_residual_norm(R, b, norm));
    if (!isfinite(*norm)) TRY(find_not_finite(b));
    CHECK(kryi_residual_has_range(b->dev, *norm), KRY_ERR_ARGUMENT,
          "kry_solve: ||b|| = %g is outside %g ... %g, where its square can be summed: scale the "
          "system",
          *norm, least_norm(b->dev), largest_norm(b->dev));
    TRY(kryi_null_space_measure(&R->null, b, inconsistent));
    R->along = *inconsistent;
done:
    return st;
}

/* Unless r is there already; the norm comes by the pass that makes r if there is one. */
kry_status kryi_residual_compute(kryi_residual *R, const kry_vec *b, const kry_vec *x, kry_vec *r,
                                 double *norm)
{
    kry_status st = KRY_OK;
    const kry_op *A = R->A;

    if (A->fused->residual_sum && !R->computed && !R->null.A && !A->dev->layout.reproducible &&
        r->n > 0) {
        TRY(A->fused->residual_sum(A->self, b, x, r, R->square));
        TRY(take_norm(R, r, norm));
    } else {
        if (!R->computed) TRY(kry_op_residual(A, b, x, r));
        if (R->measures) TRY(kryi_null_space_measure(&R->null, r, &R->along));
        TRY(kryi_null_space_project(&R->null, r));
        TRY(kryi_residual_norm(R, r, norm));
    }
    R->computed = false;
    R->count++;
done:
    return st;
}

kry_status kryi_residual_centre_guess(kryi_residual *R, const kry_vec *b, kry_vec *x, kry_vec *r)
{
    const double most = 0.9999; /* of ||x||: the rest is less than a hundredth of it */
    kry_status st = KRY_OK;
    double along, size, before, after;

    if (!R->null.A) return KRY_OK;
    TRY(kryi_null_space_measure(&R->null, x, &along));
    if (!(along > 0)) return KRY_OK;
    TRY(kryi_residual_norm(R, x, &size));
    if (!(along >= most * size) || !isfinite(size)) return KRY_OK;
    TRY(kryi_residual_compute(R, b, x, r, &before));
    if (!isfinite(before)) return KRY_OK;
    TRY(kry_vec_copy(x, R->room));
    TRY(kryi_null_space_project(&R->null, x));
    TRY(kryi_residual_compute(R, b, x, r, &after));
    if (!(after <= 2 * before)) TRY(kry_vec_copy(R->room, x));
done:
    return st;
}

kry_status kryi_residual_centre(kryi_residual *R, const kry_vec *b, kry_vec *x, kry_vec *r,
                                double target, double *norm)
{
    kry_status st = KRY_OK;
    double residual;

    if (!R->null.A) return KRY_OK;
    TRY(kry_vec_copy(x, R->room));
    TRY(kryi_null_space_project(&R->null, x));
    R->measures = kryi_null_space_may_be_false(&R->null);
    TRY(kryi_residual_compute(R, b, x, r, &residual));
    if (residual > target && (*norm <= target || residual > 2 * *norm)) {
        TRY(kry_vec_copy(R->room, x));
        if (R->measures) TRY(kryi_residual_compute(R, b, x, r, &residual));
    } else {
        *norm = residual;
    }
done:
    return st;
}

kry_status kryi_residual_norm_of_A(kryi_residual *R, kry_vec *v, double *norm)
{
    enum { STEPS = 8 };
    kry_status st = KRY_OK;
    kry_vec *room = NULL;
    double size;

    *norm = 0;
    TRY(kry_vec_create(v->dev, v->type, v->n, 1, &room));
    TRY(kryi_vec_fill_random(0, v));
    TRY(kryi_residual_norm(R, v, &size));
    for (int i = 0; i < STEPS && size > 0 && isfinite(size); i++) {
        kry_vec *from = i % 2 ? room : v, *to = i % 2 ? v : room;
        /* from := from / size, by factors that are no larger or smaller than its numbers */
        for (int half = 0; half < 2; half++) TRY(kry_vec_axpby(1 / sqrt(size), from, 0, from));
        TRY(kry_op_apply(R->A, 1, from, 0, to));
        TRY(kryi_residual_norm(R, to, &size));
        *norm = fmax(*norm, size);
    }
done:
    kry_vec_release(&room);
    return st;
}
