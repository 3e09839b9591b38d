/*
 * layout.h - the parts of a computation: each has some of the rows, and all exchange numbers.
 */
#ifndef KRY_LAYOUT_H
#define KRY_LAYOUT_H

#include "base/base.h"

/* A device by itself has all rows. A part of a team has some, and runs the same code as the other
 * parts, on its own rows. All functions but kryi_layout_init, _size, _rank and _reports are collective: every
 * part calls them in the same order, and they fail on all parts once one has failed. On one device
 * they cost nothing. */

typedef struct kryi_comm kryi_comm; /* device/comm.h */
typedef struct kryi_layout {
    kry_device *dev; /* borrowed: the device embeds its layout */
    kryi_comm *comm; /* borrowed */
    /* Results must not depend on the number of parts: kernels are compiled with KRY_REPRODUCIBLE,
     * solvers use the steps that sum by chunks of rows, and the partial sums of all parts are added
     * in the order of rows. */
    bool reproducible;
    bool unoptimised;               /* kernels are built with -cl-opt-disable: device/order.c */
    const struct kryi_split *split; /* borrowed: which rows are where, during a run */
    double *scratch;                /* owned: partial sums that are exchanged */
    size_t scratch_count;
    bool begun; /* between kryi_layout_combine_begin and _end: scratch is being filled */
} kryi_layout;

void kryi_layout_init(kryi_layout *layout, kry_device *dev); /* by itself */
int kryi_layout_size(const kryi_layout *layout);
int kryi_layout_rank(const kryi_layout *layout);
/* Whether this part tells the caller how it went: the first of a process. */
bool kryi_layout_reports(const kryi_layout *layout);
/* all: `bytes` of every part, in the order of ranks. */
kry_status kryi_layout_gather(kryi_layout *layout, const void *mine, size_t bytes, void *all);
/* *address_of_all: the items of all parts in the order of ranks, *total of them, to be freed. */
kry_status kryi_layout_collect(kryi_layout *layout, const void *mine, size_t count, size_t size,
                               void *address_of_all, size_t *total);
typedef enum kryi_combine { KRY_ADD, KRY_MAX } kryi_combine;
/*
 * Replace each number by its sum, or its maximum, over all parts: the same bits on all of them, and on parts that are
 * threads as on processes. Of P parts the upper ones hand their numbers to the lower half, where part i takes those of
 * i + P/2; the lower half does the same, and so on (of other P: first i takes those of i + the largest power of two
 * below P).
 */
kry_status kryi_layout_combine(kryi_layout *layout, kryi_combine how, double *numbers,
                               size_t count);
/* kryi_layout_combine in halves: what is done between them, collective or not, goes on while the numbers travel, where they
 * can. Nothing is begun twice. */
kry_status kryi_layout_combine_begin(kryi_layout *layout, const double *numbers, size_t count);
kry_status kryi_layout_combine_end(kryi_layout *layout, kryi_combine how, double *numbers,
                                   size_t count);
/* both := a and b combined, number by number; a or b may be both. */
void kryi_combine_numbers(kryi_combine how, const double *a, const double *b, double *both,
                          size_t count);
/* Make room for so many numbers in layout->scratch. */
kry_status kryi_layout_scratch(kryi_layout *layout, size_t count);
/* Replace the number by that of rank 0, the only one that may depend on time or on the caller. */
kry_status kryi_layout_agree(kryi_layout *layout, double *number);
/* Return `mine` if it is an error, and an error on all parts if it is one on any of them. */
kry_status kryi_layout_join(kryi_layout *layout, kry_status mine);
/* n: rows of this part. *total: rows of all parts; *first (may be NULL): rows of the parts
 * before. */
kry_status kryi_layout_rows(kryi_layout *layout, int64_t n, int64_t *first, int64_t *total);
#endif
