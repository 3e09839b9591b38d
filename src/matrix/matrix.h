/*
 * matrix.h - what every stored format shares: one operator, made of stages.
 *
 * A format analyses a matrix on the host and leaves two things: stages, each a kernel file with
 * the structure its kernels read, and for every entry the slot its number goes to. Everything
 * else is the same for all of them and done in matrix.c: products, new values, reading back.
 */
#ifndef KRY_MATRIX_H
#define KRY_MATRIX_H

#include "operator/direction.h"
#include "sparse/entries.h"

enum {
    KRY_STAGE_ARGS = 10,
    KRY_STAGE_DEFINES = 192,
    KRY_MAX_STAGES = 3,
    KRY_UNROLL =
        4 /* UNROLL of csr.cl and coo.cl: entries that a work-item of a GPU loads at once */
};

/* What kernels are made of a format; NULL: CPUs have no direction. */
typedef enum kry_product {
    KRY_APPLY,
    KRY_RESIDUAL,
    KRY_APPLY_DOT,
    KRY_APPLY_DIRECTION,
    KRY_PRODUCTS
} kry_product;

/* One launch of a product. The first stage writes every row, later ones add (ADDS). */
typedef struct kry_stage {
    const char *stem;                /* of cl/<stem>.cl */
    char defines[KRY_STAGE_DEFINES]; /* that its format compiles it with, each after a blank */
    bool adds;                       /* a later stage */
    bool no_values;                  /* its kernels do not take `val` */
    bool fuses;                      /* the direction of a Krylov step goes into the product */
    int64_t groups;                  /* to launch */
    int64_t sum_groups;              /* the same where partial sums are left */
    int count;                       /* arguments of its structure, in the kernels' order */
    union {
        cl_int number;
        cl_mem buffer; /* retained */
    } value[KRY_STAGE_ARGS];
    bool is_buffer[KRY_STAGE_ARGS];
    kry_kernel *kernel[KRY_PRODUCTS];
} kry_stage;

typedef struct kry_matrix kry_matrix;

typedef struct kry_format_table {
    kry_format format;
    /* Entries below the diagonal share the slot of their mirror image, which is marked ~slot, and
     * must be equal to it. */
    bool shared;
    /* Analyse `host`, fill in stages, slots and variant; A->params are the caller's.
     * Returns  KRY_ERR_UNSUPPORTED, with the bytes it would take, if the format does not suit the
     * matrix. */
    kry_status (*build)(kry_matrix *A, const kry_sparse *host);
    /* NULL: by slots. */
    kry_status (*diagonal)(kry_matrix *A, kry_vec *d);
} kry_format_table;

extern const kry_format_table kry_csr_format, kry_dia_format, kry_symdia_format, kry_ell_format,
    kry_sell_format, kry_hyb_format, kry_coo_format;

struct kry_matrix {
    const kry_format_table *format;
    kry_device *dev; /* borrowed: the operator holds it */
    kry_op_shape shape;
    int64_t nnz;
    kry_matrix_params params; /* it was made with, but for AUTO */
    const char *chosen;       /* by whom the format was; static */
    bool wrapped;             /* the buffers are the caller's */

    kry_stage stage[KRY_MAX_STAGES];
    int stages;
    double structure_bytes; /* of the structure that a product reads */
    int64_t rewritten;      /* rows of y that a later stage reads and writes once more */
    char variant[96];       /* for kry_op_describe */

    kry_type stored; /* of the numbers in val: the vectors' type, or single for less */
    cl_mem val;      /* `slots` numbers of `stored` */
    int64_t slots;   /* padding included */
    int32_t *slot;   /* nnz: where entry k of the sorted matrix goes; NULL: to slot k */
    cl_mem surplus;  /* flux form: what each row adds up to, in the vectors' type; NULL: all 0 */
    cl_mem diagonal; /* rows: the slot of the diagonal entry, or -1; made when first asked for */

    kry_entry_map map; /* for new values: where the entries that were given are kept */
    kry_sparse sorted; /* the pattern; val: room for new values that come in another order */
};

/* Products are of differences. */
static inline bool kry_matrix_in_flux_form(const kry_matrix *A)
{
    return A->params.form == KRY_FLUX;
}

/* ---- for formats: stages ---------------------------------------------------------------- */

/* The next stage; room for it is certain. The rest is what it is compiled with, as for printf. */
kry_stage *kry_matrix_stage(kry_matrix *A, const char *stem, const char *defines, ...);
void kry_stage_int(kry_stage *s, int64_t number);                        /* below 2^31 */
kry_status kry_stage_buffer(kry_matrix *A, kry_stage *s, cl_mem buffer); /* retained */
/* Copy an array of the structure to the device, for this stage. Waits. */
kry_status kry_stage_array(kry_matrix *A, kry_stage *s, const void *array, size_t count,
                           size_t size);
/* A work-item for each of n rows on GPUs; the profile's chunks on CPUs. */
void kry_stage_rows(const kry_matrix *A, kry_stage *s, int64_t n);
/* A group for each of n pieces of work, as many at once as the device holds. */
void kry_stage_pieces(const kry_matrix *A, kry_stage *s, int64_t n);
/* The stage that adds up rows cut into pieces; `rows` triples: row, from, to. */
kry_status kry_matrix_split_stage(kry_matrix *A, const cl_int *split, int64_t rows, cl_mem partial);

/* CPU: cut 0 ... count-1 into shares of equal work, where begin[i + 1] - begin[i] is that of i
 * besides itself; share has pieces+1 entries. */
void kry_equal_shares(const int32_t *begin, int64_t count, int32_t *share, int64_t pieces);
int64_t kry_cpu_pieces(const kry_device *dev, int64_t work);

/* ---- for formats: slots ------------------------------------------------------------------ */

/* Refuse a format whose `slots` numbers with `index_bytes` of structure are out of proportion to
 * CSR, or past 2^31; else allocate the slot map. */
kry_status kry_matrix_slots(kry_matrix *A, double slots, double index_bytes);

static inline int64_t kry_matrix_slot(const kry_matrix *A, int64_t k)
{
    int64_t slot = A->slot ? A->slot[k] : k;
    return slot < 0 ? ~slot : slot;
}
/* ---- for formats made of parts of others ------------------------------------------------------- */

/* ELL of the first `width` entries of each row; slots from 0 on. */
kry_status kry_ell_stage(kry_matrix *A, const kry_sparse *host, int64_t width);
int64_t kry_ell_stride(int64_t rows);
/* The arguments of sell.cl that only CPUs take, and its groups; col: -1 for padding. */
kry_status kry_sell_cpu_arrays(kry_matrix *A, kry_stage *s, const int32_t *slice_ptr,
                               int64_t slices, int height, const int32_t *col);
/* COO of what follows the first `skip` entries of each row; slots from `first` on. */
kry_status kry_coo_stage(kry_matrix *A, const kry_sparse *host, int64_t skip, int64_t first);

/* ---- making one ---------------------------------------------------------------------------- */

/* The parameters of every function that makes a matrix; create.c. */
kry_status kry_matrix_check_params(const char *who, kry_device *dev, kry_type type, int64_t rows,
                                   int64_t cols, const kry_matrix_params *params);
/* The operator of a matrix in the format that params asks for. Takes host and map over if the call
 * succeeds. */
kry_status kry_matrix_from_host(kry_device *dev, kry_sparse *host, kry_entry_map *map,
                                const kry_matrix_params *params, kry_op **op);
/* The same in one format, never AUTO, and without what new values need from host. */
kry_status kry_matrix_in_format(kry_device *dev, const kry_sparse *host,
                                const kry_matrix_params *params, kry_op **op);
/* An empty matrix, and the operator around it once it is built; takes *A over. */
kry_status kry_matrix_new(kry_device *dev, const kry_format_table *format,
                          const kry_matrix_params *params, const kry_sparse *size, int64_t nnz,
                          kry_matrix **A);
kry_status kry_matrix_finish(kry_matrix **A, kry_op **op);
void kry_matrix_destroy(void *A);
/* Entry of the operators' table; matrix_convert.c: the converted copy, factor S A S, or *twin's numbers
 * again. scale: of rows and columns, rows numbers; NULL: ones. */
kry_status kry_matrix_twin(void *self, kry_type type, double factor, const double *scale,
                           kry_op **twin);
/* d := entries (i, first + i), by slots; `first` is the same in all calls. */
kry_status kry_matrix_diagonal(kry_matrix *A, int64_t first, kry_vec *d);
/* The matrix on the host; a wrapped one in any order. Waits. */
kry_status kry_matrix_download(const kry_matrix *A, kry_sparse *host);
/* The matrix behind an operator, or NULL. */
kry_matrix *kry_matrix_of(const kry_op *op);

/* ---- stage.c, values.c: the parts of making one ----------------------------------------------- */

/* The kernels of all stages for numbers stored as `stored`; surplus: if rows have any. */
kry_status kry_matrix_kernels(kry_matrix *A, kry_type stored, bool surplus);
/* What a stage is compiled with, for kernels of a format's own in the same program. */
void kry_stage_defines(const kry_matrix *A, const kry_stage *s, kry_type stored, bool surplus,
                       char text[KRY_STAGE_DEFINES]);
/* Numbers in the order of the sorted matrix to the device; row_ptr: of that matrix, only read in
 * flux form. On failure the old ones stay. */
kry_status kry_matrix_store(kry_matrix *A, const char *who, const int64_t *row_ptr,
                            const void *sorted);
/* A takes other sums of rows than those of its own entries; NULL: all are 0. Waits. */
kry_status kry_matrix_set_surplus(kry_matrix *A, const void *sums);

/* ---- flux.c: what rows add up to, for products of differences --------------------------------- */

/* sums: what each row of own and far (NULL: none) entries adds up to, to be freed; NULL if that is 0 for
 * all of them. layout: for messages. */
kry_status kry_flux_sums(const char *who, const kry_layout *layout, const kry_sparse *own,
                         const kry_sparse *far, void **sums);

/* ---- choose.c: format AUTO -------------------------------------------------------------------- */

kry_status kry_choose(kry_device *dev, const kry_sparse *host, const kry_matrix_params *params,
                      kry_op **op);
/* Seconds of a product in each format, INFINITY if the format cannot or should not take the matrix; and
 * a hash of the size and a sample of the pattern: other patterns seldom have the same one. predict.c */
kry_status kry_predict(const kry_device *dev, const kry_sparse *host,
                       const kry_matrix_params *params, double seconds[KRY_FORMAT_COUNT],
                       uint64_t *hash);
/* What the formats would make of a matrix, without making it. */
typedef struct kry_sell_size {
    double slots;       /* padding included */
    double index_bytes; /* of a column, from a sample */
    bool sorted;        /* by length */
} kry_sell_size;
kry_status kry_sell_estimate(const kry_device *dev, const kry_sparse *host,
                             const kry_matrix_params *params, kry_sell_size *size);
kry_status kry_hyb_estimate(const kry_sparse *host, int64_t *width, int64_t *tail);
/* What numbers are stored as: their own type, or single. */
kry_type kry_stored_type(kry_type type, kry_values values, const void *val, int64_t count);

/* ---- runs.c: the runs that csr.cl and coo.cl walk -------------------------------------- */

typedef struct kry_runs {
    int64_t count;
    int64_t *cut;   /* count+1: the first entry of each run */
    int32_t *row;   /* count+1: the row it is in */
    int32_t *split; /* triples: row, first and past last run that add to it */
    int64_t splits;
} kry_runs;

/* Cut the entries into runs of whole rows that suit the device; a row that is too long for that
 * is cut itself. */
kry_status kry_runs_create(const kry_device *dev, const int64_t *row_ptr, int64_t rows,
                           kry_runs *runs);
void kry_runs_release(kry_runs *runs);

#endif
