/* sum.c - adding up the partial sums that work-groups leave on a device, over all parts of a
 * team. */
#include "vector/vec.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Partial sum i. Without double precision it is a pair of floats; after an overflow only the first
 * counts. */
static double partial_sum(const kry_device *dev, const kryi_partial *part, int i)
{
    if (dev->info.fp64) return part[i].f64;
    return isfinite(part[i].f32[0]) ? (double)part[i].f32[0] + part[i].f32[1] : part[i].f32[0];
}

static kryi_partial partial_of(const kry_device *dev, double v)
{
    kryi_partial p = { .f64 = v };
    if (dev->info.fp64) return p;
    p.f32[0] = (float)v;
    p.f32[1] = isfinite(p.f32[0]) ? (float)(v - p.f32[0]) : 0;
    return p;
}

/* sum->part := the partial sums as doubles, count * width of them. */
static kry_status read_partials(const kry_sum *sum)
{
    kry_status st = KRY_OK;
    int count = sum->count * sum->width;

    TRY(kryi_buffer_read(sum->dev, sum->buffer, 0, (size_t)count * sizeof *sum->part, sum->part));
    for (int i = 0; i < count; i++) sum->part[i].f64 = partial_sum(sum->dev, sum->part, i);
done:
    return st;
}

static void add_up(const double *numbers, int count, int width, double *value)
{
    for (int i = 0; i < count * width; i++) value[i % width] += numbers[i];
}

/* In the order of the groups. */
kry_status kryi_sum_add_here(const kry_sum *sum, double *value)
{
    kry_status st = KRY_OK;

    TRY(read_partials(sum));
    add_up(&sum->part->f64, sum->count, sum->width, value);
done:
    return st;
}

kry_status kryi_sum_read_here(const kry_sum *sum, double *value)
{
    for (int c = 0; c < sum->width; c++) value[c] = 0;
    return kryi_sum_add_here(sum, value);
}

kry_status kryi_layout_add_chunks(kryi_layout *layout, const double *partial, int count, int width,
                                  double *value)
{
    kry_status st = KRY_OK;
    int size = kryi_layout_size(layout);
    size_t most = layout->split ? (size_t)layout->split->most_chunks : 1;
    size_t block = 1 + (most ? most : 1) * (size_t)width; /* their count, then the numbers */
    size_t needs = ((size_t)size + 1) * block;

    TRY(kryi_layout_scratch(layout, needs));
    double *mine = layout->scratch, *all = mine + block;
    memset(mine, 0, block * sizeof *mine);
    if ((size_t)count * (size_t)width < block) {
        mine[0] = count;
        memcpy(mine + 1, partial, (size_t)count * (size_t)width * sizeof *mine);
    } else {
        mine[0] = 1;
        add_up(partial, count, width, mine + 1);
    }
    TRY(kryi_layout_gather(layout, mine, block * sizeof *mine, all));
    for (int c = 0; c < width; c++) value[c] = 0;
    for (int r = 0; r < size; r++, all += block) add_up(all + 1, (int)all[0], width, value);
done:
    return st;
}

static kry_status read_all(kry_sum *const *sums, int count)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < count; i++) TRY(read_partials(sums[i]));
done:
    return st;
}

/* value: the sums of this part, whose partial sums were read, `width` numbers for each. Returns how many. */
static size_t add_own(kry_sum *const *sums, int count, double *value)
{
    size_t numbers = 0;

    for (int i = 0; i < count; numbers += (size_t)sums[i++]->width) {
        assert(numbers + (size_t)sums[i]->width <= KRY_SUM_WIDTH);
        for (int c = 0; c < sums[i]->width; c++) value[numbers + (size_t)c] = 0;
        add_up(&sums[i]->part->f64, sums[i]->count, sums[i]->width, value + numbers);
    }
    return numbers;
}

/* value: the totals of all parts. */
static kry_status combine(kryi_layout *layout, kry_sum *const *sums, int count, double *value)
{
    kry_status st = KRY_OK;

    if (!layout->reproducible)
        return kryi_layout_combine(layout, KRY_ADD, value, add_own(sums, count, value));
    for (int i = 0; i < count; value += sums[i++]->width)
        TRY(kryi_layout_add_chunks(layout, &sums[i]->part->f64, sums[i]->count, sums[i]->width,
                                   value));
done:
    return st;
}

kry_status kryi_sum_read(kryi_layout *layout, kry_sum *sum, double *value)
{
    kry_status st = read_all(&sum, 1);
    return st < 0 ? st : combine(layout, &sum, 1, value);
}

/* On one device, the kernel that uses a sum adds up its partial sums. */
static bool alone(const kryi_layout *layout)
{
    return kryi_layout_size(layout) == 1 && !layout->reproducible;
}

/* The totals take the place of the partial sums. */
static kry_status write_totals(kry_sum *const *sums, int count, const double *value)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < count; i++) {
        kry_sum *s = sums[i];
        for (int c = 0; c < s->width; c++) s->total[c] = partial_of(s->dev, *value++);
        /* Not blocking: the queue is in order, so every later use of the sum comes after. */
        TRY(kryi_buffer_write_later(s->dev, s->buffer, 0, (size_t)s->width * sizeof *s->total,
                                    s->total));
        s->count = 1, s->writes = true;
    }
done:
    return st;
}

kry_status kryi_layout_reduce(kryi_layout *layout, kry_sum *const *sums, int count)
{
    kry_status st = KRY_OK;
    double value[KRY_SUM_WIDTH] = { 0 };

    if (alone(layout)) return KRY_OK;
    TRY(read_all(sums, count));
    TRY(combine(layout, sums, count, value));
    TRY(write_totals(sums, count, value));
done:
    return st;
}

kry_status kryi_layout_reduce_begin(kryi_layout *layout, kry_sum *const *sums, int count)
{
    kry_status st = KRY_OK;
    double value[KRY_SUM_WIDTH];

    if (alone(layout)) return KRY_OK;
    TRY(read_all(sums, count));
    if (!layout->reproducible)
        TRY(kryi_layout_combine_begin(layout, value, add_own(sums, count, value)));
done:
    return st;
}

kry_status kryi_layout_reduce_end(kryi_layout *layout, kry_sum *const *sums, int count)
{
    kry_status st = KRY_OK;
    double value[KRY_SUM_WIDTH] = { 0 };

    if (alone(layout)) return KRY_OK;
    if (layout->reproducible)
        TRY(combine(layout, sums, count, value));
    else
        TRY(kryi_layout_combine_end(layout, KRY_ADD, value, add_own(sums, count, value)));
    TRY(write_totals(sums, count, value));
done:
    return st;
}
