/* csr_runs.c - cutting the rows of a matrix into runs, each the work of one group. */
#include "csr_runs.h"
#include <stdio.h>
#include <stdlib.h>

/* CPU: `count` runs of equal work, where a row costs as much as an entry more. */
static void equal_runs(const int64_t *row_ptr, int64_t rows, cl_int *block, cl_int count)
{
    int64_t work = row_ptr[rows] + rows, row = 0;
    for (cl_int b = 0; b < count; b++) {
        while (row < rows && row_ptr[row] + row < work / count * b) row++;
        block[b] = (cl_int)row;
    }
    block[0] = 0, block[count] = (cl_int)rows;
}

/* GPU: runs of at most `tile` entries and as many rows; a longer row stands alone. Only counts
 * them if block is NULL. */
static cl_int tiled_runs(const int64_t *row_ptr, int64_t rows, int tile, cl_int *block)
{
    cl_int count = 0;
    for (int64_t row = 0; row < rows; count++) {
        int64_t first = row++;
        while (row < rows && row - first < tile && row_ptr[row + 1] - row_ptr[first] <= tile) row++;
        if (block) block[count] = (cl_int)first;
    }
    if (block) block[count] = (cl_int)rows;
    return count;
}

static void chunk_for_cpu(const int64_t *row_ptr, int64_t rows, kry_csr_runs *r)
{
    enum { WORK = 16384, MOST = 128 }; /* entries and rows worth a group of their own */
    int64_t groups = (row_ptr[rows] + rows) / WORK + 1;

    r->blocks = (cl_int)(groups < MOST ? groups : MOST);
    r->groups = r->blocks;
    snprintf(r->variant, sizeof r->variant, "chunked rows, %d chunks", r->blocks);
}

static void tile_for_gpu(const kry_device *dev, kry_type type, const int64_t *row_ptr, int64_t rows,
                         int tile, kry_csr_runs *r)
{
    int64_t most = kry_groups_for_sums(dev, type, INT64_MAX / 2);

    r->blocks = tiled_runs(row_ptr, rows, tile, NULL);
    r->groups = r->blocks < 1 ? 1 : r->blocks < most ? r->blocks : most;
    /* Where every group has one run, launches cost more than the neighbours' second vector. */
    r->fuses = r->blocks <= most;
    snprintf(r->variant, sizeof r->variant, "tiled rows, tile=%d, %.1f rows to a run", tile,
             r->blocks ? (double)rows / r->blocks : 0.0);
}

kry_status kry_csr_runs_create(kry_device *dev, kry_type type, const int64_t *row_ptr, int64_t rows,
                               kry_csr_runs *r)
{
    kry_status st = KRY_OK;
    int tile = KRY_CSR_UNROLL * kry_group_size(dev);
    cl_int *block = NULL;

    if (dev->info.cpu_kernels)
        chunk_for_cpu(row_ptr, rows, r);
    else
        tile_for_gpu(dev, type, row_ptr, rows, tile, r);
    size_t bytes = ((size_t)r->blocks + 1) * sizeof *block;
    TRY(kry_alloc((size_t)r->blocks + 1, sizeof *block, &block));
    if (dev->info.cpu_kernels)
        equal_runs(row_ptr, rows, block, r->blocks);
    else
        tiled_runs(row_ptr, rows, tile, block);
    TRY(kry_buffer_create(dev, bytes, &r->block));
    TRY_CL(clEnqueueWriteBuffer(dev->queue, r->block, CL_TRUE, 0, bytes, block, 0, NULL, NULL));
done:
    free(block);
    return st;
}
