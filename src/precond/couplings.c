/* couplings.c - the columns of each row of an operator. */
#include "couplings.h"
#include "../core/pin.h"
#include "../stencil/stencil.h"
#include "rows.h"
#include <stdlib.h>

kry_status kry_couplings_of(const kry_op *A, kry_couplings *rows)
{
    kry_status st = KRY_OK;
    kry_raw_rows raw = { 0 };

    A = kry_pin_of(A); /* couples no more */
    *rows = (kry_couplings){ .n = A->shape.rows, .grid = kry_stencil_of(A) };
    rows->known = rows->grid != NULL;
    if (rows->known) return KRY_OK;
    st = kry_raw_rows_read(A, &raw);
    if (st == KRY_ERR_UNSUPPORTED) return KRY_OK; /* an operator of the caller's own */
    TRY(st);
    rows->known = true;
    rows->row_ptr = raw.row_ptr, raw.row_ptr = NULL;
    rows->col = raw.col, raw.col = NULL;
done:
    kry_raw_rows_release(&raw);
    return st;
}

void kry_couplings_release(kry_couplings *rows)
{
    free(rows->row_ptr);
    free(rows->col);
    *rows = (kry_couplings){ 0 };
}

static int64_t grid_row(const kry_stencil *A, int64_t i, int32_t *cols)
{
    int64_t count = 0, stride = 1, left = i;

    cols[count++] = (int32_t)i;
    for (int a = 0; a < A->axes; a++) {
        int64_t size = A->size[a], at = left % size, around = (size - 1) * stride;
        bool wraps = kry_stencil_wraps(A, a);
        if (at > 0 || wraps) cols[count++] = (int32_t)(at > 0 ? i - stride : i + around);
        if (at < size - 1 || wraps)
            cols[count++] = (int32_t)(at < size - 1 ? i + stride : i - around);
        stride *= size;
        left /= size;
    }
    return count;
}

int64_t kry_couplings_at(const kry_couplings *rows, int64_t i, int32_t room[7],
                         const int32_t **cols)
{
    if (rows->grid) return *cols = room, grid_row(rows->grid, i, room);
    *cols = rows->col + rows->row_ptr[i];
    return rows->row_ptr[i + 1] - rows->row_ptr[i];
}
