/* coo.c - entries with their row and column, sorted by row. Kernels: cl/formats/zero.cl, then cl/formats/coo.cl. */
#include "matrix/given.h"
#include <stdio.h>
#include <stdlib.h>

/* The row pointers of a matrix without the first `skip` entries of each row. */
static kry_status tail_row_ptr(const kryi_csr *host, int64_t skip, int64_t **tail)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc((size_t)host->rows + 1, sizeof **tail, tail));
    for (int64_t i = 0; i < host->rows; i++) {
        int64_t length = kryi_row_length(host, i) - skip;
        (*tail)[i + 1] = (*tail)[i] + (length > 0 ? length : 0);
    }
done:
    return st;
}

/* Lists the entries behind the first `skip` of each row: begin[i] of them come before those of row i; to slots from `first` on. */
typedef struct listing {
    const kryi_csr *host;
    int64_t skip, first;
    const int64_t *begin;
    int32_t *row, *col, *slot; /* col and slot are NULL where entries are listed as they lie */
} listing;

static void list_rows(void *user, int part, int64_t begin, int64_t end)
{
    const listing *l = user;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        int64_t e = l->begin[i];
        for (int64_t k = l->host->row_ptr[i] + l->skip; k < l->host->row_ptr[i + 1]; k++, e++) {
            l->row[e] = (int32_t)i;
            if (l->col) l->col[e] = l->host->col[k];
            if (l->slot) l->slot[k] = (int32_t)(l->first + e);
        }
    }
}

/* Copy the rows and columns of these entries to the device, and choose their slots. */
static kry_status entries_arrays(kryi_matrix *A, kryi_stage *s, listing *l)
{
    kry_status st = KRY_OK;
    const int64_t rows = l->host->rows;
    const size_t count = (size_t)l->begin[rows];

    l->slot = A->slot;
    TRY(kryi_alloc(count, sizeof *l->row, &l->row));
    if (l->slot) TRY(kryi_alloc(count, sizeof *l->col, &l->col));
    kryi_parallel(kryi_parts((int64_t)count), rows, list_rows, l);
    TRY(kryi_stage_array(A, s, l->row, count, sizeof *l->row));
    TRY(kryi_stage_array(A, s, l->col ? l->col : l->host->col, count, sizeof *l->col));
done:
    free(l->col);
    free(l->row);
    return st;
}

static kry_status runs_array(kryi_matrix *A, kryi_stage *s, const kryi_runs *r,
                             const int64_t *row_ptr)
{
    kry_status st = KRY_OK;
    int32_t *run = NULL, *longest = NULL;

    TRY(kryi_alloc((size_t)r->count + 1, sizeof *run, &run));
    TRY(kryi_alloc((size_t)r->count, sizeof *longest, &longest));
    for (int64_t b = 0; b <= r->count; b++) {
        run[b] = (int32_t)(r->row[b] < 0 ? ~r->cut[b] : r->cut[b]);
    }
    for (int64_t b = 0; b < r->count; b++)
        for (int64_t i = r->row[b] & INT32_MAX;
             i <= (r->row[b + 1] & INT32_MAX) && i < A->shape.rows; i++) {
            int64_t begin = row_ptr[i] > r->cut[b] ? row_ptr[i] : r->cut[b];
            int64_t end = row_ptr[i + 1] < r->cut[b + 1] ? row_ptr[i + 1] : r->cut[b + 1];
            if (end - begin > longest[b]) longest[b] = (int32_t)(end - begin);
        }
    TRY(kryi_stage_array(A, s, run, (size_t)r->count + 1, sizeof *run));
    TRY(kryi_stage_array(A, s, longest, (size_t)r->count, sizeof *longest));
done:
    free(longest);
    free(run);
    return st;
}

kry_status kryi_coo_stage(kryi_matrix *A, const kryi_csr *host, int64_t skip, int64_t first)
{
    kry_status st = KRY_OK;
    int64_t *row_ptr = NULL;
    kryi_runs r = { 0 };
    cl_mem partial = NULL;

    TRY(tail_row_ptr(host, skip, &row_ptr));
    TRY(kryi_runs_create(A->dev, row_ptr, host->rows, KRY_UNROLL, &r));
    kryi_stage *s = kryi_matrix_stage(A, "coo", "");
    s->by_vector = true;
    kryi_stage_int(s, r.count);
    kryi_stage_int(s, A->params.form == KRY_FLUX);
    TRY(runs_array(A, s, &r, row_ptr));
    for (int64_t i = 0; i < host->rows; i++) A->rewritten += row_ptr[i + 1] > row_ptr[i];
    listing l = { .host = host, .skip = skip, .first = first, .begin = row_ptr };
    TRY(entries_arrays(A, s, &l));
    kryi_stage_int(s, first);
    TRY(kryi_buffer_create(A->dev, (size_t)r.count * 8, &partial));
    TRY(kryi_stage_buffer(A, s, partial));
    kryi_stage_pieces(A, s, r.count);
    if (r.splits) TRY(kryi_matrix_split_stage(A, r.split, r.splits, partial));
done:
    kryi_buffer_release(A->dev, &partial);
    kryi_runs_release(&r);
    free(row_ptr);
    return st;
}

kry_status kryi_coo_build(kryi_matrix *A, const kryi_given *given)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;

    const double nnz = (double)kryi_csr_nnz(host);

    TRY(kryi_matrix_slots(A, nnz, 8 * nnz)); /* which are those of the sorted entries */
    kryi_stage *s = kryi_matrix_stage(A, "zero", "");
    s->no_values = s->by_vector = true;
    kryi_stage_int(s, host->rows);
    kryi_stage_rows(A, s, host->rows, 1);
    if (kryi_csr_nnz(host)) TRY(kryi_coo_stage(A, host, 0, 0));
done:
    return st;
}
