/* asymmetry.c - how far a matrix of which ranks have shares is from its transpose (source.h). */
#include "source.h"
#include <math.h>

/* The sum of the entries of row i in the column of entry *e, and on to the next column. */
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
            kryi_asymmetry_note(a, fabs(aij - aji), A->first + i, j < k ? j : k);
        }
    }
}
