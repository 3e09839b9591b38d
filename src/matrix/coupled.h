/*
 * coupled.h - a part's rows of a matrix: the entries in its own columns, as a square matrix in any
 * format, and the far ones, in columns of other parts, whose numbers a halo brings.
 */
#ifndef KRY_COUPLED_H
#define KRY_COUPLED_H

#include "operator/halo.h"
#include "sparse/sparse.h"

/* The coupled rows, those with far entries, of a matrix, one after the other. */
typedef struct kry_packed_rows {
    int64_t nnz;
    cl_mem begin, col, val; /* coupled rows + 1; nnz; nnz */
} kry_packed_rows;

/* For residuals of single numbers that are summed in double, and so cannot be made of two rounded
 * pieces: own entries once more. */
typedef struct kry_exact_rows {
    kry_packed_rows own; /* NULL: residuals are made of pieces */
    int64_t *from;       /* host, nnz: where the numbers are among all own ones */
    cl_mem surplus;      /* a number for each coupled row, in flux form: what it adds up to */
    kry_vec *b;          /* in these rows, while r is written over it */
    kry_kernel *residual, *pack;
} kry_exact_rows;

typedef struct kry_coupled {
    kry_device *dev; /* borrowed */
    kry_op *own;     /* retained */
    kry_halo *halo;  /* owned */
    kry_type type;
    unsigned traits;
    bool flux;           /* entries multiply differences */
    int64_t rows;        /* coupled ones */
    int32_t *number;     /* host, rows: which */
    cl_mem row;          /* the same */
    kry_packed_rows far; /* columns: places among the halo's numbers */
    kry_exact_rows exact;
    int64_t *place; /* host: of the halo's numbers in the whole */
    kry_kernel *add, *add_dot;
    char variant[128];
} kry_coupled;

/* Such an operator, NULL for any other. */
kry_coupled *kry_coupled_of(const kry_op *op);

/* ---- coupled_rows.c: what it is made of, and new numbers ------------------------------------- */

/* What such an operator is made of. */
typedef struct kry_coupled_rows {
    const kry_op *op;     /* of the own entries; retained */
    const kry_sparse own; /* the same on the host; looked at if exact or in flux form */
    const kry_sparse far; /* columns: places among the halo's numbers */
    const int64_t *place; /* of each of the halo's numbers in the whole (split.h); copied */
    bool exact;           /* residuals of single numbers are summed in double */
    unsigned traits;      /* of the whole matrix */
} kry_coupled_rows;

/* y := alpha (own + far) x + beta y. Takes the halo over if the call succeeds. */
kry_status kry_coupled_create(const kry_coupled_rows *rows, kry_halo **halo, kry_op **op);
/* The entries of `rows`, without numbers, into an A that has its own operator. places: of the
 * halo. */
kry_status kry_coupled_take(kry_coupled *A, const kry_coupled_rows *rows, int64_t places);
/* New numbers of far entries, and what is made of own ones beside their operator, which the caller
 * updates before. own: their rows; columns are not looked at. Does nothing for other operators. */
kry_status kry_coupled_store(kry_op *op, const kry_sparse *own, const void *far_val);
/* Entry of the operators' table. */
kry_status kry_coupled_twin(void *self, kry_type type, double factor, const double *scale,
                            kry_op **twin);

/* ---- for all operators ----------------------------------------------------------------------- */

/* The operator of A's own entries: what preconditioners that read entries take for A on a part of a
 * team; of any other operator the operator itself. */
const kry_op *kry_op_own(const kry_op *A);
/* The rows of a stored matrix on the host: own columns, and behind them those of the halo's
 * numbers. Waits. Returns  KRY_ERR_UNSUPPORTED if there is no stored matrix. */
kry_status kry_coupled_download(const kry_op *op, kry_sparse *rows);
/* Where the halo's numbers stand in the whole, borrowed; how many. */
int64_t kry_coupled_places(const kry_op *A, const int64_t **place);

#endif
