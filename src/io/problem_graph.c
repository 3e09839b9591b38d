/*
 * problem_graph.c - Laplacians of networks, with something to the ground at each node.
 *
 *   a_ij = -w_ij,   a_ii = sum_j w_ij + ground
 */
#include "base/random.h"
#include "io/problem.h"
#include <math.h>
#include <stdlib.h>

typedef kry_problem_spec spec;

enum { STREAM_POINT = 32, STREAM_WIRE, STREAM_AWAY, STREAM_CONDUCTANCE }; /* beside the others' */

/* Numbers and solution behind a pattern that has its diagonal. */
static kry_status ground(const spec *s, double (*weight)(const spec *s, uint64_t pair),
                         double to_ground, kry_problem *p)
{
    kry_status st = KRY_OK;
    TRY(kry_alloc((size_t)p->nnz, sizeof(double), &p->val));
    for (int64_t i = 0; i < p->n; i++) {
        double sum = to_ground;
        int64_t diagonal = p->row_ptr[i];
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            uint64_t j = (uint64_t)p->col[e], k = (uint64_t)i;
            if (j == k) diagonal = e;
            if (j == k) continue;
            double w = weight(s, j < k ? j << 32 | k : k << 32 | j);
            p->val[e] = -w;
            sum += w;
        }
        p->val[diagonal] = sum;
    }
    TRY(kry_problem_know_solution(s, p));
done:
    return st;
}

/* ---- geograph_spd: random points, coupled if near ------------------------------------------ */

/* The points of the unit square, cell by cell, x first; a cell is as wide as the radius, or more.
 */
typedef struct cloud {
    int64_t n, cells; /* cells a side */
    double radius;    /* of n in a unit square: about 7 others within */
    double *x, *y;    /* n */
    int64_t *first;   /* cells^2 + 1 */
} cloud;

static void cloud_release(cloud *c)
{
    free(c->x);
    free(c->y);
    free(c->first);
}

static int64_t cell_at(const cloud *c, double x) { return (int64_t)(x * (double)c->cells); }

static void throw_point(const spec *s, int64_t i, double *x, double *y)
{
    *x = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i);
    *y = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i + 1);
}

static kry_status cloud_create(const spec *s, cloud *c)
{
    kry_status st = KRY_OK;
    double x, y;
    c->n = s->size;
    c->radius = 1.5 / sqrt((double)c->n);
    c->cells = c->radius < 1 ? (int64_t)(1 / c->radius) : 1;
    TRY(kry_alloc((size_t)c->n, sizeof *c->x, &c->x));
    TRY(kry_alloc((size_t)c->n, sizeof *c->y, &c->y));
    TRY(kry_alloc((size_t)(c->cells * c->cells) + 2, sizeof *c->first, &c->first));
    for (int64_t i = 0; i < c->n; i++) {
        throw_point(s, i, &x, &y);
        c->first[cell_at(c, x) + c->cells * cell_at(c, y) + 2]++;
    }
    for (int64_t k = 1; k <= c->cells * c->cells; k++) c->first[k + 1] += c->first[k];
    for (int64_t i = 0; i < c->n; i++) { /* first[k + 1]: where cell k goes on */
        throw_point(s, i, &x, &y);
        int64_t at = c->first[cell_at(c, x) + c->cells * cell_at(c, y) + 1]++;
        c->x[at] = x, c->y[at] = y;
    }
done:
    return st;
}

/* The points within the radius of point i, itself among them, to col if it is not NULL; how many.
 * Three cells beside each other follow each other, so that they ascend. */
static int64_t near_points(const cloud *c, int64_t i, int32_t *col)
{
    int64_t cx = cell_at(c, c->x[i]), cy = cell_at(c, c->y[i]), count = 0;
    int64_t left = cx > 0 ? cx - 1 : 0, right = cx + 1 < c->cells ? cx + 1 : cx;
    for (int64_t y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < c->cells; y++) {
        int64_t end = c->first[right + c->cells * y + 1];
        for (int64_t j = c->first[left + c->cells * y]; j < end; j++) {
            double dx = c->x[i] - c->x[j], dy = c->y[i] - c->y[j];
            if (dx * dx + dy * dy > c->radius * c->radius) continue;
            if (col) col[count] = (int32_t)j;
            count++;
        }
    }
    return count;
}

static double equal_weight(const spec *s, uint64_t pair) { return (void)s, (void)pair, 1; }

kry_status kry_problem_geograph(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    cloud c = { .n = 0 };
    TRY(cloud_create(s, &c));
    p->n = c.n;
    TRY(kry_alloc((size_t)p->n + 1, sizeof(int64_t), &p->row_ptr));
    for (int64_t i = 0; i < p->n; i++) p->row_ptr[i + 1] = p->row_ptr[i] + near_points(&c, i, NULL);
    p->nnz = p->row_ptr[p->n];
    TRY(kry_alloc((size_t)p->nnz, sizeof(int32_t), &p->col));
    for (int64_t i = 0; i < p->n; i++) near_points(&c, i, p->col + p->row_ptr[i]);
    TRY(ground(s, equal_weight, 1e-3, p));
done:
    cloud_release(&c);
    return st;
}

/* ---- circuit_spd: wires of all lengths and conductances ------------------------------------- */

static int64_t wires(const spec *s, int64_t i)
{
    (void)i;
    return s->size > 4 ? 4 : s->size - 1;
}

static int64_t wire_end(const spec *s, int64_t i, int64_t t, int64_t draws)
{
    (void)draws;
    return kry_problem_partner(s, STREAM_AWAY, STREAM_WIRE, i, (uint64_t)i << 32 | (uint64_t)t, 5);
}

static double conductance(const spec *s, uint64_t pair)
{
    return pow(10, -s->eps * kry_random_unit(s->seed, STREAM_CONDUCTANCE, pair));
}

kry_status kry_problem_circuit(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    TRY(kry_problem_draw(s, &(kry_problem_drawing){ wires, wire_end }, p));
    TRY(ground(s, conductance, pow(10, -s->eps), p));
done:
    return st;
}
