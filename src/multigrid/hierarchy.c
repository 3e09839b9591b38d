/* hierarchy.c - the operator behind which the levels of multigrid are, how it is made, and what its levels take. */
#include "multigrid/hierarchy.h"
#include "device/pool.h"
#include "matrix/matrix.h"
#include "multigrid/box.h"
#include "multigrid/cycle.h"
#include "precond/coarse.h"
#include "precond/rows.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- levels --------------------------------------------------------------------------------- */

kry_status kryi_hierarchy_add(kryi_hierarchy *H, const kryi_level *level)
{
    kry_status st = KRY_OK;
    kryi_rung *last = H->count ? &H->rung[H->count - 1] : NULL;

    CHECK(!last || last->level.P, KRY_ERR_ARGUMENT, "%s: level %d has no prolongation",
          H->family->who, H->count - 1);
    CHECK(!last || last->level.P->shape.cols == level->A->shape.rows, KRY_ERR_SHAPE,
          "%s: level %d has %lld unknowns, the prolongation to it %lld columns", H->family->who,
          H->count, (long long)level->A->shape.rows, (long long)last->level.P->shape.cols);
    TRY(kryi_realloc((size_t)H->count + 1, sizeof *H->rung, &H->rung));
    kryi_rung *new = &H->rung[H->count++];
    *new = (kryi_rung){ .level = *level };
    (void)kry_op_retain(level->A);
    (void)kry_op_retain(level->P);
    (void)kry_op_retain(level->R);
done:
    return st;
}

int kryi_hierarchy_levels(const kryi_hierarchy *H) { return H->count; }
kryi_level *kryi_hierarchy_level(kryi_hierarchy *H, int i) { return &H->rung[i].level; }
const kry_cycle_params *kryi_hierarchy_cycle(const kryi_hierarchy *H) { return &H->cycle; }

void kryi_hierarchy_prefer(kryi_hierarchy *H, kry_smoother smoother, int degree, int sweeps)
{
    if (H->any_sweeps) H->cycle.sweeps = sweeps;
    if (H->any_degree) H->cycle.degree = degree;
    if (H->any_smoother) H->cycle.smoother = smoother;
}

/* ---- the coarsest level ---------------------------------------------------------------------- */

/* Return the relative rounding error of sums over rows. In double and in flux form jumps of 10^6 are above it. */
static double rounding_of(const kry_op *A)
{
    const kryi_box *B = kryi_box_of(A);
    const bool flux = B && B->slots > B->half;
    return A->shape.type == KRY_F64 || flux ? 2e-9 : 1e-5;
}

/* Constants are mapped to zero, but for rounding. */
static bool loses_constants(const kry_op *A, const kryi_csr *E)
{
    const double rounding = rounding_of(A), *val = E->val;

    for (int64_t i = 0; i < E->rows; i++) {
        double sum = 0, size = 0;
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++)
            sum += val[e], size += fabs(val[e]);
        if (!(fabs(sum) <= rounding * size)) return false;
    }
    return true;
}

/*
 * x := A^-1 b for a symmetric A, definite or semi-definite; above 1024 unknowns with A 1 = 0 and no other
 * null space. A is a box, or has rows to be read; x and b are of `type`. Waits.
 *
 * Returns  KRY_ERR_ARGUMENT for an A that is not positive definite; as kryi_coarse_create
 */
static kry_status coarsest_create(const char *who, const kry_op *A, kry_type type,
                                  kryi_coarse **coarse)
{
    kry_status st = KRY_OK;
    kryi_csr E = { 0 };
    double *inverse = NULL;

    *coarse = NULL;
    TRY(kryi_box_of(A) ? kryi_box_rows(who, A, &E) : kryi_rows_read(who, A, &E));
    const kryi_coarse_how how = { .singular = loses_constants(A, &E), .rounding = rounding_of(A) };
    if (!how.singular || E.rows > 1) { /* a single unknown may be a zero */
        TRY(kryi_alloc((size_t)A->shape.rows, sizeof *inverse, &inverse));
        TRY(kryi_rows_symmetrise(who, A, &E, inverse));
    }
    st = kryi_coarse_create(A->dev, type, &how, &E, coarse);
    CHECK(st != KRY_ERR_SINGULAR, KRY_ERR_ARGUMENT,
          "%s: the matrix of the coarsest level, %lld-by-%lld, is not positive definite", who,
          (long long)A->shape.rows, (long long)A->shape.rows);
done:
    free(inverse);
    kryi_csr_release(&E);
    return st;
}

/* ---- what the levels take -------------------------------------------------------------------- */

static double bytes_of(const kry_vec *v)
{
    return v ? (double)(v->n * v->k) * (double)kry_type_size(v->type) : 0;
}

static double vector_bytes(const kryi_rung *g)
{
    double bytes =
        bytes_of(g->b) + bytes_of(g->x) + bytes_of(g->work) + bytes_of(g->smooth.relaxer.residual);
    for (size_t k = 0; k < COUNT(g->again); k++) bytes += bytes_of(g->again[k]);
    return bytes;
}

static kry_op_info described(const kry_op *op)
{
    kry_op_info info;
    kry_op_describe(op, &info);
    return info;
}

/* One operator after the other: each step reads b beside its product, the first one only b and D. */
static double step_by_step(const kryi_rung *g)
{
    const kry_op *A = g->level.A, *R = g->level.R;
    const double word = (double)A->shape.rows * (double)kry_type_size(A->shape.type);
    const double product = described(A).bytes_per_apply, both = 2 * g->smooth.down.count;
    const double up = described(g->level.P).bytes_per_apply;
    const double down = R ? described(R).bytes_per_apply : up;
    const bool plain = kryi_smoothing_by_diagonal(&g->smooth);
    const double step = plain ? kryi_relaxer_bytes(&g->smooth.relaxer) : product + word;
    const double first = g->smooth.entry != 0 && both > 2 ? -word : 3 * word;

    if (!(product > 0 && down > 0)) return 0;
    if (kryi_rung_corrects_at_once(g))
        return first + (both - 2) * step + g->level.passes->bytes(g->level.self);
    return first + (both - 1) * step + product + word + down + up + word;
}

static double bytes_per_cycle(const kryi_rung *g)
{
    if (kryi_rung_is_fused(g)) return g->level.passes->bytes(g->level.self);
    return step_by_step(g);
}

/* Bytes that a cycle in single moves besides: b is measured, rounded, and x widened, as far as the finest level's passes do not do that. */
static double bytes_between(const kryi_hierarchy *H)
{
    enum { MEASURED = 8, ROUNDED = 8 + 4, WIDENED = 8 + 4 + 8, BY_STEP = WIDENED - 3 * 4 };
    const double n = (double)H->rung[0].level.A->shape.rows;

    if (!H->narrow) return 0;
    if (kryi_rung_has_narrow_passes(H->rung)) return MEASURED * n;
    return (MEASURED + ROUNDED + (H->widens ? BY_STEP : WIDENED)) * n;
}

static void describe(const kryi_hierarchy *H, int i, kry_level_info *info)
{
    const kryi_rung *g = &H->rung[i];
    kry_op_info coarse = { .variant = "nothing to solve" };

    *info = (kry_level_info){ .rows = g->level.A->shape.rows,
                              .matrix = g->level.A,
                              .prolongation = g->level.P,
                              .smoother = H->smoother,
                              .vector_bytes = vector_bytes(g) };
    if (i < H->count - 1) {
        info->bytes_per_cycle = bytes_per_cycle(g);
        if (!i && info->bytes_per_cycle > 0) info->bytes_per_cycle += bytes_between(H);
        return;
    }
    if (H->coarse) kryi_coarse_describe(H->coarse, &coarse);
    info->smoother = coarse.variant;
    info->solver_bytes = coarse.bytes_stored;
    info->bytes_per_cycle = coarse.bytes_per_apply;
}

/* The bytes that a V-cycle moves at least; 0: not known. */
static double bytes_moved(const kryi_hierarchy *H)
{
    double bytes = 0;
    kry_level_info info;

    for (int i = 0; i < H->count; i++) {
        describe(H, i, &info);
        if (!(info.bytes_per_cycle > 0)) return 0;
        bytes += info.bytes_per_cycle;
    }
    return bytes;
}

/* What the finest level keeps beside A. */
static double beside_A(const kryi_hierarchy *H)
{
    const kry_op *A = H->rung[0].level.A;

    if (!H->narrow && !H->rung[0].level.shell) return 0;
    if (kryi_matrix_of(A)) return kryi_matrix_narrowed_bytes(A);
    return described(A).bytes_stored;
}

/* The bytes that the set-up keeps beside A, as far as its operators say. */
static double bytes_kept(const kryi_hierarchy *H)
{
    double bytes = 0;
    kry_level_info info;

    for (int i = 0; i < H->count; i++) {
        describe(H, i, &info);
        bytes += (i ? described(info.matrix).bytes_stored : beside_A(H)) +
                 described(info.prolongation).bytes_stored +
                 described(H->rung[i].level.R).bytes_stored + info.vector_bytes + info.solver_bytes;
    }
    return bytes;
}

int kry_multigrid_levels(const kry_op *M)
{
    const kryi_hierarchy *H = kryi_hierarchy_of(M);
    return H ? H->count : 0;
}

kry_status kry_multigrid_level(const kry_op *M, int i, kry_level_info *level)
{
    kry_status st = KRY_OK;

    TRY(GIVEN(level, M));
    const kryi_hierarchy *H = kryi_hierarchy_of(M);
    CHECK(H, KRY_ERR_ARGUMENT, "kry_multigrid_level: '%s' has no levels", M->table->kind);
    CHECK(i >= 0 && i < H->count, KRY_ERR_ARGUMENT,
          "kry_multigrid_level: level %d is not in 0 ... %d", i, H->count - 1);
    describe(H, i, level);
done:
    return st;
}

/* ---- the operator --------------------------------------------------------------------------- */

static kry_status cycle_run(void *self, const kry_vec *r, kry_vec *z)
{
    kry_vec x = kryi_vec_borrow(z);
    return kryi_cycle_run(self, false, r, &x, (kryi_cycle_sums){ 0 });
}

static kry_status cycle_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    kry_vec x = kryi_vec_borrow(z);
    return kryi_cycle_run(self, false, r, &x, (kryi_cycle_sums){ .dots = sum });
}

static kry_status cycle_apply_dots_again(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    kry_vec x = kryi_vec_borrow(z);
    return kryi_cycle_run(self, false, r, &x, (kryi_cycle_sums){ .dots = sum, .known = sum });
}

static kry_status cycle_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kryi_op_apply_by(cycle_run, self, alpha, x, beta, y);
}

static void hierarchy_destroy(void *self)
{
    kryi_hierarchy *H = self;
    if (!H) return;
    for (int i = 0; i < H->count; i++) {
        kryi_rung *g = &H->rung[i];
        kryi_smoothing_release(&g->smooth);
        for (size_t k = 0; k < COUNT(g->again); k++) kry_vec_release(&g->again[k]);
        kry_vec_release(&g->work);
        kry_vec_release(&g->x);
        kry_vec_release(&g->b);
        kry_op_release(&g->level.R);
        kry_op_release(&g->level.P);
        kry_op_release(&g->level.A);
    }
    kryi_narrow_release(&H->narrow);
    kryi_coarse_release(&H->coarse);
    H->family->destroy(H->self);
    free(H->rung);
    free(H);
}

/* The type of the levels' vectors. */
static kry_type type_of(const kryi_hierarchy *H) { return H->rung[0].level.A->shape.type; }

/* coarsest_create for an A that need not be symmetric; what a singular one cannot solve for is left out. */
static kry_status coarsest_by_lu(const char *who, const kry_op *A, kry_type type,
                                 kryi_coarse **coarse)
{
    kry_status st = KRY_OK;
    const kryi_coarse_how how = { .unsymmetric = true };
    kryi_csr E = { 0 };

    *coarse = NULL;
    TRY(kryi_rows_read(who, A, &E));
    TRY(kryi_coarse_create(A->dev, type, &how, &E, coarse));
done:
    kryi_csr_release(&E);
    return st;
}

static kry_status factor_coarsest(kryi_hierarchy *H)
{
    kry_status st = KRY_OK;
    const kryi_level *last = &H->rung[H->count - 1].level;
    const kry_op *A = last->A;
    kryi_coarse *coarse = NULL;

    if (A->shape.rows == 0) return KRY_OK;
    TRY((last->unsymmetric ? coarsest_by_lu : coarsest_create)(H->family->who, A, type_of(H),
                                                               &coarse));
    kryi_coarse_release(&H->coarse);
    H->coarse = coarse;
done:
    return st;
}

static kry_status settle(kryi_hierarchy *H)
{
    if (H->narrow) H->narrow->factor = H->rung[0].level.factor, H->narrow->measured = false;
    return H->family->settle ? H->family->settle(H, H->self, &H->tail) : KRY_OK;
}

static kry_status hierarchy_renew(void *self)
{
    kryi_hierarchy *H = self;
    kry_status st = KRY_OK;
    bool pooled = false;
    kry_device *dev = H->rung[0].level.A->dev;

    TRY(kryi_pool_open(dev));
    pooled = true;
    TRY(H->family->update(H, H->self));
    for (int i = 0; i + 1 < H->count; i++)
        TRY(kryi_smoothing_update(H->family->who, &H->rung[i].level, &H->cycle,
                                  &H->rung[i].smooth));
    TRY(factor_coarsest(H));
    TRY(settle(H));
done:
    if (pooled) kryi_pool_close(dev);
    return st;
}

static void hierarchy_describe(void *self, kry_op_info *info)
{
    const kryi_hierarchy *H = self;
    info->variant = H->variant;
    info->bytes_stored = bytes_kept(H);
    info->bytes_per_apply = H->cycle.shape == KRY_CYCLE_V ? bytes_moved(H) : 0;
}

static const kry_op_table cycle_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "multigrid",
    .apply = cycle_apply,
    .describe = hierarchy_describe,
    .destroy = hierarchy_destroy,
};

static const kryi_op_fused cycle_fused = { .renew = hierarchy_renew },
                           narrow_fused = { .apply_dots_again = cycle_apply_dots_again,
                                            .renew = hierarchy_renew };

kryi_hierarchy *kryi_hierarchy_of(const kry_op *op)
{
    return op && op->table->destroy == hierarchy_destroy ? op->self : NULL;
}

/* ---- the constructor ------------------------------------------------------------------------ */

#define PARAMS kry_cycle_params
const kryi_field kryi_cycle_fields[] = {
    { KRY_FIELD(INT, smoother),
      KRY_WORD("smoother", CHOICE, "=auto|jacobi|chebyshev|chebyshev4|red-black",
               "what smooths on each level") },
    { KRY_FIELD(INT, degree),
      KRY_WORD("degree", WHOLE, "=N", "of Chebyshev's polynomials (default 2)"),
      KRY_CLOSED(1, KRY_SMOOTHER_DEGREE) },
    { KRY_FIELD(INT, sweeps),
      KRY_WORD("sweeps", WHOLE, "=N",
               "of the smoother, before and after the coarser levels (default 1)"),
      KRY_CLOSED(1, KRY_SMOOTHER_SWEEPS) },
    { KRY_FIELD(DOUBLE, omega),
      KRY_WORD("omega", REAL, "=W", "weight of Jacobi, and of red-black sweeps"),
      KRY_OPEN(0, INFINITY) },
    { KRY_FIELD(INT, scaling), KRY_WORD("scaling", CHOICE, "=diagonal|l1|block|fsai",
                                        "what a smoothing step multiplies the residual with") },
    { KRY_FIELD(INT, shape),
      KRY_WORD("cycle", CHOICE, "=v|w|k|f", "how often levels are visited") },
    { KRY_FIELD(INT64, coarsest),
      KRY_WORD("coarsest", WHOLE, "=N", "unknowns up to which a level is solved exactly"),
      KRY_CLOSED(1, INFINITY) },
    { KRY_FIELD(INT, levels), KRY_WORD("levels", WHOLE, "=N", "at most"), KRY_CLOSED(1, INFINITY) },
    { KRY_FIELD(INT, values), KRY_WORD("values", CHOICE, "=auto|single|double",
                                       "numbers of the cycle for a grid or a matrix in double") },
    { 0 },
};

static kry_status check_cycle(const kryi_family *family, kry_cycle_params *c)
{
    kry_status st = KRY_OK;

    TRY(kryi_fields_check(family->who, kryi_cycle_fields, c));
    TRY(kryi_smoother_check(family->who, c));
    if (!c->coarsest) c->coarsest = family->coarsest;
    if (!c->levels) c->levels = INT_MAX;
done:
    return st;
}

/* What other parts have of a vector may be read before it has come. */
static kry_status create_vector(const kryi_hierarchy *H, const kryi_level *L, kry_vec **v)
{
    return (L->shell ? kry_vec_create : kryi_vec_create_room)(L->A->dev, type_of(H),
                                                              L->A->shape.rows, 1, v);
}

/* What the cycle needs on each level. */
static kry_status equip(kryi_hierarchy *H)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < H->count; i++) {
        kryi_rung *g = &H->rung[i];
        const kry_op *P = g->level.P;
        const bool coarsest = i == H->count - 1;
        CHECK(coarsest == !P, KRY_ERR_ARGUMENT, "%s: level %d of %d %s a prolongation",
              H->family->who, i, H->count, P ? "has" : "lacks");
        const bool own = i > 0 || H->narrow || g->level.shell;
        if (own) TRY(create_vector(H, &g->level, &g->b));
        if (own) TRY(create_vector(H, &g->level, &g->x));
        if (coarsest) continue;
        TRY(create_vector(H, &g->level, &g->work));
        for (int k = 0; k < kryi_cycle_room(H->cycle.shape, i, H->count); k++)
            TRY(create_vector(H, &g->level, &g->again[k]));
        TRY(kryi_smoothing_create(H->family->who, &g->level, &H->cycle, &g->smooth));
    }
    TRY(factor_coarsest(H));
done:
    return st;
}

static void write_variant(kryi_hierarchy *H)
{
    static const char *const shapes[] = { "V", "W", "K", "F" };
    const kry_cycle_params *c = &H->cycle;

    kryi_smoother_name(c, H->smoother, sizeof H->smoother);
    snprintf(H->variant, sizeof H->variant, "%s(%d,%d)%s, %s, %d level%s, the last of %lld",
             shapes[c->shape], c->sweeps, c->sweeps, H->narrow ? " in single" : "", H->smoother,
             H->count, H->count == 1 ? "" : "s",
             (long long)H->rung[H->count - 1].level.A->shape.rows);
}

static kry_status create(const kryi_family *family, const kry_op *A, const kry_cycle_params *cycle,
                         const void *params, kry_op **M)
{
    kry_status st = KRY_OK;
    kryi_hierarchy *H = NULL;
    kry_op_shape shape = A->shape;

    *M = NULL;
    TRY(kryi_alloc(1, sizeof *H, &H));
    H->family = family;
    H->cycle = *cycle;
    H->any_smoother = cycle->smoother == KRY_SMOOTHER_AUTO;
    H->any_degree = cycle->degree == 0;
    H->any_sweeps = cycle->sweeps == 0;
    H->table = cycle_table;
    H->table.kind = family->kind;
    TRY(check_cycle(family, &H->cycle));
    TRY(family->create(H, A, params, &H->self));
    CHECK(H->count > 0, KRY_ERR_ARGUMENT, "%s: there are no levels", family->who);
    if (H->rung[0].level.factor != 0) TRY(kryi_narrow_create(A->dev, &H->narrow));
    TRY(equip(H));
    TRY(settle(H));
    if (H->narrow) TRY(kryi_cycle_widen(H));
    write_variant(H);
    if (kryi_cycle_leaves_dots(H)) H->table.apply_dots = cycle_apply_dots;
    if (kryi_cycle_takes_columns(H)) H->table.apply_block = cycle_apply;
    shape.traits = H->rung[0].level.unsymmetric    ? 0
                   : H->cycle.shape >= KRY_CYCLE_K ? KRY_VARYING
                                                   : KRY_SYMMETRIC;
    TRY(kryi_op_create_fused(A->dev, &H->table, H->narrow ? &narrow_fused : &cycle_fused, H, &shape,
                             M));
    H = NULL;
done:
    hierarchy_destroy(H);
    return st;
}

kry_status kryi_hierarchy_create(const kryi_family *family, const kry_op *A,
                                 const kry_cycle_params *cycle, const void *params, kry_op **M)
{
    kry_status st = kryi_pool_open(A->dev);

    *M = NULL;
    if (st < 0) return st;
    st = create(family, A, cycle, params, M);
    kryi_pool_close(A->dev);
    return st;
}
