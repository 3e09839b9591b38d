/*
 * block_ic.h - incomplete factors of diagonal blocks: made on the host (block_factor.c), laid out
 * for the kernels of cl/precond/block_ic.cl, and solved with (block_solve.c), or products in place of solves (block_products.c), for which GPUs make them (block_device.c).
 */
#ifndef KRY_BLOCK_IC_H
#define KRY_BLOCK_IC_H

#include "matrix/device_csr.h"
#include "operator/op.h"
#include "sparse/csr.h"
#include <kry/precond.h>

/* ---- storage.c: numbers in fewer bytes than those of the vectors. The host rounds them; kernels read
 * halves by vload_half, which every device has, and compute in REAL ---- */

/* IEEE half precision, rounded to the nearest, ties to even; beyond 65504 infinity. */
uint16_t kryi_half_of(double v);
double kryi_half_value(uint16_t bits);

const char *kryi_storage_name(kry_store storage); /* "given", "single", "half" */
size_t kryi_storage_size(kry_store storage, kry_type type);
/* The defines for kernels that read such numbers: STORED, and HALVES. */
const char *kryi_storage_defines(kry_store storage, kry_type type);
/* v, rounded as it is stored. */
double kryi_storage_round(kry_store storage, kry_type type, double v);
void kryi_storage_put(kry_store storage, kry_type type, void *numbers, int64_t i, double v);
/* A power of two by which to divide numbers up to `most` so that they use the range of the type; 1
 * if they are stored as given. */
double kryi_storage_scale(kry_store storage, kry_type type, double most);
/* Whether v > 0, divided by that, is in the normal range of the type: rounding changes only its
 * last bit. */
bool kryi_storage_holds(kry_store storage, double v);

/* ---- block_factor.c ---- */

/* L D U, L and U unit triangular with the pattern of A inside blocks of `rows` rows, and fill. */
typedef struct kryi_block_factor {
    const char *who; /* the public function, for messages */
    const kry_op *A; /* borrowed */
    bool symmetric;  /* U = L' */
    kry_store storage;
    int64_t rows;
    int fill;              /* levels of it */
    kryi_csr *places;      /* borrowed: with fill, the places of L + U; made if there are none */
    kryi_csr lower, upper; /* strict triangles, in double; `upper` is not used if symmetric */
    double *d;             /* n: pivots */
    double shift;          /* A + shift diag(A) is what was factored */
} kryi_block_factor;

/*
 * Factor the blocks of A, whose entries, in double, are `entries`, with the least shift >= f->shift
 * of a growing sequence that leaves no pivot zero or, if f->symmetric, negative. All but the
 * triangles and d is set.
 *
 * Returns  KRY_ERR_SINGULAR for a zero in the diagonal; KRY_ERR_ARGUMENT if A should be symmetric
 *          and positive definite, and is not
 */
kry_status kryi_block_factor_make(kryi_block_factor *f, const kryi_csr *entries);
void kryi_block_factor_release(kryi_block_factor *f);
/* `upper` := L' if f->symmetric, for who wants it as rows. */
kry_status kryi_block_factor_mirror(kryi_block_factor *f);

enum { KRY_MOST_DIAGONALS = 16 };

/* Factors with few diagonals: kept without indices, and once for all bundles that are equal. Those
 * of a grid with constant coefficients are, but for its ends. */
typedef struct kryi_block_diagonals {
    int count; /* off the main one; -1: the factors are kept as rows */
    int offset[KRY_MOST_DIAGONALS], begin[KRY_MOST_DIAGONALS];
    int step; /* GPUs: rows at once that do not depend on each other */
    /* A slot holds the numbers of a bundle, `record` for each block: L, U, D^-1. L begins at 0. */
    int64_t record, upper_at, inverse_at;
    cl_mem pairs, slot, factor; /* (offset, begin); each bundle's slot; the slots */
} kryi_block_diagonals;

/* Other factors: rows padded to the longest of a bundle. */
typedef struct kryi_padded_rows {
    cl_mem begin, col, val; /* bundles * rows + 1; stride each for col, val */
} kryi_padded_rows;

/* One triangle's levels in the order of its sweep, cut into launches: of one level with many rows, or of many levels
 * with few by a single group. */
typedef struct kryi_level_launches {
    int32_t levels, count;
    int32_t *first; /* count + 1 levels */
    int32_t *rows;  /* of each launch; 0: of a single group */
    int32_t *begin; /* levels + 1 */
    cl_mem begins, row;
} kryi_level_launches;

/* Factors on the device. A bundle is `stride` consecutive blocks whose numbers lie side by side. */
typedef struct kryi_block_solve {
    kry_device *dev; /* borrowed */
    kry_type type;   /* of vectors */
    kry_store storage;
    double scale; /* of D^-1: what is stored is a power of two smaller */
    int64_t n, rows, bundles, walkers;
    int stride;
    kryi_block_diagonals diagonals;
    kryi_padded_rows lower, upper;
    cl_mem inverse; /* D^-1, beside padded rows */
    /* By levels: rows in their order, each a block of its own; columns are those of the matrix. */
    bool by_levels;
    kryi_level_launches sweep[2]; /* with L, with U */
    cl_mem scratch;               /* a bundle of rows for each walker, NULL: none is needed; */
    int64_t scratch_columns;      /* GPUs: for so many columns at once */
    kryi_kernel *kernel;
    double bytes_stored, bytes_moved; /* bytes that a solve moves */
    int64_t nnz, slots;
} kryi_block_solve;

/* Lay factors out on the device. by_levels: for solves by level sets instead of block by block. f->upper may
 * change. Waits. */
kry_status kryi_block_solve_create(kryi_block_factor *f, bool by_levels, kryi_block_solve *s);
void kryi_block_solve_release(kryi_block_solve *s); /* zeros: nothing */
/* z := (L D U)^-1 r, of one column or several; enqueued. */
kry_status kryi_block_solve_run(kryi_block_solve *s, const kry_vec *r, kry_vec *z);

/* ---- block_products.c ---- */

/*
 * Products in place of solves with I + L and I + U, L and U strict triangles:
 *   sweeps  of Jacobi's iteration:  y := r,  y := r - L y so many times, and so with U
 *   else    incomplete inverses:    y := (I + L)^-1 r on the places of L, and so with U
 */
typedef struct kryi_block_products {
    int sweeps;
    kry_op *lower, *upper; /* L and U, or the inverses; that of U times D^-1 */
    kry_vec *inverse;      /* D^-1; with sweeps */
    kry_vec *w[2];         /* of as many columns as there ever were */
} kryi_block_products;

enum { KRY_MOST_SWEEPS = 8 };

/* sweeps: those of Jacobi's iteration; else incomplete inverses. */
kry_status kryi_block_products_create(kryi_block_factor *f, bool sweeps, kryi_block_products *p);
/* p->sweeps := the fewest with which systems with both triangles are solved well enough; 0: more than
 * KRY_MOST_SWEEPS are needed. Waits. */
kry_status kryi_block_products_count(kryi_block_products *p);
void kryi_block_products_release(kryi_block_products *p);
/* z := what approximates (L D U)^-1 r, of one column or several; enqueued. */
kry_status kryi_block_products_run(kryi_block_products *p, const kry_vec *r, kry_vec *z);
void kryi_block_products_describe(const kryi_block_products *p, kry_op_info *info);

/* ---- block_device.c ---- */

enum {
    KRY_MOST_DEVICE_FILL = 14
}; /* levels: beyond, numbers that tell of them leave the range of double */

/* places := those of kryi_csr_fill and the diagonal, of a square A on a device with double precision, without numbers. Waits.
 *   fill    0 ... KRY_MOST_DEVICE_FILL
 *   places  [out]  empty, without a device: a product has more than kryi_fill_most entries, or takes too long, and what
 *           is left of it has to be counted on the host
 * Cost  `fill` products of the triangles */
kry_status kryi_block_fill_places(const kryi_device_csr *A, int fill, kryi_device_csr *places);

/* These stay on the device for new numbers. */
typedef struct kryi_block_device {
    kryi_device_csr given;       /* A */
    kryi_device_csr places;      /* with fill: those of the factors, without numbers */
    kryi_device_csr triangle[2]; /* L, U */
    cl_mem place;                /* of A's diagonal entries */
    cl_mem length[2];            /* of the rows of L, of U */
    cl_mem mirror;               /* A symmetric: the places in L of the entries of U */
} kryi_block_device;

/*
 * The products of sweeps with the factors of A, on the device alone; p->sweeps is not set.
 *   made  [out]  false: the device cannot, or A is not symmetric to the bit where it should be, or a pivot is too
 *                small, or the factors would need too many sweeps: the host does it, and finds what is wrong
 */
kry_status kryi_block_device_make(kryi_block_device *D, const kryi_block_factor *f,
                                  kryi_block_products *p, bool *made);
void kryi_block_device_release(kryi_block_device *D);

#endif
