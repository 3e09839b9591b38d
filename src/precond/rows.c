/* rows.c - a matrix on the host: read back from the device, checked, made symmetric. */
#include "precond/rows.h"
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <kry/formats.h>
#include <math.h>
#include <stdlib.h>

kry_status kryi_rows_download(const kry_op *A, kryi_csr *R)
{
    kry_status st = KRY_OK;
    const bool parts = kryi_op_in_parts(A);
    const kry_op *one = parts ? kryi_op_first(A) : kryi_op_own(A);

    *R = (kryi_csr){ 0 };
    if (kryi_stencil_here(one)) return kryi_stencil_rows(A, R);
    if (parts) return kryi_matrix_parts_download(A, R);
    CHECK(kryi_matrix_of(one), KRY_ERR_UNSUPPORTED, "'%s' is not a stored matrix",
          one->table->kind);
    TRY(kryi_matrix_download(kryi_matrix_of(one), R));
done:
    return st;
}

/* A wrapped matrix comes back as it lies in the caller's buffers: sort it, and add up. */
static kry_status tidy(const char *who, kryi_csr *R)
{
    kry_status st = KRY_OK;
    kryi_csr sorted;
    const kryi_entries given = { who, *R, NULL, kryi_csr_nnz(R) };

    TRY(kryi_entries_compress(&given, KRY_MATRIX(.duplicates = KRY_SUM), false, &sorted, NULL));
    kryi_csr_release(R);
    *R = sorted;
done:
    return st;
}

kry_status kryi_rows_read(const char *who, const kry_op *A, kryi_csr *R)
{
    kry_status st = KRY_OK;

    *R = (kryi_csr){ 0 };
    CHECK(kryi_matrix_of(kryi_op_own(A)) || kryi_stencil_here(A), KRY_ERR_UNSUPPORTED,
          "%s: '%s' is neither a stored matrix nor a grid operator: it has no entries to read; "
          "take 'jacobi' or 'chebyshev'",
          who, A->table->kind);
    TRY(kryi_rows_download(A, R));
    TRY(kryi_csr_convert(R, KRY_F64));
    if (kryi_matrix_of(A) && kryi_matrix_is_wrapped(kryi_matrix_of(A))) TRY(tidy(who, R));
done:
    if (st < 0) kryi_csr_release(R);
    return st;
}

static kry_status invert_diagonal(const char *who, const kry_op *A, const kryi_csr *R,
                                  double *inverse)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < R->rows; i++) {
        const double v = kryi_csr_entry(R, i, i);
        inverse[i] = 1 / v;
        CHECK(v > 0 && isfinite(v) &&
                  isfinite(A->shape.type == KRY_F32 ? (double)(float)inverse[i] : inverse[i]),
              KRY_ERR_ARGUMENT,
              "%s: the diagonal entry of row %lld of '%s' is %g; all must be positive" COUNTED, who,
              ROW(kryi_layout_row(&A->dev->layout, i)), A->table->kind, v, kryi_first_row);
    }
done:
    return st;
}

kry_status kryi_rows_symmetrise(const char *who, const kry_op *A, kryi_csr *R, double *inverse)
{
    kry_status st = KRY_OK;
    const double tolerance = kryi_symmetry_tolerance(A->shape.type);
    kryi_csr_mismatch m;

    TRY(invert_diagonal(who, A, R, inverse));
    TRY(kryi_csr_symmetrise(R, tolerance, &m));
    if (m.i < 0) return KRY_OK;
    long long row = ROW(kryi_layout_row(&A->dev->layout, m.i)),
              col = ROW(kryi_layout_row(&A->dev->layout, m.j));
    CHECK(false, KRY_ERR_ARGUMENT,
          "%s: '%s' is not symmetric: row %lld has %g in column %lld, row %lld has %g in column "
          "%lld" COUNTED,
          who, A->table->kind, row, m.lower, col, col, m.upper, row, kryi_first_row);
done:
    return st;
}

kry_status kryi_rows_matrix(const kry_op *A, kryi_csr *R, unsigned traits, kry_op **matrix)
{
    kry_status st = KRY_OK;

    *matrix = NULL;
    TRY(kryi_csr_convert(R, A->shape.type));
    TRY(kryi_matrix_create(A->dev, R, KRY_MATRIX(.traits = traits), matrix));
done:
    return st;
}
