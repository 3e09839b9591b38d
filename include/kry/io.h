/*
 * io.h - Matrix Market files, and the model problems everybody starts with.
 */
#ifndef KRY_IO_H
#define KRY_IO_H

#include <kry/stencil.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Matrix Market ---------------------------------------------------------------- */

typedef enum kry_mtx_field { KRY_MTX_REAL, KRY_MTX_INTEGER, KRY_MTX_PATTERN } kry_mtx_field;
typedef enum kry_mtx_symmetry { KRY_MTX_GENERAL, KRY_MTX_SYMMETRIC, KRY_MTX_SKEW } kry_mtx_symmetry;

/*
 * A Matrix Market file on the host, as it stands in the file: symmetric ones are not expanded.
 * Indices count from 0. An array file is held as coordinates too, in column order.
 */
typedef struct kry_mtx {
    bool array; /* dense "array" format, else "coordinate" */
    kry_mtx_field field;
    kry_mtx_symmetry symmetry;
    int64_t rows, cols, nnz; /* nnz: entries held in row, col, val */
    int32_t *row, *col;      /* nnz each; NULL for an array file */
    double *val;             /* nnz; ones for a pattern file */
} kry_mtx;

/*
 * Read a file, plain or gzip'd (told by its content, not its name).
 *
 * Takes coordinate and array; real, integer, pattern; general, symmetric, skew-symmetric.
 * Memory grows with what is read, not with what the header claims.
 *
 * Returns  KRY_ERR_FILE if it cannot be opened or read; KRY_ERR_PARSE "file:line: ..." for
 *          anything malformed, complex or hermitian; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read(const char *path, kry_mtx **mtx);

/* The same from bytes in memory (plain or gzip'd); `name` stands for the file in messages. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_parse(const char *name, const void *bytes, size_t size,
                                                kry_mtx **mtx);

/* Write a file, gzip'd when the name ends in ".gz", with numbers that read back to the bit.
 *   comment  one line without the leading %, or NULL
 * A file that could not be written whole is removed. Returns  KRY_ERR_FILE; KRY_ERR_ARGUMENT for
 * what could not be read back: values that are not finite, or not whole in an integer file, indices
 * out of range, a symmetric matrix that is not square, a pattern that is an array or skew. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_write(const char *path, const kry_mtx *mtx,
                                                const char *comment);
KRY_API void kry_mtx_release(kry_mtx **mtx);

/* A file's matrix as an operator: symmetric and skew storage expanded, duplicates refused
 * unless params say otherwise. traits: symmetric files get KRY_SYMMETRIC. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_matrix(kry_device *device, kry_type type,
                                                 const kry_mtx *mtx,
                                                 const kry_matrix_params *params, kry_op **op);
/* A file's numbers as an n-by-k block: array files, and coordinate files of vectors. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_vec(kry_device *device, kry_type type, const kry_mtx *mtx,
                                              kry_vec **vec);

/* Read a file straight into an operator or a vector. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read_matrix(kry_device *device, kry_type type,
                                                      const char *path, kry_op **op);
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read_vec(kry_device *device, kry_type type,
                                                   const char *path, kry_vec **vec);
/* Write a vector as an array file. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_write_vec(const char *path, const kry_vec *vec);

/* ---- model problems --------------------------------------------------------------- */

/*
 * A generated system on the host: a matrix in CSR, a right-hand side, the solution if known.
 *
 * On a grid, x first:
 *
 *   poisson2d:N            -div grad u = f on the unit square, u = 0 around, N-by-N interior
 *                          points, five-point stencil scaled by h^2 (diagonal 4), h = 1/(N+1),
 *                          u = sin^2(pi x) sin^2(pi y); Wang et al., section 2
 *   poisson3d:N            the same in the unit cube, seven points (diagonal 6), N^3 unknowns,
 *                          u = sin^2(pi x) sin^2(pi y) sin^2(pi z)
 *   anisotropic2d:N:EPS    -u_xx - EPS u_yy, EPS > 0, same u
 *
 * Flow of two phases in a box with walls, N cells a side, h = 1/N, scaled by h^2. No flux goes
 * through any side: A is singular. k = 1 in one phase, 1/CONTRAST in the other; CONTRAST > 0, by
 * default 1000. b is normal random numbers, seeded, less their mean; x is not known:
 *
 *   twophase2d:N[:CONTRAST[:SHAPE]]   -div(k grad u) = f in the unit square, five-point stencil
 *   twophase3d:N[:CONTRAST[:SHAPE]]   in the unit cube, seven points
 *
 * SHAPE says where k is 1; y is the last axis:
 *
 *   layers                 the default: below the centres of row N/2, counted from 0, where the
 *                          interface is. At faces k is 1 below it, 1/CONTRAST above it, their mean
 *                          within the row; Gupta, Vuik, Lemmens, equation (9). For a cell of that
 *                          row grid->coefficient has the larger k
 *   layers-faces           y < 1/2, the interface on faces; at faces, here and in what follows, the
 *                          harmonic mean of both cells
 *   stripes                every other of eight layers, the lowest first
 *   bubble                 a disc (ball) of radius 1/4 in the middle
 *   bubbles                3-by-3 (by 3) of them, of radius 1/12
 *
 * CONTRAST < 1 swaps the stiff phase: `bubble` with 0.001 is k = 0.001 in k = 1, all times 1000.
 *
 * Solids in the plane, x first, positive definite and ill-conditioned; b = A x for a random x,
 * seeded:
 *
 *   plate2d:N              a plate that is bent, N-by-N interior points: the thirteen-point
 *                          biharmonic operator scaled by h^4 (diagonal 20). Simply supported, so
 *                          that A is that of poisson2d squared
 *   elasticity2d:NXxNY[:JUMP]
 *                          a cantilever of NX-by-NY square elements, bilinear, in plane stress,
 *                          Poisson's ratio 0.3, clamped at x = 0; two unknowns on each free node,
 *                          2 NX (NY + 1) in all. Young's modulus is 1; JUMP > 0: in about half of
 *                          the elements, by chance, JUMP. What elements add up to 0 is not stored
 *
 * Networks, N rows each, seeded, positive definite, b = A x for a random x. A is a Laplacian,
 * a_ij = -w_ij, and a_ii is larger than the sum of the w_ij by what leads to the ground:
 *
 *   geograph_spd:N         random points in the unit square, numbered by small squares, row by
 *                          row; within 1.5 / sqrt(N) of each other w = 1, about seven in a row of
 *                          A; to the ground 0.001
 *   circuit_spd:N[:DECADES]
 *                          about eight wires at a node, to near ones more often than to far ones,
 *                          w from 10^-DECADES to 1, uniform in its logarithm; to the ground
 *                          10^-DECADES. DECADES from 0 to 12, by default 6
 *
 * Random ones, seeded, symmetric, positive definite by diagonal dominance, b = A x for a random x;
 * N rows each:
 *
 *   random_spd:N:K         about K entries off the diagonal in a row, anywhere
 *   powerlaw_spd:N:K       about K on average; the lengths of rows follow a power law: of 100 000
 *                          a few have more than 1000; near places more often than far ones
 *   banded_spd:N:W         about a third of the places within W of the diagonal
 *   block_spd:N:B          dense B-by-B blocks, 27 in a row of blocks, as of B unknowns on each node
 *                          of a cube of finite elements (B = 3: elasticity)
 */
typedef struct kry_problem {
    char name[64]; /* the spec it was made from */
    int64_t n, nnz;
    int64_t *row_ptr; /* n+1; NULL, as col and val: made without entries */
    int32_t *col;     /* nnz, ascending in a row */
    double *val;      /* nnz */
    double *rhs;      /* n */
    double *solution; /* n: the exact solution of the differential equation (or of the
                                 system for random ones) at the unknowns; NULL: not known */
    bool discrete;    /* `solution` solves A x = rhs itself, not the equation behind it */
    bool singular;    /* A maps constants to zero, and rhs has mean zero; if not, A is
                                 positive definite */
    const kry_stencil_params *grid; /* owned, as are its coefficients and faces; what
                                       kry_stencil_create takes to make the same A without
                                       entries; NULL: the unknowns are on no grid */
} kry_problem;

/*
 * Make a problem from its spec.
 *
 *   seed   for the random ones, and b of the flow of two phases
 *
 * Returns  KRY_ERR_PARSE for a spec that is not one of the above or a size out of range (the
 *          message lists them), KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_problem_create(const char *spec, uint64_t seed,
                                                     kry_problem **problem);

/*
 * A problem on a grid without the entries of its matrix: row_ptr, col and val are NULL, all else is
 * what kry_problem_create makes of the same seed, to the bit. kry_stencil_create(device, type,
 * problem->grid, &A) makes the operator.
 *
 * Returns  also KRY_ERR_UNSUPPORTED for a problem that has no grid.
 */
KRY_API KRY_MUST_CHECK kry_status kry_problem_create_grid(const char *spec, uint64_t seed,
                                                          kry_problem **problem);
KRY_API void kry_problem_release(kry_problem **problem);

/*
 * A number that depends on (seed, stream, place) alone, uniform in [0, 1): the same on every machine
 * and in any order. Random problems are made of these, and whoever wants a random vector that others
 * can repeat fills it with them, one stream to a vector.
 * Source   G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators,
 *          OOPSLA 2014: the finaliser of SplitMix64.
 */
KRY_API double kry_random_unit(uint64_t seed, uint64_t stream, uint64_t place);

#ifdef __cplusplus
}
#endif
#endif
