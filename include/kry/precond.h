/*
 * precond.h - preconditioners: operators M that act like the inverse of A, roughly and cheaply.
 */
#ifndef KRY_PRECOND_H
#define KRY_PRECOND_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How block Jacobi and block factors keep their numbers. They are rounded once, to the nearest;
 * what is computed with them has the type of the vectors. */
typedef enum kry_store {
    KRY_STORE_GIVEN,  /* as the numbers of A */
    KRY_STORE_SINGLE, /* 4 bytes */
    KRY_STORE_HALF    /* 2 bytes, 11 bits; times a power of two for each matrix or block, so that
                         they use their range. Needs no cl_khr_fp16 */
} kry_store;

/*
 * M := inverse of the diagonal of A
 *
 * Keeps A. kry_op_update(M, NULL) reads the diagonal again. Waits.
 *
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if A offers no diagonal;
 *          KRY_ERR_SINGULAR if an entry is zero or not finite (message: which row).
 */
KRY_API KRY_MUST_CHECK kry_status kry_jacobi_create(const kry_op *A, kry_op **M);

typedef struct kry_incomplete_poisson_params {
    size_t struct_size;
    bool unscaled; /* M := K K' as published; only for a diagonal that is one number, or nearly */
    bool drop;     /* form the product and leave out what is not in A's pattern: one matrix with the
                      entries of A. Symmetric, but positive definite only as a rule */
} kry_incomplete_poisson_params;
#define KRY_INCOMPLETE_POISSON(...)                                                          \
    (&(kry_incomplete_poisson_params){ .struct_size = sizeof(kry_incomplete_poisson_params), \
                                       __VA_ARGS__ })

/*
 * M := K' D^-1 K,  K = I - L D^-1: the incomplete Poisson inverse. A = L + D + L'
 *
 *   params  NULL: the defaults
 *
 * For grid operators (kry_stencil_create) with any sides and coefficients, matrix-free, and for
 * stored matrices that are symmetric with a positive diagonal, singular ones too. About half the
 * iterations of conjugate gradients without a preconditioner. Symmetric positive definite unless
 * `drop` is asked for. Keeps A. kry_op_update(M, NULL) follows new values: for stored matrices by a
 * new set-up, on the host. Waits.
 *
 * Cost     grids: 2 words per unknown, 3 where the diagonal is not one number, and coefficients.
 *          Stored matrices, and the other forms of grids, by two products: the entries of A once,
 *          the diagonal once more, and 4 words; with `drop` one product
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if it is neither stored nor a grid
 *          operator; KRY_ERR_ARGUMENT if it is not symmetric or an entry of its diagonal not
 *          positive (message: which row); KRY_ERR_SINGULAR if a grid's diagonal has a zero.
 * Source   M. Ament, G. Knittel, D. Weiskopf, W. Strasser, A parallel preconditioned conjugate
 *          gradient solver for the Poisson problem on a multi-GPU platform, PDP 2010; scaled by
 *          the diagonal (docs/preconditioners.md).
 */
KRY_API KRY_MUST_CHECK kry_status kry_incomplete_poisson_create(
    const kry_op *A, const kry_incomplete_poisson_params *params, kry_op **M);

typedef struct kry_ssor_ai_params {
    size_t struct_size;
    int degree;   /* products with each triangle, 1 ... 1000; default 1, that of the source */
    double omega; /* of SSOR, in (0, 2); default 1 */
} kry_ssor_ai_params;
#define KRY_SSOR_AI(...) \
    (&(kry_ssor_ai_params){ .struct_size = sizeof(kry_ssor_ai_params), __VA_ARGS__ })

/*
 * M := omega (2 - omega) K' D^-1 K,  K = sum over j = 0 ... degree of (-omega L D^-1)^j:
 * the inverse of symmetric successive over-relaxation without its triangular solves. A = L + D + L'
 *
 *   params  NULL: the defaults
 *
 * For stored matrices that are symmetric with a positive diagonal, singular ones too, and for grid
 * operators, which are stored for it; of degree 1 with omega = 1 it is the incomplete Poisson
 * inverse, and made by its constructor. Symmetric positive definite for every degree and omega.
 * Keeps A. kry_op_update(M, NULL) follows new values by a new set-up, on the host. Waits.
 *
 * Cost     the entries of A degree times, and 6 degree + 1 words per unknown; degree 1: the
 *          diagonal once more, and 4 words
 * Returns  as kry_incomplete_poisson_create; KRY_ERR_ARGUMENT for parameters out of their range.
 * Source   R. Helfenstein, J. Koko, Parallel preconditioned conjugate gradient algorithm on GPU,
 *          J. Comput. Appl. Math. 236 (2012), section 3: degree 1
 */
KRY_API KRY_MUST_CHECK kry_status kry_ssor_ai_create(const kry_op *A,
                                                     const kry_ssor_ai_params *params, kry_op **M);

typedef struct kry_neumann_params {
    size_t struct_size;
    int degree;   /* products with A, 1 ... 1000; default 2 */
    double omega; /* > 0; default: 1 for even degrees, 0.9 for odd ones */
} kry_neumann_params;
#define KRY_NEUMANN(...) \
    (&(kry_neumann_params){ .struct_size = sizeof(kry_neumann_params), __VA_ARGS__ })

/*
 * M := omega sum over j = 0 ... degree of (I - omega D^-1 A)^j D^-1: Neumann's series for A^-1, cut
 * off; degree + 1 steps of Jacobi's iteration from zero
 *
 *   params  NULL: the defaults
 *
 * For any operator with a diagonal, singular ones too. Symmetric if A is. For a positive definite A
 * positive definite with an even degree always; with an odd one if omega times the largest
 * eigenvalue of D^-1 A is below 2, which 0.9 makes sure of where the diagonal dominates. Keeps A.
 * kry_op_update(M, NULL) reads the diagonal again. Waits.
 *
 * Cost     degree products with A; 3 degree + 2 words per unknown on grids, 3 degree - 1 where
 *          their diagonal is one number; else products and 5 degree + 3
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if A offers no diagonal;
 *          KRY_ERR_SINGULAR if an entry of it is zero; KRY_ERR_ARGUMENT for parameters out of their
 *          range.
 * Source   P. F. Dubois, A. Greenbaum, G. H. Rodrigue, Approximating the inverse of a matrix for
 *          use in iterative algorithms on vector processors, Computing 22 (1979)
 */
KRY_API KRY_MUST_CHECK kry_status kry_neumann_create(const kry_op *A,
                                                     const kry_neumann_params *params, kry_op **M);

typedef struct kry_block_jacobi_params {
    size_t struct_size;
    int rows; /* of a block, 1 ... 32; default: what the pattern shows (rows of equal pattern come
                 in such groups: 3 for elasticity in space), else 2 */
    kry_store storage; /* of the inverse blocks; default KRY_STORE_GIVEN. Symmetric blocks stay
                            positive definite: the diagonal of one that rounding has made
                            indefinite is raised, by 2^-10 of it or what it takes */
} kry_block_jacobi_params;
#define KRY_BLOCK_JACOBI(...) \
    (&(kry_block_jacobi_params){ .struct_size = sizeof(kry_block_jacobi_params), __VA_ARGS__ })

/*
 * M := inverse of the blocks of so many consecutive rows along the diagonal of A; the last one may
 * be smaller
 *
 *   params  NULL: the defaults
 *
 * For stored matrices and grid operators. Blocks are inverted on the host, in double. Symmetric if
 * A promises it (then blocks are made so) or all blocks are; positive definite if A is. Keeps A.
 * kry_op_update(M, NULL) reads the blocks again. Waits.
 *
 * Cost     rows + 2 words per unknown, sums for conjugate gradients included; rows words stored
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if it is neither stored nor a grid
 *          operator; KRY_ERR_SINGULAR if a block is (message: which rows); KRY_ERR_ARGUMENT for
 *          rows out of their range.
 * Source   Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), section 4.1.1.
 */
KRY_API KRY_MUST_CHECK kry_status kry_block_jacobi_create(const kry_op *A,
                                                          const kry_block_jacobi_params *params,
                                                          kry_op **M);

typedef struct kry_chebyshev_params {
    size_t struct_size;
    int degree;     /* products with A, 1 ... 1000; default 4 */
    double highest; /* no eigenvalue of D^-1 A may be larger; default: 2 for grid operators, else
                       1.1 times an estimate by 12 steps of conjugate gradients */
    double ratio;   /* of the interval's ends, > 1; default 60. Eigenvalues below it are left to
                       the Krylov method */
} kry_chebyshev_params;
#define KRY_CHEBYSHEV(...) \
    (&(kry_chebyshev_params){ .struct_size = sizeof(kry_chebyshev_params), __VA_ARGS__ })

/*
 * M := p(D^-1 A) D^-1 with the polynomial that Chebyshev's iteration takes to make 1 - s p(s) small
 * on highest / ratio <= s <= highest
 *
 *   params  NULL: the defaults
 *
 * For any operator with a diagonal; no sums, so nothing to wait for. Symmetric; positive definite
 * if A is and `highest` is a bound. Keeps A. kry_op_update(M, NULL) reads the diagonal and
 * estimates again. Waits.
 *
 * Cost     degree products with A; 4 degree + 1 words per unknown on grids, 4 degree - 3 (at
 *          least 2) where their diagonal is one number; else products and 6 degree + 2
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED if A offers no diagonal;
 *          KRY_ERR_SINGULAR if an entry of it is zero; KRY_ERR_ARGUMENT for parameters out of their
 *          range, or if the estimate finds that A is not positive definite.
 * Source   Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), section 12.3.
 */
KRY_API KRY_MUST_CHECK kry_status kry_chebyshev_create(const kry_op *A,
                                                       const kry_chebyshev_params *params,
                                                       kry_op **M);

typedef struct kry_block_ic_params {
    size_t struct_size;
    int64_t rows; /* consecutive rows of a block, 1 ... n; default: two lines of a plane grid, two
                     planes of one in space, also for a matrix with the diagonals of a grid; else
                     32 ... 1024, what suits the device */
    double shift; /* factor A + shift diag(A), >= 0; default 0. More is taken if it has to be */
    kry_store storage; /* of the factors; default KRY_STORE_GIVEN. Rounded factors of a symmetric
                            A are those of an M that is symmetric positive definite, too */
} kry_block_ic_params;
#define KRY_BLOCK_IC(...) \
    (&(kry_block_ic_params){ .struct_size = sizeof(kry_block_ic_params), __VA_ARGS__ })

/*
 * M := (L D L')^-1, the incomplete Cholesky factors without fill of A's diagonal blocks
 *
 *   A       a stored matrix of any format, or a grid operator (kry_stencil_create)
 *   params  NULL: the defaults
 *
 * Entries that couple two blocks are dropped; the diagonal stays as it is. Where a pivot is not
 * positive A + shift diag(A) is factored, with the first of 0, 0.001, 0.002, 0.004 ... (or
 * params->shift and its doubles) that does; kry_op_describe tells: "block=1024 shift=0.004".
 * Symmetric positive definite, also for a KRY_SINGULAR A. Keeps A. kry_op_update(M, NULL) factors
 * A's new values. Factors on the host. Waits.
 *
 * Cost     reads r and the factors, writes z. Factors with up to 16 diagonals carry no column
 *          indices, and those of equal blocks are kept once: docs/preconditioners.md
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_UNSUPPORTED for other operators;
 *          KRY_ERR_SINGULAR for a zero in the diagonal (message: which row); KRY_ERR_ARGUMENT for
 *          parameters out of their range, and if the entries of a block are not symmetric or its
 *          diagonal is not positive (message: where).
 * Source   J. A. Meijerink, H. A. van der Vorst, Math. Comp. 31 (1977). The shift:
 *          T. A. Manteuffel, Math. Comp. 34 (1980). The blocks: R. Gupta, C. Vuik,
 *          C. W. J. Lemmens, Deflated preconditioned conjugate gradient on the GPU.
 */
KRY_API KRY_MUST_CHECK kry_status kry_block_ic_create(const kry_op *A,
                                                      const kry_block_ic_params *params,
                                                      kry_op **M);

/*
 * M := (L U)^-1, the incomplete LU factors without fill of A's diagonal blocks
 *
 * For nonsymmetric A; all else as above, with a pivot that is zero in place of one that is not
 * positive. Applies its transpose, too.
 */
KRY_API KRY_MUST_CHECK kry_status kry_block_ilu_create(const kry_op *A,
                                                       const kry_block_ic_params *params,
                                                       kry_op **M);

/*
 * A preconditioner from its name, as the option precond= of kry_solver_create and the program take
 * it: jacobi, block-jacobi, block-jacobi:ROWS, ip, ip:unscaled, ip:drop, ip:unscaled,drop,
 * neumann, neumann:DEGREE, ssor-ai, ssor-ai:DEGREE, chebyshev, chebyshev:DEGREE, block-ic,
 * block-ic:ROWS, block-ilu, block-ilu:ROWS, ilu0; none: *M is NULL. Behind block-jacobi, block-ic,
 * block-ilu and ilu0 may stand @single or @half: how their numbers are kept
 *
 * Returns  KRY_ERR_PARSE naming the words; what the constructor returned.
 */
KRY_API KRY_MUST_CHECK kry_status kry_precond_create(const kry_op *A, const char *name, kry_op **M);

/*
 * z := M r in single precision for vectors in double: r is rounded to single, z widened
 *
 *   M       in single, square; any preconditioner. Kept
 *   wide    [out]  in double, with M's traits. kry_op_update(wide, values) goes on to M
 *
 * For conjugate gradients in double with a preconditioner at half the bytes: make M from the
 * matrix in single. r is handed to M times a power of two that follows its size (sum of |r_i|), so
 * that r neither over- nor underflows; M z must not either for r near 1. M is applied as it is: a
 * KRY_VARYING one wants a flexible method.
 *
 * Cost     what M costs, 24 bytes per unknown, or 32 with the sums of conjugate gradients, and three
 *          launches; with several devices a sum over all. A diagonal (kry_jacobi_create): 20 bytes
 *          in all, one launch, in double
 * Returns  KRY_ERR_TYPE if M is not in single; KRY_ERR_SHAPE if it is not square;
 *          KRY_ERR_UNSUPPORTED on a device without double. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_precond_narrow(const kry_op *M, kry_op **wide);

/* What products with an operator tell about it. */
typedef struct kry_probe {
    int vectors;        /* so many were tried: random ones, and a few smooth and jagged ones */
    double asymmetry;   /* largest |u'Mv - v'Mu| / max(||u|| ||Mv||, ||v|| ||Mu||) */
    double rounding;    /* as much of it is laid to rounding */
    double least, most; /* of v'Mv / v'v */
    int not_positive;   /* vectors with v'Mv <= 0 */
    bool symmetric;     /* asymmetry <= rounding */
    bool positive;      /* not_positive == 0 */
} kry_probe;

/*
 * Look whether an operator is symmetric and positive definite, as conjugate gradients need M and A
 * to be: by products with seeded vectors. It finds what is wrong; it proves nothing. Waits.
 *
 *   seed   of the random vectors, in [-1/2, 1/2)
 *
 * Returns  KRY_ERR_SHAPE if M is not square; what its product returned.
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_probe(const kry_op *M, uint64_t seed, kry_probe *probe);

#ifdef __cplusplus
}
#endif
#endif
