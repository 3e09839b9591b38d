/*
 * blocks.c - grid operators on a team that are cut across two or three axes, into boxes.
 *
 * A part is the stencil of its box, with Neumann sides where the whole goes on, and beside it what flows through these
 * sides, f (x_i - x_j), as the far entries of a coupled operator in flux form (matrix/coupled.c). The stencil is swept as
 * on one device, while the numbers of the neighbours travel.
 *
 * Moved     per face between boxes a word in and one out, and for the product and the step 4 words of numbers and places
 * Launches  as one device, and one more for the product, one for the step, one to pack
 */
#include "grid/blocks.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_stencil *kry_stencil_here(const kry_op *op)
{
    return op ? kry_stencil_of(kry_op_own(kry_op_first(op))) : NULL;
}

typedef struct blocks {
    kry_split *split; /* retained */
    kry_type type;
    kry_stencil_params
        params; /* of the whole grid; `coefficient` and `face` belong to the caller, during his calls */
    bool variable, faces; /* it was made with coefficients or faces; with faces */
} blocks;

const char *const kry_along[] = { " along x", " along y", " along z", "" };

/* ---- numbers of one box ---------------------------------------------------------------------- */

/* What the caller gives, of which this process reads those of part r. */
static kry_given_numbers given_numbers(const blocks *W, int r)
{
    const kry_stencil_params *p = &W->params;
    return (kry_given_numbers){ p->coefficient,
                                { p->face[0], p->face[1], p->face[2] },
                                kry_stencil_given(p, W->split, r),
                                W->split->boxes->size };
}

/* mine := those of part r, of the coefficients or, along `axis`, of the faces that are given. who: the public
 * function. */
static kry_status cut_numbers(const blocks *W, const char *who, int r, int axis, double **mine)
{
    kry_status st = KRY_OK;
    const kry_boxes *B = W->split->boxes;
    const kry_given_numbers k = given_numbers(W, r);
    const double *given = axis == KRY_CELLS ? k.cell : k.face[axis];
    const int64_t count = kry_split_rows(W->split, r), stride = axis == 0 ? 1
                                                                : axis == 1
                                                                    ? B->size[0]
                                                                    : B->size[0] * B->size[1];
    const bool closed = axis < KRY_CELLS && W->params.high[axis] == KRY_NEUMANN;

    if (!given) return KRY_OK;
    TRY(kry_alloc((size_t)count, sizeof **mine, mine));
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = kry_boxes_row(B, r, i);
        const bool unused = closed && row / stride % B->size[axis] == B->size[axis] - 1;
        (*mine)[i] = given[kry_given_place(&k, row)];
        const double v = W->type == KRY_F32 ? (double)(float)(*mine)[i] : (*mine)[i];
        CHECK(unused || (v > 0 && isfinite(v)), KRY_ERR_ARGUMENT,
              "%s: %s %lld%s is %g; it must be positive and finite", who,
              axis == KRY_CELLS ? "coefficient" : "face", (long long)row, kry_along[axis],
              (*mine)[i]);
    }
done:
    return st;
}

typedef struct box_numbers {
    double *cell, *face[3];
} box_numbers;

static void numbers_release(box_numbers *k)
{
    free(k->cell);
    for (int a = 0; a < 3; a++) free(k->face[a]);
}

static kry_status numbers_of(const blocks *W, const char *who, int r, box_numbers *k)
{
    kry_status st = KRY_OK;

    *k = (box_numbers){ 0 };
    TRY(cut_numbers(W, who, r, KRY_CELLS, &k->cell));
    for (int a = 0; a < 3; a++) TRY(cut_numbers(W, who, r, a, &k->face[a]));
done:
    return st;
}

/* ---- one part -------------------------------------------------------------------------------- */

/* The parameters of a box: the grid's, and Neumann where it goes on. */
static kry_stencil_params params_of(const blocks *W, int r, const box_numbers *k, kry_block *block)
{
    const kry_boxes *B = W->split->boxes;
    const kry_grid_box box = kry_boxes_part(B, r);
    kry_stencil_params p = W->params;

    *block = (kry_block){ .all = { 0 } };
    for (int a = 0; a < 3; a++) {
        const bool periodic = p.low[a] == KRY_PERIODIC;
        block->all[a] = B->size[a], block->first[a] = box.first[a];
        for (int high = 0; high < 2; high++)
            block->inner[high][a] = kry_boxes_beside(B, r, a, high, periodic) >= 0;
        block->side[0][a] = p.low[a], block->side[1][a] = p.high[a];
        if (p.size[a]) p.size[a] = box.size[a];
        if (block->inner[0][a]) p.low[a] = KRY_NEUMANN;
        if (block->inner[1][a]) p.high[a] = KRY_NEUMANN;
        p.face[a] = k->face[a];
    }
    p.coefficient = k->cell;
    p.local = false; /* they are of all its cells */
    return p;
}

static bool sums_in_double(const kry_stencil *A) { return A->type == KRY_F32 && A->dev->info.fp64; }

/* Couple the stencil of a box with the others. */
static kry_status couple(const blocks *W, int rank, kry_op *own, unsigned traits, kry_op **local)
{
    static const kry_own_kind kind = { kry_stencil_rows };
    kry_status st = KRY_OK;
    const kry_stencil *S = kry_stencil_of(own);
    const kry_block_part part = { W->split, rank, S };
    const kry_given_numbers k = given_numbers(W, rank);
    kry_coupled A = { .own = own, .kind = &kind, .traits = traits };
    kry_block_side sides[6];
    const int count = kry_block_sides(&part, sides);
    kry_sparse exact = { 0 };
    void *sums = NULL;

    TRY(kry_block_far("kry_stencil_create", &part, sides, count, &k, &A.far));
    TRY(kry_block_halo(&part, S->dev, sides, count, &A.place, &A.halo));
    if (sums_in_double(S)) TRY(kry_stencil_rows_like(S, &A.far, &exact, &sums));
    st = kry_coupled_create(&A, exact.rows ? &exact : NULL, local);
    A = (kry_coupled){ 0 };
    TRY(st);
    TRY(kry_coupled_store_flux(*local, exact.val, sums, kry_coupled_of(*local)->far.val));
done:
    kry_halo_release(&A.halo);
    free(A.place);
    kry_sparse_release(&A.far);
    free(sums);
    kry_sparse_release(&exact);
    return st;
}

/* No side of the whole grid has given values. */
static bool is_singular(const kry_stencil_params *p)
{
    for (int a = 0; a < (p->size[2] ? 3 : 2); a++)
        if (kry_gives_values(p->low[a]) || kry_gives_values(p->high[a])) return false;
    return true;
}

static kry_status make_part(const void *user, int rank, kry_op **local)
{
    kry_status st = KRY_OK;
    const blocks *W = user;
    const unsigned traits = KRY_SYMMETRIC | (is_singular(&W->params) ? KRY_SINGULAR : KRY_POSITIVE);
    kry_op *own = NULL;
    kry_grid_part piece = { 0 };
    box_numbers k;

    *local = NULL;
    TRY(numbers_of(W, "kry_stencil_create", rank, &k));
    const kry_stencil_params p = params_of(W, rank, &k, &piece.block);
    TRY(kry_stencil_make(W->split->team->part[rank], W->type, &p, &piece, NULL, 1, &own));
    own->shape.traits = traits;
    TRY(couple(W, rank, own, traits, local));
done:
    numbers_release(&k);
    kry_op_release(&own);
    return st;
}

kry_status kry_stencil_read_faces(const kry_op *op, int axis, double *numbers)
{
    kry_status st = KRY_OK;
    const kry_stencil *A = kry_stencil_here(op);
    const kry_coupled *C = kry_coupled_of(op);
    kry_block_side sides[6];

    TRY(kry_stencil_read(A, A->face[axis], A->n, numbers));
    if (!C) return KRY_OK;
    const kry_block_part part = { op->dev->layout.split, kry_layout_rank(&op->dev->layout), A };
    const int count = kry_block_sides(&part, sides);
    for (int i = 0; i < count; i++)
        if (sides[i].axis == axis && sides[i].high)
            kry_block_upper_faces(&part, &sides[i], &C->far, numbers);
done:
    return st;
}

/* ---- new numbers ----------------------------------------------------------------------------- */

static kry_status prepare(void *self, const void *values)
{
    blocks *W = self;
    kry_stencil_params *p = &W->params;
    kry_status st = KRY_OK;
    const kry_stencil_box box = kry_stencil_given(p, W->split, W->split->begin);
    const int64_t n = box.size[0] * box.size[1] * box.size[2];

    CHECK(!values || W->variable, KRY_ERR_UNSUPPORTED,
          "kry_op_update: this stencil was made without coefficients, and takes none");
    p->coefficient = W->faces ? NULL : values;
    for (int a = 0; a < 3; a++)
        p->face[a] = W->faces && values && p->size[a] ? (const double *)values + a * n : NULL;
done:
    return st;
}

/* The numbers of a box as kry_op_update takes them. */
static kry_status join_faces(const blocks *W, int64_t n, const box_numbers *k, double **joined)
{
    kry_status st = KRY_OK;
    const int axes = W->params.size[2] ? 3 : 2;

    TRY(kry_alloc((size_t)(axes * n), sizeof **joined, joined));
    for (int a = 0; a < axes; a++) memcpy(*joined + a * n, k->face[a], (size_t)n * sizeof **joined);
done:
    return st;
}

static kry_status update_part(void *self, int rank, kry_op *local)
{
    blocks *W = self;
    kry_status st = KRY_OK;
    kry_op *own = (kry_op *)kry_op_own(local);
    const kry_block_part part = { W->split, rank, kry_stencil_of(own) };
    const kry_given_numbers given = given_numbers(W, rank);
    kry_block_side sides[6];
    const int count = kry_block_sides(&part, sides);
    kry_sparse far = { 0 }, exact = { 0 };
    double *joined = NULL;
    void *sums = NULL;
    box_numbers k = { 0 };

    if (!given.cell && !given.face[0]) return KRY_OK;
    TRY(numbers_of(W, "kry_op_update", rank, &k));
    if (W->faces) TRY(join_faces(W, part.own->n, &k, &joined));
    TRY(kry_block_far("kry_op_update", &part, sides, count, &given, &far));
    TRY(kry_op_update(own, W->faces ? joined : k.cell));
    if (sums_in_double(part.own)) TRY(kry_stencil_rows_like(part.own, &far, &exact, &sums));
    TRY(kry_coupled_store_flux(local, exact.val, sums, far.val));
done:
    free(sums);
    free(joined);
    kry_sparse_release(&exact);
    kry_sparse_release(&far);
    numbers_release(&k);
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void blocks_release(void *self)
{
    blocks *W = self;
    if (!W) return;
    kry_split_release(&W->split);
    free(W);
}

kry_status kry_stencil_create_blocks(kry_device *team, kry_type type,
                                     const kry_stencil_params *params, kry_split *split, kry_op **A)
{
    kry_status st = KRY_OK;
    blocks *W = NULL;

    TRY(kry_alloc(1, sizeof *W, &W));
    *W = (blocks){ .split = kry_split_retain(split),
                   .type = type,
                   .params = *params,
                   .variable = params->coefficient || params->face[0],
                   .faces = params->face[0] != NULL };
    const kry_parts_extra extra = {
        .self = W, .prepare = prepare, .update = update_part, .destroy = blocks_release
    };
    TRY(kry_parts_create(team, split, &extra, make_part, W, A));
    W = NULL;
done:
    blocks_release(W);
    return st;
}
