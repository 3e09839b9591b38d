/*
 * layout.h - how the rows of a computation lie over its parts: numbers that all parts exchange.
 */
#ifndef KRY_LAYOUT_H
#define KRY_LAYOUT_H

#include "base/base.h"

/* ---- layout.c: how the rows of a computation lie over its parts. A device by itself has all of them;
 *      a part of a team has its own, runs the same code as the other parts, and meets them here.
 *      All but the first two are collective: every part calls them in the same order, and they fail on
 *      all once one part has failed. Alone, they cost nothing. ---- */

typedef struct kry_comm kry_comm; /* device/comm.h */
typedef struct kry_layout {
    kry_device *dev; /* borrowed: the device embeds its layout */
    kry_comm *comm;  /* borrowed; NULL: alone */
    /* Of a part of a team whose results must not depend on the number of parts: its kernels are
     * compiled with KRY_REPRODUCIBLE, solvers take the steps that leave their sums by chunks, and
     * partial sums of all parts are added up in the order of rows. */
    bool reproducible;
    const struct kry_split *split; /* borrowed, during a run: what rows are split by */
    double *scratch;               /* owned: partial sums on their way */
    size_t scratch_count;
} kry_layout;

void kry_layout_init(kry_layout *layout, kry_device *dev, kry_comm *comm);
int kry_layout_size(const kry_layout *layout);
int kry_layout_rank(const kry_layout *layout);
/* all: size blocks of `bytes`, in the order of ranks. */
kry_status kry_layout_gather(kry_layout *layout, const void *mine, size_t bytes, void *all);
/* all: every part's items, in the order of ranks, to be freed; *total of them. */
kry_status kry_layout_collect(kry_layout *layout, const void *mine, size_t count, size_t size,
                              void *address_of_all, size_t *total);
typedef enum kry_combine { KRY_ADD, KRY_MAX } kry_combine;
/* Each of the numbers becomes the sum, or the largest, of all parts'; the same bits everywhere. */
kry_status kry_layout_combine(kry_layout *layout, kry_combine how, double *numbers, size_t count);
/* The number of rank 0, which alone may depend on time or on the caller. */
kry_status kry_layout_agree(kry_layout *layout, double *number);
/* Hands `mine` back if it is an error; fails on all parts if it is one on any. */
kry_status kry_layout_join(kry_layout *layout, kry_status mine);
/* Of n rows here: how many there are in all, and before these (first may be NULL). */
kry_status kry_layout_rows(kry_layout *layout, int64_t n, int64_t *first, int64_t *total);
#endif
