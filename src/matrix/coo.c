/* coo.c - entries with their row and column, sorted by row. Kernels: cl/zero.cl, then cl/coo.cl. */
#include "matrix/matrix.h"
#include <stdio.h>
#include <stdlib.h>

/* The row pointers of a matrix without the first `skip` entries of each row. */
static kry_status tail_row_ptr(const kry_sparse *host, int64_t skip, int64_t **tail)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)host->rows + 1, sizeof **tail, tail));
    for (int64_t i = 0; i < host->rows; i++) {
        int64_t length = kry_row_length(host, i) - skip;
        (*tail)[i + 1] = (*tail)[i] + (length > 0 ? length : 0);
    }
done:
    return st;
}

/* Copy the rows and columns of these entries to the device, and choose their slots. */
static kry_status entries_arrays(kry_matrix *A, kry_stage *s, const kry_sparse *host, int64_t skip,
                                 int64_t first, size_t count)
{
    kry_status st = KRY_OK;
    int32_t *row = NULL, *col = NULL;
    int64_t e = 0;

    TRY(kry_alloc(count, sizeof *row, &row));
    TRY(kry_alloc(count, sizeof *col, &col));
    for (int64_t i = 0; i < host->rows; i++)
        for (int64_t k = host->row_ptr[i] + skip; k < host->row_ptr[i + 1]; k++, e++) {
            row[e] = (int32_t)i, col[e] = host->col[k];
            A->slot[k] = (int32_t)(first + e);
        }
    TRY(kry_stage_array(A, s, row, count, sizeof *row));
    TRY(kry_stage_array(A, s, col, count, sizeof *col));
done:
    free(col);
    free(row);
    return st;
}

static kry_status runs_array(kry_matrix *A, kry_stage *s, const kry_runs *r, const int64_t *row_ptr)
{
    kry_status st = KRY_OK;
    int32_t *run = NULL, *longest = NULL;

    TRY(kry_alloc((size_t)r->count + 1, sizeof *run, &run));
    TRY(kry_alloc((size_t)r->count, sizeof *longest, &longest));
    for (int64_t b = 0; b <= r->count; b++) {
        bool inside = b < r->count && r->cut[b] > row_ptr[r->row[b]];
        run[b] = (int32_t)(inside ? ~r->cut[b] : r->cut[b]);
    }
    for (int64_t b = 0; b < r->count; b++)
        for (int64_t i = r->row[b]; i <= r->row[b + 1] && i < A->shape.rows; i++) {
            int64_t begin = row_ptr[i] > r->cut[b] ? row_ptr[i] : r->cut[b];
            int64_t end = row_ptr[i + 1] < r->cut[b + 1] ? row_ptr[i + 1] : r->cut[b + 1];
            if (end - begin > longest[b]) longest[b] = (int32_t)(end - begin);
        }
    TRY(kry_stage_array(A, s, run, (size_t)r->count + 1, sizeof *run));
    TRY(kry_stage_array(A, s, longest, (size_t)r->count, sizeof *longest));
done:
    free(longest);
    free(run);
    return st;
}

kry_status kry_coo_stage(kry_matrix *A, const kry_sparse *host, int64_t skip, int64_t first)
{
    kry_status st = KRY_OK;
    int64_t *row_ptr = NULL;
    kry_runs r = { 0 };
    cl_mem partial = NULL;

    TRY(tail_row_ptr(host, skip, &row_ptr));
    TRY(kry_runs_create(A->dev, row_ptr, host->rows, &r));
    kry_stage *s = kry_matrix_stage(A, "coo", "");
    s->by_vector = true;
    kry_stage_int(s, r.count);
    TRY(runs_array(A, s, &r, row_ptr));
    for (int64_t i = 0; i < host->rows; i++) A->rewritten += row_ptr[i + 1] > row_ptr[i];
    TRY(entries_arrays(A, s, host, skip, first, (size_t)row_ptr[host->rows]));
    kry_stage_int(s, first);
    TRY(kry_buffer_create(A->dev, (size_t)r.count * 8, &partial));
    TRY(kry_stage_buffer(A, s, partial));
    kry_stage_pieces(A, s, r.count);
    TRY(kry_matrix_split_stage(A, r.split, r.splits, partial));
done:
    kry_buffer_release(A->dev, &partial);
    kry_runs_release(&r);
    free(row_ptr);
    return st;
}

kry_status kry_coo_build(kry_matrix *A, const kry_sparse *host)
{
    kry_status st = KRY_OK;

    TRY(kry_matrix_slots(A, (double)kry_sparse_nnz(host), 8.0 * (double)kry_sparse_nnz(host)));
    kry_stage *s = kry_matrix_stage(A, "zero", "");
    s->no_values = true;
    kry_stage_int(s, host->rows);
    kry_stage_rows(A, s, host->rows, 1);
    if (kry_sparse_nnz(host)) TRY(kry_coo_stage(A, host, 0, 0));
done:
    return st;
}
