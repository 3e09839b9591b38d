/*
 * op.h - linear operators: matrices in any format, preconditioners, solvers and the caller's own code, all
 * behind one table.
 */
#ifndef KRY_OP_H
#define KRY_OP_H

#include <kry/vec.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_op kry_op;
typedef struct kry_result kry_result; /* solver.h */

/* Partial sums of a reduction, left on the device for the next kernel to finish; opencl.h. */
typedef struct kry_sum kry_sum;
/* Traits, which the author of an operator promises. Solvers check them, and refuse what they cannot use. */
enum {
    KRY_SYMMETRIC = 1u << 0,
    KRY_POSITIVE = 1u << 1, /* symmetric positive definite: implies KRY_SYMMETRIC */
    KRY_VARYING = 1u << 2,  /* not the same map twice: a preconditioner for flexible methods only */
    KRY_SINGULAR = 1u << 3, /* symmetric, and maps constant vectors to zero, and no others;
                               solvers check the constants by a product */
    KRY_WAITS =
        1u
        << 4 /* apply waits for the device, as what computes on the host does: solvers look at the
                               residual after each iteration, so that apply is not called in vain */
};

typedef struct kry_op_shape {
    int64_t rows, cols;
    kry_type type;
    unsigned traits;
} kry_op_shape;

/* The facts of an operator, by kry_op_describe. */
typedef struct kry_op_info {
    const char *kind;    /* "csr", "jacobi", "pcg", or what the author called it */
    const char *variant; /* which kernels were chosen, e.g. "csr group tile=2048"; may be "" */
    const char *
        chosen; /* why auto took a preconditioner; who chose a matrix's format: "asked for", "predicted", "measured",
                            "kept" from an earlier measurement; "" for other operators */
    int64_t nnz;         /* entries; -1: it has no entries that could be counted */
    int64_t slots;       /* numbers stored for them, padding included; 0: not known */
    double bytes_stored; /* numbers and structure; 0: not known */
    /* The least bytes moved, vectors included; 0: not known, or not offered. */
    double bytes_per_apply;     /* by y := A x */
    double bytes_per_direction; /* by p := z + beta p and A p in one pass of conjugate gradients */
    double bytes_per_step;      /* by a step along p that forms A p once more */
    double bytes_transposed;    /* of a copy of A' that products with it keep; 0: there is none */
} kry_op_info;

/*
 * The table behind every operator.
 *
 * `self` is the pointer given to kry_op_create. The library has checked that vectors fit the shape, have
 * the operator's number type, live on its device and do not overlap, but for b and r of residual, which
 * may be the same. They have one column (apply_block: any number) of at least one number, and may be
 * views that start anywhere in a buffer (kry_vec_buffer), aligned to a number of their type. NULL: not
 * offered; the default is used, or the caller sees KRY_ERR_UNSUPPORTED. Entries enqueue and do not wait,
 * unless they say so. <kry/opencl.h> says how a kry_sum is written.
 */
typedef struct kry_op_table {
    size_t struct_size; /* sizeof(kry_op_table); later versions only append */
    const char *kind;   /* short name for messages and kry_op_describe: "csr", "pcg" */

    /* Required. y := alpha A x + beta y. With beta == 0, y must not be read. */
    kry_status (*apply)(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y);

    /* Default: apply, then a dot product. y := A x and sum := x.y in the same pass. */
    kry_status (*apply_dot)(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum);

    /* Default: copy and apply. r := b - A x, summed as accurately as the device can. */
    kry_status (*residual)(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r);

    /* No default. y := alpha A' x + beta y. */
    kry_status (*apply_transpose)(void *self, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y);

    /* No default. d := diagonal of A. Jacobi asks for it. */
    kry_status (*diagonal)(void *self, kry_vec *d);

    /* Default: none. The operator is y = d .* x: lend d, so that solvers fold it into their own
     * passes. */
    const kry_vec *(*as_diagonal)(void *self);

    /* Default: nothing to do, and no values taken. See kry_op_update. */
    kry_status (*update)(void *self, const void *values);

    /* No default. Solve A x = b from the guess in x: what makes an operator a solver. */
    kry_status (*solve)(void *self, const kry_vec *b, kry_vec *x, kry_result *result);

    /* Default: the kind alone. Fill in what is known. */
    void (*describe)(void *self, kry_op_info *info);

    /* Default: nothing. Called once, when the last reference goes. */
    void (*destroy)(void *self);

    /* Default: apply, then a dot product of pairs. z := A r and sum := (r.z, r.r) in the same pass. */
    kry_status (*apply_dots)(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum);

    /* No default. A copy of the operator in another number type: factor S A S, S the diagonal matrix of
     * `scale` (rows numbers on the host; NULL: ones). *copy NULL: make it, with the same traits;
     * else it was made by this entry, and is to have the numbers that A has now. See kry_op_convert. */
    kry_status (*convert)(void *self, kry_type type, double factor, const double *scale,
                          kry_op **copy);

    /* Default: apply, column by column. y := alpha A x + beta y for all columns of x and y at once. */
    kry_status (*apply_block)(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y);
} kry_op_table;

/*
 * Make an operator of a table and a pointer.
 *
 *   table  static, kept by pointer
 *   self   handed to every entry; owned by the operator (table->destroy) if this call succeeds
 *
 * Returns  KRY_ERR_ARGUMENT if the table has no apply or comes from a later version; KRY_ERR_SHAPE for a
 *          rectangular operator that promises to be symmetric.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_create(kry_device *device, const kry_op_table *table,
                                                void *self, const kry_op_shape *shape, kry_op **op);
KRY_API kry_op *kry_op_retain(const kry_op *op);
KRY_API void kry_op_release(kry_op **op);
KRY_API const kry_op_shape *kry_op_get_shape(const kry_op *op); /* borrowed */
KRY_API kry_device *kry_op_device(const kry_op *op);            /* borrowed */
/* kry_op_describe for an `info` of as many bytes; kry.h says who calls it. */
KRY_API void kry_op_describe_sized(const kry_op *op, kry_op_info *info, size_t info_size);
static inline void kry_op_describe(const kry_op *op, kry_op_info *info)
{
    kry_op_describe_sized(op, info, sizeof *info);
}

/*
 * y := alpha op(x) + beta y
 *
 *   x   [in]      cols-by-k, the type of op
 *   y   [in,out]  rows-by-k, must not overlap x; with beta == 0 it is not read, so it may hold
 *                 anything, NaN included
 *
 * A solver is an operator too: applying it runs the solve from a zero guess.
 *
 * Returns  KRY_ERR_SHAPE, KRY_ERR_TYPE, KRY_ERR_ARGUMENT (NULL, overlap, another device, or op is at work
 *          for another thread),
 *          KRY_ERR_DEVICE, or what the operator's own apply returned: of a solver the positive statuses
 *          of kry_solve, with y from its last iterate.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_apply(const kry_op *op, double alpha, const kry_vec *x,
                                               double beta, kry_vec *y);
/*
 * y := alpha A' x + beta y, as kry_op_apply does with A.
 *
 * A stored matrix that is not known to be symmetric (KRY_SYMMETRIC) keeps a copy of A' for that, in compressed
 * rows, which is made by the first call: kry_op_info.bytes_transposed. Of a wrapped one, whose numbers the
 * caller changes, the copy has those of the last kry_op_update.
 *
 * Returns  also KRY_ERR_UNSUPPORTED for operators without a transpose, and matrices on a team of devices.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_apply_transpose(const kry_op *op, double alpha,
                                                         const kry_vec *x, double beta, kry_vec *y);
/* r := b - A x; r may be b. */
KRY_API KRY_MUST_CHECK kry_status kry_op_residual(const kry_op *op, const kry_vec *b,
                                                  const kry_vec *x, kry_vec *r);
/* d := diagonal, n-by-1. Returns  also KRY_ERR_UNSUPPORTED. */
KRY_API KRY_MUST_CHECK kry_status kry_op_diagonal(const kry_op *op, kry_vec *d);

/*
 * *copy := the operator A in another number type, for mixed precision: its numbers rounded, in the same format,
 * on the same device (of one that stays on the host: on the device beside it).
 *
 *   copy  [out]  independent of A: it does not follow A's updates
 *
 * This works for stored matrices of every format and for grid operators. The copy has the
 * same bits as an operator that is made of the numbers rounded on the host; but in flux form its rows add
 * up to what those of A do.
 *
 * Returns  KRY_ERR_UNSUPPORTED for other operators, for a type the device does not have, and for an
 *          entry that the type cannot hold (message: which). Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_convert(const kry_op *A, kry_type type, kry_op **copy);

/*
 * New values, same pattern: redo only the numerical part of the set-up.
 *
 *   values  [in]  of a matrix from host arrays or a file: as many numbers, in the order and type in which
 *                 they were given first; NULL: the values changed in a wrapped buffer, or in the
 *                 operator this one was built from
 *
 * For a new time step kry_op_update(A, val), then kry_op_update(solver, NULL), which updates its
 * preconditioner too. On failure the old values stay. Waits.
 *
 * Where the library chose the format of a matrix (KRY_FORMAT_AUTO) because its numbers were symmetric, and
 * new ones are not, the matrix takes another format; op and all that was made of it stay valid. A solver for
 * symmetric matrices then refuses to solve.
 *
 * Returns  KRY_ERR_ARGUMENT for values that are not finite (message: which) or not taken, and for such that
 *          are not symmetric in a matrix that was promised to be, or for which symdia was asked.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_update(kry_op *op, const void *values);

/*
 * Tell A its null space, the vectors that a symmetric A maps to zero, where those are not the constant
 * vectors (KRY_SINGULAR). Solvers made afterwards remove them from their residuals and from x. If an
 * update of A changes that, such a solver refuses to solve (KRY_ERR_ARGUMENT).
 *
 *   vectors  [in]  n-by-m, independent, m < n; a copy is kept, made orthonormal in double.
 *                  NULL: forget them
 *
 * Returns  KRY_ERR_SHAPE, KRY_ERR_TYPE; KRY_ERR_ARGUMENT for a vector that is zero, depends on
 *          those before it, or is not mapped to zero (message: which). Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_set_null_space(kry_op *A, const kry_vec *vectors);

/*
 * Look at the entries of a stored A for what it maps to zero, where nothing is known (KRY_SINGULAR, KRY_POSITIVE,
 * kry_op_set_null_space): constants on each part that no entry connects with the rest and whose rows and columns all add up to
 * zero but for rounding, and unknowns without an entry in their row and column. Solvers made afterwards remove them
 * from their residuals and from x. kry_solver_create looks by itself (null-space=project). If an update of A changes that,
 * they are forgotten. The numbers are looked at once. Collective.
 *
 *   vectors  [out]  orthonormal, not zero on one part each, at most 64: where there are more, empty rows are left out.
 *                   NULL: nothing was found. To be released
 *
 * Cost     A's entries on the host, once; ranks have their own rows there
 * Returns  KRY_ERR_UNSUPPORTED for more than 64 such parts. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_find_null_space(const kry_op *A, kry_vec **vectors);

/*
 * Tell A vectors that it maps to almost zero, such as the rigid body modes of elasticity (kry_rigid_body_modes).
 * Algebraic multigrid made afterwards takes them, also where words ask for it.
 *
 *   vectors  [in]  n-by-m, m < n; a copy is kept. NULL: forget them
 *
 * Returns  KRY_ERR_SHAPE, KRY_ERR_TYPE
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_set_near_null_space(kry_op *A, const kry_vec *vectors);

#ifdef __cplusplus
}
#endif
#endif
