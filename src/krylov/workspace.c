/* workspace.c - see workspace.h. */
#include "krylov/workspace.h"
#include <assert.h>
#include <stdlib.h>

kry_status kryi_workspace_create(kryi_krylov *K, int columns, void **self)
{
    kry_status st = KRY_OK;
    kryi_workspace *W;

    TRY(kryi_alloc(1, K->method->size, self));
    W = *self;
    W->K = K, W->columns = columns, W->n = K->A->shape.rows;
    if (!K->method->tests_on_host) TRY(kryi_poll_create(K, columns, &W->poll));
    TRY(K->method->create(W));
done:
    return st;
}

void kryi_workspace_destroy(void *self)
{
    kryi_workspace *W = self;

    if (!W) return;
    if (W->K->method->destroy) W->K->method->destroy(self);
    kryi_poll_release(&W->poll);
    kryi_workspace_clear(W);
    free(self);
}

kry_status kryi_workspace_vectors(kryi_workspace *W, int64_t columns, kry_vec **const *vec,
                                  size_t count)
{
    kry_status st = KRY_OK;
    kry_device *dev = W->K->A->dev;
    const kry_type type = W->K->A->shape.type;

    for (size_t i = 0; i < count; i++) {
        assert(W->vecs < (int)COUNT(W->vec));
        if (columns == 1)
            TRY(kryi_vec_create_room(dev, type, W->n, 1, vec[i]));
        else
            TRY(kryi_vec_create_columns(dev, type, W->n, columns, vec[i]));
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
        TRY(kryi_sum_create_columns(W->K->A->dev, width, W->columns, W->poll.state, sum[i]));
        W->sum[W->sums++] = sum[i];
    }
done:
    return st;
}

kry_status kryi_workspace_kernels(const kryi_workspace *W, const char *stem, const char *defines,
                                  const kryi_named_kernel *kernels, size_t count)
{
    const kry_op *A = W->K->A;
    return kryi_kernels_get(A->dev, stem, A->shape.type, defines, kernels, count);
}

kry_status kryi_workspace_buffer(kryi_workspace *W, uint64_t bytes, cl_mem *buffer)
{
    assert(W->buffers < (int)COUNT(W->buffer));
    W->buffer[W->buffers++] = buffer;
    return kryi_buffer_create(W->K->A->dev, bytes, buffer);
}

void kryi_workspace_clear(kryi_workspace *W)
{
    kry_device *dev = W->K->A->dev;

    while (W->buffers > 0) kryi_buffer_release(dev, W->buffer[--W->buffers]);
    while (W->sums > 0) kry_sum_release(W->sum[--W->sums]);
    while (W->vecs > 0) kry_vec_release(W->vec[--W->vecs]);
}
