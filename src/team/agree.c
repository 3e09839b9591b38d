/* agree.c - what programs ask of all ranks: whether each can go on, and how many rows each has. */
#include "team/ranks.h"
#include <assert.h>
#include <stdlib.h>

kry_status kry_team_agree(kry_device *device, const char *call, kry_status mine)
{
    kry_status st = KRY_OK;

    kry_team_enter(device, call ? call : __func__, NULL);
    TRY(GIVEN(device, call));
    st = mine < 0 ? mine : KRY_OK;
done:
    return kry_team_leave(device, st);
}

/* first, all := what the ranks before have together, and all of them */
static kry_status add_up(kry_ranks *R, int64_t rows, int64_t *first, int64_t *all)
{
    kry_status st = KRY_OK;
    int64_t *each = NULL, sum[2] = { 0 };

    TRY(kry_alloc((size_t)R->t.size, sizeof *each, &each));
    TRY(kry_ranks_gather(R, &rows, sizeof rows, each));
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

    kry_team_enter(device, __func__, NULL);
    if (first) *first = 0;
    if (all) *all = 0;
    TRY(GIVEN(device, first, all));
    assert(first && all);
    CHECK(rows >= 0, KRY_ERR_ARGUMENT, "kry_team_rows: rows = %lld is negative", (long long)rows);
    if (kry_device_is_ranks(device))
        TRY(add_up(device->team->ranks, rows, first, all));
    else
        *all = rows;
done:
    return kry_team_leave(device, st);
}
