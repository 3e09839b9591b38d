/*
 * inspect.c - what the entries of a matrix say against Krylov methods: one that differs from its mirror
 * image, a diagonal entry that is not positive, or a row of zeros. On the host, on several threads.
 */
#include "matrix/mirrors.h"
#include <math.h>

/* What a part of the rows has. */
typedef struct look {
    double least,
        largest; /* of the largest |a_ij| of each row, those of zeros aside; 0: none yet */
    kryi_finding not_positive;
    int64_t negative;            /* diagonal entries */
    int64_t zero_rows, zero_row; /* the first one */
} look;

typedef struct inspection {
    const kryi_csr *A;
    look part[KRY_MOST_PARTS];
} inspection;

/* A row of zeros may belong to a singular matrix, which conjugate gradients solve. */
static void check_diagonal(look *L, int64_t row, double diagonal, bool zeros)
{
    if (zeros && !L->zero_rows++) L->zero_row = row;
    L->negative += diagonal < 0;
    if (diagonal > 0 || zeros || L->not_positive.what) return;
    L->not_positive = (kryi_finding){ .what = KRY_FOUND_NOT_POSITIVE,
                                      .row = row,
                                      .col = row,
                                      .entry = diagonal,
                                      .mirror = diagonal };
}

static void add_sizes(look *L, double least, double largest)
{
    if (least > 0 && !(L->least > 0 && L->least <= least)) L->least = least;
    if (largest > L->largest) L->largest = largest;
}

static void look_at_row(const kryi_csr *A, look *L, int64_t i)
{
    double diagonal = 0, largest = 0;

    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        const double v = kryi_number_at(A->type, A->val, k);
        if (fabs(v) > largest) largest = fabs(v);
        if (A->col[k] == i) diagonal = v;
    }
    add_sizes(L, largest, largest);
    check_diagonal(L, i, diagonal, largest == 0);
}

static void look_at_rows(void *user, int part, int64_t begin, int64_t end)
{
    inspection *I = user;
    for (int64_t i = begin; i < end; i++) look_at_row(I->A, &I->part[part], i);
}

double kryi_inspect_rounding(kry_type type) { return type == KRY_F32 ? 1e-5 : 1e-8; }

kry_status kryi_matrix_inspect(const kryi_csr *A, kryi_finding *found, bool *symmetric)
{
    kry_status st = KRY_OK;
    inspection I = { .A = A };
    look L = { 0 };
    bool equal = false;

    *found = (kryi_finding){ 0 };
    if (symmetric) *symmetric = false;
    if (A->rows != A->cols) return KRY_OK;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    kryi_parallel(parts, A->rows, look_at_rows, &I);
    /* What was seen of all rows, from the first part on. */
    for (int p = 0; p < parts; p++) {
        add_sizes(&L, I.part[p].least, I.part[p].largest);
        if (!L.not_positive.what) L.not_positive = I.part[p].not_positive;
        if (!L.zero_rows) L.zero_row = I.part[p].zero_row;
        L.zero_rows += I.part[p].zero_rows;
        L.negative += I.part[p].negative;
    }
    TRY(kryi_mirrors_compare(A, kryi_inspect_rounding(A->type) * L.largest, found, &equal));
    if (symmetric) *symmetric = equal;
    if (!found->what) *found = L.not_positive;
    found->zero_rows = L.zero_rows, found->zero_row = L.zero_row;
    found->least_row = L.least, found->largest_row = L.largest;
    found->negative = found->what == KRY_FOUND_NOT_POSITIVE && L.negative == A->rows;
done:
    return st;
}
