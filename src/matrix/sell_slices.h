/* sell_slices.h - SELL-C-sigma: slices of C rows, sorted by length in windows of sigma rows. */
#ifndef KRY_SELL_SLICES_H
#define KRY_SELL_SLICES_H

#include "matrix/matrix.h"

typedef struct kry_slices {
    int64_t rows, slices, slots;
    int height, sigma;  /* C, and rows to a window of sorting */
    int32_t *perm;      /* slices * height: row of each position, -1: none */
    int32_t *slice_ptr; /* slices+1: the first slot */
} kry_slices;

/* C of the parameters, or the one that suits the device. Returns  what is wrong with it and
 * sigma. */
kry_status kry_slices_check(const kry_device *dev, kry_type type, const kry_matrix_params *p,
                            int *height);
/* sigma 0: the window that takes least room, unsorted where that costs little. slots: all
 * slices'. */
kry_status kry_slices_choose(const kry_sparse *host, int height, int sigma, kry_slices *best,
                             double *slots);
void kry_slices_release(kry_slices *s);
/* How many bits hold columns that are up to so far from the least one beside them. */
int kry_sell_bits(int64_t farthest);

#endif
