/* jacobi.c - M := inverse of the diagonal, or of another diagonal matrix that the rows of A say, or the lengths of
 * its columns. Kernels:
 * vec_pivots, vec_invert and vec_mul in cl/vector/vec.cl. */
#include "grid/stencil.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>

typedef struct jacobi {
    kry_op *A;             /* retained */
    kryi_row_entry *entry; /* of the diagonal matrix; NULL: the diagonal of A, or if it goes by */
    bool columns;          /* columns their lengths */
    kry_vec *d;            /* its inverse */
    kry_vec *next;         /* room for a new diagonal, so that a failed update keeps the old one */
} jacobi;

static kry_status jacobi_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    jacobi *M = self;
    return kry_vec_mul(alpha, M->d, x, beta, y);
}

static const kry_vec *jacobi_as_diagonal(void *self) { return ((jacobi *)self)->d; }

/* If the diagonal of a grid is one number, M only scales. */
static double jacobi_as_scalar(void *self)
{
    const jacobi *M = self;
    const kryi_stencil *grid = M->entry || M->columns ? NULL : kryi_stencil_of(M->A);
    double entry = grid ? kryi_stencil_diagonal_entry(grid) : 0;
    return entry > 0 ? 1 / entry : 0;
}

/* Refuse zeros rather than divide by them: the device looks for them, and the host where they are. */
static kry_status check_pivots(const kry_vec *d)
{
    kry_status st = KRY_OK;
    double *numbers = NULL;
    cl_int found = 0;
    cl_mem out = NULL;

    TRY(kryi_buffer_upload(d->dev, sizeof found, &found, &out));
    const kry_arg args[] = { ARG(d->n), ARG_VEC(d), ARG(out) };
    TRY(kryi_run(d->dev, "vec", d->type, "", "vec_pivots", kryi_groups_for(d->dev, d->type, d->n),
                 args, COUNT(args)));
    TRY(kryi_buffer_read(d->dev, out, 0, sizeof found, &found));
    if (!found) goto done;
    TRY(kryi_alloc((size_t)d->n, sizeof *numbers, &numbers));
    TRY(kryi_vec_read_doubles(d, numbers));
    for (int64_t i = 0; i < d->n; i++) {
        double v = numbers[i];
        double inverse = d->type == KRY_F32 ? (double)(float)(1 / v) : 1 / v;
        CHECK(isfinite(v) && isfinite(inverse), KRY_ERR_SINGULAR,
              "kry_jacobi_create: the diagonal entry of row %lld is %g" COUNTED,
              ROW(kryi_layout_row(&d->dev->layout, i)), v, kryi_first_row);
    }
done:
    kryi_buffer_release(d->dev, &out);
    free(numbers);
    return st;
}

/* The rows of A, on a part of a team with the couplings to other parts. */
static kry_status read_rows(const kry_op *A, kryi_csr *rows)
{
    kry_status st = KRY_OK;

    if (!kryi_coupled_of(A)) return kryi_rows_read("kry_jacobi_create", A, rows);
    TRY(kryi_coupled_download(A, rows));
    TRY(kryi_csr_convert(rows, KRY_F64));
done:
    return st;
}

/* d := the lengths of A's columns, 1 for those of zeros */
static kry_status measure_columns(const kry_op *A, kry_vec *d)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    double *size = NULL;

    TRY(kryi_rows_download(A, &rows));
    TRY(kryi_alloc((size_t)d->n, sizeof *size, &size));
    for (int64_t e = 0; e < kryi_csr_nnz(&rows); e++)
        size[rows.col[e]] = hypot(size[rows.col[e]], kryi_number_at(rows.type, rows.val, e));
    for (int64_t j = 0; j < d->n; j++)
        if (size[j] == 0) size[j] = 1;
    TRY(kryi_vec_write_doubles(d, size));
done:
    free(size);
    kryi_csr_release(&rows);
    return st;
}

/* d_i := 1 for each unknown i that A is known to map to zero by itself, an empty row's: any number does, for residuals are kept
 * clear of it. */
static kry_status fill_empty_rows(const kry_op *A, kry_vec *d)
{
    kry_status st = KRY_OK;
    const kry_vec *null = kryi_op_null_vectors(A);
    double *number = NULL, *v = NULL;
    bool zeros = false;

    if (!null) return KRY_OK;
    TRY(kryi_alloc((size_t)d->n, sizeof *number, &number));
    TRY(kryi_vec_read_doubles(d, number));
    for (int64_t i = 0; i < d->n && !zeros; i++) zeros = number[i] == 0;
    if (!zeros) goto done;
    TRY(kryi_alloc((uint64_t)(d->n * null->k), sizeof *v, &v));
    TRY(kryi_vec_read_doubles(null, v));
    for (int64_t e = 0; e < d->n * null->k; e++)
        if (fabs(v[e]) == 1 && number[e % d->n] == 0) number[e % d->n] = 1;
    TRY(kryi_vec_write_doubles(d, number));
done:
    free(v), free(number);
    return st;
}

/* d := the diagonal matrix */
static kry_status read_diagonal(const jacobi *M, kry_vec *d)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    double *numbers = NULL;

    if (M->columns) return measure_columns(M->A, d);
    if (!M->entry) {
        TRY(kry_op_diagonal(M->A, d));
        TRY(fill_empty_rows(M->A, d));
        goto done;
    }
    TRY(read_rows(M->A, &rows));
    TRY(kryi_alloc((size_t)d->n, sizeof *numbers, &numbers));
    for (int64_t i = 0; i < d->n; i++) numbers[i] = M->entry(&rows, i);
    TRY(kryi_vec_write_doubles(d, numbers));
done:
    free(numbers);
    kryi_csr_release(&rows);
    return st;
}

/* M->d := its inverse */
static kry_status invert_diagonal(void *self)
{
    kry_status st = KRY_OK;
    jacobi *M = self;
    kry_vec *d = M->next;

    if (d->n == 0) return KRY_OK;
    TRY(read_diagonal(M, d));
    TRY(check_pivots(d));
    kry_arg args[] = { ARG(d->n), ARG_VEC(d) };
    TRY(kryi_run(d->dev, "vec", d->type, "", "vec_invert", kryi_groups_for(d->dev, d->type, d->n),
                 args, COUNT(args)));
    M->next = M->d, M->d = d;
done:
    return st;
}

static void jacobi_describe(void *self, kry_op_info *info)
{
    const kry_vec *d = ((jacobi *)self)->d;
    info->nnz = d->n;
    info->bytes_per_apply = 3.0 * (double)d->n * (double)kry_type_size(d->type);
}

static void jacobi_destroy(void *self)
{
    jacobi *M = self;
    if (!M) return;
    kry_vec_release(&M->next);
    kry_vec_release(&M->d);
    kry_op_release(&M->A);
    free(M);
}

/* Tables that differ in the name in messages: by the diagonal, by the columns. */
#define TABLE(text)                                                               \
    {                                                                             \
        .struct_size = sizeof(kry_op_table), .kind = text, .apply = jacobi_apply, \
        .apply_transpose = jacobi_apply, .as_diagonal = jacobi_as_diagonal,       \
        .describe = jacobi_describe, .destroy = jacobi_destroy,                   \
    }
static const kry_op_table tables[] = { TABLE("jacobi"), TABLE("columns") };
#undef TABLE

static const kryi_op_fused jacobi_fused = { .as_scalar = jacobi_as_scalar,
                                            .renew = invert_diagonal };

/* given: what its diagonal matrix is made of */
static kry_status create_with(const kry_op *A, const jacobi *given, kry_op **out)
{
    kry_status st = KRY_OK;
    jacobi *M = NULL;
    kry_op_shape shape = A->shape;

    CHECK(given->entry || given->columns || A->table->diagonal, KRY_ERR_UNSUPPORTED,
          "kry_jacobi_create: '%s' offers no diagonal", A->table->kind);
    shape.rows = shape.cols;
    TRY(kryi_alloc(1, sizeof *M, &M));
    *M = *given;
    M->A = kry_op_retain(A);
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &M->d));
    TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, &M->next));
    TRY(invert_diagonal(M));
    shape.traits = KRY_SYMMETRIC;
    TRY(kryi_op_create_fused(A->dev, &tables[given->columns], &jacobi_fused, M, &shape, out));
    M = NULL;
done:
    jacobi_destroy(M);
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    (void)params;
    return create_with(A, &(jacobi){ .entry = NULL }, out);
}

static kry_status create_columns(const kry_op *A, const void *params, kry_op **out)
{
    (void)params;
    return create_with(A, &(jacobi){ .columns = true }, out);
}

static kry_status check_columns(const kry_op *A, const void *params)
{
    (void)params;
    if (!A->dev->team) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED,
                    "kry_column_scaling_create: for one device, and this is a team of %d",
                    kry_team_size(A->dev));
}

kry_status kryi_row_jacobi_create(const kry_op *A, kryi_row_entry *entry, kry_op **out)
{
    *out = NULL;
    return create_with(A, &(jacobi){ .entry = entry }, out);
}

const kryi_constructor kryi_jacobi_precond = { .name = "kry_jacobi_create", .create = create };

kry_status kry_jacobi_create(const kry_op *A, kry_op **out)
{
    return kryi_construct(&kryi_jacobi_precond, A, NULL, out);
}

const kryi_constructor kryi_column_scaling_precond = { .name = "kry_column_scaling_create",
                                                       .check = check_columns,
                                                       .create = create_columns,
                                                       .any_shape = true };

kry_status kry_column_scaling_create(const kry_op *A, kry_op **out)
{
    return kryi_construct(&kryi_column_scaling_precond, A, NULL, out);
}
