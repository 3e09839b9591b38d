/*
 * output.h - files that take their name only once they are whole, so that a full disk, a signal or a crash costs neither the
 * old file nor leaves half of a new one. The program is made with it, too: it knows kry by its public headers alone.
 */
#ifndef KRY_OUTPUT_H
#define KRY_OUTPUT_H

#include <kry/kry.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct output {
    char target[PATH_MAX]; /* behind links */
    char temporary
        [PATH_MAX]; /* the name beside the target that a file has until it is whole, where it has to have one */
    int file;      /* to be written; -1: not open */
    bool in_place; /* a device or a pipe, which is written as it is */
} output;

/* Refuse a path that cannot be written, before the work is done whose result goes there; NULL is fine. */
kry_status kryi_output_check(const char *path);
/* Refuse two paths that are the same file; either may be NULL. */
kry_status kryi_output_differs(const char *path, const char *other);

/* Both names of a file, not opened.
 *   owner  the process that begins and ends it */
kry_status kryi_output_find(const char *path, int64_t owner, output *o);
/*
 * Open a new file for writing. It has no name, where the system has such files (O_TMPFILE): then a process that is killed
 * leaves nothing behind.
 *   named  it has the name o->temporary, by which other processes open it
 */
kry_status kryi_output_begin(const char *path, bool named, output *o);
/* Close the file and give it its name if `st` says that it is whole, else leave nothing of it. Returns st, or why that failed. */
kry_status kryi_output_end(output *o, kry_status st);

/* Open and close a new file that is written by a FILE, as kryi_output_begin and kryi_output_end do; the process that opens it
 * closes it. */
kry_status kryi_output_open(const char *path, FILE **file);
kry_status kryi_output_close(const char *path, FILE **file, kry_status st);

#endif
