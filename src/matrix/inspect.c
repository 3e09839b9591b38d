/* inspect.c - what the entries of a matrix say against Krylov methods: one that differs from its mirror
 * image, a diagonal entry that is not positive, or a row of zeros. One pass on the host. */
#include "matrix/matrix.h"
#include <math.h>
#include <stdlib.h>

typedef struct look {
    const kry_sparse *A;
    int64_t *next; /* of each row: its first entry whose mirror image was not met yet */
    double largest, difference; /* |a_ij|, |a_ij - a_ji|, at most; */
    int64_t at;                 /* the latter is that of this entry, the first one of equals */
    kry_finding asymmetric, not_positive;
    int64_t negative;            /* diagonal entries */
    int64_t zero_rows, zero_row; /* the first one */
} look;

static double value_at(const look *L, int64_t k) { return kry_number_at(L->A->type, L->A->val, k); }

/* Entry k, in row i, of which mirror is the mirror image. */
static void compare(look *L, int64_t i, int64_t k, double mirror)
{
    const int64_t j = L->A->col[k];
    double entry = value_at(L, k), difference = fabs(entry - mirror);

    if (!(difference > 0 &&
          (difference > L->difference || (difference == L->difference && k < L->at))))
        return;
    L->difference = difference, L->at = k;
    L->asymmetric = (kry_finding){
        .what = KRY_FOUND_ASYMMETRIC, .row = i, .col = j, .entry = entry, .mirror = mirror
    };
}

/* Entries of a row in columns before `end` that were not met have no mirror image. */
static void pass_over(look *L, int64_t row, int64_t end)
{
    int64_t *k = &L->next[row];
    for (; *k < L->A->row_ptr[row + 1] && L->A->col[*k] < end; ++*k) compare(L, row, *k, 0);
}

/* Compare an entry above the diagonal with its mirror image. Rows come in order, and so do the entries
 * of row j that are met. */
static void meet(look *L, int64_t i, int64_t entry)
{
    const int64_t j = L->A->col[entry];

    pass_over(L, j, i);
    int64_t k = L->next[j];
    bool there = k < L->A->row_ptr[j + 1] && L->A->col[k] == i;
    compare(L, i, entry, there ? value_at(L, k) : 0);
    L->next[j] += there;
}

/* A row of zeros may belong to a singular matrix, which conjugate gradients solve. */
static void judge_diagonal(look *L, int64_t row, double diagonal, bool zeros)
{
    L->negative += diagonal < 0;
    if (diagonal > 0 || zeros || L->not_positive.what) return;
    L->not_positive = (kry_finding){ .what = KRY_FOUND_NOT_POSITIVE,
                                     .row = row,
                                     .col = row,
                                     .entry = diagonal,
                                     .mirror = diagonal };
}

static void look_at_row(look *L, int64_t i)
{
    double diagonal = 0, largest = 0;

    for (int64_t k = L->A->row_ptr[i]; k < L->A->row_ptr[i + 1]; k++) {
        double v = value_at(L, k);
        largest = fmax(largest, fabs(v));
        if (L->A->col[k] == i) diagonal = v;
        if (L->A->col[k] > i) meet(L, i, k);
    }
    L->largest = fmax(L->largest, largest);
    judge_diagonal(L, i, diagonal, largest == 0);
    if (largest == 0 && !L->zero_rows++) L->zero_row = i;
}

double kry_inspect_rounding(kry_type type) { return type == KRY_F32 ? 1e-5 : 1e-8; }

kry_status kry_matrix_inspect(const kry_sparse *A, kry_finding *found)
{
    kry_status st = KRY_OK;
    look L = { .A = A };

    *found = (kry_finding){ 0 };
    if (A->rows != A->cols) return KRY_OK;
    TRY(kry_alloc((size_t)A->rows, sizeof *L.next, &L.next));
    for (int64_t i = 0; i < A->rows; i++) L.next[i] = A->row_ptr[i];
    for (int64_t i = 0; i < A->rows; i++) look_at_row(&L, i);
    for (int64_t i = 0; i < A->rows; i++) pass_over(&L, i, i);
    *found =
        L.difference > kry_inspect_rounding(A->type) * L.largest ? L.asymmetric : L.not_positive;
    found->zero_rows = L.zero_rows, found->zero_row = L.zero_row;
    found->negative = found->what == KRY_FOUND_NOT_POSITIVE && L.negative == A->rows;
done:
    free(L.next);
    return st;
}
