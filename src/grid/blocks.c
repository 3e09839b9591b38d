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
#include "grid/stencil.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "team/boxes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

kryi_stencil *kryi_stencil_here(const kry_op *op)
{
    return op ? kryi_stencil_of(kryi_op_own(kryi_op_first(op))) : NULL;
}

typedef struct blocks {
    kryi_split *split; /* retained */
    kry_type type;
    kry_stencil_params
        params; /* of the whole grid; `coefficient` and `face` belong to the caller, during his calls */
    bool variable, faces; /* it was made with coefficients or faces; with faces */
} blocks;

/* ---- faces between boxes --------------------------------------------------------------------- */

/*
 * The faces between the box of one part and those of others: who is beyond, the halo that brings its
 * numbers, and the weights of the faces. Boxes that touch have the same unknowns along the other axes.
 */

/* Coefficients and faces on the host, as the caller gives them: of all cells, or of a box of them. */
typedef struct numbers_given {
    const double *cell, *face[3];
    kry_stencil_box box;
    const int64_t *all; /* unknowns of the whole grid along each axis; borrowed */
} numbers_given;

/* One part of a grid in boxes. */
typedef struct block_part {
    const kryi_split *split; /* borrowed */
    int rank;
    const kryi_stencil *own; /* of its box */
} block_part;

/* A side of the box beyond which another part goes on. */
typedef struct block_side {
    int axis, part; /* which part */
    bool high;
    int64_t at, count; /* where the numbers beyond are in the halo */
} block_side;

/* " along x", " along y", " along z", "": how messages tell what is of faces along an axis, and what of cells. */
enum { CELLS = 3 };
static const char *const along[] = { " along x", " along y", " along z", "" };

/* Point t of a side, in a box of this size, whose place along the axis is `at`. */
static int64_t point_of(const int64_t size[3], int axis, int64_t at, int64_t t)
{
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    int64_t place[3];

    place[axis] = at, place[u] = t % size[u], place[v] = t / size[u];
    return place[0] + size[0] * (place[1] + size[1] * place[2]);
}

static int64_t own_point(const block_part *b, const block_side *s, int64_t t)
{
    return point_of(b->own->size, s->axis, s->high ? b->own->size[s->axis] - 1 : 0, t);
}

static int64_t point_beyond(const block_part *b, const block_side *s, int64_t t)
{
    const kryi_grid_box box = kryi_boxes_part(b->split->boxes, s->part);
    return point_of(box.size, s->axis, s->high ? 0 : box.size[s->axis] - 1, t);
}

/* sides: those of a part, in the order of the parts beyond. Returns how many. */
static int find_sides(const block_part *b, block_side sides[6])
{
    const kryi_stencil *A = b->own;
    const kryi_boxes *B = b->split->boxes;
    int64_t at = 0;
    int count = 0;

    for (int f = 0; f < 2 * A->axes; f++) {
        const int axis = f / 2, high = f % 2;
        if (!A->block.inner[high][axis]) continue;
        /* it is inner, so that the grid goes on, around its end if need be */
        const block_side s = { axis, kryi_boxes_beside(B, b->rank, axis, high, true), high, 0,
                               A->n / A->size[axis] };
        int to = count++;
        for (; to > 0 && sides[to - 1].part > s.part; to--) sides[to] = sides[to - 1];
        sides[to] = s;
    }
    for (int i = 0; i < count; at += sides[i++].count) sides[i].at = at;
    return count;
}

/* Make the halo of `part`, which brings what is beyond `count` sides, and its places. Collective. */
static kry_status make_halo(const block_part *b, kry_device *dev, const block_side *sides,
                            int count, kryi_dist *part)
{
    kry_status st = KRY_OK;
    const int64_t numbers = count ? sides[count - 1].at + sides[count - 1].count : 0;
    kryi_link want[6];
    int32_t *row = NULL;
    int links = 0;

    TRY(kryi_alloc((size_t)numbers, sizeof *row, &row));
    TRY(kryi_alloc((size_t)numbers, sizeof *part->place, &part->place));
    for (int i = 0; i < count; i++) {
        const block_side *s = &sides[i];
        if (i == 0 || s->part != sides[i - 1].part)
            want[links++] = (kryi_link){ s->part, s->at, 0 };
        want[links - 1].count += s->count;
        for (int64_t t = 0; t < s->count; t++) {
            row[s->at + t] = (int32_t)point_beyond(b, s, t);
            part->place[s->at + t] = b->split->first[s->part] + row[s->at + t];
        }
    }
    TRY(kryi_halo_create(dev, b->own->type, want, links, row, &part->halo));
done:
    free(row);
    return st;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Where the number of a cell of the whole grid stands. */
static int64_t place_of_cell(const numbers_given *k, int64_t row)
{
    const int64_t at[3] = { row % k->all[0], row / k->all[0] % k->all[1],
                            row / k->all[0] / k->all[1] };
    int64_t place = 0;

    for (int a = 2; a >= 0; a--)
        place = place * k->box.size[a] + (at[a] - k->box.first[a] + k->all[a]) % k->all[a];
    return place;
}

/* The coefficient of a cell as devices have it. */
static double cell(const kryi_stencil *A, const numbers_given *k, int64_t row)
{
    const double v = k->cell[place_of_cell(k, row)];
    return A->type == KRY_F32 ? (double)(float)v : v;
}

/* The weight of the face between cell `row` and the one beyond, as stencil_faces in cl/grid/stencil.cl has it. */
static double weight_of(const kryi_stencil *A, const block_side *s, const numbers_given *k,
                        int64_t row, int64_t beyond)
{
    const double weight = A->weight[s->axis];

    if (k->face[0]) return weight * k->face[s->axis][place_of_cell(k, s->high ? row : beyond)];
    if (!k->cell) return weight;
    return weight * 2 / (1 / cell(A, k, row) + 1 / cell(A, k, beyond));
}

/* What the weight is made of and the box has not checked itself. */
static kry_status check_given(const char *who, const block_side *s, const numbers_given *k,
                              int64_t row, int64_t beyond)
{
    kry_status st = KRY_OK;
    const int64_t lower = s->high ? row : beyond, i = k->face[0] ? lower : beyond;
    const double *given = k->face[0] ? k->face[s->axis] : k->cell;
    const double v = given ? given[place_of_cell(k, i)] : 1;

    CHECK(v > 0 && isfinite(v), KRY_ERR_ARGUMENT,
          "%s: %s %lld%s is %g; it must be positive and finite", who,
          k->face[0] ? "face" : "coefficient", (long long)i, k->face[0] ? along[s->axis] : "", v);
done:
    return st;
}

static kry_status weigh(const char *who, const block_part *b, const block_side *s,
                        const numbers_given *k, kryi_csr *far)
{
    kry_status st = KRY_OK;
    const kryi_boxes *B = b->split->boxes;

    for (int64_t t = 0; t < s->count; t++) {
        const int64_t i = own_point(b, s, t), e = far->row_ptr[i + 1]++;
        const int64_t row = kryi_boxes_row(B, b->rank, i),
                      beyond = kryi_boxes_row(B, s->part, point_beyond(b, s, t));
        TRY(check_given(who, s, k, row, beyond));
        far->col[e] = (int32_t)(s->at + t);
        kryi_number_put(far->type, far->val, e, -weight_of(b->own, s, k, row, beyond));
        const double v = kryi_number_at(far->type, far->val, e);
        CHECK(v < 0 && isfinite(v), KRY_ERR_ARGUMENT,
              "%s: the face between cells %lld and %lld has weight %g; it must be positive and "
              "finite",
              who, (long long)row, (long long)beyond, -v);
    }
done:
    return st;
}

/* far := for each face of these sides minus its weight, in the column of the number beyond. */
static kry_status find_far(const char *who, const block_part *b, const block_side *sides, int count,
                           const numbers_given *k, kryi_csr *far)
{
    kry_status st = KRY_OK;
    const int64_t n = b->own->n, numbers = count ? sides[count - 1].at + sides[count - 1].count : 0;
    int64_t sum = 0;

    TRY(kryi_csr_create(n, numbers, b->own->type, numbers, far));
    for (int i = 0; i < count; i++)
        for (int64_t t = 0; t < sides[i].count; t++) far->row_ptr[own_point(b, &sides[i], t) + 1]++;
    for (int64_t i = 1; i <= n; i++) { /* where row i - 1 begins; weigh() moves it to its end */
        const int64_t length = far->row_ptr[i];
        far->row_ptr[i] = sum, sum += length;
    }
    for (int i = 0; i < count; i++) TRY(weigh(who, b, &sides[i], k, far));
done:
    if (st < 0) kryi_csr_release(far);
    return st;
}

/* numbers, of the cells here: what `far` has for the faces of one side. */
static void upper_faces(const block_part *b, const block_side *side, const kryi_csr *far,
                        double *numbers)
{
    for (int64_t t = 0; t < side->count; t++) {
        const int64_t i = own_point(b, side, t), e = kryi_csr_find(far, i, side->at + t);
        numbers[i] = -kryi_number_at(far->type, far->val, e);
    }
}

/* ---- numbers of one box ---------------------------------------------------------------------- */

/* What the caller gives, of which this process reads those of part r. */
static numbers_given given_numbers(const blocks *W, int r)
{
    const kry_stencil_params *p = &W->params;
    return (numbers_given){ p->coefficient,
                            { p->face[0], p->face[1], p->face[2] },
                            kryi_stencil_given(p, W->split, r),
                            W->split->boxes->size };
}

/* mine := those of part r, of the coefficients or, along `axis`, of the faces that are given. who: the public
 * function. */
static kry_status cut_numbers(const blocks *W, const char *who, int r, int axis, double **mine)
{
    kry_status st = KRY_OK;
    const kryi_boxes *B = W->split->boxes;
    const numbers_given k = given_numbers(W, r);
    const double *given = axis == CELLS ? k.cell : k.face[axis];
    const int64_t count = kryi_split_rows(W->split, r), stride = axis == 0 ? 1
                                                                 : axis == 1
                                                                     ? B->size[0]
                                                                     : B->size[0] * B->size[1];
    const bool closed = axis < CELLS && W->params.high[axis] == KRY_NEUMANN;

    if (!given) return KRY_OK;
    TRY(kryi_alloc((size_t)count, sizeof **mine, mine));
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = kryi_boxes_row(B, r, i);
        const bool unused = closed && row / stride % B->size[axis] == B->size[axis] - 1;
        (*mine)[i] = given[place_of_cell(&k, row)];
        const double v = W->type == KRY_F32 ? (double)(float)(*mine)[i] : (*mine)[i];
        CHECK(unused || (v > 0 && isfinite(v)), KRY_ERR_ARGUMENT,
              "%s: %s %lld%s is %g; it must be positive and finite", who,
              axis == CELLS ? "coefficient" : "face", (long long)row, along[axis], (*mine)[i]);
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
    TRY(cut_numbers(W, who, r, CELLS, &k->cell));
    for (int a = 0; a < 3; a++) TRY(cut_numbers(W, who, r, a, &k->face[a]));
done:
    return st;
}

/* ---- one part -------------------------------------------------------------------------------- */

/* The parameters of a box: the grid's, and Neumann where it goes on. */
static kry_stencil_params params_of(const blocks *W, int r, const box_numbers *k,
                                    kryi_stencil_box *block)
{
    const kryi_boxes *B = W->split->boxes;
    const kryi_grid_box box = kryi_boxes_part(B, r);
    kry_stencil_params p = W->params;

    *block = (kryi_stencil_box){ .all = { 0 } };
    for (int a = 0; a < 3; a++) {
        const bool periodic = p.low[a] == KRY_PERIODIC;
        block->all[a] = B->size[a], block->first[a] = box.first[a];
        for (int high = 0; high < 2; high++)
            block->inner[high][a] = kryi_boxes_beside(B, r, a, high, periodic) >= 0;
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

static bool sums_in_double(const kryi_stencil *A)
{
    return A->type == KRY_F32 && A->dev->info.fp64;
}

/* Couple the stencil of a box with the others. */
static kry_status couple(const blocks *W, int rank, kry_op *own, unsigned traits, kry_op **local)
{
    static const kryi_own_kind kind = { kryi_stencil_rows };
    kry_status st = KRY_OK;
    const kryi_stencil *S = kryi_stencil_of(own);
    const block_part part = { W->split, rank, S };
    const numbers_given k = given_numbers(W, rank);
    kryi_coupled A = {
        .own = own, .kind = &kind, .traits = traits, .part.first = W->split->first[rank]
    };
    block_side sides[6];
    const int count = find_sides(&part, sides);
    kryi_csr exact = { 0 };
    void *sums = NULL;

    TRY(find_far("kry_stencil_create", &part, sides, count, &k, &A.part.far));
    TRY(make_halo(&part, S->dev, sides, count, &A.part));
    if (sums_in_double(S)) TRY(kryi_stencil_rows_like(S, &A.part.far, &exact, &sums));
    st = kryi_coupled_create(&A, exact.rows ? &exact : NULL, local);
    A = (kryi_coupled){ 0 };
    TRY(st);
    TRY(kryi_coupled_store_flux(*local, exact.val, sums, kryi_coupled_of(*local)->part.far.val));
done:
    kryi_dist_release(&A.part);
    free(sums);
    kryi_csr_release(&exact);
    return st;
}

/* No side of the whole grid has given values. */
static bool is_singular(const kry_stencil_params *p)
{
    for (int a = 0; a < (p->size[2] ? 3 : 2); a++)
        if (kryi_gives_values(p->low[a]) || kryi_gives_values(p->high[a])) return false;
    return true;
}

static kry_status make_part(const void *user, int rank, kry_op **local)
{
    kry_status st = KRY_OK;
    const blocks *W = user;
    const unsigned traits = KRY_SYMMETRIC | (is_singular(&W->params) ? KRY_SINGULAR : KRY_POSITIVE);
    kry_op *own = NULL;
    kryi_grid_part piece = { 0 };
    box_numbers k;

    *local = NULL;
    TRY(numbers_of(W, "kry_stencil_create", rank, &k));
    const kry_stencil_params p = params_of(W, rank, &k, &piece.block);
    TRY(kryi_stencil_make(W->split->team->part[rank], W->type, &p, &piece, NULL, 1, &own));
    own->shape.traits = traits;
    TRY(couple(W, rank, own, traits, local));
done:
    numbers_release(&k);
    kry_op_release(&own);
    return st;
}

kry_status kryi_stencil_read_faces(const kry_op *op, int axis, double *numbers)
{
    kry_status st = KRY_OK;
    const kryi_stencil *A = kryi_stencil_here(op);
    const kryi_coupled *C = kryi_coupled_of(op);
    block_side sides[6];

    TRY(kryi_stencil_read(A, A->face[axis], A->n, numbers));
    if (!C) return KRY_OK;
    const block_part part = { op->dev->layout.split, kryi_layout_rank(&op->dev->layout), A };
    const int count = find_sides(&part, sides);
    for (int i = 0; i < count; i++)
        if (sides[i].axis == axis && sides[i].high)
            upper_faces(&part, &sides[i], &C->part.far, numbers);
done:
    return st;
}

/* ---- new numbers ----------------------------------------------------------------------------- */

static kry_status prepare(void *self, const void *values)
{
    blocks *W = self;
    kry_stencil_params *p = &W->params;
    kry_status st = KRY_OK;
    const kry_stencil_box box = kryi_stencil_given(p, W->split, W->split->begin);
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

    TRY(kryi_alloc((uint64_t)(axes * n), sizeof **joined, joined));
    for (int a = 0; a < axes; a++) memcpy(*joined + a * n, k->face[a], (size_t)n * sizeof **joined);
done:
    return st;
}

static kry_status update_part(void *self, int rank, kry_op *local)
{
    blocks *W = self;
    kry_status st = KRY_OK;
    kry_op *own = (kry_op *)kryi_op_own(local);
    const block_part part = { W->split, rank, kryi_stencil_of(own) };
    const numbers_given given = given_numbers(W, rank);
    block_side sides[6];
    const int count = find_sides(&part, sides);
    kryi_csr far = { 0 }, exact = { 0 };
    double *joined = NULL;
    void *sums = NULL;
    box_numbers k = { 0 };

    if (!given.cell && !given.face[0]) return KRY_OK;
    TRY(numbers_of(W, "kry_op_update", rank, &k));
    if (W->faces) TRY(join_faces(W, part.own->n, &k, &joined));
    TRY(find_far("kry_op_update", &part, sides, count, &given, &far));
    TRY(kry_op_update(own, W->faces ? joined : k.cell));
    if (sums_in_double(part.own)) TRY(kryi_stencil_rows_like(part.own, &far, &exact, &sums));
    TRY(kryi_coupled_store_flux(local, exact.val, sums, far.val));
done:
    free(sums);
    free(joined);
    kryi_csr_release(&exact);
    kryi_csr_release(&far);
    numbers_release(&k);
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void blocks_release(void *self)
{
    blocks *W = self;
    if (!W) return;
    kryi_split_release(&W->split);
    free(W);
}

kry_status kryi_stencil_create_blocks(kry_device *team, kry_type type,
                                      const kry_stencil_params *params, kryi_split *split,
                                      kry_op **A)
{
    kry_status st = KRY_OK;
    blocks *W = NULL;

    TRY(kryi_alloc(1, sizeof *W, &W));
    *W = (blocks){ .split = kryi_split_retain(split),
                   .type = type,
                   .params = *params,
                   .variable = params->coefficient || params->face[0],
                   .faces = params->face[0] != NULL };
    const kryi_parts_extra extra = {
        .self = W, .prepare = prepare, .update = update_part, .destroy = blocks_release
    };
    TRY(kryi_parts_create(team, split, &extra, make_part, W, A));
    W = NULL;
done:
    blocks_release(W);
    return st;
}
