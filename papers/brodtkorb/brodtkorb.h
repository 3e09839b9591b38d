/*
 * brodtkorb.h - what the parts of kry reproduce brodtkorb share.
 *
 * Source   A. R. Brodtkorb, The graphics processor as a mathematical coprocessor in MATLAB, CISIS
 *          2008: single precision, beside MATLAB's own routines.
 */
#ifndef KRY_BRODTKORB_H
#define KRY_BRODTKORB_H

#include "lapack.h"
#include "reproduce.h"

typedef struct brodtkorb {
    const bench *b;
    lapack *host;           /* NULL: the system has none */
    char host_missing[200]; /* why */
} brodtkorb;

/* Numbers of [-1/2, 1/2) on the device and, if `host` is not NULL, on the host (to be freed). */
kry_status brodtkorb_random(const bench *b, int64_t m, int64_t n, uint64_t stream, kry_vec **vec,
                            void **host);

/* One object, with --json. Not measured: `ours` NaN and why. */
void brodtkorb_cell(const bench *b, const char *table, const char *row, const char *column,
                    const char *unit, double theirs, double ours, const char *why);

kry_status brodtkorb_dense(const brodtkorb *p);       /* products, Gauss-Jordan, PLU */
kry_status brodtkorb_tridiagonal(const brodtkorb *p); /* many systems at once */
kry_status brodtkorb_background(const brodtkorb *p);  /* figure 5 */

#endif
