/*
 * halo.h - exchanges of vector entries between neighbouring parts.
 *
 * A halo belongs to one part of an operator. An exchange begins with a vector, or with the
 * direction of a Krylov step. While it runs, the part computes what needs no neighbours. After its
 * end, launches on the device's queue find the neighbours' entries in `numbers`.
 */
#ifndef KRY_HALO_H
#define KRY_HALO_H

#include "device/comm.h"
#include "operator/direction.h"

typedef struct kry_halo kry_halo;

/* What goes from one part to another. */
typedef struct kry_link {
    int rank;      /* of the other part */
    int64_t first; /* where: among the packed numbers that go out, or in `numbers` */
    int64_t count;
} kry_link;

/*
 * Collective: the parts tell each other which entries they want.
 *
 *   want   wants links to other parts, in the order of their ranks; `first` and `count` say which
 *          places of `numbers` that part's entries will have
 *   row    for each place of `numbers`, the row's number on the part that owns it, from 0
 * Returns  KRY_ERR_MEMORY. Waits.
 */
kry_status kry_halo_create(kry_device *dev, kry_type type, const kry_link *want, int wants,
                           const int32_t *row, kry_halo **halo);
/* The same exchange for numbers of another type. Collective. Waits. */
kry_status kry_halo_like(const kry_halo *halo, kry_type type, kry_halo **like);
void kry_halo_release(kry_halo **halo);

/* The numbers that come in: of the halo's type, on the device; and how many. */
cl_mem kry_halo_numbers(const kry_halo *halo);
int64_t kry_halo_count(const kry_halo *halo);
/* How many numbers go out in an exchange. */
int64_t kry_halo_sent(const kry_halo *halo);

/* Pack the wanted entries of x, or of the direction d (z + beta old), and send them. Collective
 * among neighbours: they begin the same exchanges in the same order, and end each before they begin
 * the next. `begin` enqueues; `end` may wait for the packed numbers and for the neighbours. */
kry_status kry_halo_begin(kry_halo *halo, const kry_vec *x);
kry_status kry_halo_begin_direction(kry_halo *halo, const kry_direction *d);
kry_status kry_halo_end(kry_halo *halo);

#endif
