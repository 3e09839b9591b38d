/*
 * test_team_multigrid.c - multigrid on several devices against one: the same cycle, the same iterations, also after
 * new numbers.
 */
#include "team_suite.h"
#include <kry/multigrid.h>
#include <kry/precond.h>

/* Bounds of a grid's spectrum are kept as float, and the last bit of one may differ, so smoothers differ by that. */
static double cycle_tolerance(kry_type type) { return fmax(tolerance(type), 1e-6); }

/* With values=double if A is: values=auto of a stored matrix is single on one device, double on a team. */
static void same_cycles(const pair *p, const char *words)
{
    kry_op *one, *all;

    OK(kry_precond_create(p->one, words, &one));
    OK(kry_precond_create(p->all, words, &all));
    assert_true(kry_op_get_shape(all)->traits == kry_op_get_shape(one)->traits);
    same_products(one, all, cycle_tolerance(p->type), words);
    kry_op_release(&one);
    kry_op_release(&all);
}

/* ---- stored matrices --------------------------------------------------------------------------- */

static void team_amg__matrices(void **state)
{
    static const char *const specs[] = { "poisson2d:31", "twophase2d:24:10:layers",
                                         "geograph_spd:700", "poisson2d:9" /* one level */ };
    const kry_type type = type_of(state);

    EACH_TEAM(t, type) for (size_t s = 0; s < COUNT(specs); s++)
    {
        pair p = pair_of(specs[s], &teams[t], type);
        if (!teams[t].by_graph)
            same_cycles(&p, "amg:coarsest=90,values=double"); /* its rows have another order */
        same_by_words(&p, "precond=amg:coarsest=40,smoother=jacobi,cycle=w");
        same_by_words(&p, "precond=amg:coarsest=40,smoother=jacobi,scaling=l1");
        same_by_words(&p, "precond=amg:coarsest=40,scaling=block");
        if (s == 0) same_by_words(&p, "precond=amg:coarsest=40,cycle=k deflation=stripes:20");
        if (s == 1 && type == KRY_F64) same_by_words(&p, "precond=amg precision=mixed");
        pair_release(&p);
    }
}

/* Rigid body modes are told part by part. */
static void team_amg__near_null_space(void **state)
{
    const kry_type type = type_of(state);

    EACH_TEAM(t, type)
    {
        pair p = pair_of("elasticity2d:20x7", &teams[t], type);
        double *modes = calloc((size_t)(3 * p.n), sizeof *modes);
        assert_non_null(modes);
        OK(kry_rigid_body_modes(2, p.n / 2, p.problem->coordinates, modes));
        kry_vec *V = vec_on(device(), type, modes, p.n, 3), *W = vec_on(p.dev, type, modes, p.n, 3);
        OK(kry_op_set_near_null_space(p.one, V));
        OK(kry_op_set_near_null_space(p.all, W));
        same_by_words(&p, "precond=amg:coarsest=30,block=2");
        if (type == KRY_F64) same_by_words(&p, "precond=amg:coarsest=30,block=2 precision=mixed");
        kry_op *M = NULL;
        REFUSES(kry_amg_create(p.all, KRY_AMG(.near_null_space = W), &M), KRY_ERR_UNSUPPORTED,
                "on a team A is told");
        kry_vec_release(&V), kry_vec_release(&W);
        free(modes);
        pair_release(&p);
    }
}

/* ---- grids --------------------------------------------------------------------------------------- */

enum { NUMBERS = 3 * 2100 };

static double *positive_numbers(void)
{
    double *k = calloc(NUMBERS, sizeof *k);
    assert_non_null(k);
    for (int i = 0; i < NUMBERS; i++) k[i] = exp(3 * random_number(KRY_F64));
    return k;
}

static void team_mg__grids(void **state)
{
    const kry_type type = type_of(state);
    double *k = positive_numbers();
    const kry_stencil_params grids[] = {
        { .size = { 31, 40 } },
        { .size = { 37, 34 },
          .low = { KRY_PERIODIC, KRY_PERIODIC },
          .high = { KRY_PERIODIC, KRY_PERIODIC },
          .coefficient = k },
        { .size = { 20, 9, 11 },
          .low = { 1, 2, 0 },
          .high = { 0, 2, 1 },
          .coefficient = k,
          .face = { k + 1, k + 50, k + 7 } },
        { .size = { 11, 10, 17 }, .spacing = { 1, 1, 0.1 } },
        { .size = { 8, 9 } } /* one level */
    };

    EACH_TEAM(t, type) for (size_t g = 0; g < COUNT(grids); g++)
    {
        if (teams[t].by_graph) continue; /* grids are cut into slabs */
        kry_stencil_params params = grids[g];
        params.struct_size = sizeof params;
        pair p = grid_pair_of(&params, &teams[t], type);
        same_cycles(&p, "mg:coarsest=90,values=double");
        same_by_words(&p, "precond=mg");
        if (g == 0) same_by_words(&p, "precond=mg:coarsest=40,smoother=red-black");
        if (g == 0) same_by_words(&p, "method=fmg precond=mg:coarsest=40,cycle=f");
        if (g == 0) same_by_words(&p, "precond=mg:coarsest=40,cycle=k");
        if (g == 1 && type == KRY_F64) same_by_words(&p, "precond=mg:coarsest=40 precision=mixed");
        pair_release(&p);
    }
    free(k);
}

/* How many levels below the finest are in parts. */
static int levels_in_parts(const kry_op *all, const char *words)
{
    kry_op *M;

    OK(kry_precond_create(all, words, &M));
    const int count = multigrid_levels_in_parts(M);
    kry_op_release(&M);
    return count;
}

/* Ways to go over the levels, each with another number of layers around a part's points that have to be right; in turns. */
static void same_other_cycles(const pair *p, size_t turn)
{
    static const char *const ways[] = { "cycle=w",  "degree=6",        "cycle=k",
                                        "degree=3", "smoother=jacobi", "degree=4,sweeps=2",
                                        "cycle=f" };
    char words[80];

    snprintf(words, sizeof words, "mg:coarsest=30,values=double,gather=100,%s",
             ways[turn % COUNT(ways)]);
    same_cycles(p, words);
    if (turn % 3 == 0) same_by_words(p, "method=fmg precond=mg:coarsest=20,gather=40");
}

/* Levels in parts: the same numbers and iterations as on one device, wherever grids are cut. */
static void team_mg__levels_in_parts(void **state)
{
    const kry_type type = type_of(state);
    double *k = positive_numbers();
    static const struct {
        int parts, blocks[3];
    } cuts[] = { { 4, { 2, 2, 1 } }, { 7, { 0 } }, { 3, { 0 } }, { 2, { 0 } } };
    const kry_stencil_params grids[] = {
        { .size = { 31, 40 } },
        { .size = { 80, 72 }, /* singular */
          .low = { KRY_PERIODIC, KRY_PERIODIC },
          .high = { KRY_PERIODIC, KRY_PERIODIC },
          .coefficient = k },
        { .size = { 9, 7, 30 },
          .low = { 1, 2, 0 },
          .high = { 0, 2, 1 },
          .coefficient = k,
          .face = { k + 1, k + 50, k + 7 } },
        { .size = { 13, 10, 29 }, .spacing = { 1, 1, 0.1 } },
        { .size = { 45, 37 }, .low = { 1, 1 }, .high = { 1, 1 }, .coefficient = k + 3 },
    };

    for (size_t c = 0; c < COUNT(cuts); c++)
        for (size_t g = 0; g < COUNT(grids); g++) {
            const team t = { .parts = cuts[c].parts };
            kry_stencil_params params = grids[g];
            if (!in_sample((int64_t)(2 * c + g) + (type == KRY_F32))) continue;
            params.struct_size = sizeof params;
            memcpy(params.blocks, cuts[c].blocks, sizeof params.blocks);
            pair p = grid_pair_of(&params, &t, type);
            assert_true(levels_in_parts(p.all, "mg:coarsest=30,gather=100") > 0);
            same_cycles(&p, "mg:coarsest=30,values=double,gather=100");
            same_other_cycles(&p, COUNT(grids) * c + g);
            same_by_words(&p, "precond=mg:coarsest=20,gather=40");
            pair_release(&p);
        }
    free(k);
}

/* ---- new numbers, and what is refused ------------------------------------------------------------ */

static void check_update(pair *p, const char *words, const void *numbers)
{
    kry_op *one, *all;

    OK(kry_precond_create(p->one, words, &one));
    OK(kry_precond_create(p->all, words, &all));
    OK(kry_op_update(p->one, numbers));
    OK(kry_op_update(p->all, numbers));
    OK(kry_op_update(one, NULL));
    OK(kry_op_update(all, NULL));
    same_products(one, all, cycle_tolerance(p->type), words);
    kry_op_release(&one);
    kry_op_release(&all);
}

static void team_multigrid__update(void **state)
{
    const kry_type type = type_of(state);
    double *k = positive_numbers(), *other = positive_numbers();

    EACH_TEAM(t, type)
    {
        if (teams[t].by_graph) continue;
        pair p = pair_of("poisson2d:31", &teams[t], type);
        for (int64_t e = 0; e < p.problem->nnz; e++) p.problem->val[e] *= 3;
        for (int64_t i = 0; i < p.n; i++) /* the diagonal, too */
            for (int64_t e = p.problem->row_ptr[i]; e < p.problem->row_ptr[i + 1]; e++)
                if (p.problem->col[e] == i) p.problem->val[e] *= 1 + 0.1 * k[i % NUMBERS];
        void *numbers = in_type(type, p.problem->val, p.problem->nnz);
        check_update(&p, "amg:coarsest=40,values=double", numbers);
        free(numbers);
        pair_release(&p);
        for (int faces = 0; faces < 2; faces++) {
            kry_stencil_params params = { .struct_size = sizeof params,
                                          .size = { 15, 10, 13 },
                                          .low = { 0, 2, 1 },
                                          .coefficient = k };
            for (int a = 0; a < 3 && faces; a++) params.face[a] = k + a;
            p = grid_pair_of(&params, &teams[t], type);
            check_update(&p, "mg:coarsest=40,values=double", other);
            check_update(&p, "mg:coarsest=40,values=double,gather=100", k);
            pair_release(&p);
        }
    }
    free(k), free(other);
}

static void team_multigrid__refusals(void **state)
{
    (void)state;
    const team *t = &teams[0];
    const kry_stencil_params params = { .struct_size = sizeof params, .size = { 20, 20 } };
    pair p = grid_pair_of(&params, t, KRY_F32);
    kry_op *M = NULL;

    REFUSES(kry_amg_create(p.all, NULL, &M), KRY_ERR_UNSUPPORTED, "kry_mg_create takes grids");
    assert_null(M);
    REFUSES(kry_mg_create(p.all, KRY_MG(.semi = 2), &M), KRY_ERR_ARGUMENT, "semi = 2");
    REFUSES(kry_mg_create(p.all, KRY_MG(.gather = -1), &M), KRY_ERR_ARGUMENT, "gather = -1");
    pair_release(&p);
    kry_device *dev = open_team(2, (kry_team_params){ .reproducible = true });
    kry_op *A;
    OK(kry_stencil_create(dev, KRY_F32, &params, &A));
    REFUSES(kry_mg_create(A, NULL, &M), KRY_ERR_UNSUPPORTED, "reproducible sums");
    assert_null(M);
    kry_op_release(&A);
    close_team(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(team_amg__matrices),     BOTH(team_amg__near_null_space),
        BOTH(team_mg__grids),         BOTH(team_mg__levels_in_parts),
        BOTH(team_multigrid__update), cmocka_unit_test(team_multigrid__refusals),
    };
    return cmocka_run_group_tests_name("team_multigrid", tests, NULL, close_device);
}
