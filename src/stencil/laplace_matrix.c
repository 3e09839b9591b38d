/*
 * laplace_matrix.c - k8: Jacobi's iteration with a matrix stored by its diagonals.
 *
 *   r := b - A x,  x := x + r / 6        A = 6 on the diagonal, -1 for each neighbour
 *
 * Storage   A (seven diagonals), b, x, r
 * Per step  a product, an update; A + 3 words, 3 words
 */
#include "laplace.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct seven_points {
    int64_t *row_ptr;
    int32_t *col;
    void *val, *b;
    int64_t nnz;
} seven_points;

static void seven_points_release(seven_points *m)
{
    free(m->row_ptr);
    free(m->col);
    free(m->val);
    free(m->b);
}

static void put(const kry_laplace *L, void *to, int64_t at, double v)
{
    if (L->type == KRY_F64)
        ((double *)to)[at] = v;
    else
        ((float *)to)[at] = (float)v;
}

static void add_entry(const kry_laplace *L, seven_points *m, int64_t col, double v)
{
    m->col[m->nnz] = (int32_t)col;
    put(L, m->val, m->nnz++, v);
}

static void add_row(const kry_laplace *L, seven_points *m, int64_t row, const int64_t at[3])
{
    const int64_t stride[3] = { 1, L->size[0], (int64_t)L->size[0] * L->size[1] };

    for (int a = 2; a >= 0; a--)
        if (at[a] > 0) add_entry(L, m, row - stride[a], -1);
    add_entry(L, m, row, 6);
    for (int a = 0; a < 3; a++)
        if (at[a] < L->size[a] - 1) add_entry(L, m, row + stride[a], -1);
    m->row_ptr[row + 1] = m->nnz;
}

/* b: what the sides add to the sum of the neighbours of (i, j, k). */
static double sides_at(const kry_laplace *L, const kry_laplace_params *p, const int64_t at[3])
{
    double sum = 0;

    for (int side = 0; side < KRY_SIDES; side++) {
        int axis = side / 2, first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
        int64_t outer = side % 2 ? L->size[axis] - 1 : 0;
        if (at[axis] == outer && p->face[side])
            sum += p->face[side][at[first] + L->size[first] * at[second]];
    }
    return sum;
}

static kry_status seven_points_fill(const kry_laplace *L, const kry_laplace_params *params,
                                    seven_points *m)
{
    kry_status st = KRY_OK;
    size_t n = (size_t)L->n, number = kry_type_size(L->type);

    TRY(kry_alloc(n + 1, sizeof *m->row_ptr, &m->row_ptr));
    TRY(kry_alloc(7 * n, sizeof *m->col, &m->col));
    TRY(kry_alloc(7 * n, number, &m->val));
    TRY(kry_alloc(n, number, &m->b));
    for (int64_t row = 0; row < L->n; row++) {
        int64_t up = row / L->size[0];
        const int64_t at[3] = { row % L->size[0], up % L->size[1], up / L->size[1] };
        add_row(L, m, row, at);
        put(L, m->b, row, sides_at(L, params, at));
    }
done:
    return st;
}

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

static kry_status matrix_build(kry_laplace *L, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    seven_points m = { 0 };
    matrix_extra *e;
    kry_op_info info;
    void *faces = NULL;

    TRY(kry_laplace_faces(L, params, &faces)); /* checks them */
    TRY(kry_alloc(1, sizeof *e, &e));
    L->extra = e;
    TRY(seven_points_fill(L, params, &m));
    TRY(kry_csr_create(L->dev, L->type, L->n, L->n, m.row_ptr, m.col, m.val,
                       KRY_MATRIX(.format = KRY_FORMAT_DIA), &e->A));
    TRY(kry_vec_create(L->dev, L->type, L->n, 1, &e->b));
    TRY(kry_vec_write(e->b, m.b));
    for (int i = 0; i < 2; i++) TRY(kry_vec_create(L->dev, L->type, L->n, 1, &L->w[i]));
    kry_op_describe(e->A, &info);
    L->bytes_per_sweep = info.bytes_per_apply + 4.0 * (double)L->n * (double)kry_type_size(L->type);
    L->launches_per_sweep = 2;
    snprintf(L->variant, sizeof L->variant, "matrix of %s", info.variant);
done:
    free(faces);
    seven_points_release(&m);
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
