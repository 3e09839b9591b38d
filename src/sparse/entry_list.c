/* entry_list.c - matrices from entries that are found one by one. */
#include "sparse/entry_list.h"
#include "sparse/entries.h"
#include <stdlib.h>

kry_status kry_entry_append(kry_entry_list *list, int64_t row, int64_t col, double val)
{
    kry_status st = KRY_OK;

    if (list->count == list->capacity) {
        int64_t capacity = list->capacity ? 2 * list->capacity : 1024;
        TRY(kry_realloc((size_t)capacity, sizeof *list->entry, &list->entry));
        list->capacity = capacity;
    }
    list->entry[list->count++] = (kry_entry){ (int32_t)row, (int32_t)col, val };
done:
    return st;
}

kry_status kry_entry_append_all(kry_entry_list *list, const kry_sparse *A)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            TRY(kry_entry_append(list, i, A->col[e],
                                 A->val ? kry_number_at(A->type, A->val, e) : 0));
done:
    return st;
}

kry_status kry_entry_list_compress(const char *who, const kry_entry_list *list, int64_t rows,
                                   int64_t cols, kry_sparse *A)
{
    kry_status st = KRY_OK;
    size_t count = (size_t)list->count;
    int32_t *row = NULL, *col = NULL;
    double *val = NULL;

    TRY(kry_alloc(count, sizeof *row, &row));
    TRY(kry_alloc(count, sizeof *col, &col));
    TRY(kry_alloc(count, sizeof *val, &val));
    for (size_t e = 0; e < count; e++) {
        row[e] = list->entry[e].row, col[e] = list->entry[e].col;
        val[e] = list->entry[e].val;
    }
    const kry_entries given = { .who = who,
                                .rows = rows,
                                .cols = cols,
                                .nnz = list->count,
                                .type = KRY_F64,
                                .row = row,
                                .col = col,
                                .val = val };
    TRY(kry_entries_compress(&given, KRY_MATRIX(.duplicates = KRY_SUM), A, NULL));
done:
    free(val);
    free(col);
    free(row);
    return st;
}
