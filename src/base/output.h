/*
 * output.h - files that take their name only once they are whole, so that a full disk, a signal or a crash costs neither the
 * old file nor leaves half of a new one; kry_output_open and what belongs to it (kry/io.h) are made of these.
 */
#ifndef KRY_OUTPUT_H
#define KRY_OUTPUT_H

#include <kry/status.h>
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

#endif
