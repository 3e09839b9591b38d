/*
 * couplings.h - which unknowns the rows of an operator couple, on the host: of grids from their
 * sides, of stored matrices read back, of pinned ones those of the matrix (operator/pin.h), of
 * others unknown. On a part of a team unknowns of other parts that its rows meet are numbered
 * behind its own.
 */
#ifndef KRY_COUPLINGS_H
#define KRY_COUPLINGS_H

#include "operator/op.h"
#include "sparse/sparse.h"

typedef struct kry_couplings {
    const struct kry_stencil *grid; /* borrowed; NULL: `rows` */
    kry_sparse rows;                /* the pattern, in any order; row_ptr NULL: not known */
} kry_couplings;

kry_status kry_couplings_of(const kry_op *A, kry_couplings *couplings);
void kry_couplings_release(kry_couplings *couplings);
static inline bool kry_couplings_known(const kry_couplings *c)
{
    return c->grid || c->rows.row_ptr;
}
/* How many unknowns of other parts the rows of A meet, and where they stand in the whole
 * (team/split.h): to be freed. */
kry_status kry_couplings_beyond(const kry_op *A, int64_t *count, int64_t **place);
/* The columns of row i, its own among them; `room`: 7 numbers, for what is not stored. Returns
 * their count. */
int64_t kry_couplings_at(const kry_couplings *couplings, int64_t i, int32_t room[7],
                         const int32_t **cols);

#endif
