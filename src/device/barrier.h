/*
 * barrier.h - kernels whose work-groups wait for each other.
 */
#ifndef KRY_BARRIER_H
#define KRY_BARRIER_H

#include "device/launch.h"

/* For kernels that are written as cl/common/barrier.clh says. Their first parameter is the control buffer:
 * the functions here fill in args[0]. */

typedef struct kryi_barrier kryi_barrier;
enum { KRY_BARRIER_MOST = 1024 }; /* groups */

/* Find out how many groups of `size` work-items can wait for each other in this kernel. If no
 * earlier probe is known, launch one with these arguments, through which nothing is read or
 * written. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if the kernel takes no groups of that size. */
kry_status kryi_barrier_create(kry_device *dev, kryi_kernel *kernel, int size, kry_arg *args,
                               size_t count, kryi_barrier **barrier);
void kryi_barrier_release(kryi_barrier **barrier);
/* How many can; 0: none, do it another way. Becomes 0 when a launch was aborted. */
int kryi_barrier_groups(const kryi_barrier *barrier);
/* Enqueue. Returns  KRY_ERR_UNSUPPORTED for more groups than can wait for each other. */
kry_status kryi_barrier_launch(kryi_barrier *barrier, int groups, kry_arg *args, size_t count);
/* Whether every group of the last launch came to its end. If not, its results are invalid.
 * Waits. */
kry_status kryi_barrier_finished(kryi_barrier *barrier, bool *finished);

/* Many launches in a row, of any number of groups each, of a kernel that ends with
 * resident_end_in_series. One look at the end shows whether all of them came to their end. After an
 * aborted launch, all that follow end at their first wait. */
kry_status kryi_barrier_begin_series(kryi_barrier *barrier);
kry_status kryi_barrier_launch_next(kryi_barrier *barrier, int groups, kry_arg *args, size_t count);
/* In a series: one group, which waits for nobody, and finds whether the launch before was aborted. */
kry_status kryi_barrier_launch_after(kryi_barrier *barrier, kry_arg *args, size_t count);
kry_status kryi_barrier_series_finished(kryi_barrier *barrier, bool *finished); /* waits */

#endif
