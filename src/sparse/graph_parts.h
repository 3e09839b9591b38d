/*
 * graph_parts.h - graphs of matrices, and their parts by METIS.
 */
#ifndef KRY_GRAPH_PARTS_H
#define KRY_GRAPH_PARTS_H

#include "base/base.h"

/* The neighbours of each of n nodes, ascending, without itself. Each edge stands there twice. */
typedef struct kry_graph {
    int64_t n, *row_ptr; /* n+1 */
    int32_t *col;
} kry_graph;

/* The graph of A + A', of the pattern of a square A with ascending columns. */
kry_status kry_graph_create(int64_t n, const int64_t *row_ptr, const int32_t *col,
                            kry_graph *graph);
void kry_graph_release(kry_graph *graph);

/*
 * part[i] := 0 ... parts-1: k-way, 3 % imbalance, fixed seed.
 *
 *   cost    n, of the nodes, and parts that have to tell each other little; NULL: all alike, and
 * few edges between parts shares  parts, of the cost, > 0; NULL: equal who     the public function,
 * for messages
 *
 * A part may be left without nodes. Parts of less than 8 nodes on average, of which METIS leaves
 * many empty, and says so on stdout, are pieces of a walk, breadth first.
 * Returns  KRY_ERR_UNSUPPORTED without METIS
 */
kry_status kry_graph_parts(const char *who, const kry_graph *graph, const int64_t *cost, int parts,
                           const double *shares, int32_t *part);

#endif
