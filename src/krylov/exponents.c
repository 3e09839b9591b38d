/*
 * exponents.c - rows and columns of a matrix on the host are scaled by powers of two, which changes no digit, until entries
 * are near 1. Which of four ways does that best is seen from what each makes of the matrix.
 *
 * Source     D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034
 *            (2001); A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination, J. Inst.
 *            Maths Applics 10 (1972), 118-124 (means)
 */
#include "krylov/exponents.h"
#include "matrix/matrix.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Norms of rows or columns may differ by this factor before equilibrate=auto scales them. */
#define BEARABLE 1e8

/* A in logarithms: log2 |a_ij| + row[i] + col[j] are those of R A C. -INFINITY: a zero. */
typedef struct logs {
    const kryi_csr *A;       /* borrowed */
    double *size;            /* owned: log2 |a| of each entry */
    double *row, *col;       /* owned: n each */
    double *of_row, *of_col; /* owned: n each, room */
} logs;

static void logs_release(logs *L)
{
    double *owned[] = { L->size, L->row, L->col, L->of_row, L->of_col };

    for (size_t i = 0; i < COUNT(owned); i++) free(owned[i]);
}

static kry_status logs_create(const kryi_csr *A, logs *L)
{
    kry_status st = KRY_OK;
    double **vectors[] = { &L->row, &L->col, &L->of_row, &L->of_col };

    *L = (logs){ .A = A };
    for (size_t i = 0; i < COUNT(vectors); i++)
        TRY(kryi_alloc((size_t)A->rows, sizeof **vectors[i], vectors[i]));
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(A), sizeof *L->size, &L->size));
    for (int64_t e = 0; e < kryi_csr_nnz(A); e++)
        L->size[e] = log2(fabs(kryi_number_at(A->type, A->val, e)));
done:
    return st;
}

/* of_row, of_col := the largest entry of each row and column */
static void find_largest(logs *L)
{
    const kryi_csr *A = L->A;

    for (int64_t i = 0; i < A->rows; i++) L->of_row[i] = L->of_col[i] = -INFINITY;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            const double s = L->size[e] + L->row[i] + L->col[A->col[e]];
            L->of_row[i] = fmax(L->of_row[i], s);
            L->of_col[A->col[e]] = fmax(L->of_col[A->col[e]], s);
        }
}

/* by := by - share v, but where v is of zeros. Returns the largest |v|. */
static double divide(double *by, double share, const double *v, int64_t n)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++)
        if (isfinite(v[i])) by[i] -= share * v[i], most = fmax(most, fabs(v[i]));
    return most;
}

/* Each row and column by the root of its largest entry, until that is within 2^(1/2) of 1: Ruiz's iteration.
 * symmetric: both by the larger of the two */
static void divide_by_roots(logs *L, bool symmetric)
{
    enum { SWEEPS = 40 };
    const int64_t n = L->A->rows;
    double most = INFINITY;

    for (int sweep = 0; sweep < SWEEPS && most > 0.5; sweep++) {
        find_largest(L);
        for (int64_t i = 0; i < n && symmetric; i++)
            L->of_row[i] = L->of_col[i] = fmax(L->of_row[i], L->of_col[i]);
        most = fmax(divide(L->row, 0.5, L->of_row, n), divide(L->col, 0.5, L->of_col, n));
    }
}

/* Rows by their largest entry and then columns by theirs, or the other way round. */
static void divide_in_turn(logs *L, bool rows_first)
{
    const int64_t n = L->A->rows;

    find_largest(L);
    if (rows_first)
        divide(L->row, 1, L->of_row, n);
    else
        divide(L->col, 1, L->of_col, n);
    find_largest(L);
    if (rows_first)
        divide(L->col, 1, L->of_col, n);
    else
        divide(L->row, 1, L->of_row, n);
}

/* by[i] := minus the mean of `sum` over count[i] entries */
static void take_means(double *by, const double *sum, const double *count, int64_t n)
{
    for (int64_t i = 0; i < n; i++) by[i] = count[i] > 0 ? -sum[i] / count[i] : 0;
}

/* Rows and columns in turn by the geometric mean of their entries: towards the least sum of squared logarithms, of
 * which D1 L D2 comes out as L was. */
static kry_status divide_by_means(logs *L)
{
    enum { SWEEPS = 40 };
    kry_status st = KRY_OK;
    const kryi_csr *A = L->A;
    const int64_t n = A->rows;
    double *count = NULL;

    TRY(kryi_alloc((uint64_t)(2 * n), sizeof *count, &count));
    for (int half = 0; half < 2 * SWEEPS; half++) {
        const bool rows = half % 2 == 0;
        double *sum = rows ? L->of_row : L->of_col, *times = rows ? count : count + n;
        for (int64_t i = 0; i < n; i++) sum[i] = times[i] = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
                const int64_t at = rows ? i : A->col[e];
                if (!isfinite(L->size[e])) continue;
                sum[at] += L->size[e] + (rows ? L->col[A->col[e]] : L->row[i]), times[at]++;
            }
        take_means(rows ? L->row : L->col, sum, times, n);
    }
done:
    free(count);
    return st;
}

/* Ways to scale: which of them suits a matrix is seen from what they make of it. */
typedef enum way { ROWS_FIRST, COLUMNS_FIRST, ROOTS, MEANS, WAYS } way;

/* row, col := what this way finds */
static kry_status scale_by(logs *L, way w, bool symmetric)
{
    kry_status st = KRY_OK;
    const int64_t n = L->A->rows;

    memset(L->row, 0, (size_t)n * sizeof *L->row);
    memset(L->col, 0, (size_t)n * sizeof *L->col);
    if (w == MEANS) TRY(divide_by_means(L));
    for (int64_t i = 0; i < n && symmetric; i++)
        L->row[i] = L->col[i] = (L->row[i] + L->col[i]) / 2;
    if (symmetric || w == ROOTS)
        divide_by_roots(L, symmetric);
    else
        divide_in_turn(L, w != COLUMNS_FIRST);
done:
    return st;
}

/* How far entries are from 1 in the mean, in binary digits. What is 30 digits away may be roundoff of something. */
static double distance(const logs *L)
{
    const kryi_csr *A = L->A;
    double sum = 0;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            sum += fmin(30, fabs(L->size[e] + L->row[i] + L->col[A->col[e]]));
    return sum;
}

/* To a whole exponent whose power of two, and the inverse of it, the type has. */
static int round_exponent(kry_type type, double v)
{
    const double most = type == KRY_F32 ? 120 : 1000;
    return (int)lrint(fmax(-most, fmin(most, v)));
}

/* row, col := the exponents of the way that brings entries nearest to 1 */
static kry_status find_best(logs *L, bool symmetric, kryi_exponents *s)
{
    kry_status st = KRY_OK;
    double least = INFINITY;

    for (way w = symmetric ? ROOTS : ROWS_FIRST; w < WAYS; w++) {
        TRY(scale_by(L, w, symmetric));
        const double d = distance(L);
        if (d >= least) continue;
        least = d;
        for (int64_t i = 0; i < L->A->rows; i++) {
            s->row[i] = round_exponent(L->A->type, L->row[i]);
            s->col[i] = round_exponent(L->A->type, L->col[i]);
        }
    }
done:
    return st;
}

/* out := A's numbers times 2^(row + col); exact but where they leave the range of A's type */
static void scale_numbers(const kryi_csr *A, const kryi_exponents *s, void *out)
{
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            kryi_number_put(
                A->type, out, e,
                ldexp(kryi_number_at(A->type, A->val, e), s->row[i] + s->col[A->col[e]]));
}

/* largest / smallest of numbers, but for zeros; 1 if there are none */
static double span_of(const double *v, int64_t n)
{
    double least = INFINITY, most = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!(v[i] > 0)) continue;
        least = fmin(least, v[i]), most = fmax(most, v[i]);
    }
    return most > 0 ? most / least : 1;
}

/* How much the largest entries of rows, and of columns, differ: a pass without logarithms, for it is made of every
 * matrix that a solver with equilibrate=auto is made for. */
static kry_status find_spans(const kryi_csr *A, kryi_exponents *s)
{
    kry_status st = KRY_OK;
    double *row = NULL, *col = NULL;

    TRY(kryi_alloc((size_t)A->rows, sizeof *row, &row));
    TRY(kryi_alloc((size_t)A->rows, sizeof *col, &col));
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            const double v = fabs(kryi_number_at(A->type, A->val, e));
            const int32_t j = A->col[e];
            if (v > row[i]) row[i] = v;
            if (v > col[j]) col[j] = v;
        }
    s->row_span = span_of(row, A->rows), s->column_span = span_of(col, A->rows);
done:
    free(col);
    free(row);
    return st;
}

void kryi_exponents_release(kryi_exponents *s)
{
    free(s->row);
    free(s->col);
    free(s->by_row);
    *s = (kryi_exponents){ 0 };
}

/* Whether no row's couplings add up to more than its diagonal entry. */
static bool is_dominant(const kryi_csr *A)
{
    for (int64_t i = 0; i < A->rows; i++) {
        double diagonal = 0, others = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            const double v = kryi_number_at(A->type, A->val, e);
            if (A->col[e] == i)
                diagonal = v;
            else
                others += fabs(v);
        }
        if (!(others <= diagonal * (1 + kryi_inspect_rounding(A->type)))) return false;
    }
    return true;
}

kry_status kryi_exponents_find(const kryi_csr *A, bool symmetric, bool always, kryi_exponents *s,
                               void **val, kryi_finding *found)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)A->rows;
    logs L = { 0 };
    kryi_csr B = *A;

    *s = (kryi_exponents){ 0 }, *val = NULL, *found = (kryi_finding){ 0 };
    TRY(find_spans(A, s));
    if (!always && s->row_span <= BEARABLE && s->column_span <= BEARABLE) goto done;
    TRY(logs_create(A, &L));
    find_largest(&L);
    TRY(kryi_alloc(n, sizeof *s->row, &s->row));
    TRY(kryi_alloc(n, sizeof *s->col, &s->col));
    TRY(kryi_alloc(n, sizeof *s->by_row, &s->by_row));
    for (size_t i = 0; i < n; i++)
        s->by_row[i] = isfinite(L.of_row[i]) ? round_exponent(A->type, -L.of_row[i]) : 0;
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(A), kry_type_size(A->type), val));
    B.val = *val;
    for (int alike = 1; alike >= 0 && !s->symmetric; alike--) {
        TRY(find_best(&L, alike, s));
        scale_numbers(A, s, B.val);
        TRY(kryi_matrix_inspect(&B, found));
        s->symmetric = alike && (symmetric || found->what != KRY_FOUND_ASYMMETRIC);
    }
    s->dominant = s->symmetric && is_dominant(A);
    if (found->what) { /* messages show A's numbers */
        found->entry = ldexp(found->entry, -s->row[found->row] - s->col[found->col]);
        found->mirror = ldexp(found->mirror, -s->row[found->col] - s->col[found->row]);
    }
done:
    logs_release(&L);
    if (st < 0) {
        kryi_exponents_release(s);
        free(*val);
        *val = NULL;
    }
    return st;
}
