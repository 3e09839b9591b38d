/*
 * cholesky_pivoted.c - Cholesky of a small matrix that may be semi-definite: of the pivots that are left the
 * largest comes next, and those that vanish stay out. Their unknowns are pinned to zero.
 *
 *   P S E S P' = [L; C] [L' C'],   S = diag(E)^(-1/2),   the null space of E: S P' [-L'^-1 C'; I]
 *
 * Sums have one order, and compilers work on several of them at once: on a column of L while it is factored, row by row as
 * L', and on SIDE right-hand sides, side by side.
 *
 * Storage  n^2, and twice as much again while it is factored
 * Source   N. J. Higham, Accuracy and stability of numerical algorithms (2002), section 10.3
 */
#include "precond/coarse.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { SIDE = 8 };

typedef struct factor {
    int64_t n, rank;
    int32_t *place; /* n: unknown that is eliminated i-th */
    double *scale;  /* n: S */
    double *L;      /* n-by-n, row by row, of which `rank` columns count */
    double *x;      /* n-by-SIDE, row by row: solutions in the order of elimination */
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
static kry_status scale_matrix(factor *f, const kry_sparse *E, double *W, double *left)
{
    kry_status st = KRY_OK;
    const double *val = E->val;

    for (int64_t i = 0; i < f->n; i++) {
        const double entry = kry_cholesky_diagonal(E, i);
        if (!(entry >= 0 && entry <= DBL_MAX)) TRY(kry_cholesky_dependent(E, i));
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

/* The largest pivot comes j-th. U: the rows of L' before it. */
static void choose_pivot(factor *f, double *U, double *left, int64_t j)
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
        double *row = U + t * f->n;
        const double number = row[j];
        row[j] = row[p], row[p] = number;
    }
}

/* Row j of U = L', and what it leaves of the diagonal. */
static void eliminate(const factor *f, const double *W, double *U, double *left, int64_t j)
{
    const int64_t n = f->n;
    double *row = U + j * n;
    const double root = sqrt(left[j]);

    row[j] = root;
    for (int64_t i = j + 1; i < n; i++) row[i] = W[f->place[i] * n + f->place[j]];
    for (int64_t t = 0; t < j; t++) {
        const double *other = U + t * n, by = other[j];
        for (int64_t i = j + 1; i < n; i++) row[i] -= other[i] * by;
    }
    for (int64_t i = j + 1; i < n; i++) {
        row[i] /= root;
        left[i] -= row[i] * row[i];
    }
}

/* L := U' */
static void turn(factor *f, const double *U)
{
    for (int64_t t = 0; t < f->rank; t++)
        for (int64_t i = t; i < f->n; i++) f->L[i * f->n + t] = U[t * f->n + i];
}

static kry_status factorise(factor *f, const kry_sparse *E, double rounding)
{
    kry_status st = KRY_OK;
    double *W = NULL, *U = NULL, *left = NULL;

    TRY(kry_alloc((size_t)(f->n * f->n), sizeof *W, &W));
    TRY(kry_alloc((size_t)(f->n * f->n), sizeof *U, &U));
    TRY(kry_alloc((size_t)f->n, sizeof *left, &left));
    TRY(scale_matrix(f, E, W, left));
    for (f->rank = 0; f->rank < f->n; f->rank++) {
        choose_pivot(f, U, left, f->rank);
        if (!(left[f->rank] > rounding)) break;
        eliminate(f, W, U, left, f->rank);
    }
    turn(f, U);
    for (int64_t i = f->rank; i < f->n;
         i++) /* an indefinite matrix has more below zero than rounding */
        if (!(left[i] >= -50 * rounding)) TRY(kry_cholesky_dependent(E, f->place[i]));
done:
    free(left);
    free(U);
    free(W);
    return st;
}

static kry_status pivoted_create(const kry_sparse *E, int64_t n, double rounding, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;

    *self = NULL;
    TRY(kry_alloc(1, sizeof *f, &f));
    f->n = n;
    TRY(kry_alloc((size_t)n, sizeof *f->place, &f->place));
    TRY(kry_alloc((size_t)n, sizeof *f->scale, &f->scale));
    TRY(kry_alloc((size_t)(n * n), sizeof *f->L, &f->L));
    TRY(kry_alloc((size_t)n * SIDE, sizeof *f->x, &f->x));
    TRY(factorise(f, E, rounding));
    *self = f;
    f = NULL;
done:
    pivoted_destroy(f);
    return st;
}

/* L x = the right-hand sides in `x`, columns of n numbers */
static void solve_down(const factor *f, const double *x, int64_t columns)
{
    for (int64_t i = 0; i < f->rank; i++) {
        const double *row = f->L + i * f->n, scale = f->scale[f->place[i]];
        double sum[SIDE] = { 0 };
        for (int64_t c = 0; c < columns; c++) sum[c] = scale * x[c * f->n + f->place[i]];
        for (int64_t j = 0; j < i; j++)
            for (int c = 0; c < SIDE; c++) sum[c] -= row[j] * f->x[j * SIDE + c];
        for (int c = 0; c < SIDE; c++) f->x[i * SIDE + c] = sum[c] / row[i];
    }
}

/* L' x = x */
static void solve_up(const factor *f)
{
    for (int64_t i = f->rank - 1; i >= 0; i--) {
        const double *row = f->L + i * f->n;
        double own[SIDE];
        for (int c = 0; c < SIDE; c++) own[c] = f->x[i * SIDE + c] /= row[i];
        for (int64_t j = 0; j < i; j++)
            for (int c = 0; c < SIDE; c++) f->x[j * SIDE + c] -= row[j] * own[c];
    }
}

static kry_status pivoted_solve(void *self, double *x, int64_t columns)
{
    const factor *f = self;

    for (; columns > 0; columns -= SIDE, x += SIDE * f->n) {
        const int64_t here = columns < SIDE ? columns : SIDE;
        solve_down(f, x, here);
        solve_up(f);
        for (int64_t i = 0; i < f->n; i++) {
            const int32_t at = f->place[i];
            for (int64_t c = 0; c < here; c++)
                x[c * f->n + at] = i < f->rank ? f->scale[at] * f->x[i * SIDE + c] : 0;
        }
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

    for (int64_t j = 0; j < f->rank; j++)
        for (int c = 0; c < SIDE; c++) f->x[j * SIDE + c] = -f->L[own * f->n + j];
    solve_up(f);
    for (int64_t i = 0; i < f->n; i++) {
        const int32_t at = f->place[i];
        x[at] = f->scale[at] * (i < f->rank ? f->x[i * SIDE] : i == own);
    }
}

static double pivoted_bytes(const void *self)
{
    const factor *f = self;
    return (double)(f->n * f->n) * sizeof *f->L;
}

const kry_cholesky_engine kry_cholesky_pivoted = {
    .name = "cholesky pivoted",
    .create = pivoted_create,
    .solve = pivoted_solve,
    .pinned = pivoted_pinned,
    .null_vector = pivoted_null_vector,
    .bytes = pivoted_bytes,
    .destroy = pivoted_destroy,
};
