/* layout.c - how rows lie over the parts of a computation: alone on one device, or with others whose
 * sums are added to one's own. */
#include "../dist/comm.h"
#include "../dist/split.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kry_layout_init(kry_layout *layout, kry_device *dev, kry_comm *comm)
{
    *layout = (kry_layout){ .dev = dev, .comm = comm };
}

int kry_layout_size(const kry_layout *layout) { return layout->comm ? layout->comm->size : 1; }
int kry_layout_rank(const kry_layout *layout) { return layout->comm ? layout->comm->rank : 0; }

kry_status kry_layout_gather(kry_layout *layout, const void *mine, size_t bytes, void *all)
{
    if (kry_layout_size(layout) > 1) return layout->comm->gather(layout->comm, mine, bytes, all);
    memcpy(all, mine, bytes);
    return KRY_OK;
}

kry_status kry_layout_collect(kry_layout *layout, const void *mine, size_t count, size_t size,
                              void *address_of_all, size_t *total)
{
    kry_status st = KRY_OK;
    size_t parts = (size_t)kry_layout_size(layout), most = 0, *counts = NULL;
    char *room = NULL, *blocks = NULL, *all = NULL; /* blocks: of the longest list's length */

    TRY(kry_alloc(parts, sizeof *counts, &counts));
    TRY(kry_layout_gather(layout, &count, sizeof count, counts));
    for (size_t r = 0; r < parts; r++) most = counts[r] > most ? counts[r] : most;
    TRY(kry_alloc(most, size, &room));
    TRY(kry_alloc(most * parts, size, &blocks));
    TRY(kry_alloc(most * parts, size, &all));
    if (count) memcpy(room, mine, count * size);
    TRY(kry_layout_gather(layout, room, most * size, blocks));
    *total = 0;
    for (size_t r = 0; r < parts; *total += counts[r++])
        if (counts[r]) memcpy(all + *total * size, blocks + r * most * size, counts[r] * size);
    *(void **)address_of_all = all;
    all = NULL;
done:
    free(all);
    free(blocks);
    free(room);
    free(counts);
    return st;
}

kry_status kry_layout_combine(kry_layout *layout, kry_combine how, double *numbers, size_t count)
{
    kry_status st = KRY_OK;
    int size = kry_layout_size(layout);
    double few[64], *all = few;

    if (size == 1) return KRY_OK;
    if (count * (size_t)size > COUNT(few)) TRY(kry_alloc(count * (size_t)size, sizeof *all, &all));
    TRY(kry_layout_gather(layout, numbers, count * sizeof *numbers, all));
    memcpy(numbers, all, count * sizeof *numbers);
    for (int r = 1; r < size; r++)
        for (size_t i = 0; i < count; i++) {
            double v = all[(size_t)r * count + i];
            if (how == KRY_ADD)
                numbers[i] += v;
            else if (v > numbers[i] || isnan(v))
                numbers[i] = v;
        }
done:
    if (all != few) free(all);
    return st;
}

/* The others add nothing to it. */
kry_status kry_layout_agree(kry_layout *layout, double *number)
{
    if (kry_layout_rank(layout) > 0) *number = 0;
    return kry_layout_combine(layout, KRY_ADD, number, 1);
}

kry_status kry_layout_join(kry_layout *layout, kry_status mine)
{
    double ok = mine < 0 ? 0 : 1;
    if (mine < 0 || kry_layout_size(layout) == 1) return mine; /* failing ends the others' waits */
    return kry_layout_combine(layout, KRY_ADD, &ok, 1);
}

kry_status kry_layout_rows(kry_layout *layout, int64_t n, int64_t *first, int64_t *total)
{
    kry_status st = KRY_OK;
    int size = kry_layout_size(layout), rank = kry_layout_rank(layout);
    int64_t few[64], *all = few;

    if ((size_t)size > COUNT(few)) TRY(kry_alloc((size_t)size, sizeof *all, &all));
    TRY(kry_layout_gather(layout, &n, sizeof n, all));
    if (first) *first = 0;
    *total = 0;
    for (int r = 0; r < size; r++) {
        if (first && r < rank) *first += all[r];
        *total += all[r];
    }
done:
    if (all != few) free(all);
    return st;
}

int64_t kry_layout_row(const kry_layout *layout, int64_t i)
{
    const kry_split *s = layout->split;
    return s ? kry_split_row(s, s->first[kry_layout_rank(layout)] + i) : i;
}

int64_t kry_layout_find_row(const kry_layout *layout, int64_t n, int64_t row)
{
    if (!layout->split) return row >= 0 && row < n ? row : -1;
    for (int64_t i = 0; i < n; i++)
        if (kry_layout_row(layout, i) == row) return i;
    return -1;
}

/* ---- sums ------------------------------------------------------------------------------ */

/* Partial sum i; where there is no double a pair of floats, and after an overflow its first one. */
static double partial_sum(const kry_device *dev, const kry_partial *part, int i)
{
    if (dev->info.fp64) return part[i].f64;
    return isfinite(part[i].f32[0]) ? (double)part[i].f32[0] + part[i].f32[1] : part[i].f32[0];
}

static kry_partial partial_of(const kry_device *dev, double v)
{
    kry_partial p = { .f64 = v };
    if (dev->info.fp64) return p;
    p.f32[0] = (float)v;
    p.f32[1] = isfinite(p.f32[0]) ? (float)(v - p.f32[0]) : 0;
    return p;
}

/* numbers: those that groups left, count * width of them. */
static kry_status read_partials(const kry_sum *sum, double *numbers)
{
    kry_status st = KRY_OK;
    kry_partial part[2 * KRY_SUM_CAPACITY];
    int count = sum->count * sum->width;

    TRY_CL(clEnqueueReadBuffer(sum->dev->queue, sum->buffer, CL_TRUE, 0,
                               (size_t)count * sizeof *part, part, 0, NULL, NULL));
    for (int i = 0; i < count; i++) numbers[i] = partial_sum(sum->dev, part, i);
done:
    return st;
}

static void add_up(const double *numbers, int count, int width, double *value)
{
    for (int i = 0; i < count * width; i++) value[i % width] += numbers[i];
}

/* A plain loop in the order of the groups. */
kry_status kry_sum_add_here(const kry_sum *sum, double *value)
{
    kry_status st = KRY_OK;
    double numbers[2 * KRY_SUM_CAPACITY];

    TRY(read_partials(sum, numbers));
    add_up(numbers, sum->count, sum->width, value);
done:
    return st;
}

kry_status kry_sum_read_here(const kry_sum *sum, double *value)
{
    assert(sum->width >= 1);
    for (int c = 0; c < sum->width; c++) value[c] = 0;
    return kry_sum_add_here(sum, value);
}

static kry_status reserve(kry_layout *layout, size_t count)
{
    kry_status st = KRY_OK;

    if (count <= layout->scratch_count) return KRY_OK;
    TRY(kry_realloc(count, sizeof *layout->scratch, &layout->scratch));
    layout->scratch_count = count;
done:
    return st;
}

kry_status kry_layout_add_chunks(kry_layout *layout, const double *partial, int count, int width,
                                 double *value)
{
    kry_status st = KRY_OK;
    int size = kry_layout_size(layout);
    size_t most = layout->split ? (size_t)layout->split->most_chunks : 1;
    size_t block = 1 + (most ? most : 1) * (size_t)width; /* how many, then they */

    TRY(reserve(layout, ((size_t)size + 1) * block));
    double *mine = layout->scratch, *all = mine + block;
    memset(mine, 0, block * sizeof *mine);
    if ((size_t)count * (size_t)width < block) {
        mine[0] = count;
        memcpy(mine + 1, partial, (size_t)count * (size_t)width * sizeof *mine);
    } else {
        mine[0] = 1;
        add_up(partial, count, width, mine + 1);
    }
    TRY(kry_layout_gather(layout, mine, block * sizeof *mine, all));
    for (int c = 0; c < width; c++) value[c] = 0;
    for (int r = 0; r < size; r++, all += block) add_up(all + 1, (int)all[0], width, value);
done:
    return st;
}

static kry_status read_in_order(kry_layout *layout, const kry_sum *sum, double *value)
{
    kry_status st = KRY_OK;
    double partial[2 * KRY_SUM_CAPACITY];

    TRY(read_partials(sum, partial));
    TRY(kry_layout_add_chunks(layout, partial, sum->count, sum->width, value));
done:
    return st;
}

kry_status kry_sum_read(kry_layout *layout, kry_sum *sum, double *value)
{
    if (layout->reproducible) return read_in_order(layout, sum, value);
    kry_status st = kry_sum_read_here(sum, value);
    return st < 0 ? st : kry_layout_combine(layout, KRY_ADD, value, (size_t)sum->width);
}

/* Of each of the sums, `width` numbers behind another. */
static kry_status read_all(kry_layout *layout, kry_sum *const *sums, int count, double *value)
{
    kry_status st = KRY_OK;
    size_t numbers = 0;

    for (int i = 0; i < count; numbers += (size_t)sums[i++]->width)
        TRY(layout->reproducible ? read_in_order(layout, sums[i], value + numbers)
                                 : kry_sum_read_here(sums[i], value + numbers));
    if (!layout->reproducible) TRY(kry_layout_combine(layout, KRY_ADD, value, numbers));
done:
    return st;
}

kry_status kry_layout_reduce(kry_layout *layout, kry_sum *const *sums, int count)
{
    enum { MOST = 8 };
    kry_status st = KRY_OK;
    double value[MOST] = { 0 };
    size_t numbers = 0;

    /* Alone the kernel that uses a sum finishes it. */
    if (kry_layout_size(layout) == 1 && !layout->reproducible) return KRY_OK;
    TRY(read_all(layout, sums, count, value));
    for (int i = 0; i < count; i++) {
        kry_sum *s = sums[i];
        for (int c = 0; c < s->width; c++) s->total[c] = partial_of(s->dev, value[numbers++]);
        /* The next reading of this sum comes after. */
        TRY_CL(clEnqueueWriteBuffer(s->dev->queue, s->buffer, CL_FALSE, 0,
                                    (size_t)s->width * sizeof *s->total, s->total, 0, NULL, NULL));
        s->count = 1, s->writes = true;
    }
done:
    return st;
}
