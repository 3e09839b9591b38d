/*
 * output.h - files that the program writes: they take their name only once they are whole, so that a full
 * disk, a signal or a crash costs neither the old file nor leaves half of a new one.
 */
#ifndef KRY_OUTPUT_H
#define KRY_OUTPUT_H

#include "page/page.h"
#include <limits.h>

typedef struct output {
    char target[PATH_MAX]; /* behind links */
    char temporary
        [PATH_MAX]; /* what is written: beside the target; of a device or a pipe that itself */
} output;

/* Refuse a path that cannot be written, before the work is done whose result goes there; NULL is fine. */
kry_status kry_output_check(const char *path);
/* Refuse two paths that are the same file; either may be NULL. */
kry_status kry_output_differs(const char *path, const char *other);
/* Both names, of a file that this process writes. */
kry_status kry_output_find(const char *path, output *o);
/* The same, and create the temporary file. */
kry_status kry_output_begin(const char *path, output *o);
/* Give it its name if `st` says that it is whole, else remove it. Returns st, or why that failed. */
kry_status kry_output_end(output *o, kry_status st);

#endif
