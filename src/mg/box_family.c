/*
 * box_family.c - the levels of geometric multigrid: a grid operator, then boxes with every second point, each
 * the Galerkin operator of the interpolation that the operator above it says.
 */
#include "mg/box_axes.h"
#include "mg/box_correct.h"
#include "mg/box_finest.h"
#include "mg/box_passes.h"
#include "mg/part_grids.h"
#include "multigrid/box.h"
#include "multigrid/cycle.h"
#include "multigrid/hierarchy.h"
#include "multigrid/smoother.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the coarsest levels in one launch ------------------------------------------------------- */

/*
 * Levels so small that a launch takes longer than what it does: one group goes through all of
 * them, down to the coarsest and up again. Kernel: cl/multigrid/box_tail.cl.
 */

/* Unknowns of its largest level and of the coarsest; work-items. */
enum { MOST = 1024, MOST_DENSE = 1024, GROUP = 512 };

/* Words of a level in the plan, as in cl/multigrid/box_tail.cl. */
enum {
    PLAN_SIZE,
    PLAN_WRAPS = 3,
    PLAN_COARSENED,
    PLAN_ALIKE,
    PLAN_STENCIL,
    PLAN_WEIGHTS,
    PLAN_STEPS,
    PLAN_B,
    PLAN_X,
    PLAN_OTHER,
    PLAN_WORDS
};

typedef struct box_tail {
    const kryi_hierarchy *H; /* borrowed */
    kry_device *dev;         /* borrowed */
    kry_type type;
    int from, levels, size; /* work-items */
    kryi_kernel *kernel;
    cl_int *plan;   /* PLAN_WORDS for each level */
    int64_t count;  /* of numbers */
    cl_mem table;   /* owned: the plan on the device */
    cl_mem numbers; /* owned: stencils, weights and steps */
    cl_mem room;    /* owned: three vectors for each level */
} box_tail;

static const kryi_level *level_of(const box_tail *t, int l)
{
    return &t->H->rung[t->from + l].level;
}

/* Smoothing steps of a level. */
static const kryi_sweeps *sweeps_of(const box_tail *t, int l)
{
    return &t->H->rung[t->from + l].smooth.down;
}

static void release_tail(box_tail **address)
{
    box_tail *t = *address;
    *address = NULL;
    if (!t) return;
    kryi_buffer_release(t->dev, &t->room);
    kryi_buffer_release(t->dev, &t->numbers);
    kryi_buffer_release(t->dev, &t->table);
    free(t->plan);
    free(t);
}

/* ---- set-up -------------------------------------------------------------------------------------- */

/* The first level below the finest that one group can take; the coarsest: there is none. */
static int first_small(const kryi_hierarchy *H)
{
    int i = 1;
    while (i < H->count - 1 && H->rung[i].level.A->shape.rows > MOST) i++;
    return i;
}

static bool suits(const kryi_hierarchy *H, int from)
{
    const kry_op *A = H->rung[0].level.A;
    const kryi_dense_inverse *inverse = H->coarse ? kryi_coarse_inverse(H->coarse) : NULL;
    return !A->dev->info.cpu_kernels && H->cycle.shape == KRY_CYCLE_V &&
           kryi_smoother_steps(&H->cycle) && from < H->count - 1 && inverse &&
           inverse->k <= MOST_DENSE;
}

/* Where everything is. */
static void lay_out(box_tail *t, int64_t *room)
{
    int64_t at = 0;

    *room = 0;
    for (int l = 0; l < t->levels; l++) {
        const kryi_level *L = level_of(t, l);
        const kryi_box *A = kryi_box_of(L->A);
        const kryi_box_transfer *P = kryi_box_transfer_of(L->P);
        cl_int *p = t->plan + (ptrdiff_t)l * PLAN_WORDS;
        for (int a = 0; a < 3; a++) p[PLAN_SIZE + a] = (cl_int)A->grid.size[a];
        p[PLAN_WRAPS] = (cl_int)A->grid.wraps;
        p[PLAN_B] = (cl_int)*room, *room += A->grid.n;
        p[PLAN_X] = (cl_int)*room, *room += A->grid.n;
        if (!P) continue;
        p[PLAN_COARSENED] = (cl_int)P->coarsened;
        p[PLAN_ALIKE] = kryi_box_rows_alike(&A->grid) + 2 * kryi_box_rows_alike(&P->coarse);
        p[PLAN_OTHER] = (cl_int)*room, *room += A->grid.n;
        p[PLAN_STENCIL] = (cl_int)at, at += A->half * A->grid.n;
        p[PLAN_WEIGHTS] = (cl_int)at, at += P->weights * P->coarse.n;
        p[PLAN_STEPS] = (cl_int)at, at += sweeps_of(t, l)->count;
    }
    t->count = at;
}

static kry_status get_kernel(box_tail *t)
{
    kry_status st = KRY_OK;
    const int axes = kryi_box_of(level_of(t, 0)->A)->grid.axes;
    char defines[96];

    for (t->size = GROUP; t->size > t->dev->info.max_group;) t->size /= 2;
    snprintf(defines, sizeof defines, "-DAXES=%d -DLANES=1 -DUNIFORM -DGROUP=%d", axes, t->size);
    TRY(kryi_kernel_get(t->dev, "box_tail", t->type, defines, "box_tail", &t->kernel));
    TRY(kryi_kernel_check_size(t->dev, t->kernel, t->size));
done:
    return st;
}

static kry_status make(box_tail *t)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(t->type);
    int64_t room;

    TRY(get_kernel(t));
    TRY(kryi_alloc((uint64_t)t->levels * PLAN_WORDS, sizeof *t->plan, &t->plan));
    lay_out(t, &room);
    TRY(kryi_buffer_upload(t->dev, (size_t)t->levels * PLAN_WORDS * sizeof *t->plan, t->plan,
                           &t->table));
    TRY(kryi_buffer_create(t->dev, (size_t)t->count * word, &t->numbers));
    TRY(kryi_buffer_create(t->dev, (size_t)room * word, &t->room));
done:
    return st;
}

/* A tail of H, whose coarser levels are boxes, without their numbers. *out NULL: there is none, because no level
 * but the coarsest is small enough for a single group, the coarsest has no dense inverse, the cycle is no V or
 * the device has no kernel for it. H has to outlive it. */
static kry_status create_tail(const kryi_hierarchy *H, box_tail **out)
{
    kry_status st = KRY_OK;
    box_tail *t = NULL;
    const int from = first_small(H);

    *out = NULL;
    if (!suits(H, from)) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *t, &t));
    const kry_op *A = H->rung[from].level.A;
    *t = (box_tail){
        .H = H, .dev = A->dev, .type = A->shape.type, .from = from, .levels = H->count - from
    };
    st = make(t);
    if (st == KRY_ERR_UNSUPPORTED) {
        st = KRY_OK;
        goto done;
    }
    if (st < 0) goto done;
    *out = t;
    t = NULL;
done:
    release_tail(&t);
    return st;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static kry_status copy(const box_tail *t, cl_mem from, int64_t count, cl_int at)
{
    const size_t word = kry_type_size(t->type);
    return kryi_buffer_copy(t->dev, from, 0, t->numbers, (size_t)at * word, (size_t)count * word);
}

static kry_status write_steps(const box_tail *t, const kryi_sweeps *s, cl_int at)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(t->type);
    double numbers[KRY_SMOOTHER_STEPS]; /* room for either type */

    for (int i = 0; i < s->count; i++) kryi_number_put(t->type, numbers, i, s->step[i]);
    TRY(kryi_buffer_write(t->dev, t->numbers, (size_t)at * word, (size_t)s->count * word, numbers));
done:
    return st;
}

/* Take the numbers that the levels have now. Waits. */
static kry_status fill_tail(box_tail *t)
{
    kry_status st = KRY_OK;

    for (int l = 0; l + 1 < t->levels; l++) {
        const kryi_box *A = kryi_box_of(level_of(t, l)->A);
        const kryi_box_transfer *P = kryi_box_transfer_of(level_of(t, l)->P);
        const cl_int *p = t->plan + (ptrdiff_t)l * PLAN_WORDS;
        TRY(copy(t, A->numbers, A->half * A->grid.n, p[PLAN_STENCIL]));
        TRY(copy(t, P->numbers, P->weights * P->coarse.n, p[PLAN_WEIGHTS]));
        TRY(write_steps(t, sweeps_of(t, l), p[PLAN_STEPS]));
    }
done:
    return st;
}

/* ---- the cycle ----------------------------------------------------------------------------------- */

/* For kryi_tail. */
static kry_status run_tail(void *self, const kry_vec *b, kry_vec *x)
{
    const box_tail *t = self;
    const kryi_dense_inverse *inverse = kryi_coarse_inverse(t->H->coarse);
    const cl_int levels = t->levels, count = sweeps_of(t, 0)->count, k = (cl_int)inverse->k;
    const cl_int stride = (cl_int)kryi_dense_inverse_stride(inverse);
    const kry_arg args[] = { ARG(levels),  ARG(count), ARG(t->table), ARG(t->numbers),
                             ARG(t->room), ARG(k),     ARG(stride),   ARG(inverse->G),
                             ARG_VEC(b),   ARG_VEC(x) };
    return kryi_launch_range(t->dev, t->kernel, (kryi_range){ 1, .size = t->size }, args,
                             COUNT(args));
}

/* ---- all levels ------------------------------------------------------------------------------ */

static const char who[] = "kry_mg_create";

/* Levels of 2^31 points of which one axis at a time is halved are fewer. */
enum { MOST_LEVELS = 96 };

typedef struct boxes {
    kry_op *given; /* retained; A[0], or in double where the levels are in single */
    double factor; /* A[0] is so many times that, rounded; 0: it is the same */
    int count;
    kry_op *A[MOST_LEVELS], *P[MOST_LEVELS]; /* retained; P[i] from level i + 1 to level i */
    double highest[MOST_LEVELS];             /* eigenvalue of D^-1 A[i], at most */
    kryi_box_passes *passes[MOST_LEVELS];    /* NULL: none */
    kryi_box_correct *correct;               /* of level 0; NULL: none */
    box_tail *tail;                          /* NULL: none */
} boxes;

static void boxes_destroy(void *self)
{
    boxes *b = self;
    if (!b) return;
    release_tail(&b->tail);
    kryi_box_correct_release(&b->correct);
    kry_op_release(&b->given);
    for (int i = 0; i < MOST_LEVELS; i++) {
        kryi_box_passes_release(&b->passes[i]);
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
    const kryi_box_source A = kryi_box_source_of(b->A[i]);
    TRY(kryi_box_weigh(&A, b->P[i]));
    TRY(kryi_box_galerkin(&A, b->P[i], b->A[i + 1]));
done:
    return st;
}

/* Append the level below the last one. *more: there is one. */
static kry_status append(boxes *b, kryi_axis_couplings *c, bool *more)
{
    kry_status st = KRY_OK;
    const int i = b->count - 1;
    const kry_op *A = b->A[i];
    unsigned axes;

    const kryi_box_source source = kryi_box_source_of(A);
    TRY(kryi_choose_axes(c, &source.grid, &source, NULL, &axes));
    *more = axes != 0;
    if (!axes) goto done;
    TRY(kryi_box_transfer_create(A->dev, A->shape.type, &source.grid, axes, &b->P[i]));
    TRY(kryi_box_create(A->dev, A->shape.type, &kryi_box_transfer_of(b->P[i])->coarse,
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
    const int first = kryi_stencil_of(b->A[0]) ? 1 : 0;

    b->highest[0] = 2;
    if (last > first) TRY(kryi_box_bounds(b->A + first, last - first, b->highest + first));
    for (int i = first; i < last; i++)
        CHECK(
            isfinite(b->highest[i]), KRY_ERR_ARGUMENT,
            "%s: the grid operator is not positive definite: level %d of multigrid has a diagonal "
            "entry that is not positive",
            who, i);
done:
    return st;
}

static kry_status make_passes(boxes *b, int i, int steps, kryi_level *level)
{
    kry_status st = KRY_OK;
    bool narrow = !i && b->factor != 0;

    TRY(kryi_box_passes_create(b->A[i], b->P[i], steps, narrow, &b->passes[i]));
    if (!b->passes[i] && narrow) {
        narrow = false;
        TRY(kryi_box_passes_create(b->A[i], b->P[i], steps, narrow, &b->passes[i]));
    }
    if (!b->passes[i]) goto done;
    level->passes = narrow ? &kryi_box_passes_narrow_table : &kryi_box_passes_table;
    level->self = b->passes[i];
done:
    return st;
}

static kry_status add_levels(kryi_hierarchy *H, boxes *b)
{
    kry_status st = KRY_OK;

    const int steps = kryi_smoother_steps(kryi_hierarchy_cycle(H));

    if (b->P[0] && steps) TRY(kryi_box_correct_create(b->A[0], b->P[0], &b->correct));
    for (int i = 0; i < b->count; i++) {
        kryi_level level = { .A = b->A[i], .P = b->P[i], .highest = b->highest[i] };
        if (b->P[i]) TRY(make_passes(b, i, steps, &level));
        if (!i) level.factor = b->factor;
        if (!i && b->correct) level.passes = &kryi_box_correct_table, level.self = b->correct;
        TRY(kryi_hierarchy_add(H, &level));
    }
done:
    return st;
}

static kry_status boxes_create(kryi_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    const kryi_box_levels *p = params;
    const kry_cycle_params *cycle = kryi_hierarchy_cycle(H);
    const int most = cycle->levels && cycle->levels < MOST_LEVELS ? cycle->levels : MOST_LEVELS;
    kryi_axis_couplings c = p->couplings;
    boxes *b = NULL;
    bool more = true;

    *self = NULL;
    TRY(kryi_alloc(1, sizeof *b, &b));
    b->given = kry_op_retain(A);
    TRY(kryi_finest_grid(b->given, p->params.cycle.values, &b->factor, &b->A[0]));
    if (kryi_finest_grid_suits_degree_3(A, b->factor)) kryi_hierarchy_prefer(H, cycle->smoother, 3);
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

static kry_status boxes_update(kryi_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    boxes *b = self;

    if (b->factor != 0) TRY(kryi_finest_grid_renew(b->given, &b->factor, &b->A[0]));
    for (int i = 0; i + 1 < b->count; i++) TRY(make_numbers(b, i));
    TRY(find_bounds(b));
    kryi_hierarchy_level(H, 0)->factor = b->factor;
    for (int i = 0; i < b->count; i++) kryi_hierarchy_level(H, i)->highest = b->highest[i];
done:
    return st;
}

static kry_status boxes_settle(kryi_hierarchy *H, void *self, kryi_tail *tail)
{
    kry_status st = KRY_OK;
    boxes *b = self;

    if (!b->tail) TRY(create_tail(H, &b->tail));
    if (!b->tail) goto done;
    TRY(fill_tail(b->tail));
    *tail = (kryi_tail){ b->tail->from, run_tail, b->tail };
done:
    return st;
}

/* ---- the public function ------------------------------------------------------------------------- */

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;

    (void)params;
    CHECK(kryi_stencil_here(A), KRY_ERR_UNSUPPORTED,
          "%s: '%s' is no grid operator (kry_stencil_create); kry_amg_create takes matrices", who,
          A->table->kind);
    TRY(kryi_check_sums(who, A));
done:
    return st;
}

kry_status kryi_box_levels_create(const kry_op *A, const void *params, kry_op **M)
{
    static const kryi_family family = { .kind = "mg",
                                        .who = who,
                                        .coarsest = KRY_BOX_COARSEST,
                                        .create = boxes_create,
                                        .update = boxes_update,
                                        .settle = boxes_settle,
                                        .destroy = boxes_destroy };
    const kryi_box_levels *p = params;
    return kryi_hierarchy_create(&family, A, &p->params.cycle, p, M);
}

static kry_status create_here(const kry_op *A, const void *params, kry_op **M)
{
    const kry_mg_params *p = params;
    const kryi_box_levels how = { *p, kryi_axis_couplings_of(kryi_stencil_here(A), p->semi) };

    return kryi_is_share(A) ? kryi_part_grids_create(A, &how, M)
                            : kryi_box_levels_create(A, &how, M);
}

bool kry_mg_takes(const kry_op *A)
{
    return A && kryi_stencil_here(A) && !kryi_has_reproducible_sums(A);
}

#define PARAMS kry_mg_params
static const kryi_field fields[] = {
    { KRY_FIELD(STRUCT, cycle), .fields = kryi_cycle_fields },
    { KRY_FIELD(DOUBLE, semi),
      KRY_WORD("semi", REAL, "=T",
               "coarsen axes whose coupling is T times the strongest one at least; negative: "
               "all"),
      KRY_CLOSED(-(double)INFINITY, 1) },
    { KRY_FIELD(INT64, gather), .word = KRY_GATHER_WORD, KRY_CLOSED(1, INFINITY) },
    { 0 },
};

const kryi_constructor kryi_mg_precond = { who,    "KRY_MG",       sizeof(kry_mg_params),
                                           fields, .check = check, .create = create_here };

kry_status kry_mg_create(const kry_op *A, const kry_mg_params *params, kry_op **M)
{
    return kryi_construct(&kryi_mg_precond, A, params, M);
}
