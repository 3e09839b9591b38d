/* system.c - residuals without what no x can change. */
#include "krylov/system.h"
#include <math.h>
#include <stdlib.h>

kry_status kry_system_create(const kry_op *A, bool projects, kry_system *s)
{
    kry_status st = KRY_OK;

    *s = (kry_system){ .A = A };
    TRY(kry_sum_create(A->dev, 1, &s->square));
    if (!projects) return KRY_OK;
    TRY(kry_null_space_create(A, &s->null));
    if (kry_pin_of(A) != A) {
        s->unpinned = kry_pin_of(A);
        TRY(kry_null_space_create(s->unpinned, &s->unpinned_null));
    }
    if (s->null.A || s->unpinned)
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &s->room));
done:
    if (st < 0) kry_system_release(s);
    return st;
}

void kry_system_release(kry_system *s)
{
    kry_vec_release(&s->room);
    kry_null_space_release(&s->unpinned_null);
    kry_null_space_release(&s->null);
    kry_sum_release(&s->square);
}

/* Names an entry that is not finite. */
static kry_status find_not_finite(const kry_vec *b)
{
    kry_status st = KRY_OK;
    double *host = NULL;

    TRY(kry_alloc((size_t)b->n, sizeof *host, &host));
    TRY(kry_vec_read_doubles(b, host));
    for (int64_t i = 0; i < b->n; i++)
        CHECK(isfinite(host[i]), KRY_ERR_ARGUMENT, "kry_solve: b[%lld] is %g" COUNTED,
              ROW(kry_layout_row(b->layout, i)), host[i], kry_first_row);
done:
    free(host);
    return kry_layout_join(b->layout, st);
}

kry_status kry_system_check_finite(const kry_vec *b)
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

/* ||v||, whose square is in s->square. One that is zero, tiny, huge or not finite is computed again, scaled. */
static kry_status take_norm(kry_system *s, const kry_vec *v, double *norm)
{
    kry_status st = KRY_OK;

    TRY(kry_sum_read(v->layout, s->square, norm));
    *norm = sqrt(*norm);
    if (!(*norm > least_norm(v->dev) && *norm < largest_norm(v->dev))) TRY(kry_vec_norm2(v, norm));
done:
    return st;
}

kry_status kry_system_norm(kry_system *s, const kry_vec *v, double *norm)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_dot_sum(v, v, s->square));
    TRY(take_norm(s, v, norm));
done:
    return st;
}

kry_status kry_system_size(kry_system *s, const kry_vec *x, double *norm)
{
    kry_status st = KRY_OK;

    if (!s->null.A) return kry_system_norm(s, x, norm);
    TRY(kry_vec_copy(x, s->room));
    TRY(kry_null_space_project(&s->null, s->room));
    TRY(kry_system_norm(s, s->room, norm));
done:
    return st;
}

static kry_null_space *null_space_of(kry_system *s)
{
    return s->unpinned ? &s->unpinned_null : &s->null;
}

kry_status kry_system_check(kry_system *s) { return kry_null_space_check(null_space_of(s)); }

kry_status kry_system_add_null(kry_system *s, const kry_vec *v)
{
    kry_status st = KRY_OK;

    if (!s->room) TRY(kry_vec_create(v->dev, v->type, v->n, 1, &s->room));
    TRY(kry_null_space_add(s->A, v, &s->null));
done:
    return st;
}

kry_status kry_system_measure(kry_system *s, const kry_vec *b, double *norm, double *inconsistent)
{
    kry_status st = KRY_OK;
    const double least = least_norm(b->dev), most = largest_norm(b->dev);

    s->residuals = 0, s->measures = s->unpins = false;
    TRY(kry_system_check(s));
    TRY(kry_system_norm(s, b, norm));
    if (!isfinite(*norm)) TRY(find_not_finite(b));
    CHECK(*norm == 0 || (*norm > least && *norm < most), KRY_ERR_ARGUMENT,
          "kry_solve: ||b|| = %g is outside %g ... %g, where its square can be summed: scale the "
          "system",
          *norm, least, most);
    TRY(kry_null_space_measure(null_space_of(s), b, inconsistent));
    s->along = *inconsistent;
done:
    return st;
}

kry_status kry_system_rhs(kry_system *s, double inconsistent, double target, const kry_vec **b)
{
    kry_status st = KRY_OK;

    if (!s->unpinned || (!s->unpins && inconsistent > target)) return KRY_OK;
    if (!s->unpins) {
        TRY(kry_vec_copy(*b, s->room));
        TRY(kry_null_space_project(&s->unpinned_null, s->room));
    }
    *b = s->room, s->unpins = true;
done:
    return st;
}

/* r := b - A x, unless it is there already, without what no x can change; and its norm, by the pass that makes r if
 * there is one. */
static kry_status residual_and_norm(kry_system *s, const kry_vec *b, const kry_vec *x, kry_vec *r,
                                    double *norm)
{
    kry_status st = KRY_OK;
    const kry_op *A = s->A;

    if (A->fused->residual_sum && !s->given && !s->null.A && !A->dev->layout.reproducible &&
        r->n > 0) {
        TRY(A->fused->residual_sum(A->self, b, x, r, s->square));
        TRY(take_norm(s, r, norm));
    } else {
        if (!s->given) TRY(kry_op_residual(A, b, x, r));
        if (s->measures) TRY(kry_null_space_measure(&s->null, r, &s->along));
        TRY(kry_null_space_project(&s->null, r));
        TRY(kry_system_norm(s, r, norm));
    }
done:
    return st;
}

kry_status kry_system_residual(kry_system *s, const kry_vec *b, const kry_vec *x, kry_vec *r,
                               double *norm, double *unit)
{
    kry_status st = KRY_OK;
    double whole = 0;

    /* What is left of r in the other rows adds up in the pinned one, once the pin is gone. */
    if (s->unpins) {
        TRY(kry_op_residual(s->unpinned, b, x, r));
        TRY(kry_null_space_project(&s->unpinned_null, r));
        TRY(kry_system_norm(s, r, &whole));
    }
    TRY(residual_and_norm(s, b, x, r, norm));
    s->given = false;
    s->residuals++;
    *unit = 1;
    if (whole > *norm) { /* NaN stays */
        *unit = *norm > 0 ? whole / *norm : 1;
        *norm = whole;
    }
done:
    return st;
}

kry_status kry_system_clear(kry_system *s, const kry_vec *b, kry_vec *x, kry_vec *r)
{
    const double most = 0.9999; /* of ||x||: the rest is less than a hundredth of it */
    kry_status st = KRY_OK;
    double along, size, before, after, unit;

    if (!s->null.A) return KRY_OK;
    TRY(kry_null_space_measure(&s->null, x, &along));
    if (!(along > 0)) return KRY_OK;
    TRY(kry_system_norm(s, x, &size));
    if (!(along >= most * size) || !isfinite(size)) return KRY_OK;
    TRY(kry_system_residual(s, b, x, r, &before, &unit));
    if (!isfinite(before)) return KRY_OK;
    TRY(kry_vec_copy(x, s->room));
    TRY(kry_null_space_project(&s->null, x));
    TRY(kry_system_residual(s, b, x, r, &after, &unit));
    if (!(after <= 2 * before)) TRY(kry_vec_copy(s->room, x));
done:
    return st;
}

kry_status kry_system_centre(kry_system *s, const kry_vec *b, kry_vec *x, kry_vec *r, double target,
                             double *norm)
{
    kry_status st = KRY_OK;
    double residual, unit;

    if (!s->null.A) return KRY_OK;
    TRY(kry_vec_copy(x, s->room));
    TRY(kry_null_space_project(&s->null, x));
    s->measures = kry_null_space_may_be_false(&s->null);
    TRY(kry_system_residual(s, b, x, r, &residual, &unit));
    if (residual > target && (*norm <= target || residual > 2 * *norm)) {
        TRY(kry_vec_copy(s->room, x));
        if (s->measures) TRY(kry_system_residual(s, b, x, r, &residual, &unit));
    } else {
        *norm = residual;
    }
done:
    return st;
}

/* v := v / size, by factors that are no larger or smaller than v's numbers. */
static kry_status normalise(kry_vec *v, double size)
{
    kry_status st = KRY_OK;
    const double root = 1 / sqrt(size);

    TRY(kry_vec_axpby(root, v, 0, v));
    TRY(kry_vec_axpby(root, v, 0, v));
done:
    return st;
}

kry_status kry_system_estimate(kry_system *s, kry_vec *v, double *norm)
{
    enum { STEPS = 8 };
    kry_status st = KRY_OK;
    kry_vec *room = NULL;
    double size;

    *norm = 0;
    TRY(kry_vec_create(v->dev, v->type, v->n, 1, &room));
    TRY(kry_vec_fill_random(0, v));
    TRY(kry_system_norm(s, v, &size));
    for (int i = 0; i < STEPS && size > 0 && isfinite(size); i++) {
        kry_vec *from = i % 2 ? room : v, *to = i % 2 ? v : room;
        TRY(normalise(from, size));
        TRY(kry_op_apply(s->A, 1, from, 0, to));
        TRY(kry_system_norm(s, to, &size));
        *norm = fmax(*norm, size);
    }
done:
    kry_vec_release(&room);
    return st;
}

kry_status kry_guess_check(double residual)
{
    if (isfinite(residual)) return KRY_OK;
    return kry_fail(KRY_ERR_ARGUMENT,
                    "kry_solve: the guess has a residual of %g: x holds NaN or infinities, or A x "
                    "overflows",
                    residual);
}
