/*
 * lu_umfpack.c - sparse LU factors by UMFPACK, which neither prints nor ends the process: its status becomes
 * ours. UMFPACK counts by columns, so that it is given A', and solves with the transpose of that.
 *
 * Ordering    UMFPACK's own choice: for a symmetric pattern AMD, with pivots from the diagonal, else COLAMD
 * Source      T. A. Davis, Algorithm 832: UMFPACK V4.3, an unsymmetric-pattern multifrontal method, ACM
 *             TOMS 30 (2004), 196-199
 */
#include "precond/factor.h"
#include KRY_UMFPACK_HEADER
#include <stdlib.h>
#include <string.h>

typedef struct factor {
    int n;
    int *start; /* of the columns of A': n + 1 */
    void *symbolic;
    double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
    double *room; /* n: a right-hand side */
} factor;

static kry_status check(const factor *f, int status, const char *what)
{
    kry_status st = KRY_OK;

    CHECK(status != UMFPACK_ERROR_out_of_memory, KRY_ERR_MEMORY,
          "%s: no host memory for the LU factors of %d rows, up to %.3g bytes", what, f->n,
          f->info[UMFPACK_PEAK_MEMORY_ESTIMATE] * f->info[UMFPACK_SIZE_OF_UNIT]);
    CHECK(status >= UMFPACK_OK, KRY_ERR_UNSUPPORTED, "%s failed with status %d", what, status);
done:
    return st;
}

static void umfpack_destroy(void *self)
{
    factor *f = self;

    if (!f) return;
    if (f->symbolic) umfpack_di_free_symbolic(&f->symbolic);
    free(f->room);
    free(f->start);
    free(f);
}

/* UMFPACK's own estimates are bounds. With pivots from the diagonal the count of Cholesky's factors is what they take; else
 * a quarter of the operations, and a third of the memory, on the public matrices of docs/reference/outcomes.md. */
static kryi_factor_cost expect(const factor *f)
{
    const double *info = f->info, flop = 4e-10;

    if (info[UMFPACK_SYMMETRIC_FLOPS] >= 0)
        return (kryi_factor_cost){ info[UMFPACK_SYMMETRIC_FLOPS] * flop,
                                   info[UMFPACK_SYMMETRIC_LUNZ] * (sizeof(double) + sizeof(int)) };
    return (kryi_factor_cost){ info[UMFPACK_FLOPS_ESTIMATE] / 4 * flop,
                               info[UMFPACK_PEAK_MEMORY_ESTIMATE] * info[UMFPACK_SIZE_OF_UNIT] /
                                   3 };
}

static kry_status umfpack_analyse(const kryi_csr *A, kryi_factor_cost *cost, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;

    *self = NULL;
    CHECK(kryi_csr_nnz(A) < INT32_MAX, KRY_ERR_UNSUPPORTED,
          "a matrix of %lld entries is too large for UMFPACK", (long long)kryi_csr_nnz(A));
    TRY(kryi_alloc(1, sizeof *f, &f));
    f->n = (int)A->rows;
    TRY(kryi_alloc((size_t)A->rows + 1, sizeof *f->start, &f->start));
    TRY(kryi_alloc((size_t)A->rows + 1, sizeof *f->room, &f->room));
    for (int64_t i = 0; i <= A->rows; i++) f->start[i] = (int)A->row_ptr[i];
    umfpack_di_defaults(f->control);
    f->control[UMFPACK_PRL] = 0;
    f->control[UMFPACK_IRSTEP] = 0; /* the solver refines, by the residual of the operator */
    TRY(check(f,
              umfpack_di_symbolic(f->n, f->n, f->start, A->col, A->val, &f->symbolic, f->control,
                                  f->info),
              "umfpack_di_symbolic"));
    *cost = expect(f);
    *self = f, f = NULL;
done:
    umfpack_destroy(f);
    return st;
}

/* Names a row whose pivot is zero. */
static kry_status tell_singular(factor *f, void *numeric)
{
    kry_status st = KRY_OK;
    int *order = NULL, row = -1, unused;
    double *pivot = NULL;

    TRY(kryi_alloc((size_t)f->n, sizeof *order, &order));
    TRY(kryi_alloc((size_t)f->n, sizeof *pivot, &pivot));
    TRY(check(f,
              umfpack_di_get_numeric(NULL, NULL, NULL, NULL, NULL, NULL, NULL, order, pivot,
                                     &unused, NULL, numeric),
              "umfpack_di_get_numeric"));
    for (int k = 0; k < f->n && row < 0; k++)
        if (!(pivot[k] > 0 || pivot[k] < 0)) row = order[k];
    TRY(kryi_factor_dependent(row));
done:
    free(pivot);
    free(order);
    return st;
}

static void umfpack_release(void *self, void *numeric)
{
    (void)self;
    if (numeric) umfpack_di_free_numeric(&numeric);
}

static kry_status umfpack_factor(void *self, const kryi_csr *A, double most, void **numbers)
{
    kry_status st = KRY_OK;
    factor *f = self;
    void *numeric = NULL;

    *numbers = NULL;
    (void)most; /* the analysis has a bound for it */
    const int status =
        umfpack_di_numeric(f->start, A->col, A->val, f->symbolic, &numeric, f->control, f->info);
    TRY(check(f, status, "umfpack_di_numeric"));
    if (status == UMFPACK_WARNING_singular_matrix) TRY(tell_singular(f, numeric));
    *numbers = numeric, numeric = NULL;
done:
    umfpack_release(f, numeric);
    return st;
}

static kry_status umfpack_solve(void *self, void *numbers, double *x, bool transposed)
{
    kry_status st = KRY_OK;
    factor *f = self;

    memcpy(f->room, x, (size_t)f->n * sizeof *x);
    TRY(check(f,
              umfpack_di_solve(transposed ? UMFPACK_A : UMFPACK_At, NULL, NULL, NULL, x, f->room,
                               numbers, f->control, f->info),
              "umfpack_di_solve"));
done:
    return st;
}

static double umfpack_bytes(const void *self, const void *numbers)
{
    const factor *f = self;

    (void)numbers;
    return f->info[UMFPACK_NUMERIC_SIZE] * f->info[UMFPACK_SIZE_OF_UNIT];
}

const kryi_factor_engine kryi_factor_umfpack = {
    .name = "LU, UMFPACK",
    .analyse = umfpack_analyse,
    .factor = umfpack_factor,
    .solve = umfpack_solve,
    .bytes = umfpack_bytes,
    .release = umfpack_release,
    .destroy = umfpack_destroy,
};
