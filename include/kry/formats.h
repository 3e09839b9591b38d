/*
 * formats.h - sparse matrices from host arrays.
 */
#ifndef KRY_FORMATS_H
#define KRY_FORMATS_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which part of the matrix the entries give. The rest is filled in. */
typedef enum kry_storage {
    KRY_GENERAL = 0,   /* every entry is given */
    KRY_SYMMETRIC_HALF, /* one triangle (either, or mixed) with the diagonal: A = A' */
    KRY_SKEW_HALF       /* one triangle without a diagonal: A = -A' */
} kry_storage;

typedef enum kry_duplicates {
    KRY_REFUSE = 0, /* two entries in one place are an error that names the place */
    KRY_SUM         /* they are added up, as finite elements want */
} kry_duplicates;

typedef struct kry_csr_params {
    size_t struct_size;
    unsigned traits;           /* promises about A, see KRY_SYMMETRIC */
    kry_storage storage;       /* default KRY_GENERAL */
    kry_duplicates duplicates; /* default KRY_REFUSE */
} kry_csr_params;
#define KRY_CSR(...) (&(kry_csr_params){ .struct_size = sizeof(kry_csr_params), __VA_ARGS__ })

/*
 * A matrix in compressed sparse rows, copied from host arrays.
 *
 *   rows, cols  0 ... 2^31 - 1
 *   row_ptr     [in]  rows+1 entries, row_ptr[0] = 0, not decreasing; may pass 2^31
 *   col         [in]  row_ptr[rows] entries in [0, cols), in any order within a row
 *   val         [in]  row_ptr[rows] finite numbers of `type`
 *
 * Everything is checked once on the host. Waits.
 *
 * Returns  KRY_ERR_ARGUMENT naming the first bad row or entry; KRY_ERR_UNSUPPORTED (double on a
 *          device without it); KRY_ERR_MEMORY; KRY_ERR_DEVICE; KRY_ERR_BUILD.
 */
KRY_API KRY_MUST_CHECK kry_status kry_csr_create(kry_device *device, kry_type type, int64_t rows,
                                                 int64_t cols, const int64_t *row_ptr,
                                                 const int32_t *col, const void *val,
                                                 const kry_csr_params *params, kry_op **op);

/*
 * The same from coordinates: nnz triples in any order. The matrix is stored as CSR.
 *
 *   row, col    [in]  nnz indices in [0, rows) and [0, cols)
 *   val         [in]  nnz finite numbers of `type`
 */
KRY_API KRY_MUST_CHECK kry_status kry_coo_create(kry_device *device, kry_type type, int64_t rows,
                                                 int64_t cols, int64_t nnz, const int32_t *row,
                                                 const int32_t *col, const void *val,
                                                 const kry_csr_params *params, kry_op **op);

#ifdef __cplusplus
}
#endif
#endif
