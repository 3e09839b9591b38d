/*
 * sweep.c - the sweeps over a grid: their kernels, how they are cut into groups, and launched, on
 * slabs around an exchange with the neighbouring parts. Kernels: cl/grid/sweep.clh.
 */
#include "grid/stencil.h"
#include <stdio.h>
#include <string.h>

enum { GRID_ARGS = 19, REST = 20 };

/* Groups of a step on a compute unit; more of them cost 3 to 12 % on an H200. With the 80 registers that this leaves, grids in
 * space and in the plane took 0.93 of the time that they took with as many as the compiler liked, and those whose step had 84, of
 * which five groups fit, 0.74. */
enum { HEAVY_PER_UNIT = 6 };

/* Return the number that kernels know a side by: its ghost, or 2 if it is periodic. */
static int number_of_side(kry_side side) { return side == KRY_PERIODIC ? 2 : kryi_ghost(side); }

cl_int kryi_stencil_sides(const kryi_stencil *A)
{
    cl_int sides = 0;

    for (int k = 0; k < 6; k++)
        sides |= (number_of_side(k % 2 ? A->high[k / 2] : A->low[k / 2]) + 1) << 2 * k;
    return sides;
}

/* Programs are compiled for the sides of a grid: with sides as arguments, conjugate gradients on poisson3d:192 took 170 us an
 * iteration on an H200 and not 123, on twophase3d:128 96 and not 80, products 2 to 13 % more there, and 10 % more on the host. Only
 * the kernels of this folder on a grid that is cut are told the sides when they are launched, so that all parts have one program. */
static void side_defines(const kryi_stencil *A, const char *stem, char text[64])
{
    const bool here = !strncmp(stem, "stencil", 7) && strcmp(stem, "stencil_cycle") != 0;

    text[0] = '\0';
    if (here && (kryi_stencil_is_slab(A) || A->block.all[0])) return;
    snprintf(text, 64, " -DXL=%d -DXH=%d -DYL=%d -DYH=%d -DZL=%d -DZH=%d",
             number_of_side(A->low[0]), number_of_side(A->high[0]), number_of_side(A->low[1]),
             number_of_side(A->high[1]), number_of_side(A->low[2]), number_of_side(A->high[2]));
}

kry_status kryi_stencil_kernel(const kryi_stencil *A, const char *stem, const char *more,
                               const char *name, kryi_kernel **kernel)
{
    char text[320], sides[64], room[32];

    side_defines(A, stem, sides);
    kryi_room_option(A->dev, HEAVY_PER_UNIT * kryi_group_size(A->dev), room);
    snprintf(text, sizeof text, "-DAXES=%d%s%s %s%s", A->axes, sides,
             A->variable ? " -DVARIABLE" : "", more, room);
    return kryi_kernel_get(A->dev, stem, A->type, text, name, kernel);
}

/* The true residual of a single-precision solve is summed in double: not in the program that has the products. */
static bool residual_apart(const kryi_stencil *A)
{
    return A->type == KRY_F32 && A->dev->info.fp64;
}

/* The defines of a program of stencil.cl. */
static void product_defines(const kryi_stencil *A, bool aligned, char text[64])
{
    snprintf(text, 64, "-DLANES=%d%s", aligned ? A->lanes : 1,
             !aligned && residual_apart(A) ? " -DSUM=ACC" : "");
}

kry_status kryi_stencil_maker(const kryi_stencil *A, const char *name, kryi_kernel **kernel)
{
    char more[64];

    product_defines(A, !residual_apart(A), more);
    return kryi_stencil_kernel(A, "stencil", more, name, kernel);
}

/* Steps keep r of a singular A free of constants. */
static const char *name_of(const kryi_stencil *A, int sweep, const char *name)
{
    if (A->singular && sweep == KRY_SWEEP_STEP) return "stencil_step_singular";
    if (A->singular && sweep == KRY_SWEEP_STEP_ABREAST) return "stencil_step_columns_singular";
    return name;
}

kry_status kryi_stencil_make_sweeps(kryi_stencil *A, int first, int last)
{
    static const struct {
        const char *stem, *name;
        bool aligned, heavy;
    } table[] = {
        [KRY_SWEEP_APPLY] = { "stencil", "stencil_apply", true, false },
        [KRY_SWEEP_DIRECTION] = { "stencil", "stencil_direction", true, true },
        [KRY_SWEEP_STEP] = { "stencil", "stencil_step", true, true },
        [KRY_SWEEP_RESIDUAL] = { "stencil", "stencil_residual", true, false },
        [KRY_SWEEP_DIAGONAL] = { "stencil", "stencil_diagonal", true, false },
        [KRY_SWEEP_APPLY_ANYWHERE] = { "stencil", "stencil_apply", false, false },
        [KRY_SWEEP_RESIDUAL_ANYWHERE] = { "stencil", "stencil_residual", false, false },
        [KRY_SWEEP_DIAGONAL_ANYWHERE] = { "stencil", "stencil_diagonal", false, false },
        [KRY_SWEEP_APPLY_ABREAST] = { "stencil", "stencil_apply_columns", true, false },
        [KRY_SWEEP_APPLY_ABREAST_ANYWHERE] = { "stencil", "stencil_apply_columns", false, false },
        [KRY_SWEEP_DIRECTION_ABREAST] = { "stencil", "stencil_direction_columns", true, true },
        [KRY_SWEEP_STEP_ABREAST] = { "stencil", "stencil_step_columns", true, true },
        [KRY_SWEEP_RELAX] = { "stencil_relax", "stencil_relax", true, true },
        [KRY_SWEEP_RELAX_ANYWHERE] = { "stencil_relax", "stencil_relax", false, true },
        [KRY_SWEEP_SCALE] = { "stencil_relax", "stencil_scale", true, true },
        [KRY_SWEEP_SCALE_ANYWHERE] = { "stencil_relax", "stencil_scale", false, true },
        [KRY_SWEEP_NARROW] = { "stencil_relax", "stencil_finish", true, true },
        [KRY_SWEEP_NARROW_ANYWHERE] = { "stencil_relax", "stencil_finish", false, true },
    };
    kry_status st = KRY_OK;
    char more[64];

    for (int i = first; i <= last; i++) {
        const bool relax = i >= KRY_SWEEP_RELAX;
        const bool apart =
            (i == KRY_SWEEP_RESIDUAL || i == KRY_SWEEP_DIAGONAL) && residual_apart(A);
        const bool aligned = table[i].aligned && !apart;
        const int lanes = aligned ? A->lanes : 1;
        kryi_kernel *kernel;
        if (A->sweep[i].kernel) continue;
        if (relax)
            snprintf(more, sizeof more, "-DLANES=%d", lanes);
        else
            product_defines(A, aligned, more);
        TRY(kryi_stencil_kernel(A, table[i].stem, more, name_of(A, i, table[i].name), &kernel));
        A->sweep[i] = kryi_stencil_plan(A, kernel, lanes, table[i].heavy);
    }
done:
    return st;
}

/* The work-items in a row of a tile: at most 32, so that a tile has many rows, which share points; and not
 * more than half of them beyond the end of the grid. */
static int tile_width(const kryi_stencil *A, int lanes)
{
    int group = kryi_group_size(A->dev), width = 1;
    int64_t across = A->size[0] / lanes;
    while (2 * width <= group && width < 32 && width < across) width *= 2;
    return width;
}

/* Longer columns read fewer points twice. */
void kryi_cut_columns(kryi_sweep *s, int64_t last, int64_t count, int64_t fit)
{
    enum { SHORTEST = 4, WAVES = 4 };
    int64_t best = 1;
    double used = 0;

    for (int64_t waves = 1; waves <= WAVES; waves++) {
        int64_t pieces = fit * waves / count;
        if (pieces < 1) pieces = 1;
        if (pieces > kryi_pieces_of(last, SHORTEST)) pieces = kryi_pieces_of(last, SHORTEST);
        double all = (double)(kryi_pieces_of(count * pieces, fit) * fit);
        double full = (double)(count * pieces) / all;
        if (full > 1.05 * used) best = pieces, used = full;
    }
    s->length = (cl_int)kryi_pieces_of(last, best);
    s->work = (cl_int)(count * kryi_pieces_of(last, s->length));
}

/* Plan a sweep over `last` layers with the groups that fit on the device at once. apart: each layer is a
 * piece. kernel, lanes and heavy are those of `like`. */
static kryi_sweep plan(const kryi_stencil *A, const kryi_sweep *like, int64_t last, bool apart)
{
    const kry_device *dev = A->dev;
    int64_t group = kryi_group_size(dev), per_group = group;
    bool few = like->heavy && dev->shape.per_unit > HEAVY_PER_UNIT;
    int64_t most = kryi_groups_at_once(dev, few ? HEAVY_PER_UNIT : dev->shape.per_unit);
    if (like->columns > 1) most = most > like->columns ? most / like->columns : 1;
    int64_t points = A->slab.layer * last, columns = A->size[0] / like->lanes;
    kryi_sweep s = *like;

    s.work = (cl_int)points, s.width = 1;
    s.length = apart ? 1 : (cl_int)last;
    if (dev->info.cpu_kernels) {
        s.groups = kryi_groups_for_sums(dev, A->type, points);
    } else {
        if (A->axes == 3) {
            s.width = tile_width(A, s.lanes), per_group = 1;
            columns =
                kryi_pieces_of(columns, s.width) * kryi_pieces_of(A->size[1], group / s.width);
        }
        s.work = (cl_int)(columns * last);
        if (!apart) kryi_cut_columns(&s, last, columns, most * per_group);
        s.groups = kryi_pieces_of(s.work, per_group);
        if (s.groups > most) s.groups = most;
    }
    s.begin = 0, s.stride = s.length;
    return s;
}

kryi_sweep kryi_stencil_plan(const kryi_stencil *A, kryi_kernel *kernel, int lanes, bool heavy)
{
    return plan(A, &(kryi_sweep){ .kernel = kernel, .lanes = lanes, .heavy = heavy }, A->slab.count,
                false);
}

kryi_sweep kryi_stencil_plan_columns(const kryi_stencil *A, int sweep, int64_t columns)
{
    kryi_sweep like = A->sweep[sweep];

    like.columns = (int)columns;
    return plan(A, &like, A->slab.count, false);
}

/* The layers that need no halo. */
static kryi_sweep plan_inner(const kryi_stencil *A, const kryi_sweep *all)
{
    const kryi_slab *l = &A->slab;
    const int64_t layers = l->count - l->low - l->high;

    if (layers <= 0) return (kryi_sweep){ .groups = 0 };
    kryi_sweep s = plan(A, all, layers, false);
    s.begin = l->low, s.inner = l->high;
    return s;
}

/* The one or two layers that do. */
static kryi_sweep plan_outer(const kryi_stencil *A, const kryi_sweep *all)
{
    const kryi_slab *l = &A->slab;
    bool both = l->low && l->high && l->count > 1;
    kryi_sweep s = plan(A, all, both ? 2 : 1, true);

    s.begin = l->low ? 0 : (cl_int)l->count - 1;
    s.stride = both ? (cl_int)l->count - 1 : 1;
    return s;
}

/* Return the argument `sides` of GRID in cl/grid/sweep.clh. */
static cl_int sides_of_launch(const kryi_stencil *A, const kryi_sweep *s)
{
    enum { IN_HALO_BEHIND = 12, IN_HALO_AHEAD, AHEAD_COMES_FIRST, BUT_THE_LAST };
    const kryi_slab *l = &A->slab;
    return kryi_stencil_sides(A) | l->low << IN_HALO_BEHIND | l->high << IN_HALO_AHEAD |
           (l->at_high < l->at_low) << AHEAD_COMES_FIRST | s->inner << BUT_THE_LAST;
}

kry_status kryi_stencil_launch(const kryi_stencil *A, const kryi_sweep *s, const kry_arg *rest,
                               size_t count)
{
    kry_arg args[GRID_ARGS + REST];
    const kryi_slab *slab = &A->slab;
    const cl_int sides = sides_of_launch(A, s);
    cl_int size[3];
    kryi_scalar weight[3];
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
        weight[a] = kryi_scalar_of(A->dev, A->weight[a]);
        args[n++] = (kry_arg)ARG_ACC(A->dev, weight[a]);
    }
    args[n++] = (kry_arg)ARG(sides);
    if (!s->columns) { /* kernels of several columns are for grids in one piece */
        args[n++] = (kry_arg)ARG(s->begin);
        args[n++] = (kry_arg)ARG(s->stride);
        args[n++] = (kry_arg)ARG(s->sums_at);
        args[n++] = (kry_arg)ARG(slab->numbers);
        if (A->face[0]) args[n++] = (kry_arg)ARG(slab->face_below);
    }
    if (A->face[0]) {
        args[n++] = (kry_arg)ARG(*kryi_stencil_cells(A));
        for (int a = 0; a < 3; a++) args[n++] = (kry_arg)ARG(A->face[a < A->axes ? a : 0]);
    }
    memcpy(args + n, rest, count * sizeof *rest);
    return kryi_launch_range(A->dev, s->kernel, (kryi_range){ s->groups, s->columns, s->size },
                             args, n + count);
}

kry_status kryi_stencil_exchange(kryi_stencil *A, const kryi_sweep *s, const kry_vec *x,
                                 const kryi_cg *cg, const kry_arg *rest, size_t count, kry_sum *sum)
{
    kry_status st = KRY_OK;
    kryi_halo *halo = A->slab.halo;

    if (sum) sum->count = (cl_int)s->groups;
    if (!kryi_stencil_is_slab(A)) return kryi_stencil_launch(A, s, rest, count);
    const kryi_sweep inner = plan_inner(A, s);
    kryi_sweep outer = plan_outer(A, s);
    outer.sums_at = (cl_int)inner.groups;
    if (sum) sum->count = (cl_int)(inner.groups + outer.groups);
    if (halo) TRY(x ? kryi_halo_begin(halo, x) : kryi_halo_begin_direction(halo, cg));
    TRY(kryi_stencil_launch(A, &inner, rest, count));
    if (halo) TRY(kryi_halo_end(halo));
    TRY(kryi_stencil_launch(A, &outer, rest, count));
done:
    return st;
}
