/* partition.h - which part of a computation gets which rows, and how many words the parts then exchange. */
#ifndef KRY_PARTITION_H
#define KRY_PARTITION_H

#include "sparse/csr.h"

/* What a row costs beside its entries, in entries. CG moves about 10 words a row (krylov/pcg.c), an
 * entry of a matrix is 2 words in single (number and column), 1.5 in double: 5 and 6.7. */
enum { KRY_ROW_COST = 6 };

/*
 * Cut n rows into `parts` contiguous blocks: part p gets rows first[p] to first[p + 1].
 *
 *   row_ptr   [in]   n+1, where rows begin; only differences count. NULL: rows cost the same
 *   shares    [in]   parts, relative speeds, > 0; NULL: equal
 *   multiple  [in]   blocks begin at multiples of it; 1: anywhere
 *   first     [out]  parts+1, untouched on failure
 *
 * The largest (entries + KRY_ROW_COST rows) / share of a part is as small as contiguous blocks make
 * it; with that limit, blocks end as near to their share as they can. Every part has rows.
 *
 * Cost     O(parts log n), 60 times
 * Returns  KRY_ERR_ARGUMENT for less rows (or multiples) than parts, shares that are not positive
 * Source   A. Cevahir, A. Nukada, S. Matsuoka, ICCS 2009, section 3.3: rows by nonzeros; A. Pinar,
 *          C. Aykanat, J. Parallel Distrib. Comput. 64 (2004): the smallest maximum by bisection
 */
kry_status kryi_partition_by_rows(int64_t n, const int64_t *row_ptr, int parts,
                                  const double *shares, int64_t multiple, int64_t *first);

/* Which of `count` intervals has `at`: number i begins at begin[i], and ends where the next one begins. */
int kryi_interval_of(const int64_t *begin, int count, int64_t at);

/*
 * part[i] := the part of row i of a square A, by METIS on the graph of A + A' so that parts exchange few
 * words: the same costs and shares as above, fixed seed. Every part has rows.
 *
 * Returns  also KRY_ERR_UNSUPPORTED without METIS
 * Source   G. Karypis, V. Kumar, SIAM J. Sci. Comput. 20 (1998)
 */
kry_status kryi_partition_by_graph(const kryi_csr *A, int parts, const double *shares,
                                   int32_t *part);

/*
 * graph_parts.c: part[i] := 0 ... parts-1 for the nodes of a graph: k-way, 3 % imbalance, fixed seed.
 *
 *   who     the public function, for messages
 *   graph   pattern: the neighbours of each node (kryi_csr_graph)
 *   cost    rows, of the nodes: parts then exchange few words. NULL: nodes cost the same, and few
 *           edges are cut
 *   shares  parts, of the cost, > 0; NULL: equal
 *
 * A part may be left without nodes. METIS leaves many parts empty, and prints that, if there are
 * less than 8 nodes to a part; parts are then cut out of a breadth-first order of the nodes.
 * Returns  KRY_ERR_UNSUPPORTED without METIS
 */
kry_status kryi_graph_parts(const char *who, const kryi_csr *graph, const int64_t *cost, int parts,
                            const double *shares, int32_t *part);

/*
 * part[i] := the part of node i, for so many parts that METIS takes long: each grows in breadth until it has its share of
 * the nodes, which is the same for all but for one node. Where it is shut in it goes on elsewhere, so that a part may be in pieces.
 *
 * Cost  the edges, twice
 */
kry_status kryi_graph_grow(const kryi_csr *graph, int64_t parts, int32_t *part);

/* Sort the rows by parts, those of one part as they were: row order[k] goes to place k, part p gets the
 * places first[p] to first[p + 1]. order: n; first: parts+1. */
void kryi_partition_order(int64_t n, int parts, const int32_t *part, int64_t *first,
                          int32_t *order);

/* The volume of each of `parts` parts when row i, and entry i of x, belong to part[i]. A: square; only its
 * pattern is read. */
kry_status kryi_partition_volume(const kryi_csr *A, int parts, const int32_t *part,
                                 kry_part_volume *volume);
#endif
