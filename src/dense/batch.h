/*
 * batch.h - batches of banded systems: where their numbers lie in memory, and what the files that solve them
 * share.
 */
#ifndef KRY_BATCH_H
#define KRY_BATCH_H

#include "dense/dense.h"
#include <kry/tridiagonal.h>

enum { BATCH_MAX_BAND = 2, BATCH_MAX_DIAGONALS = 2 * BATCH_MAX_BAND + 1 };

/* A diagonal, b or x: number i of system s is element first + i row + s system of the buffer. */
typedef struct batch_array {
    cl_mem buffer; /* borrowed */
    int64_t first;
} batch_array;

/* Which systems of a call failed a check, in a buffer that stays with the device: BATCH_LIST counters; a list
 * of the systems that are marked; for each system the ticket, the number of a call, of the last call that
 * marked it; for each system an int64_t that says why cl/dense/banded.cl could not solve it. Calls that leave their
 * report for later have marks of their own. */
typedef struct batch_marks {
    cl_mem found;
    cl_int room; /* systems */
    cl_int turn; /* which counter of marked systems the next call takes; 0 for calls that wait */
    bool dirty;  /* counters of marked systems, or of calls that wait any of them, are not zero */
    bool left;   /* a call has left its report for later */
} batch_marks;
/* The counters: systems that are marked, in two turns; systems that were not solved; the first of these; systems
 * that were solved with partial pivoting. */
enum { BATCH_MARKED, BATCH_BAD = 2, BATCH_FIRST_BAD, BATCH_PIVOTED, BATCH_RESERVED, BATCH_LIST };

typedef struct batch {
    const char *who; /* the public function */
    kry_device *dev; /* borrowed */
    kry_type type;
    int band;                                  /* diagonals on either side of the main one */
    int64_t n, systems;                        /* equations of a system; systems */
    batch_array diagonal[BATCH_MAX_DIAGONALS]; /* from the lowest to the highest */
    int64_t m_row, m_system; /* their strides; one matrix for all: m_system is 0 */
    batch_array b, x;
    int64_t row, system; /* their strides */
    bool periodic;
    bool in_place;                 /* x is b */
    batch_marks *marks;            /* borrowed from the device */
    cl_int ticket;                 /* the number of the call; odd in turn 1 of the marks */
    kry_tridiagonal_params params; /* defaults filled in */
} batch;

/* Take B's marks, with room for its systems and the counter of its turn at zero, and its ticket. */
kry_status kryi_batch_marks_take(batch *B);

/* batch_levels.c: solve without pivoting. Systems that need it are marked, and their x is not written. */
kry_status kryi_batch_solve_levels(const batch *B);

#endif
