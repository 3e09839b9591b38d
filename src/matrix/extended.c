/*
 * extended.c - a part's rows of a matrix in one piece, times the part's numbers and the neighbours'
 * in one vector: a row is summed alike on any number of devices.
 *
 * Per product  2 words a row beside the matrix's own: x is copied between the neighbours' numbers
 */
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct extended {
    kry_device *dev; /* borrowed */
    kry_op *wide;    /* retained: a stored matrix, rows by all columns that are here */
    kry_halo *halo;  /* owned; NULL: none */
    kry_vec *x;      /* of all columns */
    int64_t below, own_at, rows, above;
    int64_t *place; /* host, below + above: of the halo's numbers in the whole */
    char variant[128];
} extended;

/* Copy numbers of the halo to their places in x. */
static kry_status take_halo(extended *A, int64_t from, int64_t count, int64_t to)
{
    size_t size = kry_type_size(A->x->type);

    return kry_buffer_copy(A->dev, kry_halo_numbers(A->halo), (size_t)from * size, A->x->buffer,
                           (size_t)to * size, (size_t)count * size);
}

static kry_status extend(extended *A, const kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_vec own = kry_vec_borrow(A->x);

    own.n = A->rows, own.first = A->own_at;
    if (A->halo) TRY(kry_halo_begin(A->halo, x));
    TRY(kry_vec_copy(x, &own));
    if (!A->halo) return KRY_OK;
    TRY(kry_halo_end(A->halo));
    TRY(take_halo(A, 0, A->below, A->own_at - A->below));
    TRY(take_halo(A, A->below, A->above, A->own_at + A->rows));
done:
    return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

static kry_status extended_apply(void *self, double alpha, const kry_vec *x, double beta,
                                 kry_vec *y)
{
    extended *A = self;
    kry_status st = KRY_OK;

    TRY(extend(A, x));
    TRY(A->wide->table->apply(A->wide->self, alpha, A->x, beta, y));
done:
    return st;
}

static kry_status extended_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    extended *A = self;
    kry_status st = KRY_OK;

    TRY(extend(A, x));
    TRY(kry_op_residual(A->wide, b, A->x, r));
done:
    return st;
}

static kry_status extended_diagonal(void *self, kry_vec *d)
{
    extended *A = self;
    return kry_matrix_diagonal(kry_matrix_of(A->wide), A->own_at, d);
}

/* values: of this part's entries, in the order of rows. */
static kry_status extended_update(void *self, const void *values)
{
    return kry_op_update(((extended *)self)->wide, values);
}

static void extended_describe(void *self, kry_op_info *info)
{
    extended *A = self;
    double word = (double)kry_type_size(A->x->type);

    kry_op_describe(A->wide, info);
    info->bytes_stored += word * (double)A->x->n;
    info->bytes_per_apply += 2 * word * (double)A->rows;
    info->bytes_per_direction = info->bytes_per_step = 0;
    snprintf(A->variant, sizeof A->variant, "%.90s%sreproducible", info->variant,
             *info->variant ? ", " : "");
    info->variant = A->variant;
}

static void extended_destroy(void *self)
{
    extended *A = self;
    if (!A) return;
    kry_halo_release(&A->halo);
    kry_vec_release(&A->x);
    kry_op_release(&A->wide);
    free(A->place);
    free(A);
}

static const kry_op_table extended_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "extended",
    .apply = extended_apply,
    .residual = extended_residual,
    .diagonal = extended_diagonal,
    .update = extended_update,
    .describe = extended_describe,
    .destroy = extended_destroy,
};

bool kry_op_is_extended(const kry_op *op) { return op->table == &extended_table; }

const kry_op *kry_extended_wide(const kry_op *op, kry_wide_columns *columns)
{
    const extended *A = kry_op_is_extended(op) ? op->self : NULL;
    *columns = (kry_wide_columns){ 0 };
    if (!A) return NULL;
    *columns = (kry_wide_columns){ .below = A->below, .own_at = A->own_at, .place = A->place };
    return A->wide;
}

/* ---- making one ------------------------------------------------------------------------------ */

kry_status kry_extended_create(const kry_op *wide, kry_halo **halo, const kry_wide_columns *columns,
                               kry_op **op)
{
    kry_status st = KRY_OK;
    extended *A = NULL;
    int64_t n = wide->shape.rows;

    *op = NULL;
    TRY(kry_alloc(1, sizeof *A, &A));
    A->dev = wide->dev;
    A->wide = kry_op_retain(wide);
    A->below = columns->below, A->own_at = columns->own_at, A->rows = n;
    A->above = wide->shape.cols - n - A->own_at;
    size_t beyond = (size_t)(A->below + A->above);
    TRY(kry_alloc(beyond, sizeof *A->place, &A->place));
    if (beyond) memcpy(A->place, columns->place, beyond * sizeof *A->place);
    TRY(kry_vec_create(A->dev, wide->shape.type, wide->shape.cols, 1, &A->x));
    const kry_op_shape shape = { n, n, wide->shape.type, columns->traits };
    TRY(kry_op_create(A->dev, &extended_table, A, &shape, op));
    A->halo = *halo;
    *halo = NULL;
    A = NULL;
done:
    extended_destroy(A);
    return st;
}
