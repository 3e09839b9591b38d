/* ell.c - ELLPACK: every row has the length of the longest one. On GPUs the k-th entries of all rows stand side by
 * side; on CPUs those of a vector of rows, because otherwise a core would read two streams of memory for each
 * entry of a row. Kernels: cl/formats/ell.cl. */
#include "matrix/given.h"
#include <stdio.h>
#include <stdlib.h>

int64_t kryi_ell_stride(int64_t rows) { return (rows + 31) / 32 * 32; }

/* Rows whose k-th entries stand side by side. */
static int64_t height_of(const kryi_matrix *A)
{
    return A->dev->info.cpu_kernels ? kryi_vector_width(A->dev, A->shape.type)
                                    : kryi_ell_stride(A->shape.rows);
}

kryi_stage *kryi_ell_begin(kryi_matrix *A, int64_t width)
{
    kryi_stage *s = kryi_matrix_stage(A, "ell", "");

    kryi_stage_int(s, A->shape.rows);
    kryi_stage_int(s, height_of(A));
    kryi_stage_int(s, width);
    kryi_stage_int(s, A->params.form == KRY_FLUX);
    kryi_stage_rows(A, s, A->shape.rows, 1);
    return s;
}

/* The first `width` entries of each row, in slices of `height` rows. */
typedef struct filling {
    const kryi_csr *host;
    int64_t height, width;
    int32_t *slot, *col; /* col: -1 where a row has no entry */
} filling;

static void fill_rows(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;
    const kryi_csr *host = f->host;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i / f->height * f->width * f->height + i % f->height;
        const int64_t length = i < host->rows ? kryi_row_length(host, i) : 0;
        for (int64_t k = 0; k < f->width; k++) {
            const int64_t slot = first + k * f->height;
            f->col[slot] = k < length ? host->col[host->row_ptr[i] + k] : -1;
            if (k < length) f->slot[host->row_ptr[i] + k] = (int32_t)slot;
        }
    }
}

kry_status kryi_ell_stage(kryi_matrix *A, const kryi_csr *host, int64_t width)
{
    kry_status st = KRY_OK;
    const int64_t stride = kryi_ell_stride(A->shape.rows), slots = stride * width;
    filling f = { .host = host, .height = height_of(A), .width = width, .slot = A->slot };

    TRY(kryi_alloc((uint64_t)slots, sizeof *f.col, &f.col));
    kryi_parallel(kryi_parts(slots), stride, fill_rows, &f);
    kryi_stage *s = kryi_ell_begin(A, width);
    TRY(kryi_stage_array(A, s, f.col, (size_t)slots, sizeof *f.col));
done:
    free(f.col);
    return st;
}

kry_status kryi_ell_build(kryi_matrix *A, const kryi_given *given)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    int64_t width = kryi_longest_row(host);
    double slots = (double)width * (double)kryi_ell_stride(host->rows);

    TRY(kryi_matrix_slots(A, slots, 4 * slots));
    TRY(kryi_alloc((uint64_t)A->nnz, sizeof *A->slot, &A->slot));
    TRY(kryi_ell_stage(A, host, width));
    snprintf(A->variant, sizeof A->variant, "%lld entries to a row", (long long)width);
done:
    return st;
}
