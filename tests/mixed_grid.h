/*
 * mixed_grid.h - matrices of grids whose points are numbered in any order.
 */
#ifndef KRY_MIXED_GRID_H
#define KRY_MIXED_GRID_H

#include "testing.h"

/* A random order of n. */
MAYBE_UNUSED static int32_t *shuffled(int64_t n)
{
    int32_t *place = calloc((size_t)n + 1, sizeof *place);
    assert_non_null(place);
    for (int64_t i = 0; i < n; i++) place[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = random_below(i + 1);
        const int32_t t = place[i];
        place[i] = place[j], place[j] = t;
    }
    return place;
}

/* How the 5 points of a grid weigh: diagonal, to the left and down, to the right and up. */
typedef struct weights {
    double own, before, after;
} weights;
static const weights laplace MAYBE_UNUSED = { 4.01, -1, -1 }, singular MAYBE_UNUSED = { 0, -1, -1 },
                             windy MAYBE_UNUSED = { 4.2, -1.6, -0.5 };

/* Entries of the point (i, j) of a grid of `side`, whose point k has the number place[k]. */
static void put_row(matrix *A, int side, const int32_t *place, int i, int j, const weights *w)
{
    static const int step[][2] = { { -1, 0 }, { 0, -1 }, { 0, 0 }, { 1, 0 }, { 0, 1 } };
    const int64_t row = place[j * side + i];
    int64_t k = A->row_ptr[row], own = k;
    double sum = 0;

    for (int s = 0; s < 5; s++) {
        const int x = i + step[s][0], y = j + step[s][1];
        if (x < 0 || y < 0 || x >= side || y >= side) continue;
        if (s == 2) own = k;
        A->col[k] = place[y * side + x];
        A->val[k] = s < 2 ? w->before : s > 2 ? w->after : w->own;
        if (s != 2) sum -= A->val[k];
        k++;
    }
    if (w->own == 0) A->val[own] = sum;
    for (int64_t a = A->row_ptr[row] + 1; a < k; a++) /* columns ascend */
        for (int64_t e = a; e > A->row_ptr[row] && A->col[e] < A->col[e - 1]; e--) {
            const int32_t c = A->col[e];
            const double v = A->val[e];
            A->col[e] = A->col[e - 1], A->col[e - 1] = c;
            A->val[e] = A->val[e - 1], A->val[e - 1] = v;
        }
}

MAYBE_UNUSED static matrix grid_of(kry_type type, int side, const int32_t *place, const weights *w)
{
    const int64_t n = (int64_t)side * side;
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)(5 * n), sizeof *A.col);
    A.val = calloc((size_t)(5 * n), sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++)
            A.row_ptr[place[j * side + i] + 1] =
                1 + (i > 0) + (j > 0) + (i + 1 < side) + (j + 1 < side);
    for (int64_t i = 0; i < n; i++) A.row_ptr[i + 1] += A.row_ptr[i];
    A.nnz = A.row_ptr[n];
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) put_row(&A, side, place, i, j, w);
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] = to_type(type, A.val[k]);
    return A;
}

/* The order of reverse Cuthill-McKee, to be freed. order[k]: the row that comes k-th; place: where each one goes. */
MAYBE_UNUSED static int32_t *order_of(const matrix *A, int32_t *place)
{
    int32_t *order = calloc((size_t)A->rows + 1, sizeof *order);

    assert_non_null(order);
    OK(rcm_order(A->rows, A->row_ptr, A->col, order));
    for (int64_t i = 0; i < A->rows; i++) place[i] = -1;
    for (int64_t k = 0; k < A->rows; k++) {
        assert_in_range(order[k], 0, A->rows - 1);
        assert_int_equal(place[order[k]], -1);
        place[order[k]] = (int32_t)k;
    }
    return order;
}

#endif
