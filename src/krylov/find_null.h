/* find_null.h - null parts of a matrix of which each rank has some rows. */
#ifndef KRY_FIND_NULL_H
#define KRY_FIND_NULL_H

#include "operator/op.h"
#include "sparse/sparse.h"

/*
 * kry_sparse_null_parts of an A on ranks: N->of is of the rows here, *here of them; the numbers are those of the whole.
 * Where there are more than 2^20 parts and empty rows, none is found.
 * Returns  KRY_ERR_UNSUPPORTED, on all ranks, if A has no entries to read. Collective. Waits.
 */
kry_status kry_null_look_on_ranks(const kry_op *A, int64_t *here, kry_null_parts *N);
/* number := its sum over all ranks. Collective. */
kry_status kry_null_add_ranks(const kry_op *A, double *number, size_t count);

#endif
