/*
 * given.h - a matrix as a caller gives it: on the host, and where that is faster on the device, which then checks it, counts
 * what the choice of a format asks, and makes the format.
 */
#ifndef KRY_GIVEN_H
#define KRY_GIVEN_H

#include "matrix/device_csr.h"
#include "operator/op.h"

enum {
    KRY_GIVEN_WORTH = 1 << 16
}; /* entries: the host has looked at fewer before the first kernel ends */

/* Faults of a number, as bits. */
enum {
    KRY_SEEN_NOT_FINITE = 1,
    KRY_SEEN_NOT_SINGLE = 2, /* it has more digits, or a device may flush it to 0 */
    KRY_SEEN_UNFIT = 4 /* it would be infinite in single, or is not 0 and may be flushed to 0 */
};

/* Facts that were seen of the numbers of a matrix. */
typedef struct kryi_seen {
    unsigned faults; /* of any of the numbers */
    bool compared;   /* with their mirror images: */
    bool symmetric;  /* the matrix is, to the bit, pattern and numbers */
} kryi_seen;

/* The slices of a matrix in sell. */
typedef struct kryi_slices {
    int64_t count;
    double slots;       /* of all: it may be more than an int holds */
    int height, sigma;  /* C, and rows to a window of sorting */
    int32_t *perm;      /* count * height: row of each position, -1: none */
    int32_t *slice_ptr; /* count+1: the first slot */
} kryi_slices;

/* Columns ascend in each row, and all numbers are finite. */
typedef struct kryi_given {
    const char *who;      /* the public function, in messages */
    const kryi_csr *host; /* borrowed */
    kryi_device_csr C;    /* the same on the device; dev NULL: the host alone has it */
    int64_t longest;      /* entries of the longest row; 0: nobody has looked */
    kryi_entry_map map;   /* from the entries as they were given to those of `host` */
    /* How many diagonals have entries, 0: nobody has looked; and their offsets, ascending, owned, NULL: there are more than
     * are of use. */
    int64_t diagonals;
    int32_t *diagonal;
    kryi_slices
        slices; /* of sell, if the host has estimated its size: those that it would have; owned */
    kryi_seen seen;
    kryi_finding finding; /* if seen.compared */
} kryi_given;

/* Upload the entries and look at them. G->C.dev NULL: the host is to look, because they are not in order or bad, or because
 * it is faster: on CPUs, for coordinates and half of a symmetric matrix, for formats and forms that only the host
 * makes, and where the device has no room for some copies. Waits. */
kry_status kryi_given_upload(kry_device *dev, const kryi_entries *e,
                             const kry_matrix_params *params, kryi_given *G);
void kryi_given_release(kryi_given *G);
/* Look at new numbers of C: G->seen and G->finding. Waits once. */
kry_status kryi_given_look_again(kryi_given *G);

/* ---- inspect.c ---- */

/* seen: of so many numbers, but for mirror images. */
void kryi_numbers_see(kry_type type, const void *val, int64_t count, kryi_seen *seen);
/* kryi_numbers_see, and a check. Returns  KRY_ERR_ARGUMENT naming the first number that is not finite */
kry_status kryi_numbers_check(const char *who, kry_type type, const void *val, int64_t count,
                              kryi_seen *seen);
/* Find diagonals with entries: the results are those of kryi_given_diagonals. */
kry_status kryi_diagonals_find(const kryi_csr *A, int64_t most, int32_t **offset, int64_t *count);

/*
 * Look at the entries of G->host: G->seen, and of a square matrix G->longest and G->finding; if one is not finite, nothing is
 * found.
 *
 *   numbers    false: numbers are taken to be finite, and G->seen only says whether the matrix is symmetric
 *   diagonals  how many are of use, for G->diagonal and G->diagonals; 0: they are not looked for
 */
kry_status kryi_given_inspect(kryi_given *G, bool numbers, int64_t diagonals);

/* ---- choose.c ---- */

/*
 * The operator of G on one device, which keeps the pattern and G->map for new values.
 *
 *   host  G->host unless the device has looked at the matrix: taken over if the call succeeds, but for numbers that need
 *         no map
 */
kry_status kryi_matrix_keep(kry_device *dev, kryi_given *G, kryi_csr *host,
                            const kry_matrix_params *params, kry_op **op);

/* ---- given.c: launches, and what the choice of a format asks of a matrix on the device ---- */

/* Groups of which so many work-items have something to do. */
int64_t kryi_groups_to_cover(const kry_device *dev, int64_t items);
/* Launch a kernel of place.cl for so many work-items. */
kry_status kryi_place_run(kry_device *dev, const char *name, int64_t items, const kry_arg *args,
                          size_t count);
/* A buffer of so many int that are 0. */
kry_status kryi_place_zeros(kry_device *dev, size_t ints, cl_mem *buffer);
/* How many work-items walk a row side by side. */
cl_int kryi_given_lanes(const kryi_device_csr *C);
/* The offsets of diagonals with entries, ascending, to be freed; *count: of all. *offset NULL: there are more than `most`.
 * Waits. */
kry_status kryi_given_diagonals(const kryi_device_csr *C, int64_t most, int32_t **offset,
                                int64_t *count);
/* How many diagonals are of use to the formats of diagonals: a few times the mean length of a row. */
static inline int64_t kryi_diagonals_of_use(const kryi_csr *A)
{
    return A->rows ? 4 * (kryi_csr_nnz(A) / A->rows) + 16 : 0;
}
/* with[k]: how many rows have k entries, 0 ... longest. Waits. */
kry_status kryi_given_lengths(const kryi_device_csr *C, int64_t longest, cl_int *with);

/* ---- entries of the formats' tables: csr.c, placed_sell.c, placed_dia.c ---- */

kry_status kryi_csr_place(kryi_matrix *A, const kryi_given *G, cl_mem *place);
kry_status kryi_ell_place(kryi_matrix *A, const kryi_given *G, cl_mem *place);
kry_status kryi_sell_place(kryi_matrix *A, const kryi_given *G, cl_mem *place);
kry_status kryi_dia_place(kryi_matrix *A, const kryi_given *G, cl_mem *place);
/* C->row_ptr, col and place, of a matrix that the device has `placed`. */
kry_status kryi_sell_entries(const kryi_matrix *A, kryi_device_csr *C, bool *all);
kry_status kryi_dia_entries_there(const kryi_matrix *A, kryi_device_csr *C);

/* ---- sell.c, placed_sell.c ---- */

void kryi_slices_release(kryi_slices *s);
/* Cut the slices, of which number i has the slots slice_ptr[i] ... slice_ptr[i + 1] - 1, into `pieces` shares of
 * equal work: piece b begins with slice share[b], share[pieces] = slices. */
void kryi_equal_shares(const int32_t *slice_ptr, int64_t slices, int32_t *share, int64_t pieces);

/* kryi_sell_estimate. */
kry_status kryi_sell_estimate_given(kryi_given *G, const kry_matrix_params *params,
                                    kryi_sell_size *size);

/* ---- placed.c: formats that a device makes; the host then has no pattern ---- */

/* A->stage and A->val := the format and the numbers made of G->C. A->placed false: the host has to make them, and nothing
 * has happened. Waits. */
kry_status kryi_placed_build(kryi_matrix *A, const kryi_given *G);
/* kry_op_update of A->placed; sets A->found. Waits. */
kry_status kryi_placed_update(kryi_matrix *A, const void *values);
/* A->diagonal := the slots of entries (i, first + i). Waits. */
kry_status kryi_placed_diagonal(kryi_matrix *A, int64_t first);

#endif
