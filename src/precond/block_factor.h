/*
 * block_factor.h - incomplete factors of diagonal blocks on the host, and solves with them on the
 * device.
 */
#ifndef KRY_BLOCK_FACTOR_H
#define KRY_BLOCK_FACTOR_H

#include "precond/storage.h"
#include "sparse/sparse.h"

/* L D U, L and U unit triangular with the pattern of A inside blocks of `rows` rows. */
typedef struct kry_block_factor {
    const char *who;   /* the public function, for messages */
    bool symmetric;    /* U = L', and `upper` holds A's until it is made of `lower` */
    bool lift;         /* A is singular: a pivot of zero becomes the entry of the diagonal */
    kry_type type;     /* of A's numbers */
    kry_store storage; /* of the factors on the device */
    int64_t n, rows;
    kry_sparse lower, upper; /* strict triangles, in double */
    double *d;               /* n: pivots */
    double shift;            /* A + shift diag(A) is what was factored */
} kry_block_factor;

/*
 * Cut A, in double, into blocks and factor them, with the least shift >= f->shift of a growing row
 * that leaves no pivot zero, or, if f->symmetric, negative. who, symmetric, lift, type, n, rows,
 * shift are set.
 *
 * Returns  KRY_ERR_SINGULAR for a zero in the diagonal; KRY_ERR_ARGUMENT if A should be symmetric
 *          and positive definite, and is not
 */
kry_status kry_block_factor_make(kry_block_factor *f, const kry_sparse *A);
/* upper := lower', if f->symmetric. */
kry_status kry_block_factor_mirror(kry_block_factor *f);
void kry_block_factor_release(kry_block_factor *f);

/* The factors as the kernels of cl/block_ic.cl want them. */
typedef struct kry_block_solve kry_block_solve;
kry_status kry_block_solve_create(kry_device *dev, kry_block_factor *f, kry_block_solve **s);
void kry_block_solve_release(kry_block_solve **s);
/* z := (L D U)^-1 r, or with the transpose; enqueued. */
kry_status kry_block_solve_run(kry_block_solve *s, bool transposed, const kry_vec *r, kry_vec *z);

/* Bytes stored, bytes that a solve moves, and the layout; for kry_op_describe. */
typedef struct kry_block_facts {
    double stored, moved;
    int64_t nnz, slots;
    int diagonals; /* -1: rows with column indices */
} kry_block_facts;
kry_block_facts kry_block_solve_facts(const kry_block_solve *s);

#endif
