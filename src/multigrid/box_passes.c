/*
 * box_passes.c - the passes of a cycle on a level of a grid: smoothing, residual and restriction at once,
 * prolongation and smoothing at once. On CPUs a grid operator's level goes layer by layer, and caches hold
 * what is between (cl/stencil_cycle.cl); on GPUs a level in the plane goes tile by tile, in local memory
 * (cl/tile_cycle.cl).
 */
#include "multigrid/box_passes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 4, RING = 4 }; /* as cl/stencil_cycle.cl */
enum {
    ACROSS = 64,
    DOWN_LEAST = 12
}; /* numbers in a row of a tile, as cl/tile_cycle.cl; rows of one */

struct kry_box_passes {
    kry_device *dev;            /* borrowed, as all that follows */
    const kry_stencil *stencil; /* what the level's operator is; NULL: a box */
    const kry_box *box;
    const kry_box_transfer *P;
    kry_sweep down, up;
    int rows;       /* of a tile; 0: the level goes by layers */
    cl_mem scratch; /* owned: RING layers for each stage of each group; NULL: tiles */
};

/* steps: the arguments of the kernels, which have to live as long as the launch takes. */
typedef struct step_args {
    cl_int count;
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

/* Groups for a grid of which a tile has wide x high points of its own. */
static int64_t tiles_of(const kry_box_passes *p, const kry_box_grid *g, int64_t wide, int64_t high)
{
    const int64_t tiles = ((g->size[0] + wide - 1) / wide) * ((g->size[1] + high - 1) / high);
    return kry_groups_at_most(p->dev, tiles);
}

/* Launch a kernel whose arguments are the level, then `rest`; the last of these is for layers alone. */
static kry_status launch(const kry_box_passes *p, const kry_sweep *sweep, const kry_arg *rest,
                         size_t count)
{
    enum { BOX_ARGS = 6, REST = 18 };
    if (p->rows) count--;
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
    const unsigned cx = p->P->coarsened & 1, cy = p->P->coarsened >> 1 & 1;
    kry_sweep sweep = p->down;
    step_args a = steps_of(p, s);
    const kry_arg rest[] = { STEP_ARGS(p->dev, a), ARG(p->P->numbers), ARG_VEC(b),
                             ARG_VEC(x),           ARG_VEC(coarse),    ARG(p->scratch) };
    if (p->rows)
        sweep.groups = tiles_of(p, &p->P->coarse, (ACROSS - cx - 2 * s->count) >> cx,
                                (p->rows - cy - 2 * s->count) >> cy);
    return launch(p, &sweep, rest, COUNT(rest));
}

static kry_status go_up(void *self, const kry_sweeps *s, const kry_vec *b, const kry_vec *x,
                        const kry_vec *e, kry_vec *y)
{
    const kry_box_passes *p = self;
    kry_sweep sweep = p->up;
    step_args a = steps_of(p, s);
    const kry_arg rest[] = { STEP_ARGS(p->dev, a), ARG(p->P->numbers), ARG_VEC(b),     ARG_VEC(x),
                             ARG_VEC(e),           ARG_VEC(y),         ARG(p->scratch) };
    if (p->rows)
        sweep.groups = tiles_of(p, &p->P->fine, ACROSS - 2 * s->count, p->rows - 2 * s->count);
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

/* As many rows as local memory holds, of which no device has less than 16 KB, and at most 16 numbers to a
 * work-item, for the sake of registers. 0: no tiles. */
static int rows_of_tile(const kry_device *dev, kry_type type)
{
    enum { LOCAL = 16384, MOST = 16 };
    const int64_t local = dev->info.local_bytes < LOCAL ? dev->info.local_bytes : LOCAL;
    const int pieces = kry_group_size(dev) / ACROSS;
    int rows = (int)((local / (int64_t)kry_type_size(type) - 2) / ACROSS) - 2;

    if (pieces == 0) return 0;
    if (rows > MOST * pieces) rows = MOST * pieces;
    rows = rows / pieces * pieces;
    return rows >= DOWN_LEAST ? rows : 0;
}

/* p->rows stays 0 where groups are too small for tiles, or the kernels too large for groups. */
static kry_status by_tiles(kry_box_passes *p)
{
    static const char *const names[] = { "tile_down", "tile_up" };
    kry_status st = KRY_OK;
    const int rows = rows_of_tile(p->dev, p->P->type), size = kry_group_size(p->dev);
    char more[64];

    if (!rows) goto done;
    snprintf(more, sizeof more, " -DDOWN=%d%s", rows, p->box ? " -DBOX -DAXES=2" : "");
    TRY(get_kernels(p, "tile_cycle", names, more));
    st = kry_kernel_check_size(p->dev, p->down.kernel, size);
    if (st >= 0) st = kry_kernel_check_size(p->dev, p->up.kernel, size);
    if (st >= 0) p->rows = rows;
    if (st == KRY_ERR_UNSUPPORTED) st = KRY_OK;
done:
    return st;
}

kry_status kry_box_passes_create(const kry_op *A, const kry_op *P, kry_box_passes **out)
{
    kry_status st = KRY_OK;
    kry_box_passes *p = NULL;
    const bool layers = A->dev->info.cpu_kernels;

    *out = NULL;
    if (layers ? !kry_stencil_of(A) : kry_box_transfer_of(P)->fine.axes != 2) return KRY_OK;
    TRY(kry_alloc(1, sizeof *p, &p));
    *p = (kry_box_passes){ .dev = A->dev,
                           .stencil = kry_stencil_of(A),
                           .box = kry_box_of(A),
                           .P = kry_box_transfer_of(P) };
    TRY(layers ? by_layers(p) : by_tiles(p));
    if (!layers && !p->rows) goto done;
    *out = p;
    p = NULL;
done:
    kry_box_passes_release(&p);
    return st;
}
