/* device_csr.c - any stored matrix in compressed rows on its device, for products. Kernels: cl/formats/transpose.cl. */
#include "matrix/device_csr.h"
#include <stdlib.h>
#include <string.h>

void kryi_device_csr_release(kryi_device_csr *A)
{
    kryi_buffer_release(A->dev, &A->place);
    kryi_buffer_release(A->dev, &A->val);
    kryi_buffer_release(A->dev, &A->col);
    kryi_buffer_release(A->dev, &A->row_ptr);
    *A = (kryi_device_csr){ 0 };
}

kry_status kryi_device_csr_check(const char *who, const kryi_matrix *A)
{
    kry_status st = KRY_OK;
    const kryi_csr *S = &A->sorted;

    for (int64_t i = 0; i < S->rows && kryi_matrix_is_wrapped(A); i++)
        for (int64_t e = S->row_ptr[i] + 1; e < S->row_ptr[i + 1]; e++)
            CHECK(S->col[e] > S->col[e - 1], KRY_ERR_UNSUPPORTED,
                  "%s: the columns of row %lld of a wrapped matrix do not ascend" COUNTED, who,
                  ROW(i), kryi_first_row);
done:
    return st;
}

static kry_status upload_offsets(kry_device *dev, int64_t rows, const int64_t *offset,
                                 cl_mem *row_ptr)
{
    kry_status st = KRY_OK;
    const size_t count = (size_t)rows + 1;
    cl_int *narrow = NULL;

    TRY(kryi_alloc(count, sizeof *narrow, &narrow));
    for (size_t i = 0; i < count; i++) narrow[i] = (cl_int)offset[i];
    TRY(kryi_buffer_upload(dev, count * sizeof *narrow, narrow, row_ptr));
done:
    free(narrow);
    return st;
}

static kry_status share(kry_device *dev, cl_mem buffer, cl_mem *to)
{
    kry_status st = kryi_buffer_retain(dev, buffer);
    if (st == KRY_OK) *to = buffer;
    return st;
}

kry_status kryi_device_csr_share(const kryi_device_csr *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;

    *C = (kryi_device_csr){
        .dev = A->dev, .rows = A->rows, .cols = A->cols, .nnz = A->nnz, .type = A->type
    };
    C->tall = A->tall, C->wide = A->wide;
    TRY(share(A->dev, A->row_ptr, &C->row_ptr));
    TRY(share(A->dev, A->col, &C->col));
done:
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

kry_status kryi_device_csr_upload(kry_device *dev, const kryi_csr *host, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const uint64_t count = (uint64_t)kryi_csr_nnz(host);

    *C = (kryi_device_csr){ 0 };
    CHECK(count <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "the set-up on a device takes matrices of up to 2^31-1 entries, this one has %lld",
          (long long)count);
    *C = (kryi_device_csr){ .dev = dev,
                            .rows = host->rows,
                            .cols = host->cols,
                            .nnz = (int64_t)count,
                            .type = host->type };
    TRY(upload_offsets(dev, host->rows, host->row_ptr, &C->row_ptr));
    TRY(kryi_buffer_upload(dev, count * sizeof *host->col, host->col, &C->col));
    if (host->val)
        TRY(kryi_buffer_upload(dev, count * kry_type_size(host->type), host->val, &C->val));
done:
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

kry_status kryi_device_csr_read_offsets(const kryi_device_csr *A, int64_t *row_ptr)
{
    kry_status st = KRY_OK;

    TRY(kryi_buffer_read(A->dev, A->row_ptr, 0, ((size_t)A->rows + 1) * sizeof(cl_int), row_ptr));
    for (int64_t i = A->rows; i >= 0; i--) { /* they widen in place, from the last one on */
        cl_int narrow;
        memcpy(&narrow, (char *)row_ptr + i * (int64_t)sizeof narrow, sizeof narrow);
        row_ptr[i] = narrow;
    }
done:
    return st;
}

kry_status kryi_device_csr_download(const kryi_device_csr *A, kryi_csr *host)
{
    kry_status st = KRY_OK;
    const uint64_t count = (uint64_t)A->nnz;

    TRY(kryi_csr_create(A->rows, A->cols, A->type, A->nnz, host));
    TRY(kryi_device_csr_read_offsets(A, host->row_ptr));
    TRY(kryi_buffer_read(A->dev, A->col, 0, count * sizeof *host->col, host->col));
    TRY(kryi_buffer_read(A->dev, A->val, 0, count * kry_type_size(A->type), host->val));
done:
    if (st < 0) kryi_csr_release(host);
    return st;
}

kry_status kryi_device_csr_convert(const kryi_device_csr *A, kry_type type, kryi_device_csr *C)
{
    kry_status st = KRY_OK;

    TRY(kryi_device_csr_share(A, C));
    C->type = type;
    if (type == A->type) return share(A->dev, A->val, &C->val);
    TRY(kryi_buffer_create(A->dev, (uint64_t)C->nnz * kry_type_size(type), &C->val));
    TRY(kryi_device_csr_gather(C, NULL, A->type, A->val));
done:
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

static kry_status share_pattern(const kryi_matrix *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    cl_mem row_ptr, col;

    kryi_csr_buffers(A, &row_ptr, &col);
    TRY(share(C->dev, col, &C->col));
    if (kryi_matrix_is_wrapped(A)) /* offsets may be long */
        TRY(upload_offsets(A->dev, A->shape.rows, A->sorted.row_ptr, &C->row_ptr));
    else
        TRY(share(C->dev, row_ptr, &C->row_ptr));
done:
    return st;
}

static kry_status take_pattern(const kryi_matrix *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const uint64_t bytes = (uint64_t)A->nnz * sizeof(cl_int);
    bool all = false;

    if (A->params.format == KRY_FORMAT_CSR) return share_pattern(A, C);
    if (A->format->entries) TRY(A->format->entries(A, C, &all));
    if (all) return KRY_OK;
    TRY(kryi_buffer_upload(C->dev, bytes, A->sorted.col, &C->col));
    TRY(upload_offsets(A->dev, A->shape.rows, A->sorted.row_ptr, &C->row_ptr));
    if (A->slot) TRY(kryi_buffer_upload(C->dev, bytes, A->slot, &C->place));
done:
    return st;
}

kry_status kryi_device_csr_pattern_of(const kryi_matrix *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;

    *C = (kryi_device_csr){ .dev = A->dev,
                            .rows = A->shape.rows,
                            .cols = A->shape.cols,
                            .nnz = A->nnz,
                            .type = A->shape.type,
                            .formats = A->formats };
    TRY(take_pattern(A, C));
done:
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

kry_status kryi_device_csr_first_rows(const kryi_device_csr *A, int64_t count, kryi_csr *first)
{
    kry_status st = KRY_OK;
    const size_t size = sizeof(cl_int);
    kryi_device_csr head = *A; /* borrows all buffers */

    *first = (kryi_csr){ 0 };
    head.rows = A->rows < count ? A->rows : count;
    first->rows = head.rows, first->cols = A->cols, first->type = A->type;
    TRY(kryi_alloc((size_t)head.rows + 1, sizeof *first->row_ptr, &first->row_ptr));
    TRY(kryi_device_csr_read_offsets(&head, first->row_ptr));
    const uint64_t nnz = (uint64_t)kryi_csr_nnz(first);
    TRY(kryi_alloc(nnz, size, &first->col));
    TRY(kryi_buffer_read(A->dev, A->col, 0, nnz * size, first->col));
done:
    if (st < 0) kryi_csr_release(first);
    return st;
}

kry_status kryi_device_csr_read_places(const kryi_matrix *A, int32_t **slot)
{
    kry_status st = KRY_OK;
    const uint64_t nnz = (uint64_t)A->nnz;
    kryi_device_csr C = { 0 };

    *slot = NULL;
    TRY(kryi_device_csr_pattern_of(A, &C));
    if (!C.place) goto done;
    TRY(kryi_alloc(nnz, sizeof **slot, slot));
    TRY(kryi_buffer_read(C.dev, C.place, 0, nnz * sizeof **slot, *slot));
done:
    kryi_device_csr_release(&C);
    if (st < 0) free(*slot), *slot = NULL;
    return st;
}

kry_status kryi_device_csr_rows_for_nodes(const kryi_device_csr *A, kryi_csr *rows)
{
    enum { FIRST = 4096 };
    kry_status st = KRY_OK;

    TRY(kryi_device_csr_first_rows(A, FIRST, rows));
    if (kryi_csr_block(rows, A->rows) == 1) return KRY_OK;
    kryi_csr_release(rows);
    TRY(kryi_device_csr_first_rows(A, A->rows, rows));
done:
    return st;
}

kry_status kryi_device_csr_of(const kryi_matrix *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;

    TRY(kryi_device_csr_pattern_of(A, C));
    TRY(kryi_device_csr_of_again(A, C));
done:
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

/* C->place := where the format that A has now keeps the entries. */
static kry_status follow_format(const kryi_matrix *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    kryi_device_csr now = { 0 };

    TRY(kryi_device_csr_pattern_of(A, &now));
    kryi_buffer_release(C->dev, &C->place);
    C->place = now.place, now.place = NULL;
    C->formats = A->formats;
done:
    kryi_device_csr_release(&now);
    return st;
}

kry_status kryi_device_csr_of_again(const kryi_matrix *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;

    if (C->formats != A->formats) TRY(follow_format(A, C));
    const bool shares = !C->place && A->stored == C->type;
    if (shares || C->shares) kryi_buffer_release(C->dev, &C->val);
    C->shares = shares;
    if (shares) return share(C->dev, A->val, &C->val);
    if (!C->val)
        TRY(kryi_buffer_create(C->dev, (uint64_t)C->nnz * kry_type_size(C->type), &C->val));
    TRY(kryi_device_csr_gather(C, C->place, A->stored, A->val));
done:
    return st;
}
