/* create.c - the public functions that make stored matrices of host arrays, on a device, on the host or in parts. */
#include "device/pool.h"
#include "host/host.h"
#include "matrix/given.h"
#include "matrix/matrix_parts.h"
#include "operator/op.h"

/* In csr, with all its digits, on a host device. The format that was asked for is that of its copies in
 * single. */
static kry_status keep_on_host(kry_device *dev, kryi_given *G, kryi_csr *host,
                               const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_device *beside = NULL;
    kry_matrix_params p = *params;

    p.on_host = false;
    p.format = KRY_FORMAT_CSR, p.values = KRY_VALUES_AS_GIVEN;
    TRY(kryi_host_beside(dev, &beside));
    TRY(kryi_matrix_keep(beside, G, host, &p, op));
    kryi_matrix_of(*op)->params.format = params->format;
done:
    kry_device_release(&beside);
    return st;
}

/* Check sizes, parameters and that the arrays are there; their contents are looked at when they are sorted. Finds e->nnz
 * of compressed rows. */
static kry_status check_arrays(kry_device *dev, kryi_entries *e, bool coordinates,
                               const kry_matrix_params *params)
{
    kry_status st = KRY_OK;
    const kryi_csr *given = &e->given;

    TRY(kryi_matrix_check_params(e->who, dev, given->type, given->rows, given->cols, params));
    if (coordinates) {
        bool there = e->row && given->col && given->val;
        CHECK(e->nnz >= 0 && (e->nnz == 0 || there), KRY_ERR_ARGUMENT,
              "%s: nnz = %lld, or an array is NULL", e->who, (long long)e->nnz);
    } else {
        CHECK(given->row_ptr, KRY_ERR_ARGUMENT, "%s: row_ptr is NULL", e->who);
        e->nnz = kryi_csr_nnz(given);
        CHECK(e->nnz == 0 || (given->col && given->val), KRY_ERR_ARGUMENT, "%s: col or val is NULL",
              e->who);
        CHECK(e->nnz >= 0, KRY_ERR_ARGUMENT, "%s: row_ptr[%lld] = %lld is negative", e->who,
              (long long)given->rows, (long long)e->nnz);
    }
done:
    return st;
}

/* Solvers want to know what a caller's entries are like: GPUs look at them, or else the host. */
static kry_status create(kry_device *dev, kryi_entries e, bool coordinates,
                         const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_matrix_params mine;
    kryi_csr A = { 0 };
    kryi_given G = { 0 };
    bool pooled = false, diagonals;

    if (op) *op = NULL;
    st = kryi_check_given(e.who, "op, device", (const void *const[]){ op, dev });
    if (!op || !dev) goto done;
    TAKE_PARAMS(params, mine, e.who, "KRY_MATRIX");
    TRY(check_arrays(dev, &e, coordinates, params));
    TRY(kryi_pool_open(dev));
    pooled = true;
    if (e.nnz >= KRY_GIVEN_WORTH && !dev->info.cpu_kernels)
        TRY(kryi_given_upload(dev, &e, params, &G));
    /* Teams and the host choose formats of their own. */
    diagonals = !dev->team && !params->on_host &&
                (params->format == KRY_FORMAT_AUTO || params->format == KRY_FORMAT_DIA ||
                 params->format == KRY_FORMAT_SYMDIA);
    if (!G.C.dev) {
        G = (kryi_given){ .who = e.who, .host = &A };
        TRY(kryi_entries_compress(&e, params, !dev->team, &A, &G.map));
        TRY(kryi_given_inspect(&G, true, diagonals ? kryi_diagonals_of_use(&A) : 0));
        if (G.seen.faults & KRY_SEEN_NOT_FINITE)
            TRY(kryi_values_check(e.who, A.type, kryi_csr_nnz(&A), A.val));
    }
    CHECK(!dev->team || !params->on_host, KRY_ERR_UNSUPPORTED,
          "kry_csr_create: on_host is for one device, and this is a team of %d",
          kry_team_size(dev));
    if (params->on_host)
        TRY(keep_on_host(dev, &G, &A, params, op));
    else if (dev->team)
        TRY(kryi_matrix_in_parts(dev, &A, &G.map, params, NULL, op));
    else
        TRY(kryi_matrix_keep(dev, &G, &A, params, op));
    (*op)->found = G.finding;
    (*op)->inspected = true;
done:
    kryi_given_release(&G);
    kryi_entries_release(&e, &A);
    if (pooled) kryi_pool_close(dev);
    return st;
}

kry_status kry_csr_create(kry_device *dev, kry_type type, int64_t rows, int64_t cols,
                          const int64_t *row_ptr, const int32_t *col, const void *val,
                          const kry_matrix_params *params, kry_op **op)
{
    const kryi_csr given = { rows, cols, type, (int64_t *)row_ptr, (int32_t *)col, (void *)val };
    return create(dev, (kryi_entries){ "kry_csr_create", given, NULL, 0 }, false, params, op);
}

kry_status kry_coo_create(kry_device *dev, kry_type type, int64_t rows, int64_t cols, int64_t nnz,
                          const int32_t *row, const int32_t *col, const void *val,
                          const kry_matrix_params *params, kry_op **op)
{
    const kryi_csr given = { rows, cols, type, NULL, (int32_t *)col, (void *)val };
    return create(dev, (kryi_entries){ "kry_coo_create", given, row, nnz }, true, params, op);
}

kry_status kry_csr_predict(kry_device *dev, kry_type type, int64_t rows, int64_t cols,
                           const int64_t *row_ptr, const int32_t *col, const void *val,
                           const kry_matrix_params *params, double seconds[KRY_FORMAT_COUNT])
{
    kry_status st = KRY_OK;
    kryi_entries e = {
        __func__, { rows, cols, type, (int64_t *)row_ptr, (int32_t *)col, (void *)val }, NULL, 0
    };
    kryi_csr A = { 0 };
    kryi_given given = { .host = &A };
    kry_matrix_params mine;

    TRY(GIVEN(seconds, dev));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "%s: for one device, and this is a team of %d", e.who,
          kry_team_size(dev));
    TAKE_PARAMS(params, mine, e.who, "KRY_MATRIX");
    TRY(check_arrays(dev, &e, false, params));
    TRY(kryi_entries_compress(&e, params, true, &A, &given.map));
    TRY(kryi_numbers_check(e.who, type, A.val, kryi_csr_nnz(&A), &given.seen));
    TRY(kryi_predict(dev, &given, params, seconds, NULL));
done:
    kryi_given_release(&given);
    kryi_entries_release(&e, &A);
    return st;
}
