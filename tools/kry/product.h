/*
 * product.h - y := A x in one storage format after the other, timed.
 */
#ifndef KRY_PRODUCT_H
#define KRY_PRODUCT_H

#include "bench.h"

/* A matrix on the host in CSR with its numbers as the device wants them. */
typedef struct product_input {
    const char *name; /* the file or the spec; borrowed */
    sparse A;
    const void *val; /* nnz numbers of the bench's type; borrowed from A, or owned */
    float *owned;
    unsigned traits;
    double bytes; /* of row_ptr, col and val */
} product_input;

kry_status product_input_create(const bench *b, const source *s, product_input *in);
void product_input_release(product_input *in);

typedef struct product_timing {
    char format[16], variant[96]; /* as stored */
    int64_t slots;                /* numbers stored, padding included */
    double bytes, seconds;        /* of one product; bytes by the operator's own model */
    double setup_seconds;         /* to make the operator from CSR on the host, kernels compiled */
    int copies;                   /* of operator and vectors that took turns */
    char refused[400];            /* why the format does not take this matrix; "": it does */
} product_timing;

/* Time products with A stored as `params` say. Unless the bench is hot, enough copies take turns
 * that no cache holds them. A format that does not take the matrix is no error: see refused. */
kry_status product_time(const bench *b, const product_input *in, const kry_matrix_params *params,
                        product_timing *t);

#endif
