/* entry_list.h - entries as they are found, one by one, and the matrix that they make. */
#ifndef KRY_ENTRY_LIST_H
#define KRY_ENTRY_LIST_H

#include "sparse/sparse.h"

typedef struct kry_entry {
    int32_t row, col;
    double val;
} kry_entry;

typedef struct kry_entry_list {
    kry_entry *entry; /* owned: to be freed */
    int64_t count, capacity;
} kry_entry_list;

kry_status kry_entry_append(kry_entry_list *list, int64_t row, int64_t col, double val);
/* All entries of A, in double or a pattern, whose entries count as 0. */
kry_status kry_entry_append_all(kry_entry_list *list, const kry_sparse *A);
/* A := the matrix of these entries, in double; those at one place are added up in their order.
 * `who` names the public function. Returns  KRY_ERR_ARGUMENT for numbers that are not finite */
kry_status kry_entry_list_compress(const char *who, const kry_entry_list *list, int64_t rows,
                                   int64_t cols, kry_sparse *A);

#endif
