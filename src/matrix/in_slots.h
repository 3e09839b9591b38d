/* in_slots.h - the numbers of a stored matrix on the host, as they go to the device. */
#ifndef KRY_IN_SLOTS_H
#define KRY_IN_SLOTS_H

#include "matrix/matrix.h"

/* The type in which A keeps these numbers, those of its entries in order.
 * Returns  KRY_ERR_ARGUMENT if rounding to single was asked for and one is too large */
kry_status kry_matrix_choose_stored(const kry_matrix *A, const char *who, const void *sorted,
                                    kry_type *stored);
/* out := the numbers in their slots, zeros elsewhere; to be freed, whatever this returns.
 * Returns  KRY_ERR_ARGUMENT for mirror images that share a slot and differ */
kry_status kry_matrix_to_slots(const kry_matrix *A, const char *who, kry_type stored,
                               const void *sorted, void **out);

#endif
