/*
 * amg.c - algebraic multigrid: on each level a stored matrix, a prolongation P that a coarsener makes of it, and R = P'; below
 * it R A P. The levels are made in double, large ones on a GPU, others on the host.
 */
#include "amg/adaptive.h"
#include "amg/amg_self.h"
#include "amg/amg_start.h"
#include "amg/part_levels.h"
#include "operator/op_parts.h"
#include <stdlib.h>

static void amg_destroy(void *self)
{
    kry_amg *M = self;
    if (!M) return;
    for (int i = 0; i < M->made; i++) M->by->destroy(M->kept[i]);
    kry_device_levels_release(M->device);
    kry_op_release(&M->narrow);
    kry_op_release(&M->A);
    free(M);
}

void kry_amg_prefer(kry_hierarchy *H, const kry_coarsener *by, bool few)
{
    if (by == &kry_classical_coarsening)
        kry_hierarchy_prefer(H, KRY_SMOOTHER_CHEBYSHEV, 2);
    else
        kry_hierarchy_prefer(H, KRY_SMOOTHER_CHEBYSHEV4, few ? 3 : 2);
}

static kry_status amg_create(kry_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    const kry_cycle_params *cycle = kry_hierarchy_cycle(H);
    kry_amg *M = NULL;

    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->coarsest = cycle->coarsest;
    M->levels = cycle->levels < KRY_AMG_LEVELS ? cycle->levels : KRY_AMG_LEVELS;
    M->keep.type = A->shape.type;
    TRY(kry_amg_make_levels(M, H, params));
    kry_amg_prefer(H, M->by, M->entries <= 1.3 * (double)M->nnz);
    *self = M, M = NULL;
done:
    amg_destroy(M);
    return st;
}

/* ---- the constructor ------------------------------------------------------------------------- */

static kry_status create_alone(const kry_op *A, const kry_amg_params *p, kry_op **M)
{
    static const kry_family family = { .kind = "amg",
                                       .who = kry_amg_who,
                                       .coarsest = 256,
                                       .create = amg_create,
                                       .update = kry_amg_update,
                                       .destroy = amg_destroy };
    return kry_hierarchy_create(&family, A, &p->cycle, p, M);
}

/* With vectors that A has improved for those that are given. */
static kry_status create_adaptive(const kry_op *A, const kry_amg_params *p, kry_op **M)
{
    kry_status st = KRY_OK;
    kry_amg_params with = *p;
    kry_vec *improved = NULL;

    TRY(kry_adaptive_vectors(kry_amg_who, A, p, &improved));
    with.near_null_space = improved;
    TRY(create_alone(A, &with, M));
done:
    kry_vec_release(&improved);
    return st;
}

/* Of A, or in a run of all parts of a share of it. */
static kry_status create_here(const kry_op *A, const void *params, kry_op **M)
{
    static const kry_whole whole = { kry_collect_matrix, create_here, false };
    const kry_amg_params *p = params ? params : KRY_AMG();
    if (kry_is_share(A)) return kry_part_levels_create(&whole, A, p, M);
    return p->adaptive > 0 ? create_adaptive(A, p, M) : create_alone(A, p, M);
}

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;

    const kry_amg_params *p = params;
    TRY(kry_check_sums(kry_amg_who, A));
    CHECK(!A->dev->team || !p || !p->near_null_space, KRY_ERR_UNSUPPORTED,
          "%s: on a team A is told its near null space by kry_op_set_near_null_space", kry_amg_who);
    if (params) TRY(kry_amg_check(kry_amg_who, A, params));
done:
    return st;
}

kry_status kry_amg_create(const kry_op *A, const kry_amg_params *params, kry_op **M)
{
    static const kry_constructor how = { .name = kry_amg_who,
                                         .macro = "KRY_AMG",
                                         .params_size = sizeof(kry_amg_params),
                                         .fields = "x" KRY_CYCLE_FIELDS "idiPidq",
                                         .check = check,
                                         .create = create_here };
    return kry_construct(&how, A, params, M);
}
