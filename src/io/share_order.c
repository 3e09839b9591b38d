/*
 * share_order.c - vectors of a grid in blocks (team/boxes.h) between the order of files, in which ranks have consecutive rows,
 * and that of the blocks. Column by column, by way of an array of all rows on every rank.
 */
#include "io/share.h"
#include "vector/vec.h"
#include <stdlib.h>
#include <string.h>

kry_status kryi_share_order(const kry_vec *vec, size_t size, bool to_rows, void *numbers)
{
    kry_status st = KRY_OK;
    const kryi_split *s = vec->split;
    int64_t first;
    const int64_t rows = kry_vec_rows_here(vec, &first);
    char *all = NULL;

    if (!s || !kryi_split_permutes(s)) return KRY_OK;
    TRY(kryi_alloc((size_t)s->n, size, &all));
    for (int64_t j = 0; j < vec->k; j++) {
        char *mine = (char *)numbers + (size_t)(j * rows) * size;
        memcpy(all + (size_t)first * size, mine, (size_t)rows * size);
        TRY((to_rows ? kryi_split_all_rows : kryi_split_complete)(s, size, all));
        for (int64_t i = 0; i < rows; i++) {
            const int64_t from = to_rows ? first + i : kryi_split_row(s, first + i);
            memcpy(mine + (size_t)i * size, all + (size_t)from * size, size);
        }
    }
done:
    free(all);
    return st;
}
