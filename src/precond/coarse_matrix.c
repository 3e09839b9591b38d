/* coarse_matrix.c - whether a coarse matrix is one, and whether its pattern is another's. */
#include "precond/coarse.h"
#include <math.h>

static kry_status check_row(const kry_coarse_matrix *E, int64_t i)
{
    kry_status st = KRY_OK;
    int64_t last = -1;

    CHECK(E->row_ptr[i + 1] >= E->row_ptr[i], KRY_ERR_ARGUMENT,
          "coarse matrix: row_ptr falls after row %lld", (long long)i);
    for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++) {
        CHECK(E->col[e] > last && E->col[e] < E->k, KRY_ERR_ARGUMENT,
              "coarse matrix: column %d of row %lld is out of order or not in [0, %lld)", E->col[e],
              (long long)i, (long long)E->k);
        CHECK(isfinite(E->val[e]), KRY_ERR_ARGUMENT,
              "coarse matrix: the entry of deflation vectors %lld and %d is %g", (long long)i,
              E->col[e], E->val[e]);
        last = E->col[e];
    }
done:
    return st;
}

kry_status kry_coarse_matrix_check(const kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;

    CHECK(E && E->row_ptr, KRY_ERR_ARGUMENT, "coarse matrix: NULL");
    CHECK(E->k >= 1 && E->k <= INT32_MAX, KRY_ERR_ARGUMENT, "coarse matrix: %lld-by-%lld",
          (long long)E->k, (long long)E->k);
    CHECK(E->row_ptr[0] == 0, KRY_ERR_ARGUMENT, "coarse matrix: row_ptr does not start at 0");
    for (int64_t i = 0; i < E->k; i++) TRY(check_row(E, i));
done:
    return st;
}

uint64_t kry_coarse_matrix_pattern(const kry_coarse_matrix *E)
{
    uint64_t h = kry_hash(KRY_HASH_START, E->row_ptr, ((size_t)E->k + 1) * sizeof *E->row_ptr);
    return kry_hash(h, E->col, (size_t)E->row_ptr[E->k] * sizeof *E->col);
}
