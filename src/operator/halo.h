/*
 * halo.h - what a part needs of its neighbours' numbers, and how it gets them.
 *
 * A halo belongs to one part of an operator. An exchange is begun with a vector, or with the direction
 * of a Krylov step; while it is under way the part computes what needs no neighbours; once it has
 * ended, launches on the device's queue find the neighbours' numbers in `numbers`.
 */
#ifndef KRY_HALO_H
#define KRY_HALO_H

#include "device/comm.h"
#include "operator/direction.h"

typedef struct kry_halo kry_halo;

/* One direction between two parts. */
typedef struct kry_link {
    int rank;      /* of the other part */
    int64_t first; /* in the packed numbers that go out, or in `numbers` of those that come in */
    int64_t count;
} kry_link;

/*
 * Collective: parts learn what the others want of them.
 *
 *   want   ranks ascending, not this one's; `first` counts up: where each one's numbers will stand in
 *          `numbers`; row: for each place there the number of the row at its owner, from 0
 * Returns  what allocation returns. Waits.
 */
kry_status kry_halo_create(kry_device *dev, kry_type type, const kry_link *want, int wants,
                           const int32_t *row, kry_halo **halo);
/* The same exchange of numbers of another type. Collective. Waits. */
kry_status kry_halo_like(const kry_halo *halo, kry_type type, kry_halo **like);
void kry_halo_release(kry_halo **halo);

/* Numbers that come in, in the order of places; `type`, on the device. */
cl_mem kry_halo_numbers(const kry_halo *halo);
int64_t kry_halo_count(const kry_halo *halo);
/* Those that go out in an exchange. */
int64_t kry_halo_sent(const kry_halo *halo);

/* Pack x's numbers, or those of the direction d (z + beta old), and send them. Collective among
 * neighbours: each begin of one part meets one of theirs, and has an end before the next. Enqueues;
 * may wait for the packed numbers and for those of the neighbours in `end`. */
kry_status kry_halo_begin(kry_halo *halo, const kry_vec *x);
kry_status kry_halo_begin_direction(kry_halo *halo, const kry_direction *d);
kry_status kry_halo_end(kry_halo *halo);

#endif
