/*
 * host_matrix.h - a matrix on the host, for what is told of it.
 */
#ifndef KRY_HOST_MATRIX_H
#define KRY_HOST_MATRIX_H

#include "page/page.h"

/* In CSR, all entries given, rows ascending. */
typedef struct kryi_host_matrix {
    int64_t rows, cols, nnz;
    int64_t first;    /* row i is row first + i of the whole matrix */
    int32_t *place;   /* of each row and column in the whole matrix; NULL: where it is */
    int64_t *row_ptr; /* rows+1 */
    int32_t *col;     /* nnz */
    double *val;      /* nnz */
    bool borrowed;    /* the arrays are somebody else's */
} kryi_host_matrix;

static inline int64_t kryi_host_matrix_place(const kryi_host_matrix *A, int64_t i)
{
    return A->place ? A->place[i] : i;
}
kry_status kryi_host_matrix_create(int64_t rows, int64_t cols, int64_t nnz,
                                   kryi_host_matrix *A); /* zeros */
kry_status kryi_host_matrix_transpose(const kryi_host_matrix *A, kryi_host_matrix *T);
void kryi_host_matrix_release(kryi_host_matrix *A);

/* To fill one in: turn counts in row_ptr[1...] into the place where each row begins; then put() moves it to its
 * end. */
void kryi_host_matrix_begin_rows(kryi_host_matrix *A);
void kryi_host_matrix_put(kryi_host_matrix *A, int64_t row, int64_t col, double value);

/* How far a matrix is from its transpose. */
typedef struct asymmetry {
    int64_t unmatched; /* entries without a partner at the mirrored place */
    double difference; /* largest |a_ij - a_ji| */
    double largest;    /* largest |a_ij| */
    int64_t row, col;  /* where the difference is largest; -1: nowhere */
} asymmetry;
kry_status kryi_host_matrix_asymmetry(const kryi_host_matrix *A, asymmetry *a);
/* It is `difference` at this place: keep the largest. */
void kryi_asymmetry_note(asymmetry *a, double difference, int64_t row, int64_t col);

#endif
