/*
 * device_csr.h - matrices in compressed rows on a device: products, transposes, and new numbers for them.
 *
 * Sums are in the order of kryi_csr_multiply, product and sum rounded each, so that the pattern and the
 * numbers in double are the same to the bit on every device and on the host. Functions that make a pattern wait for
 * one number; those that end in _again do not wait.
 */
#ifndef KRY_DEVICE_CSR_H
#define KRY_DEVICE_CSR_H

#include "matrix/matrix.h"

/* How operators keep numbers that are made in double. */
typedef struct kryi_keep {
    kry_type type; /* of their vectors */
    bool
        rounded; /* numbers of matrices for vectors in double are kept as singles, where these are in range */
    bool read; /* somebody will read entries */
} kryi_keep;

/* Columns ascend in each row, and none is there twice. */
typedef struct kryi_device_csr {
    kry_device *dev; /* borrowed; NULL: there is no matrix */
    int64_t rows, cols, nnz;
    kry_type type;
    cl_mem row_ptr;  /* rows + 1 int */
    cl_mem col;      /* nnz int */
    cl_mem val;      /* nnz of `type`; NULL: only the pattern */
    bool shares;     /* val is the buffer of the stored matrix that this is */
    cl_mem place;    /* of each number in that buffer; NULL: they lie there in order */
    int64_t formats; /* kryi_matrix.formats of that matrix when `place` was made */
    /* Entries come in whole blocks: rows tall i ... tall i + tall - 1 have the same columns, in groups of `wide` that begin at
     * multiples of it. 0: they do not, or nobody has looked */
    int tall, wide;
} kryi_device_csr;

void kryi_device_csr_release(kryi_device_csr *A); /* nothing is done for an empty one */
/* Whether a stored matrix can be had so. who: in messages.
 * Returns  KRY_ERR_UNSUPPORTED for a wrapped one whose columns do not ascend. */
kry_status kryi_device_csr_check(const char *who, const kryi_matrix *A);
/* C := the stored matrix, whose buffers it shares where it is kept so. Waits. */
kry_status kryi_device_csr_of(const kryi_matrix *A, kryi_device_csr *C);
/* C := the pattern of the stored matrix, without numbers. Waits. */
kry_status kryi_device_csr_pattern_of(const kryi_matrix *A, kryi_device_csr *C);
/* first := the pattern of A's first rows, on the host. Waits. */
kry_status kryi_device_csr_first_rows(const kryi_device_csr *A, int64_t count, kryi_csr *first);
/* slot[k] := where the matrix keeps entry k; the caller's. NULL: there. Waits. */
kry_status kryi_device_csr_read_places(const kryi_matrix *A, int32_t **slot);
/* rows := the pattern of the first rows of A if these say that each is a node of its own (kryi_csr_block), else of all.
 * Waits. */
kry_status kryi_device_csr_rows_for_nodes(const kryi_device_csr *A, kryi_csr *rows);
/* C := the numbers that A has now. */
kry_status kryi_device_csr_of_again(const kryi_matrix *A, kryi_device_csr *C);
/* to := the numbers of type `stored` at these places; place NULL: all, in their order. Does not wait. */
kry_status kryi_device_csr_gather(const kryi_device_csr *to, cl_mem place, kry_type stored,
                                  cl_mem numbers);
/* C := the pattern of A, whose buffers it shares, without numbers. */
kry_status kryi_device_csr_share(const kryi_device_csr *A, kryi_device_csr *C);
/* C := A with numbers of that type; it shares the pattern, and the numbers if the type is theirs. */
kry_status kryi_device_csr_convert(const kryi_device_csr *A, kry_type type, kryi_device_csr *C);
/* From the host, with numbers if it has them; and to the host. Both wait.
 * Returns  KRY_ERR_UNSUPPORTED if there are more than 2^31 - 1 entries */
kry_status kryi_device_csr_upload(kry_device *dev, const kryi_csr *host, kryi_device_csr *C);
kry_status kryi_device_csr_download(const kryi_device_csr *A, kryi_csr *host);
/* row_ptr := that of A, rows + 1 of them on the host. Waits. */
kry_status kryi_device_csr_read_offsets(const kryi_device_csr *A, int64_t *row_ptr);

/* ---- csr.c ---- */

/* The operator of a matrix whose buffers it shares; source: of its numbers, taken over. NULL: they do not
 * change. Waits. */
kry_status kryi_device_csr_operator(const kryi_device_csr *C, unsigned traits, kryi_source **source,
                                    kry_op **op);

/* ---- slices.c ---- */

/* An operator of C for products alone, on a GPU: its entries cannot be read, nor can they be changed but by
 * kryi_sliced_set_numbers. It does not keep C's buffers where it is faster without. keep: of what type its vectors are, C's
 * or single; and whether it keeps numbers in double as singles, unless one is too large or too small for that. Rows of
 * symmetric matrices still add up to what they did. Both wait. */
kry_status kryi_sliced_operator(const kryi_device_csr *C, kryi_keep keep, unsigned traits,
                                kry_op **op);
/* C: the pattern of op with new numbers. */
kry_status kryi_sliced_set_numbers(kry_op *op, const kryi_device_csr *C);

/* ---- spgemm.c ---- */

/* A->tall and A->wide := these, if all entries come in such blocks. Waits. */
kry_status kryi_device_csr_find_blocks(int tall, int wide, kryi_device_csr *A);
/* N := the pattern of the blocks of A, which has such. Does not wait. */
kry_status kryi_device_csr_blocks(const kryi_device_csr *A, kryi_device_csr *N);
/*
 * C := A B, in blocks if both have them. Entries that cancel are kept. lower: the numbers above the diagonal may be anything, for the caller knows them.
 * Cost     the products a_ik b_kj three times, on CPUs twice, `again` once; besides C on CPUs some columns of B, on GPUs
 *          as many int as A has entries
 * Returns  KRY_ERR_UNSUPPORTED if C has more than 2^31 - 1 entries
 */
kry_status kryi_device_csr_product(const kryi_device_csr *A, const kryi_device_csr *B, bool lower,
                                   kryi_device_csr *C);
/* *nnz: the entries that C has. Cost: the products once, without numbers. Waits. */
kry_status kryi_device_csr_product_count(const kryi_device_csr *A, const kryi_device_csr *B,
                                         int64_t *nnz);
kry_status kryi_device_csr_product_again(const kryi_device_csr *A, const kryi_device_csr *B,
                                         bool lower, kryi_device_csr *C);

/* ---- transpose.c ---- */

/* T := A'. from: nnz int, the place in A of each entry of T. */
kry_status kryi_device_csr_transpose(const kryi_device_csr *A, kryi_device_csr *T, cl_mem *from);
kry_status kryi_device_csr_transpose_again(const kryi_device_csr *A, cl_mem from,
                                           kryi_device_csr *T);
/* row_ptr := 0, length[0], length[0] + length[1], ...; of n lengths. Waits, but for total NULL. */
kry_status kryi_device_csr_offsets(kry_device *dev, int64_t n, cl_mem length, cl_mem *row_ptr,
                                   int64_t *total);
/* All of C but its entries, of whose rows these are the lengths: row_ptr, and room for columns and numbers. C has dev, rows and type;
 * `what` it is, for messages. Waits. */
kry_status kryi_device_csr_make_rows(const char *what, cl_mem length, kryi_device_csr *C);
/* A buffer of so many int. */
static inline kry_status kryi_ints_create(kry_device *dev, int64_t count, cl_mem *buffer)
{
    return kryi_buffer_create(dev, (uint64_t)count * sizeof(cl_int), buffer);
}
/* CPUs: how many groups share the rows of a matrix if each has an int of scratch for each column. */
int64_t kryi_device_csr_groups(const kry_device *dev, int64_t rows, int64_t cols, int64_t nnz);
/* Groups of a launch over the rows of A whose work-items need so many numbers of `size` bytes each (cl/common/scratch.clh);
 * *room: bytes for all of them. */
int64_t kryi_device_csr_groups_with_room(const kryi_device_csr *A, int64_t numbers, size_t size,
                                         size_t *room);

#endif
