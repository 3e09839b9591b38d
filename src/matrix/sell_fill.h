/* sell_fill.h - the slices of a matrix in sell (sell.c), and the places of its entries in them. */
#ifndef KRY_SELL_FILL_H
#define KRY_SELL_FILL_H

#include "matrix/matrix.h"

typedef struct kry_slices {
    int64_t count;
    double slots;       /* of all: it may be more than an int holds */
    int height, sigma;  /* C, and rows to a window of sorting */
    int32_t *perm;      /* count * height: row of each position, -1: none */
    int32_t *slice_ptr; /* count+1: the first slot */
} kry_slices;

/* Choose the slots of all entries, and set the column of each slot, -1 for padding. If a slice
 * has no more distances than places in a row, each distance gets a place of its own: then
 * columns side by side are close to each other and need few bits. Rows of other slices are
 * packed to the left. */
kry_status kry_sell_fill(kry_matrix *A, const kry_sparse *host, const kry_slices *s, int32_t *col);
/* base: the least of each C columns side by side. Returns the largest distance of a column from its
 * base. */
int64_t kry_sell_bases(const int32_t *col, int64_t slots, int height, int32_t *base);
/* narrow := distances of columns from their bases in 8 or 16 bits, all of which are set for padding. */
void kry_sell_narrow(const int32_t *col, int64_t slots, int height, const int32_t *base, int bits,
                     void *narrow);
/* full: the slot from which on a slice has padding. */
void kry_sell_find_full(const int32_t *slice_ptr, int64_t slices, int height, const int32_t *col,
                        int32_t *full);

/* sell.c: cut the slices, of which number i has the slots slice_ptr[i] ... slice_ptr[i + 1] - 1, into `pieces` shares of
 * equal work: piece b begins with slice share[b], share[pieces] = slices. */
void kry_equal_shares(const int32_t *slice_ptr, int64_t slices, int32_t *share, int64_t pieces);

#endif
