/*
 * mesh.c - equations of solids: a plate that is bent, cantilevers of finite elements. They are ill-conditioned for their size. b = A x for a random x.
 */
#include "exit.h"
#include "kinds.h"
#include "memory.h"
#include <string.h>

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

/* ---- elasticity2d, elasticity3d: squares in plane stress, cubes ------------------------------
 *
 * Nodes (x, y, z), 0 <= x <= NX and so on, x first, and as many unknowns of each as there are axes: its displacements. Those
 * with x = 0 are clamped and have none, unless the body is free. Elements are bilinear or trilinear, of side 1, and have the
 * 4 or 8 nodes from their own, the lowest one, on.
 */

enum { CLAMPED, FREE }; /* spec.shape */

int kryi_problem_body(const char *name) { return strcmp(name, "free") ? -1 : FREE; }

typedef struct body {
    int axes;
    int64_t size[3];  /* elements along each axis; 1 for one that there is not */
    int64_t nodes[3]; /* with unknowns, along each axis */
    int64_t first;    /* x of the first of them */
    double jump;
    uint64_t seed;
    double element
        [8][8][3]
        [3]; /* of two corners, whose coordinates are the bits of their numbers, and two axes */
} body;

/* The integral over an element of the derivatives of the shape functions of corners a and b, the one along p, the other along
 * q: a product of integrals along each axis. Opposite ones are opposite to the bit, so that what cancels between
 * elements of the plane is zero. */
static double of_derivatives(int axes, int a, int b, int p, int q)
{
    double product = 1;
    for (int k = 0; k < axes; k++) {
        const bool a_high = a >> k & 1, b_high = b >> k & 1;
        if (k == p && k == q)
            product *= a_high == b_high ? 1 : -1;
        else if (k == p || k == q)
            product *= (k == p ? a_high : b_high) ? 0.5 : -0.5;
        else
            product *= a_high == b_high ? 1.0 / 3 : 1.0 / 6;
    }
    return product;
}

/* The stiffness matrix of an element with E = 1, Poisson's ratio 0.3 and, in the plane, thickness 1. */
static void make_element(body *c)
{
    const double nu = 0.3, mu = 0.5 / (1 + nu),
                 lambda = nu / (1 + nu) / (c->axes == 2 ? 1 - nu : 1 - 2 * nu);

    for (int a = 0; a < 1 << c->axes; a++)
        for (int b = 0; b < 1 << c->axes; b++) {
            double trace = 0;
            for (int k = 0; k < c->axes; k++) trace += of_derivatives(c->axes, a, b, k, k);
            for (int r = 0; r < c->axes; r++)
                for (int s = 0; s < c->axes; s++)
                    c->element[a][b][r][s] = lambda * of_derivatives(c->axes, a, b, r, s) +
                                             mu * of_derivatives(c->axes, a, b, s, r) +
                                             (r == s ? mu * trace : 0);
        }
}

static body make_body(const spec *s)
{
    body c = { .axes = s->axes, .size = { s->size, s->k, s->depth }, .jump = s->number };

    c.seed = s->seed;
    c.first = s->shape == FREE ? 0 : 1;
    c.nodes[0] = s->size + 1 - c.first;
    c.nodes[1] = s->k + 1;
    c.nodes[2] = c.axes == 3 ? s->depth + 1 : 1;
    return c;
}

static double modulus(const body *c, const int64_t at[3])
{
    enum { STREAM_STIFF = 21 }; /* beside those of random.c */
    const int64_t number = at[0] + c->size[0] * (at[1] + c->size[1] * at[2]);
    if (c->jump == 1) return 1;
    return kry_random_unit(c->seed, STREAM_STIFF, (uint64_t)number) < 0.5 ? c->jump : 1;
}

/* sum := the coupling of displacement `row` of the node at `node` to those of the one `step` from there, over all
 * elements that have both nodes, in the same order for both. */
static void couple(const body *c, const int64_t node[3], int row, const int64_t step[3],
                   double sum[3])
{
    int64_t from[3], to[3], e[3];

    for (int k = 0; k < 3; k++) {
        sum[k] = 0;
        from[k] = node[k] - 1 + (step[k] > 0), to[k] = node[k] - (step[k] < 0);
        if (from[k] < 0 || k >= c->axes) from[k] = 0;
        if (to[k] > c->size[k] - 1) to[k] = c->size[k] - 1;
    }
    for (e[2] = from[2]; e[2] <= to[2]; e[2]++)
        for (e[1] = from[1]; e[1] <= to[1]; e[1]++)
            for (e[0] = from[0]; e[0] <= to[0]; e[0]++) {
                const double E = modulus(c, e);
                int a = 0, b = 0;
                for (int k = 0; k < c->axes; k++) {
                    a |= (int)(node[k] - e[k]) << k;
                    b |= (int)(node[k] + step[k] - e[k]) << k;
                }
                for (int s = 0; s < c->axes; s++) sum[s] += E * c->element[a][b][row][s];
            }
}

static int64_t elasticity_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const body *c = self;
    const int64_t node = i / c->axes, wide = c->nodes[0], high = c->nodes[1];
    const int64_t at[3] = { c->first + node % wide, node / wide % high, node / wide / high };
    const int row = (int)(i % c->axes), neighbours = c->axes == 2 ? 9 : 27;
    int64_t count = 0;

    for (int k = 0; k < neighbours; k++) {
        const int64_t step[3] = { k % 3 - 1, k / 3 % 3 - 1, c->axes == 2 ? 0 : k / 9 - 1 };
        const int64_t x = at[0] + step[0] - c->first, y = at[1] + step[1], z = at[2] + step[2];
        double sum[3] = { 0 };
        if (x < 0 || x >= wide || y < 0 || y >= high || z < 0 || z >= c->nodes[2]) continue;
        couple(c, at, row, step, sum);
        for (int s = 0; s < c->axes; s++) {
            if (c->axes == 2 && sum[s] == 0) continue;
            if (col) col[count] = (int32_t)(c->axes * (x + wide * (y + high * z)) + s);
            if (val) val[count] = sum[s];
            count++;
        }
    }
    return count;
}

static kry_status make_coordinates(const body *c, kry_problem *p)
{
    kry_status st = KRY_OK;
    double *to = NULL;

    p->axes = c->axes;
    TRY(kryi_allocate((size_t)p->n, sizeof *p->coordinates, &p->coordinates));
    to = p->coordinates;
    for (int64_t z = 0; z < c->nodes[2]; z++)
        for (int64_t y = 0; y < c->nodes[1]; y++)
            for (int64_t x = 0; x < c->nodes[0]; x++, to += c->axes) {
                to[0] = (double)(c->first + x), to[1] = (double)y;
                if (c->axes == 3) to[2] = (double)z;
            }
done:
    return st;
}

kry_status kryi_problem_elasticity_entries(const spec *s, kryi_problem_range of,
                                           kryi_problem_csr *A)
{
    body c = make_body(s);

    make_element(&c);
    return kryi_problem_make_rows(elasticity_row, &c, true, of, A);
}

kry_status kryi_problem_elasticity(const spec *s, kry_problem *p)
{
    const body c = make_body(s);

    p->n = c.axes * c.nodes[0] * c.nodes[1] * c.nodes[2];
    p->block = c.axes;
    if (s->shape == FREE) p->traits = KRY_SYMMETRIC;
    return make_coordinates(&c, p);
}
