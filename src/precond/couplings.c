/* couplings.c - the columns of each row of an operator. */
#include "precond/couplings.h"
#include "grid/stencil.h"
#include "matrix/coupled.h"
#include "operator/pin.h"
#include "precond/rows.h"
#include <stdlib.h>
#include <string.h>

/* Rows of own columns and, behind them, of those on other parts. */
static kry_status join(const kry_raw_rows *own, const kry_far_entries *far, kry_couplings *rows)
{
    kry_status st = KRY_OK;
    int64_t at = 0, coupled = 0;

    TRY(kry_alloc((size_t)own->n + 1, sizeof *rows->row_ptr, &rows->row_ptr));
    TRY(kry_alloc((size_t)(own->nnz + far->nnz), sizeof *rows->col, &rows->col));
    for (int64_t i = 0; i < own->n; i++) {
        for (int64_t e = own->row_ptr[i]; e < own->row_ptr[i + 1]; e++)
            rows->col[at++] = own->col[e];
        if (coupled < far->rows && far->row[coupled] == i) {
            for (int32_t e = far->begin[coupled]; e < far->begin[coupled + 1]; e++)
                rows->col[at++] = (int32_t)own->n + far->col[e];
            coupled++;
        }
        rows->row_ptr[i + 1] = at;
    }
done:
    return st;
}

/* Layers next to a slab that are on other parts. */
static int64_t layers_beyond(const kry_stencil *A) { return A->slab.low + A->slab.high; }

kry_status kry_couplings_of(const kry_op *A, kry_couplings *rows)
{
    kry_status st = KRY_OK;
    kry_raw_rows raw = { 0 };
    kry_far_entries far = { 0 };
    const int64_t *place;

    A = kry_pin_of(A); /* couples no more */
    *rows = (kry_couplings){ .n = A->shape.rows, .grid = kry_stencil_of(A) };
    rows->known = rows->grid != NULL;
    if (rows->known) {
        rows->beyond = layers_beyond(rows->grid) * rows->grid->slab.layer;
        return KRY_OK;
    }
    st = kry_raw_rows_read(A, &raw);
    if (st == KRY_ERR_UNSUPPORTED) return KRY_OK; /* an operator of the caller's own */
    TRY(st);
    rows->known = true;
    rows->beyond = kry_coupled_places(A, &place);
    if (rows->beyond) {
        TRY(kry_coupled_read(A, &far));
        TRY(join(&raw, &far, rows));
    } else {
        rows->row_ptr = raw.row_ptr, raw.row_ptr = NULL;
        rows->col = raw.col, raw.col = NULL;
    }
done:
    kry_far_entries_release(&far);
    kry_raw_rows_release(&raw);
    if (st < 0) kry_couplings_release(rows);
    return st;
}

static kry_status beyond_slab(const kry_slab *s, int64_t layers, int64_t *count, int64_t **place)
{
    kry_status st = KRY_OK;
    int64_t below = (s->first + s->all - 1) % s->all, above = (s->first + s->count) % s->all;

    *count = layers * s->layer;
    TRY(kry_alloc((size_t)*count, sizeof **place, place));
    for (int64_t i = 0; i < s->layer; i++) {
        if (s->low) (*place)[s->at_low + i] = below * s->layer + i;
        if (s->high) (*place)[s->at_high + i] = above * s->layer + i;
    }
done:
    return st;
}

kry_status kry_couplings_beyond(const kry_op *A, int64_t *count, int64_t **place)
{
    kry_status st = KRY_OK;
    const kry_stencil *grid = kry_stencil_of(kry_pin_of(A));
    const int64_t *from;

    if (grid) return beyond_slab(&grid->slab, layers_beyond(grid), count, place);
    *count = kry_coupled_places(kry_pin_of(A), &from);
    TRY(kry_alloc((size_t)*count, sizeof **place, place));
    if (*count) memcpy(*place, from, (size_t)*count * sizeof **place);
done:
    return st;
}

void kry_couplings_release(kry_couplings *rows)
{
    free(rows->row_ptr);
    free(rows->col);
    *rows = (kry_couplings){ 0 };
}

/* Neighbours on other parts are numbered behind the unknowns here, as they stand in the halo. */
static int64_t grid_row(const kry_stencil *A, int64_t i, int32_t *cols)
{
    const kry_slab *s = &A->slab;
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
    if (s->low && i < s->layer) cols[count++] = (int32_t)(A->n + s->at_low + i);
    if (s->high && i >= A->n - s->layer)
        cols[count++] = (int32_t)(A->n + s->at_high + i - (A->n - s->layer));
    return count;
}

int64_t kry_couplings_at(const kry_couplings *rows, int64_t i, int32_t room[7],
                         const int32_t **cols)
{
    if (rows->grid) return *cols = room, grid_row(rows->grid, i, room);
    *cols = rows->col + rows->row_ptr[i];
    return rows->row_ptr[i + 1] - rows->row_ptr[i];
}
