/*
 * problem.h - model problems everybody starts with, by a short text each: the library kry-gallery.
 */
#ifndef KRY_PROBLEM_H
#define KRY_PROBLEM_H

#include <kry/io.h>
#include <kry/stencil.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A generated system on the host: a matrix in CSR, a right-hand side, the solution if it is known.
 *
 * On a grid, x first. With N interior points a side, h = 1/(N+1), scaled by h^2, u = 0 on the boundary and
 * u = the product of sin^2(pi x) over the axes (Wang et al., section 2):
 *
 *   poisson2d:N            -div grad u = f on the unit square, five points, diagonal 4
 *   poisson3d:N            in the unit cube, seven points, diagonal 6
 *   anisotropic2d:N:EPS    -u_xx - EPS u_yy = f, EPS > 0
 *
 * Two phases between walls: N cells a side, h = 1/N, -div(k grad u) = f scaled by h^2, k = 1 in one phase
 * and 1/CONTRAST in the other. No flux passes any side, so that A is singular. b is normal random numbers
 * less their mean; x is not known. CONTRAST > 0, default 1000; SHAPE says where k is 1, y being the last
 * axis:
 *
 *   twophase2d:N[:CONTRAST[:SHAPE]]   five points; twophase3d: seven
 *     layers         the default: below the centres of row N/2, counted from 0. At faces k is 1 below that
 *                    row, 1/CONTRAST above it, their mean within it (Gupta, Vuik, Lemmens, equation (9));
 *                    for its cells grid->coefficient has the larger k
 *     layers-faces   y < 1/2. At faces, here and below, the harmonic mean of both cells counts
 *     stripes        every other of eight layers, the lowest first
 *     bubble         a disc (ball) of radius 1/4 in the middle
 *     bubbles        3-by-3 (by 3) of them, of radius 1/12
 *
 * The others are positive definite, with b = A x for a random x. On N-by-N-by-N points:
 *
 *   poisson3d27:N          27 points, 26 on the diagonal and -1 off it: the matrix of HPCG, stored
 *
 * Solids, ill-conditioned:
 *
 *   plate2d:N              a simply supported plate that is bent, N-by-N interior points, thirteen-point
 *                          biharmonic operator scaled by h^4: poisson2d squared
 *   elasticity2d:NXxNY[:JUMP[:free]]
 *                          a cantilever of NX-by-NY bilinear squares in plane stress, Poisson's ratio 0.3,
 *                          clamped at x = 0, 2 NX (NY + 1) unknowns. Young's modulus is 1, in about half
 *                          of the elements, by chance, JUMP > 0 (1). Entries that add up to 0 are not
 *                          stored. A free one is clamped nowhere: 2 (NX + 1) (NY + 1) unknowns, semidefinite,
 *                          the rigid body modes, 3 or 6, are its null space
 *   elasticity3d:NXxNYxNZ[:JUMP[:free]]
 *                          the same of trilinear cubes, 3 NX (NY + 1) (NZ + 1) unknowns; blocks of 3-by-3
 *                          entries are stored whole
 *
 * Networks of N nodes: a_ij = -w_ij, a_ii is the sum of the w_ij plus a conductance to the ground:
 *
 *   geograph_spd:N         random points in the unit square, ordered by small squares; w = 1 within
 *                          1.5 / sqrt(N) of each other, about seven in a row; 0.001 to the ground
 *   circuit_spd:N[:DECADES]
 *                          about eight wires at a node, more often to near ones; log w is uniform from
 *                          10^-DECADES to 1, and 10^-DECADES leads to the ground. DECADES 0 to 12, default 6
 *
 * Random matrices of N rows, with a dominant diagonal:
 *
 *   random_spd:N:K         about K entries off the diagonal in a row, anywhere
 *   powerlaw_spd:N:K       about K on average; the lengths of rows follow a power law: of 100 000 a few
 *                          have more than 1000; more often near the diagonal
 *   banded_spd:N:W         about a third of the places within W of the diagonal
 *   block_spd:N:B          dense B-by-B blocks, 27 in a row of blocks, as B unknowns on each node of a cube
 *                          of finite elements have
 *
 * And matrices of other kinds, with b = A x for a random x. On N-by-N interior points as above:
 *
 *   convection2d:N:PECLET[:upwind|central]
 *                          -div grad u + PECLET w.grad u = f, not symmetric; upwind (the default) or central
 *                          differences for w.grad u. The wind w = (2 Y (1 - X^2), -2 X (1 - Y^2)), X = 2 x - 1,
 *                          Y = 2 y - 1, goes round in closed lines; convection3d: in each plane of a cube
 *   helmholtz2d:N:K        -div grad u - K^2 u = f, symmetric; indefinite for K above 4.44
 *   stokes2d:N             slow flow in N-by-N cells, velocities on their faces, pressures in their middle
 *                          but for the last one: symmetric and indefinite, zeros on a third of the diagonal
 *   random:N:K             K entries off the diagonal in a row, anywhere (of those that meet, the sum), and a
 *                          dominant diagonal: not symmetric
 */
typedef struct kry_problem {
    char name[64]; /* the spec it was made from */
    int64_t n, nnz;
    int64_t *row_ptr; /* n+1; NULL, as col and val: made without entries */
    int32_t *col;     /* nnz, ascending in a row */
    double *val;      /* nnz */
    double *rhs;      /* n */
    double *solution; /* n: the exact solution at the unknowns; NULL: not known */
    bool discrete; /* `solution` solves A x = rhs itself, not the differential equation behind it */
    int block;     /* unknowns of a node, for KRY_MATRIX(.block); 0: one, or not known */
    int axes;      /* of the nodes of a solid: 2 or 3; 0: it has none, or they are not known */
    double *coordinates; /* axes of them for each node, for kry_rigid_body_modes; NULL: not known */
    bool singular;       /* A maps constants to zero and rhs has mean zero */
    /* Traits of A, for KRY_MATRIX(.traits): KRY_POSITIVE; KRY_SINGULAR | KRY_SYMMETRIC; KRY_SYMMETRIC; or 0 */
    unsigned traits;
    /* Owned, with its coefficients and faces: kry_stencil_create makes the same A of it without entries. NULL: not on a grid */
    const kry_stencil_params *grid;
    bool solved; /* the exact solution is known: it is in `solution`, or kry_problem_rows has it */
} kry_problem;

/* Make a problem from its spec. `seed` is that of all random numbers.
 * Returns  KRY_ERR_PARSE for a spec that is not one of the above or a size out of range (the message lists
 *          all forms); KRY_ERR_MEMORY. */
KRY_API KRY_MUST_CHECK kry_status kry_problem_create(const char *spec, uint64_t seed,
                                                     kry_problem **problem);

/* Make a problem, as kry_problem_create, without the entries of the matrix: row_ptr, col and val are NULL.
 * Returns  also KRY_ERR_UNSUPPORTED for a problem that has no grid. */
KRY_API KRY_MUST_CHECK kry_status kry_problem_create_grid(const char *spec, uint64_t seed,
                                                          kry_problem **problem);

/* Make a problem of any kind, as kry_problem_create, without anything that is as long as the problem but for the coordinates
 * of a solid; nnz is 0 where it is not known. For ranks, each of which asks for its own part of
 *   the grid      kry_problem_set_part; until then `grid` is NULL
 *   the entries   kry_problem_share
 *   the vectors   kry_problem_rows */
KRY_API KRY_MUST_CHECK kry_status kry_problem_create_bare(const char *spec, uint64_t seed,
                                                          kry_problem **problem);

/*
 * Give a bare problem its grid: p->grid has `.local` set, and the coefficients and faces of the cells that kry_stencil_part says
 * of this rank, or on any other device those of the whole grid. Collective.
 *   blocks  as in KRY_STENCIL(.blocks); NULL: all 0
 * Returns  as kry_stencil_part; KRY_ERR_UNSUPPORTED for a problem that has no grid; KRY_ERR_ARGUMENT for one that is not bare;
 *          KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_problem_set_part(kry_problem *p, kry_device *device,
                                                       const int blocks[3]);

/*
 * Make the rows of a problem's matrix that this rank has: those of vectors of p->n rows that there are, or as many as its device is
 * fast. They are those of kry_problem_create, on any number of ranks. Collective.
 *
 * No rank makes the rows of others. Of geograph_spd it has the points near its own besides; for it, random_spd, powerlaw_spd and
 * circuit_spd each rank draws all random numbers, which takes the time of the whole but not its memory.
 * Returns  KRY_ERR_SHAPE if vectors of as many rows are cut as grids in blocks; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_problem_share(const kry_problem *p, kry_device *device,
                                                    kry_share **share);

/*
 * The right-hand side and the solution in those rows of a vector that are here: all, or on ranks the rank's own.
 *   of             of p->n rows, cut as the problem's operator is
 *   rhs, solution  kry_vec_rows_here(of, NULL) numbers each, in the order of kry_vec_row; NULL: not wanted
 * Returns  KRY_ERR_SHAPE; KRY_ERR_UNSUPPORTED for a solution that is not known (p->solved); KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_problem_rows(const kry_problem *p, const kry_vec *of,
                                                   double *rhs, double *solution);
KRY_API void kry_problem_release(kry_problem **problem);

#ifdef __cplusplus
}
#endif
#endif
