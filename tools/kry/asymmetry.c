/* asymmetry.c - how far a matrix is from its transpose (source.h). */
#include "source.h"
#include <math.h>

static void note_difference(asymmetry *a, double difference, int64_t row, int64_t col)
{
    if (!(difference > a->difference)) return;
    a->difference = difference;
    a->row = row;
    a->col = col;
}

/* The sum of the entries of row i in the column of entry *e, and on to the next column. */
static double take_place(const sparse *A, int64_t i, int64_t *e)
{
    int32_t col = A->col[*e];
    double sum = 0;
    for (; *e < A->row_ptr[i + 1] && A->col[*e] == col; ++*e) sum += A->val[*e];
    return sum;
}

kry_status sparse_asymmetry(const sparse *A, asymmetry *a)
{
    kry_status st = KRY_OK;
    sparse T = { 0 };
    *a = (asymmetry){ .row = -1, .col = -1 };
    TRY(sparse_transpose(A, &T));
    for (int64_t i = 0; i < A->rows && i < T.rows; i++) {
        int64_t e = A->row_ptr[i], f = T.row_ptr[i];
        while (e < A->row_ptr[i + 1] || f < T.row_ptr[i + 1]) {
            int64_t j = e < A->row_ptr[i + 1] ? A->col[e] : INT64_MAX;
            int64_t k = f < T.row_ptr[i + 1] ? T.col[f] : INT64_MAX;
            double aij = j <= k ? take_place(A, i, &e) : 0,
                   aji = k <= j ? take_place(&T, i, &f) : 0;
            a->unmatched += j < k; /* those with j > k are counted in their own row */
            if (fabs(aij) > a->largest) a->largest = fabs(aij);
            note_difference(a, fabs(aij - aji), i, j < k ? j : k);
        }
    }
done:
    sparse_release(&T);
    return st;
}

/* As take_place */
static double take_shared_place(const kry_share *A, int64_t i, int64_t *e)
{
    const int64_t col = A->col[*e];
    double sum = 0;
    for (; *e < A->row_ptr[i + 1] && A->col[*e] == col; ++*e) sum += A->val[*e];
    return sum;
}

void share_asymmetry(const kry_share *A, const kry_share *T, asymmetry *a)
{
    *a = (asymmetry){ .row = -1, .col = -1 };
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t e = A->row_ptr[i], f = T->row_ptr[i];
        while (e < A->row_ptr[i + 1] || f < T->row_ptr[i + 1]) {
            const int64_t j = e < A->row_ptr[i + 1] ? A->col[e] : INT64_MAX,
                          k = f < T->row_ptr[i + 1] ? T->col[f] : INT64_MAX;
            const double aij = j <= k ? take_shared_place(A, i, &e) : 0,
                         aji = k <= j ? take_shared_place(T, i, &f) : 0;
            a->unmatched += j < k;
            if (fabs(aij) > a->largest) a->largest = fabs(aij);
            note_difference(a, fabs(aij - aji), A->first + i, j < k ? j : k);
        }
    }
}
