/*
 * csr.h - a sparse matrix on the host, in compressed rows, and what is made of one.
 *
 * An operation reads its operands and makes a new matrix, which the caller releases; if it fails,
 * the result is empty. Its work is linear in the entries, rows and columns at hand, unless it says
 * otherwise, and it fails only with KRY_ERR_MEMORY. A matrix that is written as a literal borrows
 * its arrays and is not released.
 */
#ifndef KRY_CSR_H
#define KRY_CSR_H

#include "base/base.h"

typedef struct kryi_csr {
    int64_t rows, cols;
    kry_type type;    /* of val */
    int64_t *row_ptr; /* rows + 1: row i has the entries row_ptr[i] ... row_ptr[i + 1] - 1 */
    int32_t *col;     /* of each entry; ascending in a row, none twice, unless said otherwise */
    void *val;        /* a number of `type` for each entry; NULL: only the pattern is known */
} kryi_csr;

static inline int64_t kryi_csr_nnz(const kryi_csr *A) { return A->row_ptr[A->rows]; }
static inline int64_t kryi_row_length(const kryi_csr *A, int64_t i)
{
    return A->row_ptr[i + 1] - A->row_ptr[i];
}
int64_t kryi_longest_row(const kryi_csr *A); /* entries */

/* Room for nnz entries; all arrays are zero. */
kry_status kryi_csr_create(int64_t rows, int64_t cols, kry_type type, int64_t nnz, kryi_csr *A);
void kryi_csr_release(kryi_csr *A);
kry_status kryi_csr_copy(const kryi_csr *A, kryi_csr *B);         /* B := A */
kry_status kryi_csr_copy_pattern(const kryi_csr *A, kryi_csr *B); /* B has no numbers */
/* to := the numbers that stand at these places, to be freed. */
kry_status kryi_numbers_at(kry_type type, const void *numbers, const int64_t *place, int64_t count,
                           void **to);
/* Convert the numbers of A to another type. */
kry_status kryi_csr_convert(kryi_csr *A, kry_type type);

/* ---- sparse.c: the same entries at other places ---------------------------------------------- */

/* T := A'. Entries of A in any order come out with columns ascending, equal ones as they stood. */
kry_status kryi_csr_transpose(const kryi_csr *A, kryi_csr *T);
/* Let columns ascend in each row, equal ones as they stood. */
kry_status kryi_csr_sort(kryi_csr *A);

/* Which entries of A belong to a part. */
typedef bool kryi_csr_keep(const void *user, int64_t row, int64_t col);
/* Rows, columns and entries of a matrix, the rows and columns in an order of their own. */
typedef struct kryi_csr_cut {
    int64_t rows, first;  /* rows first ... first + rows - 1, */
    const int32_t *row;   /* or of all rows in this order; NULL: in that of the matrix */
    int64_t cols;         /* of the part */
    const int32_t *place; /* a column's number in the part, -1: left out; NULL: its own */
    kryi_csr_keep *keep; /* false of entries that are left out, by A's row and column; NULL: none */
    const void *user;    /* for keep */
} kryi_csr_cut;

/* B := that part of A; the entries of a row stay in A's order.
 *   from  [out]  of each entry of B its number in A, to be freed; NULL: not wanted */
kry_status kryi_csr_part(const kryi_csr *A, const kryi_csr_cut *cut, kryi_csr *B, int64_t **from);
/* Leave entries out of A whose columns have place -1, and give the others these columns: in place, whose arrays keep their
 * length. cols: as many there are from now on. */
void kryi_csr_renumber(kryi_csr *A, int64_t cols, const int32_t *place);
/* M := [A B], of one type; the entries of A's rows come first. */
kry_status kryi_csr_beside(const kryi_csr *A, const kryi_csr *B, kryi_csr *M);
/* B := the entries of A for which keep(user, row, column) is true, in A's order. */
kry_status kryi_csr_select(const kryi_csr *A, kryi_csr_keep *keep, const void *user, kryi_csr *B);

/* ---- pairs.c: entries and their mirror images ------------------------------------------------ */

/* The number of the first entry of row i in column j or later; if there is none, that of the entry after the row.
 * Cost: O(log of the length of row i) */
int64_t kryi_csr_from(const kryi_csr *A, int64_t i, int64_t j);
/* The number of the entry (i, j), -1 if there is none; at the same cost. */
int64_t kryi_csr_find(const kryi_csr *A, int64_t i, int64_t j);
/* The value a_ij of a matrix with numbers, 0 if there is no entry; at the same cost. */
double kryi_csr_entry(const kryi_csr *A, int64_t i, int64_t j);
/* Call visit for all places (i, j) and (j, i), i > j, of a square A of which at least one has an entry;
 * lower and upper are the entries' numbers, -1: none. Ends when visit returns false.
 * Cost: a kryi_csr_find for each entry; so is that of the next two. */
typedef bool kryi_csr_visit(void *user, int64_t i, int64_t j, int64_t lower, int64_t upper);
void kryi_csr_pairs(const kryi_csr *A, kryi_csr_visit *visit, void *user);
/* Whether A is square and equal to A', to the bit. */
bool kryi_csr_is_symmetric(const kryi_csr *A);

/* Where a matrix is not symmetric. */
typedef struct kryi_csr_mismatch {
    int64_t i, j;        /* i > j; i < 0: nowhere */
    double lower, upper; /* a_ij and a_ji */
} kryi_csr_mismatch;

/* Make an A in double that is symmetric but for rounding symmetric to the bit: upper entries take the
 * number of the lower ones, entries without a mirror image are left out. A has a positive diagonal.
 *   tolerance  |a_ij - a_ji| <= tolerance sqrt(a_ii a_jj) is rounding
 *   mismatch   [out]  the first pair that is not; A is then of no use */
kry_status kryi_csr_symmetrise(kryi_csr *A, double tolerance, kryi_csr_mismatch *mismatch);
enum { KRY_BLOCK_MOST = 32 }; /* rows of a node */
/* How many consecutive rows belong to a node, by the pattern: the unknowns of a node of finite elements have
 * entries in the same columns. The largest number up to KRY_BLOCK_MOST of which all groups of rows with one
 * pattern are multiples; 1 if there are no such groups.
 *   rows  of the matrix, of which A may be the first ones: a node has no more */
int kryi_csr_block(const kryi_csr *A, int64_t rows);
/* G := the graph of a square A's nodes, `block` consecutive rows each; the last may have fewer */
kry_status kryi_csr_node_graph(const kryi_csr *A, int block, kryi_csr *G);
/* G := the pattern of A + A', without the diagonal: the graph of a square A. */
kry_status kryi_csr_graph(const kryi_csr *A, kryi_csr *G);

/* ---- rcm.c: an order of rows and columns in which entries are near the diagonal ---------------- */

/* order[k] := the node that comes k-th, by reverse Cuthill-McKee, part by part of a graph that is not connected.
 * graph: a symmetric pattern without a diagonal (kryi_csr_graph).
 * Cost     some walks over the graph; the same order in every run */
kry_status kryi_csr_rcm(const kryi_csr *graph, int32_t *order);
/* The mean of |i - j| over the entries of a square A, of which row i and column i go to place[i]; NULL: stay. */
double kryi_csr_mean_bandwidth(const kryi_csr *A, const int32_t *place);

/* ---- null_parts.c: what a square A in double, columns ascending, maps to zero by the look of its rows ---- */

/* Parts that no entry connects with the rest and whose rows all add up to zero, and rows without an entry that is not zero. */
typedef struct kryi_null_parts {
    int64_t parts, empty;
    int32_t
        *of; /* of each row: its part; behind these the empty rows, in their order; -1: neither */
    bool *
        one_sided; /* of each of these: columns do not add up to zero, too, or the empty row's column is not empty */
} kryi_null_parts;

/* The sums of the entries of a row, or of a column. */
typedef struct kryi_row_total {
    double sum, size; /* of entries, of their absolute values */
    int64_t count;    /* of entries that are not zero */
} kryi_row_total;
/* Row i's, of arrays of rows. */
kryi_row_total kryi_row_total_of(const int64_t *row_ptr, const double *val, int64_t i);
/* Whether the sum is zero but for rounding: of the entries, by up to `rounding` times their size, and of the additions. */
bool kryi_row_total_is_zero(const kryi_row_total *t, double rounding);

/* rounding: of a number; rows add up to zero but for so much of their size, and the rounding of their additions. */
kry_status kryi_csr_null_parts(const kryi_csr *A, double rounding, kryi_null_parts *N);
void kryi_null_parts_release(kryi_null_parts *N);
/* Make A regular where these are all that makes it singular: a diagonal entry of each part twice, and ones for empty rows.
 * If A x = b has a solution, that of the pinned A is one. */
kry_status kryi_csr_pin(double rounding, kryi_csr *A);

/* ---- fill.c: the places of incomplete factors ------------------------------------------------ */

/*
 * B := the places of the incomplete factors L and U of a square A that allow so many levels of fill, without
 * numbers: those of A, which are of level 0, and every place (i, j) to which the elimination of some k brings
 * level(i, k) + level(k, j) + 1 <= level. Those of a matrix with symmetric places are symmetric.
 *   who    names the public function in messages
 *   level  0 ... 254
 *
 * Cost     the multiplications of the factorization, on one thread
 * Returns  KRY_ERR_MEMORY, with the bytes, at more than kryi_fill_most entries: one row of n entries brings n^2
 * Source   Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), algorithm 10.5
 */
kry_status kryi_csr_fill(const char *who, const kryi_csr *A, int level, kryi_csr *B);
/* The entries that fill may bring a matrix of nnz to. */
static inline int64_t kryi_fill_most(int64_t nnz) { return 100 * nnz + 1000000; }
/* The numbers of A into B, in double, which has all places of A and zeros elsewhere. */
void kryi_csr_spread(const kryi_csr *A, kryi_csr *B);

/* ---- triangle.c: strict triangles T, lower or upper, of unit triangular matrices I + T, in double ---- */

/* Rows that do not depend on each other: those of a level need only x of levels before it. */
typedef struct kryi_level_sets {
    int32_t count;
    int32_t *begin; /* count + 1: level l has the rows row[begin[l]] ... row[begin[l + 1] - 1], */
    int32_t *row;   /* ascending */
} kryi_level_sets;

kry_status kryi_level_sets_find(const kryi_csr *T, bool upper, kryi_level_sets *sets);
void kryi_level_sets_release(kryi_level_sets *sets);
/*
 * M := numbers on the places of T for which (I + M) (I + T) = I there: the incomplete inverse. Each row solves a
 * triangular system of its own entries.
 *
 * Source  H. Anzt, T. K. Huckle, J. Braeckle, J. Dongarra, Incomplete sparse approximate inverses for parallel
 *         preconditioning, Parallel Comput. 71 (2018), doi:10.1016/j.parco.2017.10.003
 */
kry_status kryi_triangle_invert(const kryi_csr *T, bool upper, kryi_csr *M);

/* ---- multiply.c: products -------------------------------------------------------------------- */

/*
 * C := A B, of two matrices in double or of two patterns. Entries that cancel are kept.
 *
 * An entry is summed in the order of A's row. A' B: transpose A first.
 * Cost    the products a_ik b_kj twice, on several threads; as much memory as C, three times if rows are long
 * Source  F. G. Gustavson, ACM Trans. Math. Softw. 4 (1978), 250-269
 */
kry_status kryi_csr_multiply(const kryi_csr *A, const kryi_csr *B, kryi_csr *C);
/* The entries of A diag(d) B at the places that C has, into C's numbers; all in double.
 *   d  NULL: ones. A term is (a_ik b_kj) d_k, so that K D K' is symmetric to the bit. */
kry_status kryi_csr_multiply_within(const kryi_csr *A, const double *d, const kryi_csr *B,
                                    kryi_csr *C);

/* ---- inverse_norm.c --------------------------------------------------------------------------- */

/* x := A^-1 x, or (A')^-1 x; n numbers */
typedef kry_status kryi_host_solve(void *user, double *x, bool transposed);
/* *norm := an estimate from below of the 1-norm of A^-1, by up to 11 calls of `solve`.
 * Returns  KRY_ERR_MEMORY, or what `solve` returned */
kry_status kryi_inverse_norm(int64_t n, kryi_host_solve *solve, void *user, double *norm);

#endif
