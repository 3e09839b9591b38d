/*
 * timeline.h - what a device did when, for a page (html.h).
 */
#ifndef KRY_TIMELINE_H
#define KRY_TIMELINE_H

#include "look.h"
#include <stdio.h>

enum { TIMELINE_NAMED = 5, TIMELINE_OTHERS = TIMELINE_NAMED, TIMELINE_TRANSFERS, TIMELINE_KINDS };

/* Which colour a kernel has: those that take longest have one each, and the others one together. */
typedef struct timeline_kinds {
    int of[PROFILE_KERNELS]; /* 0 ... TIMELINE_KINDS - 1 */
    const char *name[TIMELINE_KINDS];
} timeline_kinds;
void timeline_sort(const profile *p, timeline_kinds *kinds);
extern const int timeline_colour[TIMELINE_KINDS];

/* The whole run: which share of each moment a kernel ran. */
void timeline_whole(FILE *f, const look *l, const timeline_kinds *kinds);
/* The first, or the last events of the solve one by one. */
void timeline_detail(FILE *f, const profile *p, const timeline_kinds *kinds, bool last);

#endif
