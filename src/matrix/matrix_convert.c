/* matrix_convert.c - the converted copy of a matrix: in another number type, in the same format. */
#include "matrix/matrix.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* out := factor s_i s_j a_ij in another type. Entries off the diagonal may underflow to 0; numbers that
 * are too large and diagonal entries that underflow are refused. */
static kry_status convert(const kry_sparse *A, kry_type type, double factor, const double *scale,
                          void *out)
{
    kry_status st = KRY_OK;
    static const char who[] = "kry_op_convert";

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            double given = kry_number_at(A->type, A->val, k);
            double v = factor * (scale ? scale[i] * (given * scale[A->col[k]]) : given);
            bool lost = type == KRY_F32 && A->col[k] == i && given != 0 && fabs(v) < FLT_MIN;
            kry_number_put(type, out, k, v);
            CHECK(isfinite(kry_number_at(type, out, k)) && !lost, KRY_ERR_UNSUPPORTED,
                  "%s: entry (%lld, %lld) is %g, %g with its scaling: too %s for %s precision", who,
                  (long long)i, (long long)A->col[k], given, v, lost ? "small" : "large",
                  kry_type_name(type));
        }
done:
    return st;
}

kry_status kry_matrix_convert(void *self, kry_type type, double factor, const double *scale,
                              kry_op **copy)
{
    kry_matrix *A = self;
    kry_status st = KRY_OK;
    kry_device *dev = kry_device_for_copies(A->dev);
    kry_matrix_params p = A->params;
    kry_sparse host = { 0 };
    void *val = NULL;

    CHECK(!scale || (A->shape.rows == A->shape.cols && p.form != KRY_FLUX), KRY_ERR_UNSUPPORTED,
          "kry_op_convert: a matrix in flux form, or one that is not square, is not scaled by a "
          "diagonal");
    TRY(kry_matrix_download(A, &host));
    TRY(kry_alloc((size_t)host.row_ptr[host.rows], kry_type_size(type), &val));
    TRY(convert(&host, type, factor, scale, val));
    p.storage = KRY_GENERAL, p.duplicates = KRY_SUM; /* a wrapped matrix may have some */
    if (*copy)
        TRY(kry_op_update(*copy, val));
    else
        TRY(kry_csr_create(dev, type, host.rows, host.cols, host.row_ptr, host.col, val, &p, copy));
done:
    free(val);
    kry_sparse_release(&host);
    return st;
}
