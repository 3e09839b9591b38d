/* blocks.h - a grid in boxes: what couples the box of one part with those next to it. */
#ifndef KRY_BLOCKS_H
#define KRY_BLOCKS_H

#include "grid/stencil.h"
#include "team/boxes.h"

/* Coefficients and faces on the host, as the caller gives them: of all cells, or of a box of them. */
typedef struct kry_given_numbers {
    const double *cell, *face[3];
    kry_stencil_box box;
    const int64_t *all; /* unknowns of the whole grid along each axis; borrowed */
} kry_given_numbers;

/* One part of a grid in boxes. */
typedef struct kry_block_part {
    const kry_split *split; /* borrowed */
    int rank;
    const kry_stencil *own; /* of its box */
} kry_block_part;

/* A side of the box beyond which another part goes on. */
typedef struct kry_block_side {
    int axis, part; /* which part */
    bool high;
    int64_t at, count; /* where the numbers beyond are in the halo */
} kry_block_side;

/* " along x", " along y", " along z", "": how messages tell what is of faces along an axis, and what of cells. */
enum { KRY_CELLS = 3 };
extern const char *const kry_along[KRY_CELLS + 1];

#endif
