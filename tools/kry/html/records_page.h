/*
 * records_page.h - kry bench --html and kry reproduce --html: what --json prints as one page.
 */
#ifndef KRY_RECORDS_PAGE_H
#define KRY_RECORDS_PAGE_H

#include "options.h"
#include "page/html.h"
#include "records.h"

/* While a command runs with --html its records are kept: in place of text, and with --json besides. */
typedef struct records_page {
    const options *given; /* borrowed */
    options o;            /* to run with: as with --json */
    records kept;
} records_page;

/* Refuse a path that cannot be written. Without --html nothing is kept, and o is as given. */
kry_status records_page_begin(const options *given, records_page *p);
/* Write the page if `st` says that the run came to its end, and release everything. Returns st, or why the page
 * could not be written. device: NULL: the host alone. */
kry_status records_page_end(records_page *p, const char *title, const kry_device_info *device,
                            kry_status st);

/* ---- its parts ---- */

void page_benchmarks(FILE *f, const records *r);
kry_status page_paper(FILE *f, const records *r);
/* A value as people read it, by what its key says. Returns text. */
const char *record_shown(const record_value *v, char *text, size_t size);
/* What a key is called in headings, "set-up" for "setup_s". Returns text. */
const char *record_title(const char *key, char *text, size_t size);

#endif
