/* workspace.c - see workspace.h. */
#include "krylov/workspace.h"
#include <assert.h>

kry_status kryi_workspace_vectors(kryi_workspace *W, int64_t columns, kry_vec **const *vec,
                                  size_t count)
{
    kry_status st = KRY_OK;

    for (size_t i = 0; i < count; i++) {
        assert(W->vecs < (int)COUNT(W->vec));
        TRY(kryi_vec_create_columns(W->dev, W->type, W->n, columns, vec[i]));
        W->vec[W->vecs++] = vec[i];
    }
done:
    return st;
}

kry_status kryi_workspace_sums(kryi_workspace *W, int width, kry_sum **const *sum, size_t count)
{
    kry_status st = KRY_OK;

    for (size_t i = 0; i < count; i++) {
        assert(W->sums < (int)COUNT(W->sum));
        TRY(kryi_sum_create_columns(W->dev, width, W->columns, W->stopped, sum[i]));
        W->sum[W->sums++] = sum[i];
    }
done:
    return st;
}

kry_status kryi_workspace_buffer(kryi_workspace *W, size_t bytes, cl_mem *buffer)
{
    assert(W->buffers < (int)COUNT(W->buffer));
    W->buffer[W->buffers++] = buffer;
    return kryi_buffer_create(W->dev, bytes, buffer);
}

void kryi_workspace_release(kryi_workspace *W)
{
    while (W->buffers > 0) kryi_buffer_release(W->dev, W->buffer[--W->buffers]);
    while (W->sums > 0) kry_sum_release(W->sum[--W->sums]);
    while (W->vecs > 0) kry_vec_release(W->vec[--W->vecs]);
}
