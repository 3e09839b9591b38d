/*
 * rhs.h - the right-hand side of kry solve, and the solution where it is known.
 */
#ifndef KRY_RHS_H
#define KRY_RHS_H

#include "source.h"

typedef struct rhs {
    const double *
        b; /* s->here rows by columns; borrowed from the problem, or made_b; NULL: a bare problem's */
    const double *exact;         /* a number for each unknown here; the same; NULL: not known */
    double *made_b, *made_exact; /* owned */
    int64_t columns;
} rhs;

/* The rows that the source has here. Collective where ranks share a file.
 * word: "random", "ones", "manufactured" or a file; NULL: the problem's own. type: of the device's numbers. */
kry_status rhs_make(const source *s, kry_type type, const char *word, uint64_t seed, rhs *r);
void rhs_release(rhs *r);
/* Of the rows of v that are here, b, and the solution where it is known; both are to be freed. From what has all rows: */
kry_status rhs_take_rows(const kry_vec *v, const rhs *all, double **b, double **exact);
/* and of a problem. */
kry_status rhs_of_problem(const kry_problem *p, const kry_vec *v, double **b, double **exact);

#endif
