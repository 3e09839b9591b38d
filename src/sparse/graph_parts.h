/*
 * graph_parts.h - parts of graphs by METIS.
 */
#ifndef KRY_GRAPH_PARTS_H
#define KRY_GRAPH_PARTS_H

#include "sparse/sparse.h"

/*
 * part[i] := 0 ... parts-1: k-way, 3 % imbalance, fixed seed.
 *
 *   who     the public function, for messages
 *   graph   pattern: the neighbours of each node (kry_sparse_graph)
 *   cost    rows, of the nodes; few words are then to be exchanged between parts. NULL: nodes cost
 *           the same, and few edges are cut
 *   shares  parts, of the cost, > 0; NULL: equal
 *
 * A part may be left without nodes. METIS leaves many parts empty, and prints that, if there are
 * less than 8 nodes to a part; parts are then cut out of a breadth-first order of the nodes.
 * Returns  KRY_ERR_UNSUPPORTED without METIS
 */
kry_status kry_graph_parts(const char *who, const kry_sparse *graph, const int64_t *cost, int parts,
                           const double *shares, int32_t *part);

#endif
