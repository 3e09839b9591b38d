/*
 * cycle.c - z := M r by a cycle of multigrid over the levels that a family has made.
 *
 *   V(i):  x := the smoother's steps from 0;  r := b - A x;  b' := P' r;  x' := V(i + 1) b'
 *          x := x + P x';  x := the smoother's steps from x, in the opposite order
 *
 * The coarsest level is solved exactly. What smooths afterwards is the transpose of what smooths before, so
 * M is symmetric; and positive definite if the smoother converges, also where A is singular: there
 * the coarsest level is given the part of b' that it can solve for.
 *
 * Storage  3 vectors on each level below the finest and 1 there, and those of sweeps.h
 * Source   A. Brandt, Multi-level adaptive solutions to boundary-value problems, Math. Comp. 31 (1977);
 *          U. Trottenberg, C. W. Oosterlee, A. Schueller, Multigrid (2001), section 2.4
 */
#include "multigrid/coarsest.h"
#include "multigrid/smoother.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

typedef struct rung {
    kry_level level;
    kry_smoothing smooth; /* of all but the coarsest level */
    kry_vec *b, *x;       /* below the finest level, where the caller's take their place */
    kry_vec *work;        /* of all but the coarsest level */
} rung;

struct kry_hierarchy {
    const kry_family *family;
    kry_op_table table; /* of the family's kind */
    void *self;         /* the family's */
    kry_cycle_params cycle;
    rung *rung; /* count of them */
    int count;
    kry_coarse *coarse; /* NULL: A has no unknowns */
    char variant[160];
};

/* ---- levels --------------------------------------------------------------------------------- */

kry_status kry_hierarchy_add(kry_hierarchy *H, const kry_level *level)
{
    kry_status st = KRY_OK;
    rung *last = H->count ? &H->rung[H->count - 1] : NULL;

    CHECK(!last || last->level.P, KRY_ERR_ARGUMENT, "%s: level %d has no prolongation",
          H->family->who, H->count - 1);
    CHECK(!last || last->level.P->shape.cols == level->A->shape.rows, KRY_ERR_SHAPE,
          "%s: level %d has %lld unknowns, the prolongation to it %lld columns", H->family->who,
          H->count, (long long)level->A->shape.rows, (long long)last->level.P->shape.cols);
    TRY(kry_realloc((size_t)H->count + 1, sizeof *H->rung, &H->rung));
    rung *new = &H->rung[H->count++];
    *new = (rung){ .level = *level };
    (void)kry_op_retain(level->A);
    (void)kry_op_retain(level->P);
    (void)kry_op_retain(level->R);
done:
    return st;
}

int kry_hierarchy_levels(const kry_hierarchy *H) { return H->count; }
kry_level *kry_hierarchy_level(kry_hierarchy *H, int i) { return &H->rung[i].level; }
const kry_cycle_params *kry_hierarchy_cycle(const kry_hierarchy *H) { return &H->cycle; }

/* ---- the cycle ------------------------------------------------------------------------------ */

static kry_status restrict_to(const kry_level *L, const kry_vec *r, kry_vec *coarse)
{
    if (L->R) return L->R->table->apply(L->R->self, 1, r, 0, coarse);
    return L->P->table->apply_transpose(L->P->self, 1, r, 0, coarse);
}

/* Whether the level takes all of the steps in the same pass as what follows them. */
static bool is_fused(const rung *g)
{
    const kry_passes *p = g->level.passes;
    const kry_sweeps *s = &g->smooth.down;
    return p && s->count <= (s->coloured ? p->most_coloured : p->most);
}

/* place[0] := smoothed; coarse := P' (b - A place[0]) */
static kry_status go_down(rung *g, const kry_vec *b, kry_vec *place[2], kry_vec *coarse)
{
    kry_status st = KRY_OK;
    const kry_level *L = &g->level;

    if (is_fused(g)) {
        kry_vec *x = place[1];
        place[1] = place[0], place[0] = x;
        return L->passes->down(L->self, &g->smooth.down, b, x, coarse);
    }
    TRY(kry_smoothing_run(&g->smooth, &g->smooth.down, true, b, place));
    TRY(kry_op_residual(L->A, b, place[0], place[1]));
    TRY(restrict_to(L, place[1], coarse));
done:
    return st;
}

/* place[0] := what place[0] + P e is smoothed to */
static kry_status go_up(rung *g, const kry_vec *b, const kry_vec *e, kry_vec *place[2])
{
    kry_status st = KRY_OK;
    const kry_level *L = &g->level;

    if (is_fused(g)) {
        kry_vec *y = place[1];
        place[1] = place[0], place[0] = y;
        return L->passes->up(L->self, &g->smooth.up, b, place[1], e, y);
    }
    TRY(L->P->table->apply(L->P->self, 1, e, 1, place[0]));
    TRY(kry_smoothing_run(&g->smooth, &g->smooth.up, false, b, place));
done:
    return st;
}

/* x := M b from level i on. The iterate goes to and fro between x and the level's own room, as often on
 * the way down as on the way up, and so ends in x. */
static kry_status visit(kry_hierarchy *H, int i, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    rung *g = &H->rung[i], *next = g + 1;
    kry_vec *place[2] = { x, g->work };

    if (i == H->count - 1) return H->coarse ? kry_coarse_solve(H->coarse, b, x) : KRY_OK;
    TRY(go_down(g, b, place, next->b));
    TRY(visit(H, i + 1, next->b, next->x));
    TRY(go_up(g, b, next->x, place));
done:
    return st;
}

/* ---- the operator --------------------------------------------------------------------------- */

static kry_status cycle_run(void *self, const kry_vec *r, kry_vec *z)
{
    kry_vec x = kry_vec_borrow(z);
    return visit(self, 0, r, &x);
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
        rung *g = &H->rung[i];
        kry_smoothing_release(&g->smooth);
        kry_vec_release(&g->work);
        kry_vec_release(&g->x);
        kry_vec_release(&g->b);
        kry_op_release(&g->level.R);
        kry_op_release(&g->level.P);
        kry_op_release(&g->level.A);
    }
    kry_coarse_release(&H->coarse);
    H->family->destroy(H->self);
    free(H->rung);
    free(H);
}

static kry_status factor_coarsest(kry_hierarchy *H)
{
    kry_status st = KRY_OK;
    const kry_op *A = H->rung[H->count - 1].level.A;
    kry_coarse *coarse = NULL;

    if (A->shape.rows == 0) return KRY_OK;
    TRY(kry_coarsest_create(H->family->who, A, NULL, &coarse));
    kry_coarse_release(&H->coarse);
    H->coarse = coarse;
done:
    return st;
}

static kry_status hierarchy_update(void *self, const void *values)
{
    kry_hierarchy *H = self;
    kry_status st = KRY_OK;

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: '%s' takes no values", H->family->kind);
    TRY(H->family->update(H, H->self));
    for (int i = 0; i + 1 < H->count; i++)
        TRY(kry_smoothing_update(H->family->who, &H->rung[i].level, &H->cycle, &H->rung[i].smooth));
    TRY(factor_coarsest(H));
done:
    return st;
}

static void hierarchy_describe(void *self, kry_op_info *info)
{
    const kry_hierarchy *H = self;
    info->variant = H->variant;
}

static const kry_op_table cycle_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "multigrid",
    .apply = cycle_apply,
    .update = hierarchy_update,
    .describe = hierarchy_describe,
    .destroy = hierarchy_destroy,
};

kry_hierarchy *kry_hierarchy_of(const kry_op *op)
{
    return op && op->table->destroy == hierarchy_destroy ? op->self : NULL;
}

/* ---- the constructor ------------------------------------------------------------------------ */

static kry_status check_cycle(const char *who, kry_cycle_params *c)
{
    enum { COARSEST = 256 };
    kry_status st = KRY_OK;

    TRY(kry_smoother_check(who, c));
    CHECK(c->shape == KRY_CYCLE_V, KRY_ERR_ARGUMENT, "%s: shape = %d is none", who, (int)c->shape);
    CHECK(c->coarsest >= 0, KRY_ERR_ARGUMENT, "%s: coarsest = %lld; it must be positive", who,
          (long long)c->coarsest);
    CHECK(c->levels >= 0, KRY_ERR_ARGUMENT, "%s: levels = %d; it must be positive", who, c->levels);
    if (!c->coarsest) c->coarsest = COARSEST;
    if (!c->levels) c->levels = INT_MAX;
done:
    return st;
}

/* What the cycle needs on each level. */
static kry_status equip(kry_hierarchy *H)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < H->count; i++) {
        rung *g = &H->rung[i];
        const kry_op *A = g->level.A, *P = g->level.P;
        const bool coarsest = i == H->count - 1;
        CHECK(coarsest == !P, KRY_ERR_ARGUMENT, "%s: level %d of %d %s a prolongation",
              H->family->who, i, H->count, P ? "has" : "lacks");
        if (i > 0) TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &g->b));
        if (i > 0) TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &g->x));
        if (coarsest) continue;
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &g->work));
        TRY(kry_smoothing_create(H->family->who, &g->level, &H->cycle, &g->smooth));
    }
    TRY(factor_coarsest(H));
done:
    return st;
}

static void write_variant(kry_hierarchy *H)
{
    static const char *const smoothers[] = { "",          "jacobi",     "l1-jacobi",
                                             "chebyshev", "chebyshev4", "red-black" };
    static const char *const shapes[] = { "V", "W", "K" };
    const kry_cycle_params *c = &H->cycle;
    const bool polynomial =
        c->smoother == KRY_SMOOTHER_CHEBYSHEV || c->smoother == KRY_SMOOTHER_CHEBYSHEV4;
    char degree[16] = "";

    if (polynomial) snprintf(degree, sizeof degree, ":%d", c->degree);
    snprintf(H->variant, sizeof H->variant, "%s(%d,%d), %s%s, %d level%s, the last of %lld",
             shapes[c->shape], c->sweeps, c->sweeps, smoothers[c->smoother], degree, H->count,
             H->count == 1 ? "" : "s", (long long)H->rung[H->count - 1].level.A->shape.rows);
}

kry_status kry_hierarchy_create(const kry_family *family, const kry_op *A,
                                const kry_cycle_params *cycle, const void *params, kry_op **M)
{
    kry_status st = KRY_OK;
    kry_hierarchy *H = NULL;
    kry_op_shape shape = A->shape;

    *M = NULL;
    CHECK(kry_layout_size(&A->dev->layout) == 1, KRY_ERR_UNSUPPORTED,
          "%s: multigrid is for one device, and '%s' lies on %d", family->who, A->table->kind,
          kry_layout_size(&A->dev->layout));
    TRY(kry_alloc(1, sizeof *H, &H));
    H->family = family;
    H->cycle = *cycle;
    H->table = cycle_table;
    H->table.kind = family->kind;
    TRY(check_cycle(family->who, &H->cycle));
    TRY(family->create(H, A, params, &H->self));
    CHECK(H->count > 0, KRY_ERR_ARGUMENT, "%s: there are no levels", family->who);
    TRY(equip(H));
    write_variant(H);
    shape.traits = KRY_SYMMETRIC;
    TRY(kry_op_create(A->dev, &H->table, H, &shape, M));
    H = NULL;
done:
    hierarchy_destroy(H);
    return st;
}
