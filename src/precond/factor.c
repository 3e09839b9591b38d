/* factor.c - sparse factors of a matrix on the host: which engine makes them, and whether there is memory. */
#include "precond/factor.h"
#include "matrix/matrix.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are tried. */
static const struct {
    kryi_factor_kind least; /* that A is to be */
    bool pivots;            /* else its growth has no bound, and the residual decides */
    const kryi_factor_engine *engine;
} engines[] = {
#ifdef KRY_HAVE_CHOLMOD
#ifdef KRY_GPL
    { KRY_FACTOR_POSITIVE, true, &kryi_factor_cholesky },
#endif
    { KRY_FACTOR_SYMMETRIC, false, &kryi_factor_ldl },
#endif
#if defined KRY_HAVE_UMFPACK
    { KRY_FACTOR_GENERAL, true, &kryi_factor_umfpack },
#elif defined KRY_HAVE_KLU
    { KRY_FACTOR_GENERAL, true, &kryi_factor_klu },
#endif
    { KRY_FACTOR_GENERAL, true, NULL }, /* none */
};

/* The number of the first engine from number `from` on that takes matrices of this kind, or the last one, which is none. */
static size_t engine_for(kryi_factor_kind kind, size_t from)
{
    size_t at = from;
    while (at + 1 < COUNT(engines) && kind < engines[at].least) at++;
    return at;
}

static size_t number_of(const kryi_factor *F)
{
    size_t at = 0;
    while (at + 1 < COUNT(engines) && engines[at].engine != F->engine) at++;
    return at;
}

bool kryi_factor_offered(kryi_factor_kind kind) { return engines[engine_for(kind, 0)].engine; }

static kry_status look(const kryi_csr *A, kryi_factor_kind *kind)
{
    kry_status st = KRY_OK;
    kryi_finding found;

    TRY(kryi_matrix_inspect(A, &found));
    *kind = found.what == KRY_FOUND_ASYMMETRIC || found.zero_rows ? KRY_FACTOR_GENERAL
            : found.what == KRY_FOUND_NOT_POSITIVE                ? KRY_FACTOR_SYMMETRIC
                                                                  : KRY_FACTOR_POSITIVE;
done:
    return st;
}

static kry_status check_finite(const char *who, const kryi_csr *A)
{
    kry_status st = KRY_OK;
    const double *val = A->val;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            CHECK(isfinite(val[e]), KRY_ERR_ARGUMENT, "%s: entry (%lld, %lld) is %g" COUNTED, who,
                  ROW(i), ROW(A->col[e]), val[e], kryi_first_row);
done:
    return st;
}

/* The message of an engine that failed, with the name of the function that was called. */
static kry_status told(const char *who, kry_status st)
{
    char text[400];

    if (st >= 0) return st;
    snprintf(text, sizeof text, "%s", kry_last_error());
    return kry_fail(st, "%s: %s", who, text);
}

static kry_status analyse_by(const char *who, size_t at, const kryi_csr *A, kryi_factor *F)
{
    kry_status st = KRY_OK;
    const kryi_factor_engine *engine = engines[at].engine;

    CHECK(COUNT(engines) > 1, KRY_ERR_UNSUPPORTED,
          "%s: a direct solver needs KLU or CHOLMOD of SuiteSparse, and this build of kry has "
          "neither (docs/start.md)",
          who);
    CHECK(engine, KRY_ERR_UNSUPPORTED,
          "%s: the matrix is not symmetric, or its factors without pivoting are of no use: a "
          "direct solver needs KLU of SuiteSparse for it, which this build of kry does not have "
          "(docs/start.md); take method=bicgstab, gmres or minres",
          who);
    F->engine = engine;
    F->rows = A->rows;
    TRY(told(who, engine->analyse(A, &F->cost, &F->self)));
done:
    return st;
}

kry_status kryi_factor_analyse(const char *who, const kryi_csr *A, kryi_factor *F)
{
    kry_status st = KRY_OK;
    kryi_factor_kind kind;

    *F = (kryi_factor){ 0 };
    TRY(look(A, &kind));
    TRY(analyse_by(who, engine_for(kind, 0), A, F));
    F->fresh = true;
done:
    if (st < 0) kryi_factor_release(F);
    return st;
}

double kryi_factor_memory(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static kry_status check_memory(const char *who, const kryi_csr *A, double most,
                               const kryi_factor *F)
{
    kry_status st = KRY_OK;

    CHECK(F->cost.bytes <= most, KRY_ERR_MEMORY,
          "%s: the factors of %lld rows and %lld entries would take about %.3g bytes (%s), and "
          "there are %.3g; take an iterative method",
          who, (long long)A->rows, (long long)kryi_csr_nnz(A), F->cost.bytes, F->engine->name,
          most);
done:
    return st;
}

/* Largest column sum of |a_ij|; sums: room for n numbers. */
static double norm_of(const kryi_csr *A, double *sums)
{
    const double *val = A->val;
    double most = 0;

    memset(sums, 0, (size_t)A->rows * sizeof *sums);
    for (int64_t e = 0; e < kryi_csr_nnz(A); e++) sums[A->col[e]] += fabs(val[e]);
    for (int64_t i = 0; i < A->rows; i++) most = fmax(most, sums[i]);
    return most;
}

/* r := b - A x and *worst := max |r|; *scale := max |A| |x| + |b|. b is in [-1, 1), by a hash. */
static void probe_residual(const kryi_csr *A, const double *x, double *r, double *worst,
                           double *scale)
{
    const double *val = A->val;

    *worst = *scale = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        double size = 1;
        r[i] = ldexp((double)((uint32_t)(i + 1) * UINT32_C(2654435761)), -31) - 1;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            r[i] -= val[e] * x[A->col[e]];
            size += fabs(val[e] * x[A->col[e]]);
        }
        if (!(fabs(r[i]) <= *worst)) *worst = fabs(r[i]); /* NaN stays */
        *scale = fmax(*scale, size);
    }
}

/* Whether the factors solve a system so well that refinement does the rest: a few steps of it do. x, r: room for n numbers */
static kry_status probe(const kryi_factor *F, const kryi_csr *A, double *x, double *r, bool *works)
{
    enum { STEPS = 4 };
    const double enough = 1e-10;
    kry_status st = KRY_OK;
    double worst, scale;

    *works = false;
    memset(x, 0, (size_t)A->rows * sizeof *x);
    probe_residual(A, x, r, &worst, &scale);
    for (int k = 0; k < STEPS && !*works && isfinite(worst); k++) {
        TRY(F->engine->solve(F->self, F->numbers, r, false));
        for (int64_t i = 0; i < A->rows; i++) x[i] += r[i];
        probe_residual(A, x, r, &worst, &scale);
        *works = worst <= enough * scale;
    }
done:
    return st;
}

/* Factor A by the engine of F, which has no factors, and say *other if that refuses it and another one may take it. */
static kry_status factor_by(const char *who, const kryi_csr *A, double most, kryi_factor *F,
                            bool *other)
{
    kry_status st = KRY_OK;
    double *x = NULL, *r = NULL;
    const size_t at = number_of(F);
    bool works = true;

    *other = false;
    TRY(check_memory(who, A, most, F));
    TRY(kryi_alloc((size_t)A->rows, sizeof *x, &x));
    TRY(kryi_alloc((size_t)A->rows, sizeof *r, &r));
    F->norm = norm_of(A, x);
    st = F->engine->factor(F->self, A, most, &F->numbers);
    *other = st == KRY_ERR_SINGULAR && engines[at].least > KRY_FACTOR_GENERAL;
    if (*other) st = KRY_OK;
    TRY(told(who, st));
    if (!*other) F->bytes = F->engine->bytes(F->self, F->numbers);
    if (!*other && !engines[at].pivots) TRY(probe(F, A, x, r, &works));
    *other |= !works;
done:
    free(x), free(r);
    return st;
}

/* Release F, but for an order that it shares with another one. */
static void release_beside(kryi_factor *F, const kryi_factor *other)
{
    if (F->numbers) F->engine->release(F->self, F->numbers);
    if (F->self && F->self != other->self) F->engine->destroy(F->self);
    *F = (kryi_factor){ 0 };
}

kry_status kryi_factor_numbers(const char *who, const kryi_csr *A, double most, kryi_factor *F)
{
    kry_status st = KRY_OK;
    kryi_factor_kind kind = KRY_FACTOR_POSITIVE;
    kryi_factor made = { 0 };
    bool other;

    if (most == 0) most = kryi_factor_memory();
    TRY(check_finite(who, A));
    if (engines[number_of(F)].least > KRY_FACTOR_GENERAL && !F->fresh) TRY(look(A, &kind));
    F->fresh = false;
    other = kind < engines[number_of(F)].least;
    made = *F, made.numbers = NULL;
    if (!other) TRY(factor_by(who, A, most, &made, &other));
    while (other) {
        const size_t next = engine_for(kind, number_of(&made) + 1);
        release_beside(&made, F);
        TRY(analyse_by(who, next, A, &made));
        TRY(factor_by(who, A, most, &made, &other));
    }
    const kryi_factor old = *F;
    *F = made, made = old;
done:
    release_beside(&made, F);
    return st;
}

kry_status kryi_factor_solve(const kryi_factor *F, double *x)
{
    return F->engine->solve(F->self, F->numbers, x, false);
}

static kry_status solve_either(void *user, double *x, bool transposed)
{
    const kryi_factor *F = user;
    return F->engine->solve(F->self, F->numbers, x, transposed);
}

kry_status kryi_factor_condition(const kryi_factor *F, double *condition)
{
    kry_status st = KRY_OK;
    kryi_factor same = *F; /* for whom it is not constant */
    double inverse;

    TRY(kryi_inverse_norm(F->rows, solve_either, &same, &inverse));
    *condition = F->norm * inverse;
    if (!isfinite(*condition)) *condition = INFINITY;
done:
    return st;
}

void kryi_factor_release(kryi_factor *F) { release_beside(F, &(kryi_factor){ 0 }); }

kry_status kryi_factor_dependent(int64_t row)
{
    if (row < 0)
        return kry_fail(KRY_ERR_SINGULAR, "the matrix is singular: its pivots range too widely");
    return kry_fail(KRY_ERR_SINGULAR,
                    "the matrix is singular: row %lld depends on the others" COUNTED, ROW(row),
                    kryi_first_row);
}
