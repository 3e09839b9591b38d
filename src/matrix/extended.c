/*
 * extended.c - a part's rows of a matrix as one matrix. A product first copies the part's x and the
 * neighbours' numbers into one vector; so a row is summed in the same order on any number of devices.
 */
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include <stdio.h>
#include <stdlib.h>

static int64_t rows_of(const kryi_extended *A) { return A->wide->shape.rows; }

/* Copy `count` numbers of the halo to their places in x. */
static kry_status take_halo(kryi_extended *A, int64_t from, int64_t count, int64_t to)
{
    size_t size = kry_type_size(A->x->type);

    return kryi_buffer_copy(A->wide->dev, kryi_halo_numbers(A->halo), (size_t)from * size,
                            A->x->buffer, (size_t)to * size, (size_t)count * size);
}

static kry_status extend(kryi_extended *A, const kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_vec own = kryi_vec_borrow(A->x);

    own.n = rows_of(A), own.first = A->own_at;
    if (A->halo) TRY(kryi_halo_begin(A->halo, x));
    TRY(kry_vec_copy(x, &own));
    if (!A->halo) return KRY_OK;
    TRY(kryi_halo_end(A->halo));
    TRY(take_halo(A, 0, A->below, A->own_at - A->below));
    TRY(take_halo(A, A->below, kryi_halo_count(A->halo) - A->below, A->own_at + rows_of(A)));
done:
    return st;
}

static kry_status extended_apply(void *self, double alpha, const kry_vec *x, double beta,
                                 kry_vec *y)
{
    kryi_extended *A = self;
    kry_status st = KRY_OK;

    TRY(extend(A, x));
    TRY(A->wide->table->apply(A->wide->self, alpha, A->x, beta, y));
done:
    return st;
}

static kry_status extended_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    kryi_extended *A = self;
    kry_status st = KRY_OK;

    TRY(extend(A, x));
    TRY(kry_op_residual(A->wide, b, A->x, r));
done:
    return st;
}

static kry_status extended_diagonal(void *self, kry_vec *d)
{
    kryi_extended *A = self;
    return kryi_matrix_diagonal(kryi_matrix_of(A->wide), A->own_at, d);
}

/* values: of this part's entries, in the order of rows. */
static kry_status extended_update(void *self, const void *values)
{
    return kry_op_update(((kryi_extended *)self)->wide, values);
}

static void extended_describe(void *self, kry_op_info *info)
{
    kryi_extended *A = self;
    double word = (double)kry_type_size(A->x->type);

    kry_op_describe(A->wide, info);
    info->bytes_stored += word * (double)A->x->n;
    info->bytes_per_apply += 2 * word * (double)rows_of(A);
    info->bytes_per_direction = info->bytes_per_step = 0;
    snprintf(A->variant, sizeof A->variant, "%.90s%sreproducible", info->variant,
             *info->variant ? ", " : "");
    info->variant = A->variant;
}

static void release(kryi_extended *A)
{
    kryi_halo_release(&A->halo);
    kry_vec_release(&A->x);
    kry_op_release(&A->wide);
    free(A->place);
}

static void extended_destroy(void *self)
{
    release(self);
    free(self);
}

static const kry_op_table extended_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "reproducible matrix",
    .apply = extended_apply,
    .residual = extended_residual,
    .diagonal = extended_diagonal,
    .update = extended_update,
    .describe = extended_describe,
    .destroy = extended_destroy,
};

const kryi_extended *kryi_extended_of(const kry_op *op)
{
    return op->table == &extended_table ? op->self : NULL;
}

kry_status kryi_extended_create(const kryi_extended *given, kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_op_shape *wide = &given->wide->shape;
    const kry_op_shape shape = { wide->rows, wide->rows, wide->type, given->traits };
    kryi_extended made = *given, *A = NULL;

    *op = NULL;
    made.wide = kry_op_retain(given->wide);
    TRY(kry_vec_create(made.wide->dev, wide->type, wide->cols, 1, &made.x));
    TRY(kryi_alloc(1, sizeof *A, &A));
    *A = made, made = (kryi_extended){ 0 };
    TRY(kry_op_create(A->wide->dev, &extended_table, A, &shape, op));
    A = NULL;
done:
    if (made.wide) release(&made);
    if (A) extended_destroy(A);
    return st;
}
