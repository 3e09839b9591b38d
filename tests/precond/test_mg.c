/*
 * test_mg.c - geometric multigrid as a preconditioner: iterations against those of a reference program in
 * NumPy (black box interpolation, Galerkin, V(1,1)), new coefficients, and what is refused.
 */
#include "grids.h"
#include <kry/problem.h>

/* ---- right-hand sides as the reference has them ----------------------------------------------- */

/* 2 u - 1, u of splitmix64 with seed 1; less the mean if constants are in the null space. */
static double *right_hand_side(int64_t n, bool singular)
{
    double *b = calloc((size_t)n, sizeof *b), mean = 0;
    uint64_t s = 1;

    assert_non_null(b);
    for (int64_t i = 0; i < n; i++) {
        uint64_t z = (s += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        b[i] = 2 * ((double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0) - 1;
        mean += b[i] / (double)n;
    }
    for (int64_t i = 0; i < n && singular; i++) b[i] -= mean;
    return b;
}

/* Iterations of conjugate gradients to rtol; the true residual has to meet it, too. */
static int64_t iterations(const kry_op *A, const kry_op *M, double rtol)
{
    const kry_op_shape *shape = kry_op_get_shape(A);
    double *b = right_hand_side(shape->rows, shape->traits & KRY_SINGULAR);
    kry_vec *B = vec_of(shape->type, b, shape->rows, 1), *x = NULL;
    kry_op *S = NULL;
    kry_result result;

    OK(kry_vec_create(device(), shape->type, shape->rows, 1, &x));
    OK(kry_vec_fill(x, 0));
    OK(kry_pcg_create(A, KRY_PCG(.precond = M, .stop = { .rtol = rtol, .max_iter = 200 }), &S));
    OK(kry_solve(S, B, x, &result));
    kry_op_release(&S);
    kry_vec_release(&x), kry_vec_release(&B);
    free(b);
    return result.iterations;
}

/* ---- iterations ---------------------------------------------------------------------------------- */

typedef struct golden {
    const char *spec; /* NULL: the grid that is given */
    kry_smoother smoother;
    double omega;
    int64_t count; /* of the reference */
    kry_stencil_params grid;
    int sweeps;
} golden;

#define SQUARE(n, side)                                                 \
    {                                                                   \
        .size = { n, n }, .low = { side, side }, .high = { side, side } \
    }
#define CUBE(n, side)                                                                  \
    {                                                                                  \
        .size = { n, n, n }, .low = { side, side, side }, .high = { side, side, side } \
    }
#define CHEB KRY_SMOOTHER_CHEBYSHEV4
#define JAC  KRY_SMOOTHER_JACOBI
#define RED  KRY_SMOOTHER_RED_BLACK

static const golden table[] = {
    { NULL, JAC, 0.8, 9, SQUARE(127, KRY_DIRICHLET), 1 },
    { NULL, CHEB, 0, 7, SQUARE(128, KRY_DIRICHLET), 1 },
    { NULL, JAC, 0.8, 11, SQUARE(129, KRY_NEUMANN), 1 },
    { NULL, CHEB, 0, 8, SQUARE(65, KRY_PERIODIC), 1 },
    { NULL, JAC, 0.8, 11, { .size = { 300, 37 }, .low = { 1, 2 }, .high = { 0, 1 } }, 1 },
    { NULL, JAC, 0.8, 11, { .size = { 128, 128 }, .diffusion = { 1, 0.001 } }, 1 },
    { NULL, JAC, 0.8, 11, { .size = { 128, 128 }, .diffusion = { 0.01, 1 } }, 1 },
    { NULL, JAC, 0.857, 11, CUBE(32, KRY_DIRICHLET), 1 },
    { NULL, JAC, 0.857, 12, CUBE(32, KRY_NEUMANN), 1 },
    { NULL, CHEB, 0, 8, { .size = { 50, 20, 17 }, .low = { 1, 3, 2 }, .high = { 0, 3, 2 } }, 1 },
    { "twophase2d:128:1000:bubbles", JAC, 0.8, 12, { 0 }, 1 },
    { "twophase2d:127:1000:bubbles", CHEB, 0, 9, { 0 }, 1 },
    { "twophase3d:32:1000:bubble", JAC, 0.857, 13, { 0 }, 1 },
    { NULL, RED, 0, 7, SQUARE(128, KRY_DIRICHLET), 2 },
    { NULL, RED, 0, 8, SQUARE(130, KRY_PERIODIC), 1 }, /* and 65 x 65 below */
    { NULL, RED, 0, 7, CUBE(32, KRY_NEUMANN), 2 },
    { NULL, RED, 1.15, 10, { .size = { 128, 128 }, .diffusion = { 1, 0.001 } }, 1 },
    { "twophase2d:127:1000:bubbles", RED, 0, 9, { 0 }, 1 },
    { "twophase2d:128:1000000:bubbles", RED, 0, 6, { 0 }, 2 },
};

static kry_op *operator_of(const golden *g)
{
    kry_op *A = NULL;
    kry_problem *p = NULL;
    kry_stencil_params params = *KRY_STENCIL();

    if (g->spec) {
        OK(kry_problem_create_grid(g->spec, 1, &p));
        OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
        kry_problem_release(&p);
        return A;
    }
    memcpy(params.size, g->grid.size, sizeof params.size);
    memcpy(params.diffusion, g->grid.diffusion, sizeof params.diffusion);
    memcpy(params.low, g->grid.low, sizeof params.low);
    memcpy(params.high, g->grid.high, sizeof params.high);
    OK(kry_stencil_create(device(), KRY_F64, &params, &A));
    return A;
}

static void mg__iterations_of_the_reference(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double");
    for (size_t i = 0; i < COUNT(table); i++) {
        const golden *g = &table[i];
        kry_op *A = operator_of(g), *M = NULL;
        kry_op_info info;

        if (!too_large(kry_op_get_shape(A)->rows) && one_of(2, (int64_t)i)) {
            const kry_cycle_params cycle = {
                .smoother = g->smoother, .omega = g->omega, .sweeps = g->sweeps, .coarsest = 256
            };
            OK(kry_mg_create(A, KRY_MG(.cycle = cycle), &M));
            const int64_t count = iterations(A, M, 1e-8);
            kry_op_describe(M, &info);
            print_message("# %s %lld x %lld x %lld: %lld, reference %lld; %s\n",
                          g->spec ? g->spec : "grid", (long long)g->grid.size[0],
                          (long long)g->grid.size[1], (long long)g->grid.size[2], (long long)count,
                          (long long)g->count, info.variant);
            assert_true(count <= g->count);
        }
        kry_op_release(&M), kry_op_release(&A);
    }
}

/* All kinds of sides and sizes, down to a few unknowns. Coefficients that are random from cell to cell, over four
 * decades, are no problem that grids suit; in single they are too much for conjugate gradients. */
static void mg__all_grids(void **state)
{
    const kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        const grid *g = &grids[i];
        double *k = grid_coefficients(g, type);
        const kry_stencil_params p = grid_params(g, k);
        kry_op *A = NULL, *M = NULL;

        if (!too_large(grid_points(g)) && in_sample((int64_t)i + (type == KRY_F32)) &&
            (type == KRY_F64 || !k)) {
            OK(kry_stencil_create(device(), type, &p, &A));
            OK(kry_mg_create(A, KRY_MG(.cycle = { .coarsest = 4 }), &M));
            const int64_t count = iterations(A, M, type == KRY_F32 ? 1e-4 : 1e-8);
            print_message("# %s: %lld\n", g->name, (long long)count);
            assert_true(count <= (k ? 60 : 10));
        }
        kry_op_release(&M), kry_op_release(&A);
        free(k);
    }
}

/* ---- the cycle as an operator -------------------------------------------------------------------- */

/* The same bits as a hierarchy that is made of the new coefficients. */
static void mg__new_coefficients(void **state)
{
    const kry_type type = type_of(state);
    const grid *g = &grids[11]; /* a tube, with coefficients */
    double *k = grid_coefficients(g, type), *fresh = grid_coefficients(g, type);
    kry_op *A = NULL, *B = NULL, *M = NULL, *N = NULL;
    kry_stencil_params p = grid_params(g, k), q = grid_params(g, fresh);
    double *r = random_array(type, grid_points(g));
    kry_vec *R = vec_of(type, r, grid_points(g), 1), *x = vec_of(type, r, grid_points(g), 1);

    OK(kry_stencil_create(device(), type, &p, &A));
    OK(kry_stencil_create(device(), type, &q, &B));
    OK(kry_mg_create(A, KRY_MG(.cycle = { .coarsest = 20 }), &M));
    OK(kry_mg_create(B, KRY_MG(.cycle = { .coarsest = 20 }), &N));
    OK(kry_op_update(A, fresh));
    OK(kry_op_update(M, NULL));
    OK(kry_op_apply(M, 1, R, 0, x));
    double *one = numbers_of(x);
    OK(kry_op_apply(N, 1, R, 0, x));
    double *other = numbers_of(x);
    assert_same_bits(one, other, grid_points(g));
    free(one), free(other), free(r), free(k), free(fresh);
    kry_vec_release(&R), kry_vec_release(&x);
    kry_op_release(&M), kry_op_release(&N), kry_op_release(&A), kry_op_release(&B);
}

/* <M r, s> == <r, M s> */
static void mg__is_symmetric(void **state)
{
    const kry_type type = type_of(state);
    const int of[] = { 8, 11, 17, 8 };
    for (size_t i = 0; i < COUNT(of); i++) {
        const kry_cycle_params cycle = { .smoother =
                                             i < 3 ? KRY_SMOOTHER_AUTO : KRY_SMOOTHER_RED_BLACK,
                                         .coarsest = 20,
                                         .values = KRY_CYCLE_VALUES_DOUBLE };
        const grid *g = &grids[of[i]];
        const int64_t n = grid_points(g);
        double *k = grid_coefficients(g, type), *r = random_array(type, n),
               *s = random_array(type, n);
        kry_stencil_params p = grid_params(g, k);
        kry_op *A = NULL, *M = NULL;
        kry_vec *R = vec_of(type, r, n, 1), *S = vec_of(type, s, n, 1), *x = vec_of(type, r, n, 1);
        double sums[2] = { 0, 0 }, size = 0;

        OK(kry_stencil_create(device(), type, &p, &A));
        OK(kry_mg_create(A, KRY_MG(.cycle = cycle), &M));
        for (int side = 0; side < 2; side++) {
            OK(kry_op_apply(M, 1, side ? S : R, 0, x));
            double *y = numbers_of(x);
            for (int64_t j = 0; j < n; j++) {
                sums[side] += y[j] * (side ? r : s)[j];
                size += fabs(y[j] * (side ? r : s)[j]);
            }
            free(y);
        }
        NEAR(sums[0], sums[1], 1000 * eps_of(type) * size, "%s", g->name);
        kry_vec_release(&R), kry_vec_release(&S), kry_vec_release(&x);
        kry_op_release(&M), kry_op_release(&A);
        free(k), free(r), free(s);
    }
}

/* ---- refusals ------------------------------------------------------------------------------------ */

/* Levels get smaller, the last is solved exactly, and all that the set-up keeps is counted. */
static void mg__tells_its_levels(void **state)
{
    kry_type type = type_of(state);
    kry_op *A = NULL, *M = NULL;
    kry_level_info level;
    kry_op_info info, matrix, prolongation;
    double bytes = 0, moved = 0;
    int64_t last = 100 * 70;

    OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { 100, 70 }), &A));
    OK(kry_mg_create(A, KRY_MG(.cycle = { .degree = 3, .values = KRY_CYCLE_VALUES_DOUBLE }), &M));
    const int levels = kry_multigrid_levels(M);
    assert_in_range(levels, 3, 5);
    for (int i = 0; i < levels; i++) {
        OK(kry_multigrid_level(M, i, &level));
        kry_op_describe(level.matrix, &matrix);
        kry_op_describe(level.prolongation, &prolongation);
        assert_true(i ? 3 * level.rows < last : level.rows == last);
        if (i + 1 < levels) {
            assert_string_equal(level.smoother, "chebyshev4:3");
            assert_true(prolongation.bytes_stored > 0 && level.solver_bytes == 0);
        } else {
            assert_null(level.prolongation);
            assert_true(level.rows <= 256 && level.solver_bytes > 0);
        }
        assert_true(level.vector_bytes >= (double)level.rows * (double)kry_type_size(type));
        if (i) bytes += matrix.bytes_stored;
        bytes += prolongation.bytes_stored + level.vector_bytes + level.solver_bytes;
        moved += level.bytes_per_cycle;
        /* x and b are read, x is written, on the way down and on the way up */
        if (i + 1 < levels)
            assert_true(level.bytes_per_cycle > 5 * (double)level.rows * kry_type_size(type));
        last = level.rows;
    }
    kry_op_describe(M, &info);
    assert_true(info.bytes_stored == bytes);
    assert_true(info.bytes_per_apply == moved);
    /* a solver tells which preconditioner it has, whatever is around it */
    static const char *const words[] = { "method=pcg precond=mg", "method=mg",
                                         "method=pcg precond=mg precision=mixed",
                                         "method=auto precond=mg" };
    for (size_t i = 0; i < COUNT(words); i++) {
        kry_op *S = NULL;
        if (i == 2 && type == KRY_F32) continue;
        OK(kry_solver_create(A, words[i], NULL, NULL, &S));
        assert_int_equal(kry_multigrid_levels(kry_solver_precond(S)), levels);
        kry_op_release(&S);
    }
    assert_null(kry_solver_precond(A));
    assert_null(kry_solver_precond(NULL));
    assert_int_equal(kry_multigrid_levels(A), 0);
    assert_int_equal(kry_multigrid_levels(NULL), 0);
    REFUSES(kry_multigrid_level(M, levels, &level), KRY_ERR_ARGUMENT, "not in 0 ...");
    REFUSES(kry_multigrid_level(M, -1, &level), KRY_ERR_ARGUMENT, "level -1");
    REFUSES(kry_multigrid_level(A, 0, &level), KRY_ERR_ARGUMENT, "has no levels");
    kry_op_release(&M), kry_op_release(&A);
}

/* Conjugate gradients move 7 words and a half beside the cycle, and 2 more for sums that no pass of it can leave; ended by
 * the limit at an odd and at an even step, x is as it was told. */
static void mg__words_of_conjugate_gradients(void **state)
{
    static const char *const words[] = { "values=double", "values=double,smoother=red-black" };
    const kry_type type = type_of(state);
    const int64_t n = 40 * 33;
    const double word = (double)n * (double)kry_type_size(type);
    double *b = right_hand_side(n, false);
    kry_vec *B = vec_of(type, b, n, 1), *x = NULL, *r = NULL;
    kry_op *A = NULL;
    double norm;

    OK(kry_vec_create(device(), type, n, 1, &x));
    OK(kry_vec_create(device(), type, n, 1, &r));
    OK(kry_stencil_create(device(), type, KRY_STENCIL(.size = { 40, 33 }), &A));
    for (int i = 0; i < 4; i++) {
        const int iterations = 2 + i / 2;
        kry_op *M = NULL, *S = NULL;
        kry_op_info info;
        kry_result result;
        char text[64];

        snprintf(text, sizeof text, "mg:%s", words[i % 2]);
        OK(kry_precond_create(A, text, &M));
        kry_op_describe(M, &info);
        OK(kry_pcg_create(
            A, KRY_PCG(.precond = M, .stop = { .test = KRY_STOP_NEVER, .max_iter = iterations }),
            &S));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, B, x, &result));
        assert_int_equal(result.iterations, iterations);
        assert_true(result.bytes ==
                    iterations * (7.5 * word + info.bytes_per_apply + i % 2 * 2 * word));
        OK(kry_op_residual(A, B, x, r));
        OK(kry_vec_norm2(r, &norm));
        NEAR(norm, result.residual, 200 * eps_of(type) * result.norm_b, "%s, %d", text, iterations);
        kry_op_release(&S), kry_op_release(&M);
    }
    kry_op_release(&A);
    kry_vec_release(&B), kry_vec_release(&x), kry_vec_release(&r);
    free(b);
}

/* Iterations of a solver by words; the true residual is below its target. */
static int64_t counted(const kry_op *A, const char *words)
{
    const kry_op_shape *shape = kry_op_get_shape(A);
    double *b = right_hand_side(shape->rows, shape->traits & KRY_SINGULAR);
    kry_vec *B = vec_of(shape->type, b, shape->rows, 1), *x = NULL;
    kry_op *S = NULL;
    kry_result result;

    OK(kry_vec_create(device(), shape->type, shape->rows, 1, &x));
    OK(kry_vec_fill(x, 0));
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    OK(kry_solve(S, B, x, &result));
    assert_true(result.true_residual <= result.target);
    print_message("# %s: %lld iterations\n", words, (long long)result.iterations);
    kry_op_release(&S);
    kry_vec_release(&x), kry_vec_release(&B);
    free(b);
    return result.iterations;
}

/* Inside of other methods, in single inside of double, and below deflation it takes as many iterations; a
 * singular grid is solved as it is. */
static void mg__with_other_parts(void **state)
{
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    kry_op *A = NULL, *N = NULL;

    (void)state;
    OK(kry_stencil_create(device(), KRY_F64, KRY_STENCIL(.size = { 70, 61 }), &A));
    int64_t alone = counted(A, "method=pcg precond=mg");
    assert_in_range(alone, 5, 9);
    assert_in_range(counted(A, "method=pcg precond=mg precision=mixed"), alone, alone + 1);
    assert_in_range(counted(A, "method=pcg precond=mg deflation=blocks:16"), 3, alone + 1);
    assert_in_range(counted(A, "method=cr precond=mg"), alone - 1, alone + 1);
    OK(kry_stencil_create(device(), KRY_F64,
                          KRY_STENCIL(.size = { 70, 61 }, .low = { KRY_NEUMANN, KRY_NEUMANN },
                                      .high = { KRY_NEUMANN, KRY_NEUMANN }),
                          &N));
    alone = counted(N, "method=pcg precond=mg");
    assert_in_range(alone, 5, 9);
    assert_in_range(counted(N, "method=pcg precond=mg precision=mixed"), alone, alone + 1);
    kry_op_release(&N), kry_op_release(&A);
}

/* Phases up to a million times apart, in single. */
static const char *const jumps[] = { "twophase2d:133:%s:bubbles", "twophase3d:24:%s:bubbles" };

static kry_op *jumping(size_t i, const char *contrast, kry_type type)
{
    kry_problem *p = NULL;
    kry_op *A = NULL;
    char spec[64];

    snprintf(spec, sizeof spec, jumps[i], contrast);
    OK(kry_problem_create_grid(spec, 1, &p));
    OK(kry_stencil_create(device(), type, p->grid, &A));
    kry_problem_release(&p);
    return A;
}

static void mg__mixed_precision_at_jumps(void **state)
{
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    (void)state;
    for (size_t i = 0; i < COUNT(jumps); i++) {
        kry_op *A = jumping(i, "100000", KRY_F64);
        const int64_t alone = counted(A, "method=pcg precond=mg");
        assert_in_range(counted(A, "method=pcg precond=mg precision=mixed"), alone, alone + 4);
        kry_op_release(&A);
    }
}

/* Rows that add up to zero do so on all levels, by far better than single resolves their diagonals. */
static void mg__levels_in_single_lose_constants(void **state)
{
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    (void)state;
    for (size_t i = 0; i < COUNT(jumps); i++) {
        kry_op *A = jumping(i, "1000000", KRY_F32), *M = NULL;
        OK(kry_mg_create(A, KRY_MG(.cycle.coarsest = 30), &M));
        assert_non_null(multigrid_level(M, 3));
        for (int l = 1; multigrid_level(M, l); l++) {
            const kry_op *C = multigrid_level(M, l);
            kry_vec *x, *y;
            double largest, rest;
            OK(kry_vec_create(device(), KRY_F32, kry_op_get_shape(C)->rows, 1, &x));
            OK(kry_vec_create(device(), KRY_F32, kry_op_get_shape(C)->rows, 1, &y));
            OK(kry_op_diagonal(C, y));
            OK(kry_vec_norm2(y, &largest));
            OK(kry_vec_fill(x, 1));
            OK(kry_vec_fill(y, NAN));
            OK(kry_op_apply(C, 1, x, 0, y));
            OK(kry_vec_norm2(y, &rest));
            NEAR(rest, 0, 1e-12 * largest, "level %d", l);
            kry_vec_release(&x), kry_vec_release(&y);
        }
        kry_op_release(&M), kry_op_release(&A);
    }
}

/* Matrices have no colours. */
static void refuses_red_black(const kry_op *csr)
{
    const kry_cycle_params cycle = { .smoother = KRY_SMOOTHER_RED_BLACK, .coarsest = 4 };
    kry_op *M = NULL;

    REFUSES(kry_amg_create(csr, KRY_AMG(.cycle = cycle), &M), KRY_ERR_UNSUPPORTED,
            "red-black sweeps are for grids");
}

static void mg_create__refusals(void **state)
{
    const kry_type type = type_of(state);
    matrix m = grid_matrix(&grids[3], NULL);
    kry_op *csr = csr_of(&m, type, NULL), *A = NULL, *M = NULL;
    kry_stencil_params p = grid_params(&grids[3], NULL);

    OK(kry_stencil_create(device(), type, &p, &A));
    REFUSES(kry_mg_create(csr, NULL, &M), KRY_ERR_UNSUPPORTED, "no grid operator");
    REFUSES(kry_mg_create(A, KRY_MG(.semi = 2), &M), KRY_ERR_ARGUMENT, "semi = 2");
    refuses_red_black(csr);
    kry_op_release(&csr), kry_op_release(&A);
    matrix_release(&m);
}

/* Multigrid as a solver of its own; and the iteration that it is one of, which minds how M is scaled. */
static void richardson__with_and_without_multigrid(void **state)
{
    static const struct {
        const char *words;
        kry_status status;
        int64_t most;
    } cases[] = { { "method=mg", KRY_OK, 14 },
                  { "method=richardson precond=mg:cycle=k", KRY_OK, 14 },
                  { "method=richardson precond=jacobi maxit=5000", KRY_OK, 3000 },
                  { "method=richardson maxit=5000", KRY_BREAKDOWN, 500 } };
    const kry_type type = type_of(state);
    kry_stencil_params p = *KRY_STENCIL(.size = { 33, 30 });
    kry_op *A = NULL;
    double *b = random_array(type, 33 * 30), *x = calloc(33 * 30, sizeof *x);

    assert_non_null(x);
    OK(kry_stencil_create(device(), type, &p, &A));
    for (size_t i = 0; i < COUNT(cases); i++) {
        kry_op *S = NULL;
        kry_result result;
        memset(x, 0, 33 * 30 * sizeof *x);
        char words[80];
        snprintf(words, sizeof words, "%s rtol=1e-4", cases[i].words);
        OK(kry_solver_create(A, words, NULL, NULL, &S));
        assert_int_equal(kry_solve_host(S, b, x, &result), cases[i].status);
        assert_true(result.iterations > 2 && result.iterations <= cases[i].most);
        kry_op_release(&S);
    }
    free(b), free(x);
    kry_op_release(&A);
}

/* Whatever request for memory fails: a status, nothing handed out, and nothing left behind. */
static void mg_create__without_memory(void **state)
{
    (void)state;
    const kry_stencil_params p = grid_params(&grids[5], NULL);
    kry_op *A = NULL;

    OK(kry_stencil_create(device(), KRY_F32, &p, &A));
    request_failed = true;
    for (int64_t k = random_below(every(12)); request_failed; k += every(12)) {
        kry_op *M = A; /* poison */
        const kry_status st =
            FAILING((int)k, kry_mg_create(A, KRY_MG(.cycle = { .coarsest = 200 }), &M));
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
        assert_true(!M == (st < 0));
        kry_op_release(&M);
    }
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mg__iterations_of_the_reference),
        BOTH(mg__all_grids),
        BOTH(mg__new_coefficients),
        BOTH(mg__is_symmetric),
        BOTH(richardson__with_and_without_multigrid),
        BOTH(mg__tells_its_levels),
        BOTH(mg__words_of_conjugate_gradients),
        cmocka_unit_test(mg__with_other_parts),
        cmocka_unit_test(mg__mixed_precision_at_jumps),
        cmocka_unit_test(mg__levels_in_single_lose_constants),
        BOTH(mg_create__refusals),
        cmocka_unit_test(mg_create__without_memory),
    };
    poison_buffers();
    return cmocka_run_group_tests_name("mg", tests, keep_profile, restore_profile);
}
