/* runs.c - cutting the entries of a matrix into runs. A work-group processes one run at a time. */
#include "matrix/matrix.h"
#include <stdlib.h>

void kryi_runs_release(kryi_runs *r)
{
    free(r->cut);
    free(r->row);
    free(r->split);
    *r = (kryi_runs){ 0 };
}

/* Begin a run at this entry of this row, inside it or not. All runs of a row but the first leave their sums to split.cl.
 * In the first pass there are no arrays: only count. */
static void begin_run(kryi_runs *r, int64_t row, int64_t entry, bool inside)
{
    const int32_t run = (int32_t)r->count++;
    int32_t *last;

    if (!r->cut) {
        r->splits += inside; /* or fewer: a row may have several such runs */
        return;
    }
    r->cut[run] = entry;
    r->row[run] = (int32_t)row | (inside ? INT32_MIN : 0);
    if (!inside) return;
    last = r->splits ? r->split + 3 * (r->splits - 1) : NULL;
    if (last && last[0] == row) {
        last[2] = run + 1;
    } else {
        last = r->split + 3 * r->splits++;
        last[0] = (int32_t)row, last[1] = run, last[2] = run + 1;
    }
}

static void equal_runs(const int64_t *row_ptr, int64_t rows, int64_t pieces, kryi_runs *r)
{
    enum { WORTH_CUTTING = 4096 };
    int64_t work = row_ptr[rows] + rows, row = 0;

    for (int64_t b = 0; b < pieces; b++) {
        int64_t target = work / pieces * b, entry;
        while (row < rows && row_ptr[row + 1] + row + 1 <= target) row++;
        entry = row_ptr[row];
        if (row < rows && row_ptr[row + 1] - entry > WORTH_CUTTING && target - row > entry)
            entry = target - row < row_ptr[row + 1] ? target - row : row_ptr[row + 1] - 1;
        begin_run(r, row, entry, entry > row_ptr[row]);
    }
}

/* The end of a run that begins with row `first`: as many rows as fit into a tile, found by halving, or one. */
static int64_t tile_end(const int64_t *row_ptr, int64_t first, int64_t rows, int64_t tile)
{
    int64_t low = first + 1, high = first + tile < rows ? first + tile : rows;

    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (row_ptr[middle] - row_ptr[first] <= tile)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void tiled_runs(const int64_t *row_ptr, int64_t rows, int64_t tile, kryi_runs *r)
{
    for (int64_t first = 0, end; first < rows; first = end) {
        begin_run(r, first, row_ptr[first], false);
        end = tile_end(row_ptr, first, rows, tile);
        for (int64_t k = row_ptr[first] + tile; k < row_ptr[end]; k += tile)
            begin_run(r, first, k, true);
    }
}

kry_status kryi_runs_create(const kry_device *dev, const int64_t *row_ptr, int64_t rows, int unroll,
                            kryi_runs *r)
{
    kry_status st = KRY_OK;
    int64_t tile = (int64_t)unroll * kryi_group_size(dev);

    *r = (kryi_runs){ 0 };
    for (int pass = 0; pass < 2; pass++) { /* count, then fill in */
        r->count = r->splits = 0;
        if (dev->info.cpu_kernels)
            equal_runs(row_ptr, rows, kryi_cpu_pieces(dev, row_ptr[rows] + rows), r);
        else
            tiled_runs(row_ptr, rows, tile, r);
        CHECK(r->count < INT32_MAX, KRY_ERR_UNSUPPORTED, "a matrix of %lld runs is too large",
              (long long)r->count);
        if (pass) break;
        TRY(kryi_alloc((size_t)r->count + 1, sizeof *r->cut, &r->cut));
        TRY(kryi_alloc((size_t)r->count + 1, sizeof *r->row, &r->row));
        TRY(kryi_alloc((uint64_t)r->splits * 3, sizeof *r->split, &r->split));
    }
    r->cut[r->count] = row_ptr[rows], r->row[r->count] = (int32_t)rows;
done:
    if (st < 0) kryi_runs_release(r);
    return st;
}
