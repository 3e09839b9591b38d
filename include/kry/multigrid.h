/*
 * multigrid.h - preconditioners whose iterations do not grow with the problem: cycles over coarser and
 * coarser grids. docs/multigrid.md has the cycle, and the choices in a table.
 */
#ifndef KRY_MULTIGRID_H
#define KRY_MULTIGRID_H

#include <kry/precond.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A smoother takes the rough parts out of the error on a level, before and after the coarser ones. */
typedef enum kry_smoother {
    KRY_SMOOTHER_AUTO,       /* what suits the family and the device */
    KRY_SMOOTHER_JACOBI,     /* x += omega D^-1 (b - A x) */
    KRY_SMOOTHER_CHEBYSHEV,  /* a polynomial of the first kind in D^-1 A */
    KRY_SMOOTHER_CHEBYSHEV4, /* of the fourth kind, with the weights that are best for multigrid */
    KRY_SMOOTHER_RED_BLACK /* sweeps of Gauss and Seidel, colour by colour, in the opposite order afterwards;
                              grids */
} kry_smoother;

/* The matrix that a step of Jacobi or Chebyshev multiplies the residual with. D^-1 is the default; the others are
 * for stored matrices. */
typedef enum kry_smoother_scaling {
    KRY_SCALING_DIAGONAL,
    KRY_SCALING_L1, /* 1 / sum |a_ij| of each row: no eigenvalue of the product with A is above 1 */
    KRY_SCALING_BLOCK, /* inverses of the diagonal blocks of nodes; of two rows where there are none */
    KRY_SCALING_FSAI /* kry_fsai_create */
} kry_smoother_scaling;

typedef enum kry_cycle_shape {
    KRY_CYCLE_V,
    KRY_CYCLE_W, /* each level twice */
    KRY_CYCLE_K, /* two steps of flexible conjugate gradients on each level; the cycle is then no
                    fixed map (KRY_VARYING) */
    KRY_CYCLE_F /* each level by an F-cycle, then by a V-cycle; that is not symmetric, and so for methods
                    that take what varies, too */
} kry_cycle_shape;

/* In which numbers a cycle for a grid or a matrix in double works. Of the methods in double pcg, fgmres and richardson take one in
 * single; others, which hand M its own results, want double. */
typedef enum kry_cycle_values {
    KRY_CYCLE_VALUES_AUTO,   /* in single where that costs conjugate gradients no iterations */
    KRY_CYCLE_VALUES_SINGLE, /* half the bytes; b is scaled to the range of single first */
    KRY_CYCLE_VALUES_DOUBLE
} kry_cycle_values;

/* The cycle, the same for both families. */
typedef struct kry_cycle_params {
    kry_smoother smoother;
    int degree; /* of Chebyshev's polynomial, 1 ... 8; 0: 2; 3 on GPUs on grids in the plane with constant coefficients
                   for a cycle in single, and of aggregation where all levels have at most 1.3
                   times the entries of the matrix */
    int sweeps; /* of the smoother, before and after; 0: 1 */
    double
        omega; /* of Jacobi, > 0; 0: 1.6 by the largest eigenvalue of D^-1 A. Of red-black sweeps,
                     in (0, 2); 0: 1 */
    kry_smoother_scaling scaling;
    kry_cycle_shape shape;
    int64_t coarsest; /* unknowns up to which a level is solved exactly; 0: what suits the device */
    int levels;       /* at most; 0: as many as it takes */
    kry_cycle_values values;
} kry_cycle_params;

typedef struct kry_mg_params {
    size_t struct_size;
    kry_cycle_params cycle;
    double
        semi; /* coarsen only axes whose coupling is at least so many times that of the strongest one, in 0 ...
                    1; 0: a default. Negative: all axes */
    int64_t
        gather; /* on a team: levels of so many unknowns are on each device as a whole; 0: 16384 */
} kry_mg_params;
#define KRY_MG(...) KRY_PARAMS(kry_mg_params, __VA_ARGS__)

/*
 * M := a cycle of geometric multigrid for a grid operator (kry_stencil_create), of any size, sides and
 * coefficients; singular ones, too. On a team each device holds its points of the levels of more than `gather` unknowns.
 */
KRY_API KRY_MUST_CHECK kry_status kry_mg_create(const kry_op *A, const kry_mg_params *params,
                                                kry_op **M);

/* Whether kry_mg_create takes A: a grid operator on OpenCL devices. */
KRY_API bool kry_mg_takes(const kry_op *A);

typedef enum kry_coarsening {
    KRY_COARSEN_AUTO,        /* by what the matrix looks like */
    KRY_COARSEN_AGGREGATION, /* smoothed aggregation */
    KRY_COARSEN_CLASSICAL    /* a subset of the unknowns, by their couplings; scalar problems */
} kry_coarsening;

typedef enum kry_restriction {
    KRY_RESTRICT_AUTO,      /* by whether the matrix is symmetric */
    KRY_RESTRICT_TRANSPOSE, /* R = P', for symmetric matrices */
    KRY_RESTRICT_AIR        /* approximate ideal restriction, for all */
} kry_restriction;

typedef struct kry_amg_params {
    size_t struct_size;
    kry_cycle_params cycle;
    kry_coarsening coarsening;
    double
        strength; /* couplings below it are weak; 0: a default of the family. Negative: none is */
    int block;    /* unknowns of a node; 0: what the matrix says, see kry_matrix_params */
    /* n-by-m on the device of A: vectors that A maps to almost zero. Their values are taken. NULL: those of
     * kry_op_set_near_null_space, or constants of each of the node's unknowns */
    const kry_vec *near_null_space;
    /* Sweeps of a smoother for A v = 0, four products with A each, by which these vectors are improved first;
     * 0: none. Aggregation. 4 where A is scaled by a diagonal matrix, so that constants do not suit it */
    int adaptive;
    double
        complexity; /* entries of all levels over those of A at which the set-up gives up; 0: 10 */
    int64_t
        gather; /* on a team: levels of so many unknowns are on each device as a whole; 0: 16384 */
    kry_restriction restriction;
} kry_amg_params;
#define KRY_AMG(...) KRY_PARAMS(kry_amg_params, __VA_ARGS__)

/*
 * The rigid body modes of a body of finite elements, for near_null_space: its displacements and rotations,
 * which elasticity maps to zero but for the nodes that are held
 *
 *   axes         2 or 3
 *   coordinates  [in]   axes numbers for each node
 *   modes        [out]  on the host, axes * nodes rows and 3 or 6 columns, column after column; the unknowns of
 *                       a node are its displacements along the axes, one after the other
 *
 * Returns  KRY_ERR_ARGUMENT for another number of axes, or a coordinate that is not finite (message: which)
 */
KRY_API KRY_MUST_CHECK kry_status kry_rigid_body_modes(int axes, int64_t nodes,
                                                       const double *coordinates, double *modes);

/*
 * M := a cycle of algebraic multigrid for a stored symmetric matrix with a positive diagonal, by smoothed
 * aggregation: couplings below `strength` (0.08, halved on each level; with several vectors none) are weak,
 * or by classical coarsening (0.25): scalar matrices where positive couplings are at most a tenth of all others.
 * For a matrix that is not symmetric, or with restriction = KRY_RESTRICT_AIR, by C points and approximate ideal restriction (0.5;
 * a diagonal without zeros): convection, and what else is nearly triangular. M is not symmetric then, smoothed by two steps of
 * Jacobi's method before and after, and has no K-cycle.
 *
 * Set up in double: by GPUs with double precision for levels of more than 4096 unknowns, by the host for all
 * others, on up to 16 threads, which end before the call returns; the result is the same. kry_op_update(M, NULL)
 * keeps aggregates and patterns.
 * On a team each device holds its rows of the levels of more than `gather` unknowns, which are made by aggregation within the
 * rows of each device, on the hosts; and all levels below as a whole. With classical coarsening all levels are below.
 *
 * Cost     entries of all levels 1.5 (plane) to 1.7 (space) times those of A, by classical coarsening 2.4 to
 *          2.8, by approximate ideal restriction 2 to 3; for each level P and R besides
 * Returns  KRY_ERR_UNSUPPORTED for a team with reproducible sums, classical coarsening of nodes, more entries than `complexity` allows
 *          (message: with the bytes), couplings of which no small coarsest level can be made;
 *          KRY_ERR_ARGUMENT for a symmetric matrix whose diagonal is not positive, or of which a level is seen not to be definite,
 *          for one that is not symmetric with KRY_RESTRICT_TRANSPOSE or a zero on the diagonal (message: where)
 * Source   P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996), doi:10.1007/BF02238511; N. Bell, S. Dalton,
 *          L. N. Olson, SIAM J. Sci. Comput. 34 (2012), doi:10.1137/110838844; T. A. Manteuffel, J. Ruge,
 *          B. S. Southworth, SIAM J. Sci. Comput. 40 (2018), doi:10.1137/17M1144350
 */
KRY_API KRY_MUST_CHECK kry_status kry_amg_create(const kry_op *A, const kry_amg_params *params,
                                                 kry_op **M);

/* A level of such an operator, for people to look at. */
typedef struct kry_level_info {
    int64_t rows;
    const kry_op
        *matrix; /* its operator; on the finest level that is A itself. This and the next one are
                             borrowed until M is updated, to be described (kry_op_describe) */
    const kry_op *prolongation; /* from the next level; of the coarsest one NULL */
    const char *smoother; /* "chebyshev4:2"; of the coarsest one how it is solved: "dense plain" */
    double vector_bytes;  /* of vectors that are kept for it */
    double solver_bytes;  /* of the coarsest one: the inverse, or the factor; else 0 */
    /* That a V-cycle moves at least on it, with the transfers to the next level and back; 0: not known */
    double bytes_per_cycle;
} kry_level_info;

/* How many levels M has; 0: it is no operator that was made here. */
KRY_API int kry_multigrid_levels(const kry_op *M);
/*
 * Describe level i of M, 0 the finest
 *
 *   level  [out]  its texts live as long as M
 *
 * Returns  KRY_ERR_ARGUMENT for an i that is no level of M, or an M that has none
 */
KRY_API KRY_MUST_CHECK kry_status kry_multigrid_level(const kry_op *M, int i,
                                                      kry_level_info *level);

#ifdef __cplusplus
}
#endif
#endif
