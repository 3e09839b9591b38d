/* sell.h - the slices of a matrix in sell. */
#ifndef KRY_SELL_H
#define KRY_SELL_H

#include "matrix/matrix.h"

typedef struct kryi_slices {
    int64_t count;
    double slots;       /* of all: it may be more than an int holds */
    int height, sigma;  /* C, and rows to a window of sorting */
    int32_t *perm;      /* count * height: row of each position, -1: none */
    int32_t *slice_ptr; /* count+1: the first slot */
} kryi_slices;
void kryi_slices_release(kryi_slices *s);

/* Cut the slices, of which number i has the slots slice_ptr[i] ... slice_ptr[i + 1] - 1, into `pieces` shares of
 * equal work: piece b begins with slice share[b], share[pieces] = slices. */
void kryi_equal_shares(const int32_t *slice_ptr, int64_t slices, int32_t *share, int64_t pieces);

#endif
