/* block_diagonals.c - block factors by diagonals, and solves with them. */
#include "precond/block_solve.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 4,   /* rows to a work-item, EACH_ITEM in the kernels */
    MERGED = 512 /* rows that a group should have to do at least */
};

/* ---- which diagonals ------------------------------------------------------------------------- */

static int diagonal_of(const kry_block_solve *s, int64_t offset)
{
    int k = 0;
    while (k < s->diagonals.count && s->diagonals.offset[k] != offset) k++;
    return k;
}

/* Add the offsets of a triangle; false if they become too many. */
static bool add_offsets(kry_block_solve *s, int64_t n, const kry_sparse *t)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = t->row_ptr[i]; e < t->row_ptr[i + 1]; e++) {
            int offset = abs((int)(i - t->col[e])), k = diagonal_of(s, offset);
            if (k < s->diagonals.count) continue;
            if (k == KRY_MOST_DIAGONALS) return false;
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
    int64_t entries = 0, nnz = f->lower.row_ptr[f->n],
            other = f->symmetric ? 0 : f->upper.row_ptr[f->n];

    s->diagonals.count = 0;
    if (!add_offsets(s, f->n, &f->lower)) return false;
    if (!f->symmetric && !add_offsets(s, f->n, &f->upper)) return false;
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

/* ---- their numbers --------------------------------------------------------------------------- */

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

/* Slots that are taken, found by a hash of what they hold. */
typedef struct slots {
    unsigned char *data; /* slots of `bytes` each */
    size_t bytes;
    int64_t count, room;
    int32_t *table; /* of slot + 1, 0: none; linear probing */
    uint64_t mask;
} slots;

static kry_status slots_create(int64_t bundles, size_t bytes, slots *p)
{
    kry_status st = KRY_OK;

    *p = (slots){ .bytes = bytes, .mask = 15 };
    while (p->mask < 2 * (uint64_t)bundles) p->mask = 2 * p->mask + 1;
    TRY(kry_alloc((size_t)p->mask + 1, sizeof *p->table, &p->table));
done:
    return st;
}

/* Room for one more behind those that are taken. */
static kry_status slots_grow(slots *p)
{
    if (p->count < p->room) return KRY_OK;
    p->room = p->room ? 2 * p->room : 4;
    return kry_realloc((size_t)p->room, p->bytes, &p->data);
}

/* The slot for the numbers that lie behind the taken ones: one with equal numbers, or a new one. */
static int32_t slots_find(slots *p)
{
    const unsigned char *last = p->data + (size_t)p->count * p->bytes;
    uint64_t h = kry_hash(KRY_HASH_START, last, p->bytes);

    for (; p->table[h & p->mask]; h++) {
        int32_t slot = p->table[h & p->mask] - 1;
        if (!memcmp(p->data + (size_t)slot * p->bytes, last, p->bytes)) return slot;
    }
    p->table[h & p->mask] = (int32_t)++p->count;
    return (int32_t)p->count - 1;
}

kry_status kry_block_diagonals_pack(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    slots all = { 0 };
    int32_t *slot = NULL;
    int pairs[2 * KRY_MOST_DIAGONALS + 1] = { 0 };
    const size_t size = kry_storage_size(s->storage, s->type);

    for (int k = 0; k < s->diagonals.count; k++)
        pairs[2 * k] = s->diagonals.offset[k], pairs[2 * k + 1] = s->diagonals.begin[k];
    TRY(kry_block_upload(s, pairs, COUNT(pairs), sizeof *pairs, &s->diagonals.pairs));
    TRY(slots_create(s->bundles, (size_t)(s->diagonals.record * s->stride) * size, &all));
    TRY(kry_alloc((size_t)s->bundles + 1, sizeof *slot, &slot));
    for (int64_t b = 0; b < s->bundles; b++) {
        TRY(slots_grow(&all));
        pack_bundle(s, f, b, all.data + (size_t)all.count * all.bytes);
        slot[b] = slots_find(&all);
    }
    TRY(kry_block_upload(s, slot, (size_t)s->bundles, sizeof *slot, &s->diagonals.slot));
    s->facts.slots = all.count * s->diagonals.record * s->stride;
    TRY(kry_block_upload(s, all.data, (size_t)s->facts.slots, size, &s->diagonals.factor));
done:
    free(slot), free(all.data), free(all.table);
    return st;
}

/* ---- solves ---------------------------------------------------------------------------------- */

kry_status kry_block_diagonals_run(kry_block_solve *s, bool transposed, const kry_vec *r,
                                   kry_vec *z)
{
    const bool cpu = s->dev->info.cpu_kernels;
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles, m = s->diagonals.count,
           step = s->diagonals.step;
    cl_long n = s->n, record = s->diagonals.record, inverse_at = s->diagonals.inverse_at;
    cl_long lower_at = transposed ? s->diagonals.upper_at : 0,
            upper_at = transposed ? 0 : s->diagonals.upper_at;
    kry_scalar scale = kry_scalar_of(s->dev, s->scale);
    kry_arg work = cpu ? (kry_arg)ARG(s->scratch) : (kry_arg)ARG(step);
    kry_arg args[] = { ARG(n),
                       ARG(rows),
                       ARG(bundles),
                       ARG(m),
                       ARG(s->diagonals.pairs),
                       ARG(s->diagonals.slot),
                       ARG(record),
                       ARG(lower_at),
                       ARG(upper_at),
                       ARG(inverse_at),
                       ARG(s->diagonals.factor),
                       ARG_ACC(s->dev, scale),
                       work,
                       ARG(r->buffer),
                       ARG(r->first),
                       ARG(z->buffer),
                       ARG(z->first) };

    return kry_launch(s->dev, s->kernel, s->walkers, args, COUNT(args));
}
