/*
 * dense.h - what the files on dense matrices share: blocks of a matrix, products of blocks, checks.
 */
#ifndef KRY_DENSE_INTERNAL_H
#define KRY_DENSE_INTERNAL_H

#include "operator/op.h"
#include <stdio.h>

/* rows-by-cols numbers of a column-major matrix whose columns are `ld` apart. Borrowed. */
typedef struct kry_block {
    kry_device *dev;
    kry_type type;
    cl_mem buffer;
    int64_t first, ld, rows, cols;
} kry_block;

static inline kry_block kry_block_of(const kry_vec *v)
{
    return (kry_block){ .dev = v->dev,
                        .type = v->type,
                        .buffer = v->buffer,
                        .first = v->first,
                        .ld = v->ld,
                        .rows = v->n,
                        .cols = v->k };
}

/* Its rows i ... i + rows - 1 in columns j ... j + cols - 1. */
static inline kry_block kry_block_part(const kry_block *B, int64_t i, int64_t j, int64_t rows,
                                       int64_t cols)
{
    kry_block part = *B;
    part.first += i + j * B->ld;
    part.rows = rows, part.cols = cols;
    return part;
}

/* ---- gemm.c ---- */

typedef enum kry_gemm_way {
    KRY_GEMM_AUTO,        /* what suits the device and the sizes */
    KRY_GEMM_CLBLAST,     /* Returns  KRY_ERR_UNSUPPORTED if kry was built without it */
    KRY_GEMM_SINGLE_PASS, /* kry's own kernel: an inner product from end to end by one work-item */
    KRY_GEMM_MULTI_PASS /* the same kernel for one slice of the inner dimension after another, C +=.
                           Both are variants of Brodtkorb 2008, kept for comparisons */
} kry_gemm_way;
/* For measurements and tests: where AUTO goes, if it is not AUTO. */
extern kry_gemm_way kry_gemm_auto_way;
enum { KRY_GEMM_SLICE = 64 }; /* of the inner dimension, in a pass of KRY_GEMM_MULTI_PASS */

/* kry_vec_gemm by a way of one's own choice. */
kry_status kry_gemm_by(kry_gemm_way way, bool transposed_A, bool transposed_B, double alpha,
                       const kry_vec *A, const kry_vec *B, double beta, kry_vec *C);
/* The same with blocks; nothing is checked. */
kry_status kry_gemm_blocks(kry_gemm_way way, bool transposed_A, bool transposed_B, double alpha,
                           const kry_block *A, const kry_block *B, double beta, const kry_block *C);
/* A way by which AUTO does not go where the library has no CLBlast. */
bool kry_gemm_has_clblast(void);

/* ---- dense.c ---- */

/* Not NULL, not on a team, columns without gaps; `name` is what the caller calls it. */
kry_status kry_dense_check(const char *who, const char *name, const kry_vec *A);
kry_status kry_dense_check_block(const char *who, const char *name,
                                 const kry_vec *A); /* gaps, too */
kry_status kry_block_fill(const kry_block *B, double value);
/* d := the first numbers of its diagonal, as many as d has */
kry_status kry_block_diagonal(const kry_block *B, kry_vec *d);
/* The sums of the magnitudes in each column, on the host, to be freed. Waits.
 * Returns  KRY_ERR_ARGUMENT for an entry that is not finite (message: which). */
kry_status kry_dense_column_sums(const char *who, const kry_vec *A, double **sums);
/* The largest sum of magnitudes in a row. Waits. */
kry_status kry_dense_row_norm(const kry_vec *A, double *norm);
static inline double kry_dense_eps(kry_type type) { return type == KRY_F32 ? 0x1p-23 : 0x1p-52; }

#endif
