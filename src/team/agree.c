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
    if (kry_team_is_ranks(device))
        TRY(add_up(device->team->ranks, rows, first, all));
    else
        *all = rows;
done:
    return kryi_team_leave(device, st);
}

kry_status kry_team_gather(kry_device *device, const void *mine, size_t bytes, void *all)
{
    kry_status st = KRY_OK;

    kryi_team_enter(device, __func__, NULL);
    TRY(GIVEN(device, mine, all));
    kryi_team_same(device, &bytes, sizeof bytes);
    if (kry_team_is_ranks(device))
        TRY(kryi_ranks_gather(device->team->ranks, mine, bytes, all));
    else
        memmove(all, mine, bytes);
done:
    return kryi_team_leave(device, st);
}

static bool is_pointer(const kryi_field *f)
{
    return f->type == KRY_FIELD_TEXT || f->type == KRY_FIELD_POINTER;
}

/* How far each element of a field is from the next one. */
static size_t size_of(const kryi_field *f)
{
    return f->type == KRY_FIELD_INT     ? sizeof(int)
           : f->type == KRY_FIELD_BOOL  ? sizeof(bool)
           : f->type == KRY_FIELD_INT64 ? sizeof(int64_t)
           : is_pointer(f)              ? sizeof(void *)
                                        : sizeof(double);
}

static void same_field(const kry_device *device, const kryi_field *f, const char *at)
{
    char number[sizeof(int64_t)] = { 0 };

    if (f->fields) kryi_team_same_fields(device, f->fields, at);
    if (f->fields || f->type == KRY_FIELD_LOCAL || f->type == KRY_FIELD_NOTHING) return;
    if (is_pointer(f))
        number[0] = *(const void *const *)at != NULL;
    else if (f->type != KRY_FIELD_CHARS)
        memcpy(number, at, size_of(f));
    const bool text = f->type == KRY_FIELD_CHARS;
    kryi_team_same(device, text ? at : number, text ? strlen(at) + 1 : sizeof number);
}

void kryi_team_same_fields(const kry_device *device, const kryi_field *fields, const void *params)
{
    if (!kry_team_is_ranks(device)) return;
    for (const kryi_field *f = fields; f->type != KRY_FIELD_END; f++)
        for (int i = 0; i < (f->count ? f->count : 1); i++)
            same_field(device, f, (const char *)params + f->offset + (size_t)i * size_of(f));
}
