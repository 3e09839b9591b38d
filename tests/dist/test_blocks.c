/*
 * test_blocks.c - grids cut across two or three axes: operators on a team in blocks are those of one device. How many
 * blocks there are and which unknowns they have is in tests/unit/test_partition.c.
 */
#include "grid_pairs.h"
#include <kry/precond.h>

/* ---- on a team ------------------------------------------------------------------------------- */

static const grid *grid_named(const char *name)
{
    for (size_t i = 0; i < COUNT(grids); i++)
        if (!strcmp(grids[i].name, name)) return &grids[i];
    fail_msg("no grid '%s'", name);
    return NULL;
}

static int parts_of(const int blocks[3]) { return blocks[0] * blocks[1] * blocks[2]; }

/* Against the operator that was written down face by face, in plain C. */
static void compare_with_matrix(const pair *q)
{
    matrix M = grid_matrix(q->g, q->k);
    double *x = random_array(q->type, q->n), *zero = calloc((size_t)q->n, sizeof *zero);
    double *y = product_of(q, 1, x, zero); /* 2 A x */
    double size = 0;

    for (int64_t e = 0; e < M.nnz; e++) size = fmax(size, fabs(M.val[e]));
    for (int64_t i = 0; i < q->n; i++) {
        double want = 0;
        for (int64_t e = M.row_ptr[i]; e < M.row_ptr[i + 1]; e++)
            want += 2 * M.val[e] * x[M.col[e]];
        NEAR(y[i], want, 60 * eps_of(q->type) * size, "%s: y[%lld]", q->g->name, (long long)i);
    }
    free(M.row_ptr), free(M.col), free(M.val);
    free(x), free(zero), free(y);
}

static void check_blocks(const char *name, kry_type type, const int blocks[3],
                         const char *const *words, size_t count)
{
    const grid *g = grid_named(name);
    kry_device *team = open_team(parts_of(blocks), (kry_team_params){ 0 });
    pair q = pair_create(g, type, team, blocks);
    kry_op_info info;

    print_message("# %s in %d x %d x %d\n", name, blocks[0], blocks[1], blocks[2]);
    kry_op_describe(q.op[1], &info);
    assert_non_null(strstr(info.variant, "coupled"));
    kry_op_describe(q.op[0], &info);
    const int64_t entries = info.nnz;
    kry_op_describe(q.op[1], &info);
    bool twice = false; /* two faces lead to one cell of another part: they are two entries */
    for (int axis = 0; axis < 3; axis++)
        twice |= g->low[axis] == KRY_PERIODIC && g->size[axis] == 2 && blocks[axis] == 2;
    if (!twice) assert_int_equal(info.nnz, entries);
    compare_all(&q);
    compare_with_matrix(&q);
    for (size_t i = 0; i < count && q.n > 30; i++)
        if (i == 0 || (in_sample((int64_t)i) && !grid_singular(g)))
            compare_solves(&q, words[i], strstr(words[i], "=ip") ? 50 : 10);
    compare_updates(&q);
    pair_release(&q);
    close_team(&team);
}

#define CG        "method=pcg maxit=2000 resident=off rtol=1e-9 precond="
#define CG_SINGLE "method=pcg maxit=2000 resident=off rtol=1e-5 precond="

/* A sample of the cases, others with another seed: each is four kinds of boxes to compile for. */
static void blocks__on_a_team(void **state)
{
    static const char *const all[] = { CG "none",
                                       CG "mg",
                                       CG "jacobi deflation=stripes:5",
                                       CG "chebyshev",
                                       CG "amg",
                                       "method=minres rtol=1e-9",
                                       CG "ip",
                                       CG "jacobi precision=mixed",
                                       CG "jacobi deflation=blocks:4" };
    static const char *const single[] = { CG_SINGLE "none", CG_SINGLE "jacobi" };
    static const struct {
        const char *name;
        kry_type type;
        int blocks[3];
    } cases[] = {
        { "Poisson 16 x 17 x 18", KRY_F64, { 2, 1, 2 } },
        { "a tube 37 x 34", KRY_F32, { 2, 2, 1 } },
        { "faces of a box 10 x 7 x 6", KRY_F64, { 2, 2, 1 } },
        { "a ring 12 x 11 x 10", KRY_F32, { 2, 1, 2 } },
        { "faces 20 x 19", KRY_F64, { 4, 1, 1 } },
        { "a box 10 x 7 x 6", KRY_F64, { 1, 2, 2 } },
        { "faces of a tube 37 x 34", KRY_F64, { 2, 2, 1 } },
        { "Poisson 33 x 17", KRY_F32, { 2, 2, 1 } },
        { "a box 2 x 1 x 9", KRY_F64, { 2, 1, 2 } },
        { "faces of a tube 2 x 5", KRY_F64, { 2, 2, 1 } },
        { "a box 10 x 7 x 6", KRY_F32, { 2, 1, 2 } },
        { "cells 20 x 19", KRY_F64, { 2, 2, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const bool f32 = cases[i].type == KRY_F32;
        if (one_of(6, (int64_t)i))
            check_blocks(cases[i].name, cases[i].type, cases[i].blocks, f32 ? single : all,
                         f32 ? COUNT(single) : COUNT(all));
    }
}

/* ---- what is refused ---------------------------------------------------------------------------- */

static void blocks__refusals(void **state)
{
    (void)state;
    kry_device *team = open_team(4, (kry_team_params){ 0 }),
               *same = open_team(4, (kry_team_params){ .reproducible = true });
    kry_op *A = NULL, *B = NULL, *S = NULL;
    kry_vec *v;
    const kry_stencil_params in_blocks = *KRY_STENCIL(.size = { 9, 8 }, .blocks = { 2, 2 });

    REFUSES(
        kry_stencil_create(team, KRY_F64, KRY_STENCIL(.size = { 9, 8 }, .blocks = { 2, 1 }), &A),
        KRY_ERR_ARGUMENT, "2 x 1 x 1 blocks for 4 devices");
    REFUSES(
        kry_stencil_create(team, KRY_F64, KRY_STENCIL(.size = { 9, 3 }, .blocks = { 1, 4 }), &A),
        KRY_ERR_ARGUMENT, "4 blocks along y, which has 3");
    REFUSES(
        kry_stencil_create(team, KRY_F64, KRY_STENCIL(.size = { 9, 8, 7 }, .blocks = { 2, 2 }), &A),
        KRY_ERR_ARGUMENT, "0 blocks along z");
    REFUSES(kry_stencil_create(device(), KRY_F64, &in_blocks, &A), KRY_ERR_ARGUMENT,
            "2 blocks along x on one device");
    REFUSES(kry_stencil_create(same, KRY_F64, &in_blocks, &A), KRY_ERR_UNSUPPORTED, "reproducible");
    REFUSES(kry_stencil_create(team, KRY_F64, KRY_STENCIL(.size = { 1, 3 }), &A), KRY_ERR_ARGUMENT,
            "cannot be split");
    OK(kry_vec_create(team, KRY_F64, 72, 1, &v));
    REFUSES(kry_stencil_create(team, KRY_F64, &in_blocks, &A), KRY_ERR_SHAPE,
            "make the grid operator first");
    kry_vec_release(&v);
    OK(kry_stencil_create(team, KRY_F64, &in_blocks, &A));
    REFUSES(kry_stencil_create(team, KRY_F64, KRY_STENCIL(.size = { 8, 9 }), &B), KRY_ERR_SHAPE,
            "make the grid operator first");
    REFUSES(kry_solver_create(A, "method=sor", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "no red-black sweep");
    REFUSES(kry_precond_create(A, "mg:smoother=red-black", &S), KRY_ERR_UNSUPPORTED, "colours");
    OK(kry_stencil_create(team, KRY_F64, KRY_STENCIL(.size = { 9, 8 }),
                          &B)); /* as it is cut already */
    kry_op_release(&B);
    kry_op_release(&A);
    close_team(&team);
    close_team(&same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(blocks__on_a_team),
        cmocka_unit_test(blocks__refusals),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, close_device);
}
