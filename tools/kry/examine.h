/*
 * examine.h - a look at a file's matrix before it is solved with.
 */
#ifndef KRY_EXAMINE_H
#define KRY_EXAMINE_H

#include "source.h"

/* Refuse a matrix that is not square; for Krylov methods, unless `check` is false, also a file's matrix
 * that the method is not for, naming the entry and what to do. Turns a negative one round (s->negated). */
kry_status source_examine(source *s, const char *method, bool check);

/* ---- null_space.c ---- */

/* s->null := what A, made of s, is found to map to zero. Collective. */
kry_status source_find_null_space(source *s, const kry_op *A);
/* Take it out of v, a number for each row here. Collective. */
void source_centre(const source *s, double *v);

#endif
