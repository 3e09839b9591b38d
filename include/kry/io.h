/*
 * io.h - files of matrices and vectors, Matrix Market and PETSc: whole, or of each rank its share.
 */
#ifndef KRY_IO_H
#define KRY_IO_H

#include <kry/formats.h>
#include <stdio.h>

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
 * array, the fields real, integer, unsigned-integer and pattern, and the symmetries general, symmetric and skew-symmetric
 * are read; also the field complex, if all imaginary parts are 0, and then hermitian is symmetric. Comments may stand between
 * entries, and zeros on the diagonal of a skew-symmetric matrix, which are left out. Memory grows with what is read,
 * not with the sizes in the header.
 *
 * A binary file of PETSc is read as well: a sparse matrix, as general coordinates, or a vector, as an array of one
 * column; the first object of the file, with real numbers in double precision and indices of 32 or 64 bits. A gzip'd one is
 * decompressed into memory.
 *
 * Returns  KRY_ERR_FILE if it cannot be opened or read; KRY_ERR_PARSE "file:line: ..." for anything
 *          malformed and for imaginary parts other than 0 (kry_mtx_read_pairs), "file: byte ...: ..." for a PETSc file; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read(const char *path, kry_mtx **mtx);

/* Read a file of complex numbers as real ones, two for each: (re, im) one behind the other in vectors, the rows (re, -im) and
 * (im, re) in matrices, so that A x = b becomes the real system of twice the rows with the same solution.
 *   mtx  of coordinates of n by m, 2n by 2m (-im and im are left out where im is 0); of an array of k columns of n numbers, k
 *        columns of 2n. A Hermitian matrix becomes a symmetric one, positive definite if A is; a complex symmetric or
 *        skew-symmetric one a general one with both halves. Files of real numbers are read as well.
 * Returns  as kry_mtx_read; KRY_ERR_PARSE also for PETSc's files, for an array with one half of a matrix, for an
 *          imaginary part on the diagonal of a Hermitian matrix, and for more than 2^30 - 1 rows or columns. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_read_pairs(const char *path, kry_mtx **mtx);

/* Read bytes of a Matrix Market file in memory (plain or gzip'd); `name` stands for the file in messages. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_parse(const char *name, const void *bytes, size_t size,
                                                kry_mtx **mtx);

/* Write a file, gzip'd if its name ends in ".gz"; numbers read back to the bit.
 *   comment  one line without the leading %, or NULL
 * The file takes its name once it is whole and on the disk: on failure, or if the process is killed, a file of this name that
 * was there is as it was. Returns  KRY_ERR_FILE; KRY_ERR_ARGUMENT for a file
 * that could not be read back: values that are not finite, or not whole in an integer file, indices out of
 * range, a symmetric matrix that is not square, a pattern that is an array or skew-symmetric. */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_write(const char *path, const kry_mtx *mtx,
                                                const char *comment);
KRY_API void kry_mtx_release(kry_mtx **mtx);

/* Refuse entries at one place, of which kry_mtx_matrix says the place alone.
 *   path  the file of which mtx was read; it is read again to find the lines
 *   mtx   by coordinates; in a symmetric file (i, j) and (j, i) are one place
 * Returns  KRY_ERR_ARGUMENT naming both lines; KRY_ERR_MEMORY */
KRY_API KRY_MUST_CHECK kry_status kry_mtx_check_duplicates(const char *path, const kry_mtx *mtx);

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
/* Write a vector as kry_mtx_write_vec does, with a comment as kry_mtx_write has it. */
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
 * The file takes its name once it is whole, as that of kry_mtx_write.
 *
 * Returns  KRY_ERR_FILE; KRY_ERR_ARGUMENT for numbers that are not finite, and for indices out of range or entries given
 *          twice (message: which); KRY_ERR_UNSUPPORTED for more than 2^31 - 1 rows, columns or entries, several columns,
 *          and operators that are not stored. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_petsc_write(const char *path, const kry_mtx *mtx);
KRY_API KRY_MUST_CHECK kry_status kry_petsc_write_matrix(const char *path, const kry_op *A);
KRY_API KRY_MUST_CHECK kry_status kry_petsc_write_vec(const char *path, const kry_vec *vec);

/* Read the vector that follows the matrix of a PETSc file, as programs that write a system to one file leave it: an array of
 * one column. *mtx is NULL if the file is no PETSc file, begins with a vector, or has none behind the matrix.
 * Returns  as kry_mtx_read. */
KRY_API KRY_MUST_CHECK kry_status kry_petsc_read_rhs(const char *path, kry_mtx **mtx);

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
/*
 * Begin a share of a matrix that comes from no file: n, first, rows, device and cut are there. The caller fills in the rest, in
 * arrays of malloc, which kry_share_release frees. Collective.
 *
 *   n  rows and columns of the whole matrix. The rank's own are those of vectors of n rows that there are, else as many as its
 *      device is fast
 *
 * Returns  KRY_ERR_SHAPE if vectors of n rows are cut as grids in blocks; KRY_ERR_MEMORY, on all ranks.
 */
KRY_API KRY_MUST_CHECK kry_status kry_share_create(kry_device *device, int64_t n,
                                                   kry_share **share);
KRY_API void kry_share_release(kry_share **share);

/* ---- files that take their name once they are whole ------------------------------- */

/*
 * Begin to write a file, as kry's own functions do: until kry_output_close a file of this name that is there stays as it is.
 *
 *   path  of a file; a device or a pipe is written as it is
 *   file  [out]  the caller's, until kry_output_close in the same process
 *
 * Returns  KRY_ERR_FILE; KRY_ERR_MEMORY
 */
KRY_API KRY_MUST_CHECK kry_status kry_output_open(const char *path, FILE **file);
/*
 * End a file: it takes its name, once it is on the disk, if `st` is not negative, else nothing of it is left.
 *
 *   path  as for kry_output_open
 *   file  *file is taken over, and then NULL
 *
 * Returns  st; or KRY_ERR_FILE if the file cannot be written to its end
 */
KRY_API KRY_MUST_CHECK kry_status kry_output_close(const char *path, FILE **file, kry_status st);
/* Refuse a path that cannot be written, before the work is done whose result goes there. Returns  KRY_ERR_FILE; KRY_OK for
 * NULL */
KRY_API KRY_MUST_CHECK kry_status kry_output_check(const char *path);
/* Refuse two paths that are the same file. Returns  KRY_ERR_ARGUMENT, KRY_ERR_FILE; KRY_OK if either is NULL */
KRY_API KRY_MUST_CHECK kry_status kry_output_differs(const char *path, const char *other);

#ifdef __cplusplus
}
#endif
#endif
