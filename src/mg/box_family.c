/*
 * box_family.c - the levels of geometric multigrid: a grid operator, then boxes with every second point, each
 * the Galerkin operator of the interpolation that the operator above it says.
 */
#include "mg/box_axes.h"
#include "mg/box_correct.h"
#include "mg/box_finest.h"
#include "mg/box_passes.h"
#include "mg/box_tail.h"
#include "mg/part_grids.h"
#include "multigrid/smoother.h"
#include <math.h>
#include <stdlib.h>

static const char who[] = "kry_mg_create";

/* Levels of 2^31 points of which one axis at a time is halved are fewer. */
enum { MOST_LEVELS = 96 };

typedef struct boxes {
    kry_op *given; /* retained; A[0], or in double where the levels are in single */
    double factor; /* A[0] is so many times that, rounded; 0: it is the same */
    int count;
    kry_op *A[MOST_LEVELS], *P[MOST_LEVELS]; /* retained; P[i] from level i + 1 to level i */
    double highest[MOST_LEVELS];             /* eigenvalue of D^-1 A[i], at most */
    kry_box_passes *passes[MOST_LEVELS];     /* NULL: none */
    kry_box_correct *correct;                /* of level 0; NULL: none */
    kry_box_tail *tail;                      /* NULL: none */
} boxes;

static void boxes_destroy(void *self)
{
    boxes *b = self;
    if (!b) return;
    kry_box_tail_release(&b->tail);
    kry_box_correct_release(&b->correct);
    kry_op_release(&b->given);
    for (int i = 0; i < MOST_LEVELS; i++) {
        kry_box_passes_release(&b->passes[i]);
        kry_op_release(&b->P[i]);
        kry_op_release(&b->A[i]);
    }
    free(b);
}

/* ---- levels -------------------------------------------------------------------------------------- */

/* The numbers of P[i] and of A[i + 1]. */
static kry_status make_numbers(const boxes *b, int i)
{
    kry_status st = KRY_OK;
    const kry_box_source A = kry_box_source_of(b->A[i]);
    TRY(kry_box_weigh(&A, b->P[i]));
    TRY(kry_box_galerkin(&A, b->P[i], b->A[i + 1]));
done:
    return st;
}

/* Append the level below the last one. *more: there is one. */
static kry_status append(boxes *b, kry_axis_couplings *c, bool *more)
{
    kry_status st = KRY_OK;
    const int i = b->count - 1;
    const kry_op *A = b->A[i];
    unsigned axes;

    const kry_box_source source = kry_box_source_of(A);
    TRY(kry_choose_axes(c, &source.grid, &source, NULL, &axes));
    *more = axes != 0;
    if (!axes) goto done;
    TRY(kry_box_transfer_create(A->dev, A->shape.type, &source.grid, axes, &b->P[i]));
    TRY(kry_box_create(A->dev, A->shape.type, &kry_box_transfer_of(b->P[i])->coarse,
                       A->shape.traits, &b->A[i + 1]));
    TRY(make_numbers(b, i));
    b->count++;
done:
    return st;
}

static kry_status find_bounds(boxes *b)
{
    kry_status st = KRY_OK;
    const int last = b->count - 1; /* it is not smoothed */

    /* a row of fluxes has no larger sum of couplings than its diagonal */
    const int first = kry_stencil_of(b->A[0]) ? 1 : 0;

    b->highest[0] = 2;
    if (last > first) TRY(kry_box_bounds(b->A + first, last - first, b->highest + first));
    for (int i = first; i < last; i++)
        CHECK(
            isfinite(b->highest[i]), KRY_ERR_ARGUMENT,
            "%s: the grid operator is not positive definite: level %d of multigrid has a diagonal "
            "entry that is not positive",
            who, i);
done:
    return st;
}

static kry_status make_passes(boxes *b, int i, int steps, kry_level *level)
{
    kry_status st = KRY_OK;
    bool narrow = !i && b->factor != 0;

    TRY(kry_box_passes_create(b->A[i], b->P[i], steps, narrow, &b->passes[i]));
    if (!b->passes[i] && narrow) {
        narrow = false;
        TRY(kry_box_passes_create(b->A[i], b->P[i], steps, narrow, &b->passes[i]));
    }
    if (!b->passes[i]) goto done;
    level->passes = narrow ? &kry_box_passes_narrow_table : &kry_box_passes_table;
    level->self = b->passes[i];
done:
    return st;
}

static kry_status add_levels(kry_hierarchy *H, boxes *b)
{
    kry_status st = KRY_OK;

    const int steps = kry_smoother_steps(kry_hierarchy_cycle(H));

    if (b->P[0] && steps) TRY(kry_box_correct_create(b->A[0], b->P[0], &b->correct));
    for (int i = 0; i < b->count; i++) {
        kry_level level = { .A = b->A[i], .P = b->P[i], .highest = b->highest[i] };
        if (b->P[i]) TRY(make_passes(b, i, steps, &level));
        if (!i) level.factor = b->factor;
        if (!i && b->correct) level.passes = &kry_box_correct_table, level.self = b->correct;
        TRY(kry_hierarchy_add(H, &level));
    }
done:
    return st;
}

static kry_status boxes_create(kry_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    const kry_box_levels *p = params;
    const kry_cycle_params *cycle = kry_hierarchy_cycle(H);
    const int most = cycle->levels && cycle->levels < MOST_LEVELS ? cycle->levels : MOST_LEVELS;
    kry_axis_couplings c = p->couplings;
    boxes *b = NULL;
    bool more = true;

    *self = NULL;
    TRY(kry_alloc(1, sizeof *b, &b));
    b->given = kry_op_retain(A);
    TRY(kry_finest_grid(b->given, p->params.cycle.values, &b->factor, &b->A[0]));
    if (kry_finest_grid_suits_degree_3(A, b->factor)) kry_hierarchy_prefer(H, cycle->smoother, 3);
    b->count = 1;
    while (more && b->count < most && b->A[b->count - 1]->shape.rows > cycle->coarsest)
        TRY(append(b, &c, &more));
    TRY(find_bounds(b));
    TRY(add_levels(H, b));
    *self = b;
    b = NULL;
done:
    boxes_destroy(b);
    return st;
}

static kry_status boxes_update(kry_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    boxes *b = self;

    if (b->factor != 0) TRY(kry_finest_grid_renew(b->given, &b->factor, &b->A[0]));
    for (int i = 0; i + 1 < b->count; i++) TRY(make_numbers(b, i));
    TRY(find_bounds(b));
    kry_hierarchy_level(H, 0)->factor = b->factor;
    for (int i = 0; i < b->count; i++) kry_hierarchy_level(H, i)->highest = b->highest[i];
done:
    return st;
}

static kry_status boxes_settle(kry_hierarchy *H, void *self, kry_tail *tail)
{
    kry_status st = KRY_OK;
    boxes *b = self;

    if (!b->tail) TRY(kry_box_tail_create(H, &b->tail));
    if (!b->tail) goto done;
    TRY(kry_box_tail_fill(b->tail));
    *tail = (kry_tail){ kry_box_tail_from(b->tail), kry_box_tail_run, b->tail };
done:
    return st;
}

/* ---- the public function ------------------------------------------------------------------------- */

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;
    const kry_mg_params *p = params;

    CHECK(kry_stencil_here(A), KRY_ERR_UNSUPPORTED,
          "%s: '%s' is no grid operator (kry_stencil_create); kry_amg_create takes matrices", who,
          A->table->kind);
    TRY(kry_check_sums(who, A));
    CHECK(!p || p->gather >= 0, KRY_ERR_ARGUMENT,
          "%s: gather = %lld; it must be positive, or 0 for a default", who, (long long)p->gather);
    CHECK(!p || p->semi <= 1, KRY_ERR_ARGUMENT,
          "%s: semi = %g; it has to be negative, or in 0 ... 1", who, p->semi);
done:
    return st;
}

kry_status kry_box_levels_create(const kry_op *A, const void *params, kry_op **M)
{
    static const kry_family family = { .kind = "mg",
                                       .who = who,
                                       .coarsest = KRY_BOX_COARSEST,
                                       .create = boxes_create,
                                       .update = boxes_update,
                                       .settle = boxes_settle,
                                       .destroy = boxes_destroy };
    const kry_box_levels *p = params;
    return kry_hierarchy_create(&family, A, &p->params.cycle, p, M);
}

static kry_status create_here(const kry_op *A, const void *params, kry_op **M)
{
    const kry_mg_params *p = params ? params : KRY_MG();
    const kry_box_levels how = { *p, kry_axis_couplings_of(kry_stencil_here(A), p->semi) };

    return kry_is_share(A) ? kry_part_grids_create(A, &how, M) : kry_box_levels_create(A, &how, M);
}

bool kry_mg_takes(const kry_op *A)
{
    return A && kry_stencil_here(A) && !kry_has_reproducible_sums(A);
}

kry_status kry_mg_create(const kry_op *A, const kry_mg_params *params, kry_op **M)
{
    static const kry_constructor how = { .name = who,
                                         .macro = "KRY_MG",
                                         .params_size = sizeof(kry_mg_params),
                                         .fields = "x" KRY_CYCLE_FIELDS "dq",
                                         .check = check,
                                         .create = create_here };
    return kry_construct(&how, A, params, M);
}
