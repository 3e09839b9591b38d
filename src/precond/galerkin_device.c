/*
 * galerkin_device.c - A Z for sub-domains by labels, and E = Z'(A Z), on a GPU. Kernels: cl/precond/galerkin.cl, cl/precond/labels.cl.
 *
 * A grid is swept twice, for the lengths of the rows of A Z and for their entries, which come from the faces between
 * sub-domains and from those of the boundary. A matrix is multiplied by Z, and what is rounding inside a sub-domain
 * is left out. Then (A Z)' by the device's transposition, and E by a product with Z.
 *
 * Storage  for a while 5 words of n, and A Z twice; of a matrix also A in double and all of its product with Z
 * Waits    for each number of entries, and for E
 */
#include "device/launch.h"
#include "grid/stencil.h"
#include "precond/deflation.h"
#include "precond/labels_device.h"
#include "sparse/entries.h"
#include <float.h>
#include <stdlib.h>

static const char who[] = "kry_deflation_create";

bool kryi_galerkin_suits(const kry_op *A)
{
    const kry_device_info *info = &A->dev->info;
    const kryi_stencil *grid = kryi_stencil_of(A);
    const kryi_matrix *matrix = kryi_matrix_of(A);

    if (A->dev->team || info->cpu_kernels || !info->fp64) return false;
    if (kryi_layout_size(&A->dev->layout) > 1 || A->dev->layout.reproducible) return false;
    return grid || (matrix && !kryi_matrix_is_wrapped(matrix) && matrix->nnz <= INT32_MAX);
}

static double noise_of(const kryi_subspace *Z)
{
    return 16 * (Z->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* The arguments that both kernels have. */
typedef struct sweep_args {
    kry_arg arg[19];
    size_t count;
    kryi_scalar weight[3], noise;
    cl_int axes, size[3], sides, singular;
    cl_mem narrow, label; /* labels of 16 bits, or ints; the other is NULL */
    cl_mem face[4];       /* of cells, then of each axis; NULL: one weight for each axis */
} sweep_args;

static void add_arg(sweep_args *a, kry_arg arg) { a->arg[a->count++] = arg; }

static void grid_args(const kryi_stencil *grid, const kry_op *A, const kryi_subspace *Z,
                      sweep_args *a)
{
    *a = (sweep_args){ .axes = grid->axes,
                       .sides = kryi_stencil_sides(grid),
                       .singular = kryi_op_loses_constants(A) };
    a->noise = kryi_scalar_of(Z->dev, noise_of(Z));
    if (grid->variable) a->face[0] = *kryi_stencil_cells(grid);
    *(kryi_labels_are_narrow(Z->domains) ? &a->narrow : &a->label) = Z->label;
    add_arg(a, (kry_arg)ARG(a->axes));
    for (int i = 0; i < 3; i++) {
        a->size[i] = (cl_int)grid->size[i];
        a->weight[i] = kryi_scalar_of(Z->dev, grid->weight[i]);
        if (grid->variable && i < grid->axes) a->face[i + 1] = grid->face[i];
        add_arg(a, (kry_arg)ARG(a->size[i]));
    }
    add_arg(a, (kry_arg)ARG(a->sides));
    for (int i = 0; i < 3; i++) add_arg(a, (kry_arg)ARG_ACC(Z->dev, a->weight[i]));
    for (size_t i = 0; i < COUNT(a->face); i++) add_arg(a, (kry_arg)ARG(a->face[i]));
    add_arg(a, (kry_arg)ARG(a->narrow));
    add_arg(a, (kry_arg)ARG(a->label));
    add_arg(a, (kry_arg)ARG(a->singular));
    add_arg(a, (kry_arg)ARG_ACC(Z->dev, a->noise));
}

static kry_status run(const kryi_subspace *Z, const char *name, const kry_arg *args, size_t count)
{
    return kryi_run(Z->dev, "galerkin", Z->type, "", name,
                    kryi_groups_for(Z->dev, KRY_F64, 2 * Z->n), args, count);
}

static kry_status multiply_grid(const kry_op *A, const kryi_subspace *Z, kryi_device_csr *AZ)
{
    kry_status st = KRY_OK;
    const kryi_stencil *grid = kryi_stencil_of(A);
    cl_mem length = NULL;
    sweep_args lengths, entries;

    TRY(kryi_buffer_create(Z->dev, (size_t)Z->n * sizeof(cl_int), &length));
    grid_args(grid, A, Z, &lengths);
    add_arg(&lengths, (kry_arg)ARG(length));
    TRY(run(Z, "galerkin_grid_lengths", lengths.arg, lengths.count));
    TRY(kryi_device_csr_make_rows("kry_deflation_create: A Z", length, AZ));
    grid_args(grid, A, Z, &entries);
    add_arg(&entries, (kry_arg)ARG(AZ->row_ptr));
    add_arg(&entries, (kry_arg)ARG(AZ->col));
    add_arg(&entries, (kry_arg)ARG(AZ->val));
    TRY(run(Z, "galerkin_grid_entries", entries.arg, entries.count));
done:
    kryi_buffer_release(Z->dev, &length);
    return st;
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* M := A Z with everything that its rows meet, in double. */
static kry_status multiply_by_labels(const kryi_matrix *A, const kryi_device_csr *ones,
                                     kryi_device_csr *M)
{
    kry_status st = KRY_OK;
    kryi_device_csr given = { 0 }, in_double = { 0 };

    TRY(kryi_device_csr_of(A, &given));
    TRY(kryi_device_csr_convert(&given, KRY_F64, &in_double));
    TRY(kryi_device_csr_product(&in_double, ones, false, M));
done:
    kryi_device_csr_release(&in_double);
    kryi_device_csr_release(&given);
    return st;
}

/* The meaning of A's `surplus`: a number of cl/precond/galerkin.cl. */
static cl_int kind_of(const kryi_matrix *A)
{
    enum { NOTHING, ROUNDED, FLUX, CLOSED };

    if (A->params.form == KRY_FLUX) return A->surplus ? FLUX : CLOSED;
    return A->surplus ? ROUNDED : NOTHING;
}

static kry_status multiply_matrix(const kry_op *A, const kryi_subspace *Z,
                                  const kryi_device_csr *ones, kryi_device_csr *AZ)
{
    enum { SHARED = 11 };
    kry_status st = KRY_OK;
    const kryi_matrix *matrix = kryi_matrix_of(A);
    const cl_int rows = (cl_int)Z->n, kind = kind_of(matrix), singular = kryi_op_loses_constants(A);
    const kryi_scalar noise = kryi_scalar_of(Z->dev, noise_of(Z));
    const bool small = kryi_labels_are_narrow(Z->domains);
    const cl_mem narrow = small ? Z->label : NULL, label = small ? NULL : Z->label;
    kryi_device_csr M = { 0 };
    kry_vec *d = NULL;
    cl_mem length = NULL;

    TRY(multiply_by_labels(matrix, ones, &M));
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, 1, &d));
    TRY(kry_op_diagonal(A, d));
    TRY(kryi_buffer_create(Z->dev, (size_t)Z->n * sizeof(cl_int), &length));
    const cl_mem rest = matrix->surplus ? matrix->surplus : d->buffer; /* or not touched */
    kry_arg args[SHARED + 3] = { ARG(rows),
                                 ARG(M.row_ptr),
                                 ARG(M.col),
                                 ARG(M.val),
                                 ARG(narrow),
                                 ARG(label),
                                 ARG(d->buffer),
                                 ARG(kind),
                                 ARG(rest),
                                 ARG(singular),
                                 ARG_ACC(Z->dev, noise),
                                 ARG(length) };
    TRY(run(Z, "galerkin_lengths", args, SHARED + 1));
    TRY(kryi_device_csr_make_rows("kry_deflation_create: A Z", length, AZ));
    args[SHARED] = (kry_arg)ARG(AZ->row_ptr);
    args[SHARED + 1] = (kry_arg)ARG(AZ->col);
    args[SHARED + 2] = (kry_arg)ARG(AZ->val);
    TRY(run(Z, "galerkin_entries", args, COUNT(args)));
done:
    kryi_buffer_release(Z->dev, &length);
    kry_vec_release(&d);
    kryi_device_csr_release(&M);
    return st;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* E on the host, with a diagonal for each vector. */
static kry_status read_coarse(const kryi_device_csr *on_device, kryi_csr *E)
{
    kry_status st = KRY_OK;
    kryi_csr found = { 0 };
    kryi_entry_list list = { 0 };

    TRY(kryi_device_csr_download(on_device, &found));
    const double *val = found.val;
    for (int64_t s = 0; s < found.rows; s++) {
        for (int64_t e = found.row_ptr[s]; e < found.row_ptr[s + 1]; e++)
            TRY(kryi_entry_append(&list, s, found.col[e], val[e]));
        TRY(kryi_entry_append(&list, s, s, 0));
    }
    TRY(kryi_entry_list_compress(who, &list, found.rows, found.rows, E));
done:
    free(list.entry);
    kryi_csr_release(&found);
    return st;
}

kry_status kryi_galerkin_multiply(const kry_op *A, const kryi_subspace *Z, kryi_galerkin *G)
{
    kry_status st = KRY_OK;
    kryi_device_csr ones = { 0 }, product = { 0 };
    cl_mem from = NULL;

    G->rows = (kryi_device_csr){ .dev = Z->dev, .rows = Z->n, .cols = Z->k, .type = KRY_F64 };
    TRY(kryi_labels_ones(Z->dev, KRY_F64, kryi_labels_are_narrow(Z->domains), Z->n, Z->k, Z->label,
                         &ones));
    TRY(kryi_stencil_of(A) ? multiply_grid(A, Z, &G->rows)
                           : multiply_matrix(A, Z, &ones, &G->rows));
    TRY(kryi_device_csr_transpose(&G->rows, &G->rows_t, &from));
    TRY(kryi_device_csr_product(&G->rows_t, &ones, false, &product));
    TRY(read_coarse(&product, &G->E));
done:
    kryi_buffer_release(Z->dev, &from);
    kryi_device_csr_release(&product);
    kryi_device_csr_release(&ones);
    return st;
}
