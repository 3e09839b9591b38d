/*
 * box_passes.c - the passes of a cycle on a level of a grid: smoothing, residual and restriction at once,
 * prolongation and smoothing at once. On CPUs a grid operator's level goes layer by layer, and caches hold
 * what is between (cl/stencil_cycle.cl); on GPUs a level in the plane goes row by row in strips of columns,
 * and registers and local memory hold it (cl/strip_cycle.cl).
 */
#include "multigrid/box_passes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 4, RING = 4 }; /* as cl/stencil_cycle.cl */

struct kry_box_passes {
    kry_device *dev;            /* borrowed, as all that follows */
    const kry_stencil *stencil; /* what the level's operator is; NULL: a box */
    const kry_box *box;
    const kry_box_transfer *P;
    kry_sweep down, up;
    int steps;      /* that strips take; 0: the level goes by layers */
    cl_mem scratch; /* owned: RING layers for each stage of each group; NULL: strips */
};

/* The arguments of the kernels about steps, which have to live as long as the launch takes. */
typedef struct step_args {
    cl_int count; /* of steps; for strips of the rows that a group makes */
    kry_scalar step[MOST_STEPS];
} step_args;

static step_args steps_of(const kry_box_passes *p, const kry_sweeps *s)
{
    step_args a = { .count = s->count };
    for (int i = 0; i < MOST_STEPS; i++)
        a.step[i] = kry_scalar_of(p->dev, i < s->count ? s->step[i] : 0);
    return a;
}

#define STEP_ARGS(dev, a)                                                 \
    ARG((a).count), ARG_ACC(dev, (a).step[0]), ARG_ACC(dev, (a).step[1]), \
        ARG_ACC(dev, (a).step[2]), ARG_ACC(dev, (a).step[3])

/* Columns of a strip that its group writes; of the coarse grid if `coarsened` is 1. */
static int own_columns(const kry_device *dev, int steps, int coarsened)
{
    return (kry_group_size(dev) - coarsened - 2 * steps) >> coarsened;
}

/* Cut strips of `wide` columns of a grid into as many pieces as run at once: kernels take up to 100 registers.
 * Pieces do some rows at both ends twice. */
static void cut(const kry_box_passes *p, const kry_box_grid *g, int64_t wide, kry_sweep *sweep,
                step_args *a)
{
    enum { PER_UNIT = 5, SHORTEST = 4 };
    const int64_t strips = (g->size[0] + wide - 1) / wide, all = g->size[1];
    int64_t pieces = kry_groups_at_once(p->dev, PER_UNIT) / strips;

    if (pieces > all / SHORTEST) pieces = all / SHORTEST;
    if (pieces < 1) pieces = 1;
    a->count = (cl_int)((all + pieces - 1) / pieces);
    sweep->groups = kry_groups_at_most(p->dev, strips * ((all + a->count - 1) / a->count));
}

/* Launch a kernel whose arguments are the level, then `rest`; the last of these is for layers alone. */
static kry_status launch(const kry_box_passes *p, const kry_sweep *sweep, const kry_arg *rest,
                         size_t count)
{
    enum { BOX_ARGS = 6, REST = 18 };
    if (p->steps) count--;
    if (p->stencil) return kry_stencil_launch(p->stencil, sweep, rest, count);
    const kry_box_args g = kry_box_args_of(&p->box->grid);
    kry_arg args[BOX_ARGS + REST] = { KRY_BOX_ARGS(g), ARG(p->box->numbers) };
    memcpy(args + BOX_ARGS, rest, count * sizeof *rest);
    return kry_launch(p->dev, sweep->kernel, sweep->groups, args, BOX_ARGS + count);
}

static kry_status go_down(void *self, const kry_sweeps *s, const kry_vec *b, kry_vec *x,
                          kry_vec *coarse)
{
    const kry_box_passes *p = self;
    const int cx = p->P->coarsened & 1;
    kry_sweep sweep = p->down;
    step_args a = steps_of(p, s);
    if (p->steps) cut(p, &p->P->coarse, own_columns(p->dev, p->steps, cx), &sweep, &a);
    const kry_arg rest[] = { STEP_ARGS(p->dev, a), ARG(p->P->numbers), ARG_VEC(b),
                             ARG_VEC(x),           ARG_VEC(coarse),    ARG(p->scratch) };
    return launch(p, &sweep, rest, COUNT(rest));
}

static kry_status go_up(void *self, const kry_sweeps *s, const kry_vec *b, const kry_vec *x,
                        const kry_vec *e, kry_vec *y)
{
    const kry_box_passes *p = self;
    kry_sweep sweep = p->up;
    step_args a = steps_of(p, s);
    if (p->steps) cut(p, &p->P->fine, own_columns(p->dev, p->steps, 0), &sweep, &a);
    const kry_arg rest[] = { STEP_ARGS(p->dev, a), ARG(p->P->numbers), ARG_VEC(b),     ARG_VEC(x),
                             ARG_VEC(e),           ARG_VEC(y),         ARG(p->scratch) };
    return launch(p, &sweep, rest, COUNT(rest));
}

const kry_passes kry_box_passes_table = { .most = MOST_STEPS, .down = go_down, .up = go_up };

void kry_box_passes_release(kry_box_passes **address)
{
    kry_box_passes *p = *address;
    *address = NULL;
    if (!p) return;
    kry_buffer_release(p->dev, &p->scratch);
    free(p);
}

/* Few groups, for each does the layers at its ends twice: a few for each core, of 16 coarse layers or
 * more. */
static int64_t groups_of(const kry_device *dev, int64_t layers)
{
    enum { LAYERS = 16, PER_UNIT = 4 };
    const int64_t units = dev->info.compute_units, most = PER_UNIT * units;
    int64_t groups = layers / LAYERS;

    if (groups < units) groups = units;
    if (groups > most) groups = most;
    return groups < layers ? groups : layers;
}

/* Kernels of <stem>.cl for the level, with `more` defines. */
static kry_status get_kernels(kry_box_passes *p, const char *stem, const char *const names[2],
                              const char *more)
{
    kry_status st = KRY_OK;
    kry_kernel **to[] = { &p->down.kernel, &p->up.kernel };
    const unsigned coarsened = p->P->coarsened;
    char defines[128];

    snprintf(defines, sizeof defines, "-DLANES=1 -DCX=%u -DCY=%u -DCZ=%u%s%s", coarsened & 1,
             coarsened >> 1 & 1, coarsened >> 2 & 1, kry_box_uniform(&p->P->coarse), more);
    for (int i = 0; i < 2; i++)
        TRY(p->stencil ? kry_stencil_kernel(p->stencil, stem, defines, names[i], to[i])
                       : kry_kernel_get(p->dev, stem, p->box->type, defines, names[i], to[i]));
done:
    return st;
}

static kry_status by_layers(kry_box_passes *p)
{
    static const char *const names[] = { "stencil_down", "stencil_up" };
    kry_status st = KRY_OK;
    const int64_t layers = p->P->coarse.size[p->stencil->axes - 1];
    const kry_sweep sweep = {
        .work = (cl_int)layers, .length = 1, .width = 1, .groups = groups_of(p->dev, layers)
    };

    p->down = p->up = sweep;
    TRY(get_kernels(p, "stencil_cycle", names, ""));
    const int64_t numbers = sweep.groups * (MOST_STEPS + 1) * RING * p->stencil->slab.layer;
    TRY(kry_buffer_create(p->dev, (size_t)numbers * kry_type_size(p->P->type), &p->scratch));
done:
    return st;
}

static kry_status by_strips(kry_box_passes *p, int steps)
{
    static const char *const names[] = { "strip_down", "strip_up" };
    char more[64];

    p->steps = steps;
    snprintf(more, sizeof more, " -DSTEPS=%d%s", steps, p->box ? " -DBOX -DAXES=2" : "");
    return get_kernels(p, "strip_cycle", names, more);
}

/* Whether there are passes; strips are wide enough for some columns of their own, in local memory of 16 KB. */
static bool offers(const kry_op *A, const kry_op *P, int steps)
{
    enum { COLUMNS = 4, LOCAL = 16384 };
    const kry_device *dev = A->dev;
    const int64_t group = kry_group_size(dev);

    if (steps < 1 || steps > MOST_STEPS) return false;
    if (dev->info.cpu_kernels) return kry_stencil_of(A);
    return kry_box_transfer_of(P)->fine.axes == 2 && own_columns(dev, steps, 1) >= COLUMNS &&
           2 * (steps + 1) * (group + 2) * (int64_t)kry_type_size(A->shape.type) <= LOCAL;
}

kry_status kry_box_passes_create(const kry_op *A, const kry_op *P, int steps, kry_box_passes **out)
{
    kry_status st = KRY_OK;
    kry_box_passes *p = NULL;

    *out = NULL;
    if (!offers(A, P, steps)) return KRY_OK;
    TRY(kry_alloc(1, sizeof *p, &p));
    *p = (kry_box_passes){ .dev = A->dev,
                           .stencil = kry_stencil_of(A),
                           .box = kry_box_of(A),
                           .P = kry_box_transfer_of(P) };
    TRY(A->dev->info.cpu_kernels ? by_layers(p) : by_strips(p, steps));
    *out = p;
    p = NULL;
done:
    kry_box_passes_release(&p);
    return st;
}
