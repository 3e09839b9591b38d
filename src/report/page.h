/*
 * page.h - the page of a solve, and its parts.
 */
#ifndef KRY_SOLVE_PAGE_H
#define KRY_SOLVE_PAGE_H

#include "page/html.h"
#include "report/devices.h"

/* What it is drawn from. Everything is borrowed. */
typedef struct solve_page {
    const kry_report *report;
    const kry_report_params *given;
    const kry_result *result;
    kry_status status; /* of the solve */
    kry_op_info matrix, solver;
    const devices *devices;
    const struct system_facts *system; /* system_facts.h */
    double copy;        /* bytes per second of y := x on the device; 0: not measured, */
    char copy_why[200]; /* for this reason */
} solve_page;

void kry_page_convergence(FILE *f, const solve_page *s);
void kry_page_time(FILE *f, const solve_page *s); /* parts of the run, time lines */
kry_status kry_page_kernels(FILE *f, const solve_page *s);
void kry_page_system(FILE *f, const solve_page *s);       /* the matrix, or the operator */
kry_status kry_page_levels(FILE *f, const solve_page *s); /* of multigrid, if there is */
void kry_page_devices(FILE *f, const solve_page *s);      /* of a team, if it is one */
void kry_page_json(FILE *f, const solve_page *s);         /* the object for programs */

#endif
