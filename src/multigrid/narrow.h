/* narrow.h - a cycle in single for vectors in double: residuals are divided by a power of two near their norm and
 * rounded, so that none leaves the range of single; what a cycle makes of them is multiplied by it. */
#ifndef KRY_NARROW_H
#define KRY_NARROW_H

#include "vector/vec.h"

typedef struct kryi_narrow {
    kry_device *dev; /* borrowed */
    kry_sum *square; /* of a residual */
    kry_sum *
        squares; /* of as many columns as there were the last time that there were several; NULL: not yet */
    kry_sum *dots; /* where nobody asks for them */
    double factor; /* what the cycle makes of a residual is multiplied by, besides; 1 */
    cl_mem unit;   /* two doubles for each column: see cl/multigrid/narrow.cl */
    bool measured; /* they have been found, for that factor */
    kryi_kernel *measure, *measure_pair, *down, *up;
} kryi_narrow;

kry_status kryi_narrow_create(kry_device *dev, kryi_narrow **narrow);
void kryi_narrow_release(kryi_narrow **narrow);
/* Get ready for so many columns. */
kry_status kryi_narrow_widen(kryi_narrow *narrow, int64_t columns);
/* Residuals are of the size of r from now on. known: NULL, or for one column a pair whose second number is r.r, where r is
 * what a step has made of the last one: on a team, where that is of one part, they stay of the size that they were */
kry_status kryi_narrow_measure(kryi_narrow *narrow, const kry_vec *r, const kry_sum *known);
/* d := r, scaled and rounded; d is in single. */
kry_status kryi_narrow_down(const kryi_narrow *narrow, const kry_vec *r, kry_vec *d);
/* z := d, scaled back;  dots := (r.z, r.r), NULL with several columns */
kry_status kryi_narrow_up(const kryi_narrow *narrow, const kry_vec *r, const kry_vec *d, kry_vec *z,
                          kry_sum *dots);

#endif
