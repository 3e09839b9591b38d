/* layout.c - numbers that the parts of a computation exchange. */
#include "device/comm.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static kry_status gather_alone(kryi_comm *comm, const void *mine, size_t bytes, void *all)
{
    (void)comm;
    memcpy(all, mine, bytes);
    return KRY_OK;
}

static void release_at_once(kryi_comm *comm, kryi_deferred *what)
{
    (void)comm;
    what->release(what);
}

kryi_comm kryi_comm_alone = { .size = 1, .gather = gather_alone, .defer = release_at_once };

void kryi_layout_init(kryi_layout *layout, kry_device *dev)
{
    *layout = (kryi_layout){ .dev = dev, .comm = &kryi_comm_alone };
}

int kryi_layout_size(const kryi_layout *layout) { return layout->comm->size; }
int kryi_layout_rank(const kryi_layout *layout) { return layout->comm->rank; }
bool kryi_layout_reports(const kryi_layout *layout)
{
    return layout->comm->rank == 0 || layout->comm->apart;
}

kry_status kryi_receive(kryi_comm *comm, int from, void *bytes, size_t size)
{
    kry_status st = KRY_OK;
    kryi_message room = { .bytes = bytes, .size = size }, *heard;

    if (!size) return KRY_OK;
    TRY(comm->take(comm, from, &room, &heard));
    if (heard != &room) memcpy(bytes, heard->bytes, size);
    comm->release(comm, heard);
done:
    return st;
}

kry_status kryi_layout_gather(kryi_layout *layout, const void *mine, size_t bytes, void *all)
{
    return layout->comm->gather(layout->comm, mine, bytes, all);
}

kry_status kryi_layout_collect(kryi_layout *layout, const void *mine, size_t count, size_t size,
                               void *address_of_all, size_t *total)
{
    kry_status st = KRY_OK;
    size_t parts = (size_t)kryi_layout_size(layout), most = 0, *counts = NULL;
    char *room = NULL, *blocks = NULL, *all = NULL; /* room, blocks: as long as the longest list */

    TRY(kryi_alloc(parts, sizeof *counts, &counts));
    TRY(kryi_layout_gather(layout, &count, sizeof count, counts));
    for (size_t r = 0; r < parts; r++) most = counts[r] > most ? counts[r] : most;
    TRY(kryi_alloc(most, size, &room));
    TRY(kryi_alloc(most * parts, size, &blocks));
    TRY(kryi_alloc(most * parts, size, &all));
    if (count) memcpy(room, mine, count * size);
    TRY(kryi_layout_gather(layout, room, most * size, blocks));
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

/* ---- sums -------------------------------------------------------------------------------------- */

void kryi_combine_numbers(kryi_combine how, const double *a, const double *b, double *both,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (how == KRY_ADD)
            both[i] = a[i] + b[i];
        else
            both[i] = b[i] > a[i] || isnan(b[i]) ? b[i] : a[i];
}

/* numbers := those of all parts together */
static void combine_all(kryi_combine how, int size, double *all, double *numbers, size_t count)
{
    int half = 1;

    while (2 * half < size) half *= 2;
    for (; half > 0; half /= 2)
        for (int r = 0; r < half && r + half < size; r++) {
            double *mine = all + (size_t)r * count;
            kryi_combine_numbers(how, mine, mine + (size_t)half * count, mine, count);
        }
    memcpy(numbers, all, count * sizeof *numbers);
}

kry_status kryi_layout_combine(kryi_layout *layout, kryi_combine how, double *numbers, size_t count)
{
    enum { MANY = 4096 }; /* of more than two parts: fewer travel as fast in one gather */
    kry_status st = KRY_OK;
    const int size = kryi_layout_size(layout);
    const size_t total = count * (size_t)size;
    double few[64], *all = few;

    if (size == 1) return KRY_OK;
    if (size > 2 && total > MANY && layout->comm->combine)
        return layout->comm->combine(layout->comm, how, numbers, count);
    if (total > COUNT(few)) TRY(kryi_alloc(total, sizeof *all, &all));
    TRY(kryi_layout_gather(layout, numbers, count * sizeof *numbers, all));
    combine_all(how, size, all, numbers, count);
done:
    if (all != few) free(all);
    return st;
}

kry_status kryi_layout_scratch(kryi_layout *layout, size_t count)
{
    kry_status st = KRY_OK;

    if (count <= layout->scratch_count) return KRY_OK;
    TRY(kryi_realloc(count, sizeof *layout->scratch, &layout->scratch));
    layout->scratch_count = count;
done:
    return st;
}

kry_status kryi_layout_combine_begin(kryi_layout *layout, const double *numbers, size_t count)
{
    kry_status st = KRY_OK;
    kryi_comm *comm = layout->comm;
    const size_t bytes = count * sizeof *numbers;

    layout->begun = false;
    if (bytes > comm->most_begun) return KRY_OK;
    TRY(kryi_layout_scratch(layout, count * (size_t)comm->size));
    TRY(comm->gather_begin(comm, numbers, bytes, layout->scratch));
    layout->begun = true;
done:
    return st;
}

kry_status kryi_layout_combine_end(kryi_layout *layout, kryi_combine how, double *numbers,
                                   size_t count)
{
    kry_status st = KRY_OK;
    const int size = kryi_layout_size(layout);

    if (!layout->begun) return kryi_layout_combine(layout, how, numbers, count);
    layout->begun = false;
    TRY(layout->comm->gather_end(layout->comm));
    combine_all(how, size, layout->scratch, numbers, count);
done:
    return st;
}

/* A sum to which the other parts add 0. */
kry_status kryi_layout_agree(kryi_layout *layout, double *number)
{
    if (kryi_layout_rank(layout) > 0) *number = 0;
    return kryi_layout_combine(layout, KRY_ADD, number, 1);
}

kry_status kryi_layout_join(kryi_layout *layout, kry_status mine)
{
    double ok = 1;
    if (mine < 0) return mine; /* a part that fails ends the waits of the others */
    return kryi_layout_combine(layout, KRY_ADD, &ok, 1);
}

kry_status kryi_layout_rows(kryi_layout *layout, int64_t n, int64_t *first, int64_t *total)
{
    kry_status st = KRY_OK;
    int size = kryi_layout_size(layout), rank = kryi_layout_rank(layout);
    int64_t few[64], *all = few;

    if ((size_t)size > COUNT(few)) TRY(kryi_alloc((size_t)size, sizeof *all, &all));
    TRY(kryi_layout_gather(layout, &n, sizeof n, all));
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
