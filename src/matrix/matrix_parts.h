/* matrix_parts.h - stored matrices on a team. */
#ifndef KRY_MATRIX_PARTS_H
#define KRY_MATRIX_PARTS_H

#include "sparse/host_csr.h"

/* The operator of a finished host matrix, split over the devices of a team. Takes host over. */
kry_status kry_matrix_in_parts(kry_device *team, kry_host_csr *host,
                               const kry_matrix_params *params, kry_op **op);
/* kry_matrix_read of one. */
kry_status kry_matrix_read_parts(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val);

#endif
