/* spgemm_parts.h - what the ways to a product of matrices on a device share; spgemm.c has the ways that take any rows. */
#ifndef KRY_SPGEMM_PARTS_H
#define KRY_SPGEMM_PARTS_H

#include "device/launch.h"
#include "matrix/spgemm.h"

/* What the kernels of a product are given. */
typedef struct kry_csr_factors {
    const kry_csr *A, *B;
    kry_device *dev;
    cl_int rows, cols;
    cl_int lanes; /* GPUs: work-items for a long row */
    int64_t groups;
    cl_mem scratch; /* CPUs */
} kry_csr_factors;

/* How spgemm_rows.cl is launched: work-items to a row, and places of the tables that a group has for its rows. */
typedef struct kry_rows_shape {
    cl_int lanes, slots;
} kry_rows_shape;
enum { KRY_ROWS_GROUP = 32, KRY_ROWS_MOST_SLOTS = 1024, KRY_ROWS_MORE = 13 };

/* A table of a group: an argument that is local memory. each: bytes of a slot. */
static inline kry_arg kry_rows_table(kry_rows_shape shape, size_t each)
{
    return (kry_arg){ (size_t)shape.slots * each, NULL };
}

static inline double kry_mean_row(int64_t count, int64_t rows)
{
    return rows ? (double)count / (double)rows : 0;
}
/* Products that make a row of C. */
static inline double kry_mean_products(const kry_csr *A, const kry_csr *B)
{
    return kry_mean_row(A->nnz, A->rows) * kry_mean_row(B->nnz, B->rows);
}

/* So many work-items to a row of C as there are `steps` side by side, and room for twice `length` columns. */
kry_rows_shape kry_rows_shape_for(const kry_device *dev, double steps, double length);
/* For the longest rows that there are tables for. */
kry_rows_shape kry_rows_shape_of_long(const kry_device *dev);
/* Rows that a group has at once; columns of a row that its table is not too full with; groups for so many rows. */
int kry_rows_teams(const kry_device *dev, kry_rows_shape shape);
cl_int kry_rows_few(const kry_device *dev, kry_rows_shape shape);
int64_t kry_rows_groups(const kry_device *dev, kry_rows_shape shape, int64_t rows);
/* A launch of spgemm_rows.cl over so many rows. */
kry_status kry_rows_launch(kry_device *dev, kry_type type, kry_rows_shape shape, const char *name,
                           int64_t rows, const kry_arg *args, size_t count);
/* The same for a kernel whose arguments begin with OPERANDS, which has `rows` and the keys; more: what comes behind. */
kry_status kry_rows_run(const kry_csr_factors *p, kry_type type, kry_rows_shape shape,
                        const char *name, cl_int rows, const kry_arg *more, size_t count);

/* spgemm_once.c: C := A B, numbers with the pattern; *made false: a row is too long, or memory does not suffice. */
kry_status kry_csr_product_at_once(const kry_csr_factors *p, bool lower, kry_csr *C, bool *made);

#endif
