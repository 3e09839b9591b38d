/*
 * export.c - a grid operator as a stored matrix.
 */
#include "stencil.h"
#include <stdlib.h>

/* The faces as the device has them; all NULL: weights per axis. No cells: no low side asks. */
typedef struct faces {
    void *cell, *axis[3];
} faces;

static kry_status fetch(const kry_stencil *A, cl_mem buffer, void **host)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)A->n * kry_type_size(A->type);

    TRY(kry_alloc((size_t)A->n, kry_type_size(A->type), host));
    TRY_CL(clEnqueueReadBuffer(A->dev->queue, buffer, CL_TRUE, 0, bytes, *host, 0, NULL, NULL));
done:
    return st;
}

typedef struct row {
    int32_t col[7];
    double val[7];
    int count;
} row;

/* Add to the entry of a column; columns stay ascending. */
static void add(row *r, int64_t col, double value)
{
    int at = 0;
    while (at < r->count && r->col[at] < col) at++;
    if (at == r->count || r->col[at] != col) {
        for (int e = r->count++; e > at; e--) r->col[e] = r->col[e - 1], r->val[e] = r->val[e - 1];
        r->col[at] = (int32_t)col, r->val[at] = 0;
    }
    r->val[at] += value;
}

/* One face of cell i, which is at coordinate `at` of the axis. */
static void add_face(const kry_stencil *A, const faces *f, int64_t i, int axis, int64_t at,
                     int64_t stride, bool high, row *r)
{
    int64_t size = A->size[axis];
    kry_side side = high ? A->high[axis] : A->low[axis];
    bool inside = high ? at < size - 1 : at > 0, wraps = side == KRY_PERIODIC;
    int64_t step = high ? stride : -stride, j = inside ? i + step : i - step * (size - 1);
    double weight = A->weight[axis];

    if (f->axis[axis] && (high || inside || wraps))
        weight = kry_number_at(A->type, f->axis[axis], high ? i : j);
    else if (f->cell)
        weight *= kry_number_at(A->type, f->cell, i);
    if (inside || wraps) {
        if (j == i) return; /* its own neighbour */
        add(r, i, weight);
        add(r, j, -weight);
    } else {
        add(r, i, weight * (1 - kry_ghost(side)));
    }
}

static row make_row(const kry_stencil *A, const faces *f, int64_t i)
{
    row r = { .count = 0 };
    int64_t rest = i, stride = 1;

    add(&r, i, 0);
    for (int a = 0; a < A->axes; a++) {
        int64_t at = rest % A->size[a];
        add_face(A, f, i, a, at, stride, false, &r);
        add_face(A, f, i, a, at, stride, true, &r);
        rest /= A->size[a], stride *= A->size[a];
    }
    return r;
}

kry_status kry_stencil_matrix(const kry_op *op, const kry_matrix_params *params, kry_op **matrix)
{
    kry_status st = KRY_OK;
    const kry_stencil *A = kry_stencil_of(op);
    faces f = { .cell = NULL };
    int64_t *row_ptr = NULL;
    int32_t *col = NULL;
    void *val = NULL;
    kry_matrix_params with_traits = params ? *params : *KRY_MATRIX(.traits = 0);

    *matrix = NULL;
    CHECK(op, KRY_ERR_ARGUMENT, "kry_stencil_matrix: NULL");
    CHECK(A, KRY_ERR_ARGUMENT, "kry_stencil_matrix: '%s' is no stencil", op->table->kind);
    if (A->coefficient) TRY(fetch(A, A->coefficient, &f.cell));
    for (int a = 0; a < A->axes && A->face[a]; a++) TRY(fetch(A, A->face[a], &f.axis[a]));
    TRY(kry_alloc((size_t)A->n + 1, sizeof *row_ptr, &row_ptr));
    TRY(kry_alloc((size_t)A->n * 7, sizeof *col, &col));
    TRY(kry_alloc((size_t)A->n * 7, kry_type_size(A->type), &val));
    for (int64_t i = 0; i < A->n; i++) {
        const row r = make_row(A, &f, i);
        for (int e = 0; e < r.count; e++) {
            col[row_ptr[i] + e] = r.col[e];
            kry_number_put(A->type, val, row_ptr[i] + e, r.val[e]);
        }
        row_ptr[i + 1] = row_ptr[i] + r.count;
    }
    with_traits.traits |= op->shape.traits;
    TRY(kry_csr_create(A->dev, A->type, A->n, A->n, row_ptr, col, val, &with_traits, matrix));
done:
    free(val);
    free(col);
    free(row_ptr);
    free(f.cell);
    for (int a = 0; a < 3; a++) free(f.axis[a]);
    return st;
}
