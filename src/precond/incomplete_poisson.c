/*
 * incomplete_poisson.c - M := K' D^-1 K with K = I - L D^-1, A = L + D + L': the inverse of the
 * incomplete factorisation (D + L) D^-1 (D + L'), where the series of each factor's inverse ends
 * after its first term.
 *
 * On grids, without a matrix: cl/grid/stencil_incomplete.cl.
 *   Storage   none, or D^-1 (n numbers) if the diagonal is not one number
 *   Per use   2 words: reads r, writes z; also the faces and D^-1 if they vary
 * Stored matrices, and the options `unscaled` and `drop`: triangles.c.
 *
 * The published M is K K', here `unscaled`. With D^-1 in between M does not depend on how A is scaled,
 * which suits coefficients with jumps.
 */
#include "grid/stencil.h"
#include "operator/op_parts.h"
#include "precond/triangles.h"
#include <kry/precond.h>
#include <stdlib.h>

typedef struct poisson {
    kry_op *A;          /* retained */
    kryi_stencil *grid; /* A's */
    kry_op *jacobi;     /* D^-1; NULL if the diagonal is one number */
} poisson;

static kry_status poisson_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    poisson *M = self;
    const kryi_incomplete how = { alpha, beta, kryi_op_as_diagonal(M->jacobi) };
    return kryi_stencil_incomplete(M->grid, &how, x, y, NULL);
}

static kry_status poisson_apply_dots(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    poisson *M = self;
    const kryi_incomplete how = { 1, 0, kryi_op_as_diagonal(M->jacobi) };
    return kryi_stencil_incomplete(M->grid, &how, r, z, sum);
}

static kry_status poisson_renew(void *self)
{
    poisson *M = self;
    return M->jacobi ? kry_op_update(M->jacobi, NULL) : KRY_OK;
}

static void poisson_describe(void *self, kry_op_info *info)
{
    const poisson *M = self;
    double word = (double)M->grid->n * (double)kry_type_size(M->grid->type);

    info->bytes_stored = M->jacobi ? word : 0;
    info->bytes_per_apply =
        (2 + (M->jacobi ? 1 : 0) + (M->grid->face[0] ? M->grid->axes : 0)) * word;
}

static void poisson_destroy(void *self)
{
    poisson *M = self;
    if (!M) return;
    kry_op_release(&M->jacobi);
    kry_op_release(&M->A);
    free(M);
}

static const kry_op_table poisson_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "ip",
    .apply = poisson_apply,
    .apply_transpose = poisson_apply,
    .describe = poisson_describe,
    .destroy = poisson_destroy,
    .apply_dots = poisson_apply_dots,
};
static const kryi_op_fused poisson_fused = { .renew = poisson_renew };

static kry_status create_on_grid(const kry_op *A, kry_op **out)
{
    kry_status st = KRY_OK;
    poisson *M = NULL;

    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->grid = kryi_stencil_of(A);
    if (kryi_stencil_diagonal_entry(M->grid) <= 0) TRY(kry_jacobi_create(A, &M->jacobi));
    TRY(kryi_stencil_incomplete(M->grid, NULL, NULL, NULL, NULL));
    kry_op_shape shape = A->shape;
    shape.traits = KRY_SYMMETRIC | KRY_POSITIVE;
    TRY(kryi_op_create_fused(A->dev, &poisson_table, &poisson_fused, M, &shape, out));
    M = NULL;
done:
    poisson_destroy(M);
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    const kry_incomplete_poisson_params *p = params;
    const kryi_triangles_form form = { .who = "kry_incomplete_poisson_create",
                                       .degree = 1,
                                       .omega = 1,
                                       .unscaled = p->unscaled,
                                       .drop = p->drop };

    if (kryi_stencil_of(A) && !p->unscaled && !p->drop) return create_on_grid(A, out);
    return kryi_triangles_create(A, &form, out);
}

#define PARAMS kry_incomplete_poisson_params
static const kryi_field fields[] = {
    { KRY_FIELD(BOOL, unscaled), KRY_WORD("unscaled", PLAIN, "", "K K' as published"),
      .bare = true },
    { KRY_FIELD(BOOL, drop), KRY_WORD("drop", PLAIN, "", "one matrix, with the entries of A"),
      .bare = true },
    { 0 },
};

const kryi_constructor kryi_incomplete_poisson_precond = { "kry_incomplete_poisson_create",
                                                           "KRY_INCOMPLETE_POISSON",
                                                           sizeof(kry_incomplete_poisson_params),
                                                           fields, .create = create };

kry_status kry_incomplete_poisson_create(const kry_op *A,
                                         const kry_incomplete_poisson_params *params, kry_op **out)
{
    return kryi_construct(&kryi_incomplete_poisson_precond, A, params, out);
}
