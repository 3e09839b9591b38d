/*
 * ssor_ai.c - the approximate inverse of SSOR: each factor of (D + omega L) D^-1 (D + omega L') /
 * (omega (2 - omega)) is inverted by the first terms of a Neumann series. The work is done in
 * triangles.c.
 */
#include "grid/stencil.h"
#include "operator/op_parts.h"
#include "precond/triangles.h"
#include <kry/precond.h>

static kry_status check(const kry_op *A, const void *params)
{
    enum { MOST = 1000 };
    kry_status st = KRY_OK;
    const kry_ssor_ai_params *p = params;

    (void)A;
    CHECK(p->degree >= 0 && p->degree <= MOST, KRY_ERR_ARGUMENT,
          "kry_ssor_ai_create: degree = %d is not in 1 ... %d", p->degree, (int)MOST);
    CHECK(p->omega >= 0 && p->omega < 2, KRY_ERR_ARGUMENT,
          "kry_ssor_ai_create: omega = %g is not in (0, 2)", p->omega);
done:
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    const kry_ssor_ai_params *p = params;
    const kry_triangles_form form = { .who = "kry_ssor_ai_create",
                                      .ssor_ai = true,
                                      .degree = p->degree ? p->degree : 1,
                                      .omega = p->omega > 0 ? p->omega : 1 };

    if (kry_stencil_of(A) && form.degree == 1 && form.omega == 1) /* the same M, without a matrix */
        return kry_incomplete_poisson_create(A, NULL, out);
    return kry_triangles_create(A, &form, out);
}

kry_status kry_ssor_ai_create(const kry_op *A, const kry_ssor_ai_params *params, kry_op **out)
{
    static const kry_constructor how = { "kry_ssor_ai_create", "KRY_SSOR_AI", sizeof *params,
                                         .check = check, .create = create };
    return kry_construct(&how, A, params ? params : KRY_SSOR_AI(), out);
}
