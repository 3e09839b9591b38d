/*
 * laplace_matrix.c - k8: Jacobi's iteration with a matrix stored by its diagonals.
 *
 *   r := b - A x,  x := x + r / 6        A = 6 on the diagonal, -1 for each neighbour
 *
 * Storage   A (seven diagonals), b, x, r
 * Per step  a product, an update; A + 3 words, 3 words
 */
#include "grid/laplace.h"
#include <kry/stencil.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct matrix_extra {
    kry_op *A;
    kry_vec *b;
} matrix_extra;

static void matrix_destroy(kry_laplace *L)
{
    matrix_extra *e = L->extra;
    if (!e) return;
    kry_op_release(&e->A);
    kry_vec_release(&e->b);
}

/* The grid operator's matrix, and what the values on its sides add to the right-hand side. */
static kry_status make_system(const kry_laplace *L, const kry_laplace_params *params,
                              matrix_extra *e)
{
    kry_status st = KRY_OK;
    const int64_t *size = params->size;
    kry_op *grid = NULL;
    kry_side_values side[2][3]; /* low, high */

    for (int i = 0; i < KRY_SIDES; i++)
        side[i % 2][i / 2] = (kry_side_values){ .array = params->face[i] };
    TRY(kry_stencil_create(L->dev, L->type, KRY_STENCIL(.size = { size[0], size[1], size[2] }),
                           &grid));
    TRY(kry_stencil_matrix(grid, KRY_MATRIX(.format = KRY_FORMAT_DIA), &e->A));
    TRY(kry_vec_create(L->dev, L->type, L->n, 1, &e->b));
    TRY(kry_stencil_boundary(grid, side[0], side[1], e->b));
done:
    kry_op_release(&grid);
    return st;
}

static kry_status matrix_build(kry_laplace *L, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    matrix_extra *e;
    kry_op_info info;
    void *faces = NULL;

    TRY(kry_laplace_faces(L, params, &faces)); /* checks them */
    TRY(kry_alloc(1, sizeof *e, &e));
    L->extra = e;
    TRY(make_system(L, params, e));
    for (int i = 0; i < 2; i++) TRY(kry_vec_create(L->dev, L->type, L->n, 1, &L->w[i]));
    kry_op_describe(e->A, &info);
    L->bytes_per_sweep = info.bytes_per_apply + 4.0 * (double)L->n * (double)kry_type_size(L->type);
    L->launches_per_sweep = 2;
    snprintf(L->variant, sizeof L->variant, "matrix of %s", info.variant);
done:
    free(faces);
    return st;
}

/* w[0] is x, w[1] is r. */
static kry_status matrix_sweep(kry_laplace *L, int64_t steps)
{
    kry_status st = KRY_OK;
    matrix_extra *e = L->extra;

    for (; steps > 0; steps--) {
        TRY(kry_op_residual(e->A, e->b, L->w[0], L->w[1]));
        TRY(kry_vec_axpby(1.0 / 6, L->w[1], 1, L->w[0]));
    }
done:
    return st;
}

/* The update was r / 6. */
static kry_status matrix_change(kry_laplace *L, double *change2)
{
    kry_status st = kry_vec_dot(L->w[1], L->w[1], change2);
    *change2 /= 36;
    return st;
}

const kry_laplace_table kry_laplace_matrix = { .build = matrix_build,
                                               .sweep = matrix_sweep,
                                               .change = matrix_change,
                                               .transfer = kry_laplace_transfer_vector,
                                               .destroy = matrix_destroy };
