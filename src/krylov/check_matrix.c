/* check_matrix.c - whether a matrix is one that a method takes: for some symmetric, and for conjugate gradients without a
 * diagonal entry that is not positive. */
#include "krylov/method.h"
#include "matrix/matrix.h"
#include "operator/op_parts.h"
#include <kry/formats.h>
#include <math.h>

/* Read the entries of A back, as it has them now, and inspect them. *is_matrix: it has some. */
static kry_status inspect_entries(const kry_op *A, bool *is_matrix, kryi_finding *found)
{
    kry_status st = KRY_OK;
    kry_op_info info;
    kryi_csr read = { 0 }, sorted = { 0 };
    const kry_op_shape *shape = &A->shape;

    kry_op_describe(A, &info);
    *is_matrix = info.nnz >= 0 && !kryi_op_on_ranks(A);
    if (!*is_matrix) return KRY_OK;
    TRY(kryi_csr_create(shape->rows, shape->cols, shape->type, info.nnz, &read));
    st = kry_matrix_read(A, read.row_ptr, read.col, read.val);
    *is_matrix = st != KRY_ERR_UNSUPPORTED;
    if (!*is_matrix) {
        st = KRY_OK;
        goto done;
    }
    TRY(st);
    const kryi_entries given = { "kry_solver_create", read, NULL, info.nnz };
    TRY(kryi_entries_compress(&given, KRY_MATRIX(.duplicates = KRY_SUM), false, &sorted, NULL));
    TRY(kryi_matrix_inspect(&sorted, found));
done:
    kryi_csr_release(&sorted);
    kryi_csr_release(&read);
    return st;
}

/* product[i][j] := x_i'A x_j of two random vectors; size: the norms that bound these */
static kry_status probe(const kry_op *A, double product[2][2], double *size)
{
    kry_status st = KRY_OK;
    kry_vec *x[2] = { NULL, NULL }, *y = NULL;
    double norm_x, norm_y;

    *size = 0;
    TRY(kryi_vec_create_room(A->dev, A->shape.type, A->shape.rows, 1, &y));
    for (int i = 0; i < 2; i++) {
        TRY(kryi_vec_create_room(A->dev, A->shape.type, A->shape.rows, 1, &x[i]));
        TRY(kryi_vec_fill_random((uint64_t)i, x[i]));
    }
    for (int j = 0; j < 2; j++) {
        TRY(kry_op_apply(A, 1, x[j], 0, y));
        for (int i = 0; i < 2; i++) TRY(kry_vec_dot(x[i], y, &product[i][j]));
        TRY(kry_vec_norm2(x[1 - j], &norm_x));
        TRY(kry_vec_norm2(y, &norm_y));
        *size = fmax(*size, norm_x * norm_y);
    }
done:
    kry_vec_release(&y);
    kry_vec_release(&x[1]);
    kry_vec_release(&x[0]);
    return st;
}

/* Check the products of an operator that has no entries to read. */
static kry_status check_products(const char *who, const kry_op *A, kryi_takes takes)
{
    const double rounding = A->shape.type == KRY_F32 ? 1e-4 : 1e-8;
    kry_status st = KRY_OK;
    double product[2][2], size;

    if (takes == KRY_TAKES_ANY) return KRY_OK;
    TRY(probe(A, product, &size));
    CHECK(fabs(product[0][1] - product[1][0]) <= rounding * size, KRY_ERR_UNSUPPORTED,
          "%s: '%s' is not symmetric: for two random vectors x'Ay = %g and y'Ax = %g. BiCGStab "
          "(method=bicgstab) and GMRES (method=gmres) take it",
          who, A->table->kind, product[0][1], product[1][0]);
    double least = fmin(product[0][0], product[1][1]);
    CHECK(takes != KRY_TAKES_DEFINITE || least >= -rounding * size, KRY_ERR_UNSUPPORTED,
          "%s: '%s' is not positive definite: x'Ax = %g for a random x; MINRES "
          "(method=minres) takes symmetric ones that are indefinite",
          who, A->table->kind, least);
done:
    return st;
}

static kry_status check_entries(const char *who, const kry_op *A, kry_check check, kryi_takes takes)
{
    kry_status st = KRY_OK;
    kryi_finding found = A->found;
    bool is_matrix = found.what != KRY_FOUND_UNSEEN;

    if (check == KRY_CHECK_FULL) TRY(inspect_entries(A, &is_matrix, &found));
    if (!is_matrix) return check_products(who, A, takes);
    CHECK(takes == KRY_TAKES_ANY || found.what != KRY_FOUND_ASYMMETRIC, KRY_ERR_UNSUPPORTED,
          "%s: the matrix is not symmetric: entry (%lld, %lld) is %g, (%lld, %lld) is %g. BiCGStab "
          "(method=bicgstab) and GMRES (method=gmres) take it; check=none solves as if it were "
          "symmetric" COUNTED,
          who, ROW(found.row), ROW(found.col), found.entry, ROW(found.col), ROW(found.row),
          found.mirror, kryi_first_row);
    CHECK(takes != KRY_TAKES_DEFINITE || found.what != KRY_FOUND_NOT_POSITIVE, KRY_ERR_UNSUPPORTED,
          "%s: the matrix is not positive definite: the diagonal entry of row %lld is %g. %s "
          "(check=none: conjugate gradients all the same)" COUNTED,
          who, ROW(found.row), found.entry,
          found.negative ? "All of them are negative: solve -A x = -b"
                         : "Take MINRES (method=minres), for symmetric matrices that are "
                           "indefinite",
          kryi_first_row);
    CHECK(takes != KRY_TAKES_ANY || !found.zero_rows || A->null_found.seen, KRY_ERR_UNSUPPORTED,
          "%s: the matrix is singular: %lld of its rows hold nothing but zeros, the first of them "
          "row %lld (null-space=project finds them, and check=none solves all the same, where b is "
          "zero "
          "there, too)" COUNTED,
          who, (long long)found.zero_rows, ROW(found.zero_row), kryi_first_row);
done:
    return st;
}

kry_status kryi_check_matrix(const char *who, const kry_op *A, kry_check check, kryi_takes takes,
                             int64_t *checked)
{
    kry_status st = KRY_OK;

    CHECK((unsigned)check <= KRY_CHECK_FULL, KRY_ERR_ARGUMENT, "%s: check = %d is none", who,
          (int)check);
    /* Where A is promised to be symmetric A' is A. */
    if (takes == KRY_TAKES_RECTANGULAR && !(A->shape.traits & KRY_SYMMETRIC)) return KRY_OK;
    if (takes == KRY_TAKES_RECTANGULAR) takes = KRY_TAKES_SYMMETRIC;
    if (check == KRY_CHECK_NONE || *checked == A->updates) return KRY_OK;
    TRY(check_entries(who, A, check, takes));
    *checked = A->updates;
done:
    return st;
}
