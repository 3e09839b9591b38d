/*
 * shift.c - factors of A - sigma B, and of B, as operators.
 */
#include "memory.h"
#include "method.h"
#include <kry/formats.h>
#include <kry/solver.h>
#include <kry/stencil.h>
#include <math.h>
#include <stdlib.h>

/* Entries of a matrix on the host, columns ascending in each row; numbers in double. */
typedef struct rows {
    int64_t n;
    int64_t *row_ptr;
    int32_t *col;
    double *val;
} rows;

static void rows_release(rows *R) { free(R->row_ptr), free(R->col), free(R->val); }

static kry_status rows_allocate(int64_t n, int64_t nnz, rows *R)
{
    kry_status st = KRY_OK;

    R->n = n;
    TRY(kryi_allocate((uint64_t)n + 1, sizeof *R->row_ptr, &R->row_ptr));
    TRY(kryi_allocate((uint64_t)nnz + 1, sizeof *R->col, &R->col));
    TRY(kryi_allocate((uint64_t)nnz + 1, sizeof *R->val, &R->val));
done:
    return st;
}

static kry_status read_rows(const kry_op *A, rows *R)
{
    kry_status st = KRY_OK;
    kry_op_info info = { 0 };
    kry_stencil_info grid;
    const kry_op_shape *shape = kry_op_get_shape(A);
    const bool stencil = kry_stencil_describe(A, &grid) == KRY_OK;

    kry_op_describe(A, &info);
    TRY(rows_allocate(shape->rows, info.nnz > 0 ? info.nnz : 0, R));
    st = (stencil ? kry_stencil_read : kry_matrix_read)(A, R->row_ptr, R->col, R->val);
    CHECK(st != KRY_ERR_UNSUPPORTED, st,
          "kry_eigen: '%s' has no entries that could be factored; give the inverse of A - sigma B",
          info.kind);
    TRY(st);
    if (shape->type == KRY_F32) /* these numbers lie packed at the front */
        for (int64_t e = R->row_ptr[R->n] - 1; e >= 0; e--)
            R->val[e] = ((const float *)(const void *)R->val)[e];
done:
    return st;
}

/* C := A - sigma B; B NULL: the identity */
static kry_status subtract(const rows *A, double sigma, const rows *B, rows *C)
{
    kry_status st = KRY_OK;
    int64_t at = 0;

    TRY(rows_allocate(A->n, A->row_ptr[A->n] + (B ? B->row_ptr[A->n] : A->n), C));
    for (int64_t i = 0; i < A->n; i++) {
        int64_t a = A->row_ptr[i], b = B ? B->row_ptr[i] : i;
        const int64_t a_end = A->row_ptr[i + 1], b_end = B ? B->row_ptr[i + 1] : i + 1;
        while (a < a_end || b < b_end) {
            const int64_t in_a = a < a_end ? A->col[a] : INT64_MAX, in_b = b == b_end ? INT64_MAX
                                                                           : B        ? B->col[b]
                                                                                      : i;
            double value = 0;
            C->col[at] = (int32_t)(in_a < in_b ? in_a : in_b);
            if (in_a <= in_b) value += A->val[a++];
            if (in_b <= in_a) value -= sigma * (B ? B->val[b] : 1), b++;
            C->val[at++] = value;
        }
        C->row_ptr[i + 1] = at;
    }
done:
    return st;
}

static kry_status invert(const kry_op *like, rows *C, kry_op **inverse)
{
    kry_status st = KRY_OK;
    const kry_type type = kry_op_get_shape(like)->type;
    kry_op *matrix = NULL;

    for (int64_t e = 0; e < C->row_ptr[C->n] && type == KRY_F32; e++)
        ((float *)(void *)C->val)[e] = (float)C->val[e];
    TRY(kry_csr_create(kry_op_device(like), type, C->n, C->n, C->row_ptr, C->col, C->val,
                       KRY_MATRIX(.traits = KRY_SYMMETRIC), &matrix));
    TRY(kry_solver_create(matrix,
                          type == KRY_F32 ? "method=direct null-space=none rtol=1e-6"
                                          : "method=direct null-space=none rtol=1e-13",
                          NULL, NULL, inverse));
done:
    kry_op_release(&matrix);
    return st;
}

kry_status kryi_invert_shifted(const kry_op *A, const kry_op *B, double sigma, kry_op **inverse)
{
    kry_status st = KRY_OK;
    rows a = { 0 }, b = { 0 }, c = { 0 };

    TRY(read_rows(A, &a));
    if (B) TRY(read_rows(B, &b));
    TRY(subtract(&a, sigma, B ? &b : NULL, &c));
    TRY(invert(A, &c, inverse));
done:
    rows_release(&a), rows_release(&b), rows_release(&c);
    return st;
}

kry_status kryi_invert_mass(const kry_op *B, kry_op **inverse)
{
    kry_status st = KRY_OK;
    rows b = { 0 };

    TRY(read_rows(B, &b));
    TRY(invert(B, &b, inverse));
done:
    rows_release(&b);
    return st;
}
