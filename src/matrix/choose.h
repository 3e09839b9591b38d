/* choose.h - what format AUTO is made of: properties of a matrix, and what products should cost. */
#ifndef KRY_CHOOSE_H
#define KRY_CHOOSE_H

#include "matrix/matrix.h"

/* The properties of a matrix that decide how fast a format is. */
typedef struct kry_structure {
    int64_t rows, cols, nnz;
    double number;      /* bytes of a vector's number */
    double value;       /* bytes of a stored number */
    int64_t longest;    /* entries of the longest row */
    int64_t diagonals;  /* with entries; counted up to a few times the mean length of a row */
    int64_t upper;      /* those from the main one up, with it */
    bool few_diagonals; /* the two are exact */
    bool symmetric;     /* pattern and numbers; only looked at if there are few diagonals */
    double sell_slots;  /* numbers of SELL, padding included */
    bool sell_sorted;   /* it sorts the rows */
    double sell_index;  /* bytes of its columns, from a sample */
    int64_t ell_tail;   /* entries that HYB leaves to COO */
    int64_t ell_width;  /* columns of its ELL */
    uint64_t hash;      /* of a sample of the pattern */
} kry_structure;

kry_status kry_structure_of(const kry_device *dev, const kry_sparse *host,
                            const kry_matrix_params *params, kry_structure *s);

/* Seconds of a product, expected; INFINITY if the format cannot or should not take the matrix. */
double kry_predict(const kry_device *dev, const kry_structure *s, kry_format format);

#endif
