/*
 * cholesky_band.c - sparse Cholesky without a library: L keeps each row from its first entry to the
 * diagonal, for what is eliminated fills in no further than that.
 *
 *   l_ij := (e_ij - sum_p l_ip l_jp) / l_jj,  p from the later of the two rows' first entries
 *
 * Ordering    that of the vectors: blocks, stripes and parts of a graph are numbered as the
 *             unknowns are, one beside the other
 * Storage     about n times the bandwidth: of a grid of vectors, its shorter sides
 * Source      A. George, J. W. H. Liu, Computer solution of large sparse positive definite systems
 *             (1981): the envelope method, chapter 4
 */
#include "precond/coarse.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Where vectors are dependent, their pivot is roundoff: of n sums of E_ii each, up to chance. */
bool kryi_cholesky_pivot_fits(double pivot, double diagonal, int64_t n)
{
    return pivot > 4 * DBL_EPSILON * (double)n * diagonal && pivot > 0 && pivot <= DBL_MAX;
}

kry_status kryi_cholesky_dependent(const kryi_csr *E, int64_t i)
{
    return kry_fail(KRY_ERR_SINGULAR,
                    "linearly dependent deflation vectors: vector %lld depends on the others, or "
                    "its entry %g on the diagonal of Z'AZ is not positive",
                    (long long)i, kryi_csr_entry(E, i, i));
}

typedef struct factor {
    int64_t n;
    int64_t *start; /* n+1: row i of L is L[start[i]] ... L[start[i+1]-1], the diagonal last */
    double *L;
} factor;

static void band_destroy(void *self)
{
    factor *f = self;
    if (!f) return;
    free(f->L);
    free(f->start);
    free(f);
}

/* Four partial sums, so that an addition need not wait for the one before. */
static double dot(const double *a, const double *b, int64_t n)
{
    double s[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++) s[l] += a[i + l] * b[i + l];
    for (; i < n; i++) s[0] += a[i] * b[i];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* The column of the first entry of row i of L. */
static int64_t first_of(const factor *f, int64_t i)
{
    return i + 1 - (f->start[i + 1] - f->start[i]);
}

static kry_status factorise(factor *f, const kryi_csr *E)
{
    kry_status st = KRY_OK;
    const double *val = E->val;

    for (int64_t i = 0; i < f->n; i++) {
        double *row = f->L + f->start[i];
        int64_t first = first_of(f, i);
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1] && E->col[e] <= i; e++)
            row[E->col[e] - first] = val[e]; /* columns ascend; L is zero so far */
        for (int64_t j = first; j < i; j++) {
            const double *other = f->L + f->start[j];
            int64_t other_first = first_of(f, j), from = first > other_first ? first : other_first;
            double sum = dot(row + (from - first), other + (from - other_first), j - from);
            row[j - first] = (row[j - first] - sum) / other[j - other_first];
        }
        double entry = row[i - first], pivot = entry - dot(row, row, i - first);
        if (!kryi_cholesky_pivot_fits(pivot, entry, f->n)) TRY(kryi_cholesky_dependent(E, i));
        row[i - first] = sqrt(pivot);
    }
done:
    return st;
}

static kry_status band_create(const kryi_csr *E, int64_t n, double rounding, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;

    (void)rounding;
    *self = NULL;
    TRY(kryi_alloc(1, sizeof *f, &f));
    f->n = n;
    TRY(kryi_alloc((size_t)n + 1, sizeof *f->start, &f->start));
    for (int64_t i = 0; i < n; i++) {
        int64_t e = E->row_ptr[i], first = e < E->row_ptr[i + 1] ? E->col[e] : i;
        f->start[i + 1] = f->start[i] + 1 + (first < i ? i - first : 0);
    }
    TRY(kryi_alloc((size_t)f->start[n], sizeof *f->L, &f->L));
    TRY(factorise(f, E));
    *self = f;
    f = NULL;
done:
    band_destroy(f);
    return st;
}

static kry_status band_solve(void *self, double *x, int64_t columns)
{
    const factor *f = self;

    for (int64_t c = 0; c < columns; c++, x += f->n) {
        for (int64_t i = 0; i < f->n; i++) { /* L y = x */
            const double *row = f->L + f->start[i];
            int64_t first = first_of(f, i);
            x[i] = (x[i] - dot(row, x + first, i - first)) / row[i - first];
        }
        for (int64_t i = f->n - 1; i >= 0; i--) { /* L' x = y */
            const double *row = f->L + f->start[i];
            int64_t first = first_of(f, i);
            x[i] /= row[i - first];
            for (int64_t j = first; j < i; j++) x[j] -= row[j - first] * x[i];
        }
    }
    return KRY_OK;
}

static double band_bytes(const void *self)
{
    const factor *f = self;
    return (double)f->start[f->n] * sizeof *f->L;
}

const kryi_cholesky_engine kryi_cholesky_band = {
    .name = "cholesky banded",
    .create = band_create,
    .solve = band_solve,
    .bytes = band_bytes,
    .destroy = band_destroy,
};
