/* box_finest.c - the finest level of geometric multigrid in single, if that does as well. */
#include "mg/box_finest.h"
#include <math.h>

/* How large couplings are, and how many times the strongest one is as large as the weakest one along the same axis, of all
 * parts; not finite: beyond what can be said. May wait. */
static kry_status measure_couplings(const kryi_stencil *S, double *size, double *jump)
{
    kry_status st = KRY_OK;
    kry_vec *v = NULL;
    double largest, smallest;

    *size = 0, *jump = 1;
    for (int a = 0; a < S->axes; a++) {
        largest = smallest = S->weight[a];
        if (S->face[0]) {
            TRY(kry_vec_wrap(S->dev, S->type, S->n, 1, S->face[a], 0, &v));
            TRY(kryi_vec_range(v, &largest, &smallest));
            kry_vec_release(&v);
        }
        double both[] = { largest, -smallest };
        TRY(kryi_layout_combine(&S->dev->layout, KRY_MAX, both, 2));
        *size = fmax(*size, both[0]);
        if (both[0] > 0) *jump = fmax(*jump, both[0] / -both[1]);
    }
done:
    kry_vec_release(&v);
    return st;
}

/* KRY_ERR_UNSUPPORTED if couplings are `most` times apart, or beyond single altogether. */
static kry_status measure_factor(const kry_op *given, double most, double *factor)
{
    static const char who[] = "kry_mg_create";
    kry_status st = KRY_OK;
    double size, jump;

    TRY(measure_couplings(kryi_stencil_here(given), &size, &jump));
    CHECK(
        size > 0 && isfinite(size) && jump < most, KRY_ERR_UNSUPPORTED,
        "%s: values = single, with couplings up to %g, %g times as large as others; below %g times "
        "is what single can hold",
        who, size, jump, most);
    *factor = ldexp(1, -ilogb(size));
done:
    return st;
}

/* Jumps at which a cycle in single takes as many iterations as one in double, or one more: beyond, what single resolves of
 * x where couplings are strong is not enough for those that are weak. And jumps at which it works at all. */
static const double smooth_jumps = 2e5, most_jumps = 1e20;

kry_status kryi_finest_factor(const kry_op *given, kry_cycle_values values, double *factor)
{
    kry_status st = KRY_ERR_UNSUPPORTED;

    if (given->shape.type == KRY_F32) values = KRY_CYCLE_VALUES_DOUBLE; /* as they are */
    if (values == KRY_CYCLE_VALUES_SINGLE) return measure_factor(given, most_jumps, factor);
    if (values == KRY_CYCLE_VALUES_AUTO) st = measure_factor(given, smooth_jumps, factor);
    if (st != KRY_ERR_UNSUPPORTED) return st;
    *factor = 0;
    return KRY_OK;
}

kry_status kryi_finest_factor_renew(const kry_op *given, double *factor)
{
    return measure_factor(given, most_jumps, factor);
}

kry_status kryi_finest_grid(const kry_op *given, kry_cycle_values values, double *factor,
                            kry_op **A)
{
    kry_status st = KRY_OK;

    TRY(kryi_finest_factor(given, values, factor));
    if (*factor != 0) st = kryi_op_make_copy("kry_mg_create", given, KRY_F32, *factor, NULL, A);
    if (st == KRY_ERR_UNSUPPORTED && values == KRY_CYCLE_VALUES_AUTO) st = KRY_OK, *factor = 0;
    if (st == KRY_OK && *factor == 0) *A = kry_op_retain(given);
done:
    return st;
}

kry_status kryi_finest_grid_renew(const kry_op *given, double *factor, kry_op **A)
{
    kry_status st = KRY_OK;

    TRY(kryi_finest_factor_renew(given, factor));
    TRY(kryi_op_make_copy("kry_mg_create", given, KRY_F32, *factor, NULL, A));
done:
    return st;
}

bool kryi_finest_grid_suits_degree_3(const kry_op *given, double factor)
{
    const kryi_stencil *S = kryi_stencil_here(given);
    return factor != 0 && S->axes == 2 && !S->face[0] && !S->dev->info.cpu_kernels;
}
