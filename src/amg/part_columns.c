/* part_columns.c - rows with entries in all parts, whose columns a part numbers for itself: its own ones from 0, then
 * the others that it has entries in. */
#include "amg/part_levels.h"
#include "operator/halo.h"
#include <stdlib.h>
#include <string.h>

void kryi_part_rows_release(kryi_part_rows *rows)
{
    free(rows->place);
    kryi_csr_release(&rows->far);
    kryi_csr_release(&rows->own);
    *rows = (kryi_part_rows){ 0 };
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool is_own(const kryi_part_columns *c, int64_t place)
{
    return place >= c->first && place < c->first + c->own;
}

kry_status kryi_part_columns_find(const kryi_placed_rows *const rows[2], int64_t first, int64_t own,
                                  kryi_part_columns *c)
{
    kry_status st = KRY_OK;
    int64_t most = 0, count = 0;

    *c = (kryi_part_columns){ .first = first, .own = own };
    for (int r = 0; r < 2; r++) most += rows[r]->row_ptr[rows[r]->rows];
    TRY(kryi_alloc((size_t)most, sizeof *c->place, &c->place));
    for (int r = 0; r < 2; r++)
        for (int64_t e = 0; e < rows[r]->row_ptr[rows[r]->rows]; e++)
            if (!is_own(c, rows[r]->place[e])) c->place[count++] = rows[r]->place[e];
    if (count) qsort(c->place, (size_t)count, sizeof *c->place, ascending);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || c->place[i] != c->place[i - 1]) c->place[c->count++] = c->place[i];
done:
    return st;
}

kry_status kryi_part_columns_place(const kryi_csr *M, const kryi_part_columns *c,
                                   kryi_placed_rows *placed)
{
    kry_status st = KRY_OK;
    const int64_t nnz = kryi_csr_nnz(M);

    *placed = (kryi_placed_rows){ M->rows, M->row_ptr, NULL, M->val };
    TRY(kryi_alloc((size_t)nnz, sizeof *placed->place, &placed->place));
    for (int64_t e = 0; e < nnz; e++)
        placed->place[e] = M->col[e] < c->own ? c->first + M->col[e] : c->place[M->col[e] - c->own];
done:
    return st;
}

static int32_t number_of(const kryi_part_columns *c, int64_t place)
{
    if (is_own(c, place)) return (int32_t)(place - c->first);
    const int64_t *at = bsearch(&place, c->place, (size_t)c->count, sizeof *c->place, ascending);
    return (int32_t)(c->own + (at - c->place));
}

kry_status kryi_part_columns_stack(const kryi_placed_rows *top, const kryi_placed_rows *below,
                                   const kryi_part_columns *c, kryi_csr *M)
{
    kry_status st = KRY_OK;
    const kryi_placed_rows *const both[] = { top, below };
    int64_t to = 0, row = 0;

    TRY(kryi_csr_create(top->rows + below->rows, c->own + c->count, KRY_F64,
                        top->row_ptr[top->rows] + below->row_ptr[below->rows], M));
    for (int b = 0; b < 2; b++)
        for (int64_t i = 0; i < both[b]->rows; i++) {
            for (int64_t e = both[b]->row_ptr[i]; e < both[b]->row_ptr[i + 1]; e++, to++) {
                M->col[to] = number_of(c, both[b]->place[e]);
                ((double *)M->val)[to] = both[b]->val[e];
            }
            M->row_ptr[++row] = to;
        }
    TRY(kryi_csr_sort(M));
done:
    return st;
}

kry_status kryi_part_columns_split(const kryi_csr *M, const kryi_part_columns *c,
                                   kryi_part_rows *rows)
{
    kry_status st = KRY_OK;
    const int64_t cols = c->own + c->count;
    kryi_csr_cut cut = { .rows = M->rows, .cols = c->own };
    int32_t *number = NULL;

    *rows = (kryi_part_rows){ 0 };
    TRY(kryi_alloc((size_t)cols, sizeof *number, &number));
    TRY(kryi_alloc((size_t)c->count, sizeof *rows->place, &rows->place));
    cut.place = number;
    for (int64_t j = 0; j < cols; j++) number[j] = j < c->own ? (int32_t)j : -1;
    TRY(kryi_csr_part(M, &cut, &rows->own, NULL));
    for (int64_t j = 0; j < cols; j++) number[j] = -1;
    for (int64_t e = 0; e < kryi_csr_nnz(M); e++) number[M->col[e]] = 0;
    for (int64_t j = 0; j < c->own; j++) number[j] = -1;
    for (int64_t j = c->own; j < cols; j++) {
        if (number[j] < 0) continue;
        number[j] = (int32_t)rows->places;
        rows->place[rows->places++] = c->place[j - c->own];
    }
    cut.cols = rows->places;
    TRY(kryi_csr_part(M, &cut, &rows->far, NULL));
done:
    free(number);
    if (st < 0) kryi_part_rows_release(rows);
    return st;
}
