/*
 * grids.h - grids of all kinds, and their operators as plain matrices: what a stencil is held
 * against.
 */
#ifndef KRY_GRIDS_H
#define KRY_GRIDS_H

#include "testing.h"

typedef struct grid {
    const char *name;
    int64_t size[3];
    kry_side low[3], high[3];
    bool variable;
    double spacing[3], diffusion[3];
    enum { NO_FACES, FACES, FACES_AND_CELLS } faces; /* of a variable one: given, not made */
} grid;

#define D KRY_DIRICHLET
#define F KRY_DIRICHLET_FACE
#define N KRY_NEUMANN
#define P KRY_PERIODIC
/* Few mixes of sides, for each is compiled; sizes around vectors, tiles and segments. */
static const grid grids[] = {
    { .name = "Poisson 1 x 1", .size = { 1, 1 }, .low = { D, D }, .high = { D, D } },
    { .name = "Poisson 5 x 1", .size = { 5, 1 }, .low = { D, D }, .high = { D, D } },
    { .name = "Poisson 1 x 9", .size = { 1, 9 }, .low = { D, D }, .high = { D, D } },
    { .name = "Poisson 9 x 8", .size = { 9, 8 }, .low = { D, D }, .high = { D, D } },
    { .name = "Poisson 33 x 17",
      .size = { 33, 17 },
      .low = { D, D },
      .high = { D, D },
      .spacing = { 0.5, 0.25 } },
    { .name = "Poisson 131 x 40",
      .size = { 131, 40 },
      .low = { D, D },
      .high = { D, D },
      .diffusion = { 1, 0.01 } },
    { .name = "Poisson 64 x 64", .size = { 64, 64 }, .low = { D, D }, .high = { D, D } },
    { .name = "mixed sides 2 x 2", .size = { 2, 2 }, .low = { N, F }, .high = { D, N } },
    { .name = "mixed sides 35 x 18",
      .size = { 35, 18 },
      .low = { N, F },
      .high = { D, N },
      .spacing = { 0.1, 0.3 } },
    { .name = "a tube 1 x 4",
      .size = { 1, 4 },
      .low = { P, N },
      .high = { P, F },
      .variable = true },
    { .name = "a tube 2 x 5",
      .size = { 2, 5 },
      .low = { P, N },
      .high = { P, F },
      .variable = true },
    { .name = "a tube 37 x 34",
      .size = { 37, 34 },
      .low = { P, N },
      .high = { P, F },
      .variable = true,
      .spacing = { 0.2, 0.4 },
      .diffusion = { 1, 2 } },
    { .name = "cells 20 x 19",
      .size = { 20, 19 },
      .low = { N, N },
      .high = { N, N },
      .variable = true },
    { .name = "Poisson 1 x 1 x 1", .size = { 1, 1, 1 }, .low = { D, D, D }, .high = { D, D, D } },
    { .name = "Poisson 3 x 1 x 2", .size = { 3, 1, 2 }, .low = { D, D, D }, .high = { D, D, D } },
    { .name = "Poisson 33 x 9 x 5",
      .size = { 33, 9, 5 },
      .low = { D, D, D },
      .high = { D, D, D },
      .spacing = { 1, 0.5, 0.25 } },
    { .name = "Poisson 16 x 17 x 18",
      .size = { 16, 17, 18 },
      .low = { D, D, D },
      .high = { D, D, D } },
    { .name = "a box 10 x 7 x 6",
      .size = { 10, 7, 6 },
      .low = { F, P, N },
      .high = { N, P, D },
      .variable = true,
      .spacing = { 0.5, 1, 2 } },
    { .name = "a box 2 x 1 x 9",
      .size = { 2, 1, 9 },
      .low = { F, P, N },
      .high = { N, P, D },
      .variable = true },
    { .name = "a ring 12 x 11 x 10",
      .size = { 12, 11, 10 },
      .low = { P, P, P },
      .high = { P, P, P } },
    { .name = "faces of a box 10 x 7 x 6",
      .size = { 10, 7, 6 },
      .low = { F, P, N },
      .high = { N, P, D },
      .variable = true,
      .faces = FACES_AND_CELLS,
      .spacing = { 0.5, 1, 2 } },
    { .name = "faces of a tube 37 x 34",
      .size = { 37, 34 },
      .low = { P, N },
      .high = { P, F },
      .variable = true,
      .faces = FACES,
      .spacing = { 0.2, 0.4 },
      .diffusion = { 1, 2 } },
    { .name = "faces of a tube 2 x 5",
      .size = { 2, 5 },
      .low = { P, N },
      .high = { P, F },
      .variable = true,
      .faces = FACES_AND_CELLS },
    { .name = "faces 20 x 19",
      .size = { 20, 19 },
      .low = { N, N },
      .high = { N, N },
      .variable = true,
      .faces = FACES },
};
#undef D
#undef F
#undef N
#undef P

static int64_t grid_points(const grid *g)
{
    return g->size[0] * g->size[1] * (g->size[2] ? g->size[2] : 1);
}

/* The coefficient of the upper face of cell i along an axis, behind those of the cells. */
static int64_t grid_upper(const grid *g, int axis, int64_t i)
{
    return grid_points(g) * (1 + axis) + i;
}

/* Is there nothing behind the upper face of cell i? */
static bool grid_closed(const grid *g, int axis, int64_t i)
{
    int64_t stride = axis == 0 ? 1 : axis == 1 ? g->size[0] : g->size[0] * g->size[1];
    return g->high[axis] == KRY_NEUMANN && i / stride % g->size[axis] == g->size[axis] - 1;
}

/* Coefficients over four decades, of cells and, if faces are given, of them; to be freed; NULL:
 * none. What is not to be read is NaN. */
MAYBE_UNUSED static double *grid_coefficients(const grid *g, kry_type type)
{
    int axes = g->size[2] ? 3 : 2;
    int64_t n = grid_points(g), count = g->faces ? n * (1 + axes) : n;
    if (!g->variable) return NULL;
    double *k = random_array(type, count);
    for (int64_t i = 0; i < count; i++) k[i] = to_type(type, exp(4.6 * k[i]));
    for (int64_t i = 0; i < (g->faces ? n * axes : 0); i++)
        if (grid_closed(g, (int)(i / n), i % n)) k[n + i] = (double)NAN;
    return k;
}

/* What kry_op_update takes. */
MAYBE_UNUSED static double *grid_numbers(const grid *g, double *k)
{
    return g->faces ? k + grid_points(g) : k;
}

MAYBE_UNUSED static kry_stencil_params grid_params(const grid *g, const double *k)
{
    kry_stencil_params p = *KRY_STENCIL(.coefficient = g->faces == FACES ? NULL : k);
    const int faces = k && g->faces ? (g->size[2] ? 3 : 2) : 0;
    for (int a = 0; a < faces; a++) p.face[a] = k + grid_upper(g, a, 0);
    memcpy(p.size, g->size, sizeof p.size);
    memcpy(p.low, g->low, sizeof p.low);
    memcpy(p.high, g->high, sizeof p.high);
    memcpy(p.spacing, g->spacing, sizeof p.spacing);
    memcpy(p.diffusion, g->diffusion, sizeof p.diffusion);
    return p;
}

/* One face of cell i, at[]: the neighbour, -1 if there is none, and its weight. */
static int64_t grid_face(const grid *g, const double *k, const int64_t *at, int axis, int up,
                         double *weight)
{
    int64_t size[3] = { g->size[0], g->size[1], g->size[2] ? g->size[2] : 1 };
    int64_t to[3] = { at[0], at[1], at[2] };
    int64_t i = at[0] + size[0] * (at[1] + size[1] * at[2]);
    double h = g->spacing[axis] > 0 ? g->spacing[axis] : 1;
    bool periodic = g->low[axis] == KRY_PERIODIC;

    *weight = (g->diffusion[axis] > 0 ? g->diffusion[axis] : 1) / (h * h);
    to[axis] += up ? 1 : -1;
    if (periodic) to[axis] = (to[axis] + size[axis]) % size[axis];
    bool inside = to[axis] >= 0 && to[axis] < size[axis];
    int64_t j = inside ? to[0] + size[0] * (to[1] + size[1] * to[2]) : -1;
    bool read = inside || (up && g->high[axis] != KRY_NEUMANN);
    if (g->faces && read)
        *weight *= k[grid_upper(g, axis, up ? i : j)];
    else if (k)
        *weight *= inside ? 2 * k[i] * k[j] / (k[i] + k[j]) : k[i];
    return j;
}

static void grid_add(matrix *A, int64_t row, int64_t col, double v)
{
    for (int64_t e = A->row_ptr[row]; e < A->nnz; e++)
        if (A->col[e] == col) {
            A->val[e] += v;
            return;
        }
    A->col[A->nnz] = (int32_t)col, A->val[A->nnz++] = v;
}

/* The operator written down face by face. */
MAYBE_UNUSED static matrix grid_matrix(const grid *g, const double *k)
{
    int axes = g->size[2] ? 3 : 2;
    int64_t n = grid_points(g), at[3];
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)n * 7, sizeof *A.col);
    A.val = calloc((size_t)n * 7, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        at[0] = i % g->size[0], at[1] = i / g->size[0] % g->size[1];
        at[2] = i / (g->size[0] * g->size[1]);
        A.row_ptr[i] = A.nnz;
        grid_add(&A, i, i, 0);
        for (int f = 0; f < 2 * axes; f++) {
            double w;
            int64_t j = grid_face(g, k, at, f / 2, f % 2, &w);
            kry_side side = f % 2 ? g->high[f / 2] : g->low[f / 2];
            if (j == i || (j < 0 && side == KRY_NEUMANN))
                continue; /* a periodic axis of one cell */
            grid_add(&A, i, i, j < 0 && side == KRY_DIRICHLET_FACE ? 2 * w : w);
            if (j >= 0) grid_add(&A, i, j, -w);
        }
    }
    A.row_ptr[n] = A.nnz;
    return A;
}

MAYBE_UNUSED static bool grid_singular(const grid *g)
{
    for (int a = 0; a < (g->size[2] ? 3 : 2); a++)
        for (int up = 0; up < 2; up++) {
            kry_side side = up ? g->high[a] : g->low[a];
            if (side == KRY_DIRICHLET || side == KRY_DIRICHLET_FACE) return false;
        }
    return true;
}

#endif
