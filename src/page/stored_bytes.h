/*
 * stored_bytes.h - estimate the bytes of a matrix in each format, without a device.
 */
#ifndef KRY_STORED_BYTES_H
#define KRY_STORED_BYTES_H

#include "page/host_matrix.h"

typedef struct storage {
    int64_t diagonals;              /* that have an entry */
    double bytes[KRY_FORMAT_COUNT]; /* numbers in double, structure included; NaN: not possible */
} storage;

/* rows: of the whole matrix, of which A may be condensed */
kry_status kry_stored_bytes(const kry_host_matrix *A, int64_t rows, bool symmetric, storage *s);

#endif
