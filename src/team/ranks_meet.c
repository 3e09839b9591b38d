/*
 * ranks_meet.c - meetings of all ranks, and how a failure of one ends the public call on all (team/ranks.h).
 *
 * A failure is noticed in a meeting, where all ranks are at that time. There they agree on one status and
 * one message, receive what is still under way, and then return to their callers.
 */
#include "team/ranks.h"
#include <stdlib.h>
#include <string.h>

/* Nobody waits any more for what is under way: receive it, and let what was sent arrive. */
static kry_status drain(kry_ranks *R)
{
    kry_status st = KRY_OK;
    char *room = NULL;
    size_t bytes;

    for (int to = 0; to < R->t.size; to++) {
        TRY(kry_ranks_exchange(R, &R->posted[to], sizeof *R->posted, R->count));
        for (int from = 0; to == R->t.rank && from < R->t.size; from++)
            while (R->taken[from] < R->count[from]) {
                TRY(kry_ranks_probe(R, from, false, &bytes));
                if (kry_alloc(bytes, 1, &room) < 0) return kry_ranks_break(R, "no memory");
                TRY(kry_ranks_receive(R, from, room, bytes));
                free(room), room = NULL;
            }
    }
    for (kry_message *m; (m = R->under_way); R->under_way = m->next)
        TRY(kry_ranks_await(R, &m->pending, false));
done:
    free(room);
    return st;
}

/* Words that a rank has sent to all others, which go on to this meeting without waiting for them. */
static kry_status send_words(kry_ranks *R)
{
    for (int r = 0; r < R->t.size; r++)
        if (r != R->t.rank && R->t.send(R->t.user, r, KRY_WORD, NULL, 0, &R->word[r]))
            return kry_ranks_break(R, "send");
    return KRY_OK;
}

static kry_status take_words(kry_ranks *R)
{
    kry_status st = KRY_OK;

    for (int r = 0; r < R->t.size; r++)
        if (r != R->t.rank && R->all[r].first && R->t.receive(R->t.user, r, KRY_WORD, NULL, 0))
            return kry_ranks_break(R, "receive");
    for (int r = 0; r < R->t.size; r++) TRY(kry_ranks_await(R, &R->word[r], false));
done:
    return st;
}

/* Whether no rank differs from the others, as with a word that no solver knows. */
static bool all_say(const kry_ranks *R, const char *why)
{
    for (int r = 0; r < R->t.size; r++)
        if (!R->all[r].first || strcmp(R->sentence + (size_t)r * KRY_SENTENCE, why) != 0)
            return false;
    return R->t.size > 1;
}

/* End the call on all ranks, for the reason of rank `bad`. */
static kry_status end_call(kry_ranks *R, int bad, const char *mine)
{
    kry_status st = KRY_OK;
    char own[KRY_SENTENCE];

    snprintf(own, sizeof own, "%s", mine);
    const kry_status status = (kry_status)R->all[bad].status;
    TRY(kry_ranks_exchange(R, own, sizeof own, R->sentence));
    TRY(take_words(R));
    TRY(drain(R));
    R->ended = true, R->status = status;
    const char *why = R->sentence + (size_t)bad * KRY_SENTENCE;
    if (all_say(R, why))
        snprintf(R->why, sizeof R->why, "%s", why);
    else
        snprintf(R->why, sizeof R->why, "rank %d of %d: %s", bad, R->t.size, why);
done:
    return st;
}

/* Two ranks are at different places: `what` says how. All see it, in the same packets. */
static kry_status end_apart(kry_ranks *R, int other, const char *what)
{
    kry_status st = KRY_OK;
    char own[KRY_SENTENCE];

    snprintf(own, sizeof own, "%s", R->call);
    TRY(kry_ranks_exchange(R, own, sizeof own, R->sentence));
    TRY(drain(R));
    R->ended = true, R->status = KRY_ERR_ARGUMENT;
    snprintf(R->why, sizeof R->why, "ranks differ: rank 0 of %d calls %.60s, rank %d %.60s%s",
             R->t.size, R->sentence, other, R->sentence + (size_t)other * KRY_SENTENCE, what);
done:
    return st;
}

/* The rank whose failure is reported: the first that failed by itself. -1: none has failed. */
static int find_failed(const kry_ranks *R)
{
    int bad = -1;
    for (int r = R->t.size - 1; r >= 0; r--)
        if (R->all[r].status < 0 && (bad < 0 || R->all[r].first || !R->all[bad].first)) bad = r;
    return bad;
}

static kry_status compare(kry_ranks *R)
{
    const kry_packet *a = R->all;

    for (int r = 1; r < R->t.size; r++) {
        const kry_packet *b = &R->all[r];
        if (a->call != b->call) return end_apart(R, r, "");
        if (a->given != b->given)
            return end_apart(R, r, ", with other sizes or options, or rows cut elsewhere");
        if (a->bytes != b->bytes) return end_apart(R, r, ", and exchange another number of bytes");
    }
    return KRY_OK;
}

static void fill_packet(kry_ranks *R, kry_status mine, const void *data, size_t bytes)
{
    R->mine = (kry_packet){ .status = mine < 0 ? (int32_t)mine : 0,
                            .first = mine < 0 && !R->others,
                            .bytes = (uint32_t)bytes,
                            .call = (uint32_t)kry_hash(KRY_HASH_START, R->call, strlen(R->call)),
                            .given = R->given };
    if (data && bytes <= sizeof R->mine.data) memcpy(R->mine.data, data, bytes);
}

/* The packets of all are there. */
static kry_status conclude(kry_ranks *R, const char *why)
{
    kry_status st = KRY_OK;
    const int bad = find_failed(R);

    R->met = true;
    if (bad >= 0)
        TRY(end_call(R, bad, why));
    else
        TRY(compare(R));
    if (R->ended) st = kry_ranks_others_failed(R);
done:
    return st;
}

kry_status kry_ranks_meet(kry_ranks *R, kry_status mine, const void *data, size_t bytes)
{
    kry_status st = KRY_OK;
    char why[KRY_SENTENCE];

    if (R->broken) return kry_ranks_broken(R);
    snprintf(why, sizeof why, "%s", mine < 0 ? kry_last_error() : "");
    TRY(kry_ranks_meet_end(R)); /* if another rank has failed there, the call is over */
    fill_packet(R, mine, data, bytes);
    if (R->mine.first) TRY(send_words(R));
    TRY(kry_ranks_exchange(R, &R->mine, sizeof R->mine, R->all));
    TRY(conclude(R, why));
done:
    return st;
}

kry_status kry_ranks_meet_begin(kry_ranks *R, const void *data, size_t bytes, void *all)
{
    kry_status st = KRY_OK;

    if (R->broken) return kry_ranks_broken(R);
    if (R->ended) return kry_ranks_others_failed(R);
    TRY(kry_ranks_meet_end(R));
    fill_packet(R, KRY_OK, data, bytes);
    if (R->t.gather(R->t.user, &R->mine, sizeof R->mine, R->all, &R->meeting))
        return kry_ranks_break(R, "gather");
    R->begun = true, R->brought = all;
done:
    return st;
}

/* Nobody waits here for one that has failed: that one comes to this meeting, or has been here and comes to the next. */
kry_status kry_ranks_meet_end(kry_ranks *R)
{
    kry_status st = KRY_OK;
    const size_t bytes = R->mine.bytes;

    if (R->ended) return kry_ranks_others_failed(R);
    if (!R->begun) return KRY_OK;
    R->begun = false;
    TRY(kry_ranks_await(R, &R->meeting, false));
    TRY(conclude(R, ""));
    for (int r = 0; r < R->t.size; r++)
        memcpy((char *)R->brought + (size_t)r * bytes, R->all[r].data, bytes);
done:
    return st;
}
