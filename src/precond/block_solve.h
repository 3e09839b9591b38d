/*
 * block_solve.h - the factors of block_factor.c as the kernels of cl/block_ic.cl want them.
 *
 * A bundle is `stride` consecutive blocks whose numbers lie side by side. Factors with few
 * diagonals are kept without indices, once for all bundles that are equal: those of a grid with
 * constant coefficients are, but for its ends. Others are rows padded to the longest of a bundle.
 */
#ifndef KRY_BLOCK_SOLVE_H
#define KRY_BLOCK_SOLVE_H

#include "precond/block_factor.h"

enum { KRY_MOST_DIAGONALS = 16 };

/* block_diagonals.c. A slot holds the numbers of a bundle, `record` for each block: L's, U's,
 * D^-1. */
typedef struct kry_block_diagonals {
    int count; /* off the main one; -1: rows */
    int offset[KRY_MOST_DIAGONALS], begin[KRY_MOST_DIAGONALS];
    int step;                             /* GPUs: rows at once that do not depend on each other */
    int64_t record, upper_at, inverse_at; /* L's begin at 0 */
    cl_mem pairs, slot, factor;           /* (offset, begin); each bundle's slot; the slots */
} kry_block_diagonals;

typedef struct kry_padded_rows {
    cl_mem begin, col, val; /* bundles * rows + 1; stride each for col, val */
} kry_padded_rows;

/* block_rows.c */
typedef struct kry_block_rows {
    kry_padded_rows lower, upper;
    cl_mem inverse; /* D^-1 */
    kry_kernel *transposed;
} kry_block_rows;

struct kry_block_solve {
    kry_device *dev; /* borrowed */
    kry_type type;   /* of vectors */
    kry_store storage;
    double scale; /* of D^-1: what is stored is a power of two smaller */
    int64_t n, rows, bundles, walkers;
    int stride;
    kry_block_diagonals diagonals;
    kry_block_rows padded;
    cl_mem scratch; /* a bundle of rows for each walker */
    kry_kernel *kernel;
    kry_block_facts facts;
};

/* A new buffer of these numbers; they count as stored. Waits. */
kry_status kry_block_upload(kry_block_solve *s, const void *host, size_t count, size_t size,
                            cl_mem *buffer);

/* Whether the factors are best kept by diagonals; if so, how; s->rows may become larger. */
bool kry_block_diagonals_plan(kry_block_solve *s, const kry_block_factor *f);
kry_status kry_block_diagonals_pack(kry_block_solve *s, const kry_block_factor *f);
kry_status kry_block_diagonals_run(kry_block_solve *s, bool transposed, const kry_vec *r,
                                   kry_vec *z);

/* Both triangles of f are there. */
kry_status kry_block_rows_pack(kry_block_solve *s, const kry_block_factor *f);
kry_status kry_block_rows_run(kry_block_solve *s, bool transposed, const kry_vec *r, kry_vec *z);

#endif
