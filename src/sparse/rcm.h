/* rcm.h - an order of rows and columns in which entries are near the diagonal. */
#ifndef KRY_RCM_H
#define KRY_RCM_H

#include "sparse/csr.h"

/* order[k] := the node that comes k-th, by reverse Cuthill-McKee, part by part of a graph that is not connected.
 * graph: a symmetric pattern without a diagonal (kryi_csr_graph).
 * Cost     some walks over the graph; the same order in every run */
kry_status kryi_csr_rcm(const kryi_csr *graph, int32_t *order);
/* The mean of |i - j| over the entries of a square A, of which row i and column i go to place[i]; NULL: stay. */
double kryi_csr_mean_bandwidth(const kryi_csr *A, const int32_t *place);

#endif
