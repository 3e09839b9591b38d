/* hyb.c - the first entries of each row in ELL, the rest in COO. Kernels: cl/sell.cl, cl/coo.cl. */
#include "matrix/matrix.h"
#include <stdio.h>
#include <stdlib.h>

/* A column of ELL pays as long as a third of the rows have an entry in it, because COO takes about
 * three times as long per entry (Bell and Garland, SC09, 2009). */
static kry_status choose_width(const kry_sparse *host, int64_t *width)
{
    kry_status st = KRY_OK;
    int64_t longest = kry_longest_row(host), *longer = NULL; /* rows with more than k entries */

    TRY(kry_alloc((size_t)longest + 1, sizeof *longer, &longer));
    for (int64_t i = 0; i < host->rows; i++) longer[kry_row_length(host, i)]++;
    for (int64_t k = longest, rows = 0; k >= 0; k--) {
        int64_t with_k = longer[k];
        longer[k] = rows;
        rows += with_k;
    }
    for (*width = 0; *width < longest && 3 * longer[*width] >= host->rows;) ++*width;
done:
    free(longer);
    return st;
}

kry_status kry_hyb_estimate(const kry_sparse *host, int64_t *width, int64_t *tail)
{
    kry_status st = KRY_OK;

    TRY(choose_width(host, width));
    *tail = 0;
    for (int64_t i = 0; i < host->rows; i++) {
        int64_t rest = kry_row_length(host, i) - *width;
        if (rest > 0) *tail += rest;
    }
done:
    return st;
}

static kry_status hyb_build(kry_matrix *A, const kry_sparse *host)
{
    kry_status st = KRY_OK;
    int64_t width, tail;

    TRY(kry_hyb_estimate(host, &width, &tail));
    double ell = (double)width * (double)kry_ell_stride(host->rows);
    TRY(kry_matrix_slots(A, ell + (double)tail, 4 * ell + 8 * (double)tail));
    TRY(kry_ell_stage(A, host, width));
    if (tail) TRY(kry_coo_stage(A, host, width, (int64_t)ell));
    snprintf(A->variant, sizeof A->variant, "%lld entries to a row in ell, %lld in coo",
             (long long)width, (long long)tail);
done:
    return st;
}

const kry_format_table kry_hyb_format = {
    .format = KRY_FORMAT_HYB,
    .build = hyb_build,
};
