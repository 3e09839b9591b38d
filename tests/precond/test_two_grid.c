/*
 * test_two_grid.c - how much of the error a cycle of multigrid leaves, in the energy norm ||e||^2 = e'A e,
 * against what two-grid theory says of dense matrices.
 *
 * The error propagation E = I - M A is found from products with M, and compared, entry by entry, with the one
 * of the formulas (dense_cycle.h). With G the smoother before the coarser levels, T the projection onto what
 * they can express, orthogonal in the energy inner product:
 *
 *   two levels    ||E|| = ||(I - T) G||^2
 *   more, V       ||E|| <= a / (1 + a), a on each level the least number with
 *                 ||(I - T) G v||^2 <= a (||v||^2 - ||G v||^2) for all v, the largest one of all levels
 *   polynomials   a <= C g, C the least number with ||(I - T) A^-1 f||^2 <= C f'D^-1 f for all f, g the
 *                 largest value of s p(s)^2 / (1 - p(s)^2), 0 < s <= highest, p what is left of an eigenvector
 *
 * W, F and K leave no more than that bound.
 *
 * Source  S. F. McCormick, SIAM J. Numer. Anal. 22 (1985), 634-643, doi:10.1137/0722039: V;
 *         J. Lottes, Numer. Linear Algebra Appl. 30 (2023), e2518: polynomials
 */
#include "as_matrix.h"
#include "base/hooks.h"
#include "dense_energy.h"
#include "multigrid/box.h"
#include "multigrid/cycle.h"

/* ---- what the library has ---------------------------------------------------------------------- */

static double *dense_of(const kry_op *op)
{
    const int rows = (int)kry_op_get_shape(op)->rows, cols = (int)kry_op_get_shape(op)->cols;
    double *X = dense_zeros(rows, cols), *unit = dense_zeros(cols, 1);

    for (int j = 0; j < cols; j++) {
        unit[j] = 1;
        kry_vec *e = vec_of(kry_op_get_shape(op)->type, unit, cols, 1), *y = NULL;
        OK(kry_vec_create(device(), kry_op_get_shape(op)->type, rows, 1, &y));
        OK(kry_op_apply(op, 1, e, 0, y));
        double *column = numbers_of(y);
        for (int i = 0; i < rows; i++) X[i * cols + j] = column[i];
        kry_vec_release(&e), kry_vec_release(&y);
        free(column);
        unit[j] = 0;
    }
    free(unit);
    return X;
}

/* The largest eigenvalue of W A. */
static double highest_of(const dense_level *L)
{
    const energy e = energy_of(L);
    double *X = dense_zeros(L->n, e.k), *Y = dense_zeros(e.k, e.k);

    for (int i = 0; i < L->n; i++)
        for (int j = 0; j < e.k; j++)
            for (int k = 0; k < L->n; k++)
                X[i * e.k + j] += L->W[i * L->n + k] * e.to[j * L->n + k];
    dense_times(e.k, L->n, e.k, e.to, false, X, Y);
    const double most = largest(e.k, Y);
    free(X), free(Y), free(e.to), free(e.from);
    return most;
}

/* Red and black on the finest level; below it a colour for each combination of odd and even. */
static int *colours_of(const kry_op *A)
{
    kryi_box_grid g;
    const bool two = kryi_stencil_of(A);

    OK(kryi_box_grid_of(A, &g));
    int *colour = calloc((size_t)g.n, sizeof *colour);
    assert_non_null(colour);
    for (int64_t i = 0; i < g.n; i++) {
        const int64_t at[3] = { i % g.size[0], i / g.size[0] % g.size[1],
                                i / (g.size[0] * g.size[1]) };
        for (int a = 0; a < 3; a++) colour[i] += (int)(at[a] % 2) << (two ? 0 : a);
        if (two) colour[i] %= 2;
    }
    return colour;
}

/* W := inverses of blocks of so many rows, the last of which may have fewer. */
static void invert_blocks(dense_level *L, int rows)
{
    const int n = L->n;

    L->W = dense_zeros(n, n);
    for (int first = 0; first < n; first += rows) {
        dense_level block = { .n = first + rows <= n ? rows : n - first };
        double a[KRY_BLOCK_MOST * KRY_BLOCK_MOST], x[KRY_BLOCK_MOST];
        const int m = block.n;
        for (int i = 0; i < m * m; i++) a[i] = L->A[(first + i / m) * n + first + i % m];
        block.A = a;
        for (int j = 0; j < m; j++) {
            double unit[KRY_BLOCK_MOST] = { 0 };
            unit[j] = 1;
            dense_solve(&block, unit, x);
            for (int i = 0; i < m; i++) L->W[(first + i) * n + first + j] = x[i];
        }
    }
}

/* What steps multiply the residual with. */
static void scale_by(dense_level *L, const kryi_smoothing *s)
{
    kry_op_info info;
    int rows = 0;

    if (s->scaling == KRY_SCALING_BLOCK && s->relaxer.M) {
        kry_op_describe(s->relaxer.M, &info);
        assert_int_equal(sscanf(info.variant, "blocks of %d", &rows), 1);
        invert_blocks(L, rows);
        return;
    }
    dense_invert_diagonal(L);
    for (int i = 0; i < L->n && s->scaling == KRY_SCALING_L1; i++) {
        double sum = 0;
        for (int j = 0; j < L->n; j++) sum += fabs(L->A[i * L->n + j]);
        L->W[i * L->n + i] = 1 / sum;
    }
}

static dense_levels levels_of(const kry_op *M)
{
    const kryi_hierarchy *H = kryi_hierarchy_of(M);
    dense_levels d = { .count = H->count };

    assert_in_range(d.count, 2, DENSE_LEVELS);
    for (int l = 0; l < d.count; l++) {
        const kryi_rung *g = &H->rung[l];
        dense_level *L = &d.level[l];
        double sum = 0;
        *L = (dense_level){ .n = (int)kry_op_get_shape(g->level.A)->rows,
                            .A = dense_of(g->level.A) };
        assert_in_range(L->n, 1, DENSE_MOST);
        for (int i = 0; i < L->n * L->n; i++) sum += L->A[i];
        L->singular = fabs(sum) < 1e-10 * L->A[0];
        scale_by(L, &g->smooth);
        L->highest = g->smooth.highest;
        const double highest = highest_of(L);
        if (L->highest == 0 || l == d.count - 1) L->highest = highest; /* nobody asked for it */
        assert_true(L->highest > (1 - 1e-12) * highest);
        if (g->smooth.down.coloured) L->colour = colours_of(g->level.A);
        if (!g->level.P) continue;
        L->P = dense_of(g->level.P);
        L->m = (int)kry_op_get_shape(g->level.P)->cols;
    }
    return d;
}

/* ---- error propagation ------------------------------------------------------------------------- */

typedef void propagate(const dense_levels *d, int l, const kry_cycle_params *how, double *e);

static void by_smoother(const dense_levels *d, int l, const kry_cycle_params *how, double *e)
{
    const double zero[DENSE_MOST] = { 0 };
    dense_smooth(&d->level[l], how, false, zero, e);
}

static void by_cycle(const dense_levels *d, int l, const kry_cycle_params *how, double *e)
{
    const double zero[DENSE_MOST] = { 0 };
    dense_cycle(d, l, how, zero, e);
}

/* I - T */
static void by_coarse_level(const dense_levels *d, int l, const kry_cycle_params *how, double *e)
{
    const double zero[DENSE_MOST] = { 0 };
    const dense_level *L = &d->level[l];
    double r[DENSE_MOST], coarse[DENSE_MOST], x[DENSE_MOST], Px[DENSE_MOST];

    (void)how;
    dense_residual(L, zero, e, r);
    dense_times(L->m, L->n, 1, L->P, true, r, coarse);
    dense_solve(L + 1, coarse, x);
    dense_times(L->n, L->m, 1, L->P, false, x, Px);
    for (int i = 0; i < L->n; i++) e[i] += Px[i];
}

static double *matrix_by(propagate *run, const dense_levels *d, int l, const kry_cycle_params *how)
{
    const int n = d->level[l].n;
    double *X = dense_zeros(n, n);

    for (int j = 0; j < n; j++) {
        double e[DENSE_MOST] = { 0 };
        e[j] = 1;
        run(d, l, how, e);
        for (int i = 0; i < n; i++) X[i * n + j] = e[i];
    }
    return X;
}

/* I - M A, of the library */
static double *propagation_of(const kry_op *M, const dense_level *L)
{
    const int n = L->n;
    double *MA = dense_zeros(n, n), *dense_M = dense_of(M);

    dense_times(n, n, n, dense_M, false, L->A, MA);
    for (int i = 0; i < n * n; i++) MA[i] = (i / n == i % n) - MA[i];
    free(dense_M);
    return MA;
}

/* Leave out of each column what A maps to zero. */
static void centre(const dense_level *L, double *E)
{
    for (int j = 0; j < L->n && L->singular; j++) {
        double mean = 0;
        for (int i = 0; i < L->n; i++) mean += E[i * L->n + j] / L->n;
        for (int i = 0; i < L->n; i++) E[i * L->n + j] -= mean;
    }
}

/* ---- the theory -------------------------------------------------------------------------------- */

/* The numbers of a level, as they are named above. */
typedef struct theory {
    double two_grid; /* ||(I - T) G||^2 */
    double a, c;
} theory;

/* f'D^-1 f of f = A v, v in energy coordinates */
static double *diagonal_norm(const dense_level *L, const energy *e)
{
    double *AWA = dense_zeros(L->n, L->n), *WA = dense_zeros(L->n, L->n);
    double *half = dense_zeros(L->n, e->k), *Z = dense_zeros(e->k, e->k);

    dense_times(L->n, L->n, L->n, L->W, false, L->A, WA);
    dense_times(L->n, L->n, L->n, L->A, false, WA, AWA);
    dense_times(L->n, L->n, e->k, AWA, false, e->from, half);
    dense_times(e->k, L->n, e->k, e->from, true, half, Z);
    free(AWA), free(WA), free(half);
    return Z;
}

static theory theory_of(const dense_levels *d, int l, const kry_cycle_params *how)
{
    const energy e = energy_of(&d->level[l]);
    const int k = e.k;
    double *G_n = matrix_by(by_smoother, d, l, how), *G = in_energy(&e, G_n);
    double *F_n = matrix_by(by_coarse_level, d, l, how), *F = in_energy(&e, F_n);
    double *FG = dense_zeros(k, k), *N = dense_zeros(k, k), *W = dense_zeros(k, k);
    double *Z = diagonal_norm(&d->level[l], &e);
    theory t;

    dense_times(k, k, k, F, false, G, FG);
    dense_times(k, k, k, FG, true, FG, N);
    dense_times(k, k, k, G, true, G, W);
    for (int i = 0; i < k * k; i++) W[i] = (i / k == i % k) - W[i];
    t.two_grid = largest(k, N);
    t.a = largest_ratio(k, N, W);
    t.c = largest_ratio(k, F, Z);
    free(G_n), free(G), free(F_n), free(F), free(FG), free(N), free(W), free(Z);
    free(e.to), free(e.from);
    return t;
}

/* g: what the smoother makes of an eigenvector, by a level with one unknown. */
static double smoothing_of(double highest, const kry_cycle_params *how)
{
    enum { SAMPLES = 2000 };
    const double zero = 0;
    double most = 0;

    for (int i = 1; i <= SAMPLES; i++) {
        double s = highest * i / SAMPLES, one = 1, p = 1;
        const dense_level L = { .n = 1, .A = &s, .W = &one, .highest = highest };
        dense_smooth(&L, how, false, &zero, &p);
        most = fmax(most, s * p * p / (1 - p * p));
    }
    return most;
}

/* The bound of a V-cycle; checks that of polynomials on the way. */
static double bound_of(const dense_levels *d, const kry_cycle_params *how, double *two_grid)
{
    double a = 0, polynomial = 0;

    for (int l = d->count - 2; l >= 0; l--) {
        const theory t = theory_of(d, l, how);
        a = fmax(a, t.a);
        *two_grid = t.two_grid;
        if (how->smoother == KRY_SMOOTHER_RED_BLACK) continue;
        polynomial = t.c * smoothing_of(d->level[l].highest, how);
        assert_true(t.a <= 1.001 * polynomial); /* g is a maximum over samples */
    }
    return a / (1 + a);
}

/* ---- cases ------------------------------------------------------------------------------------- */

typedef struct two_grid_case {
    kry_smoother smoother;
    int degree, sweeps;
    kry_cycle_shape shape;
    double omega;
    double most; /* that the bound may be on a grid with constant coefficients */
    kry_smoother_scaling scaling;
} two_grid_case;

#define DIAGONAL KRY_SCALING_DIAGONAL
static const two_grid_case cases[] = {
    { KRY_SMOOTHER_JACOBI, 1, 1, KRY_CYCLE_V, 0, 0.55, DIAGONAL },
    { KRY_SMOOTHER_JACOBI, 1, 2, KRY_CYCLE_V, 0.7, 0.36, DIAGONAL },
    { KRY_SMOOTHER_JACOBI, 1, 1, KRY_CYCLE_W, 0, 0.55, DIAGONAL },
    { KRY_SMOOTHER_JACOBI, 1, 1, KRY_CYCLE_K, 0, 0.55, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV, 1, 1, KRY_CYCLE_V, 0, 0.55, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV, 2, 1, KRY_CYCLE_V, 0, 0.28, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV, 3, 1, KRY_CYCLE_W, 0, 0.18, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV, 4, 1, KRY_CYCLE_V, 0, 0.13, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV4, 1, 1, KRY_CYCLE_V, 0, 0.56, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV4, 2, 1, KRY_CYCLE_V, 0, 0.28, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV4, 3, 2, KRY_CYCLE_V, 0, 0.03, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV4, 4, 1, KRY_CYCLE_V, 0, 0.1, DIAGONAL },
    { KRY_SMOOTHER_RED_BLACK, 1, 1, KRY_CYCLE_V, 0, 0.45, DIAGONAL },
    { KRY_SMOOTHER_RED_BLACK, 1, 2, KRY_CYCLE_V, 0, 0.18, DIAGONAL },
    { KRY_SMOOTHER_JACOBI, 1, 1, KRY_CYCLE_F, 0, 0.55, DIAGONAL },
    { KRY_SMOOTHER_CHEBYSHEV4, 2, 1, KRY_CYCLE_F, 0, 0.28, DIAGONAL },
    { KRY_SMOOTHER_RED_BLACK, 1, 1, KRY_CYCLE_W, 1.2, 0.52, DIAGONAL },
    { KRY_SMOOTHER_JACOBI, 1, 1, KRY_CYCLE_V, 0, 0, KRY_SCALING_L1 },
    { KRY_SMOOTHER_CHEBYSHEV4, 2, 1, KRY_CYCLE_V, 0, 0, KRY_SCALING_L1 },
    { KRY_SMOOTHER_JACOBI, 1, 2, KRY_CYCLE_W, 0.9, 0, KRY_SCALING_BLOCK },
    { KRY_SMOOTHER_JACOBI, 1, 1, KRY_CYCLE_V, 0, 0, KRY_SCALING_BLOCK },
    { KRY_SMOOTHER_CHEBYSHEV, 3, 1, KRY_CYCLE_V, 0, 0, KRY_SCALING_BLOCK },
};

static kry_cycle_params cycle_of(const two_grid_case *c, int levels)
{
    return (kry_cycle_params){ .smoother = c->smoother,
                               .degree = c->degree,
                               .sweeps = c->sweeps,
                               .omega = c->omega,
                               .scaling = c->scaling,
                               .shape = c->shape,
                               .coarsest = 4,
                               .levels = levels };
}

static double distance(int n, const double *X, const double *Y)
{
    double most = 0;
    for (int i = 0; i < n * n; i++) most = fmax(most, fabs(X[i] - Y[i]));
    return most;
}

/* ||E||, of E in energy coordinates */
static double norm_of(int k, const double *E)
{
    double *square = dense_zeros(k, k);
    dense_times(k, k, k, E, true, E, square);
    const double most = largest(k, square);
    free(square);
    return sqrt(most);
}

/* A cycle that is no fixed map: what it leaves of errors. */
static double left_by_varying(const kry_op *M, const dense_level *L, const energy *e)
{
    double most = 0;

    for (int trial = 0; trial < 10; trial++) {
        double *x = random_array(KRY_F64, L->n), r[DENSE_MOST], c[DENSE_MOST], norm[2] = { 0, 0 };
        dense_times(L->n, L->n, 1, L->A, false, x, r);
        kry_vec *R = vec_of(KRY_F64, r, L->n, 1), *Z = vec_of(KRY_F64, r, L->n, 1);
        OK(kry_op_apply(M, 1, R, 0, Z));
        double *z = numbers_of(Z);
        for (int after = 0; after < 2; after++) {
            for (int i = 0; i < L->n && after; i++) x[i] -= z[i];
            dense_times(e->k, L->n, 1, e->to, false, x, c);
            for (int i = 0; i < e->k; i++) norm[after] += c[i] * c[i];
        }
        most = fmax(most, sqrt(norm[1] / norm[0]));
        kry_vec_release(&R), kry_vec_release(&Z);
        free(x), free(z);
    }
    return most;
}

/* Levels of matrices below the finest keep their numbers in single, but what scales a step is made of those in
 * double. */
static double rounding_of(const kry_op *M)
{
    kry_op_info info;
    kry_op_describe(M, &info);
    return strcmp(info.kind, "amg") ? 1e-9 : 1e-7;
}

static double left_by(const kry_op *M, const dense_levels *d, const kry_cycle_params *how)
{
    const dense_level *L = &d->level[0];
    const energy e = energy_of(L);
    double left;

    if (how->shape == KRY_CYCLE_K) {
        left = left_by_varying(M, L, &e);
    } else {
        double *E = propagation_of(M, L), *want = matrix_by(by_cycle, d, 0, how);
        centre(L, E), centre(L, want);
        NEAR(distance(L->n, E, want), 0, rounding_of(M), "error propagation");
        double *in = in_energy(&e, E);
        left = norm_of(e.k, in);
        free(E), free(want), free(in);
    }
    free(e.to), free(e.from);
    return left;
}

/* Returns the bound. */
static double check_cycle(const kry_op *M, const kry_cycle_params *how, const char *what)
{
    dense_levels d = levels_of(M);
    double two_grid = 0;
    const double bound = bound_of(&d, how, &two_grid), left = left_by(M, &d, how);
    kry_probe probe;
    kry_op_info info;

    kry_op_describe(M, &info);
    print_message("# %s, %s: leaves %.4f, bound %.4f\n", what, info.variant, left, bound);
    if (d.count == 2 && how->shape != KRY_CYCLE_K) NEAR(left, two_grid, rounding_of(M), "%s", what);
    assert_true(left <= bound + rounding_of(M));
    if (how->shape < KRY_CYCLE_K) {
        OK(kry_op_probe(M, random_bits(), &probe));
        assert_true(probe.symmetric && probe.positive);
        check_dots(M, what);
    }
    dense_release(&d);
    return bound;
}

/* ---- tests ------------------------------------------------------------------------------------- */

#define D KRY_DIRICHLET
#define N KRY_NEUMANN
static const grid plates[] = {
    { .name = "a plate 7 x 6", .size = { 7, 6 }, .low = { D, D }, .high = { D, D } },
    { .name = "a box 5 x 3 x 3", .size = { 5, 3, 3 }, .low = { D, D, D }, .high = { D, D, D } },
    { .name = "all sides free 6 x 7", .size = { 6, 7 }, .low = { N, N }, .high = { N, N } },
    { .name = "cells 6 x 7",
      .size = { 6, 7 },
      .low = { D, N },
      .high = { N, N },
      .variable = true },
};
#undef D
#undef N

static void grids__as_two_grid_theory_says(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    for (size_t g = 0; g < COUNT(plates); g++) {
        double *k = grid_coefficients(&plates[g], KRY_F64);
        kry_op *A = grid_op(&plates[g], KRY_F64, k);
        for (size_t i = 0; i < COUNT(cases); i++) {
            kry_cycle_params how = cycle_of(&cases[i], 2 + (int)((i + g) % 2));
            how.values = KRY_CYCLE_VALUES_DOUBLE;
            kry_op *M = NULL;
            if (how.scaling != DIAGONAL) continue; /* of stored matrices */
            OK(kry_mg_create(A, KRY_MG(.cycle = how), &M));
            const double bound = check_cycle(M, &how, plates[g].name);
            assert_true(k || bound <= cases[i].most);
            kry_op_release(&M);
        }
        kry_op_release(&A);
        free(k);
    }
}

/* Levels that no grid says, of both families of algebraic multigrid. */
static void matrices__as_two_grid_theory_says(void **state)
{
    static const kry_coarsening families[] = { KRY_COARSEN_CLASSICAL, KRY_COARSEN_AGGREGATION };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    for (size_t g = 0; g < COUNT(plates); g++) {
        double *k = grid_coefficients(&plates[g], KRY_F64);
        matrix m = grid_matrix(&plates[g], k);
        kry_op *A = csr_of(&m, KRY_F64, NULL);
        for (size_t i = 0; i < COUNT(cases); i++)
            for (size_t f = 0; f < COUNT(families); f++) {
                kry_cycle_params how = cycle_of(&cases[i], 3);
                how.values = KRY_CYCLE_VALUES_DOUBLE;
                kry_op *M = NULL;
                if (how.smoother == KRY_SMOOTHER_RED_BLACK) continue; /* of grids */
                /* Others were on grids, and one of the two families is enough for a case. */
                if (how.scaling == DIAGONAL ? (i + g) % 4 : (i + g + f) % 2) continue;
                OK(kry_amg_create(A, KRY_AMG(.cycle = how, .coarsening = families[f]), &M));
                check_cycle(M, &how, plates[g].name);
                kry_op_release(&M);
            }
        kry_op_release(&A);
        matrix_release(&m);
        free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids__as_two_grid_theory_says),
        cmocka_unit_test(matrices__as_two_grid_theory_says),
    };
    poison_buffers();
    return cmocka_run_group_tests_name("two_grid", tests, NULL, close_device);
}
