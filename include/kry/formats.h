/* formats.h - sparse matrices from host arrays, and how they are stored. */
#ifndef KRY_FORMATS_H
#define KRY_FORMATS_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which part of the matrix the entries are. kry fills in the rest. */
typedef enum kry_storage {
    KRY_GENERAL = 0,    /* every entry is given */
    KRY_SYMMETRIC_HALF, /* one triangle (either, or mixed) with the diagonal: A = A' */
    KRY_SKEW_HALF       /* one triangle without a diagonal: A = -A' */
} kry_storage;

typedef enum kry_duplicates {
    KRY_REFUSE = 0, /* two entries in one place are an error that names the place */
    KRY_SUM         /* they are added up, as the contributions of finite elements have to be */
} kry_duplicates;

/* How the entries lie in memory; docs/matrices.md tells which is good for what. */
#define KRY_FORMAT_LIST(X)                                                          \
    X(AUTO, "auto")     /* what is expected, or was measured, to be fastest here */ \
    X(CSR, "csr")       /* compressed sparse rows: takes everything */              \
    X(DIA, "dia")       /* diagonals, no column indices */                          \
    X(SYMDIA, "symdia") /* the upper diagonals of a symmetric matrix */             \
    X(ELL, "ell")       /* every row as long as the longest */                      \
    X(SELL, "sell")     /* sliced ELL, SELL-C-sigma */                              \
    X(JDS, "jds")       /* jagged diagonals: rows sorted by length, no padding */   \
    X(HYB, "hyb")       /* ELL with the rest in COO */                              \
    X(COO, "coo")       /* entries with both indices */

typedef enum kry_format {
#define X(name, text) KRY_FORMAT_##name,
    KRY_FORMAT_LIST(X)
#undef X
        KRY_FORMAT_COUNT
} kry_format;

/* How the numbers of a double-precision matrix are kept. Products are computed in double. */
typedef enum kry_values {
    KRY_VALUES_COMPACT = 0, /* in single where that loses nothing, to the bit; else as given */
    KRY_VALUES_AS_GIVEN,
    KRY_VALUES_SINGLE /* rounded to single: half the bytes, for preconditioners; numbers that are not 0 and
                         below 1.2e-38, or above 3.4e38, are refused with KRY_ERR_ARGUMENT */
} kry_values;

/*
 * How a product is formed, of square matrices:
 *
 *     assembled   y_i = sum of a_ij x_j
 *     flux        y_i = s_i x_i + sum of a_ij (x_j - x_i),   s_i the sum of row i
 *
 * Where a matrix is made of flows k (x_i - x_j) - pressure in layers of very different permeability, heat,
 * circuits - its rounded rows no longer add up to zero. In single precision, with jumps of 1000 : 1 or
 * more, that spoils A x for smooth x; in flux form the error of y_i is a few roundings of the flows into
 * row i. s_i is found on the host in double: 0 where it is no more than the rounding of the row
 * (docs/matrices.md); KRY_SINGULAR alone makes none 0. A copy in single of a matrix in double has its s_i. Costs n numbers more in a product if some s_i is not 0, else nothing.
 */
typedef enum kry_form { KRY_ASSEMBLED = 0, KRY_FLUX } kry_form;

typedef struct kry_matrix_params {
    size_t struct_size;
    unsigned traits;           /* promises about A, see KRY_SYMMETRIC */
    kry_storage storage;       /* default KRY_GENERAL */
    kry_duplicates duplicates; /* default KRY_REFUSE */
    kry_format format;         /* default KRY_FORMAT_AUTO */
    kry_values values;         /* default KRY_VALUES_COMPACT */
    /* SELL; 0: what suits the device and the matrix */
    int slice;              /* rows in a slice: 4 ... 256, a power of two; CPUs: 8 */
    int sigma;              /* rows sorted by length in windows of so many; 1: not at all */
    int index_bits;         /* of a column: 8, 16 or 32; refused if they do not fit */
    double measure_seconds; /* AUTO: time the candidates for so long at most; 0: predict */
    kry_form form;          /* default KRY_ASSEMBLED; KRY_FLUX: square; kry_csr_wrap and later
                               updates then read the numbers back */
    int block;              /* unknowns of a node, numbered one after the other, 0 ... 32: 3 for
                               elasticity in space. What is made by blocks or by a graph goes by it
                               (block Jacobi, kry_labels_graph). Default 0: by the pattern */
    bool on_host;           /* for kry_mixed_create: the numbers, in double, stay on the host; all
                               else here is of the matrix in single that it makes on the device,
                               which may be without double */
} kry_matrix_params;
#define KRY_MATRIX(...) KRY_PARAMS(kry_matrix_params, __VA_ARGS__)

KRY_API const char *kry_format_name(kry_format format); /* "csr", ... */

/*
 * A format as one word, as the program's --format takes it: "csr", "sell:slice=32,sigma=256,index=16",
 * "measure", "measure:seconds=0.5"; any may add "values=single" (given, compact) and "form=flux". Changes
 * only what the word names.
 * Returns  KRY_ERR_PARSE naming the word it does not know.
 */
KRY_API KRY_MUST_CHECK kry_status kry_format_parse(const char *text, kry_matrix_params *params);

/*
 * A matrix from compressed sparse rows on the host, stored in the format that params asks for.
 *
 *   rows, cols  0 ... 2^31 - 1
 *   row_ptr     [in]  rows+1 entries, row_ptr[0] = 0, not decreasing; may pass 2^31
 *   col         [in]  row_ptr[rows] entries in [0, cols), in any order within a row
 *   val         [in]  row_ptr[rows] finite numbers of `type`
 *
 * Everything is checked once on the host. Waits.
 *
 * Returns  KRY_ERR_ARGUMENT naming the first bad row or entry; KRY_ERR_SHAPE (symmetric storage,
 *          KRY_SYMMETRIC, KRY_POSITIVE, KRY_SINGULAR or KRY_FLUX, not square); KRY_ERR_UNSUPPORTED (double on a device without it; a format that
 *          does not suit the matrix, with the bytes it would take); KRY_ERR_MEMORY;
 *          KRY_ERR_DEVICE; KRY_ERR_BUILD.
 */
KRY_API KRY_MUST_CHECK kry_status kry_csr_create(kry_device *device, kry_type type, int64_t rows,
                                                 int64_t cols, const int64_t *row_ptr,
                                                 const int32_t *col, const void *val,
                                                 const kry_matrix_params *params, kry_op **op);

/* Make a matrix, as kry_csr_create, from coordinates: nnz triples in any order, row in [0, rows), col in [0, cols). */
KRY_API KRY_MUST_CHECK kry_status kry_coo_create(kry_device *device, kry_type type, int64_t rows,
                                                 int64_t cols, int64_t nnz, const int32_t *row,
                                                 const int32_t *col, const void *val,
                                                 const kry_matrix_params *params, kry_op **op);

/*
 * How long a product with a matrix should take in each format: what KRY_FORMAT_AUTO goes by
 *
 *   type ... params  as for kry_csr_create; which format params asks for plays no part
 *   seconds          [out]  of y := A x, by kry_format; INFINITY if the format cannot or should not
 *                    take the matrix, and at KRY_FORMAT_AUTO
 *
 * Reads the matrix on the host and makes nothing.
 * Returns  as kry_csr_create; KRY_ERR_UNSUPPORTED on a team of devices
 */
KRY_API KRY_MUST_CHECK kry_status kry_csr_predict(kry_device *device, kry_type type, int64_t rows,
                                                  int64_t cols, const int64_t *row_ptr,
                                                  const int32_t *col, const void *val,
                                                  const kry_matrix_params *params,
                                                  double seconds[KRY_FORMAT_COUNT]);

/*
 * The entries of a stored matrix, rows in order and columns ascending, to the bit what was given
 * (after filling in and adding up; rounded with KRY_VALUES_SINGLE). A wrapped matrix comes back as
 * it lies in the caller's buffers. Waits.
 *
 *   row_ptr  [out]  rows+1
 *   col      [out]  as many as kry_op_describe says in nnz
 *   val      [out]  the same count, of the matrix's type
 *
 * On ranks (kry/transport.h) these are the rows of this rank, kry_op_volume says how many, with the columns of the whole.
 * Collective.
 *
 * Returns  KRY_ERR_UNSUPPORTED if op is not a matrix of one of these formats, and on ranks if it has 2^31 columns or more.
 */
KRY_API KRY_MUST_CHECK kry_status kry_matrix_read(const kry_op *op, int64_t *row_ptr, int32_t *col,
                                                  void *val);

/*
 * C := A B, of two stored matrices in any formats; C is stored in csr
 *
 *   A, B  rows-by-k and k-by-cols, of one type, on one device, not in parts. C keeps them:
 *         kry_op_update(C, NULL) makes its numbers again of those that A and B have then, at the same
 *         places, in a third of the time or less
 *   C     [out]  every place that A and B reach, also where products cancel or are 0. Without traits
 *
 * The terms of an entry are added up in the order of A's row, from 0, each product and sum rounded to the
 * type: the same bits in every run and on every device. Where the host forms the product (matrices on the
 * host device or of 2^31 entries or more; on GPUs rows that would take one group too long) singles are
 * summed in double and rounded once.
 *
 * Cost     the number of products a_ik b_kj; waits
 * Returns  KRY_ERR_SHAPE; KRY_ERR_TYPE; KRY_ERR_ARGUMENT (different devices); KRY_ERR_UNSUPPORTED (not a
 *          stored matrix, in parts on a team, wrapped with columns that do not ascend, more than 2^31 - 1
 *          entries in C); KRY_ERR_MEMORY; KRY_ERR_DEVICE; KRY_ERR_BUILD
 * Source   F. G. Gustavson, ACM Trans. Math. Softw. 4 (1978), 250-269; doi:10.1145/355791.355796
 */
KRY_API KRY_MUST_CHECK kry_status kry_csr_multiply(const kry_op *A, const kry_op *B, kry_op **C);

/*
 * C := P' A P, the coarse matrix of multigrid: P'(A P), with sums as above
 *
 *   A  n-by-n; C has its KRY_SYMMETRIC and KRY_POSITIVE, symmetric up to rounding, and positive if the
 *      columns of P are independent
 *   P  n-by-m
 */
KRY_API KRY_MUST_CHECK kry_status kry_csr_galerkin(const kry_op *A, const kry_op *P, kry_op **C);

#ifdef __cplusplus
}
#endif
#endif
