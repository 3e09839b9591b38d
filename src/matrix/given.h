/*
 * given.h - a matrix as a caller gives it: on the host, and where that is faster on the device, which then checks it, counts
 * what the choice of a format asks, and makes the format.
 */
#ifndef KRY_GIVEN_H
#define KRY_GIVEN_H

#include "matrix/in_slots.h"
#include "matrix/spgemm.h"
#include "operator/op.h"

enum {
    KRY_GIVEN_WORTH = 1 << 16
}; /* entries: the host has looked at fewer before the first kernel ends */

/* Columns ascend in each row, and all numbers are finite. */
typedef struct kry_given {
    const char *who;        /* the public function, in messages */
    const kry_sparse *host; /* borrowed */
    kry_csr C;              /* the same on the device; dev NULL: the host alone has it */
    int64_t longest;        /* of C: entries of its longest row */
    kry_seen seen;
    kry_finding finding; /* if seen.compared */
} kry_given;

/* Upload the entries and look at them. G->C.dev NULL: the host is to look, because they are not in order or bad, or because
 * it is faster: on CPUs, for coordinates and half of a symmetric matrix, for formats and forms that only the host
 * makes, and where the device has no room for some copies. Waits. */
kry_status kry_given_upload(kry_device *dev, const kry_entries *e, const kry_matrix_params *params,
                            kry_given *G);
void kry_given_release(kry_given *G);
/* Look at new numbers of C, as kry_matrix_inspect does: G->seen and G->finding. Waits once. */
kry_status kry_given_look_again(kry_given *G);

/* ---- counted.c ---- */

/* Groups of which so many work-items have something to do. */
int64_t kry_groups_to_cover(const kry_device *dev, int64_t items);
/* Launch a kernel of place.cl for so many work-items. */
kry_status kry_place_run(kry_device *dev, const char *name, int64_t items, const kry_arg *args,
                         size_t count);
/* A buffer of so many int that are 0. */
kry_status kry_place_zeros(kry_device *dev, size_t ints, cl_mem *buffer);
/* How many work-items walk a row side by side. */
cl_int kry_given_lanes(const kry_csr *C);
/* The offsets of diagonals with entries, ascending, to be freed; *count: of all. *offset NULL: there are more than `most`.
 * Waits. */
kry_status kry_given_diagonals(const kry_csr *C, int64_t most, int32_t **offset, int64_t *count);
/* diagonals.c: the same on the host. */
kry_status kry_diagonals_find(const kry_sparse *A, int64_t most, int32_t **offset, int64_t *count);
/* with[k]: how many rows have k entries, 0 ... longest. Waits. */
kry_status kry_given_lengths(const kry_csr *C, int64_t longest, cl_int *with);

/* ---- entries of the formats' tables: csr.c, placed_sell.c, placed_dia.c ---- */

kry_status kry_csr_place(kry_matrix *A, const kry_given *G, cl_mem *place);
kry_status kry_ell_place(kry_matrix *A, const kry_given *G, cl_mem *place);
kry_status kry_sell_place(kry_matrix *A, const kry_given *G, cl_mem *place);
kry_status kry_dia_place(kry_matrix *A, const kry_given *G, cl_mem *place);
/* Of A->placed: C->row_ptr, col and place. */
kry_status kry_sell_entries(const kry_matrix *A, kry_csr *C, bool *all);
kry_status kry_dia_entries_there(const kry_matrix *A, kry_csr *C);

/* ---- placed_sell.c ---- */

/* kry_sell_estimate. */
kry_status kry_sell_estimate_given(const kry_given *G, const kry_matrix_params *params,
                                   kry_sell_size *size);

/* ---- placed.c: formats that a device makes; the host then has no pattern ---- */

/* A->stage and A->val := the format and the numbers made of G->C. A->placed false: the host has to make them, and nothing
 * has happened. Waits. */
kry_status kry_placed_build(kry_matrix *A, const kry_given *G);
/* kry_op_update of A->placed; sets A->found. Waits. */
kry_status kry_placed_update(kry_matrix *A, const void *values);
/* A->diagonal := the slots of entries (i, first + i). Waits. */
kry_status kry_placed_diagonal(kry_matrix *A, int64_t first);

#endif
