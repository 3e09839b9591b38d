/*
 * facts.h - what the entries of a matrix say of it.
 */
#ifndef KRY_FACTS_H
#define KRY_FACTS_H

#include "page/host_matrix.h"

/* What a matrix takes in each format. */
typedef struct storage {
    int64_t diagonals;              /* that have an entry */
    double bytes[KRY_FORMAT_COUNT]; /* numbers in double, structure included; NaN: not possible */
} storage;

enum { FACTS_BUCKETS = 33, FACTS_FEW = 14 /* lengths of rows that are told one by one */ };

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

/* *f := facts of a rows-by-cols matrix, of which A may leave out rows and columns without an entry (place). */
kry_status kryi_facts_of(const kryi_host_matrix *A, int64_t rows, int64_t cols, facts *f);

/* Facts in pieces, without symmetry and storage: of the rows of A, which may be some of a matrix; and those of more rows
 * besides. */
void kryi_facts_of_rows(const kryi_host_matrix *A, facts *f);
void kryi_facts_add(facts *f, const facts *more);

#endif
