/*
 * rows.h - which unknowns the rows of an operator couple, on the host: of grids from their sides,
 * of stored matrices read back, of others unknown.
 */
#ifndef KRY_ROWS_H
#define KRY_ROWS_H

#include "../core/internal.h"

typedef struct kry_rows {
    int64_t n;
    bool known;
    const struct kry_stencil *grid; /* borrowed; NULL: the arrays, owned */
    int64_t *row_ptr;
    int32_t *col;
} kry_rows;

kry_status kry_rows_of(const kry_op *A, kry_rows *rows);
void kry_rows_release(kry_rows *rows);
/* The columns of row i, its own among them; `room`: 7 numbers, for what is not stored. Returns their
 * count. */
int64_t kry_rows_at(const kry_rows *rows, int64_t i, int32_t room[7], const int32_t **cols);

#endif
