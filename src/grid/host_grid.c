/*
 * host_grid.c - the operator that grid parameters describe, on the host.
 */
#include "grid/host_grid.h"
#include "grid/stencil.h"
#include <assert.h>

static double or_one(double value) { return value > 0 ? value : 1; }

kry_host_grid kry_host_grid_of(const kry_stencil_params *p, kry_type type)
{
    kry_host_grid g = { .params = p, .type = type, .axes = p->size[2] ? 3 : 2, .n = 1 };

    for (int a = 0; a < 3; a++) {
        double h = or_one(p->spacing[a]);
        g.size[a] = a < g.axes ? p->size[a] : 1;
        g.weight[a] = or_one(p->diffusion[a]) / (h * h);
        g.stride[a] = g.n;
        g.n *= g.size[a];
    }
    return g;
}

static double rounded(const kry_host_grid *g, double v)
{
    return g->type == KRY_F32 ? (double)(float)v : v;
}

/* The weight of the face between cell i and j, of which i is the lower one; j is -1 at a high side:
 * of a Neumann side nothing is asked. */
static double upper_weight(const kry_host_grid *g, int64_t i, int64_t j, int axis)
{
    const kry_stencil_params *p = g->params;
    double weight = g->weight[axis];

    if (p->face[0]) return rounded(g, weight * p->face[axis][i]);
    if (!p->coefficient) return rounded(g, weight);
    double k = rounded(g, p->coefficient[i]), l = j < 0 ? k : rounded(g, p->coefficient[j]);
    return rounded(g, weight * (j < 0 ? k : 2 / (1 / k + 1 / l)));
}

static double low_side_weight(const kry_host_grid *g, int64_t i, int axis)
{
    const double *k = g->params->coefficient;
    double weight = rounded(g, g->weight[axis]);
    return k ? rounded(g, weight * rounded(g, k[i])) : weight;
}

kry_host_face kry_host_face_of(const kry_host_grid *g, int64_t i, int64_t at, int axis, bool high)
{
    int64_t last = g->size[axis] - 1, step = high ? g->stride[axis] : -g->stride[axis];
    kry_side side = high ? g->params->high[axis] : g->params->low[axis];
    kry_host_face f = { .cell = -1 };

    if (high ? at < last : at > 0)
        f.cell = i + step;
    else if (side == KRY_PERIODIC)
        f.cell = i - step * last;
    else
        f.ghost = kry_ghost(side);
    if (f.cell < 0 && side == KRY_NEUMANN) return f;
    if (high || f.cell >= 0)
        f.weight = high ? upper_weight(g, i, f.cell, axis) : upper_weight(g, f.cell, i, axis);
    else
        f.weight = low_side_weight(g, i, axis);
    return f;
}

void kry_host_product(const kry_host_grid *g, const double *x, double *y)
{
    int64_t at[3] = { 0, 0, 0 };

    assert(g->axes >= 1 && g->axes <= 3);
    for (int64_t i = 0; i < g->n; i++) {
        double sum = 0;
        for (int f = 0; f < 2 * g->axes; f++) {
            kry_host_face face = kry_host_face_of(g, i, at[f / 2], f / 2, f % 2);
            double out = face.cell >= 0 ? x[face.cell] : face.ghost * x[i];
            sum += face.weight * (x[i] - out);
        }
        y[i] = sum;
        for (int a = 0; a < g->axes && ++at[a] == g->size[a]; a++) at[a] = 0;
    }
}
