/*
 * matrix.h - what every stored format shares: one operator, made of stages.
 *
 * A format analyses a matrix on the host and leaves two things: stages, each of them a kernel file
 * with the arrays that its kernels read, and for every entry its slot, the place of its number on the
 * device. All else is the same for all formats: products, new values, reading back.
 */
#ifndef KRY_MATRIX_H
#define KRY_MATRIX_H

#include "operator/direction.h"
#include "operator/op.h"
#include "sparse/entries.h"

enum {
    KRY_STAGE_ARGS = 10,
    KRY_STAGE_DEFINES = 192,
    KRY_STAGE_REST = KRY_DIRECTION_ARGS + 6, /* arguments besides the structure and the numbers */
    KRY_MAX_STAGES = 3,
    KRY_UNROLL =
        4 /* entries that a work-item of a GPU loads at once in coo.cl, and in csr.cl at least */
};

/* The kernels of a format's file. CPUs launch the direction of diagonals alone. */
typedef enum kryi_product {
    KRY_APPLY,
    KRY_RESIDUAL,
    KRY_APPLY_DOT,
    KRY_RELAX,
    KRY_APPLY_DIRECTION,
    KRY_PRODUCTS
} kryi_product;

/* One launch of a product. The first stage writes every row, later ones add. Its kernels take `value`, the numbers and, in the
 * first stage, A->surplus (NULL: none). */
typedef struct kryi_stage {
    const char *stem; /* the file is cl/formats/<stem>.cl */
    /* Defines that the format compiles it with, each after a blank; kryi_stage_defines adds to them. */
    char defines[KRY_STAGE_DEFINES - 64];
    /* Slices: bits of a stored column, 8, 16 or 32; and whether rows were sorted, so that perm[] says which they are. */
    int column_bits;
    bool sorted;
    int diagonals;  /* dia: so many its kernels for one vector are compiled for; 0: any number */
    bool pairs;     /* sell: a work-item takes two rows of a product with one vector */
    bool adds;      /* a later stage */
    bool no_values; /* its kernels do not take `val` */
    bool fuses;     /* its apply_direction is faster than two launches */
    bool by_vector; /* it has no kernels for several vectors at once */
    /* GPUs: rows that a work-item takes; 0: lanes that share a row read its entries side by side */
    int rows_each;
    int64_t groups;     /* to launch */
    int64_t sum_groups; /* the same where partial sums are left */
    int count;          /* values: the first arguments of its kernels */
    union {
        cl_int number;
        cl_mem buffer; /* retained */
    } value[KRY_STAGE_ARGS];
    bool is_buffer[KRY_STAGE_ARGS];
    kryi_kernel *kernel[KRY_PRODUCTS];
} kryi_stage;

typedef struct kryi_matrix kryi_matrix;
typedef struct kryi_transposed kryi_transposed; /* matrix.c */
struct kryi_device_csr;                         /* device_csr.h */
struct kryi_given;                              /* given.h */
struct kryi_seen;                               /* given.h */

typedef struct kryi_format_table {
    /* Entries below the diagonal share the slot of their mirror image, which is marked ~slot, and
     * must be equal to it. */
    bool shared;
    /* Analyse given->host, fill in stages, slots and variant; A->params are the caller's.
     * Returns  KRY_ERR_UNSUPPORTED, with the bytes it would take, if the format does not suit the
     * matrix. */
    kry_status (*build)(kryi_matrix *A, const struct kryi_given *given);
    /* Build the format of a matrix on the device: stages, A->slots and variant; *place := a buffer with the slot of each entry,
     * NULL: they lie in order. It says that it has by A->placed; else only the host can, and nothing has happened.
     * NULL: so it is with all. Waits. */
    kry_status (*place)(kryi_matrix *A, const struct kryi_given *given, cl_mem *place);
    /* NULL: the diagonal is found by slots. */
    kry_status (*diagonal)(kryi_matrix *A, kry_vec *d);
    /* C->row_ptr, col and place := the entries, without the host; *all false: some are zero, and cannot be told
     * from places without an entry, so nothing is made. NULL: the host knows them. Waits. */
    kry_status (*entries)(const kryi_matrix *A, struct kryi_device_csr *C, bool *all);
} kryi_format_table;

/* Numbers that do not come from the host. */
typedef struct kryi_source {
    /* kry_op_update without values: compute them again; NULL: they are the caller's */
    kry_status (*renew)(struct kryi_source *self, kryi_matrix *A);
    void (*destroy)(struct kryi_source *self); /* NULL: static */
} kryi_source;

struct kryi_matrix {
    const kryi_format_table *format;
    kry_device *dev; /* borrowed: the operator holds it */
    kry_op_shape shape;
    int64_t nnz;
    kry_matrix_params params; /* the caller's, with the format that was chosen */
    const char *chosen;       /* who chose it, as in kry_op_info; static */
    /* The library chose the format, and may take another one when the numbers no longer suit it. */
    bool format_is_free;
    int64_t formats;     /* how often the format has changed since the matrix was made */
    kry_op *op;          /* the operator that this is; borrowed */
    kryi_source *source; /* owned; NULL: the host has given the numbers */

    kryi_stage stage[KRY_MAX_STAGES];
    int stages;
    double structure_bytes; /* of the arrays that a product reads beside the numbers */
    int64_t rewritten;      /* rows of y that a later stage reads and writes once more */
    char variant[96];       /* for kry_op_describe */

    kry_type stored; /* of the numbers in val: the vectors' type, or single for less */
    cl_mem val;      /* `slots` numbers of `stored` */
    int64_t slots;   /* padding included */
    int32_t *slot;   /* nnz: where entry k of the sorted matrix goes; NULL: to slot k */
    cl_mem
        surplus; /* what multiplies x_i beside the entries of row i, in the vectors' type; NULL: nothing.
                        Flux form: what the row adds up to; rounded numbers: what rounding took from it */
    cl_mem diagonal; /* rows: the slot of the diagonal entry, or -1; made when first asked for */

    /* The device has made the format, and the host knows neither slots nor pattern: */
    bool placed;
    int64_t longest; /* row */
    cl_mem there;    /* of diagonals: which places have an entry, a bit each (place.cl) */

    kryi_transposed *transposed; /* a copy of A'; owned; NULL: nobody has asked for it */

    cl_mem
        beside; /* at_once.c, CPUs: x with the numbers of a row side by side; NULL: never needed yet */
    size_t beside_bytes;

    kryi_entry_map map; /* from the entries as they were given to the sorted ones */
    kryi_csr
        sorted; /* the pattern; val: room to sort new values in, NULL if they come sorted; col, and
                          row_ptr of rows that all fit in runs: NULL if only the device has them */
};

/* Whether the buffers are the caller's (kry_csr_wrap). */
static inline bool kryi_matrix_is_wrapped(const kryi_matrix *A)
{
    return A->source && !A->source->renew;
}

/* Entries of the longest row. The host does not know rows that the library has made. */
static inline int64_t kryi_matrix_longest_row(const kryi_matrix *A)
{
    return A->sorted.row_ptr ? kryi_longest_row(&A->sorted) : A->longest;
}

/* ---- for formats: stages ---------------------------------------------------------------- */

/* Begin the next stage, which is compiled with `defines`, a format of printf. */
kryi_stage *kryi_matrix_stage(kryi_matrix *A, const char *stem, const char *defines, ...);
void kryi_stage_int(kryi_stage *s, int64_t number); /* below 2^31 */
/* The buffer is retained; NULL: kernels look whether there is one, or do not read it. */
kry_status kryi_stage_buffer(kryi_matrix *A, kryi_stage *s, cl_mem buffer);
/* Copy an array to the device as the stage's next argument. Waits. */
kry_status kryi_stage_array(kryi_matrix *A, kryi_stage *s, const void *array, size_t count,
                            size_t size);
/* Launch a work-item for `each` of n rows on GPUs, a group for each chunk on CPUs. */
void kryi_stage_rows(const kryi_matrix *A, kryi_stage *s, int64_t n, int each);
/* Launch a group for each of n pieces of work, but no more than the device holds at once. */
void kryi_stage_pieces(const kryi_matrix *A, kryi_stage *s, int64_t n);
/* The stage that adds up rows cut into pieces, of which there are some; `rows` triples: row, from, to. */
kry_status kryi_matrix_split_stage(kryi_matrix *A, const cl_int *split, int64_t rows,
                                   cl_mem partial);

/* CPUs: into how many pieces to cut so many entries and rows. */
int64_t kryi_cpu_pieces(const kry_device *dev, int64_t work);

/* ---- for formats: slots ------------------------------------------------------------------ */

/* Refuse a format whose `slots` numbers with `index_bytes` of structure are out of proportion to
 * CSR, or past 2^31; else A->slots is known. */
kry_status kryi_matrix_slots(kryi_matrix *A, double slots, double index_bytes);

static inline int64_t kryi_matrix_slot(const kryi_matrix *A, int64_t k)
{
    int64_t slot = A->slot ? A->slot[k] : k;
    return slot < 0 ? ~slot : slot;
}

/* ---- for formats made of parts of others ------------------------------------------------------- */

/* ELL of the first `width` entries of each row; slots from 0 on. */
kry_status kryi_ell_stage(kryi_matrix *A, const kryi_csr *host, int64_t width);
int64_t kryi_ell_stride(int64_t rows);
/* The stage, without its last argument, the columns. */
kryi_stage *kryi_ell_begin(kryi_matrix *A, int64_t width);
/* sell.c: C of the parameters, or the one that suits the device. */
kry_status kryi_sell_height(const kry_device *dev, kry_type type, const kry_matrix_params *p,
                            int *height);
/* Rows are sorted in windows of so many slices if unsorted ones are not full and if that is worth it. */
enum { KRY_SELL_WINDOWS = 2, KRY_SELL_SAMPLES = 64 };
extern const int kryi_sell_window[KRY_SELL_WINDOWS];
bool kryi_sell_is_full(double slots, int64_t nnz);
bool kryi_sell_is_worth(double slots, double unsorted);
/* How many bits suit columns that are up to so far from the least one beside them; and those that were asked for, 0:
 * these. */
int kryi_sell_bits(const kry_device *dev, kry_type type, double slots, int64_t farthest);
kry_status kryi_sell_choose_bits(const kryi_matrix *A, int64_t farthest, int *bits);
/* The arguments of a stage of sell.cl. FULL is read by CPUs alone, PERM if rows were sorted, BASE where columns are narrow. */
enum {
    KRY_SELL_ROWS,
    KRY_SELL_SHIFT,
    KRY_SELL_FLUX,
    KRY_SELL_SHARE,
    KRY_SELL_FULL,
    KRY_SELL_SLICE_PTR,
    KRY_SELL_PERM,
    KRY_SELL_COL,
    KRY_SELL_BASE
};
/* The stage and the variant, with the arguments before SHARE; on GPUs also those before SLICE_PTR. */
kry_status kryi_sell_stage(kryi_matrix *A, int height, int sigma, int bits, kryi_stage **stage);
/* These arguments of a stage that has none. */
kry_status kryi_sell_begin(kryi_matrix *A, kryi_stage *s, int height);
/* How far apart the columns side by side are at most if these rows, -1: none, are packed to the left. */
int64_t kryi_sell_farthest(const kryi_csr *host, const int32_t *rows, int height);
/* COO of what follows the first `skip` entries of each row; slots from `first` on. */
kry_status kryi_coo_stage(kryi_matrix *A, const kryi_csr *host, int64_t skip, int64_t first);

/* ---- entries of the formats' tables ------------------------------------------------------------ */

kry_status kryi_csr_build(kryi_matrix *A, const struct kryi_given *given);
kry_status kryi_csr_diagonal(kryi_matrix *A, kry_vec *d);
enum { KRY_CSR_ROW_PTR = 2, KRY_CSR_COL = 3 }; /* arguments of the stage */
/* The row pointers and columns on the device, of a matrix in csr. */
static inline void kryi_csr_buffers(const kryi_matrix *A, cl_mem *row_ptr, cl_mem *col)
{
    *row_ptr = A->stage[0].value[KRY_CSR_ROW_PTR].buffer;
    *col = A->stage[0].value[KRY_CSR_COL].buffer;
}
kry_status kryi_dia_build(kryi_matrix *A,
                          const struct kryi_given *given); /* these are symdia's, too */
kry_status kryi_dia_diagonal(kryi_matrix *A, kry_vec *d);
/* dia.c: the stage of diagonals with these offsets, ascending, and the variant. */
kry_status kryi_dia_stage(kryi_matrix *A, const int32_t *offset, int64_t count);
kry_status kryi_dia_entries(const kryi_matrix *A, struct kryi_device_csr *C, bool *all);
kry_status kryi_ell_build(kryi_matrix *A, const struct kryi_given *given);
kry_status kryi_sell_build(kryi_matrix *A, const struct kryi_given *given);
kry_status kryi_jds_build(kryi_matrix *A, const struct kryi_given *given);
kry_status kryi_hyb_build(kryi_matrix *A, const struct kryi_given *given);
kry_status kryi_coo_build(kryi_matrix *A, const struct kryi_given *given);

/* ---- making one ---------------------------------------------------------------------------- */

/* Check what every function that makes a matrix is given. */
kry_status kryi_matrix_check_params(const char *who, kry_device *dev, kry_type type, int64_t rows,
                                    int64_t cols, const kry_matrix_params *params);
/* choose.c: the operator of a matrix that the library made for itself, on one device; params says how its entries are given. They are copied, and
 * not compared with their mirror images. */
kry_status kryi_matrix_create(kry_device *dev, const kryi_csr *A, const kry_matrix_params *params,
                              kry_op **op);
/* choose.c: the operator of a sorted matrix with general storage and finite numbers, on one device. It takes A's pattern
 * over if the call succeeds. */
kry_status kryi_matrix_take(kry_device *dev, kryi_csr *A, const kry_matrix_params *params,
                            kry_op **op);
/* choose.c: the operator of `given`, which stays the caller's. Where the host has made it, it does not know its pattern yet:
 * it takes no new values and cannot be read. */
kry_status kryi_matrix_of_given(kry_device *dev, struct kryi_given *given,
                                const kry_matrix_params *params, kry_op **op);
/* A matrix in params->format without stages or numbers; and once it has them the operator, which takes *A
 * over. */
kry_status kryi_matrix_new(kry_device *dev, const kry_matrix_params *params, const kryi_csr *size,
                           int64_t nnz, kryi_matrix **A);
kry_status kryi_matrix_finish(kryi_matrix **A, kry_op **op);
void kryi_matrix_destroy(void *A);
/* A gets the format and the numbers of B, of the same entries, and B those of A. The operator, the entries as they were
 * given and the source of A's numbers stay A's. */
void kryi_matrix_exchange(kryi_matrix *A, kryi_matrix *B);
/* choose.c: A takes numbers that its format cannot hold, sorted, in another one that the library chooses. On failure
 * the old format and its numbers stay. Waits.
 *   refusal  what A's own format has said; returned where the library may not change it, or need not
 */
kry_status kryi_matrix_change_format(kryi_matrix *A, const char *who, const void *sorted,
                                     kry_status refusal);
/* Entry of the operators' table. */
kry_status kryi_matrix_convert(void *self, kry_type type, double factor, const double *scale,
                               kry_op **copy);
/* d := entries (i, first + i), by slots; `first` is the same in all calls. */
kry_status kryi_matrix_diagonal(kryi_matrix *A, int64_t first, kry_vec *d);
/* The matrix on the host; a wrapped one in any order. Waits. */
kry_status kryi_matrix_download(const kryi_matrix *A, kryi_csr *host);
/* The matrix behind an operator, or NULL. */
static inline kryi_matrix *kryi_matrix_of(const kry_op *op)
{
    return op->fused->is_stored_matrix ? op->self : NULL;
}
/* The entries of a matrix on one device; see kry_matrix_read. */
kry_status kryi_matrix_read_entries(const kryi_matrix *A, int64_t *row_ptr, int32_t *col,
                                    void *val);
/* matrix_parts.c: how many rows belong to a node, as kry_matrix_params.block says, also of a matrix in parts; 0: it
 * does not say, or there is no matrix. */
int kryi_matrix_block(const kry_op *op);
/* kryi_matrix_block of an A with these rows; where nobody said, by their pattern. */
int kryi_matrix_node(const kry_op *A, const kryi_csr *rows);

/* ---- stage.c, values.c: the parts of making one ----------------------------------------------- */

/* Get the kernels of all stages for numbers stored as `stored`. */
kry_status kryi_matrix_kernels(kryi_matrix *A, kry_type stored);
/* All defines of a stage, for the format's own kernels in the same program. */
void kryi_stage_defines(const kryi_matrix *A, const kryi_stage *s, kry_type stored,
                        char text[KRY_STAGE_DEFINES]);
/* The arguments of a kernel of a stage: its structure, the numbers and `rest`. Returns how many. */
size_t kryi_stage_args(const kryi_matrix *A, const kryi_stage *s, const kry_arg *rest, size_t count,
                       kry_arg args[KRY_STAGE_ARGS + 2 + KRY_STAGE_REST]);
/* The type in which numbers are stored: their own, or single. */
kry_type kryi_stored_type(kry_type type, kry_values values, const struct kryi_seen *seen);
/* Returns  KRY_ERR_ARGUMENT naming the first number that is too large for single, or not 0 and too small. */
kry_status kryi_values_fit_single(const char *who, int64_t nnz, const double *v);
/* Send the numbers of the sorted matrix to the device, which are finite. row_ptr: its rows, read in flux form only. On
 * failure the old numbers stay. */
kry_status kryi_matrix_store(kryi_matrix *A, const char *who, const int64_t *row_ptr,
                             const void *sorted, const struct kryi_seen *seen);
/* Take numbers in the order of slots that are on the device; their buffer may become the matrix's own. On failure the old
 * numbers stay. */
kry_status kryi_matrix_replace(kryi_matrix *A, kry_type stored, cl_mem numbers);
/* Fail with the message of entry k, whose mirror image has another number. */
kry_status kryi_matrix_refuse_mirror(const kryi_matrix *A, const char *who, int64_t k);
/* Flux form: what the rows of a converted copy add up to is what those of A do, times the factor. Of its
 * entries, which were rounded, small sums would be lost. Waits. */
kry_status kryi_matrix_convert_surplus(const kryi_matrix *A, double factor, kryi_matrix *copy);
/* Replace what the rows add up to, where other parts hold some of their entries. NULL: 0. Waits. */
kry_status kryi_matrix_set_surplus(kryi_matrix *A, const void *sums);

/* ---- matrix_persistent.c ----------------------------------------------------------------------- */

/* The entry of kryi_op_fused. */
kry_status kryi_matrix_make_resident(void *self, const kry_op *M, kryi_resident_cg **R);

/* ---- narrowed.c -------------------------------------------------------------------------------- */

/* Whether A is a stored matrix in double of which there can be a copy for vectors in single: assembled, on one
 * device. */
bool kryi_matrix_narrows(const kry_op *A);
/*
 * The same matrix for vectors in single, with which it shares all that it can: where A's numbers are kept as singles
 * these, too. Its entries cannot be read. A is retained.
 *
 *   rest  a single for each row, which multiplies x_i beside the entries: what rounding takes from them; retained.
 *         NULL: nothing
 */
kry_status kryi_matrix_narrowed(const kry_op *A, cl_mem rest, kry_op **narrow);
/* After new numbers of A. */
kry_status kryi_matrix_narrowed_again(kry_op *narrow, cl_mem rest);
/* The bytes that a narrowed matrix takes beside A; 0: op is none. */
double kryi_matrix_narrowed_bytes(const kry_op *op);

/* ---- at_once.c --------------------------------------------------------------------------------- */

/* Entries of the operators' tables: products with several vectors, r := b - A x, and y := x + c d .* (b - A x). */
kry_status kryi_matrix_apply_block(void *self, double alpha, const kry_vec *x, double beta,
                                   kry_vec *y);
kry_status kryi_matrix_residual_block(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r);
kry_status kryi_matrix_relax_block(void *self, double c, const kry_vec *d, const kry_vec *b,
                                   const kry_vec *x, kry_vec *y);

/* ---- flux.c ------------------------------------------------------------------------------------ */

/* Add up each row of own and far (NULL: none) entries of A. sums: to be freed; NULL if all are 0. */
kry_status kryi_flux_sums(const char *who, const kryi_matrix *A, const kryi_csr *own,
                          const kryi_csr *far, void **sums);
/* Read the numbers of a wrapped matrix back, and take what its rows add up to. Waits. */
kry_status kryi_flux_sums_of_wrapped(const char *who, kryi_matrix *A);

/* ---- inspect.c --------------------------------------------------------------------------------- */

/* Look for an entry of a square matrix, columns ascending in each row, that differs from its mirror
 * image by more than rounding; or else for a diagonal entry that is not positive. Of large matrices that are not symmetric
 * not all entries are compared: some rows at a time, and of the first of these that have such an entry it is the one that
 * differs most. */
kry_status kryi_matrix_inspect(const kryi_csr *A, kryi_finding *found);
/* The share of the largest entry that counts as rounding: mirror images may have been rounded apart, or written with few digits. */
double kryi_inspect_rounding(kry_type type);
/* Name the pair that is furthest apart, if that is more than `rounding`; else found->what is KRY_FOUND_NOTHING. An entry without
 * a mirror image is compared with 0, and of equal pairs the first is named. Columns ascend in each row. Not all entries of
 * a large matrix are compared if a batch of rows has such a pair: it is the one that differs most there.
 * *symmetric: whether A is, to the bit, pattern and numbers. */
kry_status kryi_mirrors_compare(const kryi_csr *A, double rounding, kryi_finding *found,
                                bool *symmetric);

/* Whether mirror images of entries are in the caches when they are looked for, by a sample of rows; for tests. */
bool kryi_near_suits(const kryi_csr *A);

/* predict.c: bytes per second of a copy: measured by kry tune, or what a compute unit usually comes with. */
double kryi_device_bandwidth(const kry_device *dev);
/* predict.c: as kry_csr_predict. given->diagonal and given->slices are found on the way.
 *   hash  [out]  of the size and a sample of the pattern, by which decisions are kept: it takes a quarter of the time.
 *         NULL: not wanted */
kry_status kryi_predict(const kry_device *dev, struct kryi_given *given,
                        const kry_matrix_params *params, double seconds[KRY_FORMAT_COUNT],
                        uint64_t *hash);
/* How large a matrix would be in sell. */
typedef struct kryi_sell_size {
    double slots;       /* padding included */
    double index_bytes; /* of a column, from a sample */
    bool sorted;        /* by length */
} kryi_sell_size;
kry_status kryi_sell_estimate(const kry_device *dev, struct kryi_given *given,
                              const kry_matrix_params *params, kryi_sell_size *size);
/* How hyb would cut it. longest: entries of the longest row */
kry_status kryi_hyb_estimate(const struct kryi_given *given, int64_t longest, int64_t *width,
                             int64_t *tail);

/* ---- runs.c: the runs of entries that a group of csr.cl or coo.cl takes ------------------------ */

typedef struct kryi_runs {
    int64_t count;
    int64_t *cut;   /* count+1: the first entry of each run */
    int32_t *row;   /* count+1: the row that it begins in, with the sign bit if it begins inside */
    int32_t *split; /* triples: row, first and past last run that add to it */
    int64_t splits;
} kryi_runs;

/* Cut the entries into runs of whole rows that suit the device, on GPUs of at most `unroll` entries for each work-item of a
 * group; a row that is too long for that is cut itself. */
kry_status kryi_runs_create(const kry_device *dev, const int64_t *row_ptr, int64_t rows, int unroll,
                            kryi_runs *runs);
void kryi_runs_release(kryi_runs *runs);

#endif
