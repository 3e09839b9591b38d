/* narrow.h - a cycle whose levels have vectors in single, for vectors in double. */
#ifndef KRY_NARROW_H
#define KRY_NARROW_H

#include "operator/op.h"

typedef struct kry_narrow {
    kry_vec *b,
        *x; /* of the finest level, in single; NULL: the levels are in the type of the matrix */
    cl_mem part;              /* what the kernels leave for each other */
    kry_kernel *kernel[2][3]; /* for vectors that start anywhere, too */
} kry_narrow;

/* For n rows. Waits. */
kry_status kry_narrow_create(kry_device *dev, int64_t n, kry_narrow *w);
void kry_narrow_release(kry_narrow *w);
/* w->b := b by a power of two, which depends on b alone: its largest number is in 0.5 ... 1. b is in double. Enqueues. */
kry_status kry_narrow_enter(const kry_narrow *w, const kry_vec *b);
/* x := w->x times that power of two. sum: NULL, or the pair (b.x, b.b). Enqueues. */
kry_status kry_narrow_leave(const kry_narrow *w, const kry_vec *b, kry_vec *x, kry_sum *sum);
/* What both move, in bytes. */
double kry_narrow_bytes(const kry_narrow *w);

#endif
