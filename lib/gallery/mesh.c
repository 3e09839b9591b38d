/*
 * mesh.c - equations of solids in the plane: a plate that is bent, a cantilever of finite
 * elements. Both are ill-conditioned for their size. b = A x for a random x.
 */
#include "exit.h"
#include "kinds.h"
#include "memory.h"

typedef kryi_problem_spec spec;

/* ---- plate2d: the Laplacian of poisson2d squared ------------------------------------------
 *
 *            1
 *        2  -8   2
 *    1  -8  20  -8   1      less 1 on the diagonal for each side that the point lies next to:
 *        2  -8   2          u = 0 and no moment there
 *            1
 */

static const struct point {
    int x, y;
    double value;
} plate_points[] = { { 0, -2, 1 },  { -1, -1, 2 }, { 0, -1, -8 }, { 1, -1, 2 }, { -2, 0, 1 },
                     { -1, 0, -8 }, { 0, 0, 20 },  { 1, 0, -8 },  { 2, 0, 1 },  { -1, 1, 2 },
                     { 0, 1, -8 },  { 1, 1, 2 },   { 0, 2, 1 } };

static int64_t plate_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const int64_t size = ((const spec *)self)->size, x = i % size, y = i / size;
    int64_t count = 0;

    for (size_t k = 0; k < COUNT(plate_points); k++) {
        const struct point *at = &plate_points[k];
        int64_t px = x + at->x, py = y + at->y;
        if (px < 0 || px >= size || py < 0 || py >= size) continue;
        if (col) {
            bool own = at->x == 0 && at->y == 0;
            int sides = (x == 0) + (y == 0) + (x == size - 1) + (y == size - 1);
            col[count] = (int32_t)(px + size * py);
            val[count] = at->value - (own ? sides : 0);
        }
        count++;
    }
    return count;
}

kry_status kryi_problem_plate_entries(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return kryi_problem_make_rows(plate_row, s, true, of, A);
}

kry_status kryi_problem_plate(const spec *s, kry_problem *p)
{
    p->n = s->size * s->size;
    return KRY_OK;
}

/* ---- elasticity2d: bilinear squares in plane stress ----------------------------------------
 *
 * Nodes (x, y), 0 <= x <= NX, 0 <= y <= NY, x first; those with x = 0 are clamped and have no
 * unknowns; two of each other one, the displacements along x and y. Element (x, y) has the nodes
 * (x, y), (x+1, y), (x+1, y+1), (x, y+1), in this order. */

/* The stiffness matrix of an element with E = 1, Poisson's ratio 0.3, thickness 1: k[...]/(1 - nu^2), the exact
 * integrals. Opposite ones are opposite to the bit, so that what cancels between elements is zero.
 * Source   O. Sigmund, A 99 line topology optimization code, Struct. Multidiscip. Optim. 21 (2001)
 */
static double element_entry(int row, int column)
{
    static const double nu = 0.3;
    static const int which[8][8] = { { 0, 1, 2, 3, 4, 5, 6, 7 }, { 1, 0, 7, 6, 5, 4, 3, 2 },
                                     { 2, 7, 0, 5, 6, 3, 4, 1 }, { 3, 6, 5, 0, 7, 2, 1, 4 },
                                     { 4, 5, 6, 7, 0, 1, 2, 3 }, { 5, 4, 3, 2, 1, 0, 7, 6 },
                                     { 6, 3, 4, 1, 2, 7, 0, 5 }, { 7, 2, 1, 4, 3, 6, 5, 0 } };
    const double k[8] = { 1.0 / 2 - nu / 6,
                          1.0 / 8 + nu / 8,
                          -1.0 / 4 - nu / 12,
                          -1.0 / 8 + 3 * nu / 8,
                          -1.0 / 4 + nu / 12,
                          -1.0 / 8 - nu / 8,
                          nu / 6,
                          1.0 / 8 - 3 * nu / 8 };
    return k[which[row][column]] / (1 - nu * nu);
}

typedef struct cantilever {
    int64_t nx, ny;
    double jump;
    uint64_t seed;
    double element[8][8];
} cantilever;

static double modulus(const cantilever *c, int64_t x, int64_t y)
{
    enum { STREAM_STIFF = 21 }; /* beside those of random.c */
    if (c->jump == 1) return 1;
    return kry_random_unit(c->seed, STREAM_STIFF, (uint64_t)(x + c->nx * y)) < 0.5 ? c->jump : 1;
}

/* The number in its element of the node that is (dx, dy), 0 or 1, from the first one. */
static int corner(int64_t dx, int64_t dy) { return dy ? 3 - (int)dx : (int)dx; }

/* pair := the coupling of row `row` of node (x, y) to both unknowns of node (x+dx, y+dy), summed
 * over all elements that have both nodes, in the same order for both. */
static void couple(const cantilever *c, int64_t x, int64_t y, int row, int dx, int dy,
                   double pair[2])
{
    pair[0] = pair[1] = 0;
    for (int64_t ey = y - 1 + (dy > 0); ey <= y - (dy < 0); ey++) {
        for (int64_t ex = x - 1 + (dx > 0); ex <= x - (dx < 0); ex++) {
            if (ex < 0 || ex >= c->nx || ey < 0 || ey >= c->ny) continue;
            double E = modulus(c, ex, ey);
            int a = 2 * corner(x - ex, y - ey), b = 2 * corner(x + dx - ex, y + dy - ey);
            for (int column = 0; column < 2; column++)
                pair[column] += E * c->element[a + row][b + column];
        }
    }
}

static int64_t elasticity_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const cantilever *c = self;
    int64_t x = 1 + i / 2 % c->nx, y = i / 2 / c->nx, count = 0;

    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            double pair[2];
            int64_t other = x - 1 + dx + c->nx * (y + dy);
            if (x + dx < 1 || x + dx > c->nx || y + dy < 0 || y + dy > c->ny) continue;
            couple(c, x, y, (int)(i % 2), dx, dy, pair);
            for (int column = 0; column < 2; column++) {
                if (pair[column] == 0) continue;
                if (col) col[count] = (int32_t)(2 * other + column);
                if (val) val[count] = pair[column];
                count++;
            }
        }
    }
    return count;
}

static kry_status make_coordinates(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;

    p->axes = 2;
    TRY(kryi_allocate((size_t)p->n, sizeof *p->coordinates, &p->coordinates));
    for (int64_t i = 0; i < p->n / 2; i++) {
        const int64_t x = 1 + i % s->size, y = i / s->size;
        p->coordinates[2 * i] = (double)x, p->coordinates[2 * i + 1] = (double)y;
    }
done:
    return st;
}

static int64_t unknowns(const spec *s) { return 2 * s->size * (s->k + 1); }

kry_status kryi_problem_elasticity_entries(const spec *s, kryi_problem_range of,
                                           kryi_problem_csr *A)
{
    cantilever c = { .nx = s->size, .ny = s->k, .jump = s->number, .seed = s->seed };

    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++)
            c.element[row][column] = element_entry(row, column);
    return kryi_problem_make_rows(elasticity_row, &c, true, of, A);
}

kry_status kryi_problem_elasticity(const spec *s, kry_problem *p)
{
    p->n = unknowns(s);
    p->block = 2;
    return make_coordinates(s, p);
}
