/*
 * product.h - y := A x in one form after the other, timed.
 */
#ifndef KRY_PRODUCT_H
#define KRY_PRODUCT_H

#include "bench.h"

/* A matrix on the host in CSR with numbers of the type that the device takes, a grid, or both. */
typedef struct product_input {
    const char *name;               /* the file or the spec; borrowed */
    const kry_stencil_params *grid; /* borrowed; NULL: none */
    sparse A;                       /* its arrays are NULL if there is only the grid */
    const void *val;                /* nnz numbers of the bench's type; borrowed from A, or owned */
    float *owned;
    unsigned traits;
    double bytes; /* of row_ptr, col and val */
    /* Makes the operator in place of the form that is asked for; NULL: the form does. */
    kry_status (*make)(const bench *b, const struct product_input *in, kry_op **A);
} product_input;

kry_status product_input_create(const bench *b, const source *s, product_input *in);
void product_input_release(product_input *in);

typedef struct product_timing {
    char format[16], variant[96]; /* as stored */
    int64_t slots;                /* numbers stored, padding included; 0: none */
    double bytes, seconds;        /* of one product; bytes by the operator's own model */
    double setup_seconds;         /* to make the operator, kernels compiled */
    int copies;                   /* of operator and vectors that took turns */
    char refused[400];            /* why A cannot be stored so; "": it can */
} product_timing;

/* Time products with A held as `f` says: `stencil` from the grid, else from the entries. Unless the
 * bench is hot, enough copies take turns that no cache holds them. A form that A cannot be held in
 * is no error: see refused. */
kry_status product_time(const bench *b, const product_input *in, const form *f, product_timing *t);

#endif
