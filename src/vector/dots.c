/* dots.c - products of a block of columns with one column or two. Kernel: cl/vector/dots.cl. */
#include "vector/vec.h"
#include <assert.h>

/* A GPU keeps as many sums in registers as leave room for few groups, and each of them leaves all sums
 * behind: no more groups than run at once. */
static kryi_chunks rows_of(const kry_vec *w)
{
    kryi_chunks rows = kryi_chunks_of(w);
    const kry_device *dev = w->dev;
    const int fewer = dev->shape.per_unit / 4 > 0 ? dev->shape.per_unit / 4 : 1;
    const int64_t most = kryi_groups_at_once(dev, fewer);

    if (!rows.chunk && dev->info.gpu && !dev->info.cpu_kernels && rows.groups > most)
        rows.groups = most;
    return rows;
}

bool kryi_vec_aligned(const kry_vec *V)
{
    const int width = kryi_vector_width(V->dev, V->type);
    return V->dev->info.cpu_kernels || (V->first % width == 0 && (V->k == 1 || V->ld % width == 0));
}

kry_status kryi_vec_dots(const kry_vec *V, const kry_vec *W, kry_sum *sum)
{
    kry_status st = KRY_OK;
    kry_device *dev = W->dev;
    const kry_vec w = kryi_vec_column(W, 0);
    const kryi_chunks rows = rows_of(&w);
    const cl_int k = (cl_int)V->k;
    const int64_t V_pitch = k > 1 ? V->ld : 0, W_pitch = W->k > 1 ? W->ld : 0;
    const kry_arg rest[] = { ARG(k),     ARG_VEC(V),   ARG(V_pitch),
                             ARG_VEC(W), ARG(W_pitch), ARG(sum->buffer) };
    const bool whole = kryi_vec_aligned(V) && kryi_vec_aligned(W);
    const char *defines = rows.chunk ? "-DKRY_UNALIGNED" : whole ? "" : "-DKRY_UNALIGNED_SUMS";
    kryi_kernel *kernel;

    assert(sum->width == V->k * W->k && V->n == W->n && W->k <= 2);
    TRY(kryi_kernel_get_fitting(dev, "dots", w.type, defines, W->k > 1 ? "dots_pair" : "dots_block",
                                &kernel));
    TRY(kryi_launch_chunks(dev, kernel, &rows, rest, COUNT(rest)));
    sum->count = (cl_int)rows.groups;
done:
    return st;
}
