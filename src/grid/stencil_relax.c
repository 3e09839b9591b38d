/*
 * stencil_relax.c - operations of grid operators for relaxation methods and preconditioners: sweeps
 * that use the diagonal without storing it, red-black sweeps in place, and the incomplete Poisson
 * inverse. Kernels: cl/stencil_relax.cl and cl/stencil_incomplete.cl, compiled on demand.
 */
#include "grid/stencil.h"
#include "operator/op.h"
#include <stdio.h>

/* A kernel of <stem>.cl. */
static kry_status get_kernel(const kry_stencil *A, const char *stem, const char *more,
                             const char *name, kry_kernel **kernel)
{
    char defines[KRY_STENCIL_DEFINES];

    kry_stencil_defines(A, more, defines);
    return kry_kernel_get(A->dev, stem, A->type, defines, name, kernel);
}

/* ---- y := x + c0 (x - old) + c1 D^-1 (b - A x) ---------------------------------------------- */

/* A buffer for an argument that the kernel will not use. */
static const kry_vec *or_else(const kry_vec *v, const kry_vec *other) { return v ? v : other; }

/* For aligned vectors and for all. */
static kry_status make_sweeps(kry_stencil *A, const char *name, kry_sweep sweep[2])
{
    kry_status st = KRY_OK;
    char section[48];
    kry_kernel *kernel;

    for (int i = 0; i < 2 && !sweep[i].kernel; i++) {
        int lanes = i ? 1 : A->lanes;
        snprintf(section, sizeof section, "-DRELAX -DLANES=%d", lanes);
        TRY(get_kernel(A, "stencil_relax", section, name, &kernel));
        sweep[i] = kry_stencil_plan(A, lanes, true);
        sweep[i].kernel = kernel;
    }
done:
    return st;
}

kry_status kry_stencil_relax(void *self, const kry_relax *s, kry_vec *y, kry_sum *sum)
{
    kry_stencil *A = self;
    kry_status st = KRY_OK;

    TRY(make_sweeps(A, "stencil_relax", A->relax));
    TRY(make_sweeps(A, "stencil_scale", A->scale));
    if (!s) return KRY_OK;
    kry_scalar c0 = kry_scalar_of(A->dev, s->c0), c1 = kry_scalar_of(A->dev, s->c1);
    kry_scalar x_scale = kry_scalar_of(A->dev, s->x_scale != 0 ? s->x_scale : 1),
               old_scale = kry_scalar_of(A->dev, s->old_scale != 0 ? s->old_scale : 1);
    const cl_int has_old = s->old && s->c0 != 0, sums = sum ? sum->width : 0;
    const kry_vec *old = or_else(has_old ? s->old : NULL, s->b), *x = or_else(s->x, s->b);
    const cl_mem part = sum ? sum->buffer : y->buffer;
    const kry_arg rest[] = { ARG_ACC(A->dev, c1),
                             ARG(s->b->buffer),
                             ARG(s->b->first),
                             ARG(y->buffer),
                             ARG(y->first),
                             ARG(sums),
                             ARG(part),
                             ARG_ACC(A->dev, c0),
                             ARG_ACC(A->dev, x_scale),
                             ARG(x->buffer),
                             ARG(x->first),
                             ARG(has_old),
                             ARG_ACC(A->dev, old_scale),
                             ARG(old->buffer),
                             ARG(old->first) };
    const bool anywhere = s->b->first % A->lanes || x->first % A->lanes || old->first % A->lanes ||
                          y->first % A->lanes;
    const kry_sweep *sweep = s->x ? &A->relax[anywhere] : &A->scale[anywhere];
    if (s->x) {
        TRY(kry_stencil_exchange(A, sweep, s->x, NULL, rest, COUNT(rest), sum));
    } else {
        if (sum) sum->count = (cl_int)sweep->groups;
        TRY(kry_stencil_launch(A, sweep, rest, COUNT(rest) - 8));
    }
done:
    return st;
}

/* ---- red and black ------------------------------------------------------------------------- */

/* A sweep over `columns` of points along the last axis, in pieces of that length. */
static kry_sweep cut(const kry_stencil *A, kry_kernel *kernel, int64_t columns, int64_t length)
{
    int64_t last = A->size[A->axes - 1], group = kry_group_size(A->dev);
    int64_t most = kry_groups_at_once(A->dev, A->dev->shape.per_unit);
    int64_t work = columns * ((last + length - 1) / length), groups = (work + group - 1) / group;

    return (kry_sweep){ .kernel = kernel,
                        .work = (cl_int)work,
                        .length = (cl_int)length,
                        .width = 1,
                        .groups = groups < most ? groups : most,
                        .slab = kry_stencil_is_slab(A) };
}

/* On CPUs, a sweep in shares of `work`. */
static kry_sweep shares(const kry_stencil *A, kry_kernel *kernel, int64_t work)
{
    return (kry_sweep){ .kernel = kernel,
                        .work = (cl_int)work,
                        .length = 1,
                        .width = 1,
                        .groups = kry_groups_for_sums(A->dev, A->type, A->n),
                        .slab = kry_stencil_is_slab(A) };
}

/* Neighbours across a periodic boundary must differ in colour, too. */
static kry_status check_colours(const kry_stencil *A)
{
    static const char name[] = "xyz";
    kry_status st = KRY_OK;

    for (int a = 0; a < A->axes; a++) {
        int64_t size = kry_stencil_size_of_all(A, a);
        CHECK(A->low[a] != KRY_PERIODIC || size == 1 || size % 2 == 0, KRY_ERR_UNSUPPORTED,
              "a red-black sweep needs an even number of unknowns along a periodic axis: %c has "
              "%lld",
              name[a], (long long)size);
    }
done:
    return st;
}

/* A colour has half of the points, in columns half as long. CPUs share out rows. */
static kry_status make_colours(kry_stencil *A)
{
    kry_status st = KRY_OK;
    int64_t rows = A->size[1] * A->size[2], last = A->size[A->axes - 1];
    int64_t length = A->residual.length;
    kry_kernel *kernel;

    if (A->colour.kernel) return KRY_OK;
    TRY(get_kernel(A, "stencil_relax", "-DCOLOURS -DLANES=1", "stencil_colour", &kernel));
    A->colour = A->dev->info.cpu_kernels
                    ? shares(A, kernel, rows)
                    : cut(A, kernel, (A->size[0] + 1) / 2 * (rows / last), (length + 1) / 2);
done:
    return st;
}

kry_status kry_stencil_sweep_colour(void *self, int colour, double omega, const kry_vec *b,
                                    kry_vec *x)
{
    kry_stencil *A = self;
    kry_status st = KRY_OK;

    TRY(check_colours(A));
    TRY(make_colours(A));
    if (!b) return KRY_OK;
    const cl_int which = (colour + (int)(A->slab.first % 2)) % 2; /* of the whole grid */
    kry_scalar w = kry_scalar_of(A->dev, omega);
    const kry_arg rest[] = { ARG(which),    ARG_ACC(A->dev, w), ARG(b->buffer),
                             ARG(b->first), ARG(x->buffer),     ARG(x->first) };
    if (A->slab.halo) {
        TRY(kry_halo_begin(A->slab.halo, x));
        TRY(kry_halo_end(A->slab.halo));
    }
    TRY(kry_stencil_launch(A, &A->colour, rest, COUNT(rest)));
done:
    return st;
}

/* ---- the incomplete Poisson inverse --------------------------------------------------------- */

/* Whether this axis adds the same to the diagonal of all points. */
static bool same_beside(const kry_stencil *A, int a)
{
    kry_side low = A->low[a], high = A->high[a];
    return kry_stencil_size_of_all(A, a) == 1 || low == KRY_PERIODIC ||
           (low == KRY_DIRICHLET && high == KRY_DIRICHLET);
}

double kry_stencil_diagonal_entry(const kry_stencil *A)
{
    double d = 0;

    if (A->face[0]) return 0;
    for (int a = 0; a < A->axes; a++) {
        if (!same_beside(A, a)) return 0;
        bool loop = A->low[a] == KRY_PERIODIC;
        if (kry_stencil_size_of_all(A, a) > 1 || !loop)
            d += A->weight[a] * (loop ? 2 : 2 - kry_ghost(A->low[a]) - kry_ghost(A->high[a]));
    }
    return d;
}

/* The grid for which the incomplete inverse is made: of a slab only what is here. With L of the
 * whole grid, K' D^-1 K would need two layers of each neighbour. Without the couplings to other
 * parts M is block diagonal, and symmetric and positive as before. */
static kry_stencil block_of(const kry_stencil *A)
{
    kry_stencil block = *A;
    int last = A->axes - 1;

    if (A->slab.low) block.low[last] = KRY_DIRICHLET; /* cut the coupling */
    if (A->slab.high) block.high[last] = KRY_DIRICHLET;
    block.slab.low = block.slab.high = false;
    return block;
}

/* For aligned vectors and for all. In three dimensions with stored faces, work-items take half as
 * many points: 72 registers instead of 128. */
static kry_status make_poisson(kry_stencil *A, bool scalar)
{
    kry_status st = KRY_OK;
    kry_stencil block = block_of(A);
    char defines[48];
    int lanes = A->lanes;
    kry_kernel *kernel;

    if (A->poisson[1].kernel) return KRY_OK;
    if (A->axes == 3 && A->face[0] && lanes > 1) lanes /= 2;
    for (int i = 0; i < 2; i++) {
        snprintf(defines, sizeof defines, "-DLANES=%d%s%s", lanes, scalar ? " -DSCALAR" : "",
                 i && lanes > 1 ? " -DANYWHERE" : "");
        TRY(get_kernel(&block, "stencil_incomplete", defines, "stencil_incomplete", &kernel));
        A->poisson[i] = kry_stencil_plan(&block, lanes, true);
        A->poisson[i].kernel = kernel;
    }
done:
    return st;
}

kry_status kry_stencil_incomplete(kry_stencil *A, const kry_incomplete *how, const kry_vec *x,
                                  kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;
    double entry = kry_stencil_diagonal_entry(A);

    TRY(make_poisson(A, entry > 0));
    if (!x) return KRY_OK;
    kry_scalar alpha = kry_scalar_of(A->dev, how->alpha), beta = kry_scalar_of(A->dev, how->beta),
               inverse = kry_scalar_of(A->dev, entry > 0 ? 1 / entry : 0);
    const kry_vec *d = or_else(how->inverse, x);
    const cl_int sums = sum != NULL;
    const cl_mem part = sum ? sum->buffer : y->buffer;
    const kry_arg rest[] = { ARG_ACC(A->dev, alpha),
                             ARG(x->buffer),
                             ARG(x->first),
                             ARG_ACC(A->dev, beta),
                             ARG(y->buffer),
                             ARG(y->first),
                             ARG_ACC(A->dev, inverse),
                             ARG(d->buffer),
                             ARG(d->first),
                             ARG(sums),
                             ARG(part) };
    const bool anywhere =
        x->first % A->lanes || y->first % A->lanes || (how->inverse && d->first % A->lanes);
    const kry_sweep *sweep = &A->poisson[anywhere];
    if (sum) sum->count = (cl_int)sweep->groups;
    TRY(kry_stencil_launch(A, sweep, rest, COUNT(rest)));
done:
    return st;
}
