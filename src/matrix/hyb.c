/* hyb.c - the first entries of each row in ELL, the rest in COO. Kernels: cl/formats/ell.cl, cl/formats/coo.cl. */
#include "matrix/given.h"
#include <stdio.h>
#include <stdlib.h>

/* A column of ELL pays as long as a third of the rows have an entry in it, because COO takes about
 * three times as long per entry (Bell and Garland, SC09, 2009). */
kry_status kryi_hyb_estimate(const kryi_given *given, int64_t longest, int64_t *width,
                             int64_t *tail)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    cl_int *with = NULL; /* rows of each length */

    *width = *tail = 0;
    TRY(kryi_alloc((size_t)longest + 1, sizeof *with, &with));
    if (given->C.dev)
        TRY(kryi_given_lengths(&given->C, longest, with));
    else
        for (int64_t i = 0; i < host->rows; i++) with[kryi_row_length(host, i)]++;
    for (int64_t k = longest, longer = 0; k > 0; k--) {
        longer += with[k]; /* rows with k entries at least */
        if (3 * longer >= host->rows)
            ++*width;
        else
            *tail += longer;
    }
done:
    free(with);
    return st;
}

kry_status kryi_hyb_build(kryi_matrix *A, const kryi_given *given)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    int64_t width, tail;

    TRY(kryi_hyb_estimate(given, kryi_longest_row(host), &width, &tail));
    double ell = (double)width * (double)kryi_ell_stride(host->rows);
    TRY(kryi_matrix_slots(A, ell + (double)tail, 4 * ell + 8 * (double)tail));
    TRY(kryi_alloc((uint64_t)A->nnz, sizeof *A->slot, &A->slot));
    TRY(kryi_ell_stage(A, host, width));
    if (tail) TRY(kryi_coo_stage(A, host, width, (int64_t)ell));
    snprintf(A->variant, sizeof A->variant, "%lld entries to a row in ell, %lld in coo",
             (long long)width, (long long)tail);
done:
    return st;
}
