/* gauss_jordan.c - the reduced row echelon form. Kernels: cl/dense/panel.cl with ECHELON, and products.
 *
 * Panels of PANEL columns are eliminated above and below their pivots, with a launch for each column; the
 * pivots are chosen on the device. The eliminated panel then updates all columns to its right:
 *
 *   T := the rows that the panel's pivots went to;  those rows := 0;  all rows += panel T
 *
 * Source: E. S. Quintana-Orti, G. Quintana-Orti, X. Sun, R. van de Geijn, A note on parallel matrix
 * inversion, SIAM J. Sci. Comput. 22 (2001), for the inverse. An echelon form updates only the columns to
 * the right, and passes over columns without a pivot. */
#include "dense/lu.h"
#include <kry/vec.h>
#include <math.h>
#include <stdlib.h>

/* Eliminate all columns, a panel at a time. */
static kry_status eliminate(const kryi_panels *p, const kryi_block *T)
{
    kry_status st = KRY_OK;
    const int64_t m = p->m, n = p->columns;

    for (int64_t c0 = 0; c0 < n; c0 += KRY_LU_PANEL) {
        const int64_t w = n - c0 < KRY_LU_PANEL ? n - c0 : KRY_LU_PANEL, right = n - c0 - w;
        TRY(kryi_panels_eliminate(p, c0, w));
        if (right == 0) break;
        TRY(kryi_panels_exchange(p, c0, w, c0, n, false, T->buffer));
        TRY(kryi_gemm_run(&(kryi_gemm){ .alpha = 1,
                                        .A = kryi_block_part(&p->F, 0, c0, m, w),
                                        .B = kryi_block_part(T, 0, 0, w, right),
                                        .beta = 1,
                                        .C = kryi_block_part(&p->F, 0, c0 + w, m, right) }));
    }
done:
    return st;
}

/* How many pivots, and in which columns: the end of `index` of cl/dense/panel.cl. */
static kry_status read_pivots(const kryi_panels *p, cl_int *rank, cl_int *column)
{
    kry_status st = KRY_OK;
    const size_t m = (size_t)p->m, n = (size_t)p->columns, columns = n + m + n,
                 half = n % KRY_LU_PANEL & 1;

    TRY(kryi_buffer_read(p->dev, p->index, (columns + m + half) * sizeof *rank, sizeof *rank,
                         rank));
    TRY(kryi_buffer_read(p->dev, p->index, columns * sizeof *column, (size_t)*rank * sizeof *column,
                         column));
done:
    return st;
}

static kry_status write_units(const kryi_panels *p, int64_t rank)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel;
    const kry_arg args[] = { ARG(p->m),     ARG(p->columns), ARG(rank),
                             ARG(p->index), ARG_VEC(&p->F),  ARG(p->F.ld) };

    if (rank == 0) return KRY_OK;
    TRY(kryi_panels_kernel(p, "panel_units", &kernel));
    TRY(kryi_launch(p->dev, kernel, kryi_groups_for(p->dev, p->F.type, p->m * rank), args,
                    COUNT(args)));
done:
    return st;
}

static kry_status check_rref(const kry_vec *A, double tolerance)
{
    static const char who[] = "kry_vec_rref";
    kry_status st = KRY_OK;
    double *sums = NULL;

    TRY(kryi_dense_check(who, "A", A));
    CHECK(A->n <= INT32_MAX && A->k <= INT32_MAX, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, more than 2^31 - 1 rows or columns", who, (long long)A->n,
          (long long)A->k);
    TRY(kryi_dense_column_sums(who, A, &sums));
    CHECK(tolerance >= 0 && isfinite(tolerance), KRY_ERR_ARGUMENT,
          "%s: a tolerance of %g is not finite and at least 0", who, tolerance);
done:
    free(sums);
    return st;
}

/* A := its echelon form, whatever the device makes of that. */
static kry_status reduce(kry_vec *A, double tolerance, cl_int *rank, cl_int *column)
{
    kry_status st = KRY_OK;
    kryi_panels p = { .dev = A->dev, .echelon = true, .tolerance = tolerance };
    kry_vec *T = NULL;

    TRY(kry_vec_create(A->dev, A->type, KRY_LU_PANEL, A->k, &T));
    const kryi_block F = kryi_block_of(A), rows = kryi_block_of(T);
    TRY(kryi_panels_begin(&p, &F));
    TRY(eliminate(&p, &rows));
    TRY(read_pivots(&p, rank, column));
    TRY(write_units(&p, *rank));
done:
    kryi_panels_end(&p);
    kry_vec_release(&T);
    return st;
}

/* ---- verdicts on what the device computed ----
 *
 * With pivots in the columns p, A = A(:, p) R: all other columns of A are combinations of these. Random y are tried: A d has
 * to be next to nothing for d := y - (R y in the places p, 0 elsewhere). That holds for any A whose elimination loses
 * less than half of the digits. It says nothing about whether the columns p depend on each other: nothing but another
 * elimination would. Where it does not hold A is ill-conditioned, or the device is wrong: then a matrix of the same shape and
 * pivots is reduced whose form is known, and which is well-conditioned. */

static kry_status multiply(const kry_vec *A, const kry_vec *x, kry_vec *y)
{
    return kryi_gemm_run(&(kryi_gemm){ .alpha = 1,
                                       .A = kryi_block_of(A),
                                       .B = kryi_block_of(x),
                                       .beta = 0,
                                       .C = kryi_block_of(y) });
}

static bool are_pivots(const cl_int *column, int64_t rank, int64_t m, int64_t n)
{
    bool good = rank >= 0 && rank <= m && rank <= n;

    for (int64_t k = 0; k < rank && good; k++)
        good = column[k] >= 0 && column[k] < n && (k == 0 || column[k] > column[k - 1]);
    return good;
}

/* *fits: A = A(:, p) R. norm: ||A||_1 */
static kry_status try_combination(const kry_vec *A, const kry_vec *R, double norm, double tolerance,
                                  int64_t rank, const cl_int *column, bool *fits)
{
    kry_status st = KRY_OK;
    const int64_t m = A->n, n = A->k;
    kry_vec *y = NULL, *w = NULL;
    double *d = NULL, *of_w = NULL, size = 0, left = 0;

    *fits = are_pivots(column, rank, m, n);
    if (!*fits) return KRY_OK;
    TRY(kryi_alloc((size_t)n, sizeof *d, &d));
    TRY(kryi_alloc((size_t)m, sizeof *of_w, &of_w));
    TRY(kry_vec_create(A->dev, A->type, n, 1, &y));
    TRY(kry_vec_create(A->dev, A->type, m, 1, &w));
    for (int64_t j = 0; j < n; j++) d[j] = (float)(kry_random_unit(1, 0, (uint64_t)j) - 0.5);
    for (int64_t j = 0; j < n; j++) size += fabs(d[j]);
    const double neglected = (double)m * tolerance * size;
    TRY(kryi_vec_write_doubles(y, d));
    TRY(multiply(R, y, w));
    TRY(kryi_vec_read_doubles(w, of_w));
    for (int64_t i = 0; i < m; i++) {
        size += fabs(of_w[i]);
        if (i < rank)
            d[column[i]] -= of_w[i];
        else
            *fits = *fits && of_w[i] == 0;
    }
    TRY(kryi_vec_write_doubles(y, d));
    TRY(multiply(A, y, w));
    TRY(kryi_vec_read_doubles(w, of_w));
    for (int64_t i = 0; i < m; i++) left += fabs(of_w[i]);
    *fits = *fits && left <= kryi_dense_half_of_digits(A->type) * norm * size + 2 * neglected;
done:
    free(of_w), free(d);
    kry_vec_release(&w);
    kry_vec_release(&y);
    return st;
}

/* Entry (k, j) of the known form. pivot: of column j, -1: it has none */
static double known_entry(const cl_int *column, int64_t k, int64_t j, int64_t pivot, int64_t n)
{
    if (pivot >= 0) return k == pivot;
    return j < column[k] ? 0 : (float)(kry_random_unit(2, 0, (uint64_t)(k * n + j)) - 0.5);
}

/* Refuse a device that does not find a form that is known. */
static kry_status try_known(const kry_vec *A, int64_t rank, const cl_int *column)
{
    kry_status st = KRY_OK;
    const int64_t m = A->n, n = A->k, most = m < n ? m : n;
    const double half = kryi_dense_half_of_digits(A->type);
    const bool same = rank > 0 && are_pivots(column, rank, m, n);
    const int64_t r = same ? rank : most;
    cl_int *p = NULL, *got = NULL, found = 0;
    int64_t *pivot = NULL;
    double *form = NULL, *host = NULL, apart = 0;
    kry_vec *D = NULL;

    TRY(kryi_alloc((size_t)most, sizeof *p, &p));
    TRY(kryi_alloc((size_t)most, sizeof *got, &got));
    TRY(kryi_alloc((size_t)n, sizeof *pivot, &pivot));
    TRY(kryi_alloc((uint64_t)(m * n), sizeof *form, &form));
    TRY(kryi_alloc((uint64_t)(m * n), sizeof *host, &host));
    for (int64_t j = 0; j < n; j++) pivot[j] = -1;
    for (int64_t k = 0; k < r; k++) p[k] = same ? column[k] : (cl_int)k, pivot[p[k]] = k;
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < r; k++) form[j * m + k] = known_entry(p, k, j, pivot[j], n);
    /* Rows of D from the last one on: each is of two rows of the form, or behind the form's of one. */
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            host[j * m + m - 1 - i] =
                (i < r ? form[j * m + i] : 0) + 0.25 * form[j * m + (7 * i + 3) % r];
    TRY(kry_vec_create(A->dev, A->type, m, n, &D));
    TRY(kryi_vec_write_doubles(D, host));
    TRY(reduce(D, half, &found, got));
    TRY(kryi_vec_read_doubles(D, host));
    for (int64_t i = 0; i < m * n; i++) apart = fmax(apart, fabs(host[i] - form[i]));
    bool good = found == r && apart <= half * (double)most;
    for (int64_t i = 0; i < m * n && good; i++) good = isfinite(host[i]);
    for (int64_t k = 0; k < r && good; k++) good = got[k] == p[k];
    CHECK(
        good, KRY_ERR_DEVICE,
        "kry_vec_rref: '%s', driver %s, computed a wrong result: of a %lld-by-%lld matrix of rank "
        "%lld whose form is known it finds rank %lld, and entries that are %.2g off",
        A->dev->info.name, A->dev->info.driver, (long long)m, (long long)n, (long long)r,
        (long long)found, apart);
done:
    free(host), free(form), free(pivot), free(got), free(p);
    kry_vec_release(&D);
    return st;
}

/* R: what the device found for A */
static kry_status check_form(const kry_vec *A, const kry_vec *R, double tolerance, int64_t rank,
                             const cl_int *column)
{
    kry_status st = KRY_OK;
    double *sums = NULL, norm = 0;
    bool fits;

    TRY(kryi_dense_column_sums("kry_vec_rref", A, &sums));
    for (int64_t j = 0; j < A->k; j++) norm = fmax(norm, sums[j]);
    TRY(try_combination(A, R, norm, tolerance, rank, column, &fits));
    if (!fits) TRY(try_known(A, rank, column));
done:
    free(sums);
    return st == KRY_ERR_MEMORY ? KRY_OK
                                : st; /* there is room for the form, but none for a verdict */
}

/* In a copy, so that a failure leaves A as it was. */
static kry_status replace(kry_vec *A, double tolerance, cl_int *rank, cl_int *column)
{
    kry_status st = KRY_OK;
    kry_vec *copy = NULL;
    double norm;

    TRY(kryi_dense_row_norm(A, &norm));
    if (tolerance == 0)
        tolerance = (double)(A->n > A->k ? A->n : A->k) * kryi_dense_eps(A->type) * norm;
    TRY(kry_vec_create(A->dev, A->type, A->n, A->k, &copy));
    TRY(kry_vec_copy(A, copy));
    TRY(reduce(copy, tolerance, rank, column));
    TRY(check_form(A, copy, tolerance, *rank, column));
    TRY(kry_vec_copy(copy, A));
done:
    kry_vec_release(&copy);
    return st;
}

kry_status kry_vec_rref(kry_vec *A, double tolerance, int64_t *pivot_columns, int64_t *rank)
{
    kry_status st = KRY_OK;
    cl_int found = 0, *column = NULL;

    if (rank) *rank = 0;
    TRY(check_rref(A, tolerance));
    const int64_t most = A->n < A->k ? A->n : A->k;
    TRY(kryi_alloc((size_t)most, sizeof *column, &column));
    if (A->n > 0 && A->k > 0) TRY(replace(A, tolerance, &found, column));
    for (int64_t i = 0; pivot_columns && i < most; i++)
        pivot_columns[i] = i < found ? column[i] : -1;
    if (rank) *rank = found;
done:
    free(column);
    return st;
}
