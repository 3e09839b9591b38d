/* ell.c - ELLPACK: every row has the length of the longest one, as in SELL with slices of one
 * width. On GPUs there is one slice of all rows. On CPUs a slice is a vector of rows, because
 * one slice would make a core read two streams of memory for each entry of a row. Kernels:
 * cl/sell.cl. */
#include "matrix/given.h"
#include <stdio.h>
#include <stdlib.h>

int64_t kry_ell_stride(int64_t rows) { return (rows + 31) / 32 * 32; }

static kry_status cpu_arrays(kry_matrix *A, kry_stage *s, int64_t height, int64_t width,
                             const int32_t *col)
{
    kry_status st = KRY_OK;
    int64_t slices = (A->shape.rows + height - 1) / height;
    int32_t *slice_ptr = NULL;

    TRY(kry_alloc((size_t)slices + 1, sizeof *slice_ptr, &slice_ptr));
    for (int64_t i = 0; i <= slices; i++) slice_ptr[i] = (int32_t)(i * height * width);
    TRY(kry_sell_cpu_arrays(A, s, slice_ptr, slices, (int)height, col));
done:
    free(slice_ptr);
    return st;
}

static kry_stage *new_stage(kry_matrix *A, int height)
{
    return kry_matrix_stage(A, "sell", " -DC=%d -DCOLUMN=int -DNONE=-1 -DELL", height);
}

kry_stage *kry_ell_begin(kry_matrix *A, int64_t width)
{
    kry_stage *s = new_stage(A, 1);

    kry_stage_int(s, A->shape.rows);
    kry_stage_int(s, kry_ell_stride(A->shape.rows));
    kry_stage_rows(A, s, A->shape.rows, 1);
    kry_stage_int(s, width);
    return s;
}

/* The first `width` entries of each row, in slices of `height` rows. */
typedef struct filling {
    const kry_sparse *host;
    int64_t height, width;
    int32_t *slot, *col; /* col: -1 where a row has no entry */
} filling;

static void fill_rows(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;
    const kry_sparse *host = f->host;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i / f->height * f->width * f->height + i % f->height;
        const int64_t length = i < host->rows ? kry_row_length(host, i) : 0;
        for (int64_t k = 0; k < f->width; k++) {
            const int64_t slot = first + k * f->height;
            f->col[slot] = k < length ? host->col[host->row_ptr[i] + k] : -1;
            if (k < length) f->slot[host->row_ptr[i] + k] = (int32_t)slot;
        }
    }
}

kry_status kry_ell_stage(kry_matrix *A, const kry_sparse *host, int64_t width)
{
    kry_status st = KRY_OK;
    bool cpu = A->dev->info.cpu_kernels;
    int64_t stride = kry_ell_stride(A->shape.rows), slots = stride * width;
    int64_t height = cpu ? kry_vector_width(A->dev, A->shape.type) : stride; /* rows of a slice */
    filling f = { .host = host, .height = height, .width = width, .slot = A->slot };

    TRY(kry_alloc((size_t)slots, sizeof *f.col, &f.col));
    kry_parallel(kry_parts(slots), stride, fill_rows, &f);
    kry_stage *s = cpu ? new_stage(A, (int)height) : kry_ell_begin(A, width);
    if (cpu) {
        TRY(cpu_arrays(A, s, height, width, f.col));
        kry_stage_int(s, width);
    }
    TRY(kry_stage_array(A, s, f.col, (size_t)slots, sizeof *f.col));
done:
    free(f.col);
    return st;
}

kry_status kry_ell_build(kry_matrix *A, const kry_given *given)
{
    kry_status st = KRY_OK;
    const kry_sparse *host = given->host;
    int64_t width = kry_longest_row(host);
    double slots = (double)width * (double)kry_ell_stride(host->rows);

    TRY(kry_matrix_slots(A, slots, 4 * slots));
    TRY(kry_ell_stage(A, host, width));
    snprintf(A->variant, sizeof A->variant, "%lld entries to a row", (long long)width);
done:
    return st;
}
