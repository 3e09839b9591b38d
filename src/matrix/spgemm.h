/*
 * spgemm.h - matrices in compressed rows on a device: products, transposes, and new numbers for them.
 *
 * Sums are in the order of kry_sparse_multiply, product and sum rounded each, so that the pattern and the
 * numbers in double are the same to the bit on every device and on the host. Functions that make a pattern wait for
 * one number; those that end in _again do not wait.
 */
#ifndef KRY_SPGEMM_H
#define KRY_SPGEMM_H

#include "matrix/matrix.h"

/* How operators keep numbers that are made in double. */
typedef struct kry_keep {
    kry_type type; /* of their vectors */
    bool
        rounded; /* numbers of matrices for vectors in double are kept as singles, where these are in range */
    bool read; /* somebody will read entries */
} kry_keep;

/* Columns ascend in each row, and none is there twice. */
typedef struct kry_csr {
    kry_device *dev; /* borrowed; NULL: there is no matrix */
    int64_t rows, cols, nnz;
    kry_type type;
    cl_mem row_ptr;  /* rows + 1 int */
    cl_mem col;      /* nnz int */
    cl_mem val;      /* nnz of `type`; NULL: only the pattern */
    bool shares;     /* val is the buffer of the stored matrix that this is */
    cl_mem place;    /* of each number in that buffer; NULL: they lie there in order */
    int64_t formats; /* kry_matrix.formats of that matrix when `place` was made */
} kry_csr;

void kry_csr_release(kry_csr *A);
/* Whether a stored matrix can be had so. who: in messages.
 * Returns  KRY_ERR_UNSUPPORTED for a wrapped one whose columns do not ascend. */
kry_status kry_csr_check(const char *who, const kry_matrix *A);
/* C := the stored matrix, whose buffers it shares where it is kept so. Waits. */
kry_status kry_csr_of(const kry_matrix *A, kry_csr *C);
/* The same without numbers. Waits. */
kry_status kry_csr_pattern_of(const kry_matrix *A, kry_csr *C);
/* first := the pattern of its first rows, on the host. Waits. */
kry_status kry_csr_first_rows(const kry_matrix *A, int64_t count, kry_sparse *first);
/* slot[k] := where the matrix keeps entry k; the caller's. NULL: there. Waits. */
kry_status kry_csr_read_places(const kry_matrix *A, int32_t **slot);
/* rows := the pattern of the first rows of A if these say that each is a node of its own (kry_sparse_block_by), else of all.
 * Waits. */
kry_status kry_csr_rows_for_nodes(const kry_matrix *A, kry_sparse *rows);
/* C := the numbers that A has now. */
kry_status kry_csr_of_again(const kry_matrix *A, kry_csr *C);
/* to := the numbers of type `stored` at these places; place NULL: all, in their order. Does not wait. */
kry_status kry_csr_gather(const kry_csr *to, cl_mem place, kry_type stored, cl_mem numbers);
/* C := the pattern of A, whose buffers it shares, without numbers. */
kry_status kry_csr_share(const kry_csr *A, kry_csr *C);
/* C := A with numbers of that type; it shares the pattern, and the numbers if the type is theirs. */
kry_status kry_csr_convert(const kry_csr *A, kry_type type, kry_csr *C);
/* From the host, with numbers if it has them; and to the host. Both wait. */
kry_status kry_csr_upload(kry_device *dev, const kry_sparse *host, kry_csr *C);
kry_status kry_csr_download(const kry_csr *A, kry_sparse *host);
/* row_ptr := that of A, rows + 1 of them on the host. Waits. */
kry_status kry_csr_read_offsets(const kry_csr *A, int64_t *row_ptr);

/* ---- csr.c ---- */

/* The operator of a matrix whose buffers it shares; source: of its numbers, taken over. NULL: they do not
 * change. Waits. */
kry_status kry_csr_operator(const kry_csr *C, unsigned traits, kry_source **source, kry_op **op);

/* ---- slices.c ---- */

/* An operator of C for products alone, on a GPU: its entries cannot be read, nor can they be changed but by
 * kry_sliced_set_numbers. It does not keep C's buffers where it is faster without. keep: of what type its vectors are, C's
 * or single; and whether it keeps numbers in double as singles, unless one is too large or too small for that. Rows of
 * symmetric matrices still add up to what they did. Both wait. */
kry_status kry_sliced_operator(const kry_csr *C, kry_keep keep, unsigned traits, kry_op **op);
/* C: the pattern of op with new numbers. */
kry_status kry_sliced_set_numbers(kry_op *op, const kry_csr *C);

/* ---- spgemm.c ---- */

/*
 * C := A B. Entries that cancel are kept. lower: the numbers above the diagonal may be anything, for the caller knows them.
 * Cost     the products a_ik b_kj three times, `again` once; besides C on CPUs some columns of B, on GPUs
 *          as many int as A has entries
 * Returns  KRY_ERR_UNSUPPORTED if C has more than 2^31 - 1 entries
 */
kry_status kry_csr_product(const kry_csr *A, const kry_csr *B, bool lower, kry_csr *C);
/* *nnz: the entries that C has. Cost: the products once, without numbers. Waits. */
kry_status kry_csr_product_count(const kry_csr *A, const kry_csr *B, int64_t *nnz);
kry_status kry_csr_product_again(const kry_csr *A, const kry_csr *B, bool lower, kry_csr *C);

/* ---- transpose.c ---- */

/* T := A'. from: nnz int, the place in A of each entry of T. */
kry_status kry_csr_transpose(const kry_csr *A, kry_csr *T, cl_mem *from);
kry_status kry_csr_transpose_again(const kry_csr *A, cl_mem from, kry_csr *T);
/* row_ptr := 0, length[0], length[0] + length[1], ...; of n lengths. Waits, but for total NULL. */
kry_status kry_csr_offsets(kry_device *dev, int64_t n, cl_mem length, cl_mem *row_ptr,
                           int64_t *total);
/* All of C but its entries, of whose rows these are the lengths: row_ptr, and room for columns and numbers. C has dev, rows and type;
 * `what` it is, for messages. Waits. */
kry_status kry_csr_make_rows(const char *what, cl_mem length, kry_csr *C);
/* CPUs: how many groups share the rows of a matrix if each has an int of scratch for each column. */
int64_t kry_csr_groups(const kry_device *dev, int64_t rows, int64_t cols, int64_t nnz);

#endif
