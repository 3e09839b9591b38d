/*
 * test_narrow.c - multigrid in single for grids in double: the cycle against one in double, iterations, b and A of any
 * size, and where the cycle stays in double.
 */
#include "grids.h"
#include <kry/problem.h>

#define SINGLE KRY_CYCLE_VALUES_SINGLE
#define DOUBLE KRY_CYCLE_VALUES_DOUBLE
#define NEEDS_DOUBLE \
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");

static kry_op *grid_in_double(const grid *g, const double *k)
{
    const kry_stencil_params p = grid_params(g, k);
    kry_op *A = NULL;
    OK(kry_stencil_create(device(), KRY_F64, &p, &A));
    return A;
}

static kry_op *cycle_of(const kry_op *A, kry_cycle_values values, kry_cycle_params cycle)
{
    kry_op *M = NULL;
    cycle.values = values;
    OK(kry_mg_create(A, KRY_MG(.cycle = cycle), &M));
    return M;
}

static bool is_in_single(const kry_op *M)
{
    kry_op_info info;
    kry_op_describe(M, &info);
    return strstr(info.variant, "in single");
}

/* M r, for r from number `first` on of a longer vector; with the sums that it leaves, or full multigrid. To be
 * freed. */
static double *times(const kry_op *M, const double *r, int64_t n, int64_t first, double dots[2])
{
    double *all = calloc((size_t)(n + first), sizeof *all);
    kry_vec *R, *Z;
    kry_sum *sum = NULL;

    assert_non_null(all);
    memcpy(all + first, r, (size_t)n * sizeof *all);
    kry_vec *whole = vec_of(KRY_F64, all, n + first, 1),
            *result = vec_of(KRY_F64, all, n + first, 1);
    OK(kry_vec_fill(result, NAN));
    OK(kry_vec_block(whole, first, n, 0, 1, &R));
    OK(kry_vec_block(result, first, n, 0, 1, &Z));
    if (dots) {
        OK(kry_sum_create(device(), 2, &sum));
        OK(apply_dots(M, R, Z, sum));
        OK(read_sum(device(), sum, dots));
    } else {
        OK(full_multigrid(M, R, Z));
    }
    kry_vec_release(&R), kry_vec_release(&Z);
    kry_vec_release(&whole);
    double *z = numbers_of(result);
    for (int64_t i = 0; i < first; i++) assert_true(isnan(z[i]));
    memmove(z, z + first, (size_t)n * sizeof *z);
    kry_vec_release(&result);
    kry_sum_release(&sum);
    free(all);
    return z;
}

static void check_sums(const double *r, const double *z, int64_t n, const double dots[2])
{
    double rz = 0, rr = 0, size = 0;
    for (int64_t i = 0; i < n; i++) rz += r[i] * z[i], rr += r[i] * r[i], size += fabs(r[i] * z[i]);
    NEAR(dots[0], rz, 1000 * eps_of(KRY_F64) * size, "r'z");
    NEAR(dots[1], rr, 1000 * eps_of(KRY_F64) * rr, "r'r");
}

/* The same but for rounding to single. */
static void compare(const grid *g, kry_cycle_params cycle, int64_t first)
{
    const int64_t n = grid_points(g);
    double *k = grid_coefficients(g, KRY_F64), *r = random_array(KRY_F64, n), dots[2];
    kry_op *A = grid_in_double(g, k);
    kry_op *M = cycle_of(A, SINGLE, cycle), *N = cycle_of(A, DOUBLE, cycle);

    print_message("# %s\n", g->name);
    assert_true(is_in_single(M) && !is_in_single(N));
    for (int full = 0; full < 2; full++) {
        double *z = times(M, r, n, first, full ? NULL : dots), most = 0;
        if (!full) check_sums(r, z, n, dots);
        double *want = times(N, r, n, first, full ? NULL : dots);
        for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(want[i]));
        for (int64_t i = 0; i < n; i++)
            NEAR(z[i], want[i], 4096 * eps_of(KRY_F32) * most, "%s%s: number %lld", g->name,
                 full ? ", full" : "", (long long)i);
        free(z), free(want);
    }
    kry_op_release(&N), kry_op_release(&M), kry_op_release(&A);
    free(k), free(r);
}

static void cycle_in_single__as_in_double(void **state)
{
    static const kry_cycle_params cycles[] = {
        { .coarsest = 9 },
        { .coarsest = 9, .smoother = KRY_SMOOTHER_JACOBI },
        { .coarsest = 9, .shape = KRY_CYCLE_W },
        { .coarsest = 9, .degree = 5 }, /* more steps than there are passes of */
    };
    const char *kernels = *state;
    NEEDS_DOUBLE
    use_profile(kernels);
    for (size_t i = 0; i < COUNT(grids); i++)
        if (grid_points(&grids[i]) >= 60 && !too_large(grid_points(&grids[i])) &&
            one_of(kernels[0] == 'g' ? 8 : 4, (int64_t)i)) /* tiles take long to compile */
            compare(&grids[i], cycles[i / 5 % COUNT(cycles)], (int64_t)i / 5 % 2);
    use_profile(NULL);
}

/* ---- iterations ---------------------------------------------------------------------------------- */

/* Iterations of a solver by words for b times `size`. */
static int64_t counted(const kry_op *A, const char *words, double size)
{
    const int64_t n = kry_op_get_shape(A)->rows;
    double *b = calloc((size_t)n, sizeof *b), mean = 0;
    kry_vec *B, *x = NULL;
    kry_op *S = NULL;
    kry_result result;

    assert_non_null(b);
    for (int64_t i = 0; i < n; i++)
        b[i] = sin(7.0 * (double)(i * i % 1013)), mean += b[i] / (double)n;
    if (!(kry_op_get_shape(A)->traits & KRY_SINGULAR)) mean = 0;
    for (int64_t i = 0; i < n; i++) b[i] = (b[i] - mean) * size;
    B = vec_of(KRY_F64, b, n, 1);
    OK(kry_vec_create(device(), KRY_F64, n, 1, &x));
    OK(kry_vec_fill(x, 0));
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    OK(kry_solve(S, B, x, &result));
    assert_true(result.true_residual <= result.target);
    kry_op_release(&S);
    kry_vec_release(&x), kry_vec_release(&B);
    free(b);
    return result.iterations;
}

/* Where nobody says in what numbers, one iteration more than in double at most, at any jump. */
static void pcg__as_many_iterations_as_in_double(void **state)
{
    static const char *const specs[] = { "twophase2d:133:1000:bubbles",
                                         "twophase2d:133:100000:bubbles",
                                         "twophase2d:133:1000000:bubbles",
                                         "twophase3d:24:10000:bubbles" };
    (void)state;
    NEEDS_DOUBLE
    for (size_t i = 0; i < COUNT(specs); i++) {
        kry_problem *p = NULL;
        kry_op *A = NULL, *M = NULL;
        OK(kry_problem_create_grid(specs[i], 1, &p));
        OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
        OK(kry_mg_create(A, NULL, &M));
        const int64_t alone = counted(A, "method=pcg precond=mg:values=double", 1);
        const int64_t count = counted(A, "method=pcg", 1);
        print_message("# %s: %lld, in double %lld\n", specs[i], (long long)count, (long long)alone);
        assert_true(is_in_single(M) == (i != 2));
        assert_in_range(count, alone - 1, alone + 1);
        kry_op_release(&M), kry_op_release(&A);
        kry_problem_release(&p);
    }
}

/* The range of single is that of neither b nor A. */
static void pcg__numbers_beyond_the_range_of_single(void **state)
{
    static const double sizes[] = { 1e-60, 1e60 };
    (void)state;
    NEEDS_DOUBLE
    for (int i = 0; i < 4; i++) {
        const bool of_A = i >= 2;
        const double size = sizes[i % 2], by = of_A ? size : 1;
        double k[19 * 23];
        kry_op *A = NULL, *M = NULL;
        for (size_t j = 0; j < COUNT(k); j++) k[j] = 1 + (double)(j % 3);
        OK(kry_stencil_create(device(), KRY_F64,
                              KRY_STENCIL(.size = { 19, 23 }, .diffusion = { by, by },
                                          .coefficient = i == 3 ? k : NULL),
                              &A));
        OK(kry_mg_create(A, NULL, &M));
        assert_true(is_in_single(M) == (i != 3)); /* coefficients times weights have to fit, too */
        assert_in_range(counted(A, "method=pcg", of_A ? 1 : size), 4, 9);
        kry_op_release(&M), kry_op_release(&A);
    }
}

/* Conjugate residuals hand M what it has made, and so ask for double. */
static void solver_create__methods_that_want_double(void **state)
{
    (void)state;
    NEEDS_DOUBLE
    kry_op *A = NULL;
    OK(kry_stencil_create(device(), KRY_F64, KRY_STENCIL(.size = { 35, 30 }), &A));
    assert_in_range(counted(A, "method=cr precond=mg rtol=1e-11", 1), 5, 14);
    assert_in_range(counted(A, "method=minres precond=mg rtol=1e-11", 1), 5, 14);
    assert_in_range(counted(A, "method=mg rtol=1e-11", 1), 5, 20);
    assert_in_range(counted(A, "method=fmg precond=mg:values=single rtol=1e-11", 1), 4, 20);
    assert_in_range(counted(A, "method=pcg precond=mg:cycle=k,values=single rtol=1e-11", 1), 4, 14);
    kry_op_release(&A);
}

/* ---- refusals ------------------------------------------------------------------------------------ */

static void mg_create__values_in_single_refused(void **state)
{
    double k[8 * 8];
    kry_op *A = NULL, *M = NULL;
    (void)state;
    NEEDS_DOUBLE
    for (size_t i = 0; i < COUNT(k); i++) k[i] = i == 9 || i == 10 ? 1e30 : 1;
    OK(kry_stencil_create(device(), KRY_F64, KRY_STENCIL(.size = { 8, 8 }, .coefficient = k), &A));
    REFUSES(kry_mg_create(A, KRY_MG(.cycle.values = SINGLE), &M), KRY_ERR_UNSUPPORTED,
            "single can hold");
    REFUSES(kry_mg_create(A, KRY_MG(.cycle.values = 3), &M), KRY_ERR_ARGUMENT, "values = 3");
    OK(kry_mg_create(A, NULL, &M));
    assert_false(is_in_single(M));
    kry_op_release(&M), kry_op_release(&A);
}

int main(void)
{
    static char cpu[] = "cpu-kernels", gpu[] = "gpu-kernels";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(cycle_in_single__as_in_double, cpu),
        cmocka_unit_test_prestate(cycle_in_single__as_in_double, gpu),
        cmocka_unit_test(pcg__as_many_iterations_as_in_double),
        cmocka_unit_test(pcg__numbers_beyond_the_range_of_single),
        cmocka_unit_test(solver_create__methods_that_want_double),
        cmocka_unit_test(mg_create__values_in_single_refused),
    };
    return cmocka_run_group_tests_name("narrow", tests, keep_profile, restore_profile);
}
