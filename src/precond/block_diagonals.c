/* block_diagonals.c - block factors by diagonals, and solves with them. */
#include "precond/block_ic.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 4,   /* rows to a work-item, EACH_ITEM in the kernels */
    MERGED = 512 /* rows that a group should have to do at least */
};

static int diagonal_of(const kry_block_solve *s, int64_t offset)
{
    int k = 0;
    while (k < s->diagonals.count && s->diagonals.offset[k] != offset) k++;
    return k;
}

/* Add the offsets of a triangle; false if they become too many. */
static bool add_offsets(kry_block_solve *s, const kry_sparse *t)
{
    enum { MOST_ON_HOST = 6 }; /* of which src/host/meson.build has programs */
    const int most = kry_device_is_host(s->dev) ? MOST_ON_HOST : KRY_MOST_DIAGONALS;

    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t e = t->row_ptr[i]; e < t->row_ptr[i + 1]; e++) {
            int offset = abs((int)(i - t->col[e])), k = diagonal_of(s, offset);
            if (k < s->diagonals.count) continue;
            if (k == most) return false;
            for (; k > 0 && s->diagonals.offset[k - 1] > offset; k--)
                s->diagonals.offset[k] = s->diagonals.offset[k - 1];
            s->diagonals.offset[k] = offset, s->diagonals.count++;
        }
    return true;
}

/* GPUs take pieces of rows that only the diagonal beside the main one couples. */
static bool plan_pieces(kry_block_solve *s)
{
    enum { LEAST_STEP = 32 };
    int chain = s->diagonals.count && s->diagonals.offset[0] == 1;
    int64_t step = PIECE * (int64_t)kry_group_size(s->dev);

    if (chain < s->diagonals.count && s->diagonals.offset[chain] < step)
        step = s->diagonals.offset[chain];
    if (s->rows < step) step = s->rows;
    s->diagonals.step = (int)step;
    return step >= LEAST_STEP || chain >= s->diagonals.count ||
           s->diagonals.offset[chain] >= s->rows;
}

bool kry_block_diagonals_plan(kry_block_solve *s, const kry_block_factor *f)
{
    const bool cpu = s->dev->info.cpu_kernels;
    int64_t entries = 0, nnz = kry_sparse_nnz(&f->lower),
            other = f->symmetric ? 0 : kry_sparse_nnz(&f->upper);

    s->diagonals.count = 0;
    if (!add_offsets(s, &f->lower)) return false;
    if (!f->symmetric && !add_offsets(s, &f->upper)) return false;
    if (!cpu || !s->diagonals.count) { /* several blocks that follow each other are one block */
        int64_t merged = (MERGED + s->rows - 1) / s->rows * s->rows;
        s->rows = merged < s->n ? merged : s->n;
    }
    for (int k = 0; k < s->diagonals.count; k++) {
        if (entries > INT_MAX - s->rows) return false;
        s->diagonals.begin[k] = (int)entries;
        entries += s->rows - s->diagonals.offset[k];
    }
    int64_t blocks = (s->n + s->rows - 1) / s->rows;
    double slots = (double)entries * (double)blocks;
    if (slots > 2.0 * (double)(nnz > other ? nnz : other) + (double)s->n) return false;
    s->diagonals.upper_at = f->symmetric ? 0 : entries;
    s->diagonals.inverse_at = s->diagonals.upper_at + entries;
    s->diagonals.record = s->diagonals.inverse_at + s->rows;
    return cpu || plan_pieces(s);
}

static void pack_triangle(const kry_block_solve *s, const kry_sparse *t, int64_t i, int lane,
                          int64_t first, int64_t at, void *record)
{
    const double *val = t->val;

    for (int64_t e = t->row_ptr[i]; e < t->row_ptr[i + 1]; e++) {
        int64_t col = t->col[e], c = (col < i ? col : i) - first;
        int k = diagonal_of(s, col < i ? i - col : col - i);
        kry_storage_put(s->storage, s->type, record,
                        (at + s->diagonals.begin[k] + c) * s->stride + lane, val[e]);
    }
}

/* The numbers of a bundle; zeros where there is nothing. */
static void pack_bundle(const kry_block_solve *s, const kry_block_factor *f, int64_t bundle,
                        void *record)
{
    memset(record, 0,
           (size_t)(s->diagonals.record * s->stride) * kry_storage_size(s->storage, s->type));
    for (int lane = 0; lane < s->stride; lane++) {
        int64_t first = (bundle * s->stride + lane) * s->rows;
        for (int64_t i = first; i < first + s->rows && i < s->n; i++) {
            pack_triangle(s, &f->lower, i, lane, first, 0, record);
            if (!f->symmetric)
                pack_triangle(s, &f->upper, i, lane, first, s->diagonals.upper_at, record);
            kry_storage_put(s->storage, s->type, record,
                            (s->diagonals.inverse_at + i - first) * s->stride + lane,
                            1 / f->d[i] / s->scale);
        }
    }
}

/* CPUs: whether all lanes of a record have the same numbers, of which it then has one set, and zeros. */
static bool shrink_to_one(size_t numbers, int64_t stride, size_t size, unsigned char *record)
{
    const size_t all = (size_t)stride * size;

    if (stride == 1) return false;
    for (size_t k = 0; k < numbers; k++)
        if (memcmp(record + k * all, record + k * all + size, all - size)) return false;
    for (size_t k = 1; k < numbers; k++) memcpy(record + k * size, record + k * all, size);
    memset(record + numbers * size, 0, numbers * (all - size));
    return true;
}

/* The slot for the numbers of slot `count`: an older one with equal numbers, or itself. Blocks that
 * are cut out of lines repeat after a few, if at all. */
static int32_t find_slot(const unsigned char *slots, size_t bytes, int32_t count)
{
    enum { RECENT = 64 };
    for (int32_t s = count - 1; s >= 0 && s >= count - RECENT; s--)
        if (!memcmp(slots + (size_t)s * bytes, slots + (size_t)count * bytes, bytes)) return s;
    return count;
}

kry_status kry_block_diagonals_pack(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    const size_t size = kry_storage_size(s->storage, s->type),
                 bytes = (size_t)(s->diagonals.record * s->stride) * size;
    int pairs[2 * KRY_MOST_DIAGONALS + 1] = { 0 };
    unsigned char *slots = NULL;
    int32_t *slot = NULL, count = 0;
    size_t room = 0;

    for (int k = 0; k < s->diagonals.count; k++)
        pairs[2 * k] = s->diagonals.offset[k], pairs[2 * k + 1] = s->diagonals.begin[k];
    TRY(kry_block_upload(s, pairs, COUNT(pairs), sizeof *pairs, &s->diagonals.pairs));
    TRY(kry_alloc((size_t)s->bundles + 1, sizeof *slot, &slot));
    for (int64_t b = 0; b < s->bundles; b++) {
        if ((size_t)count == room) {
            room = room ? 2 * room : 4;
            TRY(kry_realloc(room, bytes, &slots));
        }
        unsigned char *record = slots + (size_t)count * bytes;
        pack_bundle(s, f, b, record);
        const bool same = shrink_to_one((size_t)s->diagonals.record, s->stride, size, record);
        slot[b] = find_slot(slots, bytes, count);
        if (slot[b] == count) count++;
        if (same) slot[b] = ~slot[b];
    }
    TRY(kry_block_upload(s, slot, (size_t)s->bundles, sizeof *slot, &s->diagonals.slot));
    s->slots = count * s->diagonals.record * s->stride;
    TRY(kry_block_upload(s, slots, (size_t)s->slots, size, &s->diagonals.factor));
done:
    free(slot), free(slots);
    return st;
}

kry_status kry_block_diagonals_run(kry_block_solve *s, const kry_vec *r, kry_vec *z)
{
    const kry_block_diagonals *d = &s->diagonals;
    kry_device *dev = s->dev;
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles, m = d->count, step = d->step;
    const cl_int columns = (cl_int)r->k;
    cl_long n = s->n, record = d->record, upper_at = d->upper_at, inverse_at = d->inverse_at;
    kry_scalar by = kry_scalar_of(dev, s->scale);
    kry_arg work = dev->info.cpu_kernels ? (kry_arg)ARG(s->scratch) : (kry_arg)ARG(step);
    kry_arg args[] = { ARG(n),          ARG(rows),      ARG(bundles),     ARG(m),
                       ARG(d->pairs),   ARG(d->slot),   ARG(record),      ARG(upper_at),
                       ARG(inverse_at), ARG(d->factor), ARG_ACC(dev, by), work,
                       ARG(columns),    ARG_VEC(r),     ARG(r->ld),       ARG_VEC(z),
                       ARG(z->ld) };

    return kry_launch_columns(dev, s->kernel, s->walkers, kry_block_columns(s, r), args,
                              COUNT(args));
}
