/*
 * grid.c - model problems on grids: poisson2d, poisson3d, anisotropic2d, poisson3d27,
 * twophase2d, twophase3d.
 *
 * N points or cells a side, x fastest, everything scaled by h^2. The parameters of the stencil come
 * first; the entries of the matrix are made from them, without a device.
 */
#include "exit.h"
#include "kinds.h"
#include "memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef kryi_problem_spec spec;

static const double pi = 3.14159265358979323846;

/* ---- the matrix -------------------------------------------------------------------------- */

/* A grid with the same on all sides, and 1 for all factors but that of the second axis. */
static void square_grid(const spec *s, kry_side side, double second, kry_stencil_params *g)
{
    for (int a = 0; a < s->axes; a++) {
        g->size[a] = s->size;
        g->spacing[a] = 1;
        g->diffusion[a] = a == 1 ? second : 1;
        g->low[a] = g->high[a] = side;
    }
}

static void count_entries(const spec *s, kry_problem *p)
{
    p->n = 1;
    for (int a = 0; a < s->axes; a++) p->n *= s->size;
    p->nnz = (2 * s->axes + 1) * p->n - 2 * s->axes * (p->n / s->size);
}

/* The rows of a grid, of `n` cells along each of its axes. */
typedef struct grid_of {
    int axes;
    int64_t n;
    kry_stencil_params g;
    int64_t begin; /* the cell whose numbers are the first ones of g's arrays */
} grid_of;

/* The weight of the face between cell i and the one `step` further on along an axis. */
static double face_weight(const grid_of *G, int64_t i, int axis, int64_t step)
{
    const double *face = G->g.face[axis], *k = G->g.coefficient;

    i -= G->begin;
    return face ? face[i] : k ? 2 / (1 / k[i] + 1 / k[i + step]) : G->g.diffusion[axis];
}

/* The entries that kry_stencil_create makes of the same parameters: the sides are Dirichlet or Neumann, and no coefficients go
 * with the former. */
static int64_t grid_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const grid_of *G = self;
    const int64_t steps[] = { 1, G->n, G->n * G->n };
    double weight[3][2] = { { 0 } }, diagonal = 0;
    int64_t count = 0;

    for (int side = 0; side < 2 * G->axes && val; side++) {
        const int a = side / 2, high = side % 2;
        const int64_t step = steps[a], at = i / step % G->n;
        if (at != (high ? G->n - 1 : 0))
            weight[a][high] = face_weight(G, high ? i : i - step, a, step);
        else if (G->g.low[a] == KRY_DIRICHLET)
            weight[a][high] = G->g.diffusion[a];
        diagonal += weight[a][high];
    }
    for (int k = -G->axes; k <= G->axes; k++) { /* -3: below, ..., 0: itself, ..., 3: above */
        const int a = k ? abs(k) - 1 : 0, high = k > 0;
        if (k && i / steps[a] % G->n == (high ? G->n - 1 : 0)) continue;
        if (col) col[count] = (int32_t)(k ? i + (high ? steps[a] : -steps[a]) : i);
        if (val) val[count] = k ? -weight[a][high] : diagonal;
        count++;
    }
    return count;
}

static kry_status grid_entries(const spec *s, kryi_problem_grid *grid,
                               kryi_problem_coefficients *coefficients, kryi_problem_range of,
                               kryi_problem_csr *A)
{
    kry_status st = KRY_OK;
    grid_of G = { s->axes, s->size, *KRY_STENCIL(), 0 };
    const int last = s->axes - 1;
    const int64_t layer = last == 2 ? s->size * s->size : s->size, low = of.first / layer,
                  high = (of.first + of.rows + layer - 1) / layer;
    kry_stencil_box box = { .size = { s->size, s->size, last == 2 ? s->size : 1 } };

    /* Coefficients of the layers that have these rows, and of one more on either side */
    box.first[last] = low > 0 ? low - 1 : 0;
    box.size[last] = (high < s->size ? high + 1 : s->size) - box.first[last];
    G.begin = box.first[last] * layer;
    grid(s, &G.g);
    if (coefficients) TRY(coefficients(s, &box, &G.g));
    TRY(kryi_problem_make_rows(grid_row, &G, true, of, A));
done:
    free((void *)G.g.coefficient);
    for (int a = 0; a < 3; a++) free((void *)G.g.face[a]);
    return st;
}

static int64_t rows_of(const kry_problem *p, const kry_vec *of)
{
    return of ? kry_vec_rows_here(of, NULL) : p->n;
}

/* ---- poisson2d, poisson3d, anisotropic2d ------------------------------------------------------
 *
 * N interior points a side, h = 1/(N+1). With weights w_a on the axes the equation is
 * -sum_a w_a u_aa = f, and
 *     u = prod_a sin^2(pi x_a),   u_aa = 2 pi^2 cos(2 pi x_a) prod_{b != a} sin^2(pi x_b).
 */

/* u and h^2 f at point i; sin2 and cos2: sin^2(pi x) and cos(2 pi x) of the points of an axis */
static void known_solution(const spec *s, int64_t i, const double *sin2, const double *cos2,
                           double *u, double *f)
{
    const int axes = s->axes == 3 ? 3 : 2;
    const int64_t size = s->size, at[3] = { i % size, i / size % size, i / size / size };
    double h = 1.0 / ((double)size + 1), sum = 0;

    *u = 1;
    for (int a = 0; a < axes; a++) {
        double term = (a == 1 ? s->number : 1) * cos2[at[a]];
        for (int b = 0; b < axes; b++)
            if (b != a) term *= sin2[at[b]];
        sum += term;
        *u *= sin2[at[a]];
    }
    *f = -2 * pi * pi * h * h * sum;
}

kry_status kryi_problem_poisson_numbers(const spec *s, const kry_problem *p, const kry_vec *of,
                                        double *rhs, double *solution)
{
    kry_status st = KRY_OK;
    double *sin2 = NULL, *cos2 = NULL, u, f;
    const int64_t rows = rows_of(p, of);

    TRY(kryi_allocate((size_t)s->size, sizeof(double), &sin2));
    TRY(kryi_allocate((size_t)s->size, sizeof(double), &cos2));
    for (int64_t i = 0; i < s->size; i++) {
        double x = ((double)i + 1) / ((double)s->size + 1);
        sin2[i] = sin(pi * x) * sin(pi * x);
        cos2[i] = cos(2 * pi * x);
    }
    for (int64_t i = 0; i < rows; i++) {
        known_solution(s, of ? kry_vec_row(of, i) : i, sin2, cos2, &u, &f);
        if (rhs) rhs[i] = f;
        if (solution) solution[i] = u;
    }
done:
    free(cos2);
    free(sin2);
    return st;
}

void kryi_problem_poisson_grid(const spec *s, kry_stencil_params *g)
{
    square_grid(s, KRY_DIRICHLET, s->number, g);
}

kry_status kryi_problem_poisson_entries(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return grid_entries(s, kryi_problem_poisson_grid, NULL, of, A);
}

kry_status kryi_problem_poisson(const spec *s, kry_problem *p)
{
    count_entries(s, p);
    p->solved = true;
    return KRY_OK;
}

/* ---- poisson3d27: the matrix of HPCG ------------------------------------------------------------
 *
 * 26 on the diagonal and -1 to each of the 26 points around, N points a side; b = A x for a random x.
 *
 * Source   J. Dongarra, M. A. Heroux, P. Luszczek, High-performance conjugate-gradient benchmark,
 *          Int. J. High Perform. Comput. Appl. 30 (2016)
 */

/* A step of -1, 0 or 1 along each axis; they are numbered from 0 to 26, x fastest. */
static void step_of(int number, int64_t step[3])
{
    step[0] = number % 3 - 1, step[1] = number / 3 % 3 - 1, step[2] = number / 9 - 1;
}

static int64_t poisson27_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const int64_t n = ((const spec *)self)->size, at[3] = { i % n, i / n % n, i / n / n };
    int64_t count = 0;

    for (int number = 0; number < 27; number++) {
        int64_t step[3];
        bool inside = true;
        step_of(number, step);
        for (int a = 0; a < 3; a++) inside = inside && at[a] + step[a] >= 0 && at[a] + step[a] < n;
        if (!inside) continue;
        if (col) col[count] = (int32_t)(i + step[0] + n * (step[1] + n * step[2]));
        if (val) val[count] = number == 13 ? 26 : -1; /* 13: no step */
        count++;
    }
    return count;
}

kry_status kryi_problem_poisson27_entries(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return kryi_problem_make_rows(poisson27_row, s, true, of, A);
}

kry_status kryi_problem_poisson27(const spec *s, kry_problem *p)
{
    p->n = s->size * s->size * s->size;
    return KRY_OK;
}

/* ---- twophase2d, twophase3d --------------------------------------------------------------------
 *
 * Two fluids, or rocks, between walls: -div(k grad u) = f, k = 1 in one phase and eps = 1/CONTRAST
 * in the other, no flux through any side. N cells a side, h = 1/N. The matrix is singular: constants
 * give zero.
 *
 * Source   R. Gupta, C. Vuik, C. W. J. Lemmens, whose equation (9) is a row of `layers`.
 */

/* A cell. */
typedef struct place {
    int axes;
    int64_t size, at[3];
    int64_t up; /* at[] along the last axis: across the layers */
} place;

/* That of place i in a box of the grid. */
static place place_of(const spec *s, const kry_stencil_box *box, int64_t i)
{
    const int64_t x = box->size[0], y = box->size[1];
    place c = { .axes = s->axes,
                .size = s->size,
                .at = { box->first[0] + i % x, box->first[1] + i / x % y,
                        box->first[2] + i / x / y } };
    c.up = c.at[s->axes - 1];
    return c;
}

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
    bool (*first)(const place *c); /* whether the cell is in the phase with k = 1 */
} shapes[] = {
    { "layers", below_middle }, { "layers-faces", below_middle }, { "stripes", even_stripe },
    { "bubble", in_bubble },    { "bubbles", in_bubbles },
};

int kryi_problem_shape(const char *name)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        if (!strcmp(name, shapes[s].name)) return (int)s;
    return -1;
}

static bool on_interface(const spec *s, const place *c)
{
    return s->shape == LAYERS && c->up == c->size / 2;
}

/* A cell that an interface halves has the larger coefficient, to which its faces, (1 + eps)/2, are
 * nearer. */
static double cell_coefficient(const spec *s, const place *c)
{
    double eps = 1 / s->number;
    if (on_interface(s, c)) return eps > 1 ? eps : 1;
    return shapes[s->shape].first(c) ? 1 : eps;
}

/* The upper face of a cell along an axis, in `layers`: within the row of the interface the mean. */
static double face_coefficient(const spec *s, const place *c, int axis)
{
    double eps = 1 / s->number;
    if (axis < c->axes - 1 && on_interface(s, c)) return (1 + eps) / 2;
    return below_middle(c) ? 1 : eps;
}

kry_status kryi_problem_twophase_coefficients(const spec *s, const kry_stencil_box *box,
                                              kry_stencil_params *g)
{
    kry_status st = KRY_OK;
    const int64_t n = box->size[0] * box->size[1] * box->size[2];
    double *cell = NULL, *face[3] = { NULL };

    TRY(kryi_allocate((size_t)n, sizeof *cell, &cell));
    g->coefficient = cell;
    for (int a = 0; a < s->axes && s->shape == LAYERS; a++) {
        TRY(kryi_allocate((size_t)n, sizeof(double), &face[a]));
        g->face[a] = face[a];
    }
    for (int64_t i = 0; i < n; i++) {
        const place c = place_of(s, box, i);
        cell[i] = cell_coefficient(s, &c);
        for (int a = 0; a < 3 && face[a]; a++) face[a][i] = face_coefficient(s, &c, a);
    }
done:
    return st;
}

/* G. E. P. Box, M. E. Muller, A note on the generation of random normal deviates, 1958. */
static double random_normal(uint64_t seed, uint64_t i)
{
    enum { STREAM_RADIUS, STREAM_ANGLE };
    double u = 1 - kry_random_unit(seed, STREAM_RADIUS, i);
    return sqrt(-2 * log(u)) * cos(2 * pi * kry_random_unit(seed, STREAM_ANGLE, i));
}

/* As much flows in as out: the sum over all cells is zero. */
kry_status kryi_problem_twophase_numbers(const spec *s, const kry_problem *p, const kry_vec *of,
                                         double *rhs, double *solution)
{
    const int64_t rows = rows_of(p, of);
    double sum = 0;

    (void)solution; /* nobody knows it, and kry_problem_rows has said so */
    for (int64_t i = 0; i < p->n; i++) {
        const double number = random_normal(s->seed, (uint64_t)i);
        sum += number;
        if (!of) rhs[i] = number;
    }
    for (int64_t i = 0; i < rows; i++) {
        if (of) rhs[i] = random_normal(s->seed, (uint64_t)kry_vec_row(of, i));
        rhs[i] -= sum / (double)p->n;
    }
    return KRY_OK;
}

void kryi_problem_twophase_grid(const spec *s, kry_stencil_params *g)
{
    square_grid(s, KRY_NEUMANN, 1, g);
}

kry_status kryi_problem_twophase_entries(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return grid_entries(s, kryi_problem_twophase_grid, kryi_problem_twophase_coefficients, of, A);
}

kry_status kryi_problem_twophase(const spec *s, kry_problem *p)
{
    count_entries(s, p);
    p->singular = true;
    p->traits = KRY_SINGULAR | KRY_SYMMETRIC;
    return KRY_OK;
}
