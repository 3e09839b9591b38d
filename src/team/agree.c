/* agree.c - what programs ask of all ranks: whether each can go on, and how many rows each has; and whether they give the
 * same parameters. */
#include "team/ranks.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

kry_status kry_team_agree(kry_device *device, const char *call, kry_status mine)
{
    kry_status st = KRY_OK;

    kryi_team_enter(device, call ? call : __func__, NULL);
    TRY(GIVEN(device, call));
    st = mine < 0 ? mine : KRY_OK;
done:
    return kryi_team_leave(device, st);
}

/* first, all := what the ranks before have together, and all of them */
static kry_status add_up(kryi_ranks *R, int64_t rows, int64_t *first, int64_t *all)
{
    kry_status st = KRY_OK;
    int64_t *each = NULL, sum[2] = { 0 };

    TRY(kryi_alloc((size_t)R->t.size, sizeof *each, &each));
    TRY(kryi_ranks_gather(R, &rows, sizeof rows, each));
    for (int r = 0; r < R->t.size; r++) {
        CHECK(each[r] <= INT64_MAX - sum[1], KRY_ERR_ARGUMENT,
              "kry_team_rows: the rows of all ranks are more than 2^63-1");
        if (r < R->t.rank) sum[0] += each[r];
        sum[1] += each[r];
    }
    *first = sum[0], *all = sum[1];
done:
    free(each);
    return st;
}

kry_status kry_team_rows(kry_device *device, int64_t rows, int64_t *first, int64_t *all)
{
    kry_status st = KRY_OK;

    kryi_team_enter(device, __func__, NULL);
    if (first) *first = 0;
    if (all) *all = 0;
    TRY(GIVEN(device, first, all));
    assert(first && all);
    CHECK(rows >= 0, KRY_ERR_ARGUMENT, "kry_team_rows: rows = %lld is negative", (long long)rows);
    if (kryi_device_is_ranks(device))
        TRY(add_up(device->team->ranks, rows, first, all));
    else
        *all = rows;
done:
    return kryi_team_leave(device, st);
}

typedef struct kind {
    char letter;
    size_t size, align;
} kind;

static const kind *kind_of(char letter)
{
    static const kind kinds[] = {
        { 'i', sizeof(int), _Alignof(int) },         { 'd', sizeof(double), _Alignof(double) },
        { 'q', sizeof(int64_t), _Alignof(int64_t) }, { '?', sizeof(bool), _Alignof(bool) },
        { 'P', sizeof(void *), _Alignof(void *) },   { 'x', sizeof(void *), _Alignof(void *) }
    };
    const kind *k = kinds;

    while (k->letter != letter) k++;
    return k;
}

static size_t round_up(size_t at, size_t to) { return (at + to - 1) / to * to; }

void kryi_team_same_fields(const kry_device *device, const char *fields, const void *params,
                           size_t size)
{
    size_t at = 0, widest = 1;

    for (const char *f = fields; *f; f++) {
        const kind *k = kind_of(*f);
        char field[sizeof(int64_t)] = { 0 };
        void *pointer = NULL;
        at = round_up(at, k->align);
        if (k->align > widest) widest = k->align;
        if (params) memcpy(field, (const char *)params + at, k->size);
        memcpy(&pointer, field, sizeof pointer);
        if (*f == 'P') memset(field, pointer != NULL, sizeof field);
        if (*f != 'x') kryi_team_same(device, field, sizeof field);
        at += k->size;
    }
    assert(round_up(at, widest) == size);
    (void)size;
}
