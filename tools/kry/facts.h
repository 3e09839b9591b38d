/*
 * facts.h - what the entries of a matrix say of it.
 */
#ifndef KRY_FACTS_H
#define KRY_FACTS_H

#include "storage.h"

enum { FACTS_BUCKETS = 33 };

typedef struct facts {
    asymmetry asymmetry; /* of a square matrix */
    int64_t bandwidth;   /* largest |i - j| */
    int64_t row_min, row_max, empty_rows, duplicates;
    double row_squares; /* sum of squared lengths */
    storage storage;
    int64_t histogram[FACTS_BUCKETS]; /* [0] empty rows, [k] rows of 2^(k-1) to 2^k - 1 entries */
    int buckets;
    int64_t missing_diagonal; /* no entry there, or a zero */
    int64_t negative_diagonal;
    int64_t weakly, strictly; /* dominant rows */
} facts;

/* Of the matrix A of a source; A may be condensed. */
kry_status facts_of(const source *s, const sparse *A, facts *f);

#endif
