/* entries.h - the entries that a caller gives, and the sorted matrix that they make. */
#ifndef KRY_ENTRIES_H
#define KRY_ENTRIES_H

#include "sparse/csr.h"

/* The entries as they were given, borrowed. */
typedef struct kryi_entries {
    const char *who;    /* the public function, for messages */
    kryi_csr given;     /* compressed rows in any order; of coordinates no row_ptr */
    const int32_t *row; /* of coordinates; NULL: compressed rows */
    int64_t nnz;
} kryi_entries;

/* Where each of the given entries went, so that new values can follow. */
typedef struct kryi_entry_map {
    int64_t given;
    int64_t *place;  /* given: of entry e; NULL: they were sorted */
    int64_t *mirror; /* given: of its mirror image, -1 if it has none; NULL: general storage */
    bool skew;       /* mirror images change sign */
} kryi_entry_map;

/* Returns  KRY_ERR_ARGUMENT for row pointers that decrease and indices out of range. */
kry_status kryi_entries_check(const kryi_entries *e);
/* Returns  KRY_ERR_ARGUMENT naming the first value that is not finite. */
kry_status kryi_values_check(const char *who, kry_type type, int64_t nnz, const void *val);

/*
 * Make the matrix of these entries: columns ascend, each place has one entry.
 *
 *   params  storage (general, or one triangle of a symmetric or skew matrix) and duplicates
 *   borrow  true: A has the caller's numbers where they are sorted, unchecked; a team keeps A for a while and takes a copy
 *   map     [out]  to be released; NULL: not wanted
 *
 * Entries at one place are added up in the order in which they were given.
 * Returns  KRY_ERR_ARGUMENT naming the first bad place.
 */
kry_status kryi_entries_compress(const kryi_entries *e, const kry_matrix_params *params,
                                 bool borrow, kryi_csr *A, kryi_entry_map *map);
/* Release A, but for numbers that it has borrowed. */
void kryi_entries_release(const kryi_entries *e, kryi_csr *A);
/* Give A the numbers that new values for the given entries make; A needs no columns.
 * Returns  KRY_ERR_ARGUMENT for values that are not finite, and A is unchanged; or for sums that
 * overflow. */
kry_status kryi_entries_renew(const char *who, const kryi_entry_map *map, const void *values,
                              int64_t nnz, kryi_csr *A);
void kryi_entry_map_release(kryi_entry_map *map);

/* ---- entries that are found one by one ------------------------------------------------------- */

typedef struct kryi_entry {
    int32_t row, col;
    double val;
} kryi_entry;

typedef struct kryi_entry_list {
    kryi_entry *entry; /* owned: to be freed */
    int64_t count, capacity;
} kryi_entry_list;

kry_status kryi_entry_append(kryi_entry_list *list, int64_t row, int64_t col, double val);
/* A := the matrix of these entries, in double; those at one place are added up in their order.
 * `who` names the public function. Returns  KRY_ERR_ARGUMENT for numbers that are not finite */
kry_status kryi_entry_list_compress(const char *who, const kryi_entry_list *list, int64_t rows,
                                    int64_t cols, kryi_csr *A);

#endif
