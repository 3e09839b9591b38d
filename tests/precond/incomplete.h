/*
 * incomplete.h - incomplete factors with levels of fill, and what stands in place of solves with them, dense and row by
 * row: what preconditioners are held against.
 */
#ifndef KRY_TEST_INCOMPLETE_H
#define KRY_TEST_INCOMPLETE_H

#include "as_matrix.h"

/* ---- the textbook, dense and row by row ------------------------------------------------------ */

typedef struct dense {
    int64_t n;
    double *a;    /* factors in place: L D U, L and U unit triangular */
    double *m;    /* incomplete inverses of L and U in its triangles */
    bool *there;  /* places of the factors */
    int sweeps;   /* > 0: Jacobi's in place of solves */
    bool inverse; /* m in place of solves */
} dense;

static void release(dense *f) { free(f->a), free(f->m), free(f->there); }

/* Y. Saad, algorithm 10.5: a level for each place, kept up to `most`. */
static void find_places(dense *f, int most)
{
    const int64_t n = f->n;
    int *level = calloc((size_t)(n * n) + 1, sizeof *level);

    assert_non_null(level);
    for (int64_t i = 0; i < n * n; i++) level[i] = f->a[i] != 0 ? 0 : 1000;
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = 0; k < i; k++) {
            if (level[i * n + k] > most) continue;
            for (int64_t j = k + 1; j < n; j++) {
                const int by = level[i * n + k] + level[k * n + j] + 1;
                if (by < level[i * n + j]) level[i * n + j] = by;
            }
        }
    for (int64_t i = 0; i < n * n; i++) f->there[i] = level[i] <= most;
    free(level);
}

/* Gauss's elimination at these places alone. */
static void factor(dense *f)
{
    const int64_t n = f->n;
    double *a = f->a;

    for (int64_t i = 1; i < n; i++)
        for (int64_t k = 0; k < i; k++) {
            if (!f->there[i * n + k]) continue;
            a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                if (f->there[i * n + j]) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) a[i * n + j] /= a[i * n + i];
}

/* (L D U)_ij = a_ij at the places of the factors: the law that defines them. */
static void check_law(const dense *f, const double *a)
{
    const int64_t n = f->n;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            long double sum = 0, size = fabs(a[i * n + j]);
            for (int64_t k = 0; k <= i && k <= j; k++) {
                const double l = k == i ? 1 : f->a[i * n + k], u = k == j ? 1 : f->a[k * n + j];
                const long double term = (long double)l * f->a[k * n + k] * u;
                sum += term, size += fabsl(term);
            }
            if (f->there[i * n + j])
                NEAR(sum, a[i * n + j], 1e-13 * size, "L D U in row %d", (int)i);
        }
}

/* (I + M)(I + T) = I at the places of T, T strictly lower or upper: from the diagonal outwards. */
static void invert(dense *f, bool upper)
{
    const int64_t n = f->n, to = upper ? 1 : -1;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + to; j >= 0 && j < n; j += to) {
            if (!f->there[i * n + j]) continue;
            double sum = f->a[i * n + j];
            for (int64_t k = i + to; k != j; k += to) sum += f->m[i * n + k] * f->a[k * n + j];
            f->m[i * n + j] = -sum;
        }
}

/* y := (I + T)^-1 x, or what approximates it; T the strict lower or upper triangle of f, or its transpose. */
static void run_triangle(const dense *f, bool upper, const double *x, double *y)
{
    const int64_t n = f->n;
    const double *t = f->inverse ? f->m : f->a, sign = f->inverse ? 1 : -1;
    double *last = calloc((size_t)n + 1, sizeof *last);

    assert_non_null(last);
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int s = 0; s < (f->sweeps && !f->inverse ? f->sweeps : 1); s++) {
        memcpy(last, y, (size_t)n * sizeof *y);
        for (int64_t k = 0; k < n; k++) {
            const int64_t i = upper ? n - 1 - k : k;
            double sum = x[i];
            for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); j++)
                sum += sign * t[i * n + j] * (f->sweeps || f->inverse ? last[j] : y[j]);
            y[i] = sum;
        }
    }
    free(last);
}

static void apply_factors(const dense *f, const double *x, double *z)
{
    double *y = calloc((size_t)f->n + 1, sizeof *y);

    assert_non_null(y);
    run_triangle(f, false, x, y);
    for (int64_t i = 0; i < f->n; i++) y[i] /= f->a[i * f->n + i];
    run_triangle(f, true, y, z);
    free(y);
}

/* What op_suite holds M against: rows of M, from its columns. */
MAYBE_UNUSED static matrix matrix_of(const dense *f)
{
    const int64_t n = f->n;
    matrix M = { .rows = n, .cols = n };
    double *unit = calloc((size_t)n + 1, sizeof *unit),
           *all = calloc((size_t)(n * n) + 1, sizeof *all);

    M.row_ptr = calloc((size_t)n + 1, sizeof *M.row_ptr);
    M.col = calloc((size_t)(n * n) + 1, sizeof *M.col);
    M.val = calloc((size_t)(n * n) + 1, sizeof *M.val);
    assert_true(unit && all && M.row_ptr && M.col && M.val);
    for (int64_t j = 0; j < n; j++) {
        unit[j] = 1;
        apply_factors(f, unit, all + j * n);
        unit[j] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            if (all[j * n + i] != 0) M.col[M.nnz] = (int32_t)j, M.val[M.nnz++] = all[j * n + i];
        M.row_ptr[i + 1] = M.nnz;
    }
    free(unit), free(all);
    return M;
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Of 100 places `density` are taken; the diagonal is `weight` times what its row and column have. */
static double *dense_random(kry_type type, int64_t n, bool symmetric, int density, double weight)
{
    double *a = calloc((size_t)(n * n) + 1, sizeof *a), *sum = calloc((size_t)n + 1, sizeof *sum);

    assert_true(a && sum);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (i == j || random_below(100) >= density || (symmetric && j > i)) continue;
            a[i * n + j] = random_number(type);
            if (symmetric) a[j * n + i] = a[i * n + j];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) sum[i] += fabs(a[i * n + j]) + fabs(a[j * n + i]);
    for (int64_t i = 0; i < n; i++) a[i * n + i] = to_type(type, weight * sum[i] + 0.25);
    free(sum);
    return a;
}

/* symmetric: the inverse of U = L' is that of L, mirrored. */
static dense factors_of(const double *a, int64_t n, int fill, bool symmetric)
{
    dense f = { .n = n };

    f.a = calloc((size_t)(n * n) + 1, sizeof *f.a), f.m = calloc((size_t)(n * n) + 1, sizeof *f.m);
    f.there = calloc((size_t)(n * n) + 1, sizeof *f.there);
    assert_true(f.a && f.m && f.there);
    memcpy(f.a, a, (size_t)(n * n) * sizeof *a);
    find_places(&f, fill);
    factor(&f);
    check_law(&f, a);
    invert(&f, false);
    if (!symmetric) invert(&f, true);
    for (int64_t i = 0; i < n * n && symmetric; i++)
        if (i / n < i % n) f.m[i] = f.m[i % n * n + i / n];
    return f;
}

#endif
