/* hierarchy.c - the operator behind which the levels of multigrid are, and how it is made. */
#include "device/pool.h"
#include "multigrid/cycle.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- levels --------------------------------------------------------------------------------- */

kry_status kry_hierarchy_add(kry_hierarchy *H, const kry_level *level)
{
    kry_status st = KRY_OK;
    kry_rung *last = H->count ? &H->rung[H->count - 1] : NULL;

    CHECK(!last || last->level.P, KRY_ERR_ARGUMENT, "%s: level %d has no prolongation",
          H->family->who, H->count - 1);
    CHECK(!last || last->level.P->shape.cols == level->A->shape.rows, KRY_ERR_SHAPE,
          "%s: level %d has %lld unknowns, the prolongation to it %lld columns", H->family->who,
          H->count, (long long)level->A->shape.rows, (long long)last->level.P->shape.cols);
    TRY(kry_realloc((size_t)H->count + 1, sizeof *H->rung, &H->rung));
    kry_rung *new = &H->rung[H->count++];
    *new = (kry_rung){ .level = *level };
    (void)kry_op_retain(level->A);
    (void)kry_op_retain(level->P);
    (void)kry_op_retain(level->R);
done:
    return st;
}

int kry_hierarchy_levels(const kry_hierarchy *H) { return H->count; }
kry_level *kry_hierarchy_level(kry_hierarchy *H, int i) { return &H->rung[i].level; }
const kry_cycle_params *kry_hierarchy_cycle(const kry_hierarchy *H) { return &H->cycle; }

void kry_hierarchy_prefer(kry_hierarchy *H, kry_smoother smoother, int degree)
{
    if (H->any_degree) H->cycle.degree = degree;
    if (H->any_smoother) H->cycle.smoother = smoother;
}

/* ---- the operator --------------------------------------------------------------------------- */

static kry_status cycle_run(void *self, const kry_vec *r, kry_vec *z)
{
    kry_vec x = kry_vec_borrow(z);
    return kry_cycle_run(self, r, &x, (kry_cycle_sums){ 0 });
}

static kry_status cycle_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    kry_vec x = kry_vec_borrow(z);
    return kry_cycle_run(self, r, &x, (kry_cycle_sums){ .dots = sum });
}

static kry_status cycle_apply_dots_again(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    kry_vec x = kry_vec_borrow(z);
    return kry_cycle_run(self, r, &x, (kry_cycle_sums){ .dots = sum, .known = sum });
}

static kry_status cycle_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_op_apply_by(cycle_run, self, alpha, x, beta, y);
}

static void hierarchy_destroy(void *self)
{
    kry_hierarchy *H = self;
    if (!H) return;
    for (int i = 0; i < H->count; i++) {
        kry_rung *g = &H->rung[i];
        kry_smoothing_release(&g->smooth);
        for (size_t k = 0; k < COUNT(g->again); k++) kry_vec_release(&g->again[k]);
        kry_vec_release(&g->work);
        kry_vec_release(&g->x);
        kry_vec_release(&g->b);
        kry_op_release(&g->level.R);
        kry_op_release(&g->level.P);
        kry_op_release(&g->level.A);
    }
    kry_narrow_release(&H->narrow);
    kry_coarse_release(&H->coarse);
    H->family->destroy(H->self);
    free(H->rung);
    free(H);
}

/* Of the levels' vectors. */
static kry_type type_of(const kry_hierarchy *H) { return H->rung[0].level.A->shape.type; }

static kry_status factor_coarsest(kry_hierarchy *H)
{
    kry_status st = KRY_OK;
    const kry_op *A = H->rung[H->count - 1].level.A;
    kry_coarse *coarse = NULL;

    if (A->shape.rows == 0) return KRY_OK;
    TRY(kry_coarsest_create(H->family->who, A, type_of(H), &coarse));
    kry_coarse_release(&H->coarse);
    H->coarse = coarse;
done:
    return st;
}

static kry_status settle(kry_hierarchy *H)
{
    if (H->narrow) H->narrow->factor = H->rung[0].level.factor, H->narrow->measured = false;
    return H->family->settle ? H->family->settle(H, H->self, &H->tail) : KRY_OK;
}

static kry_status hierarchy_update(void *self, const void *values)
{
    kry_hierarchy *H = self;
    kry_status st = KRY_OK;
    bool pooled = false;
    kry_device *dev = H->rung[0].level.A->dev;

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: '%s' takes no values", H->family->kind);
    TRY(kry_pool_open(dev));
    pooled = true;
    TRY(H->family->update(H, H->self));
    for (int i = 0; i + 1 < H->count; i++)
        TRY(kry_smoothing_update(H->family->who, &H->rung[i].level, &H->cycle, &H->rung[i].smooth));
    TRY(factor_coarsest(H));
    TRY(settle(H));
done:
    if (pooled) kry_pool_close(dev);
    return st;
}

static void hierarchy_describe(void *self, kry_op_info *info)
{
    const kry_hierarchy *H = self;
    info->variant = H->variant;
    info->bytes_stored = kry_cycle_bytes_stored(H);
    info->bytes_per_apply = H->cycle.shape == KRY_CYCLE_V ? kry_cycle_bytes(H) : 0;
}

static const kry_op_table cycle_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "multigrid",
    .apply = cycle_apply,
    .update = hierarchy_update,
    .describe = hierarchy_describe,
    .destroy = hierarchy_destroy,
};

static const kry_op_fused narrow_fused = { .apply_dots_again = cycle_apply_dots_again }, no_fused;

kry_hierarchy *kry_hierarchy_of(const kry_op *op)
{
    return op && op->table->destroy == hierarchy_destroy ? op->self : NULL;
}

/* ---- the constructor ------------------------------------------------------------------------ */

static kry_status check_cycle(const kry_family *family, kry_cycle_params *c)
{
    kry_status st = KRY_OK;
    const char *who = family->who;

    TRY(kry_smoother_check(who, c));
    CHECK((unsigned)c->shape <= KRY_CYCLE_F, KRY_ERR_ARGUMENT, "%s: shape = %d is none", who,
          (int)c->shape);
    CHECK((unsigned)c->values <= KRY_CYCLE_VALUES_DOUBLE, KRY_ERR_ARGUMENT,
          "%s: values = %d is none", who, (int)c->values);
    CHECK(c->coarsest >= 0, KRY_ERR_ARGUMENT, "%s: coarsest = %lld; it must be positive", who,
          (long long)c->coarsest);
    CHECK(c->levels >= 0, KRY_ERR_ARGUMENT, "%s: levels = %d; it must be positive", who, c->levels);
    if (!c->coarsest) c->coarsest = family->coarsest;
    if (!c->levels) c->levels = INT_MAX;
done:
    return st;
}

/* What other parts have of a vector may be read before it has come. */
static kry_status create_vector(const kry_hierarchy *H, const kry_level *L, kry_vec **v)
{
    return (L->shell ? kry_vec_create : kry_vec_create_room)(L->A->dev, type_of(H),
                                                             L->A->shape.rows, 1, v);
}

/* What the cycle needs on each level. */
static kry_status equip(kry_hierarchy *H)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < H->count; i++) {
        kry_rung *g = &H->rung[i];
        const kry_op *P = g->level.P;
        const bool coarsest = i == H->count - 1;
        CHECK(coarsest == !P, KRY_ERR_ARGUMENT, "%s: level %d of %d %s a prolongation",
              H->family->who, i, H->count, P ? "has" : "lacks");
        const bool own = i > 0 || H->narrow || g->level.shell;
        if (own) TRY(create_vector(H, &g->level, &g->b));
        if (own) TRY(create_vector(H, &g->level, &g->x));
        if (coarsest) continue;
        TRY(create_vector(H, &g->level, &g->work));
        for (int k = 0; k < kry_cycle_room(H->cycle.shape, i, H->count); k++)
            TRY(create_vector(H, &g->level, &g->again[k]));
        TRY(kry_smoothing_create(H->family->who, &g->level, &H->cycle, &g->smooth));
    }
    TRY(factor_coarsest(H));
done:
    return st;
}

static void write_variant(kry_hierarchy *H)
{
    static const char *const shapes[] = { "V", "W", "K", "F" };
    const kry_cycle_params *c = &H->cycle;

    kry_smoother_name(c, H->smoother, sizeof H->smoother);
    snprintf(H->variant, sizeof H->variant, "%s(%d,%d)%s, %s, %d level%s, the last of %lld",
             shapes[c->shape], c->sweeps, c->sweeps, H->narrow ? " in single" : "", H->smoother,
             H->count, H->count == 1 ? "" : "s",
             (long long)H->rung[H->count - 1].level.A->shape.rows);
}

static kry_status create(const kry_family *family, const kry_op *A, const kry_cycle_params *cycle,
                         const void *params, kry_op **M)
{
    kry_status st = KRY_OK;
    kry_hierarchy *H = NULL;
    kry_op_shape shape = A->shape;

    *M = NULL;
    TRY(kry_alloc(1, sizeof *H, &H));
    H->family = family;
    H->cycle = *cycle;
    H->any_smoother = cycle->smoother == KRY_SMOOTHER_AUTO;
    H->any_degree = cycle->degree == 0;
    H->table = cycle_table;
    H->table.kind = family->kind;
    TRY(check_cycle(family, &H->cycle));
    TRY(family->create(H, A, params, &H->self));
    CHECK(H->count > 0, KRY_ERR_ARGUMENT, "%s: there are no levels", family->who);
    if (H->rung[0].level.factor != 0) TRY(kry_narrow_create(A->dev, &H->narrow));
    TRY(equip(H));
    TRY(settle(H));
    if (H->narrow) TRY(kry_cycle_widen(H));
    write_variant(H);
    if (kry_cycle_leaves_dots(H)) H->table.apply_dots = cycle_apply_dots;
    if (kry_cycle_takes_columns(H)) H->table.apply_block = cycle_apply;
    shape.traits = H->cycle.shape >= KRY_CYCLE_K ? KRY_VARYING : KRY_SYMMETRIC;
    TRY(kry_op_create_fused(A->dev, &H->table, H->narrow ? &narrow_fused : &no_fused, H, &shape,
                            M));
    H = NULL;
done:
    hierarchy_destroy(H);
    return st;
}

kry_status kry_hierarchy_create(const kry_family *family, const kry_op *A,
                                const kry_cycle_params *cycle, const void *params, kry_op **M)
{
    kry_status st = kry_pool_open(A->dev);

    *M = NULL;
    if (st < 0) return st;
    st = create(family, A, cycle, params, M);
    kry_pool_close(A->dev);
    return st;
}
