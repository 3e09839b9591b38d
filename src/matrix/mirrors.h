/*
 * mirrors.h - the entries of a square matrix beside their mirror images.
 */
#ifndef KRY_MIRRORS_H
#define KRY_MIRRORS_H

#include "matrix/matrix.h"
#include <string.h>

/* Name the pair that is furthest apart, if that is more than `rounding`; else found->what is KRY_FOUND_NOTHING. An entry without
 * a mirror image is compared with 0, and of equal pairs the first is named. Columns ascend in each row. Not all entries of
 * a large matrix are compared if a batch of rows has such a pair: it is the one that differs most there.
 * *symmetric: whether A is, to the bit, pattern and numbers. */
kry_status kry_mirrors_compare(const kry_sparse *A, double rounding, kry_finding *found,
                               bool *symmetric);

/* ---- for the two ways to compare: mirrors.c, mirrors_near.c --------------------------------------- */

/* The pair that is furthest apart, of equals the first, named by its upper entry, or by the one that there is. */
typedef struct kry_apart {
    double difference;
    kry_finding pair;
    bool unequal; /* some pair differs, be it in a bit, or an entry has no mirror image */
} kry_apart;

/* Entry (row, col) and its mirror image, which differ, or is 0 if there is none. */
void kry_apart_differ(kry_apart *a, int64_t row, int64_t col, double entry, double mirror);

/* The same, whether they differ or not. */
static inline void kry_apart_pair(kry_apart *a, int64_t row, int64_t col, double entry,
                                  double mirror)
{
    if (memcmp(&entry, &mirror, sizeof entry)) kry_apart_differ(a, row, col, entry, mirror);
}

/* Entries whose mirror images are in the caches when they are looked for. */
typedef struct kry_near {
    const kry_sparse *A;
    int64_t begin; /* of the batch of rows */
    kry_apart *part;
    int64_t alone[KRY_MOST_PARTS]; /* entries below the diagonal, less those that were met */
} kry_near;

/* Whether they are, by a sample of rows. */
bool kry_near_suits(const kry_sparse *A);
/* Compare the entries of these rows that are above the diagonal; and after all batches those below it that are without a
 * mirror image. */
void kry_near_compare(kry_near *N, int parts, int64_t begin, int64_t end);
void kry_near_end(kry_near *N, int parts);

#endif
