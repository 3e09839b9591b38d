/* placed_dia.c - diagonals of a matrix that is on the device, made there, and its entries read back. Kernels: cl/formats/place.cl. */
#include "matrix/given.h"
#include <stdlib.h>
#include <string.h>

enum { DIAGONALS = 3, STRIDE = 4, OFFSET = 7 }; /* arguments of the stage */

/* Bytes of a row's bits. */
static cl_int bytes_of(int64_t diagonals) { return (cl_int)((diagonals + 7) / 8); }

/* As many as a format may take, both triangles where they share a place. */
static int64_t most_diagonals(const kryi_matrix *A)
{
    const double number = (double)kry_type_size(A->shape.type), rows = (double)A->shape.rows;
    const double csr = (double)A->nnz * (number + 4) + 4 * rows, allowance = 1 << 20;
    return (int64_t)(2 * (4 * csr + allowance) / (rows * number)) + 2;
}

/* Keep the upper ones, with the main one even if it is empty. There is room for one more. */
static int64_t keep_upper(int32_t *offset, int64_t count)
{
    int64_t below = 0;

    while (below < count && offset[below] < 0) below++;
    const int64_t upper = count - below, gap = upper == 0 || offset[below] != 0;
    memmove(offset + gap, offset + below, (size_t)upper * sizeof *offset);
    if (gap) offset[0] = 0;
    return upper + gap;
}

static kry_status place_entries(kryi_matrix *A, const kryi_device_csr *C, int64_t count,
                                cl_mem *place)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows, diagonals = (cl_int)count, bytes = bytes_of(count);
    const cl_int shared = A->format->shared;
    const kryi_stage *s = &A->stage[0];

    TRY(kryi_buffer_create(A->dev, (uint64_t)C->nnz * sizeof(cl_int), place));
    TRY(kryi_buffer_create(A->dev, (size_t)C->rows * (size_t)bytes, &A->there));
    const kry_arg args[] = { ARG(rows),       ARG(diagonals), ARG(s->value[STRIDE].number),
                             ARG(bytes),      ARG(shared),    ARG(s->value[OFFSET].buffer),
                             ARG(C->row_ptr), ARG(C->col),    ARG(*place),
                             ARG(A->there) };
    TRY(kryi_place_run(A->dev, "place_diagonals", C->rows, args, COUNT(args)));
done:
    return st;
}

/* Leave a matrix that is not symmetric, or has too many diagonals, to the host, which refuses it and says where. */
kry_status kryi_dia_place(kryi_matrix *A, const kryi_given *G, cl_mem *place)
{
    kry_status st = KRY_OK;
    const int64_t stride = kryi_ell_stride(A->shape.rows);
    const int64_t most = most_diagonals(A);
    int32_t *offset = NULL;
    int64_t count = G->diagonals;

    if (A->format->shared && !G->seen.symmetric) return KRY_OK;
    if (!G->diagonal) TRY(kryi_given_diagonals(&G->C, most, &offset, &count));
    if (count > most) return KRY_OK;
    if (G->diagonal) {
        TRY(kryi_alloc((size_t)count + 1, sizeof *offset, &offset));
        memcpy(offset, G->diagonal, (size_t)count * sizeof *offset);
    }
    if (A->format->shared) count = keep_upper(offset, count);
    TRY(kryi_matrix_slots(A, (double)count * (double)stride, 4.0 * (double)count));
    TRY(kryi_dia_stage(A, offset, count));
    TRY(place_entries(A, &G->C, count, place));
    A->placed = true;
done:
    free(offset);
    return st;
}

kry_status kryi_dia_entries_there(const kryi_matrix *A, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const kryi_stage *s = &A->stage[0];
    const uint64_t size = sizeof(cl_int), nnz = (uint64_t)A->nnz;
    const cl_int rows = (cl_int)A->shape.rows, bytes = bytes_of(s->value[DIAGONALS].number);
    const cl_int shared = A->format->shared;
    cl_mem length = NULL;

    TRY(kryi_buffer_create(A->dev, (uint64_t)rows * size, &length));
    kry_arg args[] = { ARG(rows),
                       ARG(s->value[DIAGONALS].number),
                       ARG(s->value[STRIDE].number),
                       ARG(bytes),
                       ARG(shared),
                       ARG(s->value[OFFSET].buffer),
                       ARG(A->there),
                       ARG(length),
                       ARG(C->col),
                       ARG(C->place) };
    TRY(kryi_place_run(A->dev, "place_diagonal_lengths", rows, args, COUNT(args) - 2));
    TRY(kryi_device_csr_offsets(A->dev, rows, length, &C->row_ptr, NULL));
    TRY(kryi_buffer_create(A->dev, nnz * size, &C->col));
    TRY(kryi_buffer_create(A->dev, nnz * size, &C->place));
    args[COUNT(args) - 3] = (kry_arg)ARG(C->row_ptr);
    TRY(kryi_place_run(A->dev, "place_diagonal_entries", rows, args, COUNT(args)));
done:
    kryi_buffer_release(A->dev, &length);
    return st;
}
