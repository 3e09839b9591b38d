/*
 * test_mg_kernels.c - a cycle of geometric multigrid by the kernels of CPUs and by those of GPUs, strips and tail
 * included, on all kinds of grids.
 */
#include "base/hooks.h"
#include "grids.h"
#include "multigrid/box.h"
#include "multigrid/cycle.h"
#include <float.h>

/* What a hierarchy has to be for a test to be one. */
typedef struct expected {
    bool tail;   /* the coarser levels are one launch */
    bool first;  /* that begins with the level below the finest until groups wait in vain */
    bool uneven; /* the coarsest level's rows are not all alike in their middle */
    bool summed; /* in double: a launch of its own makes the sums of groups fewer */
} expected;

static void check_levels(const kryi_hierarchy *H, const expected *e)
{
    const kryi_box *last = kryi_box_of(H->rung[H->count - 1].level.A);

    assert_true(H->tail.from > 0 || !e->tail);
    assert_true(H->tail.from == 1 || !e->first);
    assert_true(!kryi_box_rows_alike(&last->grid) || !e->uneven);
}

/* z := M r; if the last pass leaves the sums r'z and r'r, or another one adds them up, they are those of plain C. */
static void apply_with_sums(const kry_op *M, const kry_vec *r, kry_vec *z, const expected *e)
{
    const double rounding = 4 * eps_of(kry_vec_type(r)) +
                            (double)kry_vec_rows(r) * DBL_EPSILON; /* of a product, and of sums */
    kry_sum *sum = NULL;
    double found[2], sums[2] = { 0, 0 }, size = 0;

    OK(kry_sum_create(device(), 2, &sum));
    OK(apply_dots(M, r, z, sum));
    if (kry_vec_type(r) == KRY_F64) /* tiles in single may be fewer */
        assert_true(!e || !e->summed || sum->count == 32);
    OK(kryi_sum_read(z->layout, sum, found));
    double *a = numbers_of(r), *b = numbers_of(z);
    for (int64_t i = 0; i < kry_vec_rows(r); i++) {
        sums[0] += a[i] * b[i], sums[1] += a[i] * a[i];
        size += fabs(a[i] * b[i]);
    }
    NEAR(found[0], sums[0], rounding * size, "r'z");
    NEAR(found[1], sums[1], rounding * sums[1], "r'r");
    free(a), free(b);
    kry_sum_release(&sum);
}

/* M R is y still where groups wait in vain, in the launches after that, and after an update, when larger levels have launches
 * of their own. */
static void check_in_vain(kry_op *M, const kry_vec *R, kry_vec *x, const double *y)
{
    kryi_test_abort_at = 0;
    for (int k = 0; k < 3; k++) {
        if (k == 2) OK(kry_op_update(M, NULL));
        apply_with_sums(M, R, x, NULL);
        double *z = numbers_of(x), most = 0;
        for (int64_t j = 0; j < kry_vec_rows(R); j++) most = fmax(most, fabs(y[j]));
        for (int64_t j = 0; j < kry_vec_rows(R); j++)
            NEAR(z[j], y[j], 64 * eps_of(kry_vec_type(R)) * most, "time %d: number %lld", k,
                 (long long)j);
        free(z);
    }
    assert_int_equal(kryi_test_abort_at, -1);
    assert_true(kryi_hierarchy_of(M)->tail.from > 1);
}

/* M r by the device's kernels of a kind; to be freed. */
static double *cycle_by(const char *kernels, const grid *g, kry_type type, const double *k,
                        const double *r, const expected *e)
{
    const int64_t n = grid_points(g);
    const kry_stencil_params p = grid_params(g, k);
    kry_op *A = NULL, *M = NULL;

    use_profile(kernels);
    kry_vec *R = vec_of(type, r, n, 1), *x = vec_of(type, r, n, 1);
    OK(kry_stencil_create(device(), type, &p, &A));
    OK(kry_mg_create(
        A, KRY_MG(.cycle = { .coarsest = 9, .degree = 3, .values = KRY_CYCLE_VALUES_DOUBLE }), &M));
    if (e) check_levels(kryi_hierarchy_of(M), e);
    apply_with_sums(M, R, x, e);
    double *y = numbers_of(x);
    if (e && e->first) check_in_vain(M, R, x, y);
    kry_vec_release(&R), kry_vec_release(&x);
    kry_op_release(&M), kry_op_release(&A);
    use_profile(NULL);
    return y;
}

/* The same cycle by both, but for rounding. */
static void compare(const grid *g, kry_type type, const expected *e)
{
    const int64_t n = grid_points(g);
    double *k = grid_coefficients(g, type), *r = random_array(type, n), most = 0;
    double *by_cpu = cycle_by("cpu-kernels", g, type, k, r, NULL);
    double *by_gpu = cycle_by("gpu-kernels", g, type, k, r, e);

    print_message("# %s\n", g->name);
    for (int64_t j = 0; j < n; j++) most = fmax(most, fabs(by_cpu[j]));
    for (int64_t j = 0; j < n; j++)
        NEAR(by_gpu[j], by_cpu[j], 4096 * eps_of(type) * most, "%s: number %lld", g->name,
             (long long)j);
    free(by_cpu), free(by_gpu), free(k), free(r);
}

/* CPUs and GPUs go through a cycle in different pieces, which shows in nothing but rounding. */
static void mg__same_cycle_by_all_kernels(void **state)
{
    const kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        const int64_t n = grid_points(&grids[i]);
        if (n >= 60 && !too_large(n) && one_of(6, (int64_t)i + 3 * (type == KRY_F32)))
            compare(&grids[i], type, NULL);
    }
}

#define D KRY_DIRICHLET
#define N KRY_NEUMANN
#define P KRY_PERIODIC

/* Strips go on at the other end of y; a tail has a coarsest level in which nothing is alike, as along an axis that is
 * not coarsened for some levels. */
static void mg__strips_and_tails(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    static const struct {
        grid g;
        expected e;
    } all[] = { /* few mixes of sides, for each is compiled */
                { { .name = "periodic along y 70 x 36",
                    .size = { 70, 36 },
                    .low = { N, P },
                    .high = { D, P } },
                  { .tail = true } },
                { { .name = "cells, periodic along y 41 x 37",
                    .size = { 41, 37 },
                    .low = { N, P },
                    .high = { D, P },
                    .variable = true },
                  { .tail = true, .uneven = true } },
                { { .name = "weak along x, periodic along y 9 x 170",
                    .size = { 9, 170 },
                    .low = { N, P },
                    .high = { D, P },
                    .diffusion = { 0.0001, 1 } },
                  { .tail = true, .uneven = true } },
                { { .name = "so many tiles that their sums are made fewer, 2 x 54000",
                    .size = { 2, 54000 },
                    .low = { N, P },
                    .high = { D, P },
                    .diffusion = { 0.0001, 1 } },
                  { .tail = true, .summed = true } }
    };
    for (size_t i = 0; i < COUNT(all); i++)
        if (one_of(2, (int64_t)i + (type_of(state) == KRY_F32)))
            compare(&all[i].g, type_of(state), &all[i].e);
}

/* Levels of more unknowns than one group takes, by groups that wait for each other. */
static void mg__groups_that_wait(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    static const grid even = { .name = "space 33 x 29 x 27",
                               .size = { 33, 29, 27 },
                               .low = { D, N, D },
                               .high = { D, D, N } };
    static const grid uneven = { .name = "space, weak along z 40 x 42 x 14",
                                 .size = { 40, 42, 14 },
                                 .low = { N, P, D },
                                 .high = { D, P, D },
                                 .diffusion = { 1, 1, 0.001 },
                                 .variable = true };
    kryi_test_groups_wait = true;
    compare(type_of(state) == KRY_F32 ? &even : &uneven, type_of(state),
            &(expected){ .tail = true, .first = true });
    kryi_test_groups_wait = false;
}

/* ---- red-black sweeps ---------------------------------------------------------------------------- */

/* M r, to be freed */
static double *times(const kry_op *M, const kry_vec *r)
{
    kry_vec *z = NULL;

    OK(kry_vec_create(device(), kry_vec_type(r), kry_vec_rows(r), 1, &z));
    OK(kry_vec_fill(z, NAN));
    OK(kry_op_apply(M, 1, r, 0, z));
    double *numbers = numbers_of(z);
    kry_vec_release(&z);
    return numbers;
}

/* <M r, s> == <r, M s> */
static void check_symmetry(const kry_op *M, kry_type type, int64_t n, const char *name)
{
    double *r = random_array(type, n), *s = random_array(type, n), sums[2] = { 0, 0 }, size = 0;
    kry_vec *R = vec_of(type, r, n, 1), *S = vec_of(type, s, n, 1);
    double *Mr = times(M, R), *Ms = times(M, S);

    for (int64_t i = 0; i < n; i++) {
        sums[0] += Mr[i] * s[i], sums[1] += r[i] * Ms[i];
        size += fabs(Mr[i] * s[i]);
    }
    NEAR(sums[0], sums[1], 1000 * eps_of(type) * size, "%s", name);
    kry_vec_release(&R), kry_vec_release(&S);
    free(r), free(s), free(Mr), free(Ms);
}

/* Levels all of whose periodic axes are odd, which two colours cannot separate. */
static void mg__red_black_on_odd_periodic_levels(void **state)
{
    static const grid all[] = {
        { .name = "75 x 45", .size = { 75, 45 }, .low = { P, P }, .high = { P, P } },
        { .name = "74 x 46", .size = { 74, 46 }, .low = { P, P }, .high = { P, P } },
        { .name = "10 x 6 x 14", .size = { 10, 6, 14 }, .low = { P, P, P }, .high = { P, P, P } },
    };
    const kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(all); i++) {
        if (!one_of(2, (int64_t)i + (type == KRY_F32))) continue;
        const kry_stencil_params p = grid_params(&all[i], NULL);
        const kry_cycle_params cycle = { .smoother = KRY_SMOOTHER_RED_BLACK,
                                         .coarsest = 8,
                                         .values = KRY_CYCLE_VALUES_DOUBLE };
        const double rtol = type == KRY_F32 ? 1e-4 : 1e-8;
        const int64_t n = grid_points(&all[i]);
        double *b = random_array(type, n), *x = calloc((size_t)n, sizeof *x), mean = 0;
        kry_op *A = NULL, *M = NULL, *S = NULL;
        kry_result result;

        assert_non_null(x);
        for (int64_t j = 0; j < n; j++) mean += b[j] / (double)n;
        for (int64_t j = 0; j < n; j++) b[j] -= mean;
        OK(kry_stencil_create(device(), type, &p, &A));
        OK(kry_mg_create(A, KRY_MG(.cycle = cycle), &M));
        assert_true(kry_multigrid_levels(M) > 2);
        OK(kry_pcg_create(A, KRY_PCG(.precond = M, .stop = { .rtol = rtol, .max_iter = 50 }), &S));
        OK(kry_solve_host(S, b, x, &result));
        print_message("# %s: %lld\n", all[i].name, (long long)result.iterations);
        assert_true(result.iterations <= 10);
        check_symmetry(M, type, n, all[i].name);
        kry_op_release(&S), kry_op_release(&M), kry_op_release(&A);
        free(b), free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(mg__same_cycle_by_all_kernels),
        BOTH(mg__strips_and_tails),
        BOTH(mg__groups_that_wait),
        BOTH(mg__red_black_on_odd_periodic_levels),
    };
    poison_buffers();
    return cmocka_run_group_tests_name("mg_kernels", tests, keep_profile, restore_profile);
}
