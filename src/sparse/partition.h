/*
 * partition.h - which part of a computation gets which rows, and how many words the parts then have
 * to exchange. On the host, before anything is made on a device.
 */
#ifndef KRY_PARTITION_H
#define KRY_PARTITION_H

#include "sparse/sparse.h"

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
kry_status kry_partition_by_rows(int64_t n, const int64_t *row_ptr, int parts, const double *shares,
                                 int64_t multiple, int64_t *first);

/*
 * part[i] := the part of row i, such that few words have to be exchanged: METIS on the graph of
 * A + A', the same costs and shares as above, fixed seed. Every part has rows.
 *
 * Returns  also KRY_ERR_SHAPE if A is not square, KRY_ERR_UNSUPPORTED without METIS
 * Source   G. Karypis, V. Kumar, SIAM J. Sci. Comput. 20 (1998)
 */
kry_status kry_partition_by_graph(const kry_sparse *A, int parts, const double *shares,
                                  int32_t *part);

/*
 * Sort the rows by parts, those of one part as they were: row order[k] goes to place k, part p gets
 * the places first[p] to first[p + 1]. order: n; first: parts+1.
 */
void kry_partition_order(int64_t n, int parts, const int32_t *part, int64_t *first, int32_t *order);

/*
 * The volume of each part when row i, and entry i of x, belong to part[i].
 *
 *   A       square; numbers are not looked at and may be NULL
 *   volume  [out]  parts
 */
kry_status kry_partition_volume(const kry_sparse *A, int parts, const int32_t *part,
                                kry_part_volume *volume);
/* The same for contiguous blocks. */
kry_status kry_partition_volume_of_rows(const kry_sparse *A, int parts, const int64_t *first,
                                        kry_part_volume *volume);

#endif
