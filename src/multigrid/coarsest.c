/* coarsest.c - the matrix of the coarsest level on the host, and what it is known to map to zero. */
#include "multigrid/coarsest.h"
#include "multigrid/box.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>

/* Of sums over rows, by their size. In double and in flux form jumps of 10^6 are above it. */
static double rounding_of(const kry_op *A)
{
    const kry_box *B = kry_box_of(A);
    const bool flux = B && B->slots > B->half;
    return A->shape.type == KRY_F64 || flux ? 2e-9 : 1e-5;
}

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

kry_status kry_coarsest_create(const char *who, const kry_op *A, kry_type type, kry_coarse **coarse)
{
    kry_status st = KRY_OK;
    kry_sparse E = { 0 };
    double *inverse = NULL;

    *coarse = NULL;
    TRY(kry_box_of(A) ? kry_box_rows(who, A, &E) : kry_rows_read(who, A, &E));
    const kry_coarse_how how = { .singular = loses_constants(A, &E), .rounding = rounding_of(A) };
    if (!how.singular || E.rows > 1) { /* a single unknown may be a zero */
        TRY(kry_alloc((size_t)A->shape.rows, sizeof *inverse, &inverse));
        TRY(kry_rows_symmetrise(who, A, &E, inverse));
    }
    st = kry_coarse_create(A->dev, type, &how, &E, coarse);
    CHECK(st != KRY_ERR_SINGULAR, KRY_ERR_ARGUMENT,
          "%s: the matrix of the coarsest level, %lld-by-%lld, is not positive definite", who,
          (long long)A->shape.rows, (long long)A->shape.rows);
done:
    free(inverse);
    kry_sparse_release(&E);
    return st;
}
