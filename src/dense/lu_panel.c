/* lu_panel.c - panels of PANEL columns of a dense matrix, P A = L U. Kernels: cl/lu_panel.cl, cl/lu.cl.
 *
 * Where the device's groups can wait for each other, a panel is factored in one launch, which keeps it
 * in registers (cl/lu_panel.cl). Elsewhere a launch for each column finishes the search of its pivot,
 * exchanges two rows of the panel, eliminates and begins the next search. */
#include "dense/lu.h"
#include <stdio.h>
#include <string.h>

/* GPUs: a row for each work-item. */
int kry_lu_share(const kry_device *dev, int64_t m)
{
    enum { LEAST = 512, MOST_GROUPS = 1024 };
    if (!dev->info.cpu_kernels) return kry_group_size(dev);
    int64_t share = (m + MOST_GROUPS - 1) / MOST_GROUPS;
    return (int)(share < LEAST ? LEAST : share);
}

/* ---- in one launch ---- */

static int panel_groups(const kry_lu_factoring *f, int64_t c0)
{
    return (int)((f->lu->m - c0 + f->lu->how.panel_group - 1) / f->lu->how.panel_group);
}

enum { PANEL_ARGS = 15 };

static void panel_args(const kry_lu_factoring *f, kry_arg args[PANEL_ARGS])
{
    const kry_arg all[PANEL_ARGS] = {
        { 0 }, /* the barrier's */
        ARG(f->m),       ARG(f->c0),     ARG(f->w),         ARG(f->F.buffer),
        ARG(f->F.first), ARG(f->F.ld),   ARG(f->value),     ARG(f->row),
        ARG(f->line),    ARG(f->pivots), ARG(f->lu->order), ARG(f->source),
        ARG(f->origin),  ARG(f->fresh),
    };
    memcpy(args, all, sizeof all);
}

void kry_lu_prepare_panels(kry_lu_factoring *f)
{
    const int group = f->lu->how.panel_group;
    char defines[64];
    kry_arg args[PANEL_ARGS];

    if (!group || f->lu->m > (int64_t)group * KRY_BARRIER_MOST) return;
    snprintf(defines, sizeof defines, "-DPANEL=%d -DGROUP=%d", KRY_LU_PANEL, group);
    panel_args(f, args);
    if (kry_kernel_get(f->dev, "lu_panel", f->F.type, defines, "lu_panel", &f->panel) < 0 ||
        kry_barrier_create(f->dev, f->panel, group, args, PANEL_ARGS, &f->barrier) < 0)
        return;
    if (kry_barrier_groups(f->barrier) < panel_groups(f, 0) ||
        kry_barrier_begin_series(f->barrier) < 0)
        kry_barrier_release(&f->barrier);
}

static kry_status factor_at_once(kry_lu_factoring *f, int64_t at, int64_t width)
{
    kry_arg args[PANEL_ARGS];

    f->c0 = (cl_int)at, f->w = (cl_int)width, f->fresh = at % f->lu->params.block == 0;
    panel_args(f, args);
    f->lu->panels_at_once++;
    return kry_barrier_launch_next(f->barrier, panel_groups(f, at), args, PANEL_ARGS);
}

/* ---- column by column ---- */

static kry_status factor_by_columns(kry_lu_factoring *f, int64_t at, int64_t width)
{
    kry_status st = KRY_OK;
    const cl_int m = f->m, c0 = (cl_int)at, w = (cl_int)width, share = f->share, most = f->most,
                 block = f->lu->params.block;
    const int64_t groups = (m - c0 + share - 1) / share;
    cl_int j = c0 - 1, half_in = 0;
    const kry_arg args[] = { ARG(m),         ARG(c0),          ARG(w),
                             ARG(j),         ARG(share),       ARG(most),
                             ARG(half_in),   ARG(f->F.buffer), ARG(f->F.first),
                             ARG(f->F.ld),   ARG(f->value),    ARG(f->row),
                             ARG(f->line),   ARG(f->pivots),   ARG(f->lu->order),
                             ARG(f->source), ARG(f->origin),   ARG(block) };

    for (; j < c0 + w; j++, half_in = 1 - half_in)
        TRY(kry_launch(f->dev, f->column, groups, args, COUNT(args)));
done:
    return st;
}

kry_status kry_lu_factor_panel(kry_lu_factoring *f, int64_t at, int64_t width)
{
    return (f->barrier ? factor_at_once : factor_by_columns)(f, at, width);
}
