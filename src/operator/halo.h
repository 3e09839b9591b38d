/*
 * halo.h - exchanges of vector entries between neighbouring parts. A halo belongs to one part of an
 * operator. While an exchange runs, the part computes what needs no neighbours; after its end, launches
 * on the device's queue find the neighbours' entries in kryi_halo_numbers.
 */
#ifndef KRY_HALO_H
#define KRY_HALO_H

#include "device/comm.h"
#include "operator/direction.h"

typedef struct kryi_halo kryi_halo;

/* A link to another part: `count` numbers from `first` on of those that go out, or come in. */
typedef struct kryi_link {
    int rank; /* of the other part */
    int64_t first, count;
} kryi_link;

/*
 * Collective: the parts tell each other which entries they want.
 *
 *   want   wants links to other parts, in the order of their ranks
 *   row    of each number that comes in, the row's number on the part that owns it, from 0
 * Returns  KRY_ERR_MEMORY. Waits.
 */
kry_status kryi_halo_create(kry_device *dev, kry_type type, const kryi_link *want, int wants,
                            const int32_t *row, kryi_halo **halo);
/* Places of the whole (split.h) that a part wants: ascending, none of its own. */
typedef struct kryi_places {
    const int64_t *first; /* part r has places first[r] ... first[r + 1] - 1 */
    int64_t count;
    const int64_t *place;
} kryi_places;
/* The halo that brings their numbers. Collective. Waits. */
kry_status kryi_halo_create_for(kry_device *dev, kry_type type, const kryi_places *p,
                                kryi_halo **halo);
/* *like := an exchange as `halo` for numbers of another type. Collective. Waits. */
kry_status kryi_halo_like(const kryi_halo *halo, kry_type type, kryi_halo **like);
kryi_halo *kryi_halo_retain(kryi_halo *halo);
void kryi_halo_release(kryi_halo **halo);

/* From now on vectors have row i of this part as their number(user, i). Waits. */
kry_status kryi_halo_renumber(kryi_halo *halo, int32_t (*number)(const void *user, int32_t row),
                              const void *user);

cl_mem kryi_halo_numbers(const kryi_halo *halo); /* that come in, on the device */
int64_t kryi_halo_count(const kryi_halo *halo);  /* how many they are */
int64_t kryi_halo_sent(const kryi_halo *halo);   /* how many go out */
int kryi_halo_neighbours(const kryi_halo *halo); /* how many other parts these are of */

/* Who wants rows of this part, and of whom this part wants some: links in the order of ranks. Borrowed. */
typedef struct kryi_halo_links {
    kry_device *dev;
    int ins, outs;
    const kryi_link *in, *out;
    cl_mem row; /* of each number that goes out */
} kryi_halo_links;
kryi_halo_links kryi_halo_links_of(const kryi_halo *halo);

/* Exchange entries of x, or of the direction d (z + beta old). Collective among neighbours, which end
 * an exchange before they begin the next. `begin` enqueues; `end` may wait for the neighbours. */
kry_status kryi_halo_begin(kryi_halo *halo, const kry_vec *x);
kry_status kryi_halo_begin_direction(kryi_halo *halo, const kryi_cg *cg);
kry_status kryi_halo_end(kryi_halo *halo);

#endif
