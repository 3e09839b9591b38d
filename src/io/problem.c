/*
 * problem.c - model problems from a spec: grids with the five- and seven-point stencils here,
 * two-phase flow in problem_twophase.c, solids in problem_mesh.c, networks in problem_graph.c,
 * random matrices in problem_random.c.
 *
 * Grids: N interior points a side, h = 1/(N+1), x fastest, everything scaled by h^2. With weights
 * w_a on the axes the equation is -sum_a w_a u_aa = f, and
 *     u = prod_a sin^2(pi x_a),   u_aa = 2 pi^2 cos(2 pi x_a) prod_{b != a} sin^2(pi x_b).
 */
#include "io/problem.h"
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMS                                                                          \
    "poisson2d:N, poisson3d:N, anisotropic2d:N:EPS, twophase2d:N[:CONTRAST[:SHAPE]], " \
    "twophase3d:N[:CONTRAST[:SHAPE]], plate2d:N, elasticity2d:NXxNY[:JUMP], "          \
    "geograph_spd:N, circuit_spd:N[:DECADES], random_spd:N:K, powerlaw_spd:N:K, "      \
    "banded_spd:N:W and block_spd:N:B"

static const double pi = 3.14159265358979323846;

typedef kry_problem_spec spec;

/* ---- grids ------------------------------------------------------------------------ */

typedef struct grid {
    int axes;
    int64_t size; /* points a side */
    double weight[3];
    int64_t stride[3]; /* size^a */
    double *sin2;      /* size: sin^2(pi x_i) */
    double *cos2;      /* size: cos(2 pi x_i) */
} grid;

/* Row i, the point at[]: neighbours below in falling stride, the diagonal, neighbours above. */
static int64_t grid_row(const grid *g, int64_t i, const int64_t *at, int64_t at_entry,
                        kry_problem *p)
{
    double diagonal = 0;
    assert(g->axes >= 1 && g->axes <= 3);
    for (int a = g->axes - 1; a >= 0; a--) {
        diagonal += 2 * g->weight[a];
        if (at[a] == 0) continue;
        p->col[at_entry] = (int32_t)(i - g->stride[a]);
        p->val[at_entry++] = -g->weight[a];
    }
    p->col[at_entry] = (int32_t)i;
    p->val[at_entry++] = diagonal;
    for (int a = 0; a < g->axes; a++) {
        if (at[a] == g->size - 1) continue;
        p->col[at_entry] = (int32_t)(i + g->stride[a]);
        p->val[at_entry++] = -g->weight[a];
    }
    return at_entry;
}

/* u and h^2 f at the point. */
static void grid_point(const grid *g, const int64_t *at, double *u, double *f)
{
    double h = 1.0 / ((double)g->size + 1), sum = 0;
    *u = 1;
    for (int a = 0; a < g->axes; a++) {
        double term = g->weight[a] * g->cos2[at[a]];
        for (int b = 0; b < g->axes; b++)
            if (b != a) term *= g->sin2[at[b]];
        sum += term;
        *u *= g->sin2[at[a]];
    }
    *f = -2 * pi * pi * h * h * sum;
}

static void grid_fill(const grid *g, kry_problem *p)
{
    int64_t at[3] = { 0, 0, 0 }, entry = 0;
    assert(g->axes >= 1 && g->axes <= 3);
    for (int64_t i = 0; i < p->n; i++) {
        if (p->row_ptr) {
            entry = grid_row(g, i, at, entry, p);
            p->row_ptr[i + 1] = entry;
        }
        grid_point(g, at, &p->solution[i], &p->rhs[i]);
        for (int a = 0; a < g->axes && ++at[a] == g->size && a + 1 < g->axes; a++) at[a] = 0;
    }
}

/* The matrix as a stencil: everything is scaled by h^2, so points are 1 apart. */
static kry_status grid_describe(const grid *g, kry_problem *p)
{
    kry_status st = KRY_OK;
    kry_stencil_params *stencil = NULL;
    TRY(kry_alloc(1, sizeof *stencil, &stencil));
    *stencil = *KRY_STENCIL();
    for (int a = 0; a < g->axes; a++) {
        stencil->size[a] = g->size;
        stencil->spacing[a] = 1;
        stencil->diffusion[a] = g->weight[a];
        stencil->low[a] = stencil->high[a] = KRY_DIRICHLET;
    }
    p->grid = stencil;
done:
    return st;
}

kry_status kry_problem_alloc_entries(kry_problem *p)
{
    kry_status st = KRY_OK;
    TRY(kry_alloc((size_t)p->n + 1, sizeof(int64_t), &p->row_ptr));
    TRY(kry_alloc((size_t)p->nnz, sizeof(int32_t), &p->col));
    TRY(kry_alloc((size_t)p->nnz, sizeof(double), &p->val));
done:
    return st;
}

static kry_status grid_create(grid *g, bool entries, kry_problem *p)
{
    kry_status st = KRY_OK;
    int64_t points = 1;
    for (int a = 0; a < g->axes; a++) {
        g->stride[a] = points;
        points *= g->size;
    }
    p->n = points;
    /* every point has 2 axes + 1 entries, less one on each of the 2 axes faces */
    p->nnz = (2 * g->axes + 1) * points - 2 * g->axes * (points / g->size);
    TRY(kry_alloc((size_t)g->size, sizeof(double), &g->sin2));
    TRY(kry_alloc((size_t)g->size, sizeof(double), &g->cos2));
    TRY(grid_describe(g, p));
    if (entries) TRY(kry_problem_alloc_entries(p));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->rhs));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->solution));
    for (int64_t i = 0; i < g->size; i++) {
        double x = ((double)i + 1) / ((double)g->size + 1), s = sin(pi * x);
        g->sin2[i] = s * s;
        g->cos2[i] = cos(2 * pi * x);
    }
    grid_fill(g, p);
done:
    free(g->sin2);
    free(g->cos2);
    return st;
}

static kry_status poisson2d(const spec *s, kry_problem *p)
{
    return grid_create(&(grid){ .axes = 2, .size = s->size, .weight = { 1, 1 } }, s->entries, p);
}

static kry_status poisson3d(const spec *s, kry_problem *p)
{
    return grid_create(&(grid){ .axes = 3, .size = s->size, .weight = { 1, 1, 1 } }, s->entries, p);
}

static kry_status anisotropic2d(const spec *s, kry_problem *p)
{
    return grid_create(&(grid){ .axes = 2, .size = s->size, .weight = { 1, s->eps } }, s->entries,
                       p);
}

/* ---- specs ------------------------------------------------------------------------ */

enum field { FIELD_NONE, FIELD_EPS, FIELD_K, FIELD_PHASES, FIELD_ELEMENTS, FIELD_DECADES };

static const struct kind {
    const char *name;
    int64_t max_size; /* so that the unknowns can be counted in 31 bits */
    enum field field; /* what stands behind N */
    char letter;      /* of FIELD_K, which runs from `least` to N-1+least */
    int least;
    bool grid;
    kry_status (*create)(const spec *s, kry_problem *p);
} kinds[] = {
    { "poisson2d", 46340, FIELD_NONE, 0, 0, true, poisson2d },
    { "poisson3d", 1290, FIELD_NONE, 0, 0, true, poisson3d },
    { "anisotropic2d", 46340, FIELD_EPS, 0, 0, true, anisotropic2d },
    { "twophase2d", 46340, FIELD_PHASES, 0, 0, true, kry_problem_twophase2d },
    { "twophase3d", 1290, FIELD_PHASES, 0, 0, true, kry_problem_twophase3d },
    { "plate2d", 46340, FIELD_NONE, 0, 0, false, kry_problem_plate2d },
    { "elasticity2d", INT32_MAX, FIELD_ELEMENTS, 0, 0, false, kry_problem_elasticity2d },
    { "geograph_spd", INT32_MAX, FIELD_NONE, 0, 0, false, kry_problem_geograph },
    { "circuit_spd", INT32_MAX, FIELD_DECADES, 0, 0, false, kry_problem_circuit },
    { "random_spd", INT32_MAX, FIELD_K, 'K', 0, false, kry_problem_random },
    { "powerlaw_spd", INT32_MAX, FIELD_K, 'K', 0, false, kry_problem_powerlaw },
    { "banded_spd", INT32_MAX, FIELD_K, 'W', 0, false, kry_problem_banded },
    { "block_spd", INT32_MAX, FIELD_K, 'B', 1, false, kry_problem_block },
};

/* The whole number at *text, -1 if there is none; *text moves behind it. */
static int64_t read_whole(const char **text)
{
    int64_t value = -1;
    for (; isdigit((unsigned char)**text) && value < INT32_MAX; (*text)++)
        value = (value < 0 ? 0 : value) * 10 + (**text - '0');
    return value;
}

/* What stands behind N: `at` is there, behind the colon. */
static kry_status read_eps(const char *text, const char *at, spec *s)
{
    kry_status st = KRY_OK;
    char *end = NULL;
    s->eps = strtod(at, &end);
    CHECK(end > at && !*end && s->eps > 0 && isfinite(s->eps), KRY_ERR_PARSE,
          "%s: \"%s\" needs a number EPS > 0; there are " FORMS, s->func, text);
done:
    return st;
}

static kry_status read_k(const char *text, const char *at, const struct kind *kind, spec *s)
{
    kry_status st = KRY_OK;
    s->k = read_whole(&at);
    CHECK(!*at && s->k >= kind->least && s->k < s->size + kind->least, KRY_ERR_PARSE,
          "%s: \"%s\" needs a whole number %c from %s; there are " FORMS, s->func, text,
          kind->letter, kind->least ? "1 to N" : "0 to N-1");
done:
    return st;
}

/* Contrasts such that harmonic means and their reciprocals are numbers. */
static kry_status read_phases(const char *text, const char *at, spec *s)
{
    kry_status st = KRY_OK;
    char *end = NULL;
    s->contrast = strtod(at, &end);
    CHECK(end > at && (!*end || *end == ':') && s->contrast >= 1e-100 && s->contrast <= 1e100,
          KRY_ERR_PARSE,
          "%s: \"%s\" needs a number CONTRAST > 0, from 1e-100 to 1e100; there are " FORMS, s->func,
          text);
    if (*end == ':') s->shape = kry_problem_shape(end + 1);
    CHECK(s->shape >= 0, KRY_ERR_PARSE,
          "%s: \"%s\" needs a SHAPE, one of " KRY_PROBLEM_SHAPES "; there are " FORMS, s->func,
          text);
done:
    return st;
}

/* `at` is behind NX. */
static kry_status read_elements(const char *text, const char *at, spec *s)
{
    kry_status st = KRY_OK;
    static const int64_t most = INT32_MAX; /* unknowns */
    char *end = NULL;
    bool right = s->size >= 1 && s->size <= most && *at == 'x';
    if (right) at++, s->k = read_whole(&at);
    right = right && s->k >= 1 && s->k <= most && s->size <= most / (2 * (s->k + 1));
    CHECK(right && (!*at || *at == ':'), KRY_ERR_PARSE,
          "%s: \"%s\" needs whole numbers NXxNY, 2 NX (NY + 1) unknowns being %lld at most; there "
          "are " FORMS,
          s->func, text, (long long)most);
    s->contrast = 1;
    if (!*at) goto done;
    s->contrast = strtod(++at, &end);
    CHECK(end > at && !*end && s->contrast >= 1e-100 && s->contrast <= 1e100, KRY_ERR_PARSE,
          "%s: \"%s\" needs a number JUMP > 0, from 1e-100 to 1e100; there are " FORMS, s->func,
          text);
done:
    return st;
}

/* At most as many that the ground is more than rounding of the largest. */
static kry_status read_decades(const char *text, const char *at, spec *s)
{
    kry_status st = KRY_OK;
    char *end = NULL;
    s->eps = strtod(at, &end);
    CHECK(end > at && !*end && s->eps >= 0 && s->eps <= 12, KRY_ERR_PARSE,
          "%s: \"%s\" needs a number DECADES from 0 to 12; there are " FORMS, s->func, text);
done:
    return st;
}

static kry_status read_spec(const char *text, const struct kind **kind, spec *s)
{
    kry_status st = KRY_OK;
    size_t length = strcspn(text, ":");
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strlen(kinds[i].name) == length && !strncmp(text, kinds[i].name, length))
            *kind = &kinds[i];
    CHECK(*kind, KRY_ERR_PARSE, "%s: unknown problem \"%s\"; there are " FORMS, s->func, text);
    const char *at = text + length + (text[length] == ':');
    enum field field = (*kind)->field;
    s->size = read_whole(&at);
    if (field == FIELD_ELEMENTS) return read_elements(text, at, s);
    bool may = field == FIELD_PHASES || field == FIELD_DECADES; /* have more, or not */
    bool more = *at == ':', right = may || more == (field != FIELD_NONE);
    CHECK(s->size >= 1 && s->size <= (*kind)->max_size && right && (more || !*at), KRY_ERR_PARSE,
          "%s: \"%s\" needs a whole number N from 1 to %lld%s; there are " FORMS, s->func, text,
          (long long)(*kind)->max_size,
          may                   ? ""
          : field == FIELD_NONE ? " and nothing more"
                                : " and one number more");
    at += more;
    if (field == FIELD_EPS) TRY(read_eps(text, at, s));
    if (field == FIELD_K) TRY(read_k(text, at, *kind, s));
    if (field == FIELD_DECADES && more) TRY(read_decades(text, at, s));
    if (field == FIELD_PHASES && more) TRY(read_phases(text, at, s));
done:
    return st;
}

static kry_status create(const char *text, spec *s, kry_problem **problem)
{
    kry_status st = KRY_OK;
    const struct kind *kind = NULL;
    kry_problem *p = NULL;
    CHECK(problem, KRY_ERR_ARGUMENT, "%s: problem is NULL", s->func);
    *problem = NULL;
    CHECK(text, KRY_ERR_ARGUMENT, "%s: spec is NULL", s->func);
    CHECK(strlen(text) < sizeof p->name, KRY_ERR_PARSE,
          "%s: a spec of %zu characters; there are " FORMS, s->func, strlen(text));
    TRY(read_spec(text, &kind, s));
    CHECK(s->entries || kind->grid, KRY_ERR_UNSUPPORTED,
          "%s: \"%s\" has no grid; kry_problem_create makes it with its entries", s->func, text);
    TRY(kry_alloc(1, sizeof *p, &p));
    strcpy(p->name, text);
    TRY(kind->create(s, p));
    *problem = p;
    p = NULL;
done:
    kry_problem_release(&p);
    return st;
}

kry_status kry_problem_create(const char *text, uint64_t seed, kry_problem **problem)
{
    spec s = {
        .seed = seed, .contrast = 1000, .eps = 6, .func = "kry_problem_create", .entries = true
    };
    return create(text, &s, problem);
}

kry_status kry_problem_create_grid(const char *text, uint64_t seed, kry_problem **problem)
{
    spec s = { .seed = seed, .contrast = 1000, .eps = 6, .func = "kry_problem_create_grid" };
    return create(text, &s, problem);
}

void kry_problem_release(kry_problem **problem)
{
    if (!problem || !*problem) return;
    kry_problem *p = *problem;
    free(p->row_ptr);
    free(p->col);
    free(p->val);
    free(p->rhs);
    free(p->solution);
    if (p->grid) free((void *)p->grid->coefficient);
    for (int a = 0; p->grid && a < 3; a++) free((void *)p->grid->face[a]);
    free((void *)p->grid);
    free(p);
    *problem = NULL;
}
