/*
 * jacobi_matrix.c - k8: Jacobi's iteration with a matrix stored by its diagonals.
 *
 *   r := b - A x,  x := x + r / 6        A = 6 on the diagonal, -1 for each neighbour
 *
 * Storage   A (seven diagonals), b, x in w[0], r in w[1]
 * Per step  a product, an update; A + 3 words, 3 words
 */
#include "../paper.h"
#include "jacobi.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct matrix_extra {
    kry_op *A;
    kry_vec *b;
} matrix_extra;

static void matrix_destroy(jacobi *J)
{
    matrix_extra *e = J->extra;
    kry_op_release(&e->A);
    kry_vec_release(&e->b);
}

/* The grid operator's matrix, and what the values on its sides add to the right-hand side. */
static kry_status matrix_build(jacobi *J, const jacobi_box *box)
{
    kry_status st = KRY_OK;
    const int64_t *size = box->size;
    matrix_extra *e = J->extra = calloc(1, sizeof *e);
    kry_op *grid = NULL;
    kry_op_info info;
    kry_side_values side[2][3]; /* low, high */

    CHECK(e, KRY_ERR_MEMORY, "jacobi_create: out of memory");
    for (int i = 0; i < SIDES; i++) side[i % 2][i / 2] = (kry_side_values){ .array = box->side[i] };
    TRY(kry_stencil_create(J->device, J->type, KRY_STENCIL(.size = { size[0], size[1], size[2] }),
                           &grid));
    TRY(kry_stencil_matrix(grid, KRY_MATRIX(.format = KRY_FORMAT_DIA), &e->A));
    TRY(kry_vec_create(J->device, J->type, J->n, 1, &e->b));
    TRY(kry_stencil_boundary(grid, side[0], side[1], e->b));
    for (int i = 0; i < 2; i++) TRY(kry_vec_create(J->device, J->type, J->n, 1, &J->w[i]));
    kry_op_describe(e->A, &info);
    J->launches_per_sweep = 2;
    snprintf(J->variant, sizeof J->variant, "matrix of %s", info.variant);
done:
    kry_op_release(&grid);
    return st;
}

static kry_status matrix_sweep(jacobi *J, int64_t steps)
{
    kry_status st = KRY_OK;
    const matrix_extra *e = J->extra;

    for (; steps > 0; steps--) {
        TRY(kry_op_residual(e->A, e->b, J->w[0], J->w[1]));
        TRY(kry_vec_axpby(1.0 / 6, J->w[1], 1, J->w[0]));
    }
done:
    return st;
}

/* J->now is 0 for ever; the sweep before had x - r / 6. */
static kry_status matrix_get(const jacobi *J, int which, kry_vec *points)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_copy(J->w[0], points));
    if (which) TRY(kry_vec_axpby(-1.0 / 6, J->w[1], 1, points));
done:
    return st;
}

static kry_status matrix_put(jacobi *J, const kry_vec *points)
{
    return kry_vec_copy(points, J->w[0]);
}

const jacobi_kind jacobi_matrix = { .build = matrix_build,
                                    .sweep = matrix_sweep,
                                    .get = matrix_get,
                                    .put = matrix_put,
                                    .destroy = matrix_destroy };
