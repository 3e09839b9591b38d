/* host_csr.h - a matrix on the host on its way to the device: checked, expanded, sorted. */
#ifndef KRY_HOST_CSR_H
#define KRY_HOST_CSR_H

#include "base/base.h"

typedef struct kry_host_csr {
    int64_t rows, cols, nnz;
    kry_type type;
    int64_t *row_ptr; /* rows+1 */
    int32_t *col;     /* nnz, ascending in a row, no duplicates */
    void *val;        /* nnz of `type` */

    /* How the entries that were given became the ones that are kept, for new values later. */
    int64_t given;
    bool identity;  /* entry e is kept at place e: place and mirror are NULL */
    int64_t *place; /* given: where entry e went */
    int64_t
        *mirror; /* given: where its mirror image went, -1: it has none; NULL: general storage */
    bool skew;   /* mirror images change sign */
} kry_host_csr;

/* The entries as they were given: row_ptr for CSR, row for coordinates, the other NULL. */
typedef struct kry_entries {
    const char *who; /* the public function, for messages */
    int64_t rows, cols, nnz;
    kry_type type;
    const int64_t *row_ptr;
    const int32_t *row, *col;
    const void *val;
} kry_entries;

/* Row pointers that do not decrease, indices in range. Returns  KRY_ERR_ARGUMENT. */
kry_status kry_entries_check(const kry_entries *e);
/* Returns  KRY_ERR_ARGUMENT naming the first value that is not finite. */
kry_status kry_values_check(const char *who, kry_type type, int64_t nnz, const void *val);
/* Check, expand, sort, merge. Returns  KRY_ERR_ARGUMENT naming the first bad place. */
kry_status kry_host_csr_create(const kry_entries *e, const kry_matrix_params *params,
                               kry_host_csr *A);
/* val := what new values for the given entries make of it. Returns  KRY_ERR_ARGUMENT for values
 * that are not finite; then val is unchanged. */
kry_status kry_host_csr_set_values(kry_host_csr *A, const char *who, const void *values);
void kry_host_csr_release(kry_host_csr *A);

/* The parameters of every function that makes a matrix; matrix/create.c. */
kry_status kry_matrix_check_params(const char *who, kry_device *dev, kry_type type, int64_t rows,
                                   int64_t cols, const kry_matrix_params *params);

#endif
