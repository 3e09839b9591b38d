/*
 * sides.c - what the values given on the sides of a grid contribute to the right-hand side.
 * Kernel: stencil_side in cl/grid/stencil.cl.
 *
 * With u_out beyond a face of weight f, row i reads  f (x_i - u_out) + ...
 *   Dirichlet             u_out = g              b_i += f g
 *   Dirichlet, on faces   u_out = 2 g - x_i      b_i += 2 f g
 *   Neumann, flux q       u_out = x_i + h q / k  b_i += diffusion q / h, whatever k is
 */
#include "grid/stencil.h"
#include "operator/op_parts.h"
#include <math.h>
#include <stdlib.h>

/* Whether this slab, or box, has that side of the grid, and values can be given there. */
static bool has_side(const kryi_stencil *A, int axis, bool high)
{
    bool shared = axis == A->axes - 1 && (high ? A->slab.high : A->slab.low);
    return A->low[axis] != KRY_PERIODIC && !shared && !A->block.inner[high][axis];
}

/* Where what is here begins along an axis of the whole grid. */
static int64_t first_of(const kryi_stencil *A, int axis)
{
    if (A->block.all[0]) return A->block.first[axis];
    return axis == A->axes - 1 ? A->slab.first : 0;
}

/* Copy the values given on the part of a side that is here to the device, in the operator's type.
 * Waits. */
static kry_status upload(const kryi_stencil *A, int axis, const kry_side_values *given,
                         kry_vec **vec)
{
    kry_status st = KRY_OK;
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2; /* the axes of the side */
    const int64_t count = A->n / A->size[axis];
    double *values = NULL;

    TRY(kryi_alloc((size_t)count, sizeof *values, &values));
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = first_of(A, u) + i % A->size[u] +
                           kryi_stencil_whole(A, u) * (first_of(A, v) + i / A->size[u]);
        values[i] = given->array ? given->array[at] : given->constant;
        CHECK(isfinite(values[i]), KRY_ERR_ARGUMENT,
              "kry_stencil_boundary: value %lld of a side is %g", (long long)at, values[i]);
    }
    TRY(kry_vec_create(A->dev, A->type, count, 1, vec));
    TRY(kryi_vec_write_doubles(*vec, values));
done:
    free(values);
    return st;
}

static kry_status add_side(kryi_stencil *A, int axis, bool high, const kry_vec *given, kry_vec *b)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel;
    kry_side kind = high ? A->high[axis] : A->low[axis];
    /* the points of the side: rows along axis u, one after another along axis v */
    const int64_t strides[3] = { 1, A->size[0], A->size[0] * A->size[1] };
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    const cl_int count = (cl_int)given->n, across = (cl_int)A->size[u];
    const cl_int first = high ? (cl_int)(strides[axis] * (A->size[axis] - 1)) : 0;
    const cl_int step = (cl_int)strides[u], stride = (cl_int)strides[v];
    /* a stored face on the side is weight and coefficient in one */
    const bool stored = A->face[0] && high && kind != KRY_NEUMANN;
    const cl_mem *k = stored ? &A->face[axis] : kryi_stencil_cells(A);
    double weight = stored ? 1 : A->weight[axis];
    const cl_int by_cell = kind != KRY_NEUMANN;

    if (kind == KRY_DIRICHLET_FACE) weight *= 2;
    if (kind == KRY_NEUMANN) weight *= A->spacing[axis];
    kryi_scalar w = kryi_scalar_of(A->dev, weight);
    const kry_arg args[] = {
        ARG(count),         ARG(first),         ARG(across), ARG(step),    ARG(stride),
        ARG_ACC(A->dev, w), ARG(given->buffer), ARG_VEC(b),  ARG(by_cell), ARG(*k)
    };
    TRY(kryi_stencil_maker(A, "stencil_side", &kernel));
    TRY(kryi_launch(A->dev, kernel, kryi_groups_for(A->dev, A->type, count), args,
                    COUNT(args) - (A->face[0] ? 0 : 2)));
done:
    return st;
}

/* here->more: the values on the three low and on the three high sides. Collective. */
static kry_status add_sides(const kryi_call *here)
{
    kry_status st = KRY_OK;
    kryi_stencil *A = kryi_stencil_here(here->A);
    const kry_side_values *const *of = here->more;
    kry_vec *given[6] = { NULL };

    for (int f = 0; f < 2 * A->axes; f++) { /* all of them before b changes */
        if (has_side(A, f / 2, f % 2)) TRY(upload(A, f / 2, &of[f % 2][f / 2], &given[f]));
    }
    TRY(kryi_layout_join(&A->dev->layout, KRY_OK));
    for (int f = 0; f < 2 * A->axes; f++)
        if (given[f]) TRY(add_side(A, f / 2, f % 2, given[f], here->y));
done:
    for (int f = 0; f < 6; f++) kry_vec_release(&given[f]);
    return st;
}

kry_status kry_stencil_boundary(const kry_op *op, const kry_side_values low[3],
                                const kry_side_values high[3], kry_vec *b)
{
    kry_status st = KRY_OK;

    CHECK(op && low && high && b, KRY_ERR_ARGUMENT, "kry_stencil_boundary: NULL");
    kryi_stencil *A = kryi_stencil_here(op);
    CHECK(A, KRY_ERR_ARGUMENT, "kry_stencil_boundary: '%s' is no stencil", op->table->kind);
    CHECK(b->n == op->shape.rows && b->k == 1, KRY_ERR_SHAPE,
          "kry_stencil_boundary: b is %lld-by-%lld, the grid has %lld unknowns", (long long)b->n,
          (long long)b->k, (long long)op->shape.rows);
    CHECK(b->type == A->type && b->dev == op->dev, KRY_ERR_TYPE,
          "kry_stencil_boundary: b has another number type or device than the stencil");
    const kry_side_values *const both[] = { low, high };
    TRY(kryi_op_call(&(kryi_call){ .A = op, .y = b, .more = (void *)both }, add_sides));
done:
    return st;
}
