/* small_block.h - dense matrices of a few rows, on the host. */
#ifndef KRY_SMALL_BLOCK_H
#define KRY_SMALL_BLOCK_H

#include <stdbool.h>

enum { KRY_MOST_BLOCK = 32 };

typedef struct kry_small_block {
    int size;
    double a[KRY_MOST_BLOCK][KRY_MOST_BLOCK];
} kry_small_block;

/* B := its inverse; symmetric: that of its symmetric part, symmetric to the bit. false: it is
 * singular. */
bool kry_small_block_invert(kry_small_block *B, bool symmetric);
/* Whether the Cholesky factors of a symmetric B exist. */
bool kry_small_block_is_positive(const kry_small_block *B);

#endif
