/*
 * akhtar.h - what the parts of kry reproduce akhtar share.
 */
#ifndef KRY_AKHTAR_H
#define KRY_AKHTAR_H

#include "jacobi.h"
#include "lines.h"
#include "reproduce.h"

/* n points on a side, 0 at the start; sin(pi y z) and so on where an index would be n. */
kry_status akhtar_cube(const bench *b, kry_type type, int64_t n, jacobi_kernel kernel, jacobi **J);

/* <prefix>-<figure>.svg, where a prefix was given. */
bool akhtar_figure(const bench *b, const char *figure, char *path, size_t size);

kry_status akhtar_table(const bench *b); /* table 1 and figure 12 */
kry_status akhtar_speeds(bench *b);      /* figures 13, 16, 23, 24 */

#endif
