/* matrix_parts.h - stored matrices on a team. */
#ifndef KRY_MATRIX_PARTS_H
#define KRY_MATRIX_PARTS_H

#include "sparse/entries.h"

/* The operator of a matrix, split over the devices of a team. Takes host and map over if the call
 * succeeds. */
kry_status kry_matrix_in_parts(kry_device *team, kry_sparse *host, kry_entry_map *map,
                               const kry_matrix_params *params, kry_op **op);
/* kry_matrix_read of one. */
kry_status kry_matrix_read_parts(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val);
/* The entries of an operator in parts, pinned or not, that are stored matrices. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if there is no stored matrix */
kry_status kry_matrix_parts_download(const kry_op *op, kry_sparse *A);

#endif
