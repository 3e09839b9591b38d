/* levels.c - what the levels of multigrid are made of, and what they take. */
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

static void describe(const kry_hierarchy *H, int i, kry_level_info *info)
{
    const kry_rung *g = &H->rung[i];
    kry_op_info coarse = { .variant = "nothing to solve" };

    *info = (kry_level_info){ .rows = g->level.A->shape.rows,
                              .smoother = H->smoother,
                              .vector_bytes = vector_bytes(g) };
    kry_op_describe(g->level.A, &info->matrix);
    kry_op_describe(g->level.P, &info->prolongation);
    if (i < H->count - 1) return;
    if (H->coarse) kry_coarse_describe(H->coarse, &coarse);
    info->smoother = coarse.variant;
    info->solver_bytes = coarse.bytes_stored;
}

double kry_cycle_bytes_stored(const kry_hierarchy *H)
{
    double bytes = 0;
    kry_level_info info;
    kry_op_info R;

    for (int i = 0; i < H->count; i++) {
        describe(H, i, &info);
        kry_op_describe(H->rung[i].level.R, &R);
        bytes += (i ? info.matrix.bytes_stored : 0) + info.prolongation.bytes_stored +
                 R.bytes_stored + info.vector_bytes + info.solver_bytes;
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
