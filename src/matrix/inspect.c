/*
 * inspect.c - what the entries of a matrix say against Krylov methods: one that differs from its mirror
 * image, a diagonal entry that is not positive, or a row of zeros. On the host, on several threads.
 *
 * Rows are read in order, but the mirror images of their entries may be anywhere. So entries above the diagonal are
 * compared by blocks of their columns: the mirror images for one block are in rows that fit in a cache together.
 */
#include "base/hooks.h"
#include "matrix/matrix.h"
#include <math.h>
#include <stdlib.h>

enum { IN_CACHE = 1 << 20, FEW = 64 }; /* entries, of 12 bytes; in tests */

/* What a part of the rows has. */
typedef struct look {
    double largest, difference; /* |a_ij|, |a_ij - a_ji|, at most; */
    int64_t at;                 /* the latter is that of this entry, the first one of equals */
    kry_finding asymmetric, not_positive;
    int64_t negative;            /* diagonal entries */
    int64_t zero_rows, zero_row; /* the first one */
} look;

typedef struct inspection {
    const kry_sparse *A;
    int32_t *next;             /* of each row: how many of its entries come before the block, */
    int64_t first, begin, end; /* columns begin ... end - 1; of all rows before `first` all do */
    unsigned char *met; /* of each entry below the diagonal: whether its mirror image was met */
    look part[KRY_MOST_PARTS];
} inspection;

static double value_at(const kry_sparse *A, int64_t k) { return kry_number_at(A->type, A->val, k); }

/* Entry k, in row i, of which mirror is the mirror image. */
static void compare(look *L, const kry_sparse *A, int64_t i, int64_t k, double mirror)
{
    const double entry = value_at(A, k), difference = fabs(entry - mirror);

    if (!(difference > 0 &&
          (difference > L->difference || (difference == L->difference && k < L->at))))
        return;
    L->difference = difference, L->at = k;
    L->asymmetric = (kry_finding){
        .what = KRY_FOUND_ASYMMETRIC, .row = i, .col = A->col[k], .entry = entry, .mirror = mirror
    };
}

/* A row of zeros may belong to a singular matrix, which conjugate gradients solve. */
static void judge_diagonal(look *L, int64_t row, double diagonal, bool zeros)
{
    if (zeros && !L->zero_rows++) L->zero_row = row;
    L->negative += diagonal < 0;
    if (diagonal > 0 || zeros || L->not_positive.what) return;
    L->not_positive = (kry_finding){ .what = KRY_FOUND_NOT_POSITIVE,
                                     .row = row,
                                     .col = row,
                                     .entry = diagonal,
                                     .mirror = diagonal };
}

/* Its entries above the diagonal are next. */
static void look_at_row(inspection *I, look *L, int64_t i)
{
    const kry_sparse *A = I->A;
    double diagonal = 0, largest = 0;

    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        const double v = value_at(A, k);
        if (fabs(v) > largest) largest = fabs(v);
        if (A->col[k] == i) diagonal = v;
        I->next[i] += A->col[k] <= i;
    }
    if (largest > L->largest) L->largest = largest;
    judge_diagonal(L, i, diagonal, largest == 0);
}

/* The entries of rows begin ... end - 1, counted from I->first, in the columns of the block. */
static void compare_rows(void *user, int part, int64_t begin, int64_t end)
{
    inspection *I = user;
    const kry_sparse *A = I->A;
    look *L = &I->part[part];

    for (int64_t i = I->first + begin; i < I->first + end; i++) {
        if (i >= I->begin) look_at_row(I, L, i);
        int64_t k = A->row_ptr[i] + I->next[i];
        for (; k < A->row_ptr[i + 1] && A->col[k] < I->end; k++) {
            const int64_t mirror = kry_sparse_find(A, A->col[k], i);
            compare(L, A, i, k, mirror < 0 ? 0 : value_at(A, mirror));
            if (mirror >= 0) I->met[mirror] = 1;
        }
        I->next[i] = (int32_t)(k - A->row_ptr[i]);
    }
}

/* Entries below the diagonal that were not met have no mirror image. */
static void look_at_rest(void *user, int part, int64_t begin, int64_t end)
{
    inspection *I = user;
    const kry_sparse *A = I->A;

    for (int64_t i = begin; i < end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && A->col[k] < i; k++)
            if (!I->met[k]) compare(&I->part[part], A, i, k, 0);
}

static void inspect_blocks(inspection *I, int parts)
{
    const kry_sparse *A = I->A;
    const int64_t most = kry_test_parts ? FEW : IN_CACHE;

    while (I->end < A->rows) {
        I->begin = I->end++;
        while (I->end < A->rows && A->row_ptr[I->end + 1] - A->row_ptr[I->begin] <= most) I->end++;
        kry_parallel(parts, I->end - I->first, compare_rows, I);
        while (I->first < I->end && I->next[I->first] == kry_row_length(A, I->first)) I->first++;
    }
    kry_parallel(parts, A->rows, look_at_rest, I);
}

/* Rows that several blocks have looked at are not in the order of the parts. */
static void add_look(look *L, const look *part)
{
    if (part->difference > L->difference ||
        (part->difference == L->difference && part->at < L->at)) {
        L->difference = part->difference, L->at = part->at;
        L->asymmetric = part->asymmetric;
    }
    if (part->largest > L->largest) L->largest = part->largest;
    if (part->not_positive.what &&
        (!L->not_positive.what || part->not_positive.row < L->not_positive.row))
        L->not_positive = part->not_positive;
    if (part->zero_rows && (!L->zero_rows || part->zero_row < L->zero_row))
        L->zero_row = part->zero_row;
    L->zero_rows += part->zero_rows;
    L->negative += part->negative;
}

double kry_inspect_rounding(kry_type type) { return type == KRY_F32 ? 1e-5 : 1e-8; }

kry_status kry_matrix_inspect(const kry_sparse *A, kry_finding *found)
{
    kry_status st = KRY_OK;
    inspection I = { .A = A };
    look L = { 0 };

    *found = (kry_finding){ 0 };
    if (A->rows != A->cols) return KRY_OK;
    const int parts = kry_parts(kry_sparse_nnz(A));
    TRY(kry_alloc((size_t)A->rows, sizeof *I.next, &I.next));
    TRY(kry_alloc((size_t)kry_sparse_nnz(A), 1, &I.met));
    inspect_blocks(&I, parts);
    for (int p = 0; p < parts; p++) add_look(&L, &I.part[p]);
    *found =
        L.difference > kry_inspect_rounding(A->type) * L.largest ? L.asymmetric : L.not_positive;
    found->zero_rows = L.zero_rows, found->zero_row = L.zero_row;
    found->negative = found->what == KRY_FOUND_NOT_POSITIVE && L.negative == A->rows;
done:
    free(I.met);
    free(I.next);
    return st;
}
