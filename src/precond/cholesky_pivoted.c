/*
 * cholesky_pivoted.c - Cholesky of a small matrix that may be semi-definite: of the pivots that are left the
 * largest comes next, and those that vanish stay out. Their unknowns are pinned to zero.
 *
 *   P S E S P' = [L; C] [L' C'],   S = diag(E)^(-1/2),   the null space of E: S P' [-L'^-1 C'; I]
 *
 * Storage  n^2, and as much again while it is factored
 * Source   N. J. Higham, Accuracy and stability of numerical algorithms (2002), section 10.3
 */
#include "precond/coarse.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 8 }; /* rows or columns that are worked on at once */

typedef struct factor {
    int64_t n, rank;
    int32_t *place;        /* n: unknown that is eliminated i-th */
    double *scale;         /* n: S */
    double *L;             /* n-by-n, row by row, of which `rank` columns count */
    double (*x)[TOGETHER]; /* n: solutions in the order of elimination */
} factor;

static void pivoted_destroy(void *self)
{
    factor *f = self;
    if (!f) return;
    free(f->x);
    free(f->L);
    free(f->scale);
    free(f->place);
    free(f);
}

/* W := S E S, dense; left := its diagonal. */
static kry_status scale_matrix(factor *f, const kryi_csr *E, double *W, double *left)
{
    kry_status st = KRY_OK;
    const double *val = E->val;

    for (int64_t i = 0; i < f->n; i++) {
        const double entry = kryi_csr_entry(E, i, i);
        if (!(entry >= 0 && entry <= DBL_MAX)) TRY(kryi_cholesky_dependent(E, i));
        f->scale[i] = entry > 0 ? 1 / sqrt(entry) : 1;
        left[i] = entry > 0;
        f->place[i] = (int32_t)i;
    }
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++)
            if (E->col[e] < f->n)
                W[i * f->n + E->col[e]] = f->scale[i] * val[e] * f->scale[E->col[e]];
done:
    return st;
}

/* The largest pivot comes j-th. */
static void choose_pivot(factor *f, double *left, int64_t j)
{
    int64_t p = j;

    for (int64_t i = j + 1; i < f->n; i++)
        if (left[i] > left[p]) p = i;
    if (p == j) return;
    const int32_t place = f->place[j];
    const double pivot = left[j];
    f->place[j] = f->place[p], f->place[p] = place;
    left[j] = left[p], left[p] = pivot;
    for (int64_t t = 0; t < j; t++) {
        const double number = f->L[j * f->n + t];
        f->L[j * f->n + t] = f->L[p * f->n + t], f->L[p * f->n + t] = number;
    }
}

/* sum[k] -= the product of rows i + k and j of L as far as column j, for TOGETHER rows side by side, so that no sum has
 * to wait for its last term. Rows behind the last one count as the last one. */
static void subtract_products(const factor *f, int64_t i, int64_t j, double sum[TOGETHER])
{
    const double *row = f->L + j * f->n, *other[TOGETHER];

    for (int k = 0; k < TOGETHER; k++) other[k] = f->L + (i + k < f->n ? i + k : f->n - 1) * f->n;
    for (int64_t t = 0; t < j; t++)
        for (int k = 0; k < TOGETHER; k++) sum[k] -= other[k][t] * row[t];
}

/* Column j of L, and what it leaves of the diagonal. */
static void eliminate(factor *f, const double *W, double *left, int64_t j)
{
    const int64_t n = f->n;
    const double root = sqrt(left[j]);

    f->L[j * n + j] = root;
    for (int64_t i = j + 1; i < n; i += TOGETHER) {
        const int count = n - i < TOGETHER ? (int)(n - i) : TOGETHER;
        double sum[TOGETHER] = { 0 };
        for (int k = 0; k < count; k++) sum[k] = W[f->place[i + k] * n + f->place[j]];
        subtract_products(f, i, j, sum);
        for (int k = 0; k < count; k++) {
            const double entry = sum[k] / root;
            f->L[(i + k) * n + j] = entry;
            left[i + k] -= entry * entry;
        }
    }
}

static kry_status factorise(factor *f, const kryi_csr *E, double rounding)
{
    kry_status st = KRY_OK;
    double *W = NULL, *left = NULL;

    TRY(kryi_alloc((uint64_t)(f->n * f->n), sizeof *W, &W));
    TRY(kryi_alloc((size_t)f->n, sizeof *left, &left));
    TRY(scale_matrix(f, E, W, left));
    for (f->rank = 0; f->rank < f->n; f->rank++) {
        choose_pivot(f, left, f->rank);
        if (!(left[f->rank] > rounding)) break;
        eliminate(f, W, left, f->rank);
    }
    for (int64_t i = f->rank; i < f->n;
         i++) /* an indefinite matrix has more below zero than rounding */
        if (!(left[i] >= -50 * rounding)) TRY(kryi_cholesky_dependent(E, f->place[i]));
done:
    free(left);
    free(W);
    return st;
}

static kry_status pivoted_create(const kryi_csr *E, int64_t n, double rounding, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;

    *self = NULL;
    TRY(kryi_alloc(1, sizeof *f, &f));
    f->n = n;
    TRY(kryi_alloc((size_t)n, sizeof *f->place, &f->place));
    TRY(kryi_alloc((size_t)n, sizeof *f->scale, &f->scale));
    TRY(kryi_alloc((uint64_t)(n * n), sizeof *f->L, &f->L));
    TRY(kryi_alloc((size_t)n, sizeof *f->x, &f->x));
    TRY(factorise(f, E, rounding));
    *self = f;
    f = NULL;
done:
    pivoted_destroy(f);
    return st;
}

/* L x = x */
static void solve_down(const factor *f, double (*x)[TOGETHER])
{
    for (int64_t i = 0; i < f->rank; i++) {
        const double *row = f->L + i * f->n;
        double sum[TOGETHER];

        memcpy(sum, x[i], sizeof sum);
        for (int64_t j = 0; j < i; j++)
            for (int c = 0; c < TOGETHER; c++) sum[c] -= row[j] * x[j][c];
        for (int c = 0; c < TOGETHER; c++) x[i][c] = sum[c] / row[i];
    }
}

/* L' x = x */
static void solve_up(const factor *f, double (*x)[TOGETHER])
{
    for (int64_t i = f->rank - 1; i >= 0; i--) {
        const double *column = f->L + i;
        double sum[TOGETHER];

        memcpy(sum, x[i], sizeof sum);
        for (int64_t j = f->rank - 1; j > i; j--)
            for (int c = 0; c < TOGETHER; c++) sum[c] -= column[j * f->n] * x[j][c];
        for (int c = 0; c < TOGETHER; c++) x[i][c] = sum[c] / column[i * f->n];
    }
}

/* Columns side by side, so that no sum has to wait for the last one. */
static kry_status pivoted_solve(void *self, double *x, int64_t columns)
{
    const factor *f = self;

    for (int64_t first = 0; first < columns; first += TOGETHER, x += TOGETHER * f->n) {
        const int count = columns - first < TOGETHER ? (int)(columns - first) : TOGETHER;
        memset(f->x, 0, (size_t)f->n * sizeof *f->x);
        for (int64_t i = 0; i < f->rank; i++)
            for (int c = 0; c < count; c++)
                f->x[i][c] = f->scale[f->place[i]] * x[c * f->n + f->place[i]];
        solve_down(f, f->x);
        solve_up(f, f->x);
        for (int64_t i = 0; i < f->n; i++)
            for (int c = 0; c < count; c++)
                x[c * f->n + f->place[i]] = i < f->rank ? f->scale[f->place[i]] * f->x[i][c] : 0;
    }
    return KRY_OK;
}

static int64_t pivoted_pinned(const void *self)
{
    const factor *f = self;
    return f->n - f->rank;
}

static void pivoted_null_vector(void *self, int64_t v, double *x)
{
    const factor *f = self;
    const int64_t own = f->rank + v;

    memset(f->x, 0, (size_t)f->n * sizeof *f->x);
    for (int64_t j = 0; j < f->rank; j++) f->x[j][0] = -f->L[own * f->n + j];
    solve_up(f, f->x);
    for (int64_t i = 0; i < f->n; i++) {
        const int32_t at = f->place[i];
        x[at] = f->scale[at] * (i < f->rank ? f->x[i][0] : i == own);
    }
}

static double pivoted_bytes(const void *self)
{
    const factor *f = self;
    return (double)(f->n * f->n) * sizeof *f->L;
}

const kryi_cholesky_engine kryi_cholesky_pivoted = {
    .name = "cholesky pivoted",
    .create = pivoted_create,
    .solve = pivoted_solve,
    .pinned = pivoted_pinned,
    .null_vector = pivoted_null_vector,
    .bytes = pivoted_bytes,
    .destroy = pivoted_destroy,
};
