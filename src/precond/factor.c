/* factor.c - sparse factors of a matrix on the host: which engine makes them, and whether there is memory. */
#include "precond/factor.h"
#include "matrix/matrix.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#ifdef KRY_HAVE_CHOLMOD
static const kry_factor_engine *const cholesky = &kry_factor_cholmod;
#else
static const kry_factor_engine *const cholesky = NULL;
#endif
#ifdef KRY_HAVE_UMFPACK
static const kry_factor_engine *const lu = &kry_factor_umfpack;
#else
static const kry_factor_engine *const lu = NULL;
#endif

/* Symmetric, with a positive diagonal: Cholesky's factors are worth a try. */
static kry_status look_positive(const kry_sparse *A, bool *positive)
{
    kry_status st = KRY_OK;
    kry_finding found;

    TRY(kry_matrix_inspect(A, &found, NULL));
    *positive = found.what == KRY_FOUND_NOTHING && !found.zero_rows;
done:
    return st;
}

static kry_status check_finite(const char *who, const kry_sparse *A)
{
    kry_status st = KRY_OK;
    const double *val = A->val;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            CHECK(isfinite(val[e]), KRY_ERR_ARGUMENT, "%s: entry (%lld, %lld) is %g" COUNTED, who,
                  ROW(i), ROW(A->col[e]), val[e], kry_first_row);
done:
    return st;
}

/* What an engine says of a failure, with the name of the function that was called. */
static kry_status told(const char *who, kry_status st)
{
    char text[400];

    if (st >= 0) return st;
    snprintf(text, sizeof text, "%s", kry_last_error());
    return kry_fail(st, "%s: %s", who, text);
}

static kry_status analyse_by(const char *who, const kry_factor_engine *engine, const kry_sparse *A,
                             kry_factor *F)
{
    kry_factor_release(F);
    F->engine = engine;
    return told(who, engine->analyse(A, &F->cost, &F->self));
}

bool kry_factor_offered(bool positive) { return lu || (positive && cholesky); }

kry_status kry_factor_analyse(const char *who, const kry_sparse *A, kry_factor *F)
{
    kry_status st = KRY_OK;
    bool positive;

    *F = (kry_factor){ 0 };
    CHECK(cholesky || lu, KRY_ERR_UNSUPPORTED,
          "%s: a direct solver needs CHOLMOD or UMFPACK of SuiteSparse, and this build of kry has "
          "neither (docs/direct.md)",
          who);
    TRY(look_positive(A, &positive));
    CHECK(kry_factor_offered(positive), KRY_ERR_UNSUPPORTED,
          "%s: the matrix is not symmetric with a positive diagonal: a direct solver needs UMFPACK "
          "of SuiteSparse for it, which only builds with -Dgpl=true have; take method=bicgstab, "
          "gmres or minres",
          who);
    TRY(analyse_by(who, positive && cholesky ? cholesky : lu, A, F));
    F->fresh = true;
done:
    if (st < 0) kry_factor_release(F);
    return st;
}

static double memory_of_this_machine(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static kry_status check_memory(const char *who, const kry_sparse *A, double most,
                               const kry_factor *F)
{
    kry_status st = KRY_OK;

    if (most == 0) most = memory_of_this_machine();
    CHECK(F->cost.bytes <= most, KRY_ERR_MEMORY,
          "%s: the factors of %lld rows and %lld entries would take about %.3g bytes (%s), and "
          "there are %.3g; take an iterative method",
          who, (long long)A->rows, (long long)kry_sparse_nnz(A), F->cost.bytes, F->engine->name,
          most);
done:
    return st;
}

static kry_status factor_by_lu(const char *who, const kry_sparse *A, double most, kry_factor *F)
{
    kry_status st = KRY_OK;

    CHECK(lu, KRY_ERR_UNSUPPORTED,
          "%s: the matrix is not positive definite: a direct solver needs UMFPACK of SuiteSparse "
          "for it, which only builds with -Dgpl=true have; take method=minres",
          who);
    TRY(analyse_by(who, lu, A, F));
    TRY(check_memory(who, A, most, F));
    TRY(told(who, lu->factor(F->self, A)));
done:
    return st;
}

kry_status kry_factor_numbers(const char *who, const kry_sparse *A, double most, kry_factor *F)
{
    kry_status st = KRY_OK;
    bool positive = true;

    TRY(check_finite(who, A));
    if (F->engine == cholesky && !F->fresh) TRY(look_positive(A, &positive));
    F->fresh = false;
    if (!positive) return factor_by_lu(who, A, most, F);
    TRY(check_memory(who, A, most, F));
    st = F->engine->factor(F->self, A);
    if (st == KRY_ERR_SINGULAR && F->engine == cholesky) return factor_by_lu(who, A, most, F);
    TRY(told(who, st));
done:
    return st;
}

kry_status kry_factor_solve(const kry_factor *F, double *x)
{
    return F->engine->solve(F->self, x, 1);
}

void kry_factor_release(kry_factor *F)
{
    if (F->engine) F->engine->destroy(F->self);
    *F = (kry_factor){ 0 };
}
