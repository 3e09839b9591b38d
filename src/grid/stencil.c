/*
 * stencil.c - grid operators without a matrix: the operator and its products.
 * Kernels: cl/grid/stencil.cl.
 */
#include "grid/stencil.h"
#include "host/host.h"
#include "operator/direction.h"
#include "team/team.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table --------------------------------------------------------------------------- */

static bool aligned(const kryi_stencil *A, const kry_vec *v) { return v->first % A->lanes == 0; }

/* Entries of the operator's tables; stencil_apply is in stencil.c. */
static kry_status stencil_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kryi_stencil *A = self;
    kryi_scalar a = kryi_scalar_of(A->dev, alpha), b = kryi_scalar_of(A->dev, beta);
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG_VEC(x), ARG_ACC(A->dev, b), ARG_VEC(y) };
    const int sweep = aligned(A, x) && aligned(A, y) ? KRY_SWEEP_APPLY : KRY_SWEEP_APPLY_ANYWHERE;
    kry_status st = kryi_stencil_make_sweeps(A, sweep, sweep);

    return st < 0 ? st
                  : kryi_stencil_exchange(A, &A->sweep[sweep], x, NULL, rest, COUNT(rest), NULL);
}

/* ---- several columns ------------------------------------------------------------------------- */

/* Products of several columns by a grid operator, which read its coefficients from memory once
 * for up to 16 of them; and what steps of conjugate gradients of several columns need. Kernels: cl/grid/stencil.cl. */

static bool are_aligned(const kryi_stencil *A, const kry_vec *v)
{
    return v->first % A->lanes == 0 && v->ld % A->lanes == 0;
}

static kry_status multiply(kryi_stencil *A, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    const int sweep = are_aligned(A, x) && are_aligned(A, y) ? KRY_SWEEP_APPLY_ABREAST
                                                             : KRY_SWEEP_APPLY_ABREAST_ANYWHERE;
    kryi_scalar a = kryi_scalar_of(A->dev, alpha), b = kryi_scalar_of(A->dev, beta);
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG_VEC(x), ARG_ACC(A->dev, b),
                             ARG_VEC(y),         ARG(x->ld), ARG(y->ld) };

    TRY(kryi_stencil_make_sweeps(A, sweep, sweep));
    const kryi_sweep s = kryi_stencil_plan_columns(A, sweep, x->k);
    TRY(kryi_stencil_launch(A, &s, rest, COUNT(rest)));
done:
    return st;
}

/* A slab exchanges its halo for one column at a time. */
static int64_t most_at_once(const kryi_stencil *A)
{
    enum { ABREAST = 16 };
    return kryi_stencil_is_slab(A) ? 1 : ABREAST;
}

static kry_status stencil_apply_block(void *self, double alpha, const kry_vec *x, double beta,
                                      kry_vec *y)
{
    kry_status st = KRY_OK;
    kryi_stencil *A = self;
    const int64_t most = most_at_once(A);

    for (int64_t j = 0, count; j < x->k; j += count) {
        count = x->k - j < most ? x->k - j : most;
        const kry_vec xs = kryi_vec_columns(x, j, count);
        kry_vec ys = kryi_vec_columns(y, j, count);
        TRY(count > 1 ? multiply(A, alpha, &xs, beta, &ys)
                      : stencil_apply(A, alpha, &xs, beta, &ys));
    }
done:
    return st;
}

static kry_status prepare_columns(void *self)
{
    return kryi_stencil_make_sweeps(self, KRY_SWEEP_APPLY_ABREAST, KRY_SWEEP_STEP_ABREAST);
}

/* Steps of all columns at once move the same words. They gain by launches, while the vectors of all columns stay in the cache, and
 * by coefficients that are read once. Where the cache holds those of one column, its steps find them there, and columns
 * are faster one after the other. Measured on an H100. */
static bool columns_gain(void *self, int columns)
{
    enum { VECTORS = 4, CACHE = 350 << 10 }; /* of a step; bytes for each compute unit */
    const kryi_stencil *A = self;
    const double vector = (double)A->n * (double)kry_type_size(A->type),
                 cache = (double)CACHE * A->dev->info.compute_units;

    return A->face[0] || columns * VECTORS * vector <= cache || VECTORS * vector > 2 * cache;
}

/* ---- residuals and steps --------------------------------------------------------------------- */

static kry_status residual_sum(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r,
                               kry_sum *sum)
{
    kryi_stencil *A = self;
    const cl_int sums = sum != NULL;
    const cl_mem part = sum ? sum->buffer : r->buffer;
    const kry_arg rest[] = { ARG_VEC(b), ARG_VEC(x), ARG_VEC(r), ARG(sums), ARG(part) };
    const int sweep = aligned(A, b) && aligned(A, x) && aligned(A, r) ? KRY_SWEEP_RESIDUAL
                                                                      : KRY_SWEEP_RESIDUAL_ANYWHERE;
    kry_status st = kryi_stencil_make_sweeps(A, sweep, sweep);

    return st < 0 ? st
                  : kryi_stencil_exchange(A, &A->sweep[sweep], x, NULL, rest, COUNT(rest), sum);
}

static kry_status stencil_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    return residual_sum(self, b, x, r, NULL);
}

static kry_status stencil_direction(void *self, const kryi_cg *cg)
{
    kryi_stencil *A = self;
    const kry_vec *p = cg->p;
    kry_arg rest[KRY_DIRECTION_ARGS + 5];
    const kry_arg more[] = { ARG(cg->z->buffer), ARG(cg->old->buffer), ARG(p->buffer),
                             ARG(cg->pq->buffer), ARG(p->ld) };

    kryi_direction_args(cg, rest);
    memcpy(rest + KRY_DIRECTION_ARGS, more, sizeof more);
    if (kryi_stencil_is_slab(A))
        return kryi_stencil_exchange(A, &A->sweep[KRY_SWEEP_DIRECTION], NULL, cg, rest,
                                     COUNT(rest) - 1, cg->pq);
    const kryi_sweep s = p->k > 1 ? kryi_stencil_plan_columns(A, KRY_SWEEP_DIRECTION_ABREAST, p->k)
                                  : A->sweep[KRY_SWEEP_DIRECTION];
    cg->pq->count = (cl_int)s.groups;
    return kryi_stencil_launch(A, &s, rest, COUNT(rest) - (p->k > 1 ? 0 : 1));
}

/* A slab still has p's neighbours from the direction. */
static kry_status stencil_step(void *self, const kryi_cg *cg)
{
    kryi_stencil *A = self;
    const kry_vec *x = cg->x, *r = cg->r;
    kry_arg rest[KRY_STEP_ARGS + KRY_DRIFT_ARGS + 11];
    const cl_int scaled = cg->d != NULL;
    const kry_vec *d = cg->d ? cg->d : r; /* not read, if not scaled */
    const kry_arg more[] = { ARG(cg->p->buffer), ARG(cg->old->buffer), ARG_VEC(x),
                             ARG(r->buffer),     ARG(cg->rho->buffer), ARG(scaled),
                             ARG(d->buffer),     ARG(cg->z->buffer),   ARG(r->ld),
                             ARG(x->ld) };
    const size_t n = kryi_step_args(cg, A->singular, rest),
                 count = COUNT(more) - (x->k > 1 ? 0 : 2);
    const kryi_sweep sweep = x->k > 1 ? kryi_stencil_plan_columns(A, KRY_SWEEP_STEP_ABREAST, x->k)
                                      : A->sweep[KRY_SWEEP_STEP];

    memcpy(rest + n, more, count * sizeof *more);
    cg->rho->count = (cl_int)sweep.groups;
    if (cg->drift) cg->next_drift->count = cg->rho->count;
    return kryi_stencil_launch(A, &sweep, rest, n + count);
}

static kry_status stencil_diagonal(void *self, kry_vec *d)
{
    kryi_stencil *A = self;
    const kry_arg rest[] = { ARG_VEC(d) };
    const int sweep = aligned(A, d) ? KRY_SWEEP_DIAGONAL : KRY_SWEEP_DIAGONAL_ANYWHERE;
    kry_status st = kryi_stencil_make_sweeps(A, sweep, sweep);

    return st < 0 ? st : kryi_stencil_launch(A, &A->sweep[sweep], rest, COUNT(rest));
}

static kry_status stencil_update(void *self, const void *values)
{
    kryi_stencil *A = self;
    kry_status st = KRY_OK;

    CHECK(!values || A->face[0], KRY_ERR_UNSUPPORTED,
          "kry_op_update: this stencil was made without coefficients, and takes none");
    if (values) TRY(kryi_stencil_update_faces(A, values));
done:
    return st;
}

/* Entries of a row along an axis besides the diagonal, for all rows that are here. */
static int64_t entries_along(const kryi_stencil *A, int a)
{
    int64_t size = kryi_stencil_size_of_all(A, a), side = A->n / A->size[a];
    bool last = a == A->axes - 1;
    if (A->low[a] == KRY_PERIODIC) return (size > 2 ? 2 : size - 1) * A->n;
    return 2 * A->n - (last && A->slab.low ? 0 : side) - (last && A->slab.high ? 0 : side);
}

static void stencil_describe(void *self, kry_op_info *info)
{
    const kryi_stencil *A = self;
    double word = (double)A->n * (double)kry_type_size(A->type);
    double faces = A->face[0] ? A->axes * word : 0;

    info->variant = "march";
    info->nnz = A->n;
    for (int a = 0; a < A->axes; a++) info->nnz += entries_along(A, a);
    info->bytes_stored = faces + (A->coefficient ? word : 0);
    info->bytes_per_apply = 2 * word + faces;
    info->bytes_per_direction = 3 * word + faces;
    info->bytes_per_step = 4 * word + faces;
}

static void stencil_destroy(void *self)
{
    kryi_stencil *A = self;
    if (!A) return;
    kryi_stencil_release_numbers(A);
    kryi_halo_release(&A->slab.halo);
    free(A);
}

/* If a number of one slab does not fit, the conversion fails on all parts, so that all go on in the
 * same way. */
static kry_status agree(const kryi_stencil *A, kry_status mine)
{
    kry_status st = KRY_OK;
    double refused = mine == KRY_ERR_UNSUPPORTED;

    if (mine < 0 && !refused) return mine;
    TRY(kryi_layout_combine(&A->dev->layout, KRY_MAX, &refused, 1));
    if (mine >= 0 && refused)
        return kry_fail(KRY_ERR_UNSUPPORTED, "kry_op_convert: not on another device of the team");
    st = mine;
done:
    return st;
}

static kry_status stencil_convert(void *self, kry_type type, double factor, const double *scale,
                                  kry_op **copy);

static const kry_op_table stencil_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "stencil",
    .apply = stencil_apply,
    .apply_block = stencil_apply_block,
    .apply_transpose = stencil_apply,
    .residual = stencil_residual,
    .diagonal = stencil_diagonal,
    .update = stencil_update,
    .describe = stencil_describe,
    .destroy = stencil_destroy,
    .convert = stencil_convert,
};

/* A persistent kernel cannot exchange halos. */
#define SWEEPS                                                                  \
    .relax = kryi_stencil_relax, .relax_widening = kryi_stencil_relax_widening, \
    .colours = kryi_stencil_colours, .sweep_colour = kryi_stencil_sweep_colour
#define STEPS \
    .apply_direction = stencil_direction, .apply_step = stencil_step, .residual_sum = residual_sum
#define ALL SWEEPS, STEPS, .sums_to_zero = true

static const kryi_op_fused *fused_of(const kryi_stencil *A)
{
    static const kryi_op_fused slab = { ALL },
                               whole = { ALL, .make_resident = kryi_stencil_make_resident,
                                         .prepare_columns = prepare_columns,
                                         .columns_gain = columns_gain };
    return kryi_stencil_is_slab(A) ? &slab : &whole;
}

kryi_stencil *kryi_stencil_of(const kry_op *op)
{
    return op && op->table == &stencil_table ? op->self : NULL;
}

/* ---- making one ------------------------------------------------------------------------------ */

static double or_one(double value) { return value > 0 ? value : 1; }

/* No side has given values: constants are mapped to zero. */
static bool is_singular(const kryi_stencil *A)
{
    for (int a = 0; a < A->axes; a++)
        if (kryi_gives_values(kryi_stencil_side(A, a, false)) ||
            kryi_gives_values(kryi_stencil_side(A, a, true)))
            return false;
    return true;
}

static void describe_grid(kryi_stencil *A, const kry_stencil_params *p, bool variable)
{
    int last = p->size[2] ? 2 : 1;
    A->axes = last + 1;
    if (A->slab.count == 0) A->slab.count = p->size[last]; /* all of them */
    A->slab.all = p->size[last];
    A->slab.layer = last == 2 ? p->size[0] * p->size[1] : p->size[0];
    A->n = A->slab.layer * A->slab.count;
    for (int a = 0; a < 3; a++) {
        A->size[a] = a < last ? p->size[a] : a == last ? A->slab.count : 1;
        A->spacing[a] = or_one(p->spacing[a]);
        A->diffusion[a] = or_one(p->diffusion[a]);
        A->weight[a] = A->diffusion[a] / (A->spacing[a] * A->spacing[a]);
        A->low[a] = a < A->axes ? p->low[a] : KRY_NEUMANN;
        A->high[a] = a < A->axes ? p->high[a] : KRY_NEUMANN;
    }
    A->singular = is_singular(A);
    A->variable = variable;
    A->local = p->local;
    A->lanes = A->dev->info.cpu_kernels ? 1 : kryi_vector_width(A->dev, A->type);
    while (A->size[0] % A->lanes) A->lanes /= 2;
}

/* A copy without coefficients takes the factor in its weights. */
static kry_status scale_weights(kryi_stencil *A, double factor)
{
    kry_status st = KRY_OK;
    for (int a = 0; a < A->axes; a++) {
        A->weight[a] *= factor;
        CHECK(A->type == KRY_F64 || (isfinite((float)A->weight[a]) && (float)A->weight[a] > 0),
              KRY_ERR_UNSUPPORTED,
              "kry_op_convert: diffusion / h^2 along %c is %g, which single precision cannot hold",
              "xyz"[a], A -> weight[a]);
    }
done:
    return st;
}

kry_status kryi_stencil_make(kry_device *dev, kry_type type, const kry_stencil_params *params,
                             const kryi_grid_part *piece, const kryi_stencil *like, double factor,
                             kry_op **out)
{
    kry_status st = KRY_OK;
    kryi_stencil *A = NULL;
    kryi_halo *halo = piece ? piece->slab.halo : NULL; /* until A has it */

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *A, &A));
    A->dev = dev;
    A->type = type;
    if (piece) A->slab = piece->slab, A->block = piece->block;
    halo = NULL;
    describe_grid(A, params, like ? like->face[0] != NULL : params->coefficient || params->face[0]);
    if (like && !like->face[0]) TRY(scale_weights(A, factor));
    TRY(kryi_stencil_make_sweeps(A, KRY_SWEEP_APPLY, KRY_SWEEP_DIAGONAL));
    TRY(like ? kryi_stencil_copy_faces(A, like, factor) : kryi_stencil_create_faces(A, params));
    TRY(kry_device_finish(dev));
    const kry_op_shape shape = { A->n, A->n, type,
                                 KRY_SYMMETRIC | (A->singular ? KRY_SINGULAR : KRY_POSITIVE) };
    TRY(kryi_op_create_fused(dev, &stencil_table, fused_of(A), A, &shape, out));
    A = NULL;
done:
    kryi_halo_release(&halo);
    stencil_destroy(A);
    return st;
}

static kry_status stencil_convert(void *self, kry_type type, double factor, const double *scale,
                                  kry_op **copy)
{
    const kryi_stencil *A = self;
    kry_status st = KRY_OK;
    kry_stencil_params p = *KRY_STENCIL(.local = A->local);
    kryi_grid_part piece = { A->slab, A->block };
    kryi_slab *slab = &piece.slab;

    CHECK(!scale, KRY_ERR_UNSUPPORTED,
          "kry_op_convert: a grid operator is not scaled by a diagonal");
    for (int a = 0; a < A->axes; a++) {
        p.size[a] = kryi_stencil_size_of_all(A, a);
        p.spacing[a] = A->spacing[a], p.diffusion[a] = A->diffusion[a];
        p.low[a] = A->low[a], p.high[a] = A->high[a];
    }
    if (*copy) {
        TRY(agree(A, kryi_stencil_copy_faces(kryi_stencil_of(*copy), A, factor)));
    } else {
        slab->halo = NULL, slab->numbers = slab->face_below = NULL;
        if (A->slab.halo) {
            TRY(kryi_halo_like(A->slab.halo, type, &slab->halo));
            slab->numbers = kryi_halo_numbers(slab->halo);
        }
        kry_device *dev = kryi_device_for_copies(A->dev);
        TRY(agree(A, kryi_stencil_make(dev, type, &p, &piece, A, factor, copy)));
    }
    TRY(kryi_stencil_share_faces(kryi_stencil_of(*copy)));
done:
    return st;
}

static kry_status keep_on_host(kry_device *dev, const kry_stencil_params *params, kry_op **out)
{
    kry_status st = KRY_OK;
    kry_device *beside = NULL;
    kry_stencil_params p = *params;

    p.on_host = false;
    TRY(kryi_host_beside(dev, &beside));
    TRY(kryi_stencil_make(beside, KRY_F64, &p, NULL, NULL, 1, out));
done:
    kry_device_release(&beside);
    return st;
}

#define PARAMS kry_stencil_params
const kryi_field kryi_stencil_fields[] = {
    { KRY_FIELD(INT64, size), .count = 3 },
    { KRY_FIELD(DOUBLE, spacing), .count = 3 },
    { KRY_FIELD(DOUBLE, diffusion), .count = 3 },
    { KRY_FIELD(INT, low), .count = 3 },
    { KRY_FIELD(INT, high), .count = 3 },
    { KRY_FIELD(POINTER, coefficient) },
    { KRY_FIELD(POINTER, face), .count = 3 },
    { KRY_FIELD(BOOL, on_host) },
    { KRY_FIELD(INT, blocks), .count = 3 },
    { KRY_FIELD(BOOL, local) },
    { 0 },
};

kry_status kry_stencil_create(kry_device *dev, kry_type type, const kry_stencil_params *params,
                              kry_op **A)
{
    kry_status st = KRY_OK;
    kry_stencil_params mine;

    kryi_team_enter(dev, "kry_stencil_create", NULL);
    if (A) *A = NULL;
    TRY(GIVEN(A, dev, params));
    assert(A);
    TAKE_PARAMS(params, mine, "kry_stencil_create", "KRY_STENCIL");
    mine.local = mine.local && kry_team_is_ranks(dev);
    kryi_team_same(dev, &type, sizeof type);
    kryi_team_same_fields(dev, kryi_stencil_fields, params);
    TRY(kryi_stencil_check_params(dev, type, params));
    if (params->on_host)
        TRY(keep_on_host(dev, params, A));
    else if (dev->team)
        TRY(kryi_stencil_create_parts(dev, type, params, A));
    else
        TRY(kryi_stencil_make(dev, type, params, NULL, NULL, 1, A));
done:
    st = kryi_team_leave(dev, st);
    if (st < 0) kry_op_release(A);
    return st;
}
