/* block_solve.c - how the factors of block_factor.c are laid out, by diagonals or as rows padded to the longest of a
 * bundle, in blocks or by levels, and solves with them. */
#include "precond/block_ic.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CPU_STRIDE = 8,
    GPU_STRIDE = 32,
    CPU_WALKERS = 4, /* to a core: few, so that what they write between the sweeps stays in cache */
    GPU_WALKERS = 16384,
    GPU_GROUP = 256 /* work-items */
};

/* A new buffer of these numbers; they count as stored. Waits. */
static kry_status upload(kryi_block_solve *s, const void *host, size_t count, size_t size,
                         cl_mem *buffer)
{
    s->bytes_stored += (double)(count * size);
    return kryi_buffer_upload(s->dev, count * size, host, buffer);
}

/* How many blocks to a bundle, how many bundles, and by how many groups at once. */
static void plan_bundles(kryi_block_solve *s)
{
    const bool cpu = s->dev->info.cpu_kernels;
    int64_t most = cpu ? CPU_WALKERS * (int64_t)s->dev->info.compute_units : GPU_WALKERS;

    int64_t blocks = (s->n + s->rows - 1) / s->rows;

    if (s->by_levels)
        s->stride = cpu ? 1 : GPU_STRIDE;
    else if (cpu)
        s->stride = s->diagonals.count && blocks >= CPU_STRIDE ? CPU_STRIDE : 1;
    else
        s->stride = s->diagonals.count >= 0 ? 1 : GPU_STRIDE;
    s->bundles = (blocks + s->stride - 1) / s->stride;
    if (!cpu && s->diagonals.count >= 0) most = 65535;
    s->walkers = s->bundles < most ? s->bundles : most;
}

/* Work-items of a group that solves by levels. */
static int levels_group(const kry_device *dev)
{
    const int most = dev->info.max_group;
    return dev->info.cpu_kernels ? 1 : most < GPU_GROUP ? most : GPU_GROUP;
}

static kry_status get_kernel(kryi_block_solve *s)
{
    const bool diagonals = s->diagonals.count >= 0, cpu = s->dev->info.cpu_kernels;
    const char *name = s->by_levels ? "block_levels"
                       : !diagonals ? "block_rows"
                       : cpu        ? "block_diagonals"
                                    : "block_pieces";
    char defines[96], how[32] = "";

    if (!cpu)
        snprintf(how, sizeof how, " -DGROUP=%d", levels_group(s->dev));
    else if (diagonals && !s->by_levels) /* loops over diagonals are unrolled there */
        snprintf(how, sizeof how, " -DDIAGONALS=%d", s->diagonals.count);
    snprintf(defines, sizeof defines, "-DSTRIDE=%d%s%s", cpu ? s->stride : GPU_STRIDE, how,
             kryi_storage_defines(s->storage, s->type));
    return kryi_kernel_get(s->dev, diagonals && cpu ? name : "block_ic", s->type, defines, name,
                           &s->kernel);
}

/* The numbers of triangles are about one; those of D^-1 are scaled by the largest. */
static kry_status check_range(kryi_block_solve *s, const kryi_block_factor *f)
{
    kry_status st = KRY_OK;
    const kryi_csr *both[] = { &f->lower, &f->upper };
    double least = INFINITY, most = 0;

    s->scale = 1;
    if (s->storage == KRY_STORE_GIVEN) return KRY_OK;
    for (int64_t i = 0; i < s->n; i++) {
        least = fmin(least, fabs(1 / f->d[i]));
        most = fmax(most, fabs(1 / f->d[i]));
    }
    s->scale = kryi_storage_scale(s->storage, s->type, most);
    CHECK(s->n == 0 || (kryi_storage_holds(s->storage, most / s->scale) &&
                        kryi_storage_holds(s->storage, least / s->scale)),
          KRY_ERR_UNSUPPORTED,
          "%s: inverse pivots from %.3g to %.3g are too far apart for storage '%s'", f->who, least,
          most, kryi_storage_name(s->storage));
    for (int t = 0; t < (f->symmetric ? 1 : 2); t++) {
        const double *val = both[t]->val;
        for (int64_t e = 0; e < kryi_csr_nnz(both[t]); e++)
            CHECK(isfinite(kryi_storage_round(s->storage, s->type, val[e])), KRY_ERR_UNSUPPORTED,
                  "%s: an entry %.3g of the factors is too large for storage '%s'", f->who, val[e],
                  kryi_storage_name(s->storage));
    }
done:
    return st;
}

/* Where row i lies: its place, and which of the bundle's rows there it is. */
typedef struct bundle_place {
    int64_t place, lane, first; /* first: from which columns count */
} bundle_place;

static bundle_place place_of_row(const kryi_block_solve *s, const int32_t *position, int64_t i)
{
    const int64_t at = position ? position[i] : i, block = at / s->rows;
    return (bundle_place){ .place = block / s->stride * s->rows + at % s->rows,
                           .lane = block % s->stride,
                           .first = position ? 0 : block * s->rows };
}

/* begin: places + 1 zeros, of which each place gets the length of its longest row, and then where it begins. */
static kry_status find_begins(const kryi_block_solve *s, const kryi_csr *t, const int32_t *position,
                              int64_t places, int32_t *begin)
{
    kry_status st = KRY_OK;
    int64_t total = 0;

    for (int64_t i = 0; i < s->n; i++) {
        const int64_t place = place_of_row(s, position, i).place, length = kryi_row_length(t, i);
        if (length > begin[place + 1]) begin[place + 1] = (int32_t)length;
    }
    for (int64_t p = 0; p < places; p++) {
        total += begin[p + 1];
        CHECK(total <= INT_MAX / s->stride, KRY_ERR_UNSUPPORTED,
              "incomplete factors: rows padded to the longest of %d take more than 2^31 places; "
              "take smaller blocks, or less fill",
              s->stride);
        begin[p + 1] = (int32_t)total;
    }
done:
    return st;
}

/* Rows of a triangle, or D^-1, where the kernels look for them. position: of each row in the order of levels;
 * NULL: they stay in blocks. By levels, columns of -1 end a row that is shorter than others of its place. */
static kry_status pack_rows(kryi_block_solve *s, const kryi_csr *t, const int32_t *position,
                            kryi_padded_rows *out)
{
    kry_status st = KRY_OK;
    const size_t size = kryi_storage_size(s->storage, s->type);
    const double *numbers = t->val;
    int32_t *begin = NULL, *col = NULL;
    void *val = NULL;
    const int64_t places = s->bundles * s->rows;

    TRY(kryi_alloc((uint64_t)places + 1, sizeof *begin, &begin));
    TRY(find_begins(s, t, position, places, begin));
    const int64_t slots = (int64_t)begin[places] * s->stride;
    TRY(kryi_alloc((uint64_t)slots, sizeof *col, &col));
    TRY(kryi_alloc((uint64_t)slots, size, &val));
    for (int64_t q = 0; position && q < slots; q++) col[q] = -1;
    for (int64_t i = 0; i < s->n; i++) {
        const bundle_place at = place_of_row(s, position, i);
        int64_t to = begin[at.place] * (int64_t)s->stride + at.lane;
        for (int64_t e = t->row_ptr[i]; e < t->row_ptr[i + 1]; e++, to += s->stride) {
            col[to] = (int32_t)(t->col[e] - at.first);
            kryi_storage_put(s->storage, s->type, val, to, numbers[e]);
        }
    }
    TRY(upload(s, begin, (size_t)places + 1, sizeof *begin, &out->begin));
    TRY(upload(s, col, (size_t)slots, sizeof *col, &out->col));
    TRY(upload(s, val, (size_t)slots, size, &out->val));
    s->slots += slots;
done:
    free(begin), free(col), free(val);
    return st;
}

static kry_status pack_inverse(kryi_block_solve *s, const kryi_block_factor *f,
                               const int32_t *position)
{
    kry_status st = KRY_OK;
    int64_t numbers = s->bundles * s->rows * s->stride;
    void *inverse = NULL;

    const size_t size = kryi_storage_size(s->storage, s->type);
    TRY(kryi_alloc((size_t)numbers, size, &inverse));
    for (int64_t i = 0; i < s->n; i++) {
        const bundle_place at = place_of_row(s, position, i);
        kryi_storage_put(s->storage, s->type, inverse, at.place * s->stride + at.lane,
                         1 / f->d[i] / s->scale);
    }
    TRY(upload(s, inverse, (size_t)numbers, size, &s->inverse));
    s->slots += numbers;
done:
    free(inverse);
    return st;
}

/* L, U and D^-1 */
static kry_status pack_all_rows(kryi_block_solve *s, kryi_block_factor *f)
{
    kry_status st = KRY_OK;

    TRY(kryi_block_factor_mirror(f));
    TRY(pack_rows(s, &f->lower, NULL, &s->lower));
    TRY(pack_rows(s, &f->upper, NULL, &s->upper));
    TRY(pack_inverse(s, f, NULL));
done:
    return st;
}

/* For how many columns groups are launched: 1 where each of them solves for all. */
static int64_t columns_at_once(const kryi_block_solve *s, const kry_vec *r)
{
    return s->dev->info.cpu_kernels ? 1 : r->k;
}

/* Room for what lies between the two sweeps of a block, for so many columns at once. */
static kry_status make_scratch(kryi_block_solve *s, int64_t columns)
{
    kry_status st = KRY_OK;
    const size_t bytes =
        (size_t)(s->walkers * s->rows * s->stride * columns) * kry_type_size(s->type);

    if (s->by_levels || s->scratch_columns >= columns) return KRY_OK;
    if (s->diagonals.count >= 0 && !s->dev->info.cpu_kernels) return KRY_OK;
    kryi_buffer_release(s->dev, &s->scratch);
    s->bytes_stored -= (double)bytes / (double)columns * (double)s->scratch_columns;
    s->scratch_columns = 0;
    TRY(kryi_buffer_create(s->dev, bytes, &s->scratch));
    s->scratch_columns = columns;
    s->bytes_stored += (double)bytes;
done:
    return st;
}

static kry_status run_rows(kryi_block_solve *s, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_device *dev = s->dev;
    const kryi_padded_rows *l = &s->lower, *u = &s->upper;
    const bool cpu = dev->info.cpu_kernels;
    const int64_t launched = columns_at_once(s, r);
    int size = kryi_group_size(dev);
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles, columns = (cl_int)r->k;
    cl_long n = s->n;
    kryi_scalar by = kryi_scalar_of(dev, s->scale);

    TRY(make_scratch(s, launched));
    kry_arg args[] = { ARG(n),       ARG(rows),       ARG(bundles),     ARG(l->begin),
                       ARG(l->col),  ARG(l->val),     ARG(u->begin),    ARG(u->col),
                       ARG(u->val),  ARG(s->inverse), ARG_ACC(dev, by), ARG(s->scratch),
                       ARG(columns), ARG_VEC(r),      ARG(r->ld),       ARG_VEC(z),
                       ARG(z->ld) };
    if (size > s->stride) size = s->stride;
    const int64_t groups = cpu ? s->walkers : s->walkers * s->stride / size;
    TRY(kryi_launch_range(dev, s->kernel, (kryi_range){ groups, launched, size }, args,
                          COUNT(args)));
done:
    return st;
}

/* ---- by diagonals ---------------------------------------------------------------------------- */

enum {
    PIECE = 4,   /* rows to a work-item, EACH_ITEM in the kernels */
    MERGED = 512 /* rows that a group should have to do at least */
};

static int diagonal_of(const kryi_block_solve *s, int64_t offset)
{
    int k = 0;
    while (k < s->diagonals.count && s->diagonals.offset[k] != offset) k++;
    return k;
}

/* Add the offsets of a triangle; false if they become too many. */
static bool add_offsets(kryi_block_solve *s, const kryi_csr *t)
{
    enum { MOST_ON_HOST = 6 }; /* of which src/host/meson.build has programs */
    const int most = kryi_device_is_host(s->dev) ? MOST_ON_HOST : KRY_MOST_DIAGONALS;

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
static bool plan_pieces(kryi_block_solve *s)
{
    enum { LEAST_STEP = 32 };
    int chain = s->diagonals.count && s->diagonals.offset[0] == 1;
    int64_t step = PIECE * (int64_t)kryi_group_size(s->dev);

    if (chain < s->diagonals.count && s->diagonals.offset[chain] < step)
        step = s->diagonals.offset[chain];
    if (s->rows < step) step = s->rows;
    s->diagonals.step = (int)step;
    return step >= LEAST_STEP || chain >= s->diagonals.count ||
           s->diagonals.offset[chain] >= s->rows;
}

/* Whether the factors are best kept by diagonals; if so, how; s->rows may become larger. */
static bool plan_diagonals(kryi_block_solve *s, const kryi_block_factor *f)
{
    const bool cpu = s->dev->info.cpu_kernels;
    int64_t entries = 0, nnz = kryi_csr_nnz(&f->lower),
            other = f->symmetric ? 0 : kryi_csr_nnz(&f->upper);

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

static void pack_triangle(const kryi_block_solve *s, const kryi_csr *t, int64_t i, int lane,
                          int64_t first, int64_t at, void *record)
{
    const double *val = t->val;

    for (int64_t e = t->row_ptr[i]; e < t->row_ptr[i + 1]; e++) {
        int64_t col = t->col[e], c = (col < i ? col : i) - first;
        int k = diagonal_of(s, col < i ? i - col : col - i);
        kryi_storage_put(s->storage, s->type, record,
                         (at + s->diagonals.begin[k] + c) * s->stride + lane, val[e]);
    }
}

/* The numbers of a bundle; zeros where there is nothing. */
static void pack_bundle(const kryi_block_solve *s, const kryi_block_factor *f, int64_t bundle,
                        void *record)
{
    memset(record, 0,
           (size_t)(s->diagonals.record * s->stride) * kryi_storage_size(s->storage, s->type));
    for (int lane = 0; lane < s->stride; lane++) {
        int64_t first = (bundle * s->stride + lane) * s->rows;
        for (int64_t i = first; i < first + s->rows && i < s->n; i++) {
            pack_triangle(s, &f->lower, i, lane, first, 0, record);
            if (!f->symmetric)
                pack_triangle(s, &f->upper, i, lane, first, s->diagonals.upper_at, record);
            kryi_storage_put(s->storage, s->type, record,
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

static kry_status pack_diagonals(kryi_block_solve *s, const kryi_block_factor *f)
{
    kry_status st = KRY_OK;
    const size_t size = kryi_storage_size(s->storage, s->type),
                 bytes = (size_t)(s->diagonals.record * s->stride) * size;
    int pairs[2 * KRY_MOST_DIAGONALS + 1] = { 0 };
    unsigned char *slots = NULL;
    int32_t *slot = NULL, count = 0;
    size_t room = 0;

    for (int k = 0; k < s->diagonals.count; k++)
        pairs[2 * k] = s->diagonals.offset[k], pairs[2 * k + 1] = s->diagonals.begin[k];
    TRY(upload(s, pairs, COUNT(pairs), sizeof *pairs, &s->diagonals.pairs));
    TRY(kryi_alloc((size_t)s->bundles + 1, sizeof *slot, &slot));
    for (int64_t b = 0; b < s->bundles; b++) {
        if ((size_t)count == room) {
            room = room ? 2 * room : 4;
            TRY(kryi_realloc(room, bytes, &slots));
        }
        unsigned char *record = slots + (size_t)count * bytes;
        pack_bundle(s, f, b, record);
        const bool same = shrink_to_one((size_t)s->diagonals.record, s->stride, size, record);
        slot[b] = find_slot(slots, bytes, count);
        if (slot[b] == count) count++;
        if (same) slot[b] = ~slot[b];
    }
    TRY(upload(s, slot, (size_t)s->bundles, sizeof *slot, &s->diagonals.slot));
    s->slots = count * s->diagonals.record * s->stride;
    TRY(upload(s, slots, (size_t)s->slots, size, &s->diagonals.factor));
done:
    free(slot), free(slots);
    return st;
}

static kry_status run_diagonals(kryi_block_solve *s, const kry_vec *r, kry_vec *z)
{
    const kryi_block_diagonals *d = &s->diagonals;
    kry_device *dev = s->dev;
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles, m = d->count, step = d->step;
    const cl_int columns = (cl_int)r->k;
    cl_long n = s->n, record = d->record, upper_at = d->upper_at, inverse_at = d->inverse_at;
    kryi_scalar by = kryi_scalar_of(dev, s->scale);
    kry_arg work = dev->info.cpu_kernels ? (kry_arg)ARG(s->scratch) : (kry_arg)ARG(step);
    kry_arg args[] = { ARG(n),          ARG(rows),      ARG(bundles),     ARG(m),
                       ARG(d->pairs),   ARG(d->slot),   ARG(record),      ARG(upper_at),
                       ARG(inverse_at), ARG(d->factor), ARG_ACC(dev, by), work,
                       ARG(columns),    ARG_VEC(r),     ARG(r->ld),       ARG_VEC(z),
                       ARG(z->ld) };

    return kryi_launch_range(dev, s->kernel,
                             (kryi_range){ s->walkers, .columns = columns_at_once(s, r) }, args,
                             COUNT(args));
}

/* ---- by level sets --------------------------------------------------------------------------- */

/* Rows that do not depend on each other are solved for at the same time. Levels with few rows follow each other in one group, which waits for itself; levels with many get a
 * launch each.
 *
 * Source  E. Anderson, Y. Saad, Solving sparse triangular linear systems on parallel computers, Int. J. High Speed
 *         Comput. 1 (1989), doi:10.1142/S0129053389000056 */

enum {
    GPU_FEW = 4 * GPU_GROUP, /* rows of a level that one group takes */
    CPU_FEW = 4096           /* a launch takes as long as so many rows */
};

/* Cut levels into launches. first, rows: room for one each, and one more. */
static void cut(const kry_device *dev, const kryi_level_sets *sets, kryi_level_launches *to)
{
    const bool cpu = dev->info.cpu_kernels;
    const int32_t few = !cpu ? GPU_FEW : dev->info.compute_units > 1 ? CPU_FEW : INT32_MAX;
    bool gathering = false;

    for (int32_t l = 0; l < sets->count; l++) {
        const int32_t rows = sets->begin[l + 1] - sets->begin[l];
        const bool fits = rows <= few;
        if (!(fits && gathering)) {
            to->first[to->count] = l;
            to->rows[to->count++] = fits ? 0 : rows;
        }
        gathering = fits;
    }
    to->first[to->count] = sets->count;
}

/* The levels of a triangle. position: of each row among them. */
static kry_status plan_sweep(kryi_block_solve *s, const kryi_csr *t, bool upper,
                             kryi_level_launches *to, int32_t *position)
{
    kry_status st = KRY_OK;
    kryi_level_sets sets = { 0 };

    TRY(kryi_level_sets_find(t, upper, &sets));
    to->levels = sets.count;
    TRY(kryi_alloc((size_t)sets.count + 1, sizeof *to->first, &to->first));
    TRY(kryi_alloc((size_t)sets.count, sizeof *to->rows, &to->rows));
    cut(s->dev, &sets, to);
    for (int32_t p = 0; p < s->n; p++) position[sets.row[p]] = p;
    TRY(upload(s, sets.begin, (size_t)sets.count + 1, sizeof *sets.begin, &to->begins));
    TRY(upload(s, sets.row, (size_t)s->n, sizeof *sets.row, &to->row));
done:
    kryi_level_sets_release(&sets);
    return st;
}

static kry_status pack_levels(kryi_block_solve *s, kryi_block_factor *f)
{
    kry_status st = KRY_OK;
    int32_t *position = NULL;

    TRY(kryi_alloc((size_t)s->n, sizeof *position, &position));
    TRY(plan_sweep(s, &f->lower, false, &s->sweep[0], position));
    TRY(pack_rows(s, &f->lower, position, &s->lower));
    TRY(kryi_block_factor_mirror(f));
    TRY(plan_sweep(s, &f->upper, true, &s->sweep[1], position));
    TRY(pack_rows(s, &f->upper, position, &s->upper));
    TRY(pack_inverse(s, f, position));
done:
    free(position);
    return st;
}

static void release_levels(kryi_block_solve *s)
{
    for (int k = 0; k < 2; k++) {
        kryi_level_launches *w = &s->sweep[k];
        free(w->first), free(w->rows);
        w->first = w->rows = NULL;
        kryi_buffer_release(s->dev, &w->begins);
        kryi_buffer_release(s->dev, &w->row);
    }
}

static kry_status run_sweep(kryi_block_solve *s, int back, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_device *dev = s->dev;
    const kryi_level_launches *w = &s->sweep[back];
    const kryi_padded_rows *t = back ? &s->upper : &s->lower;
    const int size = levels_group(dev);
    kryi_scalar by = kryi_scalar_of(dev, s->scale);

    for (int32_t k = 0; k < w->count; k++) {
        const cl_int first = w->first[k], last = w->first[k + 1];
        const int64_t groups = w->rows[k] ? (w->rows[k] + size - 1) / size : 1;
        const kry_arg args[] = { ARG(first),      ARG(last),        ARG(back),   ARG(w->begins),
                                 ARG(w->row),     ARG(t->begin),    ARG(t->col), ARG(t->val),
                                 ARG(s->inverse), ARG_ACC(dev, by), ARG_VEC(r),  ARG(r->ld),
                                 ARG_VEC(z),      ARG(z->ld) };
        const kryi_range range = { kryi_groups_at_most(dev, groups), r->k, size };
        TRY(kryi_launch_range(dev, s->kernel, range, args, COUNT(args)));
    }
done:
    return st;
}

static kry_status run_levels(kryi_block_solve *s, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;

    TRY(run_sweep(s, 0, r, z));
    TRY(run_sweep(s, 1, r, z));
done:
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------- */

kry_status kryi_block_solve_create(kryi_block_factor *f, bool by_levels, kryi_block_solve *s)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &f->A->shape;
    const double word = (double)kry_type_size(shape->type);

    *s = (kryi_block_solve){ .dev = f->A->dev,
                             .type = shape->type,
                             .storage = f->storage,
                             .n = shape->rows,
                             .rows = f->rows,
                             .by_levels = by_levels };
    TRY(check_range(s, f));
    if (s->n == 0) goto done;
    if (by_levels)
        s->diagonals.count = -1, s->rows = 1;
    else if (!plan_diagonals(s, f))
        s->diagonals.count = -1, s->rows = f->rows;
    plan_bundles(s);
    s->nnz = s->n + kryi_csr_nnz(&f->lower) + (f->symmetric ? 0 : kryi_csr_nnz(&f->upper));
    TRY(by_levels                 ? pack_levels(s, f)
        : s->diagonals.count >= 0 ? pack_diagonals(s, f)
                                  : pack_all_rows(s, f));
    s->bytes_moved = s->bytes_stored + (by_levels ? 4 : 2) * (double)s->n * word;
    TRY(make_scratch(s, 1));
    TRY(get_kernel(s));
done:
    if (st < 0) kryi_block_solve_release(s);
    return st;
}

void kryi_block_solve_release(kryi_block_solve *s)
{
    kryi_block_diagonals *d = &s->diagonals;
    cl_mem *all[] = { &d->pairs,     &d->slot,      &d->factor,      &s->lower.begin,
                      &s->lower.col, &s->lower.val, &s->upper.begin, &s->upper.col,
                      &s->upper.val, &s->inverse,   &s->scratch };
    for (size_t i = 0; i < COUNT(all); i++) kryi_buffer_release(s->dev, all[i]);
    release_levels(s);
}

kry_status kryi_block_solve_run(kryi_block_solve *s, const kry_vec *r, kry_vec *z)
{
    if (s->n == 0) return KRY_OK;
    if (s->by_levels) return run_levels(s, r, z);
    return s->diagonals.count >= 0 ? run_diagonals(s, r, z) : run_rows(s, r, z);
}
