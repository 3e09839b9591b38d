/* lu_factor.c - the factors P A = L U of a dense matrix. Kernels: cl/dense/lu_block.cl, cl/dense/panel.cl, cl/dense/lu_panel.cl,
 * cl/dense/lu.cl, and products.
 *
 * Blocks of columns, `block` wide, and panels of PANEL columns within them:
 *
 *   for each block                  [ A11 A12 ]
 *     for each panel of it          [ A21 A22 ]
 *       factor it: nothing comes to the host
 *       exchange its rows in the other columns of the block
 *       U12 := L11^-1 A12, A22 -= L21 U12 there
 *     exchange rows in all other columns, and update all columns behind the block in the same way:
 *       most operations are here
 *
 * Where the device's groups can wait for each other, a block is factored in one launch, which keeps it in
 * registers, or if it is too tall for these a panel (cl/dense/lu_panel.cl); elsewhere there is a launch for
 * each column (cl/dense/panel.cl). On GPUs the next block is factored in a second queue, while the first one updates the
 * columns behind it. If such a launch is aborted, the factors are made again with a launch for each column. */
#include "dense/lu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the kernel is compiled for blocks of up to rows * group rows. */
typedef struct lu_shape {
    int rows, wide;        /* of a work-item; columns of a group */
    kryi_barrier *barrier; /* owned */
    kryi_kernel *rows_of_others;
} lu_shape;
enum { LU_SHAPES = 3 };

typedef struct lu_blocks {
    const kryi_panels *panels; /* borrowed */
    int group, shapes;
    lu_shape shape[LU_SHAPES]; /* the tallest first */
    cl_mem done;               /* owned: how many columns are factored */
} lu_blocks;

/* A factorisation in progress. */
typedef struct factorisation {
    kryi_lu *lu;
    kry_device *dev;
    kryi_panels panels;
    lu_blocks blocks;
    kryi_block F;
    cl_mem inverse;        /* of triangles along a block's diagonal; owned */
    kryi_barrier *barrier; /* owned; NULL: panels are factored with a launch for each column */
    kryi_kernel *panel;
    int wide;               /* columns of a panel: PANEL, or half of them */
    cl_command_queue aside; /* borrowed; NULL: there is one queue */
} factorisation;

/* ---- a panel in one launch ---- */

enum { PANEL_ARGS = 13 };

static void panel_args(const factorisation *f, const cl_int place[3], kry_arg args[PANEL_ARGS])
{
    const kryi_panels *p = &f->panels;
    const kry_arg all[PANEL_ARGS] = {
        { 0 }, /* the barrier's */
        ARG(p->m),   ARG(place[0]), ARG(place[1]),   ARG_VEC(&p->F), ARG(p->F.ld),  ARG(p->value),
        ARG(p->row), ARG(p->line),  ARG(p->columns), ARG(p->index),  ARG(place[2]),
    };
    memcpy(args, all, sizeof all);
}

static int panel_groups(const factorisation *f, int64_t c0)
{
    return (int)((f->lu->m - c0 + f->lu->how.panel_group - 1) / f->lu->how.panel_group);
}

/* A work-item keeps a row of a panel in registers: where these do not suffice, of a narrower panel. */
static kry_status get_panel(factorisation *f, int group)
{
    enum { NARROWEST = 8 };
    kry_status st = KRY_OK;
    char defines[64];

    for (f->wide = KRY_LU_PANEL;; f->wide /= 2) {
        snprintf(defines, sizeof defines, "-DPANEL=%d -DGROUP=%d", f->wide, group);
        TRY(kryi_kernel_get(f->dev, "lu_panel", f->F.type, defines, "lu_panel", &f->panel));
        if (f->wide == NARROWEST || !kryi_kernel_spills(f->dev, f->panel)) break;
    }
done:
    if (st < 0) f->wide = KRY_LU_PANEL;
    return st;
}

/* Make f->barrier, if panels can be factored in one launch each. */
static void prepare_panels(factorisation *f)
{
    const int group = f->lu->how.panel_group;
    const cl_int nowhere[3] = { 0 };
    kry_arg args[PANEL_ARGS];

    if (!group || f->lu->m > (int64_t)group * KRY_BARRIER_MOST) return;
    panel_args(f, nowhere, args);
    if (get_panel(f, group) < 0 ||
        kryi_barrier_create(f->dev, f->panel, group, args, PANEL_ARGS, &f->barrier) < 0)
        return;
    if (kryi_barrier_groups(f->barrier) < panel_groups(f, 0) ||
        kryi_barrier_begin_series(f->barrier) < 0)
        kryi_barrier_release(&f->barrier);
}

static kry_status factor_panel(factorisation *f, int64_t at, int64_t width)
{
    const cl_int place[3] = { (cl_int)at, (cl_int)width, at % f->lu->params.block == 0 };
    kry_arg args[PANEL_ARGS];

    if (!f->barrier) return kryi_panels_eliminate(&f->panels, at, width);
    panel_args(f, place, args);
    return kryi_barrier_launch_next(f->barrier, panel_groups(f, at), args, PANEL_ARGS);
}

/* ---- blocks in one launch -------------------------------------------------------------------- */

/* Blocks of columns factored in one launch each, on devices whose groups can wait for each other.
 * Kernels: cl/dense/lu_block.cl. */

enum {
    ITEM_BYTES = 256, /* of a slab, that a work-item keeps in registers */
    WIDEST = 8,       /* columns of a slab: as few as this are a chain of short waits */
    NARROWEST = 2,
    FEW_COLUMNS = 64, /* of a block: BLOCK is this or KRY_LU_TRIANGLE, to compile seldom */
    SHARE = 5,        /* of so many compute units one has such groups: they mostly wait */
    FEWEST = 8,
    BLOCK_ARGS = 11
};

static void block_args(const lu_blocks *b, const cl_int place[3], kry_arg args[BLOCK_ARGS])
{
    const kryi_panels *p = b->panels;
    const kry_arg all[BLOCK_ARGS] = {
        { 0 }, /* the barrier's */
        ARG(p->m),     ARG(place[0]),   ARG(place[1]), ARG_VEC(&p->F), ARG(p->F.ld),
        ARG(p->index), ARG(p->columns), ARG(place[2]), ARG(b->done),
    };
    memcpy(args, all, sizeof all);
}

/* The kernel for blocks of up to rows * group rows. */
static kry_status get_shape(lu_blocks *b, int rows, lu_shape *shape)
{
    kry_status st = KRY_OK;
    kry_device *dev = b->panels->dev;
    const kry_type type = b->panels->F.type;
    const cl_int nowhere[3] = { 0 };
    const int fit = ITEM_BYTES / (int)kry_type_size(type) / rows;
    kryi_kernel *kernel;
    kry_arg args[BLOCK_ARGS];
    char defines[96];

    shape->rows = rows, shape->wide = fit < WIDEST ? fit : WIDEST;
    snprintf(defines, sizeof defines, "-DGROUP=%d -DROWS=%d -DWIDE=%d -DBLOCK=%d", b->group, rows,
             shape->wide, b->panels->block <= FEW_COLUMNS ? FEW_COLUMNS : KRY_LU_TRIANGLE);
    TRY(kryi_kernel_get(dev, "lu_block", type, defines, "lu_block", &kernel));
    TRY(kryi_kernel_get(dev, "lu_block", type, defines, "lu_rows", &shape->rows_of_others));
    if (kryi_kernel_spills(dev, kernel)) goto done;
    block_args(b, nowhere, args);
    TRY(kryi_barrier_create(dev, kernel, b->group, args, BLOCK_ARGS, &shape->barrier));
    if (kryi_barrier_groups(shape->barrier) == 0) goto done;
    TRY(kryi_barrier_begin_series(shape->barrier));
    b->shapes++;
done:
    return st;
}

/* Prepare launches with groups of `group` work-items for all blocks that they are possible for; it may be none. */
static kry_status begin_blocks(lu_blocks *b, const kryi_panels *panels, int group)
{
    static const cl_int none = 0;
    kry_status st = KRY_OK;
    const int most = ITEM_BYTES / (int)kry_type_size(panels->F.type) / NARROWEST;
    const int64_t r = panels->m < panels->columns ? panels->m : panels->columns,
                  least = panels->m -
                          (r - 1) / panels->block * panels->block; /* rows of the last block */
    int rows = 1;

    b->panels = panels, b->group = group;
    if (!group) goto done;
    while (rows < most && (int64_t)rows * group < panels->m) rows *= 2;
    TRY(kryi_buffer_upload(panels->dev, sizeof none, &none, &b->done));
    for (int s = 0; s < LU_SHAPES && rows && rows * group >= least && b->shapes == s;
         s++, rows /= 2)
        if (get_shape(b, rows, &b->shape[s]) < 0) break;
done:
    return st;
}

/* The shape for blocks that begin with this row; NULL: there is none. */
static const lu_shape *shape_for(const lu_blocks *b, int64_t at)
{
    const lu_shape *found = NULL;
    for (int s = 0; s < b->shapes; s++)
        if ((int64_t)b->shape[s].rows * b->group >= b->panels->m - at) found = &b->shape[s];
    return found;
}

/* Which of two arrays says where the block's rows came from. */
static cl_int turn_of(const lu_blocks *b, int64_t at) { return at / b->panels->block % 2; }

/* Factor columns at ... at + width - 1; other columns do not change. */
static kry_status factor_at_once(lu_blocks *b, int64_t at, int64_t width)
{
    kry_status st = KRY_OK;
    const lu_shape *shape = shape_for(b, at);
    const cl_int place[3] = { (cl_int)at, (cl_int)width, turn_of(b, at) };
    kry_arg args[BLOCK_ARGS];
    int groups = kryi_barrier_groups(shape->barrier);
    const int slabs = (int)((width + shape->wide - 1) / shape->wide),
              few = b->panels->dev->info.compute_units / SHARE > FEWEST
                        ? b->panels->dev->info.compute_units / SHARE
                        : FEWEST;

    if (groups > few) groups = few;
    if (groups > slabs) groups = slabs;
    block_args(b, place, args);
    TRY(kryi_barrier_launch_next(shape->barrier, groups, args, BLOCK_ARGS));
done:
    return st;
}

/* The exchanges of rows of that block in other columns, `others` of F. They may wait until the next block is being
 * factored. */
static kry_status exchange_blocks(const lu_blocks *b, int64_t at, int64_t width,
                                  const kryi_block *others)
{
    enum { AT_ONCE = 8 };
    const kryi_panels *p = b->panels;
    const cl_int n = (cl_int)others->cols, c0 = (cl_int)at, w = (cl_int)width,
                 turn = turn_of(b, at);
    const int64_t groups = kryi_groups_at_most(p->dev, (n + AT_ONCE - 1) / AT_ONCE);
    const kry_arg args[] = { ARG(n),        ARG(p->m),       ARG(c0),
                             ARG(w),        ARG_VEC(others), ARG(others->ld),
                             ARG(p->index), ARG(p->columns), ARG(turn) };

    if (n == 0) return KRY_OK;
    return kryi_launch_range(p->dev, shape_for(b, at)->rows_of_others,
                             (kryi_range){ groups, .size = b->group }, args, COUNT(args));
}

/* *finished: false if a launch was aborted. Waits. */
static kry_status finished_blocks(lu_blocks *b, bool *finished)
{
    kry_status st = KRY_OK;

    *finished = true;
    for (int s = 0; s < b->shapes; s++) {
        bool one;
        TRY(kryi_barrier_series_finished(b->shape[s].barrier, &one));
        *finished = *finished && one;
    }
done:
    return st;
}

/* ---- a block ---- */

/* A22 -= L21 U12 in columns `from` to before `to`: L21 lies below the `wide` rows and columns at
 * (at, at). */
static kry_status eliminate(factorisation *f, int64_t at, int64_t wide, int64_t from, int64_t to)
{
    const int64_t below = f->lu->m - at - wide, next = to - from;

    return kryi_gemm_run(&(kryi_gemm){ .alpha = -1,
                                       .A = kryi_block_part(&f->F, at + wide, at, below, wide),
                                       .B = kryi_block_part(&f->F, at, from, wide, next),
                                       .beta = 1,
                                       .C = kryi_block_part(&f->F, at + wide, from, below, next) });
}

/* Factor the block of columns k0 ... k1 - 1; other columns do not change. */
static kry_status factor_block(factorisation *f, int64_t k0, int64_t k1)
{
    kry_status st = KRY_OK;

    if (shape_for(&f->blocks, k0)) return factor_at_once(&f->blocks, k0, k1 - k0);
    for (int64_t c0 = k0; c0 < k1; c0 += f->wide) {
        int64_t w = k1 - c0 < f->wide ? k1 - c0 : f->wide;
        TRY(factor_panel(f, c0, w));
        TRY(kryi_panels_exchange(&f->panels, c0, w, k0, k1, true, f->panels.line));
        TRY(eliminate(f, c0, w, c0 + w, k1));
    }
done:
    return st;
}

/* ---- what is behind a block ---- */

/* The inverses along the diagonal of the triangle of block k0 ... k1 - 1, for block_row. */
static kry_status invert(factorisation *f, int64_t k0, int64_t k1)
{
    const cl_int b = (cl_int)(k1 - k0);
    const int64_t at = f->F.first + k0 * (f->F.ld + 1);
    const kry_arg args[] = { ARG(b), ARG(f->F.buffer), ARG(at), ARG(f->F.ld), ARG(f->inverse) };

    if (f->dev->info.cpu_kernels) return KRY_OK;
    return kryi_lu_launch(f->dev, f->F.type, "lu_inverses", (b + KRY_LU_PANEL - 1) / KRY_LU_PANEL,
                          args, COUNT(args));
}

/* A12 := L11^-1 A12 with the triangle of block k0 ...; CPUs go without inverses. */
static kry_status block_row(factorisation *f, const kryi_block *L11, const kryi_block *A12)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel;
    char defines[100];
    const cl_int b = (cl_int)L11->rows;
    const int columns = kryi_lu_columns(f->F.type);
    const int64_t groups = kryi_groups_at_most(f->dev, (A12->cols + columns - 1) / columns);
    const kry_arg args[] = { ARG(b),       ARG(A12->cols),  ARG(f->F.buffer), ARG(L11->first),
                             ARG(f->F.ld), ARG(f->inverse), ARG(f->F.buffer), ARG(A12->first) };

    if (f->dev->info.cpu_kernels) return kryi_lu_triangle(true, false, L11, A12);
    kryi_lu_defines(f->F.type, "", defines, sizeof defines);
    TRY(kryi_kernel_get_fitting(f->dev, "lu", f->F.type, defines, "lu_block_row", &kernel));
    TRY(kryi_launch(f->dev, kernel, groups, args, COUNT(args)));
done:
    return st;
}

/* U12 := L11^-1 A12 and A22 -= L21 U12 for columns `from` to before `to` behind block k0 ... k1 -
 * 1. */
static kry_status update(factorisation *f, int64_t k0, int64_t k1, int64_t from, int64_t to)
{
    kry_status st = KRY_OK;
    const kryi_block L11 = kryi_block_part(&f->F, k0, k0, k1 - k0, k1 - k0),
                     A12 = kryi_block_part(&f->F, k0, from, k1 - k0, to - from);

    if (from == to) return KRY_OK;
    TRY(block_row(f, &L11, &A12));
    TRY(eliminate(f, k0, k1 - k0, from, to));
done:
    return st;
}

/* ---- the schedule ---- */

kryi_lu_how kryi_lu_usual(const kry_device *dev, const kry_lu_params *params, int64_t n)
{
    enum { PANEL_GROUP = 256 };
    const bool gpu = dev->info.gpu, large = gpu && dev->info.max_group >= PANEL_GROUP;
    const int twice = dev->info.max_group >= 2 * PANEL_GROUP ? 2 : 1;
    return (kryi_lu_how){ .block_group = large ? twice * PANEL_GROUP : 0,
                          .panel_group = large ? PANEL_GROUP : 0,
                          .two_queues = gpu && n > 2 * (int64_t)params->block };
}

static void release_queue(kry_device *dev, void *kept)
{
    if (*(cl_command_queue *)kept) dev->driver->drop_queue(*(cl_command_queue *)kept);
}

static const kryi_keeper queue_keeper = { sizeof(cl_command_queue), release_queue };

/* Make a queue like the device's own, which stays with the device; without it one queue does all. */
static void open_aside(factorisation *f)
{
    kry_device *dev = f->dev;
    cl_command_queue_properties properties = 0;
    cl_command_queue *aside;

    if (!f->lu->how.two_queues || dev->info.opencl < 120 ||
        clGetCommandQueueInfo(dev->queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                              NULL) ||
        kryi_device_keep(dev, &queue_keeper, &aside) < 0)
        return;
    if (!*aside) *aside = clCreateCommandQueue(dev->context, dev->id, properties, NULL);
    f->aside = *aside;
}

/* What is enqueued in one queue from now on waits for what is in the other. */
static kry_status follow(factorisation *f, cl_command_queue queue, cl_command_queue other)
{
    kry_status st = KRY_OK;
    cl_event event = NULL;

    if (!f->aside) return KRY_OK;
    TRY_CL(clEnqueueMarkerWithWaitList(other, 0, NULL, &event));
    TRY_CL(clFlush(other));
    TRY_CL(clEnqueueBarrierWithWaitList(queue, 1, &event, NULL));
    TRY_CL(clFlush(queue));
done:
    if (event) clReleaseEvent(event);
    return st;
}

/* factor_block in the second queue, where there is one, behind all that is in the first. */
static kry_status factor_aside(factorisation *f, int64_t k0, int64_t k1)
{
    kry_status st = KRY_OK;
    kry_device *dev = f->dev;
    cl_command_queue queue = dev->queue;

    TRY(follow(f, f->aside, queue));
    if (f->aside) dev->queue = f->aside;
    TRY(factor_block(f, k0, k1));
    if (f->aside) TRY_CL(clFlush(f->aside));
done:
    dev->queue = queue;
    return st;
}

/* The exchanges of rows of block k0 ... k1 - 1 in columns `from` to before `to`. */
static kry_status exchange(factorisation *f, int64_t k0, int64_t k1, int64_t from, int64_t to)
{
    const kryi_block others = kryi_block_part(&f->F, 0, from, f->lu->m, to - from);
    return exchange_blocks(&f->blocks, k0, k1 - k0, &others);
}

/* A block is factored as soon as its columns have been updated with the block before; the columns behind it
 * are updated at the same time, and where one launch factors it, rows in other columns exchanged. */
static kry_status factor_all(factorisation *f)
{
    kry_status st = KRY_OK;
    const int64_t block = f->lu->params.block, n = f->lu->n, r = f->lu->r;

    for (int64_t k0 = 0, k1 = block < r ? block : r, k2; k0 < r; k0 = k1, k1 = k2 < r ? k2 : r) {
        const bool apart = shape_for(&f->blocks, k0);
        k2 = n - k1 < block ? n : k1 + block;
        if (k0 == 0) TRY(factor_aside(f, k0, k1));
        TRY(follow(f, f->dev->queue, f->aside));
        if (apart)
            TRY(exchange(f, k0, k1, k1, k2));
        else
            TRY(kryi_panels_exchange(&f->panels, k0, k1 - k0, 0, n, false, f->panels.line));
        if (k1 < n) TRY(invert(f, k0, k1));
        TRY(update(f, k0, k1, k1, k2));
        if (k1 < r) TRY(factor_aside(f, k1, k2 < r ? k2 : r));
        if (apart) {
            TRY(exchange(f, k0, k1, 0, k0));
            TRY(exchange(f, k0, k1, k2, n));
        }
        TRY(update(f, k0, k1, k2, n));
    }
done:
    return st;
}

/* *finished: false if a launch was aborted, and F is not valid. */
static kry_status factorise(kryi_lu *lu, const kry_vec *A, bool at_once, cl_int *pivots,
                            bool *finished)
{
    kry_status st = KRY_OK;
    const kryi_block F = kryi_block_of(lu->F);
    factorisation f = { .lu = lu,
                        .dev = F.dev,
                        .F = F,
                        .panels = { .block = lu->params.block },
                        .wide = KRY_LU_PANEL };

    *finished = true;
    TRY(kry_vec_copy(A, lu->F));
    TRY(kryi_panels_begin(&f.panels, &F));
    TRY(kryi_buffer_create(f.dev, KRY_LU_TRIANGLE * KRY_LU_PANEL * kry_type_size(F.type),
                           &f.inverse));
    if (at_once) TRY(begin_blocks(&f.blocks, &f.panels, lu->how.block_group));
    if (at_once && !shape_for(&f.blocks, 0)) prepare_panels(&f);
    open_aside(&f);
    TRY(factor_all(&f));
    bool panels_finished = true;
    if (f.barrier) TRY(kryi_barrier_series_finished(f.barrier, &panels_finished));
    TRY(finished_blocks(&f.blocks, finished));
    *finished = *finished && panels_finished;
    TRY(kryi_buffer_read(f.dev, f.panels.index, 0, (size_t)lu->r * sizeof *pivots, pivots));
done:
    if (f.aside) clFinish(f.aside);
    kryi_barrier_release(&f.barrier);
    for (int s = 0; s < LU_SHAPES; s++) kryi_barrier_release(&f.blocks.shape[s].barrier);
    if (f.blocks.done) kryi_buffer_release(f.blocks.panels->dev, &f.blocks.done);
    kryi_buffer_release(f.dev, &f.inverse);
    kryi_panels_end(&f.panels);
    return st;
}

kry_status kryi_lu_factorise(kryi_lu *lu, const kry_vec *A, cl_int *pivots)
{
    kry_status st = KRY_OK;
    bool finished;

    TRY(factorise(lu, A, true, pivots, &finished));
    if (!finished) TRY(factorise(lu, A, false, pivots, &finished));
done:
    return st;
}
