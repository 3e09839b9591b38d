/* box_rows.c - the rows of a stored stencil, on the host. */
#include "multigrid/box.h"
#include "sparse/entries.h"
#include <stdlib.h>

/* As in cl/multigrid/box.clh. */
static int64_t beside(int64_t at, int step, int64_t size, bool wrapped)
{
    const int64_t to = at + step;
    if (to >= 0 && to < size) return to;
    return !wrapped || size == 1 ? -1 : to < 0 ? to + size : to - size;
}

/* The point at `offset` from point i, which is at `place`; -1: there is none. */
static int64_t neighbour(const kry_box_grid *g, const int64_t place[3], const int offset[3])
{
    int64_t number = 0, stride = 1;

    for (int a = 0; a < 3; a++) {
        const int64_t to =
            offset[a] ? beside(place[a], offset[a], g->size[a], g->wraps >> a & 1) : place[a];
        if (to < 0) return -1;
        number += to * stride, stride *= g->size[a];
    }
    return number;
}

/* The couplings that are stored at point i, in both directions. */
static kry_status append_point(const kry_box *B, const double *numbers, int64_t i,
                               kry_entry_list *list)
{
    kry_status st = KRY_OK;
    const kry_box_grid *g = &B->grid;
    const int64_t row = i / g->size[0],
                  place[3] = { i % g->size[0], row % g->size[1], row / g->size[1] };

    for (int slot = 0; slot < B->half; slot++) {
        const int offset[3] = { (slot + 1) % 3 - 1, (slot + 4) / 3 % 3 - 1, (slot + 4) / 9 };
        const int64_t j = neighbour(g, place, offset);
        const double number = numbers[slot * g->n + i - place[0] + kry_box_column(g, place[0])];
        if (j < 0 || number == 0) continue;
        TRY(kry_entry_append(list, (int32_t)i, (int32_t)j, number));
        if (slot) TRY(kry_entry_append(list, (int32_t)j, (int32_t)i, number));
    }
done:
    return st;
}

/* Flux form: the diagonal from what the rows add up to. */
static void add_up(const double *row_sum, kry_sparse *rows)
{
    double *val = rows->val;

    for (int64_t i = 0; i < rows->rows; i++) {
        double own = row_sum[i];
        for (int64_t e = rows->row_ptr[i]; e < rows->row_ptr[i + 1]; e++)
            if (rows->col[e] != i) own -= val[e];
        const int64_t e = kry_sparse_find(rows, i, i);
        if (e >= 0) val[e] = own;
    }
}

kry_status kry_box_rows(const char *who, const kry_op *A, kry_sparse *rows)
{
    kry_status st = KRY_OK;
    const kry_box *B = kry_box_of(A);
    const int64_t n = B->grid.n, count = n * B->slots;
    kry_entry_list list = { 0 };
    double *numbers = NULL;
    void *stored = NULL;

    TRY(kry_alloc((size_t)count, kry_type_size(B->type), &stored));
    TRY(kry_alloc((size_t)count, sizeof *numbers, &numbers));
    TRY(kry_buffer_read(B->dev, B->numbers, 0, (size_t)count * kry_type_size(B->type), stored));
    for (int64_t k = 0; k < count; k++) numbers[k] = kry_number_at(B->type, stored, k);
    for (int64_t i = 0; i < n; i++) TRY(append_point(B, numbers, i, &list));
    TRY(kry_entry_list_compress(who, &list, n, n, rows));
    if (B->slots > B->half) add_up(numbers + B->half * n, rows);
done:
    free(numbers);
    free(stored);
    free(list.entry);
    return st;
}
