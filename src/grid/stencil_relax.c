/*
 * stencil_relax.c - operations of grid operators for relaxation methods and preconditioners: sweeps
 * that use the diagonal without storing it, red-black sweeps in place, and the incomplete Poisson
 * inverse. Kernels: cl/grid/stencil_relax.cl and cl/grid/stencil_incomplete.cl, compiled on demand.
 */
#include "grid/stencil.h"
#include "operator/op.h"
#include <stdio.h>

/* A vector for an argument that the kernel does not use. */
static const kry_vec *or_else(const kry_vec *v, const kry_vec *other) { return v ? v : other; }

kry_status kryi_stencil_relax(void *self, const kryi_relax *s, kry_vec *y, kry_sum *sum)
{
    kryi_stencil *A = self;
    kry_status st = KRY_OK;

    if (!s) {
        TRY(kryi_stencil_make_sweeps(A, KRY_SWEEP_RELAX, KRY_SWEEP_RELAX));
        return kryi_stencil_make_sweeps(A, KRY_SWEEP_SCALE, KRY_SWEEP_SCALE);
    }
    kry_device *dev = A->dev;
    kryi_scalar c0 = kryi_scalar_of(dev, s->c0), c1 = kryi_scalar_of(dev, s->c1);
    kryi_scalar by_x = kryi_scalar_of(dev, s->x_scale != 0 ? s->x_scale : 1),
                by_old = kryi_scalar_of(dev, s->old_scale != 0 ? s->old_scale : 1);
    const cl_int has_old = s->old && s->c0 != 0, sums = sum ? sum->width : 0;
    const kry_vec *b = s->b, *x = or_else(s->x, b), *old = or_else(has_old ? s->old : NULL, b);
    const cl_mem part = sum ? sum->buffer : y->buffer;
    const kry_arg rest[] = { ARG_ACC(dev, c1), ARG_VEC(b),           ARG_VEC(y),         ARG(sums),
                             ARG(part),        ARG_ACC(dev, c0),     ARG_ACC(dev, by_x), ARG_VEC(x),
                             ARG(has_old),     ARG_ACC(dev, by_old), ARG_VEC(old) };
    const bool anywhere =
        b->first % A->lanes || x->first % A->lanes || old->first % A->lanes || y->first % A->lanes;
    const int which = (s->x ? KRY_SWEEP_RELAX : KRY_SWEEP_SCALE) + anywhere;
    TRY(kryi_stencil_make_sweeps(A, which, which));
    const kryi_sweep *sweep = &A->sweep[which];
    if (s->x) {
        TRY(kryi_stencil_exchange(A, sweep, s->x, NULL, rest, COUNT(rest), sum));
    } else {
        if (sum) sum->count = (cl_int)sweep->groups;
        TRY(kryi_stencil_launch(A, sweep, rest, COUNT(rest) - 8));
    }
done:
    return st;
}

kry_status kryi_stencil_relax_widening(void *self, double c, cl_mem unit, const kry_vec *b,
                                       const kry_vec *x, kry_vec *y, kry_sum *dots)
{
    kryi_stencil *A = self;
    kry_status st = KRY_OK;

    const bool anywhere = x && (b->first % A->lanes || y->first % A->lanes);
    const int which = KRY_SWEEP_NARROW + anywhere;

    TRY(kryi_stencil_make_sweeps(A, which, which));
    if (!x) return KRY_OK;
    kryi_scalar by = kryi_scalar_of(A->dev, c);
    const kry_arg rest[] = { ARG_ACC(A->dev, by), ARG(unit),  ARG_VEC(b),
                             ARG(x->buffer),      ARG_VEC(y), ARG(dots->buffer) };
    const kryi_sweep *sweep = &A->sweep[which];
    dots->count = (cl_int)sweep->groups;
    TRY(kryi_stencil_launch(A, sweep, rest, COUNT(rest)));
done:
    return st;
}

/* Neighbours across a periodic boundary must differ in colour, too. Where the number of points along the axis is odd two
 * colours go wrong there: the axis is a ring that is broken at its last point. A point has one of two colours of its own for
 * each number of rings whose last point it is; a step across the break changes that number by one. */
static bool is_odd_ring(const kryi_stencil *A, int axis)
{
    const int64_t size = kryi_stencil_size_of_all(A, axis);
    return A->low[axis] == KRY_PERIODIC && size > 1 && size % 2;
}

/* A bit for each axis along which the last point that is here is the last of an odd ring. */
static cl_int odd_rings_here(const kryi_stencil *A)
{
    cl_int rings = 0;

    for (int a = 0; a < A->axes; a++) {
        const bool ends = a < A->axes - 1 || A->slab.first + A->slab.count == A->slab.all;
        if (is_odd_ring(A, a) && ends) rings |= 1 << a;
    }
    return rings;
}

/* CPUs share out rows. On GPUs a colour has half of the points, in columns half as long. */
static kry_status make_colours(kryi_stencil *A)
{
    kry_status st = KRY_OK;
    const kry_device *dev = A->dev;
    int64_t rows = A->size[1] * A->size[2], last = A->size[A->axes - 1], length = 1;
    int64_t group = kryi_group_size(dev), most = kryi_groups_at_once(dev, dev->shape.per_unit);
    kryi_sweep s = { .width = 1 };

    if (A->sweep[KRY_SWEEP_COLOUR].kernel) return KRY_OK;
    TRY(kryi_stencil_kernel(A, "stencil_relax", "-DLANES=1", "stencil_colour", &s.kernel));
    if (dev->info.cpu_kernels) {
        s.groups = kryi_groups_for_sums(dev, A->type, A->n);
    } else {
        length = (kryi_stencil_plan(A, s.kernel, 1, false).length + 1) / 2;
        rows = (A->size[0] + 1) / 2 * (rows / last) * ((last + length - 1) / length);
        s.groups = (rows + group - 1) / group;
        if (s.groups > most) s.groups = most;
    }
    s.length = (cl_int)length, s.work = (cl_int)rows;
    A->sweep[KRY_SWEEP_COLOUR] = s;
done:
    return st;
}

int kryi_stencil_colours(void *self)
{
    const kryi_stencil *A = self;
    int rings = 0;

    for (int a = 0; a < A->axes; a++) rings += is_odd_ring(A, a);
    return 2 * (1 + rings);
}

kry_status kryi_stencil_sweep_colour(void *self, int colour, double omega, const kry_vec *b,
                                     kry_vec *x)
{
    kryi_stencil *A = self;
    kry_status st = KRY_OK;

    TRY(make_colours(A));
    if (!b) return KRY_OK;
    const cl_int which = (colour + (int)(A->slab.first % 2)) % 2; /* of the whole grid */
    const cl_int rings = odd_rings_here(A), ends = colour / 2;
    kryi_scalar w = kryi_scalar_of(A->dev, omega);
    const kry_arg rest[] = { ARG(which),         ARG(rings), ARG(ends),
                             ARG_ACC(A->dev, w), ARG_VEC(b), ARG_VEC(x) };
    if (A->slab.halo) {
        TRY(kryi_halo_begin(A->slab.halo, x));
        TRY(kryi_halo_end(A->slab.halo));
    }
    TRY(kryi_stencil_launch(A, &A->sweep[KRY_SWEEP_COLOUR], rest, COUNT(rest)));
done:
    return st;
}

/* Whether this axis adds the same to the diagonal of all points. */
static bool same_beside(const kryi_stencil *A, int a)
{
    kry_side low = A->low[a], high = A->high[a];
    return kryi_stencil_size_of_all(A, a) == 1 || low == KRY_PERIODIC ||
           (low == KRY_DIRICHLET && high == KRY_DIRICHLET);
}

double kryi_stencil_diagonal_entry(const kryi_stencil *A)
{
    double d = 0;

    if (A->face[0]) return 0;
    for (int a = 0; a < A->axes; a++) {
        if (!same_beside(A, a)) return 0;
        bool loop = A->low[a] == KRY_PERIODIC;
        if (kryi_stencil_size_of_all(A, a) > 1 || !loop)
            d += A->weight[a] * (loop ? 2 : 2 - kryi_ghost(A->low[a]) - kryi_ghost(A->high[a]));
    }
    return d;
}

/* The grid for which the incomplete inverse is made: of a slab only what is here. With L of the
 * whole grid, K' D^-1 K would need two layers of each neighbour. Without the couplings to other
 * parts M is block diagonal, and symmetric and positive as before. */
static kryi_stencil block_of(const kryi_stencil *A)
{
    kryi_stencil block = *A;
    int last = A->axes - 1;

    if (A->slab.low) block.low[last] = KRY_DIRICHLET; /* cut the coupling */
    if (A->slab.high) block.high[last] = KRY_DIRICHLET;
    block.slab.low = block.slab.high = false;
    block.block = (kryi_stencil_box){ .all = { 0 } };
    return block;
}

/* For aligned vectors, or those that start anywhere. In three dimensions with stored faces, work-items take half
 * as many points: 72 registers instead of 128. */
static kry_status make_incomplete(kryi_stencil *A, bool scalar, bool anywhere)
{
    kry_status st = KRY_OK;
    kryi_stencil block = block_of(A);
    char defines[64];
    int lanes = A->lanes;
    bool wraps = false;
    kryi_kernel *kernel;

    if (A->sweep[KRY_SWEEP_INCOMPLETE + anywhere].kernel) return KRY_OK;
    if (A->axes == 3 && A->face[0] && lanes > 1) lanes /= 2;
    if (anywhere) lanes = 1;
    for (int a = 0; a < A->axes; a++) wraps = wraps || block.high[a] == KRY_PERIODIC;
    snprintf(defines, sizeof defines, "-DLANES=%d%s%s", lanes, scalar ? " -DSCALAR" : "",
             wraps ? " -DWRAPS" : "");
    TRY(kryi_stencil_kernel(&block, "stencil_incomplete", defines, "stencil_incomplete", &kernel));
    A->sweep[KRY_SWEEP_INCOMPLETE + anywhere] = kryi_stencil_plan(&block, kernel, lanes, true);
done:
    return st;
}

kry_status kryi_stencil_incomplete(kryi_stencil *A, const kryi_incomplete *how, const kry_vec *x,
                                   kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;
    double entry = kryi_stencil_diagonal_entry(A);
    const bool anywhere = x && (x->first % A->lanes || y->first % A->lanes ||
                                (how->inverse && how->inverse->first % A->lanes));

    TRY(make_incomplete(A, entry > 0, anywhere));
    if (!x) return KRY_OK;
    kry_device *dev = A->dev;
    kryi_scalar a = kryi_scalar_of(dev, how->alpha), b = kryi_scalar_of(dev, how->beta),
                by = kryi_scalar_of(dev, entry > 0 ? 1 / entry : 0);
    const kry_vec *d = or_else(how->inverse, x);
    const cl_int sums = sum != NULL;
    const cl_mem part = sum ? sum->buffer : y->buffer;
    const kry_arg rest[] = { ARG_ACC(dev, a),  ARG_VEC(x), ARG_ACC(dev, b), ARG_VEC(y),
                             ARG_ACC(dev, by), ARG_VEC(d), ARG(sums),       ARG(part) };
    const kryi_sweep *sweep = &A->sweep[KRY_SWEEP_INCOMPLETE + anywhere];
    const kryi_stencil block = block_of(A);
    if (sum) sum->count = (cl_int)sweep->groups;
    TRY(kryi_stencil_launch(&block, sweep, rest, COUNT(rest)));
done:
    return st;
}
