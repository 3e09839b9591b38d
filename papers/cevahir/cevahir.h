/*
 * cevahir.h - what the parts of kry reproduce cevahir share.
 */
#ifndef KRY_CEVAHIR_H
#define KRY_CEVAHIR_H

#include "reproduce.h"

/* The numbers of devices of their figures: 1, 2, 4. */
enum { CEVAHIR_TEAMS = 3 };
extern const int cevahir_devices[CEVAHIR_TEAMS];

/* Matrices like theirs, of about the sizes and row lengths; made small for CPUs. */
enum { CEVAHIR_LIKE = 5 };
const char *const *cevahir_like(const bench *b);

/* Call `run` for every file and spec that was given; if there is none, for matrices like theirs,
 * for the specs of `more`, and for a choice of files in KRY_MATRIX_DIR, if that is set. */
kry_status cevahir_sources(const bench *b, const char *const *more, size_t count,
                           bench_on_source run);

const char *cevahir_name(const char *row); /* a file without its folder */
void cevahir_refused(const bench *b, const char *what, const char *why);

kry_status cevahir_speed(bench *b);    /* figure 5: CG in single on 1, 2, 4 devices */
kry_status cevahir_accuracy(bench *b); /* what single, mixed and double precision come to */
kry_status cevahir_volumes(bench *b);  /* section 4.2: words between devices */

#endif
