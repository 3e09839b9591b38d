/*
 * spy.h - where the entries of a matrix are, as a density over squares, for a page (html.h).
 */
#ifndef KRY_SPY_H
#define KRY_SPY_H

#include "source.h"
#include <stdio.h>

kry_status spy_picture(FILE *f, const sparse *A, int64_t rows, int64_t cols);

#endif
