/* places.c - which row is at which place, and numbers in the one order or the other. */
#include "sparse/partition.h"
#include "team/boxes.h"
#include "team/ranks.h"
#include "team/split.h"
#include "team/team.h"
#include <stdlib.h>
#include <string.h>

int64_t kryi_split_row(const kryi_split *s, int64_t place)
{
    if (s->row) return s->row[place];
    if (!s->boxes) return place;
    const int r = kryi_interval_of(s->first, s->members, place);
    return kryi_boxes_row(s->boxes, r, place - s->first[r]);
}

int64_t kryi_split_place(const kryi_split *s, int64_t row)
{
    int64_t i = row;
    return s->boxes ? s->first[kryi_boxes_find(s->boxes, row, &i)] + i : row;
}

void kryi_split_copy(const kryi_split *s, int rank, size_t size, void *all, void *mine,
                     bool to_part)
{
    int64_t count = kryi_split_rows(s, rank);
    int64_t run = kryi_split_permutes(s) ? 1 : count; /* rows side by side */

    for (int64_t i = 0; i < count; i += run) {
        char *in_all = (char *)all + (size_t)kryi_split_row(s, s->first[rank] + i) * size;
        char *in_part = (char *)mine + (size_t)i * size;
        memcpy(to_part ? in_part : in_all, to_part ? in_all : in_part, (size_t)run * size);
    }
}

int64_t kryi_layout_row(const kryi_layout *layout, int64_t i)
{
    const kryi_split *s = layout->split;
    return s ? kryi_split_row(s, s->first[kryi_layout_rank(layout)] + i) : i;
}

kry_status kryi_split_complete(const kryi_split *s, size_t size, void *all)
{
    kry_status st = KRY_OK;
    kryi_ranks *R = s->team->ranks;
    int64_t most = 0;
    char *padded = NULL, *room = NULL;

    if (!R) return KRY_OK;
    for (int r = 0; r < s->members; r++)
        most = kryi_split_rows(s, r) > most ? kryi_split_rows(s, r) : most;
    TRY(kryi_alloc((size_t)most, size, &padded));
    TRY(kryi_alloc((uint64_t)(most * s->members), size, &room));
    memcpy(padded, (char *)all + (size_t)s->first[s->begin] * size,
           (size_t)kryi_split_rows(s, s->begin) * size);
    TRY(kryi_ranks_gather(R, padded, (size_t)most * size, room));
    for (int r = 0; r < s->members; r++)
        memcpy((char *)all + (size_t)s->first[r] * size, room + (size_t)(r * most) * size,
               (size_t)kryi_split_rows(s, r) * size);
done:
    free(room);
    free(padded);
    return st;
}

kry_status kryi_split_all_rows(const kryi_split *s, size_t size, void *all)
{
    kry_status st = KRY_OK;
    char *placed = NULL;
    const size_t bytes = (size_t)s->n * size;

    TRY(kryi_split_complete(s, size, all));
    if (!kryi_split_permutes(s)) return KRY_OK;
    TRY(kryi_alloc((size_t)s->n, size, &placed));
    if (bytes) memcpy(placed, all, bytes);
    for (int64_t p = 0; p < s->n; p++)
        memcpy((char *)all + (size_t)kryi_split_row(s, p) * size, placed + (size_t)p * size, size);
done:
    free(placed);
    return st;
}
