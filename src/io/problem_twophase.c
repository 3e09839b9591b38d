/*
 * problem_twophase.c - two fluids, or rocks, between walls: -div(k grad u) = f, k = 1 in one phase
 * and eps = 1/CONTRAST in the other, no flux through any side.
 *
 * N cells a side, x fastest, h = 1/N, everything scaled by h^2. The matrix is singular: constants
 * give zero.
 *
 * Source   R. Gupta, C. Vuik, C. W. J. Lemmens, whose equation (9) is a row of `layers`.
 */
#include "base/random.h"
#include "grid/host_grid.h"
#include "io/problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef kry_problem_spec spec;

enum { STREAM_RADIUS, STREAM_ANGLE };
static const double pi = 3.14159265358979323846;

/* ---- who is where ------------------------------------------------------------------------ */

typedef struct place {
    int axes;
    int64_t size; /* N */
    int64_t at[3];
    int64_t up; /* at[] along the last axis: across the layers */
} place;

/* Is the cell's centre nearer than `radius` to the nearest of count^axes centres, spread evenly?
 * In units of h / (2 count) all is whole but for the radius: no cell is on the edge by rounding. */
static bool in_ball(const place *c, int64_t count, double radius)
{
    double away = 0, far = 2 * radius * (double)(count * c->size);
    for (int a = 0; a < c->axes; a++) {
        int64_t x = 2 * c->at[a] + 1, ball = count * x / (2 * c->size);
        double d = (double)(count * x - c->size * (2 * ball + 1));
        away += d * d;
    }
    return away < far * far;
}

static bool below_middle(const place *c) { return c->up < c->size / 2; }
static bool even_stripe(const place *c) { return 4 * (2 * c->up + 1) / c->size % 2 == 0; }
static bool in_bubble(const place *c) { return in_ball(c, 1, 0.25); }
static bool in_bubbles(const place *c) { return in_ball(c, 3, 1.0 / 12); }

enum { LAYERS }; /* the first one has faces of its own */
static const struct shape {
    const char *name;
    bool (*first)(const place *c); /* k = 1 */
} shapes[] = {
    { "layers", below_middle }, { "layers-faces", below_middle }, { "stripes", even_stripe },
    { "bubble", in_bubble },    { "bubbles", in_bubbles },
};

int kry_problem_shape(const char *name)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        if (!strcmp(name, shapes[s].name)) return (int)s;
    return -1;
}

/* ---- cells and faces --------------------------------------------------------------------- */

static bool on_interface(const spec *s, const place *c)
{
    return s->shape == LAYERS && c->up == c->size / 2;
}

/* The coefficient of a cell; that of one which an interface halves is that of the stiffer phase, to
 * which its faces, (1+eps)/2, are nearer. */
static double cell_coefficient(const spec *s, const place *c)
{
    double eps = 1 / s->contrast;
    if (on_interface(s, c)) return eps > 1 ? eps : 1;
    return shapes[s->shape].first(c) ? 1 : eps;
}

/* Above a cell along an axis, in `layers`: within the row of the interface half of each phase. */
static double face_coefficient(const spec *s, const place *c, int axis)
{
    double eps = 1 / s->contrast;
    if (axis < c->axes - 1 && on_interface(s, c)) return (1 + eps) / 2;
    return below_middle(c) ? 1 : eps;
}

static void step(place *c)
{
    for (int a = 0; a < c->axes && ++c->at[a] == c->size && a + 1 < c->axes; a++) c->at[a] = 0;
    c->up = c->at[c->axes - 1];
}

static kry_status describe(const spec *s, int axes, kry_problem *p)
{
    kry_status st = KRY_OK;
    kry_stencil_params *grid = NULL;
    double *cell = NULL, *face[3] = { NULL };
    place c = { .axes = axes, .size = s->size };

    TRY(kry_alloc(1, sizeof *grid, &grid));
    *grid = *KRY_STENCIL();
    p->grid = grid; /* owns all from here on */
    TRY(kry_alloc((size_t)p->n, sizeof *cell, &cell));
    grid->coefficient = cell;
    for (int a = 0; a < axes; a++) {
        grid->size[a] = s->size;
        grid->spacing[a] = grid->diffusion[a] = 1;
        grid->low[a] = grid->high[a] = KRY_NEUMANN;
        if (s->shape == LAYERS) TRY(kry_alloc((size_t)p->n, sizeof(double), &face[a]));
        grid->face[a] = face[a];
    }
    for (int64_t i = 0; i < p->n; i++, step(&c)) {
        cell[i] = cell_coefficient(s, &c);
        for (int a = 0; a < axes && face[a]; a++) face[a][i] = face_coefficient(s, &c, a);
    }
done:
    return st;
}

/* ---- entries, right-hand side ------------------------------------------------------------ */

/* Row i: neighbours below in falling stride, the diagonal, neighbours above. The diagonal is the
 * sum of the others in the order of the axes, as kry_stencil_matrix adds it up. */
static int64_t make_row(const kry_host_grid *g, int64_t i, const int64_t *at, int64_t e,
                        kry_problem *p)
{
    kry_host_face face[6] = { 0 };
    double diagonal = 0;

    for (int f = 0; f < 2 * g->axes; f++) {
        face[f] = kry_host_face_of(g, i, at[f / 2], f / 2, f % 2);
        diagonal += face[f].weight;
    }
    for (int f = 2 * g->axes - 2; f >= 0; f -= 2) {
        if (face[f].cell < 0) continue;
        p->col[e] = (int32_t)face[f].cell;
        p->val[e++] = -face[f].weight;
    }
    p->col[e] = (int32_t)i;
    p->val[e++] = diagonal;
    for (int f = 1; f < 2 * g->axes; f += 2) {
        if (face[f].cell < 0) continue;
        p->col[e] = (int32_t)face[f].cell;
        p->val[e++] = -face[f].weight;
    }
    return e;
}

static kry_status make_entries(int axes, kry_problem *p)
{
    kry_status st = KRY_OK;
    const kry_host_grid g = kry_host_grid_of(p->grid, KRY_F64);
    place c = { .axes = axes, .size = g.size[0] };

    TRY(kry_problem_alloc_entries(p));
    for (int64_t i = 0; i < p->n; i++, step(&c))
        p->row_ptr[i + 1] = make_row(&g, i, c.at, p->row_ptr[i], p);
done:
    return st;
}

/* G. E. P. Box, M. E. Muller, A note on the generation of random normal deviates, 1958. */
static double random_normal(uint64_t seed, uint64_t i)
{
    double u = 1 - kry_random_unit(seed, STREAM_RADIUS, i);
    return sqrt(-2 * log(u)) * cos(2 * pi * kry_random_unit(seed, STREAM_ANGLE, i));
}

/* What goes in must come out: the sum over all cells is zero. */
static void make_rhs(const spec *s, kry_problem *p)
{
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++) sum += p->rhs[i] = random_normal(s->seed, (uint64_t)i);
    for (int64_t i = 0; i < p->n; i++) p->rhs[i] -= sum / (double)p->n;
}

static kry_status create(const spec *s, int axes, kry_problem *p)
{
    kry_status st = KRY_OK;
    p->n = 1;
    for (int a = 0; a < axes; a++) p->n *= s->size;
    p->nnz = (2 * axes + 1) * p->n - 2 * axes * (p->n / s->size);
    p->singular = true;
    TRY(describe(s, axes, p));
    if (s->entries) TRY(make_entries(axes, p));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->rhs));
    make_rhs(s, p);
done:
    return st;
}

kry_status kry_problem_twophase2d(const spec *s, kry_problem *p) { return create(s, 2, p); }
kry_status kry_problem_twophase3d(const spec *s, kry_problem *p) { return create(s, 3, p); }
