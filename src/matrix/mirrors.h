/*
 * mirrors.h - the entries of a square matrix beside their mirror images.
 */
#ifndef KRY_MIRRORS_H
#define KRY_MIRRORS_H

#include "matrix/matrix.h"

/* Name the pair that is furthest apart, if that is more than `rounding`; else found->what is KRY_FOUND_NOTHING. An entry without
 * a mirror image is compared with 0, and of equal pairs the first is named. Columns ascend in each row. Not all entries of
 * a large matrix are compared if a batch of rows has such a pair: it is the one that differs most there.
 * *symmetric: whether A is, to the bit, pattern and numbers. */
kry_status kryi_mirrors_compare(const kryi_csr *A, double rounding, kryi_finding *found,
                                bool *symmetric);

/* Whether mirror images of entries are in the caches when they are looked for, by a sample of rows; for tests. */
bool kryi_near_suits(const kryi_csr *A);

#endif
