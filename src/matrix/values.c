/* values.c - the numbers of a stored matrix: to the device, back to the host, and converted for a copy of the matrix. */
#include "matrix/device_csr.h"
#include "matrix/in_slots.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of type `stored` in the order of slots: on the host or on the device. Neither: they stay as they are. */
typedef struct numbers {
    kry_type stored;
    const void *host;
    cl_mem there;
} numbers;

/* Take numbers and sums of rows (NULL: all are 0). All buffers and kernels are new before one replaces an old one. */
static kry_status replace(kryi_matrix *A, const numbers *n, const void *sums)
{
    kry_status st = KRY_OK;
    const kry_type stored = n->stored;
    size_t bytes = (size_t)A->slots * kry_type_size(stored);
    bool fresh = !A->val || stored != A->stored;
    cl_mem val = NULL, surplus = NULL;

    if (sums)
        TRY(kryi_buffer_upload(A->dev, (size_t)A->shape.rows * kry_type_size(A->shape.type), sums,
                               &surplus));
    if (fresh && n->there) {
        TRY(kryi_buffer_retain(A->dev, n->there));
        val = n->there;
    } else if (fresh) {
        TRY(kryi_buffer_create(A->dev, bytes, &val));
    }
    if (fresh) TRY(kryi_matrix_kernels(A, stored));
    if (n->host) TRY(kryi_buffer_write(A->dev, fresh ? val : A->val, 0, bytes, n->host));
    if (n->there && !fresh) TRY(kryi_buffer_copy(A->dev, n->there, 0, A->val, 0, bytes));
    if (fresh) {
        kryi_buffer_release(A->dev, &A->val);
        A->val = val, val = NULL;
        A->stored = stored;
    }
    kryi_buffer_release(A->dev, &A->surplus);
    A->surplus = surplus, surplus = NULL;
done:
    /* The old numbers stay, and so do their kernels; these have been compiled, so this cannot
     * fail. */
    if (st < 0 && fresh && A->val) (void)kryi_matrix_kernels(A, A->stored);
    kryi_buffer_release(A->dev, &surplus);
    kryi_buffer_release(A->dev, &val);
    return st;
}

kry_status kryi_matrix_replace(kryi_matrix *A, kry_type stored, cl_mem there)
{
    return replace(A, &(numbers){ stored, NULL, there }, NULL);
}

kry_status kryi_matrix_set_surplus(kryi_matrix *A, const void *sums)
{
    return replace(A, &(numbers){ .stored = A->stored }, sums);
}

/* placed->there, or where that is not the host's memory placed->host, := the numbers in their slots. */
static kry_status place(const kryi_matrix *A, const char *who, const kryi_seen *seen,
                        const void *sorted, numbers *placed)
{
    kry_status st = KRY_OK;
    const kry_type stored = placed->stored;
    const bool fresh = !A->val || stored != A->stored;
    char *mapped = NULL;
    void *to = NULL;

    if (fresh)
        TRY(kryi_buffer_create_mapped(A->dev, (size_t)A->slots * kry_type_size(stored),
                                      &placed->there, &mapped));
    if (!mapped) TRY(kryi_alloc((size_t)A->slots, kry_type_size(stored), &to));
    placed->host = to;
    kryi_matrix_to_slots(A, stored, sorted, !mapped, mapped ? mapped : to);
    if (A->format->shared && !seen->symmetric)
        TRY(kryi_matrix_check_shared(A, who, stored, sorted, mapped ? mapped : to));
    if (mapped) TRY(kryi_buffer_unmap(A->dev, placed->there, &mapped));
done:
    if (mapped) A->dev->driver->unmap(A->dev, placed->there, mapped);
    return st;
}

kry_status kryi_matrix_store(kryi_matrix *A, const char *who, const int64_t *row_ptr,
                             const void *sorted, const kryi_seen *seen)
{
    kry_status st = KRY_OK;
    const kry_type stored = kryi_stored_type(A->shape.type, A->params.values, seen);
    numbers placed = { .stored = stored };
    void *sums = NULL;
    const kryi_csr rows = { .rows = A->shape.rows,
                            .type = A->shape.type,
                            .row_ptr = (int64_t *)row_ptr,
                            .val = (void *)sorted };

    if (stored != A->shape.type && seen->unfit) TRY(kryi_values_fit_single(who, A->nnz, sorted));
    if (kryi_matrix_in_flux_form(A)) TRY(kryi_flux_sums(who, A, &rows, NULL, &sums));
    if (A->slot || stored != A->shape.type)
        TRY(place(A, who, seen, sorted, &placed));
    else
        placed.host = sorted;
    TRY(replace(A, &placed, sums));
done:
    if (placed.host != sorted) free((void *)placed.host);
    kryi_buffer_release(A->dev, &placed.there);
    free(sums);
    return st;
}

static kry_status read_values(const kryi_matrix *A, void *val)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->stored);
    void *placed = NULL;

    TRY(kryi_alloc((size_t)A->slots, size, &placed));
    TRY(kryi_buffer_read(A->dev, A->val, 0, (size_t)A->slots * size, placed));
    for (int64_t k = 0; k < A->nnz; k++)
        kryi_number_put(A->shape.type, val, k,
                        kryi_number_at(A->stored, placed, kryi_matrix_slot(A, k)));
done:
    free(placed);
    return st;
}

/* Read back what only the device knows. */
static kry_status read_placed(const kryi_matrix *A, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    const size_t nnz = (size_t)A->nnz;
    kryi_device_csr C = { 0 };

    TRY(kryi_device_csr_of(A, &C));
    TRY(kryi_device_csr_read_offsets(&C, row_ptr));
    TRY(kryi_buffer_read(A->dev, C.col, 0, nnz * sizeof *col, col));
    TRY(kryi_buffer_read(A->dev, C.val, 0, nnz * kry_type_size(C.type), val));
done:
    kryi_device_csr_release(&C);
    return st;
}

kry_status kryi_matrix_read_entries(const kryi_matrix *A, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    if (A->placed) return read_placed(A, row_ptr, col, val);
    const kryi_csr *S = &A->sorted;
    kryi_device_csr C = { .dev = A->dev, .rows = A->shape.rows };

    if (!S->row_ptr || (A->nnz > 0 && !S->col)) kryi_csr_buffers(A, &C.row_ptr, &C.col);
    if (S->row_ptr)
        memcpy(row_ptr, S->row_ptr, ((size_t)S->rows + 1) * sizeof *row_ptr);
    else
        TRY(kryi_device_csr_read_offsets(&C, row_ptr));
    if (A->nnz == 0) return KRY_OK;
    if (S->col) {
        memcpy(col, S->col, (size_t)A->nnz * sizeof *col);
    } else {
        TRY(kryi_buffer_read(A->dev, C.col, 0, (size_t)A->nnz * sizeof *col, col));
    }
    TRY(read_values(A, val));
done:
    return st;
}

kry_status kryi_matrix_download(const kryi_matrix *A, kryi_csr *host)
{
    kry_status st = KRY_OK;

    TRY(kryi_csr_create(A->shape.rows, A->shape.cols, A->shape.type, A->nnz, host));
    TRY(kryi_matrix_read_entries(A, host->row_ptr, host->col, host->val));
done:
    if (st < 0) kryi_csr_release(host);
    return st;
}

kry_status kryi_matrix_convert_surplus(const kryi_matrix *A, double factor, kryi_matrix *copy)
{
    kry_status st = KRY_OK;
    size_t rows = (size_t)A->shape.rows;
    void *given = NULL, *sums = NULL;

    if (A->surplus) {
        TRY(kryi_alloc(rows, kry_type_size(A->shape.type), &given));
        TRY(kryi_alloc(rows, kry_type_size(copy->shape.type), &sums));
        TRY(kryi_buffer_read(A->dev, A->surplus, 0, rows * kry_type_size(A->shape.type), given));
        TRY(kryi_numbers_convert("kry_op_convert", "row sum", A->shape.type, given, A->shape.rows,
                                 factor, copy->shape.type, sums));
    }
    if (A->surplus || copy->surplus) TRY(kryi_matrix_set_surplus(copy, sums));
done:
    free(sums);
    free(given);
    return st;
}
