/*
 * solve_page.h - kry solve --html: a solve as one page.
 */
#ifndef KRY_SOLVE_PAGE_H
#define KRY_SOLVE_PAGE_H

#include "html.h"
#include "look.h"

/* A solve that is over. Everything is borrowed. */
typedef struct solve_page {
    const options *o;
    const report *report;
    const look *look;
    const kry_op *A, *solver;
    double copy;        /* bytes per second of y := x on the device; 0: not measured, */
    char copy_why[200]; /* for this reason */
} solve_page;

/* Measures the copy bandwidth, and writes the page. */
kry_status solve_page_write(const char *path, solve_page *s);

/* ---- its parts ---- */

void page_convergence(FILE *f, const solve_page *s);
kry_status page_time(FILE *f, const solve_page *s); /* phases, kernels, time lines */
kry_status page_kernels(FILE *f, const solve_page *s);
kry_status page_system(FILE *f, const solve_page *s); /* the matrix, or the grid */
kry_status page_levels(FILE *f, const solve_page *s); /* of multigrid, if there is */
kry_status page_parts(FILE *f, const solve_page *s);  /* of a team, if it is one */

#endif
