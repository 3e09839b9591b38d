/*
 * storage.h - estimate the bytes of a matrix in each format, without a device.
 */
#ifndef KRY_STORAGE_H
#define KRY_STORAGE_H

#include "source.h"

typedef struct storage {
    int64_t diagonals;              /* that have an entry */
    double bytes[KRY_FORMAT_COUNT]; /* numbers in double, structure included; NaN: not possible */
} storage;

/* rows: of the whole matrix, of which A may be condensed */
kry_status storage_estimate(const sparse *A, int64_t rows, bool symmetric, storage *s);

#endif
