/*
 * solve_page.h - kry solve --html: what the program knows of a solve besides, for the library's page.
 */
#ifndef KRY_PROGRAM_PAGE_H
#define KRY_PROGRAM_PAGE_H

#include "solve_report.h"
#include <kry/report.h>

/* kept: since the run began. Collective on ranks. */
kry_status solve_page_write(const options *o, const report *r, kry_report *kept, const kry_op *A,
                            const kry_op *solver);

#endif
