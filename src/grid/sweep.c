/*
 * sweep.c - how a sweep over a grid is cut into groups, and launched. Kernels: cl/sweep.clh.
 */
#include "grid/stencil.h"
#include <string.h>

enum { GRID_ARGS = 21, REST = 18 };

/* Sweeps are of two widths: a work-item of a GPU takes a vector from vectors that start where it
 * may load one, else a point. */
int kry_stencil_lanes(const kry_stencil *A)
{
    int lanes = kry_vector_width(A->dev, A->type);
    if (A->dev->info.cpu_kernels) return 1;
    while (A->size[0] % lanes) lanes /= 2;
    return lanes;
}

static int64_t pieces_of(int64_t n, int64_t piece) { return (n + piece - 1) / piece; }

/* The most work-items in a row of a tile that are not mostly beyond its end: rows share more the
 * more of them a tile has, but a load wants to be whole. */
static int tile_width(const kry_stencil *A, int lanes)
{
    int group = kry_group_size(A->dev), width = 1;
    int64_t across = A->size[0] / lanes;
    while (2 * width <= group && width < 32 && width < across) width *= 2;
    return width;
}

/* Points in a column: long ones read less twice. Where `count` columns, or tiles of them, are not
 * what fits on the device at once, or nearly a multiple of it, they are cut. */
static void cut_columns(kry_sweep *s, int64_t last, int64_t count, int64_t fit)
{
    enum { SHORTEST = 4, WAVES = 4 };
    int64_t best = 1;
    double used = 0;

    for (int64_t waves = 1; waves <= WAVES; waves++) {
        int64_t pieces = fit * waves / count;
        if (pieces < 1) pieces = 1;
        if (pieces > pieces_of(last, SHORTEST)) pieces = pieces_of(last, SHORTEST);
        double all = (double)(pieces_of(count * pieces, fit) * fit);
        double full = (double)(count * pieces) / all;
        if (full > 1.05 * used) best = pieces, used = full;
    }
    s->length = (cl_int)pieces_of(last, best);
    s->work = (cl_int)(count * pieces_of(last, s->length));
}

/* Over `last` layers, each of them a piece if they are `apart`, with those groups that fit on the
 * device at once. */
static kry_sweep plan(const kry_stencil *A, int64_t last, bool apart, int lanes, bool heavy)
{
    /* Registers: up to 40 in a product, up to 80 in a step, of which NVIDIA's multiprocessors have
     * room for six groups of 128. On an H200 more than fit cost 3 to 12 % (docs/benchmarks.md). */
    enum { HEAVY_PER_UNIT = 6 };
    const kry_device *dev = A->dev;
    int64_t group = kry_group_size(dev), per_group = group;
    bool few = heavy && dev->shape.per_unit > HEAVY_PER_UNIT;
    int64_t most = kry_groups_at_once(dev, few ? HEAVY_PER_UNIT : dev->shape.per_unit);
    int64_t points = A->slab.layer * last, columns = A->size[0] / lanes;
    kry_sweep s = { .work = (cl_int)points, .width = 1, .lanes = lanes, .heavy = heavy };

    s.length = apart ? 1 : (cl_int)last;
    s.slab = kry_stencil_is_slab(A);
    if (dev->info.cpu_kernels) {
        s.groups = kry_groups_for_sums(dev, A->type, points);
    } else {
        if (A->axes == 3) {
            s.width = tile_width(A, lanes), per_group = 1;
            columns = pieces_of(columns, s.width) * pieces_of(A->size[1], group / s.width);
        }
        s.work = (cl_int)(columns * last);
        if (!apart) cut_columns(&s, last, columns, most * per_group);
        s.groups = pieces_of(s.work, per_group);
        if (s.groups > most) s.groups = most;
    }
    s.stride = s.length, s.until = (cl_int)last;
    return s;
}

kry_sweep kry_stencil_plan(const kry_stencil *A, int lanes, bool heavy)
{
    return plan(A, A->slab.count, false, lanes, heavy);
}

kry_sweep kry_stencil_plan_inner(const kry_stencil *A, const kry_sweep *all)
{
    const kry_slab *l = &A->slab;
    int64_t begin = l->low, until = l->count - l->high;
    kry_sweep s = { .groups = 0 };

    if (begin >= until) return s;
    s = plan(A, until - begin, false, all->lanes, all->heavy);
    s.kernel = all->kernel;
    s.begin = (cl_int)begin, s.until = (cl_int)until;
    return s;
}

kry_sweep kry_stencil_plan_outer(const kry_stencil *A, const kry_sweep *all)
{
    const kry_slab *l = &A->slab;
    bool both = l->low && l->high && l->count > 1;
    kry_sweep s = plan(A, both ? 2 : 1, true, all->lanes, all->heavy);

    s.kernel = all->kernel;
    s.begin = l->low ? 0 : (cl_int)l->count - 1, s.until = (cl_int)l->count;
    s.stride = both ? (cl_int)l->count - 1 : 1;
    return s;
}

kry_status kry_stencil_launch(const kry_stencil *A, const kry_sweep *s, const kry_arg *rest,
                              size_t count)
{
    kry_arg args[GRID_ARGS + REST];
    const kry_slab *slab = &A->slab;
    cl_int size[3];
    kry_scalar weight[3];
    size_t n = 0;

    if (s->groups == 0) return KRY_OK;
    args[n++] = (kry_arg)ARG(s->work);
    args[n++] = (kry_arg)ARG(s->length);
    args[n++] = (kry_arg)ARG(s->width);
    for (int a = 0; a < 3; a++) {
        size[a] = (cl_int)A->size[a];
        args[n++] = (kry_arg)ARG(size[a]);
    }
    for (int a = 0; a < 3; a++) {
        weight[a] = kry_scalar_of(A->dev, A->weight[a]);
        args[n++] = (kry_arg)ARG_ACC(A->dev, weight[a]);
    }
    if (s->slab) {
        const cl_mem *under = slab->face_below ? &slab->face_below : &A->face[0];
        const kry_arg more[] = { ARG(s->begin),      ARG(s->stride),    ARG(s->until),
                                 ARG(s->sums_at),    ARG(slab->at_low), ARG(slab->at_high),
                                 ARG(slab->numbers), ARG(*under) };
        size_t count_more = COUNT(more) - (A->face[0] ? 0 : 1);
        memcpy(args + n, more, count_more * sizeof *more);
        n += count_more;
    }
    if (A->face[0]) {
        args[n++] = (kry_arg)ARG(*kry_stencil_cells(A));
        for (int a = 0; a < 3; a++) args[n++] = (kry_arg)ARG(A->face[a < A->axes ? a : 0]);
    }
    memcpy(args + n, rest, count * sizeof *rest);
    return kry_launch(A->dev, s->kernel, s->groups, args, n + count);
}
