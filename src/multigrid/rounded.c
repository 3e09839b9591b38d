/* rounded.c - operators of matrices that the host has made, with numbers in single where that is wanted and possible. */
#include "matrix/matrix.h"
#include "multigrid/amg.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* In double, and no number is too large or too small for single. */
static bool fits_single(kry_type type, const kry_sparse *host)
{
    const double *val = host->val;

    if (type != KRY_F64) return false;
    for (int64_t e = 0; e < kry_sparse_nnz(host); e++) {
        const double size = fabs(val[e]);
        if (!(size == 0 || (size >= FLT_MIN && size <= FLT_MAX))) return false;
    }
    return true;
}

/* A symmetric matrix has its numbers in single: what rounding took from each row is given to its diagonal. */
static kry_status keep_sums(kry_matrix *A, const double *val)
{
    kry_status st = KRY_OK;
    const kry_sparse *S = &A->sorted;
    double *rest = NULL;

    if (A->stored == A->shape.type || !(A->shape.traits & KRY_SYMMETRIC)) return KRY_OK;
    TRY(kry_alloc((size_t)S->rows, sizeof *rest, &rest));
    for (int64_t i = 0; i < S->rows; i++)
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            rest[i] += val[e] - (double)(float)val[e];
    TRY(kry_matrix_set_surplus(A, rest));
done:
    free(rest);
    return st;
}

kry_status kry_rounded_operator(const kry_op *A, const kry_sparse *host, unsigned traits,
                                bool rounded, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_sparse copy = { 0 };
    const kry_values values =
        rounded && fits_single(A->shape.type, host) ? KRY_VALUES_SINGLE : KRY_VALUES_COMPACT;

    TRY(kry_sparse_copy(host, &copy));
    TRY(kry_sparse_convert(&copy, A->shape.type));
    TRY(kry_matrix_take(A->dev, &copy, KRY_MATRIX(.traits = traits, .values = values), op));
    if (values == KRY_VALUES_SINGLE) TRY(keep_sums(kry_matrix_of(*op), host->val));
done:
    if (st < 0) kry_op_release(op);
    kry_sparse_release(&copy);
    return st;
}

kry_status kry_rounded_set_numbers(kry_op *op, const kry_sparse *host)
{
    kry_status st = KRY_OK;
    kry_matrix *matrix = kry_matrix_of(op);
    kry_sparse copy = { 0 };

    if (matrix->params.values == KRY_VALUES_SINGLE && !fits_single(op->shape.type, host))
        matrix->params.values = KRY_VALUES_COMPACT;
    TRY(kry_sparse_copy(host, &copy));
    TRY(kry_sparse_convert(&copy, op->shape.type));
    TRY(kry_op_update(op, copy.val));
    if (matrix->params.values == KRY_VALUES_SINGLE) TRY(keep_sums(matrix, host->val));
done:
    kry_sparse_release(&copy);
    return st;
}
