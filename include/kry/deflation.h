/*
 * deflation.h - sub-domain deflation: which vectors to deflate, and how.
 */
#ifndef KRY_DEFLATION_H
#define KRY_DEFLATION_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How systems with the coarse matrix E = Z'AZ, one unknown for each deflation vector, are solved. */
typedef enum kry_coarse_method {
    KRY_COARSE_AUTO = 0, /* what is expected to be faster on the device */
    KRY_COARSE_DENSE,    /* explicit inverse, k^2 numbers on the device, a product per solve */
    KRY_COARSE_CHOLESKY  /* sparse factor on the host; waits in each solve */
} kry_coarse_method;

/*
 * ---- labels: which sub-domain each unknown belongs to ----
 *
 * Deflation vector j is one where labels[i] == j and zero elsewhere. All on the host; labels count
 * from 0, and every one below the count is in use. On failure labels and count are unchanged.
 *
 * Source   R. Gupta, C. Vuik, C. W. J. Lemmens: stripes; J. M. Tang, C. Vuik, New variants of deflation
 *          techniques for pressure correction in bubbly flow problems, J. Numer. Anal. Ind. Appl.
 *          Math. 2 (2007): blocks, levels, and blocks split by them.
 */

/*
 * k stripes of consecutive unknowns, whose sizes differ by one at most
 *
 *   k       1 ... n
 *   labels  [out] n
 *
 * Returns  KRY_ERR_ARGUMENT for any other k.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_stripes(int64_t n, int64_t k, int32_t *labels);

/*
 * Blocks of a grid, x first
 *
 *   size    cells along each axis; size[2] = 0: two axes
 *   block   cells of a block along each axis, > 0; the last blocks may be smaller
 *   phase   [in]  any number for each cell, say of its material: a block is split by it; NULL: not
 *   labels  [out] as many as there are cells; those that exist are numbered as they first appear
 *   count   [out] labels
 *
 * Returns  KRY_ERR_ARGUMENT naming the axis; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_blocks(const int64_t size[3], const int64_t block[3],
                                                    const int32_t *phase, int32_t *labels,
                                                    int64_t *count);

/*
 * Levels of a positive field, such as a coefficient with jumps: of its values in ascending order,
 * each that is more than `jump` times the one before starts a level
 *
 *   field   [in]  n, finite and > 0
 *   jump    > 1; 0: 4
 *   labels  [out] n: 0 where the field is least
 *   count   [out] levels
 *
 * Returns  KRY_ERR_ARGUMENT naming the first bad value; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_levels(int64_t n, const double *field, double jump,
                                                    int32_t *labels, int64_t *count);

/*
 * k parts of a matrix's graph, of about the same size and with few entries between them, by METIS
 *
 *   A       a stored matrix or a grid operator, n-by-n; its pattern is made symmetric
 *   k       1 ... n
 *   labels  [out] n; the same in every run
 *   count   [out] parts that METIS filled: k, or fewer on small graphs
 *
 * Waits.
 * Returns  KRY_ERR_UNSUPPORTED if kry was built without METIS, or for operators without entries;
 *          KRY_ERR_ARGUMENT; KRY_ERR_SHAPE; KRY_ERR_MEMORY.
 * Source   G. Karypis, V. Kumar, Multilevel k-way partitioning scheme for irregular graphs, J.
 *          Parallel Distrib. Comput. 48 (1998)
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_graph(const kry_op *A, int64_t k, int32_t *labels,
                                                   int64_t *count);

/*
 * Labels from a file: n whole numbers between white space ('#' or '%' starts a comment line), plain
 * or gzip'd; or an n-by-1 Matrix Market file, where entries that are not given are 0
 *
 *   labels  [out] n
 *   count   [out] labels
 *
 * Returns  KRY_ERR_FILE; KRY_ERR_PARSE "file:line: ..." or, for what kry_labels_check finds, "file:
 *          ..."; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_read(const char *path, int64_t n, int32_t *labels,
                                                  int64_t *count);

/*
 * Whether labels are whole: none negative, none left out
 *
 *   labels  [in]  n
 *   count   [out] labels
 *
 * Returns  KRY_ERR_ARGUMENT naming the first bad index, or the first label that is not used;
 *          KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_check(int64_t n, const int32_t *labels,
                                                   int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
