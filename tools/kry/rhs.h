/*
 * rhs.h - the right-hand side of kry solve, and the solution where it is known.
 */
#ifndef KRY_RHS_H
#define KRY_RHS_H

#include "source.h"

typedef struct rhs {
    const double *b;             /* rows here by columns; borrowed from the problem, or made_b */
    const double *exact;         /* a number for each unknown here; the same; NULL: not known */
    double *made_b, *made_exact; /* owned */
    int64_t columns;
} rhs;

/* word: "random", "ones", "manufactured" or a file; NULL: the problem's own. type: of the device's numbers.
 * rows: a vector of ranks, whose rows are wanted; NULL: all. Collective. */
kry_status rhs_make(const source *s, const kry_vec *rows, kry_type type, const char *word,
                    uint64_t seed, rhs *r);
/* The vector that stands behind the matrix in a PETSc file; *found: whether there is one. Collective. */
kry_status rhs_behind(const source *s, const kry_vec *rows, rhs *r, bool *found);
void rhs_release(rhs *r);

#endif
