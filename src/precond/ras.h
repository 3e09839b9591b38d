/*
 * ras.h - sub-domains of a matrix's rows that overlap, and the matrix that has all of them one after the other.
 */
#ifndef KRY_RAS_H
#define KRY_RAS_H

#include "sparse/csr.h"

typedef struct kryi_overlap {
    int64_t parts, most; /* how many; rows of the largest */
    int64_t *begin;      /* parts + 1 */
    int32_t *row;        /* of part d: row[begin[d]] ... row[begin[d + 1] - 1], ascending */
    int32_t *home;       /* of each row the part that it belongs to; it may be in others, too */
} kryi_overlap;

enum { KRY_OVERLAP_CUT = 256 };

/*
 * Cut the graph of a square A into `parts`, by METIS if they are up to KRY_OVERLAP_CUT, for it takes long to make more, else and
 * without METIS by kryi_graph_grow; and add to each part `layers` times the neighbours of what it has.
 *
 * Cost     METIS's; the entries of all parts
 */
kry_status kryi_overlap_find(const char *who, const kryi_csr *A, int64_t parts, int layers,
                             kryi_overlap *o);
void kryi_overlap_release(kryi_overlap *o);
/* Where entry k of part d is among rows of which each part has o->most. */
static inline int64_t kryi_overlap_place(const kryi_overlap *o, int64_t d, int64_t k)
{
    return d * o->most + k;
}

#endif
