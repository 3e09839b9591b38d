/* rounded.c - operators of matrices that the host has made, with numbers in single where that is wanted and possible. */
#include "amg/amg.h"
#include "matrix/matrix.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* In double, and no number is too large or too small for single. */
static bool fits_single(kry_type type, const kryi_csr *host)
{
    const double *val = host->val;

    if (type != KRY_F64) return false;
    for (int64_t e = 0; e < kryi_csr_nnz(host); e++) {
        const double size = fabs(val[e]);
        if (!(size == 0 || (size >= FLT_MIN && size <= FLT_MAX))) return false;
    }
    return true;
}

/* *rest: what rounding takes from each row, numbers of `type`, to be freed. */
static kry_status find_rest(const kryi_csr *A, kry_type type, void **rest)
{
    kry_status st = KRY_OK;
    const double *val = A->val;

    TRY(kryi_alloc((size_t)A->rows, kry_type_size(type), rest));
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            sum += val[e] - (double)(float)val[e];
        kryi_number_put(type, *rest, i, sum);
    }
done:
    return st;
}

/* A symmetric matrix has its numbers in single: what rounding took from each row is given to its diagonal. */
static kry_status keep_sums(kryi_matrix *A, const kryi_csr *host)
{
    kry_status st = KRY_OK;
    void *rest = NULL;

    if (A->stored == KRY_F64 || !(A->shape.traits & KRY_SYMMETRIC)) return KRY_OK;
    TRY(find_rest(host, A->shape.type, &rest));
    TRY(kryi_matrix_set_surplus(A, rest));
done:
    free(rest);
    return st;
}

/* Whether its numbers are rounded. */
static bool is_rounded(const kryi_matrix *A, const kryi_csr *host)
{
    return A->params.values == KRY_VALUES_SINGLE || A->shape.type != host->type;
}

kry_status kryi_rounded_operator(kry_device *dev, kryi_keep keep, const kryi_csr *host,
                                 unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_csr copy = { 0 };
    const kry_values values =
        keep.rounded && fits_single(keep.type, host) ? KRY_VALUES_SINGLE : KRY_VALUES_COMPACT;

    TRY(kryi_csr_copy(host, &copy));
    TRY(kryi_csr_convert(&copy, keep.type));
    TRY(kryi_values_check("kry_csr_create", copy.type, kryi_csr_nnz(&copy), copy.val));
    TRY(kryi_matrix_take(dev, &copy, KRY_MATRIX(.traits = traits, .values = values), op));
    if (is_rounded(kryi_matrix_of(*op), host)) TRY(keep_sums(kryi_matrix_of(*op), host));
done:
    if (st < 0) kry_op_release(op);
    kryi_csr_release(&copy);
    return st;
}

kry_status kryi_rounded_set_numbers(kry_op *op, const kryi_csr *host)
{
    kry_status st = KRY_OK;
    kryi_matrix *matrix = kryi_matrix_of(op);
    kryi_csr copy = { 0 };

    if (matrix->params.values == KRY_VALUES_SINGLE && !fits_single(op->shape.type, host))
        matrix->params.values = KRY_VALUES_COMPACT;
    TRY(kryi_csr_copy(host, &copy));
    TRY(kryi_csr_convert(&copy, op->shape.type));
    TRY(kry_op_update(op, copy.val));
    if (is_rounded(matrix, host)) TRY(keep_sums(matrix, host));
done:
    kryi_csr_release(&copy);
    return st;
}
