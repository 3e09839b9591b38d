/*
 * block_solve.c - the factors of block_factor.c laid out for cl/block_ic.cl, and solves with them.
 *
 * A bundle is `stride` consecutive blocks whose numbers lie side by side. Factors with few
 * diagonals are kept without indices, once for all bundles that are equal: those of a grid with
 * constant coefficients are, but for its ends. Others are rows padded to the longest of a bundle.
 */
#include "precond/block_factor.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIAGONALS = 16,
    CPU_STRIDE = 8,
    GPU_STRIDE = 32,
    CPU_WALKERS = 4, /* to a core: few, so that what they write between the sweeps stays in cache */
    GPU_WALKERS = 16384,
    PIECE = 4,   /* rows to a work-item, EACH_ITEM in the kernels */
    MERGED = 512 /* rows that a group should have to do at least */
};

typedef struct rows_layout {
    cl_mem begin, col, val; /* bundles * rows + 1; stride each for col, val */
} rows_layout;

struct kry_block_solve {
    kry_device *dev; /* borrowed */
    kry_type type;   /* of vectors */
    kry_store storage;
    double scale; /* of D^-1: what is stored is a power of two smaller */
    int64_t n, rows, blocks, bundles, walkers;
    int stride, step;
    int diagonals; /* -1: rows */
    int offset[MOST_DIAGONALS], begin[MOST_DIAGONALS];
    int64_t record, upper_at, inverse_at; /* numbers of a slot; L's begin at 0 */
    cl_mem diagonal, slot, factor;        /* diagonals */
    rows_layout lower, upper;
    cl_mem inverse; /* rows: D^-1 */
    cl_mem scratch; /* a bundle of rows for each walker */
    kry_kernel *kernel, *transposed;
    kry_block_facts facts;
};

static kry_status upload(kry_block_solve *s, const void *host, size_t count, size_t size,
                         cl_mem *buffer)
{
    kry_status st = KRY_OK;

    TRY(kry_buffer_create(s->dev, (count ? count : 1) * size, buffer));
    if (count)
        TRY_CL(clEnqueueWriteBuffer(s->dev->queue, *buffer, CL_TRUE, 0, count * size, host, 0, NULL,
                                    NULL));
    s->facts.stored += (double)(count * size);
done:
    return st;
}

/* ---- diagonals ----------------------------------------------------------------------------- */

static int diagonal_of(const kry_block_solve *s, int64_t offset)
{
    int k = 0;
    while (k < s->diagonals && s->offset[k] != offset) k++;
    return k;
}

/* Add the offsets of a triangle; false if they become too many. */
static bool add_offsets(kry_block_solve *s, int64_t n, const kry_triangle *t)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = t->ptr[i]; e < t->ptr[i + 1]; e++) {
            int offset = abs((int)(i - t->col[e])), k = diagonal_of(s, offset);
            if (k < s->diagonals) continue;
            if (k == MOST_DIAGONALS) return false;
            for (; k > 0 && s->offset[k - 1] > offset; k--) s->offset[k] = s->offset[k - 1];
            s->offset[k] = offset, s->diagonals++;
        }
    return true;
}

/* GPUs take pieces of rows that no diagonal but the one beside the main one couples. */
static bool plan_pieces(kry_block_solve *s)
{
    enum { LEAST_STEP = 32 };
    int chain = s->diagonals && s->offset[0] == 1;
    int64_t step = PIECE * (int64_t)kry_group_size(s->dev);

    if (chain < s->diagonals && s->offset[chain] < step) step = s->offset[chain];
    if (s->rows < step) step = s->rows;
    s->step = (int)step;
    return step >= LEAST_STEP || chain >= s->diagonals || s->offset[chain] >= s->rows;
}

/* Whether the factors are best kept by diagonals; if so, how. */
static bool plan_diagonals(kry_block_solve *s, const kry_block_factor *f)
{
    const bool cpu = s->dev->info.cpu_kernels;
    int64_t entries = 0, nnz = f->lower.ptr[f->n], other = f->symmetric ? 0 : f->upper.ptr[f->n];

    s->diagonals = 0;
    if (!add_offsets(s, f->n, &f->lower)) return false;
    if (!f->symmetric && !add_offsets(s, f->n, &f->upper)) return false;
    if (!cpu || !s->diagonals) { /* blocks in a row are a block, too */
        int64_t merged = (MERGED + s->rows - 1) / s->rows * s->rows;
        s->rows = merged < s->n ? merged : s->n;
    }
    for (int k = 0; k < s->diagonals; k++) {
        if (entries > INT_MAX - s->rows) return false;
        s->begin[k] = (int)entries;
        entries += s->rows - s->offset[k];
    }
    int64_t blocks = (s->n + s->rows - 1) / s->rows;
    double slots = (double)entries * (double)blocks;
    if (slots > 2.0 * (double)(nnz > other ? nnz : other) + (double)s->n) return false;
    s->upper_at = f->symmetric ? 0 : entries;
    s->inverse_at = s->upper_at + entries;
    s->record = s->inverse_at + s->rows;
    return cpu || plan_pieces(s);
}

static void pack_triangle(const kry_block_solve *s, const kry_triangle *t, int64_t i, int lane,
                          int64_t first, int64_t at, void *record)
{
    for (int64_t e = t->ptr[i]; e < t->ptr[i + 1]; e++) {
        int64_t col = t->col[e], c = (col < i ? col : i) - first;
        int k = diagonal_of(s, col < i ? i - col : col - i);
        kry_storage_put(s->storage, s->type, record, (at + s->begin[k] + c) * s->stride + lane,
                        t->val[e]);
    }
}

/* The numbers of a bundle; zeros where there is nothing. */
static void pack_bundle(const kry_block_solve *s, const kry_block_factor *f, int64_t bundle,
                        void *record)
{
    memset(record, 0, (size_t)(s->record * s->stride) * kry_storage_size(s->storage, s->type));
    for (int lane = 0; lane < s->stride; lane++) {
        int64_t first = (bundle * s->stride + lane) * s->rows;
        for (int64_t i = first; i < first + s->rows && i < s->n; i++) {
            pack_triangle(s, &f->lower, i, lane, first, 0, record);
            if (!f->symmetric) pack_triangle(s, &f->upper, i, lane, first, s->upper_at, record);
            kry_storage_put(s->storage, s->type, record,
                            (s->inverse_at + i - first) * s->stride + lane, 1 / f->d[i] / s->scale);
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

/* The slot of what lies behind those that are taken: an equal one, or it becomes one itself. */
static int32_t slots_find(slots *p)
{
    const unsigned char *last = p->data + (size_t)p->count * p->bytes;
    uint64_t h = kry_hash(KRY_HASH_START, last, p->bytes);

    for (; p->table[h & p->mask]; h++) {
        int32_t slot = p->table[h & p->mask] - 1;
        if (!memcmp(p->data + (size_t)slot * p->bytes, last, p->bytes)) return slot;
    }
    return p->table[h & p->mask] = (int32_t)++p->count, (int32_t)p->count - 1;
}

static kry_status pack_diagonals(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    slots all = { 0 };
    int32_t *slot = NULL;
    int pairs[2 * MOST_DIAGONALS + 1] = { 0 };
    const size_t size = kry_storage_size(s->storage, s->type);

    for (int k = 0; k < s->diagonals; k++)
        pairs[2 * k] = s->offset[k], pairs[2 * k + 1] = s->begin[k];
    TRY(upload(s, pairs, COUNT(pairs), sizeof *pairs, &s->diagonal));
    TRY(slots_create(s->bundles, (size_t)(s->record * s->stride) * size, &all));
    TRY(kry_alloc((size_t)s->bundles + 1, sizeof *slot, &slot));
    for (int64_t b = 0; b < s->bundles; b++) {
        TRY(slots_grow(&all));
        pack_bundle(s, f, b, all.data + (size_t)all.count * all.bytes);
        slot[b] = slots_find(&all);
    }
    TRY(upload(s, slot, (size_t)s->bundles, sizeof *slot, &s->slot));
    s->facts.slots = all.count * s->record * s->stride;
    TRY(upload(s, all.data, (size_t)s->facts.slots, size, &s->factor));
done:
    free(slot), free(all.data), free(all.table);
    return st;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static kry_status pack_rows(kry_block_solve *s, const kry_triangle *t, rows_layout *out)
{
    kry_status st = KRY_OK;
    int32_t *begin = NULL, *col = NULL;
    void *val = NULL;
    int64_t places = s->bundles * s->rows, total = 0;

    TRY(kry_alloc((size_t)places + 1, sizeof *begin, &begin));
    for (int64_t p = 0; p < places; p++) { /* the longest row of each place */
        int64_t first = p / s->rows * s->stride * s->rows + p % s->rows, longest = 0;
        for (int64_t i = first; i < s->n && i < first + s->stride * s->rows; i += s->rows)
            if (t->ptr[i + 1] - t->ptr[i] > longest) longest = t->ptr[i + 1] - t->ptr[i];
        total += longest;
        CHECK(total <= INT_MAX / s->stride, KRY_ERR_UNSUPPORTED,
              "block factors: rows padded to the longest of %d blocks take more than 2^31 places; "
              "take smaller blocks",
              s->stride);
        begin[p + 1] = (int32_t)total;
    }
    TRY(kry_alloc((size_t)(total * s->stride), sizeof *col, &col));
    const size_t size = kry_storage_size(s->storage, s->type);
    TRY(kry_alloc((size_t)(total * s->stride), size, &val));
    for (int64_t i = 0; i < s->n; i++) {
        int64_t block = i / s->rows, first = block * s->rows, to;
        to =
            begin[block / s->stride * s->rows + i - first] * (int64_t)s->stride + block % s->stride;
        for (int64_t e = t->ptr[i]; e < t->ptr[i + 1]; e++, to += s->stride) {
            col[to] = (int32_t)(t->col[e] - first);
            kry_storage_put(s->storage, s->type, val, to, t->val[e]);
        }
    }
    TRY(upload(s, begin, (size_t)places + 1, sizeof *begin, &out->begin));
    TRY(upload(s, col, (size_t)(total * s->stride), sizeof *col, &out->col));
    TRY(upload(s, val, (size_t)(total * s->stride), size, &out->val));
    s->facts.slots += total * s->stride;
done:
    free(begin), free(col), free(val);
    return st;
}

static kry_status pack_inverse(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    int64_t numbers = s->bundles * s->rows * s->stride;
    void *inverse = NULL;

    const size_t size = kry_storage_size(s->storage, s->type);
    TRY(kry_alloc((size_t)numbers, size, &inverse));
    for (int64_t i = 0; i < s->n; i++) {
        int64_t block = i / s->rows;
        int64_t to = (block / s->stride * s->rows + i % s->rows) * s->stride + block % s->stride;
        kry_storage_put(s->storage, s->type, inverse, to, 1 / f->d[i] / s->scale);
    }
    TRY(upload(s, inverse, (size_t)numbers, size, &s->inverse));
    s->facts.slots += numbers;
done:
    free(inverse);
    return st;
}

/* ---- making one ---------------------------------------------------------------------------- */

/* How many bundles of how many blocks, and how many walk them. */
static void plan_bundles(kry_block_solve *s)
{
    const bool cpu = s->dev->info.cpu_kernels;
    int64_t most = cpu ? CPU_WALKERS * (int64_t)s->dev->info.compute_units : GPU_WALKERS;

    s->blocks = (s->n + s->rows - 1) / s->rows;
    if (cpu)
        s->stride = s->diagonals && s->blocks >= CPU_STRIDE ? CPU_STRIDE : 1;
    else
        s->stride = s->diagonals >= 0 ? 1 : GPU_STRIDE;
    s->bundles = (s->blocks + s->stride - 1) / s->stride;
    if (!cpu && s->diagonals >= 0) most = 65535;
    s->walkers = s->bundles < most ? s->bundles : most;
}

static kry_status get_kernels(kry_block_solve *s)
{
    kry_status st = KRY_OK;
    char defines[64];

    snprintf(defines, sizeof defines, "-DSTRIDE=%d%s%s", s->stride,
             s->diagonals >= 0 ? " -DDIAGONALS" : "", kry_storage_defines(s->storage, s->type));
    if (s->diagonals >= 0) {
        const char *name = s->dev->info.cpu_kernels ? "block_diagonals" : "block_pieces";
        TRY(kry_kernel_get(s->dev, "block_ic", s->type, defines, name, &s->kernel));
    } else {
        TRY(kry_kernel_get(s->dev, "block_ic", s->type, defines, "block_rows", &s->kernel));
        TRY(kry_kernel_get(s->dev, "block_ic", s->type, defines, "block_rows_transposed",
                           &s->transposed));
    }
done:
    return st;
}

/* A triangle's numbers are ratios, about one; those of D^-1 are scaled to the largest. */
static kry_status check_range(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    const kry_triangle *both[] = { &f->lower, &f->upper };
    double least = INFINITY, most = 0;

    s->scale = 1;
    if (s->storage == KRY_STORE_GIVEN) return KRY_OK;
    for (int64_t i = 0; i < s->n; i++) {
        least = fmin(least, fabs(1 / f->d[i]));
        most = fmax(most, fabs(1 / f->d[i]));
    }
    s->scale = kry_storage_scale(s->storage, s->type, most);
    CHECK(s->n == 0 || (kry_storage_holds(s->storage, most / s->scale) &&
                        kry_storage_holds(s->storage, least / s->scale)),
          KRY_ERR_UNSUPPORTED,
          "%s: inverse pivots from %.3g to %.3g are too far apart for storage '%s'", f->who, least,
          most, kry_storage_name(s->storage));
    for (int t = 0; t < (f->symmetric ? 1 : 2); t++)
        for (int64_t e = 0; e < both[t]->ptr[s->n]; e++)
            CHECK(isfinite(kry_storage_round(s->storage, s->type, both[t]->val[e])),
                  KRY_ERR_UNSUPPORTED,
                  "%s: an entry %.3g of the factors is too large for storage '%s'", f->who,
                  both[t]->val[e], kry_storage_name(s->storage));
done:
    return st;
}

static kry_status lay_out(kry_block_solve *s, kry_block_factor *f)
{
    kry_status st = KRY_OK;
    const double word = (double)kry_type_size(s->type);

    s->rows = f->rows;
    TRY(check_range(s, f));
    if (s->n == 0) goto done;
    if (!plan_diagonals(s, f)) s->diagonals = -1, s->rows = f->rows;
    plan_bundles(s);
    s->facts.nnz = s->n + f->lower.ptr[f->n] + (f->symmetric ? 0 : f->upper.ptr[f->n]);
    s->facts.diagonals = s->diagonals;
    if (s->diagonals >= 0) {
        TRY(pack_diagonals(s, f));
    } else {
        TRY(kry_block_factor_mirror(f));
        TRY(pack_rows(s, &f->lower, &s->lower));
        TRY(pack_rows(s, &f->upper, &s->upper));
        TRY(pack_inverse(s, f));
    }
    s->facts.moved = s->facts.stored + 2 * (double)s->n * word;
    if (s->diagonals < 0 || s->dev->info.cpu_kernels) {
        size_t numbers = (size_t)(s->walkers * s->rows * s->stride);
        TRY(kry_buffer_create(s->dev, numbers * kry_type_size(s->type), &s->scratch));
        s->facts.stored += (double)numbers * word;
    }
    TRY(get_kernels(s));
done:
    return st;
}

kry_status kry_block_solve_create(kry_device *dev, kry_block_factor *f, kry_block_solve **out)
{
    kry_status st = KRY_OK;
    kry_block_solve *s = NULL;

    *out = NULL;
    TRY(kry_alloc(1, sizeof *s, &s));
    s->dev = dev, s->type = f->type, s->storage = f->storage, s->n = f->n;
    TRY(lay_out(s, f));
    *out = s, s = NULL;
done:
    kry_block_solve_release(&s);
    return st;
}

void kry_block_solve_release(kry_block_solve **address)
{
    kry_block_solve *s = *address;
    if (!s) return;
    cl_mem *all[] = { &s->diagonal,  &s->slot,      &s->factor,      &s->lower.begin,
                      &s->lower.col, &s->lower.val, &s->upper.begin, &s->upper.col,
                      &s->upper.val, &s->inverse,   &s->scratch };
    for (size_t i = 0; i < COUNT(all); i++) kry_buffer_release(s->dev, all[i]);
    free(s);
    *address = NULL;
}

kry_block_facts kry_block_solve_facts(const kry_block_solve *s) { return s->facts; }

/* ---- solves -------------------------------------------------------------------------------- */

static kry_status run_diagonals(kry_block_solve *s, bool transposed, const kry_vec *r, kry_vec *z)
{
    const bool cpu = s->dev->info.cpu_kernels;
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles, m = s->diagonals, step = s->step;
    cl_long n = s->n, record = s->record, inverse_at = s->inverse_at;
    cl_long lower_at = transposed ? s->upper_at : 0, upper_at = transposed ? 0 : s->upper_at;
    kry_scalar scale = kry_scalar_of(s->dev, s->scale);
    kry_arg work = cpu ? (kry_arg)ARG(s->scratch) : (kry_arg)ARG(step);
    kry_arg args[] = { ARG(n),
                       ARG(rows),
                       ARG(bundles),
                       ARG(m),
                       ARG(s->diagonal),
                       ARG(s->slot),
                       ARG(record),
                       ARG(lower_at),
                       ARG(upper_at),
                       ARG(inverse_at),
                       ARG(s->factor),
                       ARG_ACC(s->dev, scale),
                       work,
                       ARG(r->buffer),
                       ARG(r->first),
                       ARG(z->buffer),
                       ARG(z->first) };

    return kry_launch(s->dev, s->kernel, s->walkers, args, COUNT(args));
}

static kry_status run_rows(kry_block_solve *s, bool transposed, const kry_vec *r, kry_vec *z)
{
    int size = kry_group_size(s->dev);
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles;
    cl_long n = s->n;
    kry_scalar scale = kry_scalar_of(s->dev, s->scale);
    kry_arg args[] = { ARG(n),
                       ARG(rows),
                       ARG(bundles),
                       ARG(s->lower.begin),
                       ARG(s->lower.col),
                       ARG(s->lower.val),
                       ARG(s->upper.begin),
                       ARG(s->upper.col),
                       ARG(s->upper.val),
                       ARG(s->inverse),
                       ARG_ACC(s->dev, scale),
                       ARG(s->scratch),
                       ARG(r->buffer),
                       ARG(r->first),
                       ARG(z->buffer),
                       ARG(z->first) };

    if (size > s->stride) size = s->stride;
    return kry_launch_size(s->dev, transposed ? s->transposed : s->kernel,
                           s->dev->info.cpu_kernels ? s->walkers : s->walkers * s->stride / size,
                           size, args, COUNT(args));
}

kry_status kry_block_solve_run(kry_block_solve *s, bool transposed, const kry_vec *r, kry_vec *z)
{
    if (s->n == 0) return KRY_OK;
    return s->diagonals >= 0 ? run_diagonals(s, transposed, r, z) : run_rows(s, transposed, r, z);
}
