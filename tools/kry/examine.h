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

/* ---- null_parts.c ---- */

enum { NULL_PARTS_MOST = 64 }; /* vectors of a null space: each is kept in full */

typedef enum row_kind { ROW_OTHER, ROW_EMPTY, ROW_SUMS_TO_ZERO } row_kind;
/* Find the parts of a symmetric matrix that no entry connects and whose rows all add up to zero: s->part,
 * s->parts and s->singular. kind: of each row. */
kry_status source_null_parts(source *s, const row_kind *kind);
/* The same of a file that ranks share. kind: of the rows here. Collective. */
kry_status source_null_share(source *s, const row_kind *kind);
/* mean[p]: of v on each singular part, s->parts of them. Collective. */
void source_means(const source *s, const double *v, double *mean);
/* Take them out of v. Collective. */
void source_centre(const source *s, double *v);
/* Tell A of the constants on the parts, where there are several, or others beside them. */
kry_status source_null_space(const source *s, kry_op *A);

#endif
