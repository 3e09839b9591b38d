/*
 * spy.h - where the entries of a matrix are, as a density over squares, for a page (page/html.h).
 */
#ifndef KRY_SPY_H
#define KRY_SPY_H

#include "page/host_matrix.h"

enum { SPY_MOST = 72 };

typedef struct spy {
    int64_t rows, cols; /* of the matrix */
    int high, wide;     /* squares */
    double count[SPY_MOST][SPY_MOST];
} spy;

kry_status kry_spy_create(int64_t rows, int64_t cols, spy **s);
void kry_spy_add(spy *s, const kry_host_matrix *A); /* all of it, or some of its rows */
void kry_spy_join(spy *s, const spy *other);        /* of other rows of the matrix */
void kry_spy_draw(FILE *f, const spy *s);
void kry_spy_release(spy **s);

#endif
