/*
 * test_problem.c - every model problem against its definition, entry by entry, on small sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gallery/kinds.h"
#include "unit.h"
#include <locale.h>
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
    for (int f = 0; f < 2 * axes; f++) /* face by face, for the same rounding */
        diagonal += g->diffusion[f / 2] / (g->spacing[f / 2] * g->spacing[f / 2]);
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
        assert_false(p->singular);
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
        assert_int_equal(kry_problem_create_grid(specs[s], 0, &p), KRY_OK);
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
                                         "block_spd:9:3",  "convection2d:4:1", "helmholtz2d:4:1",
                                         "stokes2d:4" };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = make(specs[s], 1);
        assert_null(p->grid);
        kry_problem_release(&p);
        assert_int_equal(kry_problem_create_grid(specs[s], 0, &p), KRY_ERR_UNSUPPORTED);
        assert_null(p);
        assert_non_null(strstr(kry_last_error(), specs[s]));
    }
    kry_problem *p = NULL;
    assert_int_equal(kry_problem_create_grid("poisson2d:x", 0, &p), KRY_ERR_PARSE);
    assert_non_null(strstr(kry_last_error(), "kry_problem_create_grid: "));
    assert_int_equal(kry_problem_create_grid(NULL, 0, &p), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_problem_create_grid("poisson2d:4", 0, NULL), KRY_ERR_ARGUMENT);
}

/* A bare problem has no arrays, and gives the same numbers when it is asked; so does a whole one. */
static void problem_rows__of_a_bare_problem(void **state)
{
    (void)state;
    static const char *const specs[] = { "poisson2d:17",         "poisson3d:6",
                                         "anisotropic2d:9:1e-3", "twophase2d:7:100:bubble",
                                         "twophase3d:5",         "elasticity2d:7x3:10",
                                         "geograph_spd:120",     "random:40:3",
                                         "poisson3d27:4",        "elasticity3d:3x2x2" };
    kry_device *dev = open_host_or_opencl();
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *whole = make(specs[s], 3), *p = NULL;
        const size_t bytes = (size_t)whole->n * sizeof(double);
        double *rhs = malloc(bytes), *solution = malloc(bytes);
        kry_vec *v, *longer;
        assert_int_equal(kry_vec_create(dev, KRY_F32, whole->n, 1, &v), KRY_OK);
        assert_int_equal(kry_vec_create(dev, KRY_F32, whole->n + 1, 1, &longer), KRY_OK);
        assert_int_equal(kry_problem_create_bare(specs[s], 3, &p), KRY_OK);
        assert_true(!p->row_ptr && !p->rhs && !p->solution && !p->grid);
        assert_int_equal(p->solved, whole->solution != NULL);
        assert_int_equal(p->solved, whole->solved);
        assert_int_equal(p->traits, whole->traits);
        assert_int_equal(p->discrete, whole->discrete);
        for (int w = 0; w < 2; w++) {
            memset(rhs, 0xff, bytes), memset(solution, 0xff, bytes);
            assert_int_equal(kry_problem_rows(w ? whole : p, v, rhs, p->solved ? solution : NULL),
                             KRY_OK);
            assert_memory_equal(rhs, whole->rhs, bytes);
            if (p->solved) assert_memory_equal(solution, whole->solution, bytes);
        }
        if (!p->solved) {
            assert_int_equal(kry_problem_rows(p, v, rhs, solution), KRY_ERR_UNSUPPORTED);
            assert_non_null(strstr(kry_last_error(), specs[s]));
        }
        assert_int_equal(kry_problem_rows(p, longer, rhs, NULL), KRY_ERR_SHAPE);
        assert_int_equal(kry_problem_rows(p, v, NULL, NULL), KRY_OK);
        if (p->solved)
            for (int k = 0; k < 2; k++) { /* tables of sines and cosines; rows */
                fail_request(k);
                assert_int_equal(kry_problem_rows(p, v, rhs, NULL), KRY_ERR_MEMORY);
                fail_request(-1);
            }
        kry_vec_release(&v), kry_vec_release(&longer);
        free(rhs), free(solution);
        kry_problem_release(&p), kry_problem_release(&whole);
    }
    kry_device_release(&dev);
}

/* By itself a device has the whole grid, and all rows. */
static void problem_part__on_one_device_is_the_whole(void **state)
{
    (void)state;
    kry_problem *p, *whole = make("twophase2d:9:50", 2);
    kry_device *dev = open_host_or_opencl();
    kry_share *share;
    const size_t bytes = (size_t)whole->n * sizeof(double);

    assert_int_equal(kry_problem_create_bare("twophase2d:9:50", 2, &p), KRY_OK);
    assert_int_equal(kry_problem_set_part(whole, dev, NULL), KRY_ERR_ARGUMENT);
    for (int again = 0; again < 2; again++)
        assert_int_equal(kry_problem_set_part(p, dev, NULL), KRY_OK);
    assert_memory_equal(p->grid->coefficient, whole->grid->coefficient, bytes);
    for (int a = 0; a < 2; a++) assert_memory_equal(p->grid->face[a], whole->grid->face[a], bytes);
    assert_int_equal(kry_problem_share(p, dev, &share), KRY_OK);
    assert_int_equal(share->rows, whole->n);
    assert_int_equal(share->given, whole->nnz);
    assert_int_equal(share->symmetry, KRY_MTX_SYMMETRIC);
    assert_memory_equal(share->val, whole->val, (size_t)whole->nnz * sizeof(double));
    kry_share_release(&share);
    kry_problem_release(&p);
    assert_int_equal(kry_problem_create_bare("random:9:2", 2, &p), KRY_OK);
    assert_int_equal(kry_problem_set_part(p, dev, NULL), KRY_ERR_UNSUPPORTED);
    assert_non_null(strstr(kry_last_error(), "random:9:2"));
    for (int k = 0; k < 6; k++) {
        fail_request(k);
        assert_int_equal(kry_problem_share(p, dev, &share), KRY_ERR_MEMORY);
        fail_request(-1);
        assert_null(share);
    }
    kry_problem_release(&p);
    kry_problem_release(&whole);
    kry_device_release(&dev);
}

/* ---- two phases ------------------------------------------------------------------- */

/* Equation (9) of Gupta, Vuik and Lemmens: the first cell of the row with the interface. */
static void twophase__the_paper_row(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double eps;
    } of[] = { { "twophase2d:6:1024", 1.0 / 1024 },
               { "twophase2d:7", 1e-3 },
               { "twophase2d:2:1e6", 1e-6 },
               { "twophase2d:8:0.5:layers", 2 } };
    for (size_t s = 0; s < COUNT(of); s++) {
        kry_problem *p = make(of[s].spec, 1);
        int64_t size = p->grid->size[0], i = size / 2 * size;
        double eps = of[s].eps, rounding = 4e-16 * (1 + eps);
        assert_true(entry(p, i, i - size) == -1);
        assert_true(fabs(entry(p, i, i) - (1.5 + 1.5 * eps) + (size > 2 ? 0 : eps)) <= rounding);
        assert_true(entry(p, i, i + 1) == -(.5 + .5 * eps));
        if (size > 2) assert_true(entry(p, i, i + size) == -eps);
        assert_int_equal(p->row_ptr[i + 1] - p->row_ptr[i], size > 2 ? 4 : 3);
        kry_problem_release(&p);
    }
}

/* The definitions once more, in the plane of real numbers. */
static double distance_to(int axes, const double *x, int balls)
{
    double sum = 0;
    for (int a = 0; a < axes; a++) {
        double nearest = 1;
        for (int b = 0; b < balls; b++)
            nearest = fmin(nearest, fabs(x[a] - (2 * b + 1) / (2.0 * balls)));
        sum += nearest * nearest;
    }
    return sqrt(sum);
}

static bool first_phase(const char *shape, int axes, const double *x)
{
    double y = x[axes - 1];
    if (!strcmp(shape, "layers-faces")) return y < 0.5;
    if (!strcmp(shape, "stripes")) return (int)floor(8 * y) % 2 == 0;
    if (!strcmp(shape, "bubble")) return distance_to(axes, x, 1) < 0.25;
    assert_string_equal(shape, "bubbles");
    return distance_to(axes, x, 3) < 1.0 / 12;
}

/* k between two cells that are neighbours along an axis; rows of the last axis for `layers`. */
static double between(const char *shape, int axes, int size, double eps, int axis, const int *at)
{
    double here[3], there[3];
    int row = at[axes - 1], middle = size / 2;
    if (!strcmp(shape, "layers")) {
        if (axis == axes - 1) return row < middle ? 1 : eps; /* of the face above the row */
        return row < middle ? 1 : row > middle ? eps : (1 + eps) / 2;
    }
    for (int a = 0; a < 3; a++) here[a] = there[a] = (at[a] + 0.5) / size;
    there[axis] += 1.0 / size;
    double k = first_phase(shape, axes, here) ? 1 : eps;
    double l = first_phase(shape, axes, there) ? 1 : eps;
    return 2 * k * l / (k + l);
}

/* Every entry, row sums, and what the grid says of itself. */
static void check_twophase(int axes, int size, const char *contrast, const char *shape)
{
    char spec[64];
    snprintf(spec, sizeof spec, "twophase%dd:%d:%s:%s", axes, size, contrast, shape);
    kry_problem *p = make(spec, 3);
    double eps = 1 / atof(contrast), total = 0, size_of_b = 0;
    int stride[3] = { 1, size, size * size };
    assert_true(p->singular && !p->discrete && !p->solution);
    assert_int_equal(p->n, axes == 2 ? size * size : size * size * size);
    check_rows_ascend_and_are_symmetric(p);
    for (int64_t i = 0; i < p->n; i++) {
        int at[3] = { (int)(i % size), (int)(i / size % size), (int)(i / size / size) };
        double sum = 0;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) sum += p->val[e];
        assert_true(fabs(sum) <= 1e-15 * (entry(p, i, i) + 1e-300));
        for (int a = 0; a < axes; a++) {
            if (at[a] == size - 1) continue;
            double k = between(shape, axes, size, eps, a, at), is = -entry(p, i, i + stride[a]);
            assert_true(fabs(is - k) <= 1e-15 * k);
        }
        total += p->rhs[i], size_of_b += fabs(p->rhs[i]);
    }
    assert_true(fabs(total) <= 1e-14 * size_of_b);
    kry_problem_release(&p);
}

static void twophase__shapes(void **state)
{
    (void)state;
    static const char *const shapes[] = { "layers", "layers-faces", "stripes", "bubble",
                                          "bubbles" };
    for (size_t s = 0; s < COUNT(shapes); s++) {
        for (int size = 1; size < 20; size += size < 5 ? 1 : 4) {
            check_twophase(2, size, "1000", shapes[s]);
            check_twophase(3, size > 9 ? 8 : size, "1e6", shapes[s]);
        }
        check_twophase(2, 48, "0.001", shapes[s]);
        check_twophase(2, 51, "1", shapes[s]);
        check_twophase(3, 15, "0.2", shapes[s]);
    }
}

/* Cells with k = 1 for each shape: how much of the box it fills. */
static void twophase__phases(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double share;
    } of[] = {
        { "twophase2d:100:10:layers", 0.51 }, /* with the row of the interface */
        { "twophase2d:100:0.1:layers", 0.5 }, /* without it: the other phase is stiff */
        { "twophase2d:100:10:layers-faces", 0.5 }, { "twophase3d:32:10:stripes", 0.5 },
        { "twophase2d:500:10:bubble", 0.19635 },   { "twophase2d:500:10:bubbles", 0.19635 },
        { "twophase3d:60:0.1:bubble", 0.06545 },   { "twophase3d:150:0.1:bubbles", 0.06545 }
    };
    for (size_t s = 0; s < COUNT(of); s++) {
        kry_problem *p = NULL;
        int64_t first = 0, second = 0;
        assert_int_equal(kry_problem_create_grid(of[s].spec, 0, &p), KRY_OK);
        double eps = strstr(of[s].spec, ":0.1") ? 10 : 0.1;
        for (int64_t i = 0; i < p->n; i++) {
            first += p->grid->coefficient[i] == 1;
            second += fabs(p->grid->coefficient[i] - eps) < 1e-14;
        }
        assert_int_equal(first + second, p->n);
        double share = (double)first / (double)p->n;
        if (fabs(share - of[s].share) > (strstr(of[s].spec, "3d") ? 0.02 : 0.004) * of[s].share)
            fail_msg("%s: %g of the cells, not %g", of[s].spec, share, of[s].share);
        assert_int_equal(!!p->grid->face[0], s < 2);
        kry_problem_release(&p);
    }
}

static void twophase__defaults_and_seeds(void **state)
{
    (void)state;
    kry_problem *a = make("twophase3d:5", 3), *b = make("twophase3d:5:1000", 3),
                *c = make("twophase3d:5:1000:layers", 4), *grid = NULL;
    double squares = 0;
    assert_memory_equal(a->val, b->val, (size_t)a->nnz * sizeof *a->val);
    assert_memory_equal(a->val, c->val, (size_t)a->nnz * sizeof *a->val);
    assert_memory_equal(a->rhs, b->rhs, (size_t)a->n * sizeof *a->rhs);
    for (int64_t i = 0; i < a->n; i++) assert_true(a->rhs[i] != c->rhs[i]);
    assert_int_equal(kry_problem_create_grid("twophase3d:5", 3, &grid), KRY_OK);
    assert_true(grid->singular && !grid->val && grid->nnz == a->nnz);
    assert_memory_equal(a->rhs, grid->rhs, (size_t)a->n * sizeof *a->rhs);
    kry_problem_release(&a), kry_problem_release(&b), kry_problem_release(&c);
    kry_problem_release(&grid);
    assert_int_equal(kry_problem_create_grid("twophase2d:200", 1, &grid), KRY_OK);
    int64_t beyond = 0;
    for (int64_t i = 0; i < grid->n; i++) {
        squares += grid->rhs[i] * grid->rhs[i];
        beyond += fabs(grid->rhs[i]) > 2;
    }
    assert_true(fabs(squares / (double)grid->n - 1) < 0.03);
    assert_true(fabs((double)beyond / (double)grid->n - 0.0455) < 0.004);
    kry_problem_release(&grid);
}

static void twophase__messages_name_what_is_missing(void **state)
{
    (void)state;
    kry_problem *p = NULL;
    assert_int_equal(kry_problem_create("twophase2d:9:10:drops", 0, &p), KRY_ERR_PARSE);
    assert_non_null(strstr(kry_last_error(), "layers, layers-faces, stripes, bubble and bubbles"));
    assert_int_equal(kry_problem_create("twophase2d:9:0", 0, &p), KRY_ERR_PARSE);
    assert_non_null(strstr(kry_last_error(), "CONTRAST > 0"));
    assert_int_equal(kry_problem_create("twophase2d:9;10", 0, &p), KRY_ERR_PARSE);
    assert_non_null(strstr(kry_last_error(), "sizes from 1 to 46340"));
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

/* ---- matrices that are not positive definite ------------------------------------------ */

/* b = A x, and the rows ascend. */
static void check_solution(const kry_problem *p)
{
    assert_true(p->discrete);
    for (int64_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            if (e > p->row_ptr[i]) assert_true(p->col[e - 1] < p->col[e]);
            sum += p->val[e] * p->solution[p->col[e]];
        }
        assert_true(sum == p->rhs[i]);
    }
}

/* Differences of any kind are exact for u = a x + b y + c z: the rows of points away from the boundary give
 * h^2 PECLET w.grad u. */
static void check_convection(int axes, int N, double peclet, const char *scheme)
{
    char spec[64];
    snprintf(spec, sizeof spec, "convection%dd:%d:%g%s", axes, N, peclet, scheme);
    kry_problem *p = make(spec, 1);
    const double h = 1.0 / (N + 1), of[3] = { 0.75, -0.5, 0.25 };

    assert_int_equal(p->traits, 0);
    check_solution(p);
    for (int64_t i = 0; i < p->n; i++) {
        double sum = 0, x[3] = { 0 };
        bool inside = true;
        for (int a = 0, k = (int)i; a < axes; a++, k /= N) {
            x[a] = (k % N + 1) * h;
            inside = inside && k % N > 0 && k % N < N - 1;
        }
        if (!inside) continue;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            for (int a = 0, k = p->col[e]; a < axes; a++, k /= N)
                sum += p->val[e] * of[a] * (k % N + 1) * h;
        const double X = 2 * x[0] - 1, Y = 2 * x[1] - 1;
        const double want = of[0] * 2 * Y * (1 - X * X) - of[1] * 2 * X * (1 - Y * Y);
        assert_true(fabs(sum - h * h * peclet * want) < 1e-13 * (1 + peclet));
    }
    kry_problem_release(&p);
}

static void convection__is_exact_for_linear_functions(void **state)
{
    (void)state;
    for (int axes = 2; axes <= 3; axes++)
        for (int k = 0; k < 3; k++)
            for (int N = 1; N <= 5; N += 2)
                check_convection(axes, N, k * 20, k == 1 ? ":central" : k ? ":upwind" : "");
}

/* Upwind differences make an M-matrix, whatever the wind. */
static void convection__upwind_rows_dominate(void **state)
{
    (void)state;
    kry_problem *p = make("convection2d:7:1e4", 1);
    for (int64_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            assert_true((p->val[e] > 0) == (p->col[e] == i));
            sum += p->val[e];
        }
        assert_true(sum > -1e-9);
    }
    kry_problem_release(&p);
}

static void helmholtz2d__shifts_the_laplacian(void **state)
{
    (void)state;
    kry_problem *p = make("helmholtz2d:5:9", 1), *q = make("poisson2d:5", 1);
    assert_int_equal(p->traits, KRY_SYMMETRIC);
    check_solution(p);
    check_rows_ascend_and_are_symmetric(p);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->n; j++)
            assert_true(fabs(entry(p, i, j) - entry(q, i, j) + (i == j) * 81 / 36.0) < 1e-14);
    kry_problem_release(&q);
    kry_problem_release(&p);
}

/* Divergence is minus the transpose of the gradient; the flow u = y, v = x has none inside, and no Laplacian. */
static void stokes2d__is_a_saddle_point(void **state)
{
    (void)state;
    for (int N = 2; N <= 6; N++) {
        char spec[32];
        snprintf(spec, sizeof spec, "stokes2d:%d", N);
        kry_problem *p = make(spec, 1);
        const int64_t faces = N * (N - 1);
        assert_int_equal(p->n, 2 * faces + N * N - 1);
        assert_int_equal(p->traits, KRY_SYMMETRIC);
        check_solution(p);
        check_rows_ascend_and_are_symmetric(p);
        for (int64_t i = 0; i < p->n; i++) {
            double sum = 0;
            for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
                const int64_t j = p->col[e], k = j < faces ? j : j - faces;
                if (i >= 2 * faces) assert_true(j < 2 * faces && fabs(p->val[e]) == 1);
                if (j < faces) sum += p->val[e] * (double)(2 * (k / (N - 1)) + 1);
                if (j >= faces && j < 2 * faces) sum += p->val[e] * (double)(2 * (k % N) + 1);
            }
            const int64_t k = i < faces ? i : i < 2 * faces ? i - faces : i - 2 * faces;
            const int64_t wide = i < faces ? N - 1 : N,
                          high = i < faces || i >= 2 * faces ? N : N - 1;
            const int64_t x = k % wide, y = k / wide;
            if (x > 0 && x < wide - 1 && y > 0 && y < high - 1) assert_true(fabs(sum) < 1e-12);
        }
        kry_problem_release(&p);
    }
    kry_problem *p = NULL;
    assert_int_equal(kry_problem_create("stokes2d:1", 1, &p), KRY_ERR_PARSE);
}

static void random__rows_dominate_and_differ_from_columns(void **state)
{
    (void)state;
    kry_problem *p = make("random:200:7", 1);
    int asymmetric = 0;
    assert_int_equal(p->traits, 0);
    check_solution(p);
    for (int64_t i = 0; i < p->n; i++) {
        double sum = 0;
        assert_in_range(p->row_ptr[i + 1] - p->row_ptr[i], 2, 8);
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            sum += p->col[e] == i ? p->val[e] : -fabs(p->val[e]);
            asymmetric += p->val[e] != entry(p, p->col[e], i);
        }
        assert_true(sum > 0.09 && sum < 1.11);
    }
    assert_true(asymmetric > 1000);
    kry_problem_release(&p);
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

/* ---- plate2d, elasticity2d, geograph_spd, circuit_spd ------------------------------------ */

static void check_solved(const kry_problem *p)
{
    assert_true(p->discrete && p->solution && !p->singular && !p->grid);
    for (int64_t i = 0; i < p->n; i++) {
        double b = 0, size = 0;
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            assert_true(p->val[e] != 0 || p->axes == 3); /* whose blocks are stored whole */
            b += p->val[e] * p->solution[p->col[e]];
            size += fabs(p->val[e]);
        }
        assert_in_range((int64_t)(1000 * p->solution[i]), 0, 999);
        assert_true(fabs(p->rhs[i] - b) <= 1e-14 * size);
    }
}

/* Cholesky without pivoting gets through. */
static void check_positive(const kry_problem *p)
{
    int64_t n = p->n;
    double *a = calloc((size_t)(n * n), sizeof *a);
    assert_non_null(a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            a[i * n + p->col[e]] = p->val[e];
    for (int64_t k = 0; k < n; k++) {
        assert_true(a[k * n + k] > 0);
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (int64_t j = k; j < n && factor != 0; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    free(a);
}

static void solids_and_networks__symmetric_positive_solved(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "poisson3d27:1",
        "poisson3d27:5",
        "plate2d:1",
        "plate2d:2",
        "plate2d:3",
        "plate2d:12",
        "elasticity2d:1x1",
        "elasticity2d:2x1",
        "elasticity2d:1x3",
        "elasticity2d:9x7",
        "elasticity2d:1x1:5",
        "elasticity2d:8x5:100",
        "elasticity2d:7x6:0.01",
        "elasticity3d:1x1x1",
        "elasticity3d:4x3x5",
        "elasticity3d:3x2x4:1000",
        "geograph_spd:1",
        "geograph_spd:2",
        "geograph_spd:3",
        "geograph_spd:9",
        "geograph_spd:300",
        "circuit_spd:1",
        "circuit_spd:2",
        "circuit_spd:3",
        "circuit_spd:5",
        "circuit_spd:6",
        "circuit_spd:300",
        "circuit_spd:300:0",
        "circuit_spd:300:12",
    };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = make(specs[s], 5), *again = make(specs[s], 5), *other = make(specs[s], 6);
        check_rows_ascend_and_are_symmetric(p);
        check_solved(p);
        check_positive(p);
        assert_int_equal(p->nnz, again->nnz);
        assert_memory_equal(p->col, again->col, (size_t)p->nnz * sizeof *p->col);
        assert_memory_equal(p->val, again->val, (size_t)p->nnz * sizeof *p->val);
        assert_memory_equal(p->rhs, again->rhs, (size_t)p->n * sizeof *p->rhs);
        assert_true(memcmp(p->solution, other->solution, (size_t)p->n * sizeof *p->rhs));
        kry_problem_release(&p), kry_problem_release(&again), kry_problem_release(&other);
    }
}

/* Points that differ by at most one along each axis are coupled. */
static void poisson3d27__couples_all_around(void **state)
{
    (void)state;
    for (int n = 1; n < 6; n++) {
        char spec[32];
        snprintf(spec, sizeof spec, "poisson3d27:%d", n);
        kry_problem *p = make(spec, 0);
        const int64_t side = 3 * n - 2;
        assert_int_equal(p->n, n * n * n);
        assert_int_equal(p->nnz, side * side * side);
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t x = llabs(i % n - j % n), y = llabs(i / n % n - j / n % n),
                              z = llabs(i / n / n - j / n / n);
                const double want = i == j ? 26 : x < 2 && y < 2 && z < 2 ? -1 : 0;
                assert_true(entry(p, i, j) == want);
            }
        kry_problem_release(&p);
    }
}

static void plate2d__is_poisson2d_squared(void **state)
{
    (void)state;
    for (int size = 1; size < 8; size++) {
        char spec[32];
        snprintf(spec, sizeof spec, "plate2d:%d", size);
        kry_problem *p = make(spec, 0);
        snprintf(spec, sizeof spec, "poisson2d:%d", size);
        kry_problem *q = make(spec, 0);
        assert_int_equal(p->n, q->n);
        for (int64_t i = 0; i < p->n; i++) {
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0;
                for (int64_t k = 0; k < p->n; k++) sum += entry(q, i, k) * entry(q, k, j);
                assert_true(entry(p, i, j) == sum);
            }
        }
        kry_problem_release(&p), kry_problem_release(&q);
    }
}

/* x'A x for the displacements u = a x + b x y, v = c x + d x y, which finite elements have exactly:
 * the integral of D11 (u_x^2 + v_y^2 + 2 nu u_x v_y) + G (u_y + v_x)^2 over NX by NY. */
static double energy(double nx, double ny, double a, double b, double c, double d)
{
    double nu = 0.3, D11 = 1 / (1 - nu * nu), G = 0.5 / (1 + nu), area = nx * ny;
    double xx = nx * nx / 3, yy = ny * ny / 3, x = nx / 2, y = ny / 2; /* means */
    double ux = a * a + 2 * a * b * y + b * b * yy, vy = d * d * xx;
    double uxvy = a * d * x + b * d * x * y;
    double shear = b * b * xx + c * c + d * d * yy + 2 * (b * c * x + b * d * x * y + c * d * y);
    return area * (D11 * (ux + vy + 2 * nu * uxvy) + G * shear);
}

static void elasticity2d__energies_of_bilinear_displacements(void **state)
{
    (void)state;
    static const int sizes_of[][2] = { { 1, 1 }, { 3, 2 }, { 2, 5 }, { 11, 4 } };
    for (size_t s = 0; s < COUNT(sizes_of); s++) {
        int nx = sizes_of[s][0], ny = sizes_of[s][1];
        char spec[64];
        snprintf(spec, sizeof spec, "elasticity2d:%dx%d", nx, ny);
        kry_problem *p = make(spec, 0);
        assert_int_equal(p->n, 2 * nx * (ny + 1));
        assert_int_equal(p->axes, 2);
        for (int mode = 1; mode < 16; mode++) {
            double m[4] = { mode & 1, (mode & 2) / 4.0, (mode & 4) / 2.0, (mode & 8) / 16.0 };
            double *u = calloc((size_t)p->n, sizeof *u), sum = 0;
            assert_non_null(u);
            for (int64_t k = 0; k < p->n / 2; k++) {
                double x = p->coordinates[2 * k], y = p->coordinates[2 * k + 1];
                u[2 * k] = m[0] * x + m[1] * x * y, u[2 * k + 1] = m[2] * x + m[3] * x * y;
            }
            for (int64_t i = 0; i < p->n; i++)
                for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
                    sum += u[i] * p->val[e] * u[p->col[e]];
            double want = energy(nx, ny, m[0], m[1], m[2], m[3]);
            assert_true(fabs(sum - want) <= 1e-12 * want);
            free(u);
        }
        kry_problem_release(&p);
    }
}

/* Elements of modulus 1 and of JUMP, about as many: shares of an element in the corners of A, which
 * has one element only. */
static void elasticity2d__jump_in_half_of_the_elements(void **state)
{
    (void)state;
    kry_problem *p = make("elasticity2d:1x1", 0);
    double soft = entry(p, 0, 0);
    int stiff = 0;
    kry_problem_release(&p);
    for (int seed = 0; seed < 200; seed++) {
        p = make("elasticity2d:1x1:1e3", (uint64_t)seed);
        assert_true(entry(p, 0, 0) == soft || entry(p, 0, 0) == 1e3 * soft);
        stiff += entry(p, 0, 0) != soft;
        kry_problem_release(&p);
    }
    assert_in_range(stiff, 70, 130);
    p = make("elasticity2d:40x30", 0);
    kry_problem *jump = make("elasticity2d:40x30:7", 0);
    assert_true(jump->nnz > p->nnz); /* less cancels */
    for (int64_t i = 0; i < p->n; i++) {
        double share = (entry(jump, i, i) / entry(p, i, i) - 1) / 6; /* 0, 1/4, ... 1 */
        assert_true(fabs(4 * share - round(4 * share)) < 1e-12);
    }
    kry_problem_release(&jump), kry_problem_release(&p);
}

/* Derivative along axis k of the shape function of corner a at a point of the unit square or cube. */
static double shape_slope(int axes, int a, int k, const double at[3])
{
    double product = 1;
    for (int m = 0; m < axes; m++) {
        const int high = a >> m & 1;
        product *= m == k ? 2 * high - 1 : high ? at[m] : 1 - at[m];
    }
    return product;
}

/* Strains at a point of the displacement along axis r of corner a: those along the axes, then the shears. */
static void strains_of(int axes, int a, int r, const double at[3], double strain[6])
{
    int shear = axes;
    for (int e = 0; e < 6; e++) strain[e] = 0;
    strain[r] = shape_slope(axes, a, r, at);
    for (int p = 0; p < axes; p++)
        for (int q = p + 1; q < axes; q++, shear++)
            if (r == p || r == q) strain[shear] = shape_slope(axes, a, r == p ? q : p, at);
}

/* Twice the energy of two states of strain for each other: Hooke's law, Poisson's ratio 0.3, plane stress in the plane. */
static double hooke(int axes, const double u[6], const double v[6])
{
    const double nu = 0.3, G = 0.5 / (1 + nu),
                 D = axes == 2 ? 1 / (1 - nu * nu) : (1 - nu) / (1 + nu) / (1 - 2 * nu),
                 off = axes == 2 ? nu / (1 - nu * nu) : nu / (1 + nu) / (1 - 2 * nu);
    double sum = 0;
    for (int p = 0; p < axes; p++)
        for (int q = 0; q < axes; q++) sum += (p == q ? D : off) * u[p] * v[q];
    for (int e = axes; e < axes * (axes + 1) / 2; e++) sum += G * u[e] * v[e];
    return sum;
}

/* Two-point Gauss rules along each axis, which are exact for these elements. */
static double gauss_entry(int axes, int a, int r, int b, int s)
{
    double sum = 0;
    for (int point = 0; point < 1 << axes; point++) {
        double at[3], u[6], v[6];
        for (int k = 0; k < 3; k++) at[k] = 0.5 + (point >> k & 1 ? 0.5 : -0.5) / sqrt(3);
        strains_of(axes, a, r, at, u), strains_of(axes, b, s, at, v);
        sum += hooke(axes, u, v) / (1 << axes);
    }
    return sum;
}

/* The dense matrix of a free body, element by element. */
static double *assembled(int axes, const int size[3])
{
    const int wide = size[0] + 1, high = size[1] + 1, n = axes * wide * high * (size[2] + 1);
    double *K = calloc((size_t)n * (size_t)n, sizeof *K);
    assert_non_null(K);
    for (int e = 0; e < size[0] * size[1] * (axes == 3 ? size[2] : 1); e++)
        for (int a = 0; a < 1 << axes; a++)
            for (int b = 0; b < 1 << axes; b++) {
                const int corner =
                    e % size[0] + wide * (e / size[0] % size[1] + high * (e / size[0] / size[1]));
                const int i = corner + (a & 1) + wide * ((a >> 1 & 1) + high * (a >> 2));
                const int j = corner + (b & 1) + wide * ((b >> 1 & 1) + high * (b >> 2));
                for (int r = 0; r < axes; r++)
                    for (int s = 0; s < axes; s++)
                        K[(axes * i + r) * n + axes * j + s] += gauss_entry(axes, a, r, b, s);
            }
    return K;
}

/* The unknowns of a clamped body are those of the free one whose x, before `wide` is reached again, is not 0. */
static int64_t free_number(const kry_problem *p, int64_t i, int wide)
{
    const int64_t node = i / p->axes, clamped = wide - 1;
    return p->axes * (1 + node % clamped + wide * (node / clamped)) + i % p->axes;
}

static void elasticity__is_assembled_from_elements(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int axes, size[3];
    } of[] = { { "elasticity2d:3x2", 2, { 3, 2, 0 } },
               { "elasticity2d:1x5", 2, { 1, 5, 0 } },
               { "elasticity3d:1x1x1", 3, { 1, 1, 1 } },
               { "elasticity3d:2x1x3", 3, { 2, 1, 3 } },
               { "elasticity3d:3x4x2", 3, { 3, 4, 2 } } };
    for (size_t s = 0; s < COUNT(of); s++) {
        char spec[64];
        double *K = assembled(of[s].axes, of[s].size);
        snprintf(spec, sizeof spec, "%s:1:free", of[s].spec);
        kry_problem *p = make(of[s].spec, 0), *whole = make(spec, 0);
        for (int64_t i = 0; i < whole->n; i++)
            for (int64_t j = 0; j < whole->n; j++)
                assert_true(fabs(entry(whole, i, j) - K[i * whole->n + j]) < 1e-14);
        for (int64_t i = 0; i < p->n; i++) {
            const int64_t row = free_number(p, i, of[s].size[0] + 1);
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t column = free_number(p, j, of[s].size[0] + 1);
                assert_true(fabs(entry(p, i, j) - K[row * whole->n + column]) < 1e-14);
            }
            assert_true(p->coordinates[i] == whole->coordinates[row]);
        }
        assert_int_equal(p->block, of[s].axes);
        assert_int_equal(p->traits, KRY_POSITIVE);
        assert_int_equal(whole->traits, KRY_SYMMETRIC);
        kry_problem_release(&whole), kry_problem_release(&p);
        free(K);
    }
}

/* Whatever the moduli are. */
static void elasticity__rigid_bodies_have_no_energy(void **state)
{
    (void)state;
    static const char *const specs[] = { "elasticity2d:7x4:1:free", "elasticity2d:5x6:100:free",
                                         "elasticity3d:3x5x4:1:free",
                                         "elasticity3d:6x3x5:50:free" };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = make(specs[s], 9);
        const int modes = p->axes == 2 ? 3 : 6;
        double *B = malloc((size_t)(p->n * modes) * sizeof *B);
        assert_non_null(B);
        assert_int_equal(kry_rigid_body_modes(p->axes, p->n / p->axes, p->coordinates, B), KRY_OK);
        for (int64_t i = 0; i < p->n * modes; i++) {
            const double *mode = B + i / p->n * p->n;
            double sum = 0, size = 0;
            for (int64_t e = p->row_ptr[i % p->n]; e < p->row_ptr[i % p->n + 1]; e++) {
                sum += p->val[e] * mode[p->col[e]];
                size += fabs(p->val[e] * mode[p->col[e]]);
            }
            assert_true(fabs(sum) <= 1e-14 * size);
        }
        free(B);
        kry_problem_release(&p);
    }
}

static void networks__laplacians_with_a_ground(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double ground, least, most, degree; /* of conductances; off the diagonal on average */
    } of[] = { { "geograph_spd:20000", 1e-3, 1, 1, 7 },
               { "circuit_spd:20000", 1e-6, 1e-6, 1, 8 },
               { "circuit_spd:20000:2.5", 3.16227766e-3, 3.16227766e-3, 1, 8 } };
    for (size_t s = 0; s < COUNT(of); s++) {
        kry_problem *p = make(of[s].spec, 2);
        int64_t small = 0;
        for (int64_t i = 0; i < p->n; i++) {
            double sum = 0;
            for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
                sum += p->val[e];
                if (p->col[e] == i) continue;
                assert_true(-p->val[e] >= of[s].least * (1 - 1e-8) && -p->val[e] <= of[s].most);
                small += -p->val[e] < sqrt(of[s].least);
            }
            assert_true(fabs(sum - of[s].ground) < 1e-8 * of[s].ground + 1e-13);
        }
        double degree = (double)p->nnz / (double)p->n - 1;
        assert_true(fabs(degree - of[s].degree) < 0.25);
        if (s > 0) assert_true(fabs((double)small / (double)(p->nnz - p->n) - 0.5) < 0.02);
        kry_problem_release(&p);
    }
}

/* Iterations of plain CG to 1e-10 beside those that another program needed for such matrices; of
 * random ones for others of the kind. */
static int64_t iterations_of_cg(const kry_problem *p)
{
    size_t n = (size_t)p->n;
    double *r = calloc(n, sizeof *r), *d = calloc(n, sizeof *d), *q = calloc(n, sizeof *q);
    double rho = 0, next, target, pq;
    int64_t step = 0;
    assert_true(r && d && q);
    for (size_t i = 0; i < n; i++) r[i] = d[i] = p->rhs[i], rho += r[i] * r[i];
    for (target = 1e-20 * rho; rho > target && step < 20000; step++, rho = next) {
        pq = next = 0;
        for (size_t i = 0; i < n; i++) {
            q[i] = 0;
            for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
                q[i] += p->val[e] * d[p->col[e]];
            pq += d[i] * q[i];
        }
        for (size_t i = 0; i < n; i++) r[i] -= rho / pq * q[i], next += r[i] * r[i];
        for (size_t i = 0; i < n; i++) d[i] = r[i] + next / rho * d[i];
    }
    free(r), free(d), free(q);
    return step;
}

static void solids_and_networks__as_hard_as_they_should_be(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t n, nnz; /* 0: not the same everywhere */
        double iterations, within;
    } of[] = {
        { "plate2d:48", 2304, 28996, 1228, 0.02 },
        { "plate2d:80", 6400, 81604, 3306, 0.02 },
        { "elasticity2d:100x25", 5200, 65992, 569, 0.02 },
        { "elasticity2d:100x25:1e3", 5200, 0, 3821, 0.02 },
        { "geograph_spd:30000", 30000, 0, 888, 0.1 },
        { "circuit_spd:4000", 4000, 0, 1760, 0.15 },
    };
    for (size_t s = 0; s < COUNT(of); s++) {
        kry_problem *p = make(of[s].spec, 1);
        int64_t steps = iterations_of_cg(p);
        print_message("# %s: %lld iterations, %g there\n", p->name, (long long)steps,
                      of[s].iterations);
        assert_int_equal(p->n, of[s].n);
        if (of[s].nnz) assert_int_equal(p->nnz, of[s].nnz);
        assert_true(fabs((double)steps / of[s].iterations - 1) < of[s].within);
        kry_problem_release(&p);
    }
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
        "poisson3d27:1291",
        "poisson3d27:0",
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
        "twophase2d",
        "twophase2d:",
        "twophase2d:0",
        "twophase2d:46341",
        "twophase3d:1291",
        "twophase2d:4x",
        "twophase2d:4:",
        "twophase2d:4:0",
        "twophase2d:4:-5",
        "twophase2d:4:nan",
        "twophase2d:4:inf",
        "twophase2d:4:1e-200",
        "twophase2d:4:10x",
        "twophase2d:4::layers",
        "twophase2d:4:10:",
        "twophase2d:4:10:Layers",
        "twophase2d:4:10:bubble:1",
        "twophase3d:4:10:drops",
        "plate2d",
        "plate2d:0",
        "plate2d:46341",
        "plate2d:4:1",
        "elasticity2d:",
        "elasticity2d:4",
        "elasticity2d:4x",
        "elasticity2d:x4",
        "elasticity2d:0x4",
        "elasticity2d:4x0",
        "elasticity2d:4x-1",
        "elasticity2d:4X4",
        "elasticity2d:4x4x4",
        "elasticity2d:4:4",
        "elasticity2d:4x4:",
        "elasticity2d:4x4:0",
        "elasticity2d:4x4:-2",
        "elasticity2d:4x4:nan",
        "elasticity2d:4x4:1e101",
        "elasticity2d:4x4:1:1",
        "elasticity2d:40000x40000",
        "elasticity2d:2147483647x2147483647",
        "elasticity2d:99999999999999999999x9",
        "elasticity2d:9x99999999999999999999",
        "elasticity2d:4x4:1:fre",
        "elasticity2d:4x4::free",
        "elasticity3d:4x4",
        "elasticity3d:4x4x",
        "elasticity3d:4x4x0",
        "elasticity3d:4x4x4x4",
        "elasticity3d:1000x1000x1000",
        "elasticity3d:2147483647x2147483647x2147483647",
        "geograph_spd:0",
        "geograph_spd:5:5",
        "geograph_spd:2147483648",
        "circuit_spd:",
        "circuit_spd:5:",
        "circuit_spd:5:-1",
        "circuit_spd:5:12.5",
        "circuit_spd:5:nan",
        "circuit_spd:5:6:6",
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
        "convection2d:5",
        "convection2d:5:-1",
        "convection2d:5:1:",
        "convection2d:5:1:downwind",
        "convection2d:46341:1",
        "convection3d:1291:1",
        "helmholtz2d:5",
        "helmholtz2d:5:-1",
        "helmholtz2d:5:1:1",
        "stokes2d:0",
        "stokes2d:26755",
        "random:5",
        "random:5:5",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        kry_problem *p = (kry_problem *)&state;
        assert_int_equal(kry_problem_create(bad[i], 0, &p), KRY_ERR_PARSE);
        assert_null(p);
        assert_non_null(strstr(kry_last_error(), bad[i]));
        assert_non_null(strstr(kry_last_error(), "random_spd:N:K"));
        assert_non_null(strstr(kry_last_error(), "twophase3d:N[:CONTRAST[:SHAPE]]"));
        assert_non_null(strstr(kry_last_error(), "elasticity2d:NXxNY[:JUMP[:free]]"));
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

/* Fail the k-th request for memory until there are no more. What was tuned is done without. */
static void sweep_memory(const char *spec, bool entries)
{
    int fail_at = 0;
    for (bool failed = true; failed; fail_at++) {
        kry_problem *p = NULL;
        fail_request(fail_at);
        const kry_status st =
            entries ? kry_problem_create(spec, 0, &p) : kry_problem_create_grid(spec, 0, &p);
        failed = end_requests();
        assert_true(st == KRY_OK ? p != NULL : st == KRY_ERR_MEMORY && !p);
        assert_true(failed || st == KRY_OK);
        kry_problem_release(&p);
    }
    assert_true(fail_at > 5);
}

static void problem_create__out_of_memory(void **state)
{
    (void)state;
    static const char *const specs[] = { "poisson2d:3",    "random_spd:9:4", "powerlaw_spd:9:4",
                                         "block_spd:9:4",  "plate2d:3",      "elasticity2d:3x2:10",
                                         "geograph_spd:9", "circuit_spd:9",  "convection2d:3:10",
                                         "stokes2d:3",     "random:9:4" };
    for (size_t s = 0; s < COUNT(specs); s++) sweep_memory(specs[s], true);
    sweep_memory(specs[0], false);
    sweep_memory("twophase2d:3", true);
    sweep_memory("twophase3d:3:10:bubble", true);
    sweep_memory("twophase3d:3", false);
}

static void problem_create__decimal_comma(void **unused)
{
    (void)unused;
    kry_problem *p;
    if (!take_decimal_comma()) SKIP("no locale with a decimal comma can be had");
    kry_status st = kry_problem_create("anisotropic2d:8:0.5", 1, &p);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(st, KRY_OK);
    kry_problem_release(&p);
}

/* Rows first ... first + rows - 1 of a problem are those of the whole, to the bit. */
static void check_range(const kry_problem *p, int64_t first, int64_t rows)
{
    const kryi_problem_made *m = (const kryi_problem_made *)p;
    const int64_t at = p->row_ptr[first], nnz = p->row_ptr[first + rows] - at;
    kryi_problem_csr A;

    assert_int_equal(m->kind->entries(&m->spec, (kryi_problem_range){ first, rows }, &A), KRY_OK);
    assert_int_equal(A.rows, rows);
    for (int64_t i = 0; i <= rows; i++)
        if (A.row_ptr[i] != p->row_ptr[first + i] - at)
            fail_msg("%s: rows %d ...: row %d begins at %d", p->name, (int)first, (int)i,
                     (int)A.row_ptr[i]);
    if (nnz) assert_memory_equal(A.col, p->col + at, (size_t)nnz * sizeof *A.col);
    if (nnz) assert_memory_equal(A.val, p->val + at, (size_t)nnz * sizeof(double));
    kryi_problem_csr_release(&A);
}

/* A range of rows of a problem has the entries that the whole has there, however it is cut. */
static void rows__of_ranges_are_those_of_the_whole(void **state)
{
    (void)state;
    static const int parts[] = { 2, 3, 4, 7 };
    static const char *const specs[] = {
        "poisson2d:11",
        "poisson3d:6",
        "anisotropic2d:9:1e-3",
        "twophase2d:9:100:layers",
        "twophase3d:5",
        "plate2d:8",
        "elasticity2d:7x5:10",
        "geograph_spd:300",
        "geograph_spd:1",
        "circuit_spd:90:3",
        "random_spd:70:5",
        "powerlaw_spd:200:9",
        "banded_spd:60:9",
        "block_spd:61:4",
        "convection2d:8:10",
        "convection3d:4:3:central",
        "helmholtz2d:7:2",
        "stokes2d:6",
        "random:50:4",
        "twophase2d:8:7:bubbles",
        "poisson3d27:5",
        "elasticity3d:3x4x2:7",
        "elasticity3d:2x2x3:7:free",
    };
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p;
        OK(kry_problem_create(specs[s], 5, &p));
        for (size_t k = 0; k < COUNT(parts); k++)
            for (int r = 0; r < parts[k]; r++) {
                const int64_t begin = p->n * r / parts[k];
                check_range(p, begin, p->n * (r + 1) / parts[k] - begin);
            }
        check_range(p, p->n / 3, (p->n + 1) / 2);
        check_range(p, p->n, 0);
        kry_problem_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids__small_sizes),
        cmocka_unit_test(poisson2d__row_sums_vanish_inside),
        cmocka_unit_test(grids__described_as_their_matrix_is),
        cmocka_unit_test(problem_create_grid__the_same_without_entries),
        cmocka_unit_test(problem_create_grid__refuses_what_has_no_grid),
        cmocka_unit_test(problem_rows__of_a_bare_problem),

        cmocka_unit_test(problem_part__on_one_device_is_the_whole),
        cmocka_unit_test(twophase__the_paper_row),
        cmocka_unit_test(twophase__shapes),
        cmocka_unit_test(twophase__phases),
        cmocka_unit_test(twophase__defaults_and_seeds),
        cmocka_unit_test(twophase__messages_name_what_is_missing),
        cmocka_unit_test(random_spd__dominant_and_solved),
        cmocka_unit_test(random_spd__about_k_entries_off_the_diagonal),
        cmocka_unit_test(random_spd__seed_decides),
        cmocka_unit_test(stand_ins__dominant_and_solved),
        cmocka_unit_test(powerlaw_spd__lengths_follow_the_law),
        cmocka_unit_test(banded_spd__a_third_of_the_band),
        cmocka_unit_test(convection__is_exact_for_linear_functions),
        cmocka_unit_test(convection__upwind_rows_dominate),
        cmocka_unit_test(helmholtz2d__shifts_the_laplacian),
        cmocka_unit_test(stokes2d__is_a_saddle_point),
        cmocka_unit_test(random__rows_dominate_and_differ_from_columns),
        cmocka_unit_test(block_spd__dense_blocks_of_neighbours),
        cmocka_unit_test(solids_and_networks__symmetric_positive_solved),
        cmocka_unit_test(poisson3d27__couples_all_around),
        cmocka_unit_test(plate2d__is_poisson2d_squared),
        cmocka_unit_test(elasticity2d__energies_of_bilinear_displacements),
        cmocka_unit_test(elasticity2d__jump_in_half_of_the_elements),
        cmocka_unit_test(elasticity__is_assembled_from_elements),
        cmocka_unit_test(elasticity__rigid_bodies_have_no_energy),
        cmocka_unit_test(networks__laplacians_with_a_ground),
        cmocka_unit_test(solids_and_networks__as_hard_as_they_should_be),
        cmocka_unit_test(rows__of_ranges_are_those_of_the_whole),
        cmocka_unit_test(problem_create__bad_specs_are_named),
        cmocka_unit_test(problem_create__long_spec),
        cmocka_unit_test(problem_create__decimal_comma),
        cmocka_unit_test(problem_create__out_of_memory),
    };
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
