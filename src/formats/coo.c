/* coo.c - matrices from coordinates: sorted on the host, stored as CSR. */
#include "host_csr.h"

kry_status kry_coo_create(kry_device *dev, kry_type type, int64_t rows, int64_t cols, int64_t nnz,
                          const int32_t *row, const int32_t *col, const void *val,
                          const kry_csr_params *params, kry_op **op)
{
    static const kry_csr_params defaults = { .struct_size = sizeof defaults };
    static const char who[] = "kry_coo_create";
    kry_status st = KRY_OK;
    kry_host_csr A = { 0 };

    *op = NULL;
    if (!params) params = &defaults;
    TRY(kry_csr_check_params(who, dev, type, rows, cols, params));
    CHECK(nnz >= 0 && (nnz == 0 || (row && col && val)), KRY_ERR_ARGUMENT,
          "%s: nnz = %lld, or an array is NULL", who, (long long)nnz);
    static const int32_t nothing;
    kry_entries e = { .who = who,
                      .rows = rows,
                      .cols = cols,
                      .nnz = nnz,
                      .type = type,
                      .row = row ? row : &nothing,
                      .col = col,
                      .val = val };
    TRY(kry_host_csr_create(&e, params, &A));
    TRY(kry_csr_from_host(dev, &A, params->traits, op));
done:
    kry_host_csr_release(&A);
    return st;
}
