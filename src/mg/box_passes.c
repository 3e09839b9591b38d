/*
 * box_passes.c - the passes of a cycle on a level of a grid: smoothing, residual and restriction at once,
 * prolongation and smoothing at once. On CPUs a grid operator's level goes layer by layer, and caches hold
 * what is between (cl/multigrid/stencil_cycle.cl); on GPUs a level in the plane goes tile by tile, and registers and local
 * memory hold it (cl/multigrid/tile_cycle.cl).
 */
#include "mg/box_passes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 4, RING = 4 }; /* as cl/multigrid/stencil_cycle.cl */

struct kryi_box_passes {
    kry_device *dev; /* borrowed, as all that follows */
    const kry_op *A, *prolongation;
    const kryi_stencil *stencil; /* what the level's operator is; NULL: a box */
    const kryi_box *box;
    const kryi_box_transfer *P;
    kryi_sweep down, up;
    int group,
        per; /* work-items that share a tile, and rows of each; group 0: the level goes by layers */
    bool narrow;    /* from and to vectors in double */
    cl_mem scratch; /* owned: RING layers for each stage of each group; NULL: tiles */
    kryi_kernel *add_up;
    cl_mem
        partial; /* owned: sums of so many groups that add_up makes fewer of them; NULL: they are few */
};

/* The arguments of the kernels about steps, which have to live as long as the launch takes. */
typedef struct step_args {
    cl_int count; /* of steps */
    kryi_scalar step[MOST_STEPS];
} step_args;

static step_args steps_of(const kryi_box_passes *p, const kryi_sweeps *s)
{
    step_args a = { .count = s->count };
    for (int i = 0; i < MOST_STEPS; i++)
        a.step[i] = kryi_scalar_of(p->dev, i < s->count ? s->step[i] : 0);
    return a;
}

#define STEP_ARGS(dev, a)                                                 \
    ARG((a).count), ARG_ACC(dev, (a).step[0]), ARG_ACC(dev, (a).step[1]), \
        ARG_ACC(dev, (a).step[2]), ARG_ACC(dev, (a).step[3])

/* Launch a kernel whose arguments are the level, then `rest`. */
static kry_status launch_level(const kryi_box_passes *p, const kryi_sweep *sweep,
                               const kry_arg *rest, size_t count)
{
    enum { BOX_ARGS = 6, REST = 18 };
    if (p->stencil) return kryi_stencil_launch(p->stencil, sweep, rest, count);
    const kryi_box_args g = kryi_box_args_of(&p->box->grid);
    kry_arg args[BOX_ARGS + REST] = { KRY_BOX_ARGS(g), ARG(p->box->numbers) };
    memcpy(args + BOX_ARGS, rest, count * sizeof *rest);
    return kryi_launch_range(p->dev, sweep->kernel,
                             (kryi_range){ sweep->groups, .size = sweep->size }, args,
                             BOX_ARGS + count);
}

/* The first and the last of the arguments are for layers alone. */
static kry_status launch(const kryi_box_passes *p, const kryi_sweep *sweep, const kry_arg *rest,
                         size_t count)
{
    return p->group ? launch_level(p, sweep, rest + 1, count - 2)
                    : launch_level(p, sweep, rest, count);
}

static kry_status go_down(void *self, const kryi_sweeps *s, const kry_vec *b, kry_vec *x,
                          kry_vec *coarse)
{
    const kryi_box_passes *p = self;
    const step_args a = steps_of(p, s);
    const kry_arg rest[] = { STEP_ARGS(p->dev, a), ARG(p->P->numbers), ARG_VEC(b),
                             ARG_VEC(x),           ARG_VEC(coarse),    ARG(p->scratch) };
    return launch(p, &p->down, rest, COUNT(rest));
}

/* sum := what the groups of `up` have left in p->partial. */
static kry_status add_up(const kryi_box_passes *p, kry_sum *sum)
{
    enum { GROUPS = 32 };
    const cl_int count = (cl_int)p->up.groups;
    const kry_arg args[] = { ARG(count), ARG(p->partial), ARG(sum->buffer) };

    sum->count = GROUPS;
    return kryi_launch(p->dev, p->add_up, GROUPS, args, COUNT(args));
}

static kry_status go_up(void *self, const kryi_sweeps *s, const kry_vec *b, const kry_vec *x,
                        const kry_vec *e, kry_vec *y)
{
    kry_status st = KRY_OK;
    const kryi_box_passes *p = self;
    const step_args a = steps_of(p, s);
    kry_sum *const sum = s->sum;
    const cl_int sums = sum != NULL;
    const cl_mem part = !sum ? y->buffer : p->partial ? p->partial : sum->buffer;
    const kry_arg rest[] = { STEP_ARGS(p->dev, a), ARG(p->P->numbers), ARG_VEC(b), ARG_VEC(x),
                             ARG_VEC(e),           ARG_VEC(y),         ARG(sums),  ARG(part),
                             ARG(p->scratch) };

    if (sum) sum->count = (cl_int)p->up.groups;
    TRY(launch(p, &p->up, rest, COUNT(rest)));
    if (sum && p->partial) TRY(add_up(p, sum));
done:
    return st;
}

/* Down: A, b, x and P with what it makes; up: A, b, x, y and P with what it takes. */
static double bytes_of_both(const void *self)
{
    const kryi_box_passes *p = self;
    const double word = (double)p->P->fine.n * (double)kry_type_size(p->P->type);
    kry_op_info A, P;

    kry_op_describe(p->A, &A);
    kry_op_describe(p->prolongation, &P);
    return 2 * (A.bytes_per_apply - 2 * word) + 5 * word + 2 * (P.bytes_per_apply - word);
}

/* The arguments of tiles about steps; see STEP_ARGS. */
#define TILE_STEP_ARGS(dev, a)                                                       \
    ARG_ACC(dev, (a).step[0]), ARG_ACC(dev, (a).step[1]), ARG_ACC(dev, (a).step[2]), \
        ARG_ACC(dev, (a).step[3])

static kry_status go_down_narrow(void *self, const kryi_sweeps *s, const kryi_narrow *narrow,
                                 const kry_vec *b, kry_vec *x, kry_vec *coarse)
{
    const kryi_box_passes *p = self;
    const step_args a = steps_of(p, s);
    const kry_arg rest[] = { TILE_STEP_ARGS(p->dev, a),
                             ARG(p->P->numbers),
                             ARG(narrow->unit),
                             ARG_VEC(b),
                             ARG_VEC(x),
                             ARG_VEC(coarse) };
    return launch_level(p, &p->down, rest, COUNT(rest));
}

static kry_status go_up_narrow(void *self, const kryi_sweeps *s, const kryi_narrow *narrow,
                               const kry_vec *b, const kry_vec *x, const kry_vec *e, kry_vec *y)
{
    kry_status st = KRY_OK;
    const kryi_box_passes *p = self;
    const step_args a = steps_of(p, s);
    const cl_int sums = 1;
    const cl_mem part = p->partial ? p->partial : s->sum->buffer;
    const kry_arg rest[] = { TILE_STEP_ARGS(p->dev, a),
                             ARG(p->P->numbers),
                             ARG(narrow->unit),
                             ARG_VEC(b),
                             ARG_VEC(x),
                             ARG_VEC(e),
                             ARG_VEC(y),
                             ARG(sums),
                             ARG(part) };

    s->sum->count = (cl_int)p->up.groups;
    TRY(launch_level(p, &p->up, rest, COUNT(rest)));
    if (p->partial) TRY(add_up(p, s->sum));
done:
    return st;
}

/* b is in double, and so is y. */
static double bytes_of_both_narrow(const void *self)
{
    const kryi_box_passes *p = self;
    return bytes_of_both(p) + 3 * (double)p->P->fine.n * (double)(sizeof(double) - sizeof(float));
}

const kryi_passes kryi_box_passes_table = {
    .most = MOST_STEPS, .down = go_down, .up = go_up, .bytes = bytes_of_both
};
const kryi_passes kryi_box_passes_narrow_table = { .most = MOST_STEPS,
                                                   .down_narrow = go_down_narrow,
                                                   .up_narrow = go_up_narrow,
                                                   .bytes = bytes_of_both_narrow };

void kryi_box_passes_release(kryi_box_passes **address)
{
    kryi_box_passes *p = *address;
    *address = NULL;
    if (!p) return;
    kryi_buffer_release(p->dev, &p->partial);
    kryi_buffer_release(p->dev, &p->scratch);
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

/* Kernels of <stem>.cl for the level, with `more` defines: down, up, and what adds up sums if there is one. */
static kry_status get_kernels(kryi_box_passes *p, const char *stem, const char *const names[3],
                              const char *more)
{
    kry_status st = KRY_OK;
    kryi_kernel **to[] = { &p->down.kernel, &p->up.kernel, &p->add_up };
    const unsigned coarsened = p->P->coarsened;
    char defines[192];

    const bool flux = p->box && p->box->slots > p->box->half;

    snprintf(defines, sizeof defines, "-DLANES=1 -DCX=%u -DCY=%u -DCZ=%u%s%s%s", coarsened & 1,
             coarsened >> 1 & 1, coarsened >> 2 & 1, kryi_box_uniform(&p->P->coarse),
             flux ? " -DFLUX" : "", more);
    for (int i = 0; i < 3 && names[i]; i++)
        TRY(p->stencil ? kryi_stencil_kernel(p->stencil, stem, defines, names[i], to[i])
                       : kryi_kernel_get(p->dev, stem, p->P->type, defines, names[i], to[i]));
done:
    return st;
}

static kry_status by_layers(kryi_box_passes *p)
{
    static const char *const names[3] = { "stencil_down", "stencil_up" };
    kry_status st = KRY_OK;
    const int64_t layers = p->P->coarse.size[p->stencil->axes - 1];
    const kryi_sweep sweep = {
        .work = (cl_int)layers, .length = 1, .width = 1, .groups = groups_of(p->dev, layers)
    };

    p->down = p->up = sweep;
    TRY(get_kernels(p, "stencil_cycle", names, ""));
    const int64_t numbers = sweep.groups * (MOST_STEPS + 1) * RING * p->stencil->slab.layer;
    TRY(kryi_buffer_create(p->dev, (size_t)numbers * kry_type_size(p->P->type), &p->scratch));
done:
    return st;
}

/* ---- tiles, as cl/multigrid/tile_cycle.cl has them ---- */

enum { TILE_WIDTH = 64, LEAST_GROUP = 128, MOST_GROUP = 256 };
/* Each group of the kernel that uses sums adds all of them up: more than so many are made fewer before. */
enum { FEW_SUMS = KRY_SUM_CAPACITY / 4 };

/* Points of a tile along an axis that its group is to write: `margin` of them on either side are not, nor, on the
 * way down along an axis that is coarsened, one more. */
static int own_points(int all, int margin, unsigned coarsened)
{
    return (all - 2 * margin - (int)coarsened) >> coarsened;
}

static int64_t tiles_along(int64_t size, int own) { return (size + own - 1) / own; }

static void plan_tiles(kryi_box_passes *p, int steps)
{
    const int width = TILE_WIDTH, height = p->group / TILE_WIDTH * p->per;
    const kryi_box_grid *fine = &p->P->fine, *coarse = &p->P->coarse;
    const int64_t down =
        tiles_along(coarse->size[0], own_points(width, steps, p->P->coarsened & 1)) *
        tiles_along(coarse->size[1], own_points(height, steps, p->P->coarsened >> 1 & 1));
    const int64_t up = tiles_along(fine->size[0], own_points(width, steps, 0)) *
                       tiles_along(fine->size[1], own_points(height, steps, 0));

    p->down.groups = kryi_groups_at_most(p->dev, down);
    p->up.groups = kryi_groups_at_most(p->dev, up);
    p->down.size = p->up.size = p->group;
}

/* Whether work-items keep their points in registers: in single, if the numbers of a row are no nine others. */
static bool keeps_points(const kryi_box_passes *p)
{
    return p->P->type == KRY_F32 && (p->stencil || kryi_box_all_alike(&p->P->coarse));
}

/* Rows of a column for a work-item. Where there are few tiles for each compute unit lower ones are done earlier: on an H200 a
 * cycle on 1024 x 1024 took 0.8 of the time, one on 8192 x 8192 1.2 of it. */
static int rows_of_column(const kryi_box_passes *p)
{
    enum { LOW = 4, HIGH = 8, FEW = 8 };
    const int64_t tiles = p->P->fine.n / ((int64_t)MOST_GROUP * HIGH);
    if (tiles < FEW * (int64_t)p->dev->info.compute_units) return LOW;
    return keeps_points(p) && p->stencil ? 2 * HIGH : HIGH;
}

/* The most work-items that may share a tile of a level: it has to fit into local memory, with rows that are
 * more than its margins. 0: there is no such tile. */
static int group_of_tile(const kry_device *dev, kry_type type, int per, int steps)
{
    for (int group = MOST_GROUP; group >= LEAST_GROUP; group /= 2) {
        const int rows = group / TILE_WIDTH * per;
        const int64_t local = 2 * (rows + 2) * (TILE_WIDTH + 2) * (int64_t)kry_type_size(type);
        if (own_points(rows, steps, 1) < 1) return 0;
        if (group <= dev->info.max_group && local <= dev->info.local_bytes) return group;
    }
    return 0;
}

/* The highest tiles that suit the level and have room. */
static void choose_height(kryi_box_passes *p, int steps)
{
    enum { LEAST = 4 };
    p->per = rows_of_column(p);
    while (p->per > LEAST && !group_of_tile(p->dev, p->P->type, p->per, steps)) p->per /= 2;
}

/* Smaller groups where a kernel takes too many registers; KRY_ERR_UNSUPPORTED: none is small enough. */
static kry_status by_tiles(kryi_box_passes *p, int steps)
{
    static const char *const names[3] = { "tile_down", "tile_up", "tile_sums" };
    kry_status st = KRY_ERR_UNSUPPORTED;
    char more[128];

    choose_height(p, steps);
    for (p->group = group_of_tile(p->dev, p->P->type, p->per, steps);
         p->group >= LEAST_GROUP && st == KRY_ERR_UNSUPPORTED; p->group /= 2) {
        snprintf(more, sizeof more, "%s -DSTEPS=%d -DGROUP=%d -DWIDTH=%d -DPER=%d%s%s%s",
                 kryi_box_all_alike(&p->P->coarse) ? " -DALIKE" : "", steps, p->group, TILE_WIDTH,
                 p->per, p->box ? " -DBOX -DAXES=2" : "", keeps_points(p) ? " -DKEEP" : "",
                 p->narrow ? " -DNARROW" : "");
        TRY(get_kernels(p, "tile_cycle", names, more));
        st = kryi_kernel_check_size(p->dev, p->down.kernel, p->group);
        if (st == KRY_OK) st = kryi_kernel_check_size(p->dev, p->up.kernel, p->group);
        if (st == KRY_OK) break;
    }
    if (st < 0) goto done;
    plan_tiles(p, steps);
    if (p->up.groups > FEW_SUMS)
        TRY(kryi_buffer_create(p->dev, 2 * sizeof(kryi_partial) * (size_t)p->up.groups,
                               &p->partial));
done:
    return st;
}

/* Whether there may be passes. */
static bool offers(const kry_op *A, const kry_op *P, int steps)
{
    if (steps < 1 || steps > MOST_STEPS) return false;
    if (A->dev->info.cpu_kernels) return kryi_stencil_of(A);
    return kryi_box_transfer_of(P)->fine.axes == 2;
}

kry_status kryi_box_passes_create(const kry_op *A, const kry_op *P, int steps, bool narrow,
                                  kryi_box_passes **out)
{
    kry_status st = KRY_OK;
    kryi_box_passes *p = NULL;

    *out = NULL;
    if (!offers(A, P, steps) || (narrow && A->dev->info.cpu_kernels)) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *p, &p));
    *p = (kryi_box_passes){ .dev = A->dev,
                            .A = A,
                            .prolongation = P,
                            .stencil = kryi_stencil_of(A),
                            .box = kryi_box_of(A),
                            .P = kryi_box_transfer_of(P),
                            .narrow = narrow };
    st = A->dev->info.cpu_kernels ? by_layers(p) : by_tiles(p, steps);
    if (st == KRY_OK) *out = p, p = NULL;
    if (st == KRY_ERR_UNSUPPORTED) st = KRY_OK;
done:
    kryi_box_passes_release(&p);
    return st;
}
