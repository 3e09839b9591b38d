/*
 * batch.h - batches of banded systems: where their numbers lie, and what their solvers share.
 */
#ifndef KRY_BATCH_H
#define KRY_BATCH_H

#include "dense/dense.h"
#include <kry/tridiagonal.h>

enum { BATCH_MAX_BAND = 2, BATCH_MAX_DIAGONALS = 2 * BATCH_MAX_BAND + 1 };

/* An array with a number for each equation of each system: i * row + s * system behind `first`. */
typedef struct batch_array {
    cl_mem buffer; /* borrowed */
    int64_t first;
} batch_array;

/* What a call finds out about its systems: a buffer that stays with the device. `room` systems fit in:
 * BATCH_LIST ints, then `room` ints each for the list of systems that were marked and for the ticket
 * of the last call that marked a system, then `room` int64_t that say what cl/banded.cl found. */
typedef struct batch_marks {
    cl_mem found;
    cl_int room;
    bool dirty; /* the first ints are not zero */
} batch_marks;
/* The first ints: systems marked, systems that were not solved, the first of these. */
enum { BATCH_MARKED, BATCH_BAD, BATCH_FIRST_BAD, BATCH_RESERVED, BATCH_LIST };

/* Systems of n equations. One matrix for all: m_system is 0. */
typedef struct batch {
    const char *who; /* the public function */
    kry_device *dev; /* borrowed */
    kry_type type;
    int band; /* diagonals on either side of the main one */
    int64_t n, systems;
    batch_array diagonal[BATCH_MAX_DIAGONALS]; /* from the lowest to the highest */
    int64_t m_row, m_system;
    batch_array b, x;
    int64_t row, system;
    bool periodic;
    bool in_place;                 /* x is b */
    batch_marks *marks;            /* borrowed from the device */
    kry_tridiagonal_params params; /* defaults filled in */
} batch;

/* batch_marks.c */
kry_status batch_marks_reserve(kry_device *dev, int64_t systems, batch_marks **marks);
kry_status batch_marks_read(kry_device *dev, batch_marks *marks,
                            cl_int found[BATCH_LIST]); /* waits */

/* batch_levels.c: without pivoting; systems that need it are marked, their x untouched. */
kry_status batch_solve_levels(const batch *B);
/* Bytes that this moves. Of B: device, type, n, systems, strides, periodic, params. */
double batch_levels_bytes(const batch *B);
/* batch_pivot.c: with partial pivoting, the systems that are marked, or all. */
kry_status batch_solve_pivoting(const batch *B, int64_t count, bool marked, bool pivoting);

#endif
