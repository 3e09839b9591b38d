/* structure.c - what a matrix looks like, as far as it decides how fast formats are. */
#include "matrix/choose.h"
#include <stdlib.h>
#include <string.h>

/* Distinct diagonals, given up beyond a few times the mean length of a row. */
static kry_status count_diagonals(const kry_host_csr *host, kry_structure *s)
{
    kry_status st = KRY_OK;
    int64_t most = host->rows ? 4 * (host->nnz / host->rows) + 16 : 0;
    unsigned char *seen = NULL;

    TRY(kry_alloc((size_t)(host->rows + host->cols), 1, &seen));
    for (int64_t i = 0; i < host->rows && s->diagonals <= most; i++)
        for (int64_t k = host->row_ptr[i]; k < host->row_ptr[i + 1]; k++) {
            int64_t d = host->col[k] - i + host->rows;
            if (seen[d]) continue;
            seen[d] = 1;
            s->diagonals++;
            s->upper += d > host->rows;
        }
    s->upper++; /* the main one is stored in any case */
    s->few_diagonals = s->diagonals <= most;
done:
    free(seen);
    return st;
}

/* Whether each entry below the diagonal is what the row above expects next: one pass, with a
 * cursor into every row. */
static kry_status find_symmetric(const kry_host_csr *host, bool *symmetric)
{
    kry_status st = KRY_OK;
    int64_t *cursor = NULL;
    size_t size = kry_type_size(host->type);
    const char *val = host->val;

    *symmetric = false;
    if (host->rows != host->cols) return KRY_OK;
    TRY(kry_alloc((size_t)host->rows, sizeof *cursor, &cursor));
    for (int64_t i = 0; i < host->rows; i++) cursor[i] = host->row_ptr[i];
    for (int64_t i = 0; i < host->rows; i++) /* rows of the transpose, entry by entry */
        for (int64_t k = host->row_ptr[i]; k < host->row_ptr[i + 1]; k++) {
            int64_t j = host->col[k], at = cursor[j]++;
            if (at == host->row_ptr[j + 1] || host->col[at] != i) goto done;
            if (memcmp(val + (size_t)k * size, val + (size_t)at * size, size)) goto done;
        }
    *symmetric = true;
done:
    free(cursor);
    return st;
}

/* A sample of row pointers and columns: the same for the same pattern, and seldom for another. */
static uint64_t hash_of(const kry_host_csr *host, const kry_matrix_params *params,
                        const kry_structure *s)
{
    enum { SAMPLES = 65536 };
    const int64_t numbers[] = { s->rows,           s->cols,           s->nnz,
                                s->longest,        s->diagonals,      s->upper,
                                (int64_t)s->value, (int64_t)s->number };
    uint64_t h = kry_hash(KRY_HASH_START, numbers, sizeof numbers);
    int64_t step = s->rows / SAMPLES + 1;

    for (int64_t i = 0; i < s->rows; i += step)
        h = kry_hash(h, &host->row_ptr[i], sizeof host->row_ptr[i]);
    step = s->nnz / SAMPLES + 1;
    for (int64_t k = 0; k < s->nnz; k += step) h = kry_hash(h, &host->col[k], sizeof host->col[k]);
    return params->form == KRY_FLUX ? kry_hash(h, "flux", 4) : h;
}

kry_status kry_structure_of(const kry_device *dev, const kry_host_csr *host,
                            const kry_matrix_params *params, kry_structure *s)
{
    kry_status st = KRY_OK;
    kry_type stored = kry_stored_type(host->type, params->values, host->val, host->nnz);

    *s = (kry_structure){ .rows = host->rows,
                          .cols = host->cols,
                          .nnz = host->nnz,
                          .number = (double)kry_type_size(host->type),
                          .value = (double)kry_type_size(stored),
                          .longest = kry_longest_row(host) };
    TRY(count_diagonals(host, s));
    if (s->few_diagonals) TRY(find_symmetric(host, &s->symmetric));
    TRY(kry_sell_estimate(dev, host, params, &s->sell_slots, &s->sell_sorted, &s->sell_index));
    TRY(kry_hyb_estimate(host, &s->ell_width, &s->ell_tail));
    s->hash = hash_of(host, params, s);
done:
    return st;
}
