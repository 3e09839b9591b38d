/*
 * write.h - from a report to its page.
 */
#ifndef KRY_REPORT_WRITE_H
#define KRY_REPORT_WRITE_H

#include "report/page.h"
#include "report/system_facts.h"

/* page.c: draw it, in the C locale. */
kry_status kry_page_draw(const char *path, const solve_page *s);

#endif
