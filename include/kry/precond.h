/*
 * precond.h - preconditioners: operators M that approximate the inverse of A at little cost.
 *
 * Unless it says otherwise, a constructor waits, keeps A, takes NULL for the default parameters, and
 * returns KRY_ERR_SHAPE if A is not square and KRY_ERR_ARGUMENT for parameters out of their range.
 * kry_op_update(M, NULL) makes M again after new values of A. docs/preconditioners.md compares them.
 */
#ifndef KRY_PRECOND_H
#define KRY_PRECOND_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How block factors store their numbers: rounded once, to the nearest. Arithmetic with them has the
 * type of the vectors. */
typedef enum kry_store {
    KRY_STORE_GIVEN,  /* as the numbers of A */
    KRY_STORE_SINGLE, /* 4 bytes */
    KRY_STORE_HALF    /* 2 bytes, 11 bits; scaled by a power of two, so that they use their range.
                         Needs no cl_khr_fp16 */
} kry_store;

/*
 * M := inverse of the diagonal of A
 *
 * Returns  KRY_ERR_UNSUPPORTED if A offers no diagonal; KRY_ERR_SINGULAR if an entry is zero or not
 *          finite (message: which row).
 */
KRY_API KRY_MUST_CHECK kry_status kry_jacobi_create(const kry_op *A, kry_op **M);

/*
 * N := inverse lengths of the columns of A, of any shape: a preconditioner from the right for least squares
 * ("lsqr", "lsmr"), whose condition number is at most sqrt(cols) times that of the best diagonal one. The host
 * reads the entries.
 *
 *   N  [out]  cols-by-cols; 1 for a column of zeros
 *
 * Returns  KRY_ERR_UNSUPPORTED if A is neither stored nor a grid operator, or on a team of devices
 * Source   A. van der Sluis, Condition numbers and equilibration of matrices, Numer. Math. 14 (1969), 14-23,
 *          doi:10.1007/BF02165096
 */
KRY_API KRY_MUST_CHECK kry_status kry_column_scaling_create(const kry_op *A, kry_op **N);

typedef struct kry_incomplete_poisson_params {
    size_t struct_size;
    bool unscaled; /* M := K K' as published; for a diagonal that is constant or nearly so */
    bool drop;     /* form the product and drop what is not in A's pattern: one matrix with the
                      entries of A. Symmetric, but not always positive definite */
} kry_incomplete_poisson_params;
#define KRY_INCOMPLETE_POISSON(...) KRY_PARAMS(kry_incomplete_poisson_params, __VA_ARGS__)

/*
 * M := K' D^-1 K,  K = I - L D^-1: the incomplete Poisson inverse. A = L + D + L'
 *
 * For grid operators (kry_stencil_create) with any sides and coefficients, without a matrix, and for
 * stored symmetric matrices with a positive diagonal; A may be singular. Conjugate gradients take
 * about half the iterations that they take without a preconditioner. Symmetric positive definite,
 * unless `drop` is set. For stored matrices the host sets it up.
 *
 * Cost     grids: 2 words per unknown, 3 where the diagonal varies, and coefficients.
 *          Stored matrices, and grids with one of the parameters: two products that read the entries
 *          of A once, the diagonal once more, and 4 words; with `drop` one product
 * Returns  KRY_ERR_UNSUPPORTED if A is neither stored nor a grid operator; KRY_ERR_ARGUMENT if it is
 *          not symmetric or an entry of its diagonal is not positive (message: which row);
 *          KRY_ERR_SINGULAR if the diagonal of a grid has a zero.
 * Source   M. Ament, G. Knittel, D. Weiskopf, W. Strasser, A parallel preconditioned conjugate
 *          gradient solver for the Poisson problem on a multi-GPU platform, PDP 2010; scaled by
 *          the diagonal (docs/preconditioners.md).
 */
KRY_API KRY_MUST_CHECK kry_status kry_incomplete_poisson_create(
    const kry_op *A, const kry_incomplete_poisson_params *params, kry_op **M);

typedef struct kry_ssor_ai_params {
    size_t struct_size;
    int degree;   /* products with each triangle, 1 ... 1000; default 1, as in the source */
    double omega; /* the weight of SSOR, in (0, 2); default 1 */
} kry_ssor_ai_params;
#define KRY_SSOR_AI(...) KRY_PARAMS(kry_ssor_ai_params, __VA_ARGS__)

/*
 * For M-matrices, whose entries beside the diagonal are negative. Where a row has large positive ones
 * it may need more iterations than kry_jacobi_create, or fail; the description then says so.
 *
 * M := omega (2 - omega) K' D^-1 K,  K = sum over j = 0 ... degree of (-omega L D^-1)^j:
 * symmetric successive over-relaxation with its triangular solves replaced by products.
 * A = L + D + L'
 *
 * For stored symmetric matrices with a positive diagonal, and for grid operators, which are stored
 * for it; A may be singular. With degree 1 and omega 1 it is the incomplete Poisson inverse. Symmetric
 * positive definite for every degree and omega. The host sets it up.
 *
 * Cost     reads the entries of A degree times, and 6 degree + 1 words per unknown; degree 1: the
 *          diagonal once more, and 4 words
 * Returns  as kry_incomplete_poisson_create
 * Source   R. Helfenstein, J. Koko, Parallel preconditioned conjugate gradient algorithm on GPU,
 *          J. Comput. Appl. Math. 236 (2012), section 3: degree 1
 */
KRY_API KRY_MUST_CHECK kry_status kry_ssor_ai_create(const kry_op *A,
                                                     const kry_ssor_ai_params *params, kry_op **M);

typedef struct kry_fsai_params {
    size_t struct_size;
    int power; /* G has the places of the lower triangle of A^power, 1 ... 8; default 1 */
    /* With power > 1: of A only entries of at least cut sqrt(a_ii a_jj) are multiplied, in (0, 1); default 0.05 */
    double cut;
    /* Instead of a power: so many entries of each row of G beside the diagonal, 1 ... 64, each where it lowers the
     * Kaporin number most; 0: by the power. For symmetric A */
    int entries;
} kry_fsai_params;
#define KRY_FSAI(...) KRY_PARAMS(kry_fsai_params, __VA_ARGS__)

/*
 * M := G' G, G lower triangular, diag(G A G') = I: a factorised sparse approximate inverse
 *
 * For stored matrices and grid operators, which are stored for it. Each row of G solves a dense system of the rows and
 * columns of A where it has entries, at most 256; the device sets it up. There is no shift and no breakdown: where A
 * is symmetric with a positive diagonal, M is symmetric positive definite, even if A is singular or indefinite. For
 * other A it is M := H F, F lower and H upper triangular, diag(F A H) = I.
 *
 * Cost     two products, which read the entries of G once each
 * Returns  KRY_ERR_UNSUPPORTED if A is neither stored nor a grid operator; KRY_ERR_SINGULAR for a zero in the diagonal
 *          (message: which row); KRY_ERR_ARGUMENT if A promises to be symmetric, was so before kry_op_update, or has
 *          to be for `entries`, and is not, or its diagonal is not positive (message: where)
 * Source   L. Yu. Kolotilina, A. Yu. Yeremin, Factorized sparse approximate inverse preconditionings I, SIAM J. Matrix
 *          Anal. Appl. 14 (1993), doi:10.1137/0614004. `entries`: C. Janna, M. Ferronato, Adaptive pattern research
 *          for block FSAI preconditioning, SIAM J. Sci. Comput. 33 (2011), doi:10.1137/100810368
 */
KRY_API KRY_MUST_CHECK kry_status kry_fsai_create(const kry_op *A, const kry_fsai_params *params,
                                                  kry_op **M);

typedef struct kry_neumann_params {
    size_t struct_size;
    int degree;   /* products with A, 1 ... 1000; default 2 */
    double omega; /* > 0; default: 1 for even degrees, 0.9 for odd ones */
} kry_neumann_params;
#define KRY_NEUMANN(...) KRY_PARAMS(kry_neumann_params, __VA_ARGS__)

/*
 * M := omega sum over j = 0 ... degree of (I - omega D^-1 A)^j D^-1: the truncated Neumann series of
 * A^-1, or degree + 1 steps of Jacobi's iteration from zero
 *
 * For any operator with a diagonal, also a singular one. Symmetric if A is. If A is positive definite,
 * so is M with an even degree; with an odd one if omega times the largest eigenvalue of D^-1 A is
 * below 2, as 0.9 ensures where the diagonal dominates.
 *
 * Cost     degree products with A; 3 degree + 2 words per unknown on grids, 3 degree - 1 where
 *          their diagonal is constant; else products and 5 degree + 3
 * Returns  KRY_ERR_UNSUPPORTED if A offers no diagonal; KRY_ERR_SINGULAR if an entry of it is zero.
 * Source   P. F. Dubois, A. Greenbaum, G. H. Rodrigue, Approximating the inverse of a matrix for
 *          use in iterative algorithms on vector processors, Computing 22 (1979)
 */
KRY_API KRY_MUST_CHECK kry_status kry_neumann_create(const kry_op *A,
                                                     const kry_neumann_params *params, kry_op **M);

typedef struct kry_block_jacobi_params {
    size_t struct_size;
    int rows; /* of a block, 1 ... 32; default: KRY_MATRIX(.block), or from the pattern, if rows of
                 equal pattern come in groups (3 for elasticity in space), else 2 */
} kry_block_jacobi_params;
#define KRY_BLOCK_JACOBI(...) KRY_PARAMS(kry_block_jacobi_params, __VA_ARGS__)

/*
 * M := inverse of the diagonal blocks of A of so many consecutive rows each; the last block may be
 * smaller
 *
 * For stored matrices and grid operators. The host inverts the blocks, in double. Symmetric if A
 * promises to be (blocks are then made symmetric) or all blocks are; positive definite if A is.
 *
 * Cost     rows + 2 words per unknown, the sums of conjugate gradients included; stores rows words
 * Returns  KRY_ERR_UNSUPPORTED if A is neither stored nor a grid operator; KRY_ERR_SINGULAR if a
 *          block is (message: which rows).
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
    double ratio;   /* of the interval's ends, > 1; default 60. Eigenvalues below the interval are
                       left to the Krylov method */
} kry_chebyshev_params;
#define KRY_CHEBYSHEV(...) KRY_PARAMS(kry_chebyshev_params, __VA_ARGS__)

/*
 * M := p(D^-1 A) D^-1, p the polynomial of Chebyshev's iteration, which makes 1 - s p(s) small on
 * highest / ratio <= s <= highest
 *
 * For any operator with a diagonal. Symmetric; positive definite if A is and `highest` is a bound.
 * kry_op_update(M, NULL) estimates `highest` again.
 *
 * Cost     degree products with A; 4 degree + 1 words per unknown on grids, 4 degree - 3 (at
 *          least 2) where their diagonal is constant; else products and 6 degree + 2. No sums
 * Returns  KRY_ERR_UNSUPPORTED if A offers no diagonal; KRY_ERR_SINGULAR if an entry of it is zero;
 *          KRY_ERR_ARGUMENT if the estimate finds that A is not positive definite.
 * Source   Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), section 12.3.
 */
KRY_API KRY_MUST_CHECK kry_status kry_chebyshev_create(const kry_op *A,
                                                       const kry_chebyshev_params *params,
                                                       kry_op **M);

/* How systems with the triangular factors are solved. */
typedef enum kry_trisolve {
    KRY_TRISOLVE_AUTO, /* blocks and CPUs: ROWS. A single block on GPUs: SWEEPS if a few are nearly as good, else
                            LEVELS */
    KRY_TRISOLVE_ROWS,   /* row after row; blocks beside each other */
    KRY_TRISOLVE_LEVELS, /* rows that do not depend on each other beside each other */
    KRY_TRISOLVE_SWEEPS, /* nearly, by 4 ... 8 sweeps of Jacobi's iteration, or fewer if they are exact. Without
                            fill GPUs factor for them, too */
    KRY_TRISOLVE_ISAI /* nearly, by incomplete inverses of the factors, on the same places: two products */
} kry_trisolve;

typedef struct kry_block_ic_params {
    size_t struct_size;
    int64_t
        rows; /* consecutive rows of a block, 1 ... n; default: two lines or, in space, planes of
                     a grid, also for a matrix with the diagonals of a grid; else 32 ... 1024, as
                     suits the device */
    double shift; /* factor A + shift diag(A), >= 0; default 0. It is raised if pivots demand it */
    kry_store storage; /* of the factors; default KRY_STORE_GIVEN. Rounded factors of a symmetric
                          A still make a symmetric positive definite M */
    int fill; /* levels of fill, 0 ... 100: entries that a factorization brings about, from entries of A (1), from
                 those (2), ...; default 0: the places of A alone */
    kry_trisolve trisolve;
} kry_block_ic_params;
#define KRY_BLOCK_IC(...) KRY_PARAMS(kry_block_ic_params, __VA_ARGS__)

/*
 * M := (L D L')^-1, the incomplete Cholesky factors of A's diagonal blocks; rows = n: of A
 *
 * For stored matrices and grid operators, KRY_SINGULAR ones too. Entries that couple two blocks are
 * dropped; the diagonal stays as it is. If a pivot is not positive, A + shift diag(A) is factored
 * with the first of 0, 0.001, 0.002, 0.004 ... (or params->shift doubled again and again) that
 * helps; kry_op_describe reports it: "block=1024 shift=0.004". Symmetric positive definite. The host
 * factors, but for KRY_TRISOLVE_SWEEPS.
 *
 * Cost     reads r and the factors, writes z. Factors with up to 16 diagonals have no column
 *          indices, and those of equal blocks are stored once: docs/preconditioners.md
 * Returns  KRY_ERR_UNSUPPORTED for other operators; KRY_ERR_SINGULAR for a zero in the diagonal
 *          (message: which row); KRY_ERR_ARGUMENT if a block is not symmetric or an entry of the
 *          diagonal is not positive (message: where); KRY_ERR_MEMORY if the host finds that fill brings
 *          more than 100 times the entries and a million besides (message: the bytes).
 * Source   J. A. Meijerink, H. A. van der Vorst, Math. Comp. 31 (1977). The shift:
 *          T. A. Manteuffel, Math. Comp. 34 (1980). The blocks: R. Gupta, C. Vuik,
 *          C. W. J. Lemmens, Deflated preconditioned conjugate gradient on the GPU. Fill: Y. Saad,
 *          Iterative methods for sparse linear systems, 2nd ed. (2003), section 10.3.3. Levels:
 *          E. Anderson, Y. Saad, Int. J. High Speed Comput. 1 (1989), doi:10.1142/S0129053389000056.
 *          Sweeps: H. Anzt, E. Chow, J. Dongarra, Euro-Par 2015, doi:10.1007/978-3-662-48096-0_50.
 *          Incomplete inverses: H. Anzt, T. K. Huckle, J. Braeckle, J. Dongarra, Parallel Comput. 71
 *          (2018), doi:10.1016/j.parco.2017.10.003.
 */
KRY_API KRY_MUST_CHECK kry_status kry_block_ic_create(const kry_op *A,
                                                      const kry_block_ic_params *params,
                                                      kry_op **M);

/*
 * M := (L D U)^-1, the incomplete LU factors of A's diagonal blocks; rows = n: of A
 *
 * As kry_block_ic_create, for nonsymmetric A; the shift grows if a pivot is zero.
 */
KRY_API KRY_MUST_CHECK kry_status kry_block_ilu_create(const kry_op *A,
                                                       const kry_block_ic_params *params,
                                                       kry_op **M);

typedef struct kry_ras_params {
    size_t struct_size;
    int overlap; /* layers of neighbours that each sub-domain has beside its own rows, 0 ... 100; default 0 */
    int64_t
        parts; /* sub-domains, 1 ... n; default: CPUs of about 8192 rows, at least 4 for each core, GPUs of 512 */
    int fill; /* as in kry_block_ic_params */
} kry_ras_params;
#define KRY_RAS(...) KRY_PARAMS(kry_ras_params, __VA_ARGS__)

/*
 * M := sum over d of S_d (L D U)_d^-1 G_d: restricted additive Schwarz. G_d takes the rows of sub-domain d and its
 * overlap, (L D U)_d are their incomplete factors, and S_d gives back d's own rows
 *
 * For stored matrices and grid operators. METIS cuts the graph of A into up to 256 sub-domains; more, and where
 * there is no METIS, grow one after the other. Where A promises to be symmetric and positive definite the factors are
 * L D L', and with overlap 0 so is M; with overlap M is not symmetric. The host sets it up.
 *
 * Cost     the factors of all sub-domains, and 8 words for each of their rows
 * Returns  as kry_block_ilu_create
 * Source   X.-C. Cai, M. Sarkis, A restricted additive Schwarz preconditioner for general sparse linear systems,
 *          SIAM J. Sci. Comput. 21 (1999), doi:10.1137/S106482759732678X
 */
KRY_API KRY_MUST_CHECK kry_status kry_ras_create(const kry_op *A, const kry_ras_params *params,
                                                 kry_op **M);

/* The block matrix of kry_saddle_create: its lower and upper triangle, or both, and the diagonal. */
typedef enum kry_saddle_kind {
    KRY_SADDLE_AUTO, /* DIAGONAL if A is symmetric, else LOWER */
    KRY_SADDLE_DIAGONAL,
    KRY_SADDLE_LOWER,
    KRY_SADDLE_UPPER,
    KRY_SADDLE_FULL
} kry_saddle_kind;

/* Matrices that can stand for the Schur complement B2 F^-1 B1 - D. */
typedef enum kry_saddle_schur {
    /* MASS where scale or mass is given; else SIMPLE where few iterations with Jacobi's preconditioner are expected for F;
     * else MASS of a symmetric A, of others LSC where D is zero, or SIMPLE */
    KRY_SCHUR_AUTO,
    /* scale diag(mass); where neither is given the diagonal of SIMPLE. Where q := 1' (B2 F^-1 B1 - D) 1, by F's
     * preconditioner, is below a twentieth of its sum, 1 1' / q is added to the inverse */
    KRY_SCHUR_MASS,
    KRY_SCHUR_SIMPLE, /* B2 diag(F)^-1 B1 - D */
    KRY_SCHUR_LSC /* least-squares commutators, for D = 0: P (B2 diag(F)^-1 F diag(F)^-1 B1)^-1 P, P as SIMPLE */
} kry_saddle_schur;

typedef struct kry_saddle_params {
    size_t struct_size;
    kry_saddle_kind kind;
    kry_saddle_schur schur;
    int64_t
        rows; /* the first `rows` rows are the first field; default: those with a positive diagonal entry */
    const unsigned char
        *field; /* or n numbers, 0 for rows of the first field, 1 for those of the second; copied */
    double scale;       /* of MASS, > 0; default 1 where mass is given */
    const double *mass; /* of each row of the second field, in A's order, > 0; NULL: ones; copied */
    /* Words of kry_precond_create for F and for S, or P, with + in place of commas, or options of kry_solver_create that
     * begin with method=, with / in place of spaces: of a Krylov method, precond and when to stop. Default amg, or ilu0
     * where that refuses the block, and jacobi where few iterations are expected for F; copied */
    const char *first, *second;
    /* Instead of words: makes *M, a preconditioner or a solver, for the block of F (field 0) and for S, or P (1); again
     * when M is updated. NULL: by words */
    kry_status (*make)(void *user, const kry_op *block, int field, kry_op **M);
    void *make_user;
} kry_saddle_params;
#define KRY_SADDLE(...) KRY_PARAMS(kry_saddle_params, __VA_ARGS__)

/*
 * M := a block preconditioner of A = [F B1; B2 D], a saddle point: flow with pressures, optimality systems
 *
 *   diagonal  [F 0; 0 S]^-1     lower  [F 0; B2 -S]^-1     upper  [F B1; 0 -S]^-1
 *   full      ([F 0; B2 -S] [I F^-1 B1; 0 I])^-1
 *
 * with preconditioners in the place of F^-1 and S^-1. The fields may stand in any order. Where S is negative, as of
 * [F B'; -B D], rows of the second field change sign. `diagonal` is symmetric positive definite if both
 * preconditioners are: for MINRES; the others are for GMRES and its like, and with solvers inside for fgmres. The
 * host sets it up; kry_op_update makes blocks and preconditioners anew.
 *
 * Cost     F^-1 (full: twice) and S^-1 (LSC: P^-1 twice, and three products), B1 or B2, copies
 * Returns  KRY_ERR_UNSUPPORTED if A is neither stored nor a grid operator, on a team of devices, for LSC with D;
 *          KRY_ERR_ARGUMENT for a field without rows; KRY_ERR_SINGULAR for a zero in the diagonal of F, or, of
 *          symmetric A, if a diagonal entry of S is not positive (message: which row); what the preconditioners return
 * Source   M. Benzi, G. H. Golub, J. Liesen, Numerical solution of saddle point problems, Acta Numer. 14 (2005),
 *          doi:10.1017/S0962492904000212. LSC: H. Elman, V. E. Howle, J. Shadid, R. Shuttleworth, R. Tuminaro,
 *          SIAM J. Sci. Comput. 27 (2006), doi:10.1137/040608817
 */
KRY_API KRY_MUST_CHECK kry_status kry_saddle_create(const kry_op *A,
                                                    const kry_saddle_params *params, kry_op **M);

/*
 * A preconditioner from its name, as the option precond= of kry_solver_create takes it: jacobi, columns,
 * block-jacobi[:ROWS], ip[:drop|unscaled|unscaled,drop], neumann[:DEGREE], ssor-ai[:DEGREE], chebyshev[:DEGREE],
 * fsai[:POWER], mg[:SETTING,...], amg[:SETTING,...], block-ic[:ROWS] (or ic[:ROWS]), ic0, icc[:LEVEL][,HOW],
 * block-ilu[:ROWS], ilu0, ilu[:LEVEL][,HOW] (LEVEL of fill; HOW: rows, levels, sweeps or isai, see kry_trisolve),
 * ras[:OVERLAP] (default 1), saddle[:SETTING,...]; none: *M is NULL. auto: mg, amg, block-ic, fsai or jacobi,
 * by rules that docs/choosing.md lists; kry_op_info.chosen of M says why.
 * Behind the colon may stand any parameters of the constructor by name, "chebyshev:degree=6,ratio=30":
 * kry_precond_setting (words.h) lists them.
 * block-ic, ic0, icc, block-ilu, ilu0 and ilu may end in @single or @half, the type in which numbers are stored.
 *
 * Returns  KRY_ERR_PARSE naming the words; what the constructor returned.
 */
KRY_API KRY_MUST_CHECK kry_status kry_precond_create(const kry_op *A, const char *name, kry_op **M);

/*
 * The word of kry_precond_create that kry_solver_create takes for A where method=pcg stands without one:
 * mg if A is a grid operator on one OpenCL device, else jacobi
 *
 *   alone  no deflation goes with it; false: jacobi
 */
KRY_API const char *kry_precond_default(const kry_op *A, bool alone);

/* Properties of an operator M that a few products with it show. */
typedef struct kry_probe {
    int vectors;        /* tried: random, smooth and oscillating ones */
    double asymmetry;   /* largest |u'Mv - v'Mu| / max(||u|| ||Mv||, ||v|| ||Mu||) */
    double rounding;    /* the largest asymmetry that rounding explains */
    double least, most; /* of v'Mv / v'v */
    int not_positive;   /* vectors with v'Mv <= 0 */
    bool symmetric;     /* asymmetry <= rounding */
    bool positive;      /* not_positive == 0 */
} kry_probe;

/*
 * Test whether an operator is symmetric and positive definite, as conjugate gradients need M and A
 * to be, by products with a few vectors. It finds faults; it proves nothing. Waits.
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
