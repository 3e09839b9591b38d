/*
 * general.c - model problems that are not symmetric positive definite: convection2d,
 * convection3d, helmholtz2d, stokes2d. (random is in random.c.)
 *
 * N interior points (stokes2d: cells) a side, x fastest, scaled by h^2. b = A x for a random x.
 */
#include "exit.h"
#include "kinds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef kryi_problem_spec spec;

/* ---- points of a grid and their neighbours ------------------------------------------------------- */

typedef struct point {
    int axes;
    int64_t size, at[3];
} point;

static point point_of(const spec *s, int64_t i)
{
    const int64_t N = s->size;
    return (point){ s->axes, N, { i % N, i / N % N, i / N / N } };
}

/* The entries of a row: diagonal(s, p), and side(s, p, axis, direction) for each neighbour that there is,
 * direction -1 or 1. */
typedef struct star {
    const spec *s;
    double (*diagonal)(const spec *s, const point *p);
    double (*side)(const spec *s, const point *p, int axis, int direction);
} star;

static int64_t star_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const star *st = self;
    const point p = point_of(st->s, i);
    const int64_t step[3] = { 1, p.size, p.size * p.size };
    int64_t count = 0;

    for (int k = -3; k <= 3; k++) {
        if (abs(k) > p.axes) continue;
        const int axis = k < 0 ? -k - 1 : k > 0 ? k - 1 : 0;
        const int direction = k < 0 ? -1 : k > 0;
        const int64_t at = p.at[axis] + direction;
        if (at < 0 || at >= p.size) continue;
        if (col) col[count] = (int32_t)(i + direction * step[axis]);
        if (val) val[count] = k ? st->side(st->s, &p, axis, direction) : st->diagonal(st->s, &p);
        count++;
    }
    return count;
}

static int64_t points_of(const spec *s) { return s->size * s->size * (s->axes == 3 ? s->size : 1); }

static kry_status star_entries(const star *rows, kryi_problem_range of, kryi_problem_csr *A)
{
    return kryi_problem_make_rows(star_row, rows, true, of, A);
}

static kry_status describe(const spec *s, unsigned traits, kry_problem *p)
{
    p->n = points_of(s);
    p->traits = traits;
    return KRY_OK;
}

/* ---- convection2d, convection3d ------------------------------------------------------------------
 *
 * -div grad u + PECLET w.grad u = f, u = 0 on the boundary. The wind goes round in closed lines, in three
 * dimensions in each plane alike:
 *     w = (2 Y (1 - X^2), -2 X (1 - Y^2), 0),  X = 2 x - 1,  Y = 2 y - 1
 *
 * Source   H. C. Elman, D. J. Silvester, A. J. Wathen, Finite elements and fast iterative solvers, 2nd ed.
 *          (2014), example 6.1.4
 */

enum { UPWIND, CENTRAL };

int kryi_problem_difference(const char *name)
{
    return !strcmp(name, "upwind") ? UPWIND : !strcmp(name, "central") ? CENTRAL : -1;
}

/* PECLET h w along an axis. */
static double wind(const spec *s, const point *p, int axis)
{
    const double h = 1.0 / ((double)p->size + 1);
    const double X = 2 * h * ((double)p->at[0] + 1) - 1, Y = 2 * h * ((double)p->at[1] + 1) - 1;
    const double w = axis == 0 ? 2 * Y * (1 - X * X) : axis == 1 ? -2 * X * (1 - Y * Y) : 0;

    return s->number * h * w;
}

static double convection_diagonal(const spec *s, const point *p)
{
    double sum = 2 * p->axes;
    for (int a = 0; a < p->axes && s->shape == UPWIND; a++) sum += fabs(wind(s, p, a));
    return sum;
}

static double convection_side(const spec *s, const point *p, int axis, int direction)
{
    const double q = direction * wind(s, p, axis); /* towards that side */

    if (s->shape == CENTRAL) return q / 2 - 1;
    return q < 0 ? q - 1 : -1;
}

kry_status kryi_problem_convection_entries(const spec *s, kryi_problem_range of,
                                           kryi_problem_csr *A)
{
    return star_entries(&(star){ s, convection_diagonal, convection_side }, of, A);
}

kry_status kryi_problem_convection(const spec *s, kry_problem *p) { return describe(s, 0, p); }

/* ---- helmholtz2d: -div grad u - K^2 u = f, u = 0 on the boundary --------------------------------- */

static double helmholtz_diagonal(const spec *s, const point *p)
{
    const double kh = s->number / ((double)p->size + 1);
    return 4 - kh * kh;
}

static double helmholtz_side(const spec *s, const point *p, int axis, int direction)
{
    return (void)s, (void)p, (void)axis, (void)direction, -1;
}

kry_status kryi_problem_helmholtz_entries(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return star_entries(&(star){ s, helmholtz_diagonal, helmholtz_side }, of, A);
}

kry_status kryi_problem_helmholtz(const spec *s, kry_problem *p)
{
    return describe(s, KRY_SYMMETRIC, p);
}

/* ---- stokes2d ------------------------------------------------------------------------------------
 *
 * -div grad u + grad p = f, div u = 0 between walls that do not move, N-by-N cells. Marker and cell: u on
 * the faces between cells along x, v on those along y, p in the cells, but for the last one, where it is 0;
 * p is scaled by h. First all u, then v, then p.
 *
 * Source   F. H. Harlow, J. E. Welch, Phys. Fluids 8 (1965), 2182-2189
 */

typedef struct row {
    int64_t count;
    int32_t *col;
    double *val;
} row;

static void add(row *r, bool there, int64_t col, double val)
{
    if (!there) return;
    if (r->col) r->col[r->count] = (int32_t)col;
    if (r->val) r->val[r->count] = val;
    r->count++;
}

/* A velocity, of size[0] by size[1] of its kind, the first of which is unknown `first`. Those that are first
 * or last along the axis `along` are half a cell from a wall, which they slide along. */
static void add_velocity(row *r, int64_t first, const int64_t at[2], const int64_t size[2],
                         int along)
{
    const int64_t me = first + at[0] + size[0] * at[1], last = size[along] - 1;
    const double near_wall = (at[along] == 0) + (at[along] == last);

    add(r, at[1] > 0, me - size[0], -1);
    add(r, at[0] > 0, me - 1, -1);
    add(r, true, me, 4 + near_wall);
    add(r, at[0] < size[0] - 1, me + 1, -1);
    add(r, at[1] < size[1] - 1, me + size[0], -1);
}

static int64_t stokes_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const int64_t N = ((const spec *)self)->size, faces = N * (N - 1), cells = N * N - 1;
    const bool is_u = i < faces, is_v = !is_u && i < 2 * faces;
    const int64_t k = is_u ? i : is_v ? i - faces : i - 2 * faces, wide = is_u ? N - 1 : N;
    const int64_t at[2] = { k % wide, k / wide }, size[2] = { wide, is_u ? N : N - 1 };
    row r = { 0, col, val };

    if (is_u || is_v) {
        const int64_t cell = at[0] + N * at[1], next = cell + (is_u ? 1 : N);
        add_velocity(&r, is_u ? 0 : faces, at, size, is_u ? 1 : 0);
        add(&r, true, 2 * faces + cell, -1);
        add(&r, next < cells, 2 * faces + next, 1);
        return r.count;
    }
    add(&r, at[0] > 0, at[0] - 1 + (N - 1) * at[1], 1);
    add(&r, at[0] < N - 1, at[0] + (N - 1) * at[1], -1);
    add(&r, at[1] > 0, faces + at[0] + N * (at[1] - 1), 1);
    add(&r, at[1] < N - 1, faces + at[0] + N * at[1], -1);
    return r.count;
}

static int64_t unknowns(const spec *s)
{
    return 2 * s->size * (s->size - 1) + s->size * s->size - 1;
}

kry_status kryi_problem_stokes_entries(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return kryi_problem_make_rows(stokes_row, s, true, of, A);
}

kry_status kryi_problem_stokes(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;

    CHECK(s->size > 1, KRY_ERR_PARSE, "kry_problem_create: stokes2d needs two cells a side");
    p->n = unknowns(s);
    p->traits = KRY_SYMMETRIC;
done:
    return st;
}
