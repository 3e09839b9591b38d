/* couplings.c - the columns of each row of an operator. */
#include "precond/couplings.h"
#include "grid/stencil.h"
#include "matrix/matrix_parts.h"
#include "operator/pin.h"
#include <stdlib.h>
#include <string.h>

/* Layers next to a slab that are on other parts. */
static int64_t layers_beyond(const kry_stencil *A) { return A->slab.low + A->slab.high; }

kry_status kry_couplings_of(const kry_op *A, kry_couplings *c)
{
    kry_status st = KRY_OK;

    A = kry_pin_of(A); /* has the same pattern */
    *c = (kry_couplings){ .grid = kry_stencil_of(A) };
    if (c->grid) return KRY_OK;
    st = kry_coupled_download(A, &c->rows);
    if (st == KRY_ERR_UNSUPPORTED) st = KRY_OK; /* an operator of the caller's own */
    free(c->rows.val), c->rows.val = NULL;
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

void kry_couplings_release(kry_couplings *c)
{
    kry_sparse_release(&c->rows);
    c->grid = NULL;
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

int64_t kry_couplings_at(const kry_couplings *c, int64_t i, int32_t room[7], const int32_t **cols)
{
    if (c->grid) {
        *cols = room;
        return grid_row(c->grid, i, room);
    }
    *cols = c->rows.col + c->rows.row_ptr[i];
    return kry_row_length(&c->rows, i);
}
