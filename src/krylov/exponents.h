/* exponents.h - powers of two that bring the entries of a matrix near 1: R A C. */
#ifndef KRY_EXPONENTS_H
#define KRY_EXPONENTS_H

#include "matrix/matrix_parts.h"

/* Binary exponents of R and C, and what they are for. */
typedef struct kryi_exponents {
    int *row, *col; /* owned; of n numbers each */
    int *by_row;    /* owned; n: of 1 / (the largest entry of each row of A), 0 for one of zeros */
    bool symmetric; /* they are alike, and R A C is symmetric but for rounding */
    bool dominant;  /* so is A, and no row's couplings add up to more than its diagonal entry */
    double row_span,
        column_span; /* the largest norm of A's rows over the least, but for zeros; of its columns */
} kryi_exponents;

/*
 * The exponents for A, and of the scaled matrix the numbers and what they say against methods.
 *
 *   symmetric  A is promised to be symmetric
 *   always     false: where no norms differ by much, there are none; val is then NULL
 */
kry_status kryi_exponents_find(const kryi_csr *A, bool symmetric, bool always, kryi_exponents *s,
                               void **val, kryi_finding *found);
void kryi_exponents_release(kryi_exponents *s);

#endif
