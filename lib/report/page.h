/*
 * page.h - the page of a solve, and its parts.
 */
#ifndef KRY_SOLVE_PAGE_H
#define KRY_SOLVE_PAGE_H

#include "page/facts.h"
#include "page/html.h"
#include "report/devices.h"
#include <kry/stencil.h>

/* What is told of the operator of a solve: the entries of a matrix, or a grid. */
typedef struct system_facts {
    kry_stencil_info grid; /* axes 0: it is none, */
    bool matrix;           /* but a stored matrix, of which there is what follows; or neither */
    facts m;
    bool whole;      /* else symmetry and storage are not known: its rows are on ranks */
    struct spy *spy; /* owned; NULL: more ranks than it is made for */
    /* If the whole matrix is here: rows of each length from m.row_min on, where these are few; seconds of a product by format. */
    double of_length[FACTS_FEW];
    bool predicted;
    double seconds[KRY_FORMAT_COUNT];
} system_facts;

/* Look at A, whose entries are read back. Collective on ranks. d: its devices, of all ranks. To be released, whatever this
 * returns. */
kry_status kryi_system_facts_find(const kry_op *A, const devices *d, system_facts *s);
void kryi_system_facts_release(system_facts *s);

/* What it is drawn from. Everything is borrowed. */
typedef struct solve_page {
    const kry_report *report;
    const kry_report_params *given;
    const kry_result *result;
    kry_status status; /* of the solve */
    kry_op_info matrix, solver;
    const devices *devices;
    const system_facts *system;
    double copy;        /* bytes per second of y := x on the device; 0: not measured, */
    char copy_why[200]; /* for this reason */
} solve_page;

void kryi_page_time(FILE *f, const solve_page *s); /* parts of the run, time lines */
kry_status kryi_page_kernels(FILE *f, const solve_page *s);
void kryi_page_system(FILE *f, const solve_page *s);       /* the matrix, or the operator */
kry_status kryi_page_levels(FILE *f, const solve_page *s); /* of multigrid, if there is */
void kryi_page_devices(FILE *f, const solve_page *s);      /* of a team, if it is one */

#endif
