/*
 * test_blocks.c - grids cut across two or three axes: how many blocks, which unknowns they have, and that operators on a
 * team in blocks are those of one device.
 */
#include "grid/stencil.h"
#include "grid_pairs.h"
#include "team/boxes.h"
#include <kry/precond.h>

/* ---- the rule -------------------------------------------------------------------------------- */

static kryi_grid_cut cut_of(int64_t x, int64_t y, int64_t z, int axes)
{
    return (kryi_grid_cut){ .size = { x, y, z }, .axes = axes };
}

static void expect(const kryi_grid_cut *g, int parts, int x, int y, int z)
{
    int got[3];

    kryi_boxes_choose(g, parts, got);
    if (got[0] != x || got[1] != y || got[2] != z)
        fail_msg("%d parts of %d x %d x %d: %d x %d x %d, not %d x %d x %d", parts, (int)g->size[0],
                 (int)g->size[1], (int)g->size[2], got[0], got[1], got[2], x, y, z);
}

static void choose__slabs_of_few_and_boxes_of_many(void **state)
{
    (void)state;
    kryi_grid_cut cube = cut_of(64, 64, 64, 3), plane = cut_of(128, 128, 1, 2),
                  rod = cut_of(8, 8, 1000, 3);
    expect(&cube, 1, 1, 1, 1);
    expect(&cube, 2, 1, 1, 2);
    expect(&cube, 4, 1, 1, 4);
    expect(&cube, 6, 1, 1, 6);
    expect(&cube, 7, 1, 1, 7);
    expect(&cube, 8, 2, 2, 2);
    expect(&cube, 16, 2, 2, 4);
    expect(&cube, 64, 4, 4, 4);
    expect(&cube, 67, 0, 0, 0); /* a prime, and more than layers */
    expect(&cube, 66, 2, 3, 11);
    expect(&plane, 4, 1, 4, 1);
    expect(&plane, 16, 1, 16, 1); /* half of it would be worth no more */
    expect(&plane, 25, 5, 5, 1);
    expect(&rod, 64, 1, 1, 64); /* its cross-section is small */
    kryi_grid_cut ring = cube;  /* what goes round has two neighbours from two parts on */
    for (int a = 0; a < 3; a++) ring.periodic[a] = true;
    expect(&ring, 8, 1, 1, 8);
    assert_int_equal(kryi_boxes_words(&ring, (int[]){ 2, 2, 2 }), 6 * 32 * 32);
    assert_int_equal(kryi_boxes_words(&cube, (int[]){ 2, 2, 2 }), 3 * 32 * 32);
    assert_int_equal(kryi_boxes_words(&cube, (int[]){ 1, 1, 64 }), 2 * 64 * 64);
}

/* No boxes send less than those that were chosen; and if they were, less than half of what slabs send. */
static void choose__no_boxes_send_less(void **state)
{
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        const int axes = 2 + turn % 2, parts = 1 + (int)random_below(40);
        kryi_grid_cut g = cut_of(1 + random_below(30), 1 + random_below(30),
                                 axes == 3 ? 1 + random_below(30) : 1, axes);
        int got[3], least[3] = { 0 };
        int64_t words = INT64_MAX;
        for (int a = 0; a < axes; a++) g.periodic[a] = random_below(3) == 0;
        for (int x = 1; x <= parts; x++)
            for (int y = 1; x * y <= parts; y++) {
                const int some[3] = { x, y, parts / (x * y) };
                if (x * y * some[2] != parts || x > g.size[0] || y > g.size[1] ||
                    some[2] > g.size[2])
                    continue;
                if (kryi_boxes_words(&g, some) < words)
                    words = kryi_boxes_words(&g, some), memcpy(least, some, sizeof some);
            }
        kryi_boxes_choose(&g, parts, got);
        const int slabs[3] = { 1, axes == 3 ? 1 : parts, axes == 3 ? parts : 1 };
        const bool fit = parts <= g.size[axes - 1];
        if (words == INT64_MAX) {
            assert_int_equal(got[0], 0);
        } else if (fit && 2 * words >= kryi_boxes_words(&g, slabs)) {
            assert_memory_equal(got, slabs, sizeof got);
        } else {
            assert_int_equal(kryi_boxes_words(&g, got), words);
        }
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Every unknown lies in one box, whose neighbours know it. */
static void boxes__have_each_unknown_once(void **state)
{
    (void)state;
    int64_t x[] = { 0, 2, 5 }, y[] = { 0, 1, 4, 6 }, z[] = { 0, 3, 4 }, i;
    const kryi_boxes B = { .size = { 5, 6, 4 }, .parts = { 2, 3, 2 }, .begin = { x, y, z } };
    bool seen[120] = { false };

    for (int r = 0; r < 12; r++) {
        const kryi_grid_box box = kryi_boxes_part(&B, r);
        for (int64_t j = 0; j < box.size[0] * box.size[1] * box.size[2]; j++) {
            const int64_t row = kryi_boxes_row(&B, r, j);
            assert_true(row >= 0 && row < 120 && !seen[row]);
            seen[row] = true;
            assert_int_equal(kryi_boxes_find(&B, row, &i), r);
            assert_int_equal(i, j);
        }
        for (int a = 0; a < 3; a++)
            for (int high = 0; high < 2; high++) {
                const int to = kryi_boxes_beside(&B, r, a, high, false),
                          round = kryi_boxes_beside(&B, r, a, high, true);
                const int64_t end = high ? B.parts[a] - 1 : 0;
                if (box.at[a] == end) assert_int_equal(to, -1);
                if (to >= 0) assert_int_equal(to, round);
                assert_int_equal(kryi_boxes_beside(&B, round, a, !high, true), r);
            }
    }
    for (int row = 0; row < 120; row++) assert_true(seen[row]);
}

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
        cmocka_unit_test(choose__slabs_of_few_and_boxes_of_many),
        cmocka_unit_test(choose__no_boxes_send_less),
        cmocka_unit_test(boxes__have_each_unknown_once),
        cmocka_unit_test(blocks__on_a_team),
        cmocka_unit_test(blocks__refusals),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, close_device);
}
