/*
 * halo.h - exchanges of vector entries between neighbouring parts. A halo belongs to one part of an
 * operator. While an exchange runs, the part computes what needs no neighbours; after its end, launches
 * on the device's queue find the neighbours' entries in kry_halo_numbers.
 */
#ifndef KRY_HALO_H
#define KRY_HALO_H

#include "device/comm.h"
#include "operator/direction.h"

typedef struct kry_halo kry_halo;

/* What goes from one part to another: `count` numbers from `first` on of those that go out, or come in. */
typedef struct kry_link {
    int rank; /* of the other part */
    int64_t first, count;
} kry_link;

/*
 * Collective: the parts tell each other which entries they want.
 *
 *   want   wants links to other parts, in the order of their ranks
 *   row    of each number that comes in, the row's number on the part that owns it, from 0
 * Returns  KRY_ERR_MEMORY. Waits.
 */
kry_status kry_halo_create(kry_device *dev, kry_type type, const kry_link *want, int wants,
                           const int32_t *row, kry_halo **halo);
/* The same exchange for numbers of another type. Collective. Waits. */
kry_status kry_halo_like(const kry_halo *halo, kry_type type, kry_halo **like);
void kry_halo_release(kry_halo **halo);

cl_mem kry_halo_numbers(const kry_halo *halo); /* that come in, on the device */
int64_t kry_halo_count(const kry_halo *halo);  /* how many they are */
int64_t kry_halo_sent(const kry_halo *halo);   /* how many go out */
int kry_halo_neighbours(const kry_halo *halo); /* how many other parts these are of */

/* Who wants rows of this part, and of whom this part wants some: links in the order of ranks. Borrowed. */
typedef struct kry_halo_links {
    kry_device *dev;
    int ins, outs;
    const kry_link *in, *out;
    cl_mem row; /* of each number that goes out */
} kry_halo_links;
kry_halo_links kry_halo_links_of(const kry_halo *halo);

/* Exchange entries of x, or of the direction d (z + beta old). Collective among neighbours, which end
 * an exchange before they begin the next. `begin` enqueues; `end` may wait for the neighbours. */
kry_status kry_halo_begin(kry_halo *halo, const kry_vec *x);
kry_status kry_halo_begin_direction(kry_halo *halo, const kry_direction *d);
kry_status kry_halo_end(kry_halo *halo);

/* ---- halo_rows.c ------------------------------------------------------------------------------- */

/* Places of the whole (split.h) that a part wants: ascending, none of its own. */
typedef struct kry_places {
    int parts;
    const int64_t *first; /* parts + 1: part r has places first[r] ... first[r + 1] - 1 */
    int64_t count;
    const int64_t *place;
} kry_places;
/* The halo that brings their numbers. Collective. Waits. */
kry_status kry_halo_create_for(kry_device *dev, kry_type type, const kry_places *p,
                               kry_halo **halo);

/* From now on vectors have row i of this part as their number(user, i). Waits. */
kry_status kry_halo_renumber(kry_halo *halo, int32_t (*number)(const void *user, int32_t row),
                             const void *user);

/* Rows of a sparse matrix on the host, whose columns are places of a whole. */
typedef struct kry_placed_rows {
    int64_t rows;
    int64_t *row_ptr, *place; /* rows + 1; of each entry */
    double *val;
} kry_placed_rows;
/* theirs := of each number that comes in the row of the part that owns it, one of `mine` there; to be released.
 * Collective. Waits. */
kry_status kry_halo_fetch_rows(const kry_halo *halo, const kry_placed_rows *mine,
                               kry_placed_rows *theirs);
void kry_placed_rows_release(kry_placed_rows *r);

#endif
