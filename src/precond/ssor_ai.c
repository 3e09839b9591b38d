/*
 * ssor_ai.c - the SSOR-type approximate inverse: the factors of SSOR,
 * (D + omega L) D^-1 (D + omega L') / (omega (2 - omega)), each inverted by a Neumann series that
 * is cut off. The work is done in triangles.c.
 */
#include "grid/stencil.h"
#include "operator/op_parts.h"
#include "precond/triangles.h"
#include <kry/precond.h>

static kry_status check_params(const kry_op *A, const kry_ssor_ai_params *p)
{
    enum { MOST = 1000 };
    kry_status st = KRY_OK;

    CHECK(A, KRY_ERR_ARGUMENT, "kry_ssor_ai_create: NULL");
    CHECK(p->struct_size == sizeof *p, KRY_ERR_ARGUMENT,
          "kry_ssor_ai_create: params not made by KRY_SSOR_AI");
    CHECK(p->degree >= 0 && p->degree <= MOST, KRY_ERR_ARGUMENT,
          "kry_ssor_ai_create: degree = %d is not in 1 ... %d", p->degree, (int)MOST);
    CHECK(p->omega >= 0 && p->omega < 2, KRY_ERR_ARGUMENT,
          "kry_ssor_ai_create: omega = %g is not in (0, 2)", p->omega);
done:
    return st;
}

static kry_status create_part(const kry_op *A, const void *params, kry_op **M)
{
    return kry_ssor_ai_create(A, params, M);
}

kry_status kry_ssor_ai_create(const kry_op *A, const kry_ssor_ai_params *params, kry_op **out)
{
    static const kry_ssor_ai_params defaults = { .struct_size = sizeof defaults };
    kry_status st = KRY_OK;

    *out = NULL;
    if (!params) params = &defaults;
    TRY(check_params(A, params));
    if (kry_op_in_parts(A)) return kry_parts_precond(A, create_part, params, out);
    const kry_triangles_form form = { .who = "kry_ssor_ai_create",
                                      .ssor_ai = true,
                                      .degree = params->degree ? params->degree : 1,
                                      .omega = params->omega > 0 ? params->omega : 1 };
    if (kry_stencil_of(A) && form.degree == 1 && form.omega == 1) /* that one needs no matrix */
        TRY(kry_incomplete_poisson_create(A, NULL, out));
    else
        TRY(kry_triangles_create(A, &form, out));
done:
    return st;
}
