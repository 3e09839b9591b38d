/*
 * test_problem.c - every model problem against its definition, entry by entry, on small sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const int sizes[] = { 1, 2, 3, 5 };

static kry_problem *make(const char *spec, uint64_t seed)
{
    kry_problem *p = NULL;
    assert_int_equal(kry_problem_create(spec, seed, &p), KRY_OK);
    assert_non_null(p);
    assert_string_equal(p->name, spec);
    assert_int_equal(p->row_ptr[0], 0);
    assert_int_equal(p->row_ptr[p->n], p->nnz);
    return p;
}

/* a_ij, zero where nothing is stored. */
static double entry(const kry_problem *p, int64_t i, int64_t j)
{
    for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
        if (p->col[e] == j) return p->val[e];
    return 0;
}

static void check_rows_ascend_and_are_symmetric(const kry_problem *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            assert_in_range(p->col[e], 0, p->n - 1);
            if (e > p->row_ptr[i]) assert_true(p->col[e - 1] < p->col[e]);
            assert_true(p->val[e] == entry(p, p->col[e], i));
        }
    }
}

/* ---- grids ------------------------------------------------------------------------ */

/* Points next to each other along axis a, 0 ... 2; -1: not neighbours (or the same point). */
static int shared_axis(int size, int64_t i, int64_t j)
{
    int axis = -1, apart = 0;
    for (int a = 0; a < 3; a++, i /= size, j /= size) {
        int64_t d = i % size - j % size;
        if (d == 0) continue;
        if (d != 1 && d != -1) return -1;
        apart++;
        axis = a;
    }
    return apart == 1 ? axis : -1;
}

static double u_at(int axes, const double *x)
{
    double u = 1;
    for (int a = 0; a < axes; a++) u *= pow(sin(pi * x[a]), 2);
    return u;
}

/* sum_a w_a u_aa by central differences: independent of the formula in the library. */
static double weighted_laplacian(int axes, const double *weight, const double *at)
{
    double sum = 0, h = 1e-4, x[3];
    for (int a = 0; a < axes; a++) {
        memcpy(x, at, sizeof x);
        x[a] = at[a] + h;
        double above = u_at(axes, x);
        x[a] = at[a] - h;
        sum += weight[a] * (above - 2 * u_at(axes, at) + u_at(axes, x)) / (h * h);
    }
    return sum;
}

static void check_grid(const char *spec, int axes, int size, const double *weight)
{
    kry_problem *p = make(spec, 0);
    double diagonal = 0, h = 1.0 / (size + 1);
    for (int a = 0; a < axes; a++) diagonal += 2 * weight[a];
    assert_int_equal(p->n, axes == 2 ? size * size : size * size * size);
    assert_false(p->discrete);
    check_rows_ascend_and_are_symmetric(p);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t stored = 1;
        for (int64_t j = 0; j < p->n; j++) {
            int axis = shared_axis(size, i, j);
            double want = i == j ? diagonal : axis < 0 ? 0 : -weight[axis];
            assert_true(entry(p, i, j) == want);
            stored += axis >= 0;
        }
        assert_int_equal(p->row_ptr[i + 1] - p->row_ptr[i], stored);
        double x[3] = { (double)(i % size + 1) * h, (double)(i / size % size + 1) * h,
                        (double)(i / size / size + 1) * h };
        assert_true(fabs(p->solution[i] - u_at(axes, x)) < 1e-15);
        /* differences of step 1e-4: eps/1e-8 from rounding, 1e-8 u'''' from truncation */
        assert_true(fabs(p->rhs[i] + h * h * weighted_laplacian(axes, weight, x)) < 1e-5 * h * h);
    }
    kry_problem_release(&p);
    assert_null(p);
}

static void grids__small_sizes(void **state)
{
    (void)state;
    char spec[64];
    for (size_t s = 0; s < COUNT(sizes); s++) {
        snprintf(spec, sizeof spec, "poisson2d:%d", sizes[s]);
        check_grid(spec, 2, sizes[s], (const double[]){ 1, 1 });
        snprintf(spec, sizeof spec, "poisson3d:%d", sizes[s]);
        check_grid(spec, 3, sizes[s], (const double[]){ 1, 1, 1 });
        snprintf(spec, sizeof spec, "anisotropic2d:%d:0.125", sizes[s]);
        check_grid(spec, 2, sizes[s], (const double[]){ 1, 0.125 });
    }
}

static void poisson2d__row_sums_vanish_inside(void **state)
{
    (void)state;
    enum { N = 5 };
    kry_problem *p = make("poisson2d:5", 0);
    for (int64_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) sum += p->val[e];
        bool x_edge = i % N == 0 || i % N == N - 1, y_edge = i / N == 0 || i / N == N - 1;
        assert_true(sum == x_edge + y_edge);
    }
    kry_problem_release(&p);
}

/* a_ij by the description of the grid. */
static double described(const kry_stencil_params *g, int axes, int64_t i, int64_t j)
{
    int axis = shared_axis((int)g->size[0], i, j);
    double diagonal = 0;
    for (int a = 0; a < axes; a++)
        diagonal += 2 * g->diffusion[a] / (g->spacing[a] * g->spacing[a]);
    return i == j ? diagonal : axis < 0 ? 0 : -g->diffusion[axis] / pow(g->spacing[axis], 2);
}

static void grids__described_as_their_matrix_is(void **state)
{
    (void)state;
    static const char *const specs[] = { "poisson2d:5", "poisson3d:4", "poisson2d:1",
                                         "anisotropic2d:4:0.3", "poisson3d:1" };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = make(specs[s], 0);
        const kry_stencil_params *g = p->grid;
        assert_non_null(g);
        int axes = g->size[2] ? 3 : 2;
        assert_int_equal(g->struct_size, sizeof *g);
        assert_int_equal(p->n, g->size[0] * g->size[1] * (axes == 3 ? g->size[2] : 1));
        assert_null(g->coefficient);
        for (int a = 0; a < axes; a++) {
            assert_int_equal(g->size[a], g->size[0]); /* as shared_axis takes it */
            assert_int_equal(g->low[a], KRY_DIRICHLET);
            assert_int_equal(g->high[a], KRY_DIRICHLET);
        }
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t j = 0; j < p->n; j++)
                assert_true(entry(p, i, j) == described(g, axes, i, j));
        kry_problem_release(&p);
    }
}

static void problem_create_grid__the_same_without_entries(void **state)
{
    (void)state;
    static const char *const specs[] = { "poisson2d:1", "poisson2d:17", "poisson3d:6",
                                         "anisotropic2d:9:1e-3" };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *whole = make(specs[s], 0), *p = NULL;
        assert_int_equal(kry_problem_create_grid(specs[s], &p), KRY_OK);
        assert_true(!p->row_ptr && !p->col && !p->val);
        assert_string_equal(p->name, specs[s]);
        assert_int_equal(p->n, whole->n);
        assert_int_equal(p->nnz, whole->nnz);
        assert_int_equal(p->discrete, whole->discrete);
        assert_memory_equal(p->rhs, whole->rhs, (size_t)p->n * sizeof *p->rhs);
        assert_memory_equal(p->solution, whole->solution, (size_t)p->n * sizeof *p->solution);
        assert_memory_equal(p->grid, whole->grid, sizeof *p->grid);
        kry_problem_release(&p);
        kry_problem_release(&whole);
    }
}

static void problem_create_grid__refuses_what_has_no_grid(void **state)
{
    (void)state;
    static const char *const specs[] = { "random_spd:9:3", "powerlaw_spd:9:3", "banded_spd:9:3",
                                         "block_spd:9:3" };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = make(specs[s], 1);
        assert_null(p->grid);
        kry_problem_release(&p);
        assert_int_equal(kry_problem_create_grid(specs[s], &p), KRY_ERR_UNSUPPORTED);
        assert_null(p);
        assert_non_null(strstr(kry_last_error(), specs[s]));
    }
    kry_problem *p = NULL;
    assert_int_equal(kry_problem_create_grid("poisson2d:x", &p), KRY_ERR_PARSE);
    assert_non_null(strstr(kry_last_error(), "kry_problem_create_grid: "));
    assert_int_equal(kry_problem_create_grid(NULL, &p), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_problem_create_grid("poisson2d:4", NULL), KRY_ERR_ARGUMENT);
}

/* ---- random_spd ------------------------------------------------------------------- */

static void random_spd__dominant_and_solved(void **state)
{
    (void)state;
    static const char *const specs[] = { "random_spd:1:0", "random_spd:2:1",  "random_spd:3:2",
                                         "random_spd:5:3", "random_spd:50:0", "random_spd:90:80" };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = make(specs[s], 7);
        check_rows_ascend_and_are_symmetric(p);
        assert_true(p->discrete);
        for (int64_t i = 0; i < p->n; i++) {
            double others = 0, b = 0;
            for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
                if (p->col[e] != i) others += fabs(p->val[e]);
                b += p->val[e] * p->solution[p->col[e]];
            }
            assert_true(entry(p, i, i) > others);
            assert_true(fabs(p->rhs[i] - b) <= 1e-14 * (1 + others));
        }
        kry_problem_release(&p);
    }
}

static void random_spd__about_k_entries_off_the_diagonal(void **state)
{
    (void)state;
    for (int k = 1; k <= 9; k += 4) {
        char spec[64];
        snprintf(spec, sizeof spec, "random_spd:20000:%d", k);
        kry_problem *p = make(spec, 1);
        double mean = (double)p->nnz / (double)p->n - 1;
        assert_true(fabs(mean - k) < 0.01 * k);
        kry_problem_release(&p);
    }
}

static void random_spd__seed_decides(void **state)
{
    (void)state;
    kry_problem *a = make("random_spd:200:6", 3), *b = make("random_spd:200:6", 3),
                *c = make("random_spd:200:6", 4);
    assert_int_equal(a->nnz, b->nnz);
    assert_memory_equal(a->col, b->col, (size_t)a->nnz * sizeof *a->col);
    assert_memory_equal(a->val, b->val, (size_t)a->nnz * sizeof *a->val);
    assert_memory_equal(a->rhs, b->rhs, (size_t)a->n * sizeof *a->rhs);
    assert_true(c->nnz != a->nnz || memcmp(a->col, c->col, (size_t)a->nnz * sizeof *a->col));
    kry_problem_release(&a);
    kry_problem_release(&b);
    kry_problem_release(&c);
}

/* ---- powerlaw_spd, banded_spd, block_spd ------------------------------------------ */

static void check_dominant_and_solved(const kry_problem *p)
{
    check_rows_ascend_and_are_symmetric(p);
    assert_true(p->discrete);
    for (int64_t i = 0; i < p->n; i++) {
        double others = 0, b = 0;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            if (p->col[e] != i) others += fabs(p->val[e]);
            b += p->val[e] * p->solution[p->col[e]];
        }
        assert_true(entry(p, i, i) > others);
        assert_true(fabs(p->rhs[i] - b) <= 1e-14 * (1 + others));
    }
}

static void stand_ins__dominant_and_solved(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "powerlaw_spd:1:0",  "powerlaw_spd:2:1",     "powerlaw_spd:3:2", "powerlaw_spd:50:49",
        "powerlaw_spd:90:5", "powerlaw_spd:3000:0",  "banded_spd:1:0",   "banded_spd:2:1",
        "banded_spd:70:69",  "banded_spd:100:7",     "block_spd:1:1",    "block_spd:5:5",
        "block_spd:5:4",     "block_spd:81:3",       "block_spd:100:3",  "block_spd:64:1",
        "block_spd:65:1",    "powerlaw_spd:1000:30",
    };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = make(specs[s], 7), *again = make(specs[s], 7);
        check_dominant_and_solved(p);
        assert_int_equal(p->nnz, again->nnz);
        assert_memory_equal(p->col, again->col, (size_t)p->nnz * sizeof *p->col);
        assert_memory_equal(p->val, again->val, (size_t)p->nnz * sizeof *p->val);
        kry_problem_release(&p);
        kry_problem_release(&again);
    }
}

static int64_t row_length(const kry_problem *p, int64_t i)
{
    return p->row_ptr[i + 1] - p->row_ptr[i];
}

static void powerlaw_spd__lengths_follow_the_law(void **state)
{
    (void)state;
    enum { K = 8 };
    kry_problem *p = make("powerlaw_spd:100000:8", 1);
    int64_t most = 0, thousands = 0, hundreds = 0, short_rows = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t length = row_length(p, i);
        most = length > most ? length : most;
        thousands += length >= 1000;
        hundreds += length >= 100;
        short_rows += length <= 2 * K;
    }
    double mean = (double)p->nnz / (double)p->n - 1;
    assert_true(fabs(mean - K) < 0.15 * K);
    assert_in_range(most, 1500, 25000);
    assert_in_range(thousands, 2, 20);
    /* ten times the length, 10^1.4 = 25 times as rare */
    assert_in_range(hundreds, 10 * thousands, 60 * thousands);
    assert_true(short_rows > p->n * 9 / 10);
    kry_problem_release(&p);
}

static void banded_spd__a_third_of_the_band(void **state)
{
    (void)state;
    enum { N = 20000, W = 15 };
    kry_problem *p = make("banded_spd:20000:15", 1);
    for (int64_t i = 0; i < p->n; i++) {
        assert_true(p->col[p->row_ptr[i]] >= i - W);
        assert_true(p->col[p->row_ptr[i + 1] - 1] <= i + W);
    }
    double mean = (double)(p->nnz - N) / N;
    assert_true(fabs(mean - 2 * W / 3.0) < 0.02 * W);
    kry_problem_release(&p);
}

/* 4 x 4 x 4 nodes of three unknowns: nodes are coupled if they touch. */
static void block_spd__dense_blocks_of_neighbours(void **state)
{
    (void)state;
    enum { SIDE = 4, B = 3 };
    kry_problem *p = make("block_spd:192:3", 1);
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            int64_t a = i / B, b = j / B;
            bool near = true;
            for (int axis = 0; axis < 3; axis++, a /= SIDE, b /= SIDE)
                near = near && llabs(a % SIDE - b % SIDE) <= 1;
            assert_true((entry(p, i, j) != 0) == near);
        }
    }
    assert_int_equal(row_length(p, 0), 8 * B);
    assert_int_equal(row_length(p, (1 + SIDE * (1 + SIDE)) * B), 27 * B);
    kry_problem_release(&p);
}

/* ---- specs ------------------------------------------------------------------------ */

static void problem_create__bad_specs_are_named(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "poisson",
        "poisson2d",
        "poisson2d:",
        "poisson2d:0",
        "poisson2d:-3",
        "poisson2d:2.5",
        "poisson2d: 4",
        "poisson2d:4 ",
        "poisson2d:4:1",
        "poisson2d:46341",
        "poisson3d:1291",
        "poisson2d:18446744073709551617",
        "poisson2d:1e3",
        "POISSON2D:4",
        "poisson2d4",
        "anisotropic2d:4",
        "anisotropic2d:4:",
        "anisotropic2d:4:0",
        "anisotropic2d:4:-1",
        "anisotropic2d:4:nan",
        "anisotropic2d:4:inf",
        "anisotropic2d:4:1x",
        "anisotropic2d:4:1:1",
        "random_spd:5",
        "random_spd:5:5",
        "random_spd:5:-1",
        "random_spd:5:",
        "random_spd:5:1:1",
        "random_spd:2147483648:3",
        "powerlaw_spd:5",
        "powerlaw_spd:5:5",
        "powerlaw_spd:2147483648:3",
        "banded_spd:5:",
        "banded_spd:5:5",
        "banded_spd:5:-1",
        "block_spd:5",
        "block_spd:5:0",
        "block_spd:5:6",
        "block_spd:5:1:1",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        kry_problem *p = (kry_problem *)&state;
        assert_int_equal(kry_problem_create(bad[i], 0, &p), KRY_ERR_PARSE);
        assert_null(p);
        assert_non_null(strstr(kry_last_error(), bad[i]));
        assert_non_null(strstr(kry_last_error(), "random_spd:N:K"));
        assert_non_null(strstr(kry_last_error(), "block_spd:N:B"));
    }
}

static void problem_create__long_spec(void **state)
{
    (void)state;
    char spec[200] = "anisotropic2d:4:0.";
    memset(spec + strlen(spec), '1', 100);
    kry_problem *p;
    assert_int_equal(kry_problem_create(spec, 0, &p), KRY_ERR_PARSE);
    assert_int_equal(kry_problem_create(NULL, 0, &p), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_problem_create("poisson2d:4", 0, NULL), KRY_ERR_ARGUMENT);
}

/* Fail the k-th request for memory until nothing fails. */
static void sweep_memory(const char *spec, bool entries)
{
    kry_problem *p = NULL;
    int fail_at = 0;
    for (kry_status st = KRY_ERR_MEMORY; st != KRY_OK; fail_at++) {
        kry_test_fail_at = fail_at;
        st = entries ? kry_problem_create(spec, 0, &p) : kry_problem_create_grid(spec, &p);
        kry_test_fail_at = -1;
        assert_true(st == KRY_OK ? p != NULL : st == KRY_ERR_MEMORY && !p);
    }
    assert_true(fail_at > 5);
    kry_problem_release(&p);
}

static void problem_create__out_of_memory(void **state)
{
    (void)state;
    static const char *const specs[] = { "poisson2d:3", "random_spd:9:4", "powerlaw_spd:9:4",
                                         "block_spd:9:4" };
    for (size_t s = 0; s < COUNT(specs); s++) sweep_memory(specs[s], true);
    sweep_memory(specs[0], false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids__small_sizes),
        cmocka_unit_test(poisson2d__row_sums_vanish_inside),
        cmocka_unit_test(grids__described_as_their_matrix_is),
        cmocka_unit_test(problem_create_grid__the_same_without_entries),
        cmocka_unit_test(problem_create_grid__refuses_what_has_no_grid),
        cmocka_unit_test(random_spd__dominant_and_solved),
        cmocka_unit_test(random_spd__about_k_entries_off_the_diagonal),
        cmocka_unit_test(random_spd__seed_decides),
        cmocka_unit_test(stand_ins__dominant_and_solved),
        cmocka_unit_test(powerlaw_spd__lengths_follow_the_law),
        cmocka_unit_test(banded_spd__a_third_of_the_band),
        cmocka_unit_test(block_spd__dense_blocks_of_neighbours),
        cmocka_unit_test(problem_create__bad_specs_are_named),
        cmocka_unit_test(problem_create__long_spec),
        cmocka_unit_test(problem_create__out_of_memory),
    };
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
