/*
 * format_suite.h - for tests of all formats: a matrix in each of them, or its refusal where it must
 * be refused; and what two matrices that are the same have in common.
 */
#ifndef KRY_FORMAT_SUITE_H
#define KRY_FORMAT_SUITE_H

#include "op_suite.h"
#include "patterns.h"

#define EACH_FORMAT(f) for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++)

/* ---- what a format must take ------------------------------------------------------------- */

static int64_t longest_row(const matrix *A)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i + 1] - A->row_ptr[i] > longest)
            longest = A->row_ptr[i + 1] - A->row_ptr[i];
    return longest;
}

/* Upper: the main one in any case, and those above it. */
static int64_t diagonals_of(const matrix *A, bool upper)
{
    int64_t count = 0;
    bool *seen = calloc((size_t)(A->rows + A->cols) + 1, sizeof *seen);
    assert_non_null(seen);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (!upper || A->col[k] >= i) seen[A->col[k] - i + A->rows] = true;
    if (upper) seen[A->rows] = true;
    for (int64_t d = 0; d < A->rows + A->cols; d++) count += seen[d];
    free(seen);
    return count;
}

/* a(i, j), 0 where nothing is stored. */
static double value_at(const matrix *A, int64_t i, int64_t j)
{
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
        if (A->col[k] == j) return A->val[k];
    return 0;
}

MAYBE_UNUSED static bool is_symmetric(const matrix *A)
{
    if (A->rows != A->cols) return false;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (value_at(A, A->col[k], i) != A->val[k]) return false;
    return true;
}

/* What rows of equal length or whole diagonals take, padded to 32 rows; 0: no more than csr does
 * but for a few bytes a row. */
static double bytes_needed(const matrix *A, kry_type type, kry_format format)
{
    double number = (double)kry_type_size(type), rows = (double)((A->rows + 31) / 32 * 32);
    double diagonals = (double)diagonals_of(A, format == KRY_FORMAT_SYMDIA);

    switch (format) {
    case KRY_FORMAT_ELL: return (double)longest_row(A) * rows * (number + 4);
    case KRY_FORMAT_DIA:
    case KRY_FORMAT_SYMDIA: return diagonals * (rows * number + 4);
    default: return 0;
    }
}

/* Four times what csr takes, and a megabyte, is too much. */
static bool is_too_much(const matrix *A, kry_type type, double bytes)
{
    double csr = (double)A->nnz * (double)(kry_type_size(type) + 4) + 4.0 * (double)A->rows;
    return bytes > 4 * csr + 1048576;
}

static kry_status create(const matrix *A, kry_type type, const kry_matrix_params *params,
                         kry_op **op)
{
    void *val = in_type(type, A->val, A->nnz);
    cut_loops((int)random_below(4)); /* the host's loops */
    kry_status st =
        kry_csr_create(device(), type, A->rows, A->cols, A->row_ptr, A->col, val, params, op);
    cut_loops(0);
    free(val);
    return st;
}

/* The matrix in this format, or NULL where it must be, and is, refused. */
MAYBE_UNUSED static kry_op *in_format(const matrix *A, kry_type type, kry_format format,
                                      unsigned traits)
{
    const kry_matrix_params *params = KRY_MATRIX(.format = format, .traits = traits);
    double bytes = bytes_needed(A, type, format);
    kry_op *op = NULL;
    char text[64];

    if (format == KRY_FORMAT_SYMDIA && A->rows != A->cols) {
        REFUSES(create(A, type, params, &op), KRY_ERR_SHAPE, "symmetric");
    } else if (is_too_much(A, type, bytes)) {
        snprintf(text, sizeof text, "%s does not suit this matrix: it would take %.3g MB",
                 kry_format_name(format), bytes * 1e-6);
        REFUSES(create(A, type, params, &op), KRY_ERR_UNSUPPORTED, text);
    } else if (format == KRY_FORMAT_SYMDIA && !is_symmetric(A)) {
        REFUSES(create(A, type, params, &op), KRY_ERR_ARGUMENT, "mirror image");
    } else {
        OK(create(A, type, params, &op));
        assert_non_null(op);
        return op;
    }
    assert_null(op);
    return NULL;
}

/* ---- the same matrix
 * ------------------------------------------------------------------------------ */

/* A x for an x that is the same in every call; to be freed. */
MAYBE_UNUSED static double *product_of(const kry_op *op)
{
    const kry_op_shape *s = kry_op_get_shape(op);
    double *x = calloc((size_t)s->cols + 1, sizeof *x), *y;
    assert_non_null(x);
    for (int64_t j = 0; j < s->cols; j++) x[j] = pair_number(s->type, j, 0, 1);
    guarded X = guarded_create(s->type, s->cols, 1, 1, x),
            Y = guarded_create(s->type, s->rows, 1, 2, NULL);
    OK(kry_op_apply(op, 1, X.v, 0, Y.v));
    y = guarded_read(&Y);
    guarded_release(&X), guarded_release(&Y);
    free(x);
    return y;
}

MAYBE_UNUSED static void assert_same_product(const kry_op *one, const kry_op *other)
{
    double *y = product_of(one), *z = product_of(other);
    assert_same_bits(y, z, kry_op_get_shape(one)->rows);
    free(y), free(z);
}

/* Reads the structure back: A, to the bit. */
MAYBE_UNUSED static void assert_reads_back(const kry_op *op, const matrix *A)
{
    kry_type type = kry_op_get_shape(op)->type;
    size_t n = (size_t)A->rows + 1, nnz = (size_t)A->nnz;
    int64_t *row_ptr = calloc(n, sizeof *row_ptr);
    int32_t *col = calloc(nnz + 1, sizeof *col);
    void *val = calloc(nnz + 1, kry_type_size(type)), *want = in_type(type, A->val, A->nnz);

    assert_true(row_ptr && col && val);
    OK(kry_matrix_read(op, row_ptr, col, val));
    assert_memory_equal(row_ptr, A->row_ptr, n * sizeof *row_ptr);
    if (nnz) {
        assert_memory_equal(col, A->col, nnz * sizeof *col);
        assert_memory_equal(val, want, nnz * kry_type_size(type));
    }
    free(row_ptr), free(col), free(val), free(want);
}

#endif
