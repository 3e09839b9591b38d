/*
 * lu_klu.c - sparse LU factors by KLU, which neither prints nor ends the process: its status becomes ours. KLU counts by
 * columns, so that it is given A', and solves with the transpose of that.
 *
 * Ordering    blocks of a block triangular form, in each of them AMD of the pattern of A + A'
 * Factors     left-looking, with pivots from the diagonal down to a thousandth of the largest number of a column; rows of A'
 *             scaled by their largest number
 * Bound       the ordering counts factors with all pivots from the diagonal. Others may fill more: KLU is given room for
 *             so many entries, and does not ask for more
 * Source      T. A. Davis, E. Palamadai Natarajan, Algorithm 907: KLU, a direct sparse solver for circuit simulation
 *             problems, ACM TOMS 37 (2010)
 */
#include "precond/factor.h"
#include KRY_KLU_HEADER
#include <limits.h>
#include <math.h>
#include <stdlib.h>

typedef struct factor {
    int n;
    int *start;      /* of the columns of A': n + 1 */
    double expected; /* bytes */
    klu_common common;
    klu_symbolic *symbolic;
} factor;

enum { ENTRY = sizeof(double) + sizeof(int) };

static kry_status check(const factor *f, const char *what)
{
    kry_status st = KRY_OK;
    const int status = f->common.status;

    CHECK(status != KLU_OUT_OF_MEMORY, KRY_ERR_MEMORY,
          "%s: no host memory for the LU factors of %d rows", what, f->n);
    CHECK(status != KLU_TOO_LARGE, KRY_ERR_MEMORY,
          "%s: the LU factors of %d rows fill far more than the %.3g bytes that pivots from the "
          "diagonal would; take an iterative method",
          what, f->n, f->expected);
    CHECK(status >= KLU_OK, KRY_ERR_UNSUPPORTED, "%s failed with status %d", what, status);
done:
    return st;
}

static void klu_destroy(void *self)
{
    factor *f = self;

    if (!f) return;
    klu_free_symbolic(&f->symbolic, &f->common);
    free(f->start);
    free(f);
}

static kry_status klu_analyse_pattern(const kryi_csr *A, kryi_factor_cost *cost, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;

    *self = NULL;
    CHECK(kryi_csr_nnz(A) < INT32_MAX, KRY_ERR_UNSUPPORTED,
          "a matrix of %lld entries is too large for KLU", (long long)kryi_csr_nnz(A));
    TRY(kryi_alloc(1, sizeof *f, &f));
    f->n = (int)A->rows;
    TRY(kryi_alloc((size_t)A->rows + 1, sizeof *f->start, &f->start));
    for (int64_t i = 0; i <= A->rows; i++) f->start[i] = (int)A->row_ptr[i];
    klu_defaults(&f->common);
    f->symbolic = klu_analyze(f->n, f->start, A->col, &f->common);
    TRY(check(f, "klu_analyze"));
    f->expected = (f->symbolic->lnz + f->symbolic->unz + f->symbolic->nzoff) * ENTRY;
    *cost = (kryi_factor_cost){ f->symbolic->est_flops * 2e-9, f->expected };
    *self = f, f = NULL;
done:
    klu_destroy(f);
    return st;
}

/* Room in KLU's units of doubles for factors of up to `most` bytes, if that is not much more than is expected: then what
 * does not fit ends the factorisation. Else they grow by and by. */
static void bound(factor *f, double most)
{
    enum { MUCH = 32 };
    const double units = 1.5 * (f->symbolic->lnz + f->symbolic->unz) + f->n;
    const double times = fmin(most / f->expected, 0.9 * INT_MAX / units);
    klu_common standard;

    klu_defaults(&standard);
    f->common.initmem_amd = times < MUCH ? fmax(times, 1) : standard.initmem_amd;
    f->common.memgrow = times < MUCH ? 1e12 : standard.memgrow;
}

static void klu_release(void *self, void *numbers)
{
    factor *f = self;
    klu_numeric *numeric = numbers;
    klu_free_numeric(&numeric, &f->common);
}

static kry_status klu_factor_numbers(void *self, const kryi_csr *A, double most, void **numbers)
{
    kry_status st = KRY_OK;
    factor *f = self;
    klu_numeric *numeric = NULL;

    *numbers = NULL;
    bound(f, most);
    numeric = klu_factor(f->start, A->col, A->val, f->symbolic, &f->common);
    TRY(check(f, "klu_factor"));
    if (f->common.status == KLU_SINGULAR) TRY(kryi_factor_dependent(f->common.singular_col));
    *numbers = numeric, numeric = NULL;
done:
    klu_release(f, numeric);
    return st;
}

static kry_status klu_solve_factor(void *self, void *numbers, double *x, bool transposed)
{
    kry_status st = KRY_OK;
    factor *f = self;

    if (transposed)
        klu_solve(f->symbolic, numbers, f->n, 1, x, &f->common);
    else
        klu_tsolve(f->symbolic, numbers, f->n, 1, x, &f->common);
    TRY(check(f, "klu_solve"));
done:
    return st;
}

static double klu_bytes(const void *self, const void *numbers)
{
    const klu_numeric *N = numbers;

    (void)self;
    return ((double)N->lnz + N->unz + N->nzoff) * ENTRY;
}

const kryi_factor_engine kryi_factor_klu = {
    .name = "LU, KLU",
    .analyse = klu_analyse_pattern,
    .factor = klu_factor_numbers,
    .solve = klu_solve_factor,
    .bytes = klu_bytes,
    .release = klu_release,
    .destroy = klu_destroy,
};
