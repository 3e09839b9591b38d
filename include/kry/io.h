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

/* A Matrix Market file on the host. Symmetric files are not expanded. Indices count from 0. The numbers
 * of an array file are in the order of columns. */
typedef struct kry_mtx {
    bool array; /* dense "array" format, else "coordinate" */
    kry_mtx_field field;
    kry_mtx_symmetry symmetry;
    int64_t rows, cols, nnz; /* nnz: entries held in row, col, val */
    int32_t *row, *col;      /* nnz each; NULL for an array file */
    double *val;             /* nnz; ones for a pattern file */
} kry_mtx;

/*
 * Read a plain or a gzip'd file; its first bytes say which it is, not its name. The formats coordinate and
 * array, the fields real, integer and pattern, and the symmetries general, symmetric and skew-symmetric are
 * read. Memory grows with what is read, not with the sizes
 * in the header.
 *
 * A binary file of PETSc is read as well: a sparse matrix, as general coordinates, or a vector, as an array of one
 * column; the first object of the file, with real numbers in double precision and indices of 32 or 64 bits.
 *
 * Returns  KRY_ERR_FILE if it cannot be opened or read; KRY_ERR_PARSE "file:line: ..." for anything
 *          malformed, complex or hermitian, "file: byte ...: ..." for a PETSc file; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read(const char *path, kry_mtx **mtx);

/* The same from bytes of a Matrix Market file in memory (plain or gzip'd); `name` stands for the file in messages. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_parse(const char *name, const void *bytes, size_t size,
                                                kry_mtx **mtx);

/* Write a file, gzip'd if its name ends in ".gz"; numbers read back to the bit.
 *   comment  one line without the leading %, or NULL
 * A file that could not be written whole is removed. Returns  KRY_ERR_FILE; KRY_ERR_ARGUMENT for a file
 * that could not be read back: values that are not finite, or not whole in an integer file, indices out of
 * range, a symmetric matrix that is not square, a pattern that is an array or skew-symmetric. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_write(const char *path, const kry_mtx *mtx,
                                                const char *comment);
KRY_API void kry_mtx_release(kry_mtx **mtx);

/* Make an operator from a file's matrix; symmetric and skew-symmetric storage is expanded. Duplicates are
 * refused unless params allow them; symmetric files get the trait KRY_SYMMETRIC. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_matrix(kry_device *device, kry_type type,
                                                 const kry_mtx *mtx,
                                                 const kry_matrix_params *params, kry_op **op);
/* Make an n-by-k vector from an n-by-k file; places that a coordinate file leaves out are 0. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_vec(kry_device *device, kry_type type, const kry_mtx *mtx,
                                              kry_vec **vec);

/* Read a file straight into an operator or a vector. On ranks (kry/transport.h) each reads a share of the file and
 * gets its own rows, as kry_share_read does. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read_matrix(kry_device *device, kry_type type,
                                                      const char *path, kry_op **op);
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read_vec(kry_device *device, kry_type type,
                                                   const char *path, kry_vec **vec);
/* Write a vector as an array file; on ranks each writes the lines of its own rows, side by side into one file that all
 * of them reach. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_write_vec(const char *path, const kry_vec *vec);
/* The same with a comment, as kry_mtx_write has it. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_write_vec_comment(const char *path, const kry_vec *vec,
                                                            const char *comment);

/* ---- PETSc ------------------------------------------------------------------------- */

/*
 * Write a binary file of PETSc, as MatLoad and VecLoad take it where PETSc has integers of 32 bits and real numbers in
 * double, its defaults; kry_mtx_read and the functions above and below read it back, to the bit if the numbers are in double
 *
 *   mtx   a matrix by its coordinates, symmetric storage expanded; or an array of one column, a vector
 *   A     a stored matrix, on any device. On ranks each writes its rows, side by side into one file that all of them reach
 *   vec   of one column; on ranks as A
 *
 * A file that could not be written whole is removed.
 *
 * Returns  KRY_ERR_FILE; KRY_ERR_ARGUMENT for numbers that are not finite, and for indices out of range or entries given
 *          twice (message: which); KRY_ERR_UNSUPPORTED for more than 2^31 - 1 rows, columns or entries, several columns,
 *          and operators that are not stored. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_petsc_write(const char *path, const kry_mtx *mtx);
KRY_API KRY_MUST_CHECK kry_status kry_petsc_write_matrix(const char *path, const kry_op *A);
KRY_API KRY_MUST_CHECK kry_status kry_petsc_write_vec(const char *path, const kry_vec *vec);

/* ---- files of which each rank reads a share ---------------------------------------- */

/* The rows of a square matrix that this rank has, on the host: what kry_csr_create_rows takes. Indices count from 0. */
typedef struct kry_share {
    int64_t n;           /* rows and columns of the whole matrix */
    int64_t first, rows; /* this rank's: first ... first + rows - 1 */
    int64_t *row_ptr;    /* rows + 1 */
    int64_t *col;        /* columns of the whole; ascending in a row */
    double *val;
    kry_mtx_symmetry symmetry; /* what the file says; all entries are here */
    int64_t given;             /* entries in the file */
    kry_device *device;        /* retained */
    void *cut; /* kry's own: while it is there, vectors of n rows are cut in the same way */
} kry_share;

/*
 * Read the rows of a file's matrix that this rank is to have. On any device that is not made of ranks it has all.
 *
 *   device  whose ranks they are. They get rows so that each has entries by its speed; or the rows that they
 *           have of vectors and operators with as many rows that were made before
 *   path    a Matrix Market or PETSc file as kry_mtx_read takes it, which every rank can open
 *
 * Each rank reads about the same number of bytes, and the entries go to whom they belong: none ever has more than twice
 * its stretch of the file and its own rows. A gzip'd file, though, is decompressed by every rank, up to the end of
 * its stretch.
 *
 * Returns  as kry_mtx_read, on all ranks; the message names the rank with the first wrong line. KRY_ERR_UNSUPPORTED
 *          for a matrix that is not square. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_share_read(kry_device *device, const char *path,
                                                 kry_share **share);
/* Make an operator of it, as kry_mtx_matrix does of a whole file. Collective. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_share_matrix(kry_device *device, kry_type type,
                                                   const kry_share *share,
                                                   const kry_matrix_params *params, kry_op **op);
/* The transpose, of which each rank gets as many rows. Collective. */
KRY_API KRY_MUST_CHECK kry_status kry_share_transpose(kry_device *device, const kry_share *share,
                                                      kry_share **transpose);
/*
 * Number the connected components of a share's matrix: two rows are in one if entries that are not zero lead from one to
 * the other, whichever way round. Each has a null space of its own. Collective.
 *
 *   device     whose ranks have the share
 *   left_out   [in]  share->rows: whether the component of a row gets no number; NULL: each gets one
 *   component  [out] share->rows: of each row the number of its component, from 0 in the order of their first rows, -1: left
 *              out. Of no use if the call fails
 *   count      [out] how many have a number, on all ranks together
 *
 * Cost     a pass over the entries; then rounds of messages of at most an entry for each entry in another rank's columns. Their
 *          number grows with the logarithm of how often a component goes from rank to rank
 * Returns  KRY_ERR_MEMORY, on all ranks. Waits.
 * Source   Rem's union-find: M. M. A. Patwary, J. Blair, F. Manne, Experiments on union-find algorithms for the disjoint-set
 *          data structure, SEA 2010, doi:10.1007/978-3-642-13193-6_35
 */
KRY_API KRY_MUST_CHECK kry_status kry_share_components(kry_device *device, const kry_share *share,
                                                       const bool *left_out, int64_t *component,
                                                       int64_t *count);
KRY_API void kry_share_release(kry_share **share);

/* ---- model problems --------------------------------------------------------------- */

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
 * The others are positive definite, with b = A x for a random x. Solids, ill-conditioned:
 *
 *   plate2d:N              a simply supported plate that is bent, N-by-N interior points, thirteen-point
 *                          biharmonic operator scaled by h^4: poisson2d squared
 *   elasticity2d:NXxNY[:JUMP]
 *                          a cantilever of NX-by-NY bilinear squares in plane stress, Poisson's ratio 0.3,
 *                          clamped at x = 0, 2 NX (NY + 1) unknowns. Young's modulus is 1, in about half
 *                          of the elements, by chance, JUMP > 0. Entries that add up to 0 are not stored
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
    int axes;      /* of the nodes of a solid: 2; 0: it has none, or they are not known */
    double *coordinates; /* axes of them for each node, for kry_rigid_body_modes; NULL: not known */
    bool singular;       /* A maps constants to zero and rhs has mean zero */
    unsigned traits; /* of A, for KRY_MATRIX(.traits): KRY_POSITIVE; KRY_SINGULAR | KRY_SYMMETRIC;
                        KRY_SYMMETRIC; or 0 */
    const kry_stencil_params
        *grid;   /* owned, with its coefficients and faces: kry_stencil_create makes the
                                       same A of it without entries; NULL: not on a grid */
    bool solved; /* the exact solution is known: it is in `solution`, or kry_problem_rows has it */
} kry_problem;

/* Make a problem from its spec. `seed` is that of all random numbers.
 * Returns  KRY_ERR_PARSE for a spec that is not one of the above or a size out of range (the message lists
 *          all forms); KRY_ERR_MEMORY. */
KRY_API KRY_MUST_CHECK kry_status kry_problem_create(const char *spec, uint64_t seed,
                                                     kry_problem **problem);

/* The same without the entries of the matrix: row_ptr, col and val are NULL.
 * Returns  also KRY_ERR_UNSUPPORTED for a problem that has no grid. */
KRY_API KRY_MUST_CHECK kry_status kry_problem_create_grid(const char *spec, uint64_t seed,
                                                          kry_problem **problem);

/* The same without anything that is as long as the problem, of any kind, but for the coordinates of a solid; nnz is 0 where it is
 * not known. For ranks, each of which asks for its own part of
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
 * fast. The same numbers as those of kry_problem_create, on any number of ranks. Collective.
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

/*
 * A number in [0, 1), uniform, that depends on (seed, stream, place) alone: the same on every machine and in
 * any order. To make a random vector that others can repeat, fill it from a stream of its own.
 * Source   G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators,
 *          OOPSLA 2014: the finaliser of SplitMix64.
 */
KRY_API double kry_random_unit(uint64_t seed, uint64_t stream, uint64_t place);

#ifdef __cplusplus
}
#endif
#endif
