/* ell.c - ELLPACK: every row as long as the longest, that is, SELL with one slice. Kernels:
 * cl/sell.cl. */
#include "matrix.h"
#include <stdio.h>
#include <stdlib.h>

int64_t kry_ell_stride(int64_t rows) { return (rows + 31) / 32 * 32; }

/* CPU: shares of vectors of rows; all rows are alike. */
static kry_status shares_array(kry_matrix *A, kry_stage *s, int64_t width, int64_t *pieces)
{
    kry_status st = KRY_OK;
    int64_t lanes = kry_vector_width(A->dev, A->type), vectors = (A->rows + lanes - 1) / lanes;
    int32_t *share = NULL;

    *pieces = kry_cpu_pieces(A->rows * (width + 1));
    TRY(kry_alloc((size_t)*pieces + 1, sizeof *share, &share));
    for (int64_t b = 0; b <= *pieces; b++) share[b] = (int32_t)(vectors * b / *pieces);
    kry_stage_int(s, *pieces);
    kry_stage_int(s, A->rows);
    TRY(kry_stage_array(A, s, share, (size_t)*pieces + 1, sizeof *share));
done:
    free(share);
    return st;
}

kry_status kry_ell_stage(kry_matrix *A, const kry_host_csr *host, int64_t width)
{
    kry_status st = KRY_OK;
    int64_t stride = kry_ell_stride(A->rows), pieces = 0;
    bool cpu = A->dev->info.cpu_kernels;
    int32_t *col = NULL;
    char defines[96];

    TRY(kry_alloc((size_t)(stride * width), sizeof *col, &col));
    for (int64_t i = 0; i < stride * width; i++) col[i] = -1;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = host->row_ptr[i]; k < host->row_ptr[i + 1]; k++) {
            int64_t slot = (k - host->row_ptr[i]) * stride + i;
            if (slot >= stride * width) break;
            A->slot[k] = (int32_t)slot;
            col[slot] = host->col[k];
        }
    snprintf(defines, sizeof defines, "-DONE_SLICE -DC=%d -DCOLUMN=int -DNONE=-1",
             cpu ? kry_vector_width(A->dev, A->type) : 1);
    kry_stage *s = kry_matrix_stage(A, "sell", defines);
    if (cpu)
        TRY(shares_array(A, s, width, &pieces));
    else
        kry_stage_int(s, A->rows);
    kry_stage_int(s, stride);
    kry_stage_int(s, width);
    TRY(kry_stage_array(A, s, col, (size_t)(stride * width), sizeof *col));
    if (cpu)
        kry_stage_pieces(A, s, pieces);
    else
        kry_stage_rows(A, s, A->rows);
done:
    free(col);
    return st;
}

static kry_status ell_build(kry_matrix *A, const kry_host_csr *host,
                            const kry_matrix_params *params)
{
    kry_status st = KRY_OK;
    int64_t width = kry_longest_row(host);
    double slots = (double)width * (double)kry_ell_stride(host->rows);

    (void)params;
    TRY(kry_matrix_slots(A, slots, 4 * slots));
    TRY(kry_ell_stage(A, host, width));
    snprintf(A->variant, sizeof A->variant, "%lld entries to a row", (long long)width);
done:
    return st;
}

kry_status kry_ell_places(kry_matrix *A, kry_place *place)
{
    kry_status st = KRY_OK;
    const kry_stage *s = &A->stage[0];
    int at = A->dev->info.cpu_kernels ? 3 : 1; /* of the stride */
    int64_t stride = s->value[at].number, slots = stride * s->value[at + 1].number;
    int32_t *col = NULL;

    TRY(kry_alloc((size_t)slots, sizeof *col, &col));
    TRY(kry_stage_read(A, s, at + 2, (size_t)slots * sizeof *col, col));
    for (int64_t i = 0; i < slots; i++)
        place[i] = (kry_place){ col[i] < 0 ? -1 : (int32_t)(i % stride), col[i] };
done:
    free(col);
    return st;
}

const kry_format_table kry_ell_format = {
    .format = KRY_FORMAT_ELL,
    .build = ell_build,
    .places = kry_ell_places,
};
