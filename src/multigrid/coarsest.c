/* coarsest.c - the matrix of the coarsest level on the host, and what it is known to map to zero. */
#include "multigrid/coarsest.h"
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "precond/rows.h"
#include "sparse/entries.h"
#include <math.h>
#include <stdlib.h>

/* Column j of A is A e_j. */
static kry_status read_by_products(const char *who, const kry_op *A, kry_sparse *E)
{
    kry_status st = KRY_OK;
    const int64_t n = A->shape.rows;
    kry_entry_list list = { 0 };
    kry_vec *unit = NULL, *column = NULL;
    double *numbers = NULL;

    TRY(kry_alloc((size_t)n, sizeof *numbers, &numbers));
    TRY(kry_vec_create(A->dev, A->shape.type, n, 1, &unit));
    TRY(kry_vec_create(A->dev, A->shape.type, n, 1, &column));
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) numbers[i] = i == j;
        TRY(kry_vec_write_doubles(unit, numbers));
        TRY(kry_op_apply(A, 1, unit, 0, column));
        TRY(kry_vec_read_doubles(column, numbers));
        for (int64_t i = 0; i < n; i++)
            if (numbers[i] != 0) TRY(kry_entry_append(&list, (int32_t)i, (int32_t)j, numbers[i]));
    }
    TRY(kry_entry_list_compress(who, &list, n, n, E));
done:
    kry_vec_release(&column);
    kry_vec_release(&unit);
    free(list.entry);
    free(numbers);
    return st;
}

/* Of sums of entries in A's type, by their size. */
static double rounding_of(const kry_op *A) { return A->shape.type == KRY_F32 ? 1e-5 : 1e-11; }

/* Constants are mapped to zero, but for rounding. */
static bool loses_constants(const kry_op *A, const kry_sparse *E)
{
    const double rounding = rounding_of(A), *val = E->val;

    for (int64_t i = 0; i < E->rows; i++) {
        double sum = 0, size = 0;
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++)
            sum += val[e], size += fabs(val[e]);
        if (!(fabs(sum) <= rounding * size)) return false;
    }
    return true;
}

kry_status kry_coarsest_create(const char *who, const kry_op *A, kry_coarse **coarse)
{
    kry_status st = KRY_OK;
    const kry_op *own = kry_op_own(A);
    kry_sparse E = { 0 };
    double *inverse = NULL;

    *coarse = NULL;
    TRY(kry_matrix_of(own) || kry_stencil_of(own) ? kry_rows_read(who, A, &E)
                                                  : read_by_products(who, A, &E));
    const kry_coarse_how how = { .singular = loses_constants(A, &E), .rounding = rounding_of(A) };
    if (!how.singular || E.rows > 1) { /* a single unknown may be a zero */
        TRY(kry_alloc((size_t)A->shape.rows, sizeof *inverse, &inverse));
        TRY(kry_rows_symmetrise(who, A, &E, inverse));
    }
    st = kry_coarse_create(A->dev, A->shape.type, &how, &E, coarse);
    CHECK(st != KRY_ERR_SINGULAR, KRY_ERR_ARGUMENT,
          "%s: the matrix of the coarsest level, %lld-by-%lld, is not positive definite", who,
          (long long)A->shape.rows, (long long)A->shape.rows);
done:
    free(inverse);
    kry_sparse_release(&E);
    return st;
}
