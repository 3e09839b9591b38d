/*
 * matrix_persistent.c - the product of a stored matrix in a persistent kernel: which matrices it takes, with which
 * preconditioners, and how many groups. Kernels: cl/resident_csr.cl, resident_sell.cl and resident_dia.cl, of which
 * cl/resident_matrix.clh says how. What runs them is src/operator/resident.c.
 */
#include "matrix/matrix.h"
#include "operator/resident.h"
#include <stdio.h>
#include <string.h>

/* Unknowns per work-item, and groups. */
typedef struct shape {
    int per, groups;
} shape;

/* ---- shapes -------------------------------------------------------------------------------- */

/* A shape for experiments, from the tuning file: resident/matrix per-item=2 groups=264 */
static bool given_shape(kry_device *dev, shape *s)
{
    char text[64];
    return kry_tuning_get(dev, "resident/matrix", text, sizeof text) &&
           sscanf(text, "per-item=%d groups=%d", &s->per, &s->groups) == 2 && s->per >= 1 &&
           s->per <= 1024 && s->groups >= 1;
}

/* As few unknowns per work-item as hold all with at most so many groups per compute unit; and as many groups as the
 * product has work for, up to one per compute unit. */
static shape choose_shape(const kry_matrix *A)
{
    enum { PER_UNIT = 2 };
    const kry_device_info *info = &A->dev->info;
    const int64_t size = kry_group_size(A->dev), n = A->shape.rows, units = info->compute_units;
    const int64_t most = units * (info->gpu ? PER_UNIT : 1);
    int64_t per = 1, groups;
    shape s;

    if (given_shape(A->dev, &s)) return s;
    while (most * size * per < n) per *= 2;
    groups = (n + size * per - 1) / (size * per);
    if (groups < units && groups < A->stage[0].sum_groups)
        groups = A->stage[0].sum_groups < units ? A->stage[0].sum_groups : units;
    return (shape){ (int)per, (int)groups };
}

/* ---- the plug ------------------------------------------------------------------------------ */

/* z := M r within the kernel. */
typedef struct precond {
    const kry_vec *d; /* a diagonal; NULL: none */
    bool polynomial;
    kry_polynomial p;
} precond;

static kry_status find_precond(const kry_matrix *A, const kry_op *M, precond *f)
{
    kry_status st = KRY_OK;

    *f = (precond){ 0 };
    if (!M) return KRY_OK;
    if (M->table->as_diagonal) {
        f->d = M->table->as_diagonal(M->self);
    } else if (M->fused->as_polynomial && M->fused->as_polynomial(M->self, &f->p)) {
        f->polynomial = f->p.A->self == A;
        f->d = f->p.d;
    }
    CHECK(f->d && (f->polynomial || M->table->as_diagonal), KRY_ERR_UNSUPPORTED,
          "'%s' is no preconditioner for solves in one kernel", M->table->kind);
done:
    return st;
}

static void add_stage(const kry_matrix *A, kry_plug *plug)
{
    const kry_stage *s = &A->stage[0];

    for (int i = 0; i < s->count; i++) {
        if (s->is_buffer[i])
            PLUG(plug, s->value[i].buffer);
        else
            PLUG(plug, s->value[i].number);
    }
    PLUG(plug, A->val);
    if (A->surplus) PLUG(plug, A->surplus);
}

static kry_status add_precond(const kry_matrix *A, const precond *f, kry_plug *plug)
{
    kry_status st = KRY_OK;
    const kry_type type = A->shape.type;
    double c[2 * KRY_POLYNOMIAL_DEGREE + 1];
    const int count = 2 * f->p.degree + 1;

    if (!f->d) return KRY_OK;
    PLUG(plug, f->d->buffer);
    PLUG(plug, f->d->first);
    if (!f->polynomial) return KRY_OK;
    const cl_int degree = f->p.degree;
    for (int i = 0; i < count; i++) kry_number_put(type, c, i, f->p.c[i]);
    TRY(kry_buffer_upload(A->dev, (size_t)count * kry_type_size(type), c, &plug->owned));
    PLUG(plug, degree);
    PLUG(plug, plug->owned);
done:
    return st;
}

static kry_status check(const kry_matrix *A, const shape *s)
{
    enum { MOST_GPU = 8, MOST_CPU = 1024 }; /* unknowns of a work-item */
    kry_status st = KRY_OK;
    const kry_stage *stage = &A->stage[0];
    const int most = A->dev->info.cpu_kernels ? MOST_CPU : MOST_GPU;
    const bool has_loop =
        !strcmp(stage->stem, "csr") || !strcmp(stage->stem, "sell") || !strcmp(stage->stem, "dia");

    CHECK(!kry_device_is_host(A->dev) && A->shape.rows > 0 && A->shape.rows == A->shape.cols,
          KRY_ERR_UNSUPPORTED, "no kernels for that");
    CHECK(A->stages == 1 && has_loop, KRY_ERR_UNSUPPORTED,
          "format %s takes more than one launch to a product, or none that other work can be put "
          "into",
          kry_format_name(A->params.format));
    CHECK(s->per <= most, KRY_ERR_UNSUPPORTED, "%lld unknowns do not fit on the chip",
          (long long)A->shape.rows);
done:
    return st;
}

kry_status kry_matrix_make_resident(void *self, const kry_op *M, kry_resident_cg **R)
{
    kry_status st = KRY_OK;
    const kry_matrix *A = self;
    const kry_stage *stage = &A->stage[0];
    const shape s = choose_shape(A);
    kry_plug plug = { .size = kry_group_size(A->dev), .groups = s.groups };
    char stem[32], defines[KRY_STAGE_DEFINES], text[KRY_STAGE_DEFINES + 64];
    precond f;

    *R = NULL;
    TRY(check(A, &s));
    TRY(find_precond(A, M, &f));
    plug.shown = f.polynomial ? 4 : 2;
    snprintf(stem, sizeof stem, "resident_%s", stage->stem);
    kry_stage_defines(A, stage, A->stored, A->surplus != NULL, defines);
    snprintf(text, sizeof text, "%s -DGROUP=WG -DPER=%d%s", defines, s.per,
             f.polynomial ? " -DPOLYNOMIAL"
             : f.d        ? " -DDIAGONAL"
                          : "");
    TRY(kry_kernel_get(A->dev, stem, A->shape.type, text, stem, &plug.kernel));
    add_stage(A, &plug);
    TRY(add_precond(A, &f, &plug));
    TRY(kry_resident_create(A->dev, A->shape.type, A->shape.rows, &plug, R));
done:
    return st;
}
