/*
 * examine.h - a look at a file's matrix before it is solved with.
 */
#ifndef KRY_EXAMINE_H
#define KRY_EXAMINE_H

#include "source.h"

/* Refuse a matrix that is not square; for Krylov methods, unless `check` is false, also a file's matrix
 * that the method is not for, naming the entry and what to do. Finds out whether it is singular
 * (s->singular), and turns a negative one round (s->negated). */
kry_status source_examine(source *s, const char *method, bool check);

#endif
