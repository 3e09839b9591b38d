/*
 * batch.h - batches of banded systems: where their numbers lie, and what their solvers share.
 */
#ifndef KRY_BATCH_H
#define KRY_BATCH_H

#include "operator/op.h"
#include <kry/tridiagonal.h>

enum { BATCH_MAX_BAND = 2, BATCH_MAX_DIAGONALS = 2 * BATCH_MAX_BAND + 1 };

/* An array with a number for each equation of each system: i * row + s * system behind `first`. */
typedef struct batch_array {
    cl_mem buffer; /* borrowed */
    int64_t first;
} batch_array;

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
    kry_tridiagonal_params params; /* defaults filled in */
} batch;

/* What stays with the device from one call to the next. */
struct kry_batch_space {
    cl_mem found;    /* BATCH_* ints, then the numbers of systems that were marked */
    cl_mem flag;     /* the ticket of the last call that marked a system */
    cl_mem state;    /* of marked systems: int64_t, see cl/banded.cl */
    int64_t systems; /* room for them in found, flag and state */
    cl_mem work;
    size_t work_bytes;
    bool dirty; /* found is not as a call wants it */
};
/* The first ints of `found`: systems marked, systems that were not solved, the first of these. */
enum { BATCH_MARKED, BATCH_BAD, BATCH_FIRST_BAD, BATCH_RESERVED, BATCH_LIST };

/* batch_space.c */
/* NULL: nothing is kept yet. */
struct kry_batch_space *batch_space_of(const kry_device *dev);
/* Room for this many systems and this much scratch storage. */
kry_status batch_space_reserve(kry_device *dev, int64_t systems);
kry_status batch_work_reserve(kry_device *dev, size_t bytes);
void batch_work_trim(kry_device *dev); /* gives back what is too much to keep */
kry_status batch_found_read(kry_device *dev, cl_int found[BATCH_LIST]); /* waits */

/* batch_levels.c: without pivoting; systems that need it are marked, their x untouched. */
kry_status batch_solve_levels(const batch *B);
/* Bytes that this moves. Of B: device, type, n, systems, strides, periodic, params. */
double batch_levels_bytes(const batch *B);
/* batch_pivot.c: with partial pivoting, the systems that are marked, or all. */
kry_status batch_solve_pivoting(const batch *B, int64_t count, bool marked, bool pivoting);

#endif
