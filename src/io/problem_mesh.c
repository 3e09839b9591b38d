/*
 * problem_mesh.c - equations of solids in the plane: a plate that is bent, a cantilever of finite
 * elements. Both are ill-conditioned for their size. b = A x for a random x.
 */
#include "base/random.h"
#include "io/problem.h"

typedef kry_problem_spec spec;

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

static double plate_diagonal(int64_t size, int64_t x, int64_t y)
{
    return 20 - (x == 0) - (y == 0) - (x == size - 1) - (y == size - 1);
}

static void plate_fill(int64_t size, kry_problem *p)
{
    int64_t entry = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t x = i % size, y = i / size;
        for (size_t k = 0; k < COUNT(plate_points); k++) {
            const struct point *at = &plate_points[k];
            int64_t px = x + at->x, py = y + at->y;
            if (px < 0 || px >= size || py < 0 || py >= size) continue;
            bool own = at->x == 0 && at->y == 0;
            p->col[entry] = (int32_t)(px + size * py);
            p->val[entry++] = own ? plate_diagonal(size, x, y) : at->value;
        }
        p->row_ptr[i + 1] = entry;
    }
}

kry_status kry_problem_plate2d(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    int64_t pairs = s->size * (s->size - 1);                 /* next to each other, on one axis */
    int64_t far = s->size > 1 ? s->size * (s->size - 2) : 0; /* two apart */
    p->n = s->size * s->size;
    p->nnz = p->n + 4 * pairs + 4 * (s->size - 1) * (s->size - 1) + 4 * far;
    TRY(kry_problem_alloc_entries(p));
    plate_fill(s->size, p);
    TRY(kry_problem_know_solution(s, p));
done:
    return st;
}

/* ---- elasticity2d: bilinear squares in plane stress ----------------------------------------
 *
 * Nodes (x, y), 0 <= x <= NX, 0 <= y <= NY, x first; those with x = 0 are clamped and have no
 * unknowns; two of each other one, the displacements along x and y. Element (x, y) has the nodes
 * (x, y), (x+1, y), (x+1, y+1), (x, y+1), in this order. */

/* Of an element with E = 1, Poisson's ratio 0.3, thickness 1: k[...]/(1 - nu^2), the exact
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

enum { STREAM_STIFF = 21 }; /* beside those of problem_random.c */

static double modulus(const cantilever *c, int64_t x, int64_t y)
{
    if (c->jump == 1) return 1;
    return kry_random_unit(c->seed, STREAM_STIFF, (uint64_t)(x + c->nx * y)) < 0.5 ? c->jump : 1;
}

/* Of the node that is (dx, dy), 0 or 1, from the element's first one. */
static int corner(int64_t dx, int64_t dy) { return dy ? 3 - (int)dx : (int)dx; }

/* block := what couples node (x, y) to node (x+dx, y+dy), by all elements that have both, in the
 * same order for both. */
static void couple(const cantilever *c, int64_t x, int64_t y, int dx, int dy, double block[2][2])
{
    block[0][0] = block[0][1] = block[1][0] = block[1][1] = 0;
    for (int64_t ey = y - 1 + (dy > 0); ey <= y - (dy < 0); ey++) {
        for (int64_t ex = x - 1 + (dx > 0); ex <= x - (dx < 0); ex++) {
            if (ex < 0 || ex >= c->nx || ey < 0 || ey >= c->ny) continue;
            double E = modulus(c, ex, ey);
            int a = 2 * corner(x - ex, y - ey), b = 2 * corner(x + dx - ex, y + dy - ey);
            for (int row = 0; row < 2; row++)
                for (int column = 0; column < 2; column++)
                    block[row][column] += E * c->element[a + row][b + column];
        }
    }
}

/* Both rows of node (x, y): columns and values behind entry[0] and entry[1] (val NULL: counted
 * only), which move on. */
static void node_rows(const cantilever *c, int64_t x, int64_t y, int64_t *entry, kry_problem *p)
{
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            double block[2][2];
            int64_t other = x - 1 + dx + c->nx * (y + dy);
            if (x + dx < 1 || x + dx > c->nx || y + dy < 0 || y + dy > c->ny) continue;
            couple(c, x, y, dx, dy, block);
            for (int row = 0; row < 2; row++) {
                for (int column = 0; column < 2; column++) {
                    if (block[row][column] == 0) continue;
                    if (p->val) p->col[entry[row]] = (int32_t)(2 * other + column);
                    if (p->val) p->val[entry[row]] = block[row][column];
                    entry[row]++;
                }
            }
        }
    }
}

kry_status kry_problem_elasticity2d(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    cantilever c = { .nx = s->size, .ny = s->k, .jump = s->contrast, .seed = s->seed };
    int64_t nodes = s->size * (s->k + 1);
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++)
            c.element[row][column] = element_entry(row, column);
    p->n = 2 * nodes;
    TRY(kry_alloc((size_t)p->n + 1, sizeof *p->row_ptr, &p->row_ptr));
    for (int64_t k = 0; k < nodes; k++) {
        int64_t count[2] = { 0, 0 };
        node_rows(&c, 1 + k % c.nx, k / c.nx, count, p);
        p->row_ptr[2 * k + 1] = p->row_ptr[2 * k] + count[0];
        p->row_ptr[2 * k + 2] = p->row_ptr[2 * k + 1] + count[1];
    }
    p->nnz = p->row_ptr[p->n];
    TRY(kry_alloc((size_t)p->nnz, sizeof *p->col, &p->col));
    TRY(kry_alloc((size_t)p->nnz, sizeof *p->val, &p->val));
    for (int64_t k = 0; k < nodes; k++) {
        int64_t entry[2] = { p->row_ptr[2 * k], p->row_ptr[2 * k + 1] };
        node_rows(&c, 1 + k % c.nx, k / c.nx, entry, p);
    }
    TRY(kry_problem_know_solution(s, p));
done:
    return st;
}
