/* levels.c - what the levels of multigrid are made of, and what they take. */
#include "matrix/matrix.h"
#include "multigrid/cycle.h"

static double bytes_of(const kry_vec *v)
{
    return v ? (double)(v->n * v->k) * (double)kry_type_size(v->type) : 0;
}

static double vector_bytes(const kry_rung *g)
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
static double step_by_step(const kry_rung *g)
{
    const kry_op *A = g->level.A, *R = g->level.R;
    const double word = (double)A->shape.rows * (double)kry_type_size(A->shape.type);
    const double product = described(A).bytes_per_apply, both = 2 * g->smooth.down.count;
    const double up = described(g->level.P).bytes_per_apply;
    const double down = R ? described(R).bytes_per_apply : up;
    const bool plain = kry_smoothing_by_diagonal(&g->smooth);
    const double step = plain ? kry_relaxer_bytes(&g->smooth.relaxer) : product + word;
    const double first = g->smooth.entry != 0 && both > 2 ? -word : 3 * word;

    if (!(product > 0 && down > 0)) return 0;
    if (kry_rung_corrects_at_once(g))
        return first + (both - 2) * step + product + word + down +
               g->level.passes->bytes(g->level.self);
    return first + (both - 1) * step + product + word + down + up + word;
}

static double bytes_per_cycle(const kry_rung *g)
{
    if (kry_rung_is_fused(g)) return g->level.passes->bytes(g->level.self);
    return step_by_step(g);
}

/* Of a cycle in single: b is measured, rounded, and x widened, as far as the finest level's passes do not do that. */
static double bytes_between(const kry_hierarchy *H)
{
    enum { MEASURED = 8, ROUNDED = 8 + 4, WIDENED = 8 + 4 + 8, BY_STEP = WIDENED - 3 * 4 };
    const double n = (double)H->rung[0].level.A->shape.rows;

    if (!H->narrow) return 0;
    if (kry_rung_has_narrow_passes(H->rung)) return MEASURED * n;
    return (MEASURED + ROUNDED + (H->widens ? BY_STEP : WIDENED)) * n;
}

static void describe(const kry_hierarchy *H, int i, kry_level_info *info)
{
    const kry_rung *g = &H->rung[i];
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
    if (H->coarse) kry_coarse_describe(H->coarse, &coarse);
    info->smoother = coarse.variant;
    info->solver_bytes = coarse.bytes_stored;
    info->bytes_per_cycle = coarse.bytes_per_apply;
}

double kry_cycle_bytes(const kry_hierarchy *H)
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
static double beside_A(const kry_hierarchy *H)
{
    const kry_op *A = H->rung[0].level.A;

    if (!H->narrow && !H->rung[0].level.shell) return 0;
    if (kry_matrix_of(A)) return kry_matrix_narrowed_bytes(A);
    return described(A).bytes_stored;
}

double kry_cycle_bytes_stored(const kry_hierarchy *H)
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
    const kry_hierarchy *H = kry_hierarchy_of(M);
    return H ? H->count : 0;
}

kry_status kry_multigrid_level(const kry_op *M, int i, kry_level_info *level)
{
    kry_status st = KRY_OK;

    TRY(GIVEN(level, M));
    const kry_hierarchy *H = kry_hierarchy_of(M);
    CHECK(H, KRY_ERR_ARGUMENT, "kry_multigrid_level: '%s' has no levels", M->table->kind);
    CHECK(i >= 0 && i < H->count, KRY_ERR_ARGUMENT,
          "kry_multigrid_level: level %d is not in 0 ... %d", i, H->count - 1);
    describe(H, i, level);
done:
    return st;
}
