/*
 * problem_geograph.c - geograph_spd: random points in the unit square, in the order of small squares, coupled if they are
 * near each other.
 */
#include "io/problem.h"
#include <math.h>
#include <stdlib.h>

typedef kry_problem_spec spec;

/* The points of the unit square, cell by cell, x first; a cell is as wide as the radius, or more. Only some rows of cells
 * are there, which have the points `base` ... base + count - 1. */
typedef struct cloud {
    int64_t cells;     /* a side */
    double radius;     /* of n in a unit square: about 7 others within */
    int64_t low, high; /* rows of cells low ... high - 1 */
    int64_t base, count;
    double *x, *y;  /* count */
    int64_t *first; /* (high - low) * cells + 2: where the points of a cell begin, from `base` */
} cloud;

static int64_t cell_at(const cloud *c, double x) { return (int64_t)(x * (double)c->cells); }

static void throw_point(const spec *s, int64_t i, double *x, double *y)
{
    enum { STREAM_POINT = 32 }; /* beside those of problem_random.c */
    *x = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i);
    *y = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i + 1);
}

/* Which of the cells that are there a point is in; -1: in none. */
static int64_t cell_of(const cloud *c, double x, double y)
{
    const int64_t row = cell_at(c, y);
    return row < c->low || row >= c->high ? -1 : cell_at(c, x) + c->cells * (row - c->low);
}

/* The rows of cells that have these points, and those beside them; and how many points there are before and in them. */
static kry_status find_cells(const spec *s, kry_problem_range of, cloud *c)
{
    kry_status st = KRY_OK;
    int64_t *begin = NULL; /* of the points of each row of cells */
    double x, y;

    TRY(kry_alloc((size_t)c->cells + 1, sizeof *begin, &begin));
    for (int64_t i = 0; i < s->size; i++) {
        throw_point(s, i, &x, &y);
        begin[cell_at(c, y) + 1]++;
    }
    for (int64_t k = 0; k < c->cells; k++) begin[k + 1] += begin[k];
    while (c->low + 1 < c->cells && begin[c->low + 1] <= of.first) c->low++;
    for (c->high = c->low + 1; c->high < c->cells && begin[c->high] < of.first + of.rows;)
        c->high++;
    c->low -= c->low > 0;
    c->high += c->high < c->cells;
    c->base = begin[c->low], c->count = begin[c->high] - c->base;
done:
    free(begin);
    return st;
}

static kry_status cloud_create(const spec *s, kry_problem_range of, cloud *c)
{
    kry_status st = KRY_OK;
    double x, y;

    c->radius = 1.5 / sqrt((double)s->size);
    c->cells = c->radius < 1 ? (int64_t)(1 / c->radius) : 1;
    TRY(find_cells(s, of, c));
    const int64_t cells = (c->high - c->low) * c->cells;
    TRY(kry_alloc((size_t)c->count, sizeof *c->x, &c->x));
    TRY(kry_alloc((size_t)c->count, sizeof *c->y, &c->y));
    TRY(kry_alloc((size_t)cells + 2, sizeof *c->first, &c->first));
    for (int64_t i = 0; i < s->size; i++) {
        throw_point(s, i, &x, &y);
        const int64_t cell = cell_of(c, x, y);
        if (cell >= 0) c->first[cell + 2]++;
    }
    for (int64_t k = 1; k <= cells; k++) c->first[k + 1] += c->first[k];
    for (int64_t i = 0; i < s->size; i++) { /* first[k + 1]: where cell k goes on */
        throw_point(s, i, &x, &y);
        const int64_t cell = cell_of(c, x, y);
        if (cell < 0) continue;
        const int64_t at = c->first[cell + 1]++;
        c->x[at] = x, c->y[at] = y;
    }
done:
    return st;
}

/* The points within the radius of point i, itself among them. Three cells beside each other follow
 * each other, so that columns ascend. */
static int64_t geograph_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const cloud *c = self;
    const int64_t k = i - c->base;
    int64_t cx = cell_at(c, c->x[k]), cy = cell_at(c, c->y[k]), count = 0;
    int64_t left = cx > 0 ? cx - 1 : 0, right = cx + 1 < c->cells ? cx + 1 : cx;

    (void)val;
    for (int64_t y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < c->cells; y++) {
        const int64_t row = c->cells * (y - c->low), end = c->first[right + row + 1];
        for (int64_t j = c->first[left + row]; j < end; j++) {
            double dx = c->x[k] - c->x[j], dy = c->y[k] - c->y[j];
            if (dx * dx + dy * dy > c->radius * c->radius) continue;
            if (col) col[count] = (int32_t)(c->base + j);
            count++;
        }
    }
    return count;
}

static double equal_entry(const spec *s, uint64_t pair) { return (void)s, (void)pair, -1; }

kry_status kry_problem_geograph(const spec *s, kry_problem_range of, kry_sparse *A)
{
    static const kry_problem_values network = { equal_entry, 1e-3, true };
    kry_status st = KRY_OK;
    cloud c = { .low = 0 };

    TRY(cloud_create(s, of, &c));
    TRY(kry_problem_make_rows(geograph_row, &c, false, s->size, of, A));
    kry_problem_fill_values(s, &network, of.first, A);
done:
    free(c.first);
    free(c.y);
    free(c.x);
    return st;
}
