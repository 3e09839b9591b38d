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

/* How the second level, Q, joins the first, M. */
typedef enum kry_deflation_variant {
    KRY_VARIANT_AUTO = 0, /* KRY_ADEF2 with a preconditioner, KRY_BNN without */
    KRY_ADEF2, /* z := (I - Q A) M r + Q r: one coarse solve, stable in single precision too */
    KRY_DEF1,  /* P A x = P b, the paper's: in single precision it fails below about 1e-6 */
    KRY_BNN    /* balancing: two coarse solves, symmetric for any start */
} kry_deflation_variant;

/* Where products with A Z come from. */
typedef enum kry_deflation_az {
    KRY_AZ_AUTO = 0, /* whichever moves fewer bytes */
    KRY_AZ_STORED,   /* a sparse matrix of the rows that meet two sub-domains, or a boundary */
    KRY_AZ_PRODUCT   /* products with A; nothing is stored */
} kry_deflation_az;

typedef struct kry_deflation_params {
    size_t struct_size;
    /* The vectors Z, by one of these. Default: `block` with `phase` on grids, else `graph`, with
     * about 4096 vectors. */
    const int32_t *labels;   /* n numbers of sub-domains, 0 ... k-1, each in use; host, copied */
    const char *labels_file; /* the same from a file; kry_labels_read */
    const kry_vec *vectors;  /* n-by-k, linearly independent, copied; more than 64 need CLBlast */
    const kry_vec
        *modes; /* n-by-m, copied, beside any choice of sub-domains: vector (s, j) is mode j
                                 on sub-domain s, so that m vectors belong to each. For rigid body
                                 modes of elasticity, a near null space. NULL: one mode, of ones.
                                 Those that depend on others in a sub-domain are left out there */
    const char *modes_file; /* the same from a Matrix Market array of n rows and m columns */
    int64_t stripes;        /* so many stripes of consecutive unknowns */
    int64_t graph;          /* so many parts of the matrix's graph, by METIS */
    int64_t block;          /* cells along each side of square or cubic blocks; grid operators */
    int64_t recycle; /* so many vectors that solves with this deflation leave, 1 ... 16: none before
                               the first one, docs/deflation.md; one level as long as there are none */
    bool phase; /* split blocks by phases (kry_labels_levels of the coefficient), or without blocks
                   take the phases themselves; grid operators */
    kry_deflation_variant variant;
    kry_deflation_az az;
    kry_coarse_method coarse;
} kry_deflation_params;
#define KRY_DEFLATION(...) KRY_PARAMS(kry_deflation_params, __VA_ARGS__)

/*
 * Q := Z E^-1 Z',  E = Z'A Z: the correction from a subspace; kry_pcg_params.deflation takes it.
 *
 *   A       symmetric positive definite, or KRY_SINGULAR, or with a null space attached. Kept
 *   params  NULL: the defaults
 *
 * Piecewise constant Z is never stored as a matrix. E and A Z come from products with A, so they are
 * as accurate as those. kry_op_update(D, NULL) makes them again after a change of A. Waits.
 *
 * Cost     beside the first level one coarse solve per iteration, and per unknown 4 words and a label
 *          of 16 bits (32 for more than 65536 sub-domains); A Z
 * Returns  KRY_ERR_ARGUMENT for k > n, a block of no size, labels with gaps or out of range, vectors
 *          that are zero; KRY_ERR_SINGULAR for linearly dependent ones (message: which);
 *          KRY_ERR_SHAPE, KRY_ERR_TYPE; KRY_ERR_UNSUPPORTED for blocks without a grid, recycle with DEF1
 *          or on the device `host`, and without METIS or CLBlast where they are needed.
 * Source   R. Gupta, C. Vuik, C. W. J. Lemmens, Deflated preconditioned conjugate gradient on the
 *          GPU. docs/deflation.md
 */
KRY_API KRY_MUST_CHECK kry_status kry_deflation_create(const kry_op *A,
                                                       const kry_deflation_params *params,
                                                       kry_op **D);

/*
 * Take other sub-domains in a deflation that solvers use: where interfaces move, or A has changed
 *
 *   A       what D was made for
 *   params  as kry_deflation_create takes them; the variant stays as it is
 *   D       [in,out]  solvers with D go on with the new vectors; no need to update these. On failure
 *           unchanged
 *
 * Returns  as kry_deflation_create; KRY_ERR_ARGUMENT if D is no deflation of this A. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_deflation_update(const kry_op *A,
                                                       const kry_deflation_params *params,
                                                       kry_op *D);

/*
 * Read deflation from one word, as option strings take it: "auto", "stripes:K", "blocks:B",
 * "blocks:B+phase", "phase", "graph:K", "labels:FILE" or "recycle:K"; behind commas "variant=auto|a-def2|def1|bnn",
 * "az=auto|stored|product", "coarse=auto|dense|cholesky" and "modes=FILE". Changes only what the word
 * names; labels_file and modes_file point into the copy of `text` in `room`.
 *
 * Returns  KRY_ERR_PARSE naming the word that is unknown.
 */
KRY_API KRY_MUST_CHECK kry_status kry_deflation_parse(const char *text, char *room, size_t size,
                                                      kry_deflation_params *params);

/*
 * ---- labels: which sub-domain each unknown belongs to ----
 * Deflation vector j is one where labels[i] == j and zero elsewhere. All on the host; labels count
 * from 0, and every one below the count is in use. On failure labels and count are unchanged.
 * Source   R. Gupta, C. Vuik, C. W. J. Lemmens: stripes; J. M. Tang, C. Vuik, New variants of deflation
 *          techniques for pressure correction in bubbly flow problems, J. Numer. Anal. Ind. Appl.
 *          Math. 2 (2007): blocks, levels, and blocks split by them.
 */

/*
 * k stripes of consecutive unknowns, whose sizes differ by one at most
 *   k       1 ... n
 *   labels  [out] n
 * Returns  KRY_ERR_ARGUMENT for any other k.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_stripes(int64_t n, int64_t k, int32_t *labels);

/*
 * Blocks of a grid, x first
 *   size    cells along each axis; size[2] = 0: two axes
 *   block   cells of a block along each axis, > 0; the last blocks may be smaller
 *   phase   [in]  a number for each cell, say of its material, by which blocks are split; NULL: none
 *   labels  [out] one for each cell, numbered as they first appear
 *   count   [out] labels
 * Returns  KRY_ERR_ARGUMENT naming the axis; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_blocks(const int64_t size[3], const int64_t block[3],
                                                    const int32_t *phase, int32_t *labels,
                                                    int64_t *count);

/*
 * Levels of a positive field, such as a coefficient with jumps: in ascending order, each value that
 * is more than `jump` times the one before starts a level
 *   field   [in]  n, finite and > 0
 *   jump    > 1; 0: 4
 *   labels  [out] n: 0 where the field is least
 *   count   [out] levels
 * Returns  KRY_ERR_ARGUMENT naming the first bad value; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_levels(int64_t n, const double *field, double jump,
                                                    int32_t *labels, int64_t *count);

/*
 * k parts of a matrix's graph, of about the same size and with few entries between them, by METIS.
 * Where a node has several unknowns, parts of the graph of nodes, with a label for each component
 *   A       a stored matrix or a grid operator, n-by-n; its pattern is made symmetric. Nodes are those
 *           of KRY_MATRIX(.block); if it does not say, by the pattern: consecutive rows with entries
 *           in the same columns, if there are k nodes at least
 *   k       1 ... nodes
 *   labels  [out] n; the same in every run
 *   count   [out] labels: the unknowns of a node times the parts that METIS filled, which are k, or
 *           fewer on small graphs
 * Returns  KRY_ERR_UNSUPPORTED if kry was built without METIS, if METIS cannot cut the graph, or for
 *          operators without entries;
 *          KRY_ERR_ARGUMENT; KRY_ERR_SHAPE; KRY_ERR_MEMORY.
 * Source   G. Karypis, V. Kumar, Multilevel k-way partitioning scheme for irregular graphs, J.
 *          Parallel Distrib. Comput. 48 (1998)
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_graph(const kry_op *A, int64_t k, int32_t *labels,
                                                   int64_t *count);

/*
 * Labels from a file: n whole numbers between white space ('#' or '%' starts a comment line), plain
 * or gzip'd; or an n-by-1 Matrix Market file, where missing entries are 0
 *   labels  [out] n
 *   count   [out] labels
 * Returns  KRY_ERR_FILE; KRY_ERR_PARSE "file:line: ..." or, for what kry_labels_check finds, "file:
 *          ..."; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_read(const char *path, int64_t n, int32_t *labels,
                                                  int64_t *count);

/*
 * Check that no label is negative and none below the largest is unused
 *   labels  [in]  n
 *   count   [out] labels
 * Returns  KRY_ERR_ARGUMENT naming the first bad index, or the first label that is not used;
 *          KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_labels_check(int64_t n, const int32_t *labels,
                                                   int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
