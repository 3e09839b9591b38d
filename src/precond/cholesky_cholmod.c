/*
 * cholesky_cholmod.c - sparse factors of symmetric matrices by CHOLMOD, which neither prints nor ends the process: its
 * status becomes ours.
 *
 *   P A P' = L L' of a positive definite A,  L D L' of any symmetric one, without pivoting
 *   P (A + E) P' = L D L' where a_ii is 0: e_ii is 2^-27 of the row's largest entry, of the sign that its neighbours bring there
 *
 * Ordering    approximate minimum degree, once
 * Factors     simplicial; supernodal ones L L', where CHOLMOD expects them to be faster, are under the GPL: in builds with
 *             gpl=true alone
 * Breakdown   a pivot that is roundoff. L D L' of an indefinite A has no bound for its growth: whoever takes it looks at a
 *             residual (factor.c), and refines what E changed
 * Source      Y. Chen, T. A. Davis, W. W. Hager, S. Rajamanickam, Algorithm 887: CHOLMOD,
 *             supernodal sparse Cholesky factorization and update/downdate, ACM TOMS 35 (2008). E: R. J. Vanderbei,
 *             Symmetric quasidefinite matrices, SIAM J. Optim. 5 (1995), doi:10.1137/0805005
 */
#include "precond/coarse.h"
#include "precond/factor.h"
#include KRY_CHOLMOD_HEADER
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct factor {
    int64_t n;
    cholmod_common common;
    cholmod_factor *L; /* an order without numbers; with the only ones in kryi_cholesky_cholmod */
    cholmod_dense *x, *y, *work, *b; /* kept from solve to solve; b: a header without numbers */
} factor;

/* CHOLMOD counts warnings from 1, errors below 0. */
static kry_status check(const factor *f, const char *what)
{
    kry_status st = KRY_OK;
    int status = f->common.status;

    CHECK(status != CHOLMOD_OUT_OF_MEMORY && status != CHOLMOD_TOO_LARGE, KRY_ERR_MEMORY,
          "no host memory for the Cholesky factor of %lld rows (%s)", (long long)f->n, what);
    CHECK(status >= CHOLMOD_OK, KRY_ERR_UNSUPPORTED, "%s failed with status %d", what, status);
done:
    return st;
}

static void cholmod_destroy(void *self)
{
    factor *f = self;
    if (!f) return;
    cholmod_common *c = &f->common;
    if (f->b) f->b->x = NULL; /* the caller's */
    cholmod_free_dense(&f->b, c);
    cholmod_free_dense(&f->work, c);
    cholmod_free_dense(&f->y, c);
    cholmod_free_dense(&f->x, c);
    cholmod_free_factor(&f->L, c);
    cholmod_finish(c);
    free(f);
}

/* definite: A is known, or supposed, to be positive definite, so that L L' is wanted. */
static void start(cholmod_common *c, bool definite)
{
    cholmod_start(c);
    c->print = 0;
    c->error_handler = NULL;
    c->useGPU = 0;
    c->final_ll = definite;
    c->supernodal = CHOLMOD_SIMPLICIAL;
#ifdef KRY_GPL
    if (definite) c->supernodal = CHOLMOD_AUTO;
#endif
    c->nmethods = 1; /* the others may call METIS, which ends the process when memory does */
    c->method[0].ordering = CHOLMOD_AMD;
}

/* number: on the diagonal of L, or of D */
static kry_status check_pivot(const factor *f, const kryi_csr *E, const cholmod_factor *L,
                              int64_t j, double number)
{
    const int *vector = L->Perm;
    const double diagonal = kryi_csr_entry(E, vector[j], vector[j]);

    if ((size_t)j < L->minor &&
        (L->is_ll ? kryi_cholesky_pivot_fits(number * number, diagonal, f->n)
                  : kryi_cholesky_pivot_fits(fabs(number), fabs(diagonal), f->n)))
        return KRY_OK;
    return kryi_cholesky_dependent(E, vector[j]);
}

static kry_status check_pivots(const factor *f, const kryi_csr *E, const cholmod_factor *L)
{
    kry_status st = KRY_OK;
    const double *x = L->x;
    const int *p = L->p, *super = L->super, *rows = L->pi, *first = L->px;

    for (int64_t j = 0; j < f->n && !L->is_super; j++) TRY(check_pivot(f, E, L, j, x[p[j]]));
    for (size_t s = 0; s < (L->is_super ? L->nsuper : 0); s++) /* dense blocks of columns */
        for (int j = 0; j < super[s + 1] - super[s]; j++)
            TRY(check_pivot(f, E, L, super[s] + j, x[first[s] + j * (rows[s + 1] - rows[s] + 1)]));
done:
    return st;
}

/* What stands for a zero at (i, i): elimination of the neighbours j brings - a_ij^2 / a_jj there. */
static double stand_in(const kryi_csr *E, int64_t i)
{
    const double *val = E->val;
    double most = 0, brought = 0;

    for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++) {
        const double neighbour = kryi_csr_entry(E, E->col[e], E->col[e]);
        most = fmax(most, fabs(val[e]));
        brought -= neighbour > 0 ? fabs(val[e]) : neighbour < 0 ? -fabs(val[e]) : 0;
    }
    return copysign(ldexp(most, -27), brought > 0 ? 1 : -1);
}

/* Row j of E from its diagonal on is column j of the lower triangle. */
static void fill(const factor *f, const kryi_csr *E, const cholmod_sparse *lower)
{
    int *p = lower->p, *row = lower->i, used = 0;
    double *val = lower->x;
    const double *from = E->val;

    for (int64_t j = 0; j < f->n; j++) {
        p[j] = used;
        if (kryi_csr_entry(E, j, j) == 0) row[used] = (int)j, val[used++] = stand_in(E, j);
        for (int64_t e = E->row_ptr[j]; e < E->row_ptr[j + 1]; e++) {
            if (E->col[e] < j || E->col[e] >= f->n || (E->col[e] == j && from[e] == 0)) continue;
            row[used] = E->col[e], val[used++] = from[e];
        }
    }
    p[f->n] = used;
}

/* The lower triangle of E, to be freed. */
static kry_status copy_lower(factor *f, const kryi_csr *E, cholmod_sparse **lower)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)f->n, nnz = (size_t)E->row_ptr[f->n] + n;

    *lower = cholmod_allocate_sparse(n, n, nnz, 1, 1, -1, CHOLMOD_REAL, &f->common);
    TRY(check(f, "cholmod_allocate_sparse"));
    fill(f, E, *lower);
done:
    return st;
}

/* Order the first n unknowns of E. */
static kry_status order(const kryi_csr *E, int64_t n, bool definite, factor **made)
{
    kry_status st = KRY_OK;
    factor *f = NULL;
    cholmod_sparse *lower = NULL;
    int64_t nnz = E->row_ptr[n];

    CHECK(nnz + n < INT32_MAX, KRY_ERR_UNSUPPORTED,
          "a matrix of %lld entries is too large for CHOLMOD", (long long)nnz);
    TRY(kryi_alloc(1, sizeof *f, &f));
    f->n = n;
    start(&f->common, definite);
    f->b = cholmod_allocate_dense(0, 0, 0, CHOLMOD_REAL, &f->common);
    TRY(check(f, "cholmod_allocate_dense"));
    cholmod_free(1, sizeof(double), f->b->x, &f->common);
    f->b->x = NULL;
    TRY(copy_lower(f, E, &lower));
    f->L = cholmod_analyze(lower, &f->common);
    TRY(check(f, "cholmod_analyze"));
    *made = f;
done:
    if (f) cholmod_free_sparse(&lower, &f->common);
    if (st < 0) cholmod_destroy(f);
    return st;
}

/* L: an order; its numbers come to it */
static kry_status factor_numbers(factor *f, const kryi_csr *E, cholmod_factor *L)
{
    kry_status st = KRY_OK;
    cholmod_sparse *lower = NULL;

    TRY(copy_lower(f, E, &lower));
    cholmod_factorize(lower, L, &f->common);
    TRY(check(f, "cholmod_factorize"));
    TRY(check_pivots(f, E, L));
done:
    cholmod_free_sparse(&lower, &f->common);
    return st;
}

static kry_status cholmod_create(const kryi_csr *E, int64_t n, double rounding, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;

    (void)rounding;
    *self = NULL;
    TRY(order(E, n, true, &f));
    TRY(factor_numbers(f, E, f->L));
    *self = f, f = NULL;
done:
    cholmod_destroy(f);
    return st;
}

/* A factor that stays simplicial grows while it is made: its entries are counted before. */
static kry_status analyse(const kryi_csr *A, bool definite, kryi_factor_cost *cost, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;

    *self = NULL;
    TRY(order(A, A->rows, definite, &f));
    const double entries = f->L->is_super ? (double)f->L->xsize : f->common.lnz;
    const double flop = f->L->is_super ? 2e-10 : 1e-9;
    *cost = (kryi_factor_cost){ f->common.fl * flop, entries * (sizeof(double) + sizeof(int)) };
    *self = f;
done:
    return st;
}

static kry_status ldl_analyse(const kryi_csr *A, kryi_factor_cost *cost, void **self)
{
    return analyse(A, false, cost, self);
}

/* Room for a solve. CHOLMOD 3.0 would make it itself, but does not survive it if that fails. */
static kry_status make_room(factor *f, const cholmod_factor *L, size_t columns)
{
    kry_status st = KRY_OK;
    size_t n = (size_t)f->n, wide = L->is_super ? L->maxesize : 0;
    cholmod_dense **room[] = { &f->x, &f->y, &f->work };

    for (size_t i = 0; i < COUNT(room); i++) {
        size_t rows = room[i] == &f->work ? wide : n;
        /* Where there is room, the status stays that of a failure before. */
        if (!cholmod_ensure_dense(room[i], rows, columns, rows, CHOLMOD_REAL, &f->common))
            TRY(check(f, "cholmod_ensure_dense"));
    }
done:
    return st;
}

static kry_status solve_block(factor *f, cholmod_factor *L, double *x, int64_t columns)
{
    kry_status st = KRY_OK;
    size_t n = (size_t)f->n;

    TRY(make_room(f, L, (size_t)columns));
    f->b->nrow = f->b->d = n, f->b->ncol = (size_t)columns, f->b->nzmax = n * f->b->ncol;
    f->b->x = x;
    cholmod_solve2(CHOLMOD_A, L, f->b, NULL, &f->x, NULL, &f->y, &f->work, &f->common);
    f->b->x = NULL;
    TRY(check(f, "cholmod_solve2"));
    memcpy(x, f->x->x, n * (size_t)columns * sizeof *x);
done:
    return st;
}

static kry_status cholmod_solve_block(void *self, double *x, int64_t columns)
{
    factor *f = self;
    return solve_block(f, f->L, x, columns);
}

static double bytes_of(const cholmod_factor *L)
{
    return L->is_super ? (double)L->xsize * sizeof(double) + (double)L->ssize * sizeof(int)
                       : (double)L->nzmax * (sizeof(double) + sizeof(int));
}

static double cholmod_bytes(const void *self) { return bytes_of(((const factor *)self)->L); }

const kryi_cholesky_engine kryi_cholesky_cholmod = {
    .name = "cholesky cholmod",
    .create = cholmod_create,
    .solve = cholmod_solve_block,
    .bytes = cholmod_bytes,
    .destroy = cholmod_destroy,
};

static void cholmod_release(void *self, void *numbers)
{
    factor *f = self;
    cholmod_factor *L = numbers;
    cholmod_free_factor(&L, &f->common);
}

static kry_status cholmod_factor_numbers(void *self, const kryi_csr *A, double most, void **numbers)
{
    kry_status st = KRY_OK;
    factor *f = self;
    cholmod_factor *L = NULL;

    *numbers = NULL;
    (void)most; /* the analysis knows what it takes */
    L = cholmod_copy_factor(f->L, &f->common);
    TRY(check(f, "cholmod_copy_factor"));
    TRY(factor_numbers(f, A, L));
    *numbers = L, L = NULL;
done:
    cholmod_release(f, L);
    return st;
}

/* A is symmetric. */
static kry_status cholmod_solve_factor(void *self, void *numbers, double *x, bool transposed)
{
    (void)transposed;
    return solve_block(self, numbers, x, 1);
}

static double cholmod_factor_bytes(const void *self, const void *numbers)
{
    (void)self;
    return bytes_of(numbers);
}

#ifdef KRY_GPL
static kry_status cholesky_analyse(const kryi_csr *A, kryi_factor_cost *cost, void **self)
{
    return analyse(A, true, cost, self);
}

const kryi_factor_engine kryi_factor_cholesky = {
    .name = "Cholesky, CHOLMOD",
    .analyse = cholesky_analyse,
    .factor = cholmod_factor_numbers,
    .solve = cholmod_solve_factor,
    .bytes = cholmod_factor_bytes,
    .release = cholmod_release,
    .destroy = cholmod_destroy,
};
#endif

const kryi_factor_engine kryi_factor_ldl = {
    .name = "L D L', CHOLMOD",
    .analyse = ldl_analyse,
    .factor = cholmod_factor_numbers,
    .solve = cholmod_solve_factor,
    .bytes = cholmod_factor_bytes,
    .release = cholmod_release,
    .destroy = cholmod_destroy,
};
