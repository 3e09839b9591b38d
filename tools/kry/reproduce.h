/*
 * reproduce.h - a paper's tables beside ours.
 */
#ifndef KRY_REPRODUCE_H
#define KRY_REPRODUCE_H

#include "bench.h"

/* One number of a table. NaN: not known. */
typedef struct cell {
    const char *table, *row, *column, *unit;
    double theirs, ours;
    double golden;       /* what a recomputation gives, where numbers do not depend on a machine */
    const char *refused; /* why there is none of ours, or NULL */
} cell;

void reproduce_cell(const bench *b, const char *paper, const cell *c); /* one object, with --json */
void reproduce_say(const bench *b, const char *format, ...) KRY_PRINTF(2, 3); /* without it */
void reproduce_number(const bench *b, const char *format, double value); /* a column; NaN: "-" */

/* Each opens what it needs; `b` has the options, the device and the seed. */
kry_status reproduce_akhtar(bench *b);
kry_status reproduce_brodtkorb(bench *b);
kry_status reproduce_cevahir(bench *b);
kry_status reproduce_gupta(bench *b);
kry_status reproduce_wang(bench *b);

#endif
