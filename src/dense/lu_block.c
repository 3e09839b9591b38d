/* lu_block.c - blocks of columns factored in one launch each, on devices whose groups can wait for each other.
 * Kernels: cl/dense/lu_block.cl. */
#include "dense/lu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITEM_BYTES = 256, /* of a slab, that a work-item keeps in registers */
    WIDEST = 8,       /* columns of a slab: as few as this are a chain of short waits */
    NARROWEST = 2,
    FEW_COLUMNS = 64, /* of a block: BLOCK is this or KRY_LU_TRIANGLE, to compile seldom */
    SHARE = 5,        /* of so many compute units one has such groups: they mostly wait */
    FEWEST = 8,
    BLOCK_ARGS = 11
};

static void block_args(const kry_lu_blocks *b, const cl_int place[3], kry_arg args[BLOCK_ARGS])
{
    const kry_panels *p = b->panels;
    const kry_arg all[BLOCK_ARGS] = {
        { 0 }, /* the barrier's */
        ARG(p->m),     ARG(place[0]),   ARG(place[1]), ARG_VEC(&p->F), ARG(p->F.ld),
        ARG(p->index), ARG(p->columns), ARG(place[2]), ARG(b->done),
    };
    memcpy(args, all, sizeof all);
}

/* The kernel for blocks of up to rows * group rows. */
static kry_status get_shape(kry_lu_blocks *b, int rows, kry_lu_shape *shape)
{
    kry_status st = KRY_OK;
    kry_device *dev = b->panels->dev;
    const kry_type type = b->panels->F.type;
    const cl_int nowhere[3] = { 0 };
    const int fit = ITEM_BYTES / (int)kry_type_size(type) / rows;
    kry_kernel *kernel;
    kry_arg args[BLOCK_ARGS];
    char defines[96];

    shape->rows = rows, shape->wide = fit < WIDEST ? fit : WIDEST;
    snprintf(defines, sizeof defines, "-DGROUP=%d -DROWS=%d -DWIDE=%d -DBLOCK=%d", b->group, rows,
             shape->wide, b->panels->block <= FEW_COLUMNS ? FEW_COLUMNS : KRY_LU_TRIANGLE);
    TRY(kry_kernel_get(dev, "lu_block", type, defines, "lu_block", &kernel));
    TRY(kry_kernel_get(dev, "lu_block", type, defines, "lu_rows", &shape->rows_of_others));
    if (kry_kernel_spills(dev, kernel)) goto done;
    block_args(b, nowhere, args);
    TRY(kry_barrier_create(dev, kernel, b->group, args, BLOCK_ARGS, &shape->barrier));
    if (kry_barrier_groups(shape->barrier) == 0) goto done;
    TRY(kry_barrier_begin_series(shape->barrier));
    b->shapes++;
done:
    return st;
}

kry_status kry_lu_blocks_begin(kry_lu_blocks *b, const kry_panels *panels, int group)
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
    TRY(kry_buffer_upload(panels->dev, sizeof none, &none, &b->done));
    for (int s = 0; s < KRY_LU_SHAPES && rows && rows * group >= least && b->shapes == s;
         s++, rows /= 2)
        if (get_shape(b, rows, &b->shape[s]) < 0) break;
done:
    return st;
}

void kry_lu_blocks_end(kry_lu_blocks *b)
{
    for (int s = 0; s < KRY_LU_SHAPES; s++) kry_barrier_release(&b->shape[s].barrier);
    if (b->done) kry_buffer_release(b->panels->dev, &b->done);
}

/* The shape for blocks that begin with this row; NULL: there is none. */
static const kry_lu_shape *shape_for(const kry_lu_blocks *b, int64_t at)
{
    const kry_lu_shape *found = NULL;
    for (int s = 0; s < b->shapes; s++)
        if ((int64_t)b->shape[s].rows * b->group >= b->panels->m - at) found = &b->shape[s];
    return found;
}

bool kry_lu_blocks_fit(const kry_lu_blocks *b, int64_t at) { return shape_for(b, at); }

/* Which of two arrays says where the block's rows came from. */
static cl_int turn_of(const kry_lu_blocks *b, int64_t at) { return at / b->panels->block % 2; }

kry_status kry_lu_blocks_factor(kry_lu_blocks *b, int64_t at, int64_t width)
{
    kry_status st = KRY_OK;
    const kry_lu_shape *shape = shape_for(b, at);
    const cl_int place[3] = { (cl_int)at, (cl_int)width, turn_of(b, at) };
    kry_arg args[BLOCK_ARGS];
    int groups = kry_barrier_groups(shape->barrier);
    const int slabs = (int)((width + shape->wide - 1) / shape->wide),
              few = b->panels->dev->info.compute_units / SHARE > FEWEST
                        ? b->panels->dev->info.compute_units / SHARE
                        : FEWEST;

    if (groups > few) groups = few;
    if (groups > slabs) groups = slabs;
    block_args(b, place, args);
    TRY(kry_barrier_launch_next(shape->barrier, groups, args, BLOCK_ARGS));
done:
    return st;
}

kry_status kry_lu_blocks_exchange(const kry_lu_blocks *b, int64_t at, int64_t width,
                                  const kry_block *others)
{
    enum { AT_ONCE = 8 };
    const kry_panels *p = b->panels;
    const cl_int n = (cl_int)others->cols, c0 = (cl_int)at, w = (cl_int)width,
                 turn = turn_of(b, at);
    const int64_t groups = kry_groups_at_most(p->dev, (n + AT_ONCE - 1) / AT_ONCE);
    const kry_arg args[] = { ARG(n),        ARG(p->m),       ARG(c0),
                             ARG(w),        ARG_VEC(others), ARG(others->ld),
                             ARG(p->index), ARG(p->columns), ARG(turn) };

    if (n == 0) return KRY_OK;
    return kry_launch_size(p->dev, shape_for(b, at)->rows_of_others, groups, b->group, args,
                           COUNT(args));
}

kry_status kry_lu_blocks_finished(kry_lu_blocks *b, bool *finished)
{
    kry_status st = KRY_OK;

    *finished = true;
    for (int s = 0; s < b->shapes; s++) {
        bool one;
        TRY(kry_barrier_series_finished(b->shape[s].barrier, &one));
        *finished = *finished && one;
    }
done:
    return st;
}
