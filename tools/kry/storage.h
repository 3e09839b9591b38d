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

kry_status storage_estimate(const sparse *A, bool symmetric, storage *s);

#endif
