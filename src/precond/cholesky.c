/* cholesky.c - what both factorisations need: pivots, and whether they are any good. */
#include "precond/cholesky.h"
#include <float.h>

double kry_cholesky_diagonal(const kry_sparse *E, int64_t i)
{
    int64_t e = kry_sparse_find(E, i, i);
    return e < 0 ? 0 : ((const double *)E->val)[e];
}

/* Where vectors are dependent, their pivot is roundoff: of n sums of E_ii each, up to chance. */
bool kry_cholesky_pivot_fits(double pivot, double diagonal, int64_t n)
{
    return pivot > 4 * DBL_EPSILON * (double)n * diagonal && pivot > 0 && pivot <= DBL_MAX;
}

kry_status kry_cholesky_dependent(const kry_sparse *E, int64_t i)
{
    return kry_fail(KRY_ERR_SINGULAR,
                    "linearly dependent deflation vectors: vector %lld depends on the others, or "
                    "its entry %g on the diagonal of Z'AZ is not positive",
                    (long long)i, kry_cholesky_diagonal(E, i));
}
