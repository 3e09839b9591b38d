/* lu_factor.c - the factors P A = L U of a dense matrix. Kernels: cl/lu.cl, and products.
 *
 * Blocks of columns, `block` wide, and panels of PANEL columns within them:
 *
 *   for each block                  [ A11 A12 ]
 *     for each panel of it          [ A21 A22 ]
 *       factor it (lu_panel.c): nothing comes to the host
 *       exchange its rows in the other columns of the block
 *       U12 := L11^-1 A12, A22 -= L21 U12 there
 *     exchange rows in all other columns, and the same two for all behind the block: this is where
 * the operations are
 *
 * On GPUs the panels of the next block have a queue of their own, beside the operations of this
 * one. Should a launch that factors a panel be aborted, all is done again with a launch for each
 * column. */
#include "dense/lu.h"
#include "device/tuning.h"
#include <stdio.h>

static void factoring_end(kry_lu_factoring *f)
{
    cl_mem *buffers[] = { &f->value,  &f->row,    &f->line,  &f->inverse,
                          &f->pivots, &f->source, &f->origin };
    if (f->aside) clFinish(f->aside);
    kry_barrier_release(&f->barrier);
    for (size_t i = 0; i < COUNT(buffers); i++)
        if (*buffers[i]) kry_buffer_release(f->dev, buffers[i]);
}

static kry_status factoring_begin(kry_lu_factoring *f, bool at_once)
{
    kry_status st = KRY_OK;
    const kry_lu *lu = f->lu;
    kry_device *dev = f->dev;
    kry_kernel *begin;
    const size_t word = kry_type_size(f->F.type);
    const cl_int r = (cl_int)lu->r;

    f->m = (cl_int)lu->m;
    f->share = kry_lu_share(dev, lu->m);
    f->most = (int)((lu->m + f->share - 1) / f->share);
    TRY(kry_lu_kernel(dev, f->F.type, "lu_begin", &begin));
    TRY(kry_lu_kernel(dev, f->F.type, "lu_column", &f->column));
    TRY(kry_lu_kernel(dev, f->F.type, "lu_rows", &f->rows));
    const size_t slots =
        2 * (size_t)((f->most > KRY_BARRIER_MOST ? f->most : KRY_BARRIER_MOST) + 1);
    TRY(kry_buffer_create(dev, slots * word, &f->value));
    TRY(kry_buffer_create(dev, slots * sizeof(cl_int), &f->row));
    TRY(kry_buffer_create(dev, slots * KRY_LU_PANEL * word, &f->line));
    TRY(kry_buffer_create(dev, KRY_LU_TRIANGLE * KRY_LU_PANEL * word, &f->inverse));
    TRY(kry_buffer_create(dev, (size_t)lu->r * sizeof(cl_int), &f->pivots));
    TRY(kry_buffer_create(dev, (size_t)lu->m * sizeof(cl_int), &f->source));
    TRY(kry_buffer_create(dev, (size_t)lu->m * sizeof(cl_int), &f->origin));
    const kry_arg args[] = { ARG(f->m),      ARG(r),         ARG(lu->order),
                             ARG(f->source), ARG(f->origin), ARG(f->pivots) };
    TRY(kry_launch(dev, begin, kry_groups_for(dev, KRY_F32, lu->m), args, COUNT(args)));
    if (at_once) kry_lu_prepare_panels(f);
done:
    return st;
}

/* The exchanges of columns at ... at + width - 1 in the others from `from` to before `to`; solve:
 * and U12 := L11^-1 A12 behind them. source: where rows came from. */
static kry_status exchange(kry_lu_factoring *f, int64_t at, int64_t width, int64_t from, int64_t to,
                           bool solve, cl_mem source)
{
    const cl_int lo = (cl_int)from, c0 = (cl_int)at, w = (cl_int)width, s = solve;
    const cl_int at_once = w <= KRY_LU_PANEL      ? 4
                           : f->F.type == KRY_F32 ? 2
                                                  : 1; /* as they fit in */
    const int64_t n = to - from - width;
    int64_t groups = (n + at_once - 1) / at_once;
    const kry_arg args[] = { ARG(n),       ARG(lo),        ARG(c0),          ARG(w),
                             ARG(s),       ARG(at_once),   ARG(f->F.buffer), ARG(f->F.first),
                             ARG(f->F.ld), ARG(f->pivots), ARG(source) };

    if (n == 0) return KRY_OK;
    if (groups > 65535) groups = 65535;
    if (f->dev->info.cpu_kernels && groups > f->dev->shape.chunks) groups = f->dev->shape.chunks;
    return kry_launch(f->dev, f->rows, groups, args, COUNT(args));
}

/* A22 -= L21 U12 in columns `from` to before `to`: L21 lies below the `wide` rows and columns at
 * (at, at). */
static kry_status eliminate(kry_lu_factoring *f, int64_t at, int64_t wide, int64_t from, int64_t to)
{
    const int64_t below = f->lu->m - at - wide, next = to - from;

    return kry_gemm_run(&(kry_gemm){ .alpha = -1,
                                     .A = kry_block_part(&f->F, at + wide, at, below, wide),
                                     .B = kry_block_part(&f->F, at, from, wide, next),
                                     .beta = 1,
                                     .C = kry_block_part(&f->F, at + wide, from, below, next) });
}

/* The inverses along the diagonal of the triangle of block k0 ... k1 - 1, for block_row. */
static kry_status invert(kry_lu_factoring *f, int64_t k0, int64_t k1)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    const cl_int b = (cl_int)(k1 - k0);
    const int64_t at = f->F.first + k0 * (f->F.ld + 1);
    const kry_arg args[] = { ARG(b), ARG(f->F.buffer), ARG(at), ARG(f->F.ld), ARG(f->inverse) };

    if (f->dev->info.cpu_kernels) return KRY_OK;
    TRY(kry_lu_kernel(f->dev, f->F.type, "lu_inverses", &kernel));
    TRY(kry_launch(f->dev, kernel, (b + KRY_LU_PANEL - 1) / KRY_LU_PANEL, args, COUNT(args)));
done:
    return st;
}

/* A12 := L11^-1 A12; CPUs go without inverses. */
static kry_status block_row(kry_lu_factoring *f, const kry_block *L11, const kry_block *A12)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    const cl_int b = (cl_int)L11->rows;
    const int columns = kry_lu_columns(f->F.type);
    const int64_t groups = (A12->cols + columns - 1) / columns;
    const kry_arg args[] = { ARG(b),       ARG(A12->cols),  ARG(f->F.buffer), ARG(L11->first),
                             ARG(f->F.ld), ARG(f->inverse), ARG(f->F.buffer), ARG(A12->first) };

    if (f->dev->info.cpu_kernels) return kry_lu_triangle(true, false, L11, A12);
    TRY(kry_lu_kernel(f->dev, f->F.type, "lu_block_row", &kernel));
    TRY(kry_launch(f->dev, kernel, groups < 65535 ? groups : 65535, args, COUNT(args)));
done:
    return st;
}

/* U12 := L11^-1 A12 and A22 -= L21 U12 for columns `from` to before `to` behind block k0 ... k1 -
 * 1, `strip` of them at a time. */
static kry_status update(kry_lu_factoring *f, int64_t k0, int64_t k1, int64_t from, int64_t to,
                         int64_t strip)
{
    kry_status st = KRY_OK;
    const kry_block L11 = kry_block_part(&f->F, k0, k0, k1 - k0, k1 - k0);

    for (int64_t j = from; j < to; j += strip) {
        const int64_t end = to - j < strip ? to : j + strip;
        const kry_block A12 = kry_block_part(&f->F, k0, j, k1 - k0, end - j);
        TRY(block_row(f, &L11, &A12));
        TRY(eliminate(f, k0, k1 - k0, j, end));
    }
done:
    return st;
}

/* Columns k0 ... k1 - 1, and no others. */
static kry_status factor_block(kry_lu_factoring *f, int64_t k0, int64_t k1)
{
    kry_status st = KRY_OK;

    for (int64_t c0 = k0; c0 < k1; c0 += KRY_LU_PANEL) {
        int64_t w = k1 - c0 < KRY_LU_PANEL ? k1 - c0 : KRY_LU_PANEL;
        TRY(kry_lu_factor_panel(f, c0, w));
        TRY(exchange(f, c0, w, k0, k1, true, f->source));
        /* not by CLBlast, which is never asked for so few rows: its room is in use in the first
         * queue */
        TRY(eliminate(f, c0, w, c0 + w, k1));
    }
done:
    return st;
}

/* ---- the schedule ---- */

/* Experiments: "group=512" under lu/panel and "strips=4" under lu/strips in the tuning file. */
kry_lu_how kry_lu_usual(kry_device *dev, const kry_lu_params *params, int64_t n)
{
    enum { PANEL_GROUP = 256 };
    const bool gpu = dev->info.gpu;
    kry_lu_how how = { .panel_group = gpu ? PANEL_GROUP : 0, .strips = 1 };
    char text[64];
    int group;

    if (kry_tuning_get(dev, "lu/panel", text, sizeof text)) {
        const bool read = sscanf(text, "group=%d", &group) == 1;
        how.panel_group = read && group >= 16 && !(group & (group - 1)) ? group : 0;
    }
    if (how.panel_group > dev->info.max_group) how.panel_group = 0;
    if (kry_tuning_get(dev, "lu/strips", text, sizeof text)) sscanf(text, "strips=%d", &how.strips);
    how.two_queues = gpu && n > 2 * (int64_t)params->block && how.strips > 0;
    return how;
}

static void release_queue(kry_device *dev, void *kept)
{
    (void)dev;
    if (*(cl_command_queue *)kept) clReleaseCommandQueue(*(cl_command_queue *)kept);
}

static const kry_keeper queue_keeper = { sizeof(cl_command_queue), release_queue };

/* A queue like the device's own; it stays with the device. Without it all goes on in one. */
static void open_aside(kry_lu_factoring *f)
{
    kry_device *dev = f->dev;
    cl_command_queue_properties properties = 0;
    cl_command_queue *aside;

    if (!f->lu->how.two_queues || dev->info.opencl < 120 ||
        clGetCommandQueueInfo(dev->queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                              NULL) ||
        kry_device_keep(dev, &queue_keeper, &aside) < 0)
        return;
    if (!*aside) *aside = clCreateCommandQueue(dev->context, dev->id, properties, NULL);
    f->aside = *aside;
}

/* Columns to a strip, of `columns` in all. */
static int64_t strip_of(const kry_lu_factoring *f, int64_t columns)
{
    enum { SIDE = 128, LEAST = 512 }; /* what products of matrices like */
    const int64_t strip =
        f->aside ? (columns / f->lu->how.strips + SIDE - 1) / SIDE * SIDE : columns;
    return strip > LEAST ? strip : f->aside ? LEAST : columns ? columns : 1;
}

/* What is enqueued in one queue from now on waits for what is in the other. */
static kry_status follow(kry_lu_factoring *f, cl_command_queue queue, cl_command_queue other)
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
static kry_status factor_aside(kry_lu_factoring *f, int64_t k0, int64_t k1)
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

/* The next block is factored as soon as the last one has been taken from its columns; all others
 * follow at the same time, in strips, between which the small launches of a block find room. */
static kry_status factor_all(kry_lu_factoring *f)
{
    kry_status st = KRY_OK;
    const int64_t block = f->lu->params.block, n = f->lu->n, r = f->lu->r;

    for (int64_t k0 = 0, k1 = block < r ? block : r, k2; k0 < r; k0 = k1, k1 = k2 < r ? k2 : r) {
        k2 = n - k1 < block ? n : k1 + block;
        if (k0 == 0) TRY(factor_aside(f, k0, k1));
        TRY(follow(f, f->dev->queue, f->aside));
        TRY(exchange(f, k0, k1 - k0, 0, n, false, f->origin));
        if (k1 < n) TRY(invert(f, k0, k1));
        TRY(update(f, k0, k1, k1, k2, block));
        if (k1 < r) TRY(factor_aside(f, k1, k2 < r ? k2 : r));
        TRY(update(f, k0, k1, k2, n, strip_of(f, n - k2)));
    }
done:
    return st;
}

/* *finished: unless a launch was aborted; F is worthless then. */
static kry_status factorise(kry_lu *lu, const kry_vec *A, bool at_once, bool *finished)
{
    kry_status st = KRY_OK;
    kry_lu_factoring f = { .lu = lu, .dev = lu->F->dev, .F = kry_block_of(lu->F) };

    *finished = false;
    TRY(kry_vec_copy(A, lu->F));
    TRY(factoring_begin(&f, at_once));
    open_aside(&f);
    TRY(factor_all(&f));
    if (f.barrier) TRY(kry_barrier_series_finished(f.barrier, finished));
    if (!f.barrier) *finished = true;
done:
    factoring_end(&f);
    return st;
}

kry_status kry_lu_factorise(kry_lu *lu, const kry_vec *A)
{
    kry_status st = KRY_OK;
    bool finished;

    TRY(factorise(lu, A, true, &finished));
    if (!finished) TRY(factorise(lu, A, false, &finished));
done:
    return st;
}
