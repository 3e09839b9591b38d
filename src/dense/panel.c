/* panel.c - panels of a matrix, eliminated with a launch for each column, and the same exchanges of rows in
 * the other columns. For factors and for reduced echelon forms. Kernels: cl/dense/panel.cl. */
#include "dense/lu.h"

/* Rows of a panel that a group takes: on GPUs one for each work-item. */
static int share_of(const kry_device *dev, int64_t m)
{
    enum { LEAST = 512, MOST_GROUPS = 1024 };
    if (!dev->info.cpu_kernels) return kryi_group_size(dev);
    int64_t share = (m + MOST_GROUPS - 1) / MOST_GROUPS;
    return (int)(share < LEAST ? LEAST : share);
}

kry_status kryi_panels_kernel(const kryi_panels *p, const char *name, kryi_kernel **kernel)
{
    char defines[100];
    kryi_lu_defines(p->F.type, p->echelon ? " -DECHELON" : "", defines, sizeof defines);
    return kryi_kernel_get_fitting(p->dev, "panel", p->F.type, defines, name, kernel);
}

kry_status kryi_panels_begin(kryi_panels *p, const kryi_block *F)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(F->type), m = (size_t)F->rows, n = (size_t)F->cols;
    kryi_kernel *begin;

    p->dev = F->dev, p->F = *F;
    p->m = (cl_int)F->rows, p->columns = (cl_int)F->cols;
    p->share = share_of(p->dev, F->rows);
    p->most = (cl_int)((F->rows + p->share - 1) / p->share);
    const size_t most = (size_t)(p->most > KRY_BARRIER_MOST ? p->most : KRY_BARRIER_MOST);
    TRY(kryi_panels_kernel(p, "panel_begin", &begin));
    TRY(kryi_panels_kernel(p, "panel_column", &p->column));
    TRY(kryi_panels_kernel(p, "panel_rows", &p->rows));
    TRY(kryi_buffer_create(p->dev, 2 * most * word, &p->value));
    TRY(kryi_buffer_create(p->dev, 2 * most * sizeof(cl_int), &p->row));
    TRY(kryi_buffer_create(p->dev, 2 * (most + 1) * KRY_LU_PANEL * word, &p->line));
    TRY(kryi_buffer_create(p->dev, (3 * m + 2 * n + 2) * sizeof(cl_int), &p->index));
    const kry_arg args[] = { ARG(p->m), ARG(p->columns), ARG(p->index) };
    TRY(kryi_launch(p->dev, begin, kryi_groups_for(p->dev, KRY_F32, F->rows), args, COUNT(args)));
done:
    return st;
}

void kryi_panels_end(kryi_panels *p)
{
    cl_mem *buffers[] = { &p->value, &p->row, &p->line, &p->index };
    for (size_t i = 0; i < COUNT(buffers); i++) kryi_buffer_release(p->dev, buffers[i]);
}

kry_status kryi_panels_eliminate(const kryi_panels *p, int64_t at, int64_t width)
{
    kry_status st = KRY_OK;
    const cl_int c0 = (cl_int)at, w = (cl_int)width;
    const int64_t rows = p->m - (p->echelon ? 0 : at), groups = (rows + p->share - 1) / p->share;
    kryi_scalar tolerance = kryi_scalar_of(p->dev, p->tolerance);
    cl_int j = c0 - 1;
    const kry_arg args[] = {
        ARG(p->m),     ARG(p->columns), ARG(c0),      ARG(w),
        ARG(j),        ARG(p->share),   ARG(p->most), ARG_ACC(p->dev, tolerance),
        ARG(p->block), ARG_VEC(&p->F),  ARG(p->F.ld), ARG(p->value),
        ARG(p->row),   ARG(p->line),    ARG(p->index)
    };

    for (; j < c0 + w; j++) TRY(kryi_launch(p->dev, p->column, groups, args, COUNT(args)));
done:
    return st;
}

kry_status kryi_panels_exchange(const kryi_panels *p, int64_t at, int64_t width, int64_t from,
                                int64_t to, bool solve, cl_mem T)
{
    const cl_int lo = (cl_int)from, c0 = (cl_int)at, w = (cl_int)width, s = solve,
                 of_block = !solve && !p->echelon,
                 at_once = w <= KRY_LU_PANEL      ? 4
                           : p->F.type == KRY_F32 ? 2
                                                  : 1; /* as many as fit into local memory */
    const int64_t n = to - from - width;
    const int64_t groups = kryi_groups_at_most(p->dev, (n + at_once - 1) / at_once);
    const kry_arg args[] = { ARG(n),       ARG(p->m),      ARG(p->columns), ARG(lo),
                             ARG(c0),      ARG(w),         ARG(s),          ARG(of_block),
                             ARG(at_once), ARG_VEC(&p->F), ARG(p->F.ld),    ARG(p->index),
                             ARG(T) };

    if (n == 0) return KRY_OK;
    return kryi_launch(p->dev, p->rows, groups, args, COUNT(args));
}
