/*
 * inspect.c - what the entries of a matrix say against Krylov methods: one that differs from its mirror
 * image, a diagonal entry that is not positive, or a row of zeros. On the host, on several threads.
 *
 * Rows are read in order, but the mirror images of their entries may be anywhere. So entries above the diagonal are
 * compared by blocks of their columns: the mirror images for one block are in rows that fit in a cache together, and in
 * each of these rows they come in order, so that nothing is searched for.
 */
#include "base/hooks.h"
#include "matrix/matrix.h"
#include <math.h>
#include <stdlib.h>

enum { IN_CACHE = 1 << 20, FEW = 64 }; /* entries of a block, of 12 bytes; in tests */
enum { WIDEST = 1 << 18 };             /* columns of a block */

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
    int32_t *waiting; /* of each row of the block, for each part: entries it has done with */
    int64_t widest;   /* rows of a block, at most */
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
static void look_at_row(const inspection *I, look *L, int64_t i)
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

static void look_at_rows(void *user, int part, int64_t begin, int64_t end)
{
    inspection *I = user;
    for (int64_t i = begin; i < end; i++) look_at_row(I, &I->part[part], i);
}

/* Of the entries of row j below the diagonal, from *waiting up to column i, all but one in that column have no mirror
 * image. Returns the one's number; -1: there is none. */
static int64_t meet(look *L, const kry_sparse *A, int64_t j, int64_t i, int32_t *waiting)
{
    int64_t k = A->row_ptr[j] + *waiting;
    const int64_t end = A->row_ptr[j + 1];

    for (; k < end && A->col[k] < i; k++) compare(L, A, j, k, 0);
    const bool met = k < end && A->col[k] == i;
    *waiting = (int32_t)(k + met - A->row_ptr[j]);
    return met ? k : -1;
}

/* The entries of rows begin ... end - 1, counted from I->first, in the columns of the block, and their mirror images. */
static void compare_rows(void *user, int part, int64_t begin, int64_t end)
{
    inspection *I = user;
    const kry_sparse *A = I->A;
    look *L = &I->part[part];
    const int64_t from = begin ? I->first + begin : 0, to = I->first + end, columns = I->begin;
    int32_t *waiting = I->waiting + part * I->widest;

    for (int64_t j = columns; j < I->end; j++)
        waiting[j - columns] = (int32_t)(kry_sparse_from(A, j, from) - A->row_ptr[j]);
    for (int64_t i = I->first + begin; i < to; i++) {
        int64_t k = A->row_ptr[i] + I->next[i];
        for (; k < A->row_ptr[i + 1] && A->col[k] < I->end; k++) {
            const int64_t j = A->col[k], mirror = meet(L, A, j, i, &waiting[j - columns]);
            compare(L, A, i, k, mirror < 0 ? 0 : value_at(A, mirror));
        }
        I->next[i] = (int32_t)(k - A->row_ptr[i]);
    }
    for (int64_t j = columns; j < I->end; j++)
        (void)meet(L, A, j, to < j ? to : j, &waiting[j - columns]);
}

static void begin_block(inspection *I)
{
    const int64_t *row_ptr = I->A->row_ptr, most = kry_test_parts ? FEW : IN_CACHE;
    const int64_t last = I->A->rows - I->end < I->widest ? I->A->rows : I->end + I->widest;

    I->begin = I->end++;
    while (I->end < last && row_ptr[I->end + 1] - row_ptr[I->begin] <= most) I->end++;
}

/* Up to the first block with an entry that is further from its mirror image than rounding takes it. */
static void compare_blocks(inspection *I, int parts, double rounding)
{
    const kry_sparse *A = I->A;
    double difference = 0;

    while (I->end < A->rows && difference <= rounding) {
        begin_block(I);
        kry_parallel(parts, I->end - I->first, compare_rows, I);
        while (I->first < I->end && I->next[I->first] == kry_row_length(A, I->first)) I->first++;
        for (int p = 0; p < parts; p++)
            if (I->part[p].difference > difference) difference = I->part[p].difference;
    }
}

/* What was seen of all rows, from the first part on. */
static void add_rows(look *L, const look *part)
{
    if (part->largest > L->largest) L->largest = part->largest;
    if (!L->not_positive.what) L->not_positive = part->not_positive;
    if (!L->zero_rows) L->zero_row = part->zero_row;
    L->zero_rows += part->zero_rows;
    L->negative += part->negative;
}

static void add_pairs(look *L, const look *part)
{
    if (part->difference < L->difference ||
        (part->difference == L->difference && part->at >= L->at))
        return;
    L->difference = part->difference, L->at = part->at;
    L->asymmetric = part->asymmetric;
}

double kry_inspect_rounding(kry_type type) { return type == KRY_F32 ? 1e-5 : 1e-8; }

kry_status kry_matrix_inspect(const kry_sparse *A, kry_finding *found)
{
    kry_status st = KRY_OK;
    inspection I = { .A = A, .widest = A->rows < WIDEST ? A->rows : WIDEST };
    look L = { 0 };

    *found = (kry_finding){ 0 };
    if (A->rows != A->cols) return KRY_OK;
    const int parts = kry_parts(kry_sparse_nnz(A));
    TRY(kry_alloc((size_t)A->rows, sizeof *I.next, &I.next));
    TRY(kry_alloc((size_t)(parts * I.widest), sizeof *I.waiting, &I.waiting));
    kry_parallel(parts, A->rows, look_at_rows, &I);
    for (int p = 0; p < parts; p++) add_rows(&L, &I.part[p]);
    const double rounding = kry_inspect_rounding(A->type) * L.largest;
    compare_blocks(&I, parts, rounding);
    for (int p = 0; p < parts; p++) add_pairs(&L, &I.part[p]);
    *found = L.difference > rounding ? L.asymmetric : L.not_positive;
    found->zero_rows = L.zero_rows, found->zero_row = L.zero_row;
    found->negative = found->what == KRY_FOUND_NOT_POSITIVE && L.negative == A->rows;
done:
    free(I.waiting);
    free(I.next);
    return st;
}
