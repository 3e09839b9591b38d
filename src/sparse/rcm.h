/* rcm.h - an order of rows and columns in which entries are near the diagonal. */
#ifndef KRY_RCM_H
#define KRY_RCM_H

#include "sparse/sparse.h"

/* order[k] := the node that comes k-th, by reverse Cuthill-McKee, part by part of a graph that is not connected.
 * graph: a symmetric pattern without a diagonal (kryi_sparse_graph).
 * Cost     some walks over the graph; the same order in every run */
kry_status kryi_sparse_rcm(const kryi_sparse *graph, int32_t *order);
/* The mean of |i - j| over the entries of a square A, of which row i and column i go to place[i]; NULL: stay. */
double kryi_sparse_mean_bandwidth(const kryi_sparse *A, const int32_t *place);

#endif
