/* weak_grid.h - a matrix for algebraic multigrid whose couplings along one axis may be weak. */
#ifndef KRY_TEST_WEAK_GRID_H
#define KRY_TEST_WEAK_GRID_H

#include "testing.h"

/* Laplace's operator on nx-by-ny points; y couples by `weak`. */
MAYBE_UNUSED static matrix weak_grid(int64_t nx, int64_t ny, double weak)
{
    matrix A = { .rows = nx * ny, .cols = nx * ny };

    A.row_ptr = calloc((size_t)A.rows + 1, sizeof *A.row_ptr);
    A.col = calloc(5 * (size_t)A.rows, sizeof *A.col),
    A.val = calloc(5 * (size_t)A.rows, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < nx * ny; i++) {
        const int64_t x = i % nx, y = i / nx;
        const struct {
            bool there;
            int64_t col;
            double val;
        } entry[] = { { y > 0, i - nx, -weak },
                      { x > 0, i - 1, -1 },
                      { true, i, 2 + 2 * weak },
                      { x < nx - 1, i + 1, -1 },
                      { y < ny - 1, i + nx, -weak } };
        for (size_t k = 0; k < COUNT(entry); k++)
            if (entry[k].there) A.col[A.nnz] = (int32_t)entry[k].col, A.val[A.nnz++] = entry[k].val;
        A.row_ptr[i + 1] = A.nnz;
    }
    return A;
}

#endif
