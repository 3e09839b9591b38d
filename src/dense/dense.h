/*
 * dense.h - what the files of dense matrices share: blocks of a matrix, products of blocks, checks.
 */
#ifndef KRY_DENSE_INTERNAL_H
#define KRY_DENSE_INTERNAL_H

#include "operator/op.h"
#include <stdio.h>

/* rows-by-cols numbers of a column-major matrix whose columns are `ld` apart. Borrowed. */
typedef struct kryi_block {
    kry_device *dev;
    kry_type type;
    cl_mem buffer;
    int64_t first, ld, rows, cols;
} kryi_block;

static inline kryi_block kryi_block_of(const kry_vec *v)
{
    return (kryi_block){ .dev = v->dev,
                         .type = v->type,
                         .buffer = v->buffer,
                         .first = v->first,
                         .ld = v->ld,
                         .rows = v->n,
                         .cols = v->k };
}

/* Its rows i ... i + rows - 1 in columns j ... j + cols - 1. */
static inline kryi_block kryi_block_part(const kryi_block *B, int64_t i, int64_t j, int64_t rows,
                                         int64_t cols)
{
    kryi_block part = *B;
    part.first += i + j * B->ld;
    part.rows = rows, part.cols = cols;
    return part;
}

/* ---- gemm.c ---- */

/* C := alpha op(A) op(B) + beta C with blocks of matrices; op: transposed if `ta`, `tb`. */
typedef struct kryi_gemm {
    bool ta, tb;
    double alpha;
    kryi_block A, B;
    double beta;
    kryi_block C;
} kryi_gemm;

static inline int64_t kryi_gemm_depth(const kryi_gemm *g) { return g->ta ? g->A.rows : g->A.cols; }

/* Nothing is checked. By CLBlast where the library has it and it is faster, else by kry's own. */
kry_status kryi_gemm_run(const kryi_gemm *g);
/* One of the two; C has rows and columns, and for CLBlast the depth is not 0.
 * Returns  KRY_ERR_UNSUPPORTED for CLBlast if the library was built without it. */
kry_status kryi_gemm_own(const kryi_gemm *g);
kry_status kryi_gemm_clblast(const kryi_gemm *g);
bool kryi_gemm_has_clblast(void);

/* ---- dense.c ---- */

/* Not NULL, not on a team, columns without gaps; `name` is what the caller calls it. */
kry_status kryi_dense_check(const char *who, const char *name, const kry_vec *A);
/* Check that A is there and not on a team; its columns may have gaps. */
kry_status kryi_dense_check_block(const char *who, const char *name, const kry_vec *A);
/* Two matrices of one type on one device that do not overlap; or_equal: but may be the same one. */
kry_status kryi_dense_check_two(const char *who, const char *a, const kry_vec *A, const char *b,
                                const kry_vec *B, bool or_equal);
/* Scratch storage of at least so many bytes, which stays with the device and is used by one call at a
 * time. kryi_room_trim, after a call, releases what is too much to keep. */
kry_status kryi_room_reserve(kry_device *dev, size_t bytes, cl_mem *buffer);
void kryi_room_trim(kry_device *dev);
kry_status kryi_block_fill(const kryi_block *B, double value);
/* d := the first numbers of its diagonal, as many as d has */
kry_status kryi_block_diagonal(const kryi_block *B, kry_vec *d);
/* The sums of the magnitudes in each column, on the host, to be freed. Waits.
 * Returns  KRY_ERR_ARGUMENT for an entry that is not finite (message: which). */
kry_status kryi_dense_column_sums(const char *who, const kry_vec *A, double **sums);
/* The largest sum of magnitudes in a row. Waits. */
kry_status kryi_dense_row_norm(const kry_vec *A, double *norm);
static inline double kryi_dense_eps(kry_type type) { return type == KRY_F32 ? 0x1p-23 : 0x1p-52; }
/* A relative error, half of a number's digits, that no right result has: verdicts on devices refuse larger ones. */
static inline double kryi_dense_half_of_digits(kry_type type)
{
    return type == KRY_F32 ? 3e-4 : 1e-8;
}

#endif
