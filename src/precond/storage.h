/*
 * storage.h - storing the numbers of a preconditioner in fewer bytes than those of its vectors. The
 * host rounds them. Kernels read halves by vload_half, which every device has, and compute in REAL.
 */
#ifndef KRY_STORAGE_H
#define KRY_STORAGE_H

#include "operator/op.h"
#include <kry/precond.h>

/* IEEE half precision, rounded to the nearest, ties to even; beyond 65504 infinity. */
uint16_t kry_half_of(double v);
double kry_half_value(uint16_t bits);

kry_status kry_storage_check(const char *who, kry_store storage);
const char *kry_storage_name(kry_store storage); /* "given", "single", "half" */
size_t kry_storage_size(kry_store storage, kry_type type);
/* The defines for kernels that read such numbers: STORED, and HALVES. */
const char *kry_storage_defines(kry_store storage, kry_type type);
/* v, rounded as it is stored. */
double kry_storage_round(kry_store storage, kry_type type, double v);
void kry_storage_put(kry_store storage, kry_type type, void *numbers, int64_t i, double v);
/* A power of two by which to divide numbers up to `most` so that they use the range of the type; 1
 * if they are stored as given. */
double kry_storage_scale(kry_store storage, kry_type type, double most);
/* Whether v > 0, divided by `scale`, is in the normal range of the type: rounding
 * changes only its last bit. */
bool kry_storage_holds(kry_store storage, double v);

#endif
