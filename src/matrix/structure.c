/* structure.c - the properties of a matrix that decide how fast formats are. */
#include "matrix/choose.h"
#include <stdlib.h>

/* Count the diagonals with entries; it stops at a few times the mean length of a row. */
static kry_status count_diagonals(const kry_sparse *host, kry_structure *s)
{
    kry_status st = KRY_OK;
    int64_t most = host->rows ? 4 * (kry_sparse_nnz(host) / host->rows) + 16 : 0;
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

/* The hash of a sample of row pointers and columns: other patterns seldom have the same one. */
static uint64_t hash_of(const kry_sparse *host, const kry_matrix_params *params,
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

kry_status kry_structure_of(const kry_device *dev, const kry_sparse *host,
                            const kry_matrix_params *params, kry_structure *s)
{
    kry_status st = KRY_OK;
    int64_t nnz = kry_sparse_nnz(host);
    kry_type stored = kry_stored_type(host->type, params->values, host->val, nnz);

    *s = (kry_structure){ .rows = host->rows,
                          .cols = host->cols,
                          .nnz = nnz,
                          .number = (double)kry_type_size(host->type),
                          .value = (double)kry_type_size(stored),
                          .longest = kry_longest_row(host) };
    TRY(count_diagonals(host, s));
    if (s->few_diagonals) TRY(kry_sparse_is_symmetric(host, &s->symmetric));
    TRY(kry_sell_estimate(dev, host, params, &s->sell_slots, &s->sell_sorted, &s->sell_index));
    TRY(kry_hyb_estimate(host, &s->ell_width, &s->ell_tail));
    s->hash = hash_of(host, params, s);
done:
    return st;
}
