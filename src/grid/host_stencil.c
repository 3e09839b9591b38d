/* host_stencil.c - a grid operator whose coefficients stay on the host, in double. */
#include "grid/host_grid.h"
#include "grid/stencil.h"
#include "operator/host_op.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct host_stencil {
    kry_host_op op;            /* first */
    kry_stencil_params params; /* coefficients and faces are its own */
    double *coefficient, *face[3];
} host_stencil;

static const host_stencil *stencil_of(const kry_host_op *A) { return (const host_stencil *)A; }

static void stencil_product(const kry_host_op *A, const double *x, double *y)
{
    kry_host_grid g = kry_host_grid_of(&stencil_of(A)->params, KRY_F64);
    kry_host_product(&g, x, y);
}

static void stencil_diagonal(const kry_host_op *A, double *d)
{
    kry_host_grid g = kry_host_grid_of(&stencil_of(A)->params, KRY_F64);
    int64_t at[3] = { 0, 0, 0 };

    assert(g.axes >= 1 && g.axes <= 3);
    for (int64_t i = 0; i < g.n; i++) {
        d[i] = 0;
        for (int f = 0; f < 2 * g.axes; f++) {
            kry_host_face face = kry_host_face_of(&g, i, at[f / 2], f / 2, f % 2);
            if (face.cell != i) d[i] += face.weight * (face.cell >= 0 ? 1 : 1 - face.ghost);
        }
        for (int a = 0; a < g.axes && ++at[a] == g.size[a]; a++) at[a] = 0;
    }
}

/* The parameters with coefficients and faces times factor; without any, the weights. */
static kry_status stencil_twin(kry_host_op *A, kry_type type, double factor, const double *scale,
                               kry_op **twin)
{
    const host_stencil *H = stencil_of(A);
    kry_status st = KRY_OK;
    kry_stencil_params p = H->params;
    double *all = NULL;
    const double *given[4] = { H->coefficient, H->face[0], H->face[1], H->face[2] };
    bool faces = p.face[0] != NULL;

    CHECK(!scale, KRY_ERR_UNSUPPORTED, "kry_op_twin: a grid operator is not scaled by a diagonal");
    TRY(kry_alloc((size_t)A->n * 4, sizeof *all, &all));
    for (int k = 0; k < 4; k++)
        for (int64_t i = 0; given[k] && i < A->n; i++) all[k * A->n + i] = factor * given[k][i];
    if (p.coefficient) p.coefficient = all;
    for (int a = 0; a < 3; a++) {
        if (p.face[a]) p.face[a] = all + (a + 1) * A->n;
        double weight = p.diffusion[a] > 0 ? p.diffusion[a] : 1;
        if (!p.coefficient && !faces) p.diffusion[a] = factor * weight;
    }
    if (*twin)
        TRY(faces || p.coefficient ? kry_op_update(*twin, faces ? all + A->n : all) : KRY_OK);
    else
        TRY(kry_stencil_create(A->dev, type, &p, twin));
done:
    free(all);
    return st == KRY_ERR_ARGUMENT ? KRY_ERR_UNSUPPORTED : st; /* a number that does not fit */
}

static kry_status stencil_update(kry_host_op *A, const void *values)
{
    host_stencil *H = (host_stencil *)A;
    kry_status st = KRY_OK;
    int axes = H->params.size[2] ? 3 : 2;
    int64_t count = H->face[0] ? axes * A->n : A->n;
    const double *v = values;

    CHECK(H->face[0] || H->coefficient, KRY_ERR_UNSUPPORTED,
          "kry_op_update: this stencil was made without coefficients, and takes none");
    for (int64_t i = 0; i < count; i++) /* faces of walls may be anything: not looked at */
        CHECK(H->face[0] || (v[i] > 0 && isfinite(v[i])), KRY_ERR_ARGUMENT,
              "kry_op_update: coefficient %lld is %g; it must be positive and finite", (long long)i,
              v[i]);
    for (int k = 0; k < (H->face[0] ? axes : 1); k++)
        memcpy(H->face[0] ? H->face[k] : H->coefficient, v + k * A->n, (size_t)A->n * sizeof *v);
done:
    return st;
}

static bool stencil_scales(const kry_host_op *A)
{
    (void)A;
    return false;
}

static void stencil_destroy(kry_host_op *A)
{
    host_stencil *H = (host_stencil *)A;
    for (int a = 0; a < 3; a++) free(H->face[a]);
    free(H->coefficient);
    free(H);
}

static const kry_host_op_table table = {
    .kind = "stencil",
    .product = stencil_product,
    .diagonal = stencil_diagonal,
    .twin = stencil_twin,
    .update = stencil_update,
    .destroy = stencil_destroy,
    .scales = stencil_scales,
};

static kry_status keep(const double *given, int64_t n, double **own)
{
    kry_status st = KRY_OK;

    if (!given) return KRY_OK;
    TRY(kry_alloc((size_t)n, sizeof **own, own));
    memcpy(*own, given, (size_t)n * sizeof **own);
done:
    return st;
}

kry_status kry_stencil_on_host(kry_device *dev, const kry_stencil_params *params, unsigned traits,
                               kry_op **op)
{
    kry_status st = KRY_OK;
    host_stencil *H = NULL;
    kry_host_op *A = NULL;

    TRY(kry_alloc(1, sizeof *H, &H));
    A = &H->op;
    A->table = &table;
    H->params = *params;
    H->params.on_host = false;
    A->n = kry_host_grid_of(params, KRY_F64).n;
    TRY(keep(params->coefficient, A->n, &H->coefficient));
    H->params.coefficient = H->coefficient;
    for (int a = 0; a < 3; a++) {
        TRY(keep(params->face[a], A->n, &H->face[a]));
        H->params.face[a] = H->face[a];
    }
    TRY(kry_host_op_create(dev, &A, traits, op));
done:
    if (A) stencil_destroy(A);
    return st;
}
