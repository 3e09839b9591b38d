/*
 * hpcg_host.c - the sequential order of HPCG on one core of the host, without a matrix.
 *
 *   p := M r + beta p,  alpha := r'M r / p'A p,  r -= alpha A p
 *
 * M is the cycle of bench_hpcg.c with sweeps from the first point to the last and back.
 */
#include "hpcg_host.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct host_level {
    int64_t size[3], n;
    double *x, *b, *r; /* n each, owned; of the level */
    double *line;      /* size[0] + 2 */
} host_level;

/* sums[i]: of v in the up to 24 points of other rows that point i of a row touches */
static const double *sum_beside(const host_level *l, const double *v, int64_t y, int64_t z)
{
    const int64_t nx = l->size[0];
    double *sum = l->line, before = 0;

    memset(sum, 0, (size_t)(nx + 2) * sizeof *sum);
    for (int64_t dz = -1; dz <= 1; dz++)
        for (int64_t dy = -1; dy <= 1; dy++) {
            const int64_t at_y = y + dy, at_z = z + dz;
            if ((!dy && !dz) || at_y < 0 || at_y >= l->size[1] || at_z < 0 || at_z >= l->size[2])
                continue;
            const double *row = v + (at_z * l->size[1] + at_y) * nx;
            for (int64_t i = 0; i < nx; i++) sum[i + 1] += row[i];
        }
    for (int64_t i = 1; i <= nx; i++) {
        const double all = before + sum[i] + sum[i + 1];
        before = sum[i], sum[i] = all;
    }
    return sum + 1;
}

static double beside_in_row(const double *row, int64_t i, int64_t nx)
{
    return (i > 0 ? row[i - 1] : 0) + (i + 1 < nx ? row[i + 1] : 0);
}

static void host_sweep(const host_level *l, const double *b, double *x)
{
    const int64_t nx = l->size[0], lines = l->size[1] * l->size[2];

    for (int64_t pass = 0; pass < 2 * lines; pass++) {
        const bool back = pass >= lines;
        const int64_t line = back ? 2 * lines - 1 - pass : pass;
        const double *sum = sum_beside(l, x, line % l->size[1], line / l->size[1]);
        double *row = x + line * nx;
        for (int64_t k = 0; k < nx; k++) {
            const int64_t i = back ? nx - 1 - k : k;
            row[i] = (b[line * nx + i] + sum[i] + beside_in_row(row, i, nx)) * (1.0 / 26);
        }
    }
}

/* y := A x */
static void host_product(const host_level *l, const double *x, double *y)
{
    const int64_t nx = l->size[0];

    for (int64_t line = 0; line < l->size[1] * l->size[2]; line++) {
        const double *sum = sum_beside(l, x, line % l->size[1], line / l->size[1]);
        const double *row = x + line * nx;
        for (int64_t i = 0; i < nx; i++)
            y[line * nx + i] = 26 * row[i] - sum[i] - beside_in_row(row, i, nx);
    }
}

/* l->x := M b */
static void host_cycle(host_level *l, int depth, const double *b)
{
    memset(l->x, 0, (size_t)l->n * sizeof *l->x);
    host_sweep(l, b, l->x);
    if (depth + 1 == HPCG_LEVELS) return;
    host_level *coarser = l + 1;
    const int64_t *m = coarser->size;
    host_product(l, l->x, l->r);
    for (int64_t i = 0; i < coarser->n; i++) {
        const int64_t x = i % m[0], y = i / m[0] % m[1], z = i / (m[0] * m[1]),
                      fine = 2 * x + l->size[0] * (2 * y + l->size[1] * 2 * z);
        coarser->b[i] = b[fine] - l->r[fine];
    }
    host_cycle(coarser, depth + 1, coarser->b);
    for (int64_t i = 0; i < coarser->n; i++) {
        const int64_t x = i % m[0], y = i / m[0] % m[1], z = i / (m[0] * m[1]);
        l->x[2 * x + l->size[0] * (2 * y + l->size[1] * 2 * z)] += coarser->x[i];
    }
    host_sweep(l, b, l->x);
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* ||r|| / ||b|| after `iterations`. r: b on entry; p, q: room for n numbers each */
static double host_iterate(host_level *l, int iterations, double *r, double *p, double *q)
{
    const double norm = sqrt(dot(r, r, l->n));
    double rz = 0;

    for (int k = 0; k < iterations; k++) {
        host_cycle(l, 0, r);
        const double before = rz;
        rz = dot(r, l->x, l->n);
        const double beta = k > 0 ? rz / before : 0;
        for (int64_t i = 0; i < l->n; i++) p[i] = l->x[i] + beta * p[i];
        host_product(l, p, q);
        const double alpha = rz / dot(p, q, l->n);
        for (int64_t i = 0; i < l->n; i++) r[i] -= alpha * q[i];
    }
    return sqrt(dot(r, r, l->n)) / norm;
}

kry_status hpcg_host_reduction(const int64_t size[3], int iterations, double *reduction)
{
    kry_status st = KRY_OK;
    host_level levels[HPCG_LEVELS] = { 0 };
    double *r = NULL, *p = NULL, *q = NULL;

    for (int depth = 0; depth < HPCG_LEVELS; depth++) {
        host_level *l = &levels[depth];
        for (int a = 0; a < 3; a++) l->size[a] = size[a] >> depth;
        l->n = l->size[0] * l->size[1] * l->size[2];
        double **const arrays[] = { &l->x, &l->b, &l->r };
        for (size_t i = 0; i < COUNT(arrays); i++)
            TRY(allocate((uint64_t)l->n, sizeof(double), arrays[i]));
        TRY(allocate((uint64_t)l->size[0] + 2, sizeof(double), &l->line));
    }
    const int64_t n = levels[0].n;
    TRY(allocate((uint64_t)n, sizeof *r, &r));
    TRY(allocate((uint64_t)n, sizeof *p, &p));
    TRY(allocate((uint64_t)n, sizeof *q, &q));
    for (int64_t i = 0; i < n; i++) p[i] = 1;
    host_product(levels, p, r);
    *reduction = host_iterate(levels, iterations, r, p, q);
done:
    for (int depth = 0; depth < HPCG_LEVELS; depth++)
        free(levels[depth].x), free(levels[depth].b), free(levels[depth].r),
            free(levels[depth].line);
    free(r), free(p), free(q);
    return st;
}
