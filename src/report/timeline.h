/*
 * timeline.h - what a device did when, for a page (page/html.h).
 */
#ifndef KRY_TIMELINE_H
#define KRY_TIMELINE_H

#include "report/report.h"

enum { TIMELINE_NAMED = 5, TIMELINE_OTHERS = TIMELINE_NAMED, TIMELINE_TRANSFERS, TIMELINE_KINDS };

/* Names of the kernels that take longest, which have a colour each; NULL: nothing is of this kind. */
typedef struct timeline_kinds {
    const char *name[TIMELINE_KINDS];
} timeline_kinds;
/* r: the kernels of all devices together. */
void kry_timeline_sort(const recording *r, timeline_kinds *kinds);

typedef struct timeline {
    const kry_report *report;
    const recording *r;
    const timeline_kinds *kinds;
    int device, devices; /* its number, of so many */
} timeline;

/* The whole run: which share of each moment a kernel ran. */
void kry_timeline_run(FILE *f, const timeline *t);
/* The first, or the last events of the solve one by one. */
void kry_timeline_events(FILE *f, const timeline *t, bool last);

#endif
