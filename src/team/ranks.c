/* ranks.c - comm.h between processes, runs of all ranks, and how public calls begin and end (team/ranks.h). */
#include "team/ranks.h"
#include <stdlib.h>
#include <string.h>

/* ---- meetings -------------------------------------------------------------------------------- */

/*
 * Meetings of all ranks, and how a failure of one ends the public call on all (team/ranks.h).
 *
 * A failure is noticed in a meeting, where all ranks are at that time. There they agree on one status and
 * one message, receive what is still under way, and then return to their callers.
 */

/* Nobody waits any more for what is under way: receive it, and let what was sent arrive. */
static kry_status drain(kryi_ranks *R)
{
    kry_status st = KRY_OK;
    char *room = NULL;
    size_t bytes;

    for (int to = 0; to < R->t.size; to++) {
        TRY(kryi_ranks_exchange(R, &R->posted[to], sizeof *R->posted, R->count));
        for (int from = 0; to == R->t.rank && from < R->t.size; from++)
            while (R->taken[from] < R->count[from]) {
                TRY(kryi_ranks_probe(R, from, false, &bytes));
                if (kryi_alloc(bytes, 1, &room) < 0) return kryi_ranks_break(R, "no memory");
                TRY(kryi_ranks_receive(R, from, room, bytes));
                free(room), room = NULL;
            }
    }
    for (kryi_message *m; (m = R->under_way); R->under_way = m->next)
        TRY(kryi_ranks_await(R, &m->pending, false));
done:
    free(room);
    return st;
}

/* Words that a rank has sent to all others, which go on to this meeting without waiting for them. */
static kry_status send_words(kryi_ranks *R)
{
    for (int r = 0; r < R->t.size; r++)
        if (r != R->t.rank && R->t.send(R->t.user, r, KRY_WORD, NULL, 0, &R->word[r]))
            return kryi_ranks_break(R, "send");
    return KRY_OK;
}

static kry_status take_words(kryi_ranks *R)
{
    kry_status st = KRY_OK;

    for (int r = 0; r < R->t.size; r++)
        if (r != R->t.rank && R->all[r].first && R->t.receive(R->t.user, r, KRY_WORD, NULL, 0))
            return kryi_ranks_break(R, "receive");
    for (int r = 0; r < R->t.size; r++) TRY(kryi_ranks_await(R, &R->word[r], false));
done:
    return st;
}

/* Whether no rank differs from the others, as with a word that no solver knows. */
static bool all_say(const kryi_ranks *R, const char *why)
{
    for (int r = 0; r < R->t.size; r++)
        if (!R->all[r].first || strcmp(R->sentence + (size_t)r * KRY_SENTENCE, why) != 0)
            return false;
    return R->t.size > 1;
}

/* End the call on all ranks, for the reason of rank `bad`. */
static kry_status end_call(kryi_ranks *R, int bad, const char *mine)
{
    kry_status st = KRY_OK;
    char own[KRY_SENTENCE];

    snprintf(own, sizeof own, "%s", mine);
    const kry_status status = (kry_status)R->all[bad].status;
    TRY(kryi_ranks_exchange(R, own, sizeof own, R->sentence));
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
static kry_status end_apart(kryi_ranks *R, int other, const char *what)
{
    kry_status st = KRY_OK;
    char own[KRY_SENTENCE];

    snprintf(own, sizeof own, "%s", R->call);
    TRY(kryi_ranks_exchange(R, own, sizeof own, R->sentence));
    TRY(drain(R));
    R->ended = true, R->status = KRY_ERR_ARGUMENT;
    snprintf(R->why, sizeof R->why, "ranks differ: rank 0 of %d calls %.60s, rank %d %.60s%s",
             R->t.size, R->sentence, other, R->sentence + (size_t)other * KRY_SENTENCE, what);
done:
    return st;
}

/* The rank whose failure is reported: the first that failed by itself. -1: none has failed. */
static int find_failed(const kryi_ranks *R)
{
    int bad = -1;
    for (int r = R->t.size - 1; r >= 0; r--)
        if (R->all[r].status < 0 && (bad < 0 || R->all[r].first || !R->all[bad].first)) bad = r;
    return bad;
}

static kry_status compare(kryi_ranks *R)
{
    const kryi_packet *a = R->all;

    for (int r = 1; r < R->t.size; r++) {
        const kryi_packet *b = &R->all[r];
        if (a->call != b->call) return end_apart(R, r, "");
        if (a->given != b->given)
            return end_apart(R, r, ", with other sizes or options, or rows cut elsewhere");
        if (a->bytes != b->bytes) return end_apart(R, r, ", and exchange another number of bytes");
    }
    return KRY_OK;
}

static void fill_packet(kryi_ranks *R, kry_status mine, const void *data, size_t bytes)
{
    R->mine = (kryi_packet){ .status = mine < 0 ? (int32_t)mine : 0,
                             .first = mine < 0 && !R->others,
                             .bytes = (uint32_t)bytes,
                             .call = (uint32_t)kryi_hash(KRY_HASH_START, R->call, strlen(R->call)),
                             .given = R->given };
    if (data && bytes <= sizeof R->mine.data) memcpy(R->mine.data, data, bytes);
}

/* The packets of all are there. */
static kry_status conclude(kryi_ranks *R, const char *why)
{
    kry_status st = KRY_OK;
    const int bad = find_failed(R);

    R->met = true;
    if (bad >= 0)
        TRY(end_call(R, bad, why));
    else
        TRY(compare(R));
    if (R->ended) st = kryi_ranks_others_failed(R);
done:
    return st;
}

/* End what meet_begin began. Nobody waits here for one that has failed: that one comes to this meeting, or has been here and comes to the next. */
static kry_status meet_end(kryi_ranks *R)
{
    kry_status st = KRY_OK;
    const size_t bytes = R->mine.bytes;

    if (R->ended) return kryi_ranks_others_failed(R);
    if (!R->begun) return KRY_OK;
    R->begun = false;
    TRY(kryi_ranks_await(R, &R->meeting, false));
    TRY(conclude(R, ""));
    for (int r = 0; r < R->t.size; r++)
        memcpy((char *)R->brought + (size_t)r * bytes, R->all[r].data, bytes);
done:
    return st;
}

/* Come together with this rank's status and data. Returns KRY_OK if no rank has failed; R->all has
 * what each brought, if that is not more than a packet holds. Else the call has ended on all. */
static kry_status meet(kryi_ranks *R, kry_status mine, const void *data, size_t bytes)
{
    kry_status st = KRY_OK;
    char why[KRY_SENTENCE];

    if (R->broken) return kryi_ranks_broken(R);
    snprintf(why, sizeof why, "%s", mine < 0 ? kry_last_error() : "");
    TRY(meet_end(R)); /* if another rank has failed there, the call is over */
    fill_packet(R, mine, data, bytes);
    if (R->mine.first) TRY(send_words(R));
    TRY(kryi_ranks_exchange(R, &R->mine, sizeof R->mine, R->all));
    TRY(conclude(R, why));
done:
    return st;
}

/* Begin a meeting in halves, for a rank that has not failed: all := what each brought, `bytes` <= KRY_BROUGHT of each. The
 * next meeting, if that comes first, ends it as well. */
static kry_status meet_begin(kryi_ranks *R, const void *data, size_t bytes, void *all)
{
    kry_status st = KRY_OK;

    if (R->broken) return kryi_ranks_broken(R);
    if (R->ended) return kryi_ranks_others_failed(R);
    TRY(meet_end(R));
    fill_packet(R, KRY_OK, data, bytes);
    if (R->t.gather(R->t.user, &R->mine, sizeof R->mine, R->all, &R->meeting))
        return kryi_ranks_break(R, "gather");
    R->begun = true, R->brought = all;
done:
    return st;
}

/* ---- sums of many numbers -------------------------------------------------------------------- */

/*
 * Sums over all ranks of more numbers than a packet holds. With each of log2 P other ranks in turn a
 * rank shares out the numbers that it still adds up, half to each; then the sums go back the same ways.
 *
 *   P       the largest power of two that is not above the number of ranks. Rank P + i hands its numbers to rank i
 *           before, and gets the sums from it
 *   Bytes   a rank sends less than twice its numbers, however many ranks there are (those below P that have a rank
 *           above it, three times); in a gather each receives those of all
 *   Bits    each sum is formed on one rank, in the order of kryi_layout_combine: the same on all, and as in a gather
 *   Source  R. Rabenseifner, Optimization of collective reduction operations, ICCS 2004, LNCS 3036, 1-9
 */

typedef struct sums {
    kryi_ranks *R; /* borrowed */
    kryi_combine how;
    double *numbers;
    double *room; /* as many */
} sums;

/* The other rank does the same at this time: all have met, and none has failed. */
static kry_status swap(const sums *s, int other, const double *out, size_t outs, double *in,
                       size_t ins)
{
    kry_status st = KRY_OK;
    kryi_ranks *R = s->R;
    void *pending = NULL;
    size_t bytes = 0;

    if (outs && R->t.send(R->t.user, other, KRY_DATA, out, outs * sizeof *out, &pending))
        return kryi_ranks_break(R, "send");
    R->posted[other] += outs > 0;
    if (ins) {
        TRY(kryi_ranks_probe(R, other, false, &bytes));
        if (bytes != ins * sizeof *in) return kryi_ranks_break(R, "receive");
        TRY(kryi_ranks_receive(R, other, in, bytes));
    }
    TRY(kryi_ranks_await(R, &pending, false));
done:
    return st;
}

/* numbers[begin ... end - 1] := their sums over the ranks that differ from this one in the bits of 2 half - 1, each
 * of which has its own there. */
static kry_status add_up(const sums *s, int half, size_t begin, size_t end)
{
    kry_status st = KRY_OK;
    const int rank = s->R->t.rank, other = rank ^ half;
    const size_t middle = begin + (end - begin) / 2;
    const bool lower = rank < other;
    double *mine = s->numbers + (lower ? begin : middle);
    double *theirs = s->numbers + (lower ? middle : begin);
    const size_t own = lower ? middle - begin : end - middle, rest = end - begin - own;

    if (half == 0) return KRY_OK;
    TRY(swap(s, other, theirs, rest, s->room, own));
    kryi_combine_numbers(s->how, lower ? mine : s->room, lower ? s->room : mine, mine, own);
    TRY(add_up(s, half / 2, (size_t)(mine - s->numbers), (size_t)(mine - s->numbers) + own));
    TRY(swap(s, other, mine, own, theirs, rest));
done:
    return st;
}

/* Entry of kryi_comm. */
static kry_status ranks_combine(kryi_comm *comm, kryi_combine how, double *numbers, size_t count)
{
    kry_status st = KRY_OK;
    kryi_ranks *R = (kryi_ranks *)comm;
    const int rank = R->t.rank, size = R->t.size;
    sums s = { R, how, numbers, NULL };
    int power = 1;

    while (2 * power <= size) power *= 2;
    const bool above = rank >= power, has_above = rank + power < size;
    if (R->ended) return kryi_ranks_others_failed(R);
    TRY(kryi_alloc(count, sizeof *s.room, &s.room));
    TRY(meet(R, KRY_OK, NULL, count * sizeof *numbers));
    if (above) {
        TRY(swap(&s, rank - power, numbers, count, NULL, 0));
        TRY(swap(&s, rank - power, NULL, 0, numbers, count));
        goto done;
    }
    if (has_above) {
        TRY(swap(&s, rank + power, NULL, 0, s.room, count));
        kryi_combine_numbers(how, numbers, s.room, numbers, count);
    }
    TRY(add_up(&s, power / 2, 0, count));
    if (has_above) TRY(swap(&s, rank + power, numbers, count, NULL, 0));
done:
    free(s.room);
    return st;
}

/* ---- comm.h ------------------------------------------------------------------------------------ */

kry_status kryi_ranks_gather(kryi_ranks *R, const void *mine, size_t bytes, void *all)
{
    kry_status st = KRY_OK;

    if (R->ended) return kryi_ranks_others_failed(R);
    TRY(meet(R, KRY_OK, mine, bytes));
    /* All are here, and nothing can fail before the large gather. */
    if (bytes > sizeof R->all->data) return kryi_ranks_exchange(R, mine, bytes, all);
    for (int r = 0; r < R->t.size; r++)
        memcpy((char *)all + (size_t)r * bytes, R->all[r].data, bytes);
done:
    return st;
}

static kry_status ranks_gather(kryi_comm *comm, const void *mine, size_t bytes, void *all)
{
    return kryi_ranks_gather((kryi_ranks *)comm, mine, bytes, all);
}

static kry_status ranks_gather_begin(kryi_comm *comm, const void *mine, size_t bytes, void *all)
{
    return meet_begin((kryi_ranks *)comm, mine, bytes, all);
}

static kry_status ranks_gather_end(kryi_comm *comm) { return meet_end((kryi_ranks *)comm); }

static kry_status ranks_post(kryi_comm *comm, int to, kryi_message *m)
{
    kryi_ranks *R = (kryi_ranks *)comm;

    if (R->t.send(R->t.user, to, KRY_DATA, m->bytes, m->size, &m->pending))
        return kryi_ranks_break(R, "send");
    R->posted[to]++;
    R->facts.sent += (int64_t)(m->size + m->beside);
    m->next = R->under_way, R->under_way = m;
    return KRY_OK;
}

static kry_status ranks_take(kryi_comm *comm, int from, kryi_message *room, kryi_message **message)
{
    kry_status st = KRY_OK;
    kryi_ranks *R = (kryi_ranks *)comm;
    size_t bytes = 0;

    TRY(kryi_ranks_probe(R, from, true, &bytes));
    CHECK(bytes == room->size, KRY_ERR_SHAPE, "%s: rank %d sends %zu bytes, and %zu are expected",
          R->call, from, bytes, room->size);
    TRY(kryi_ranks_receive(R, from, room->bytes, bytes));
    *message = room;
done:
    return st;
}

static void ranks_release(kryi_comm *comm, kryi_message *m) { (void)comm, (void)m; }

static kry_status ranks_settle(kryi_comm *comm, kryi_message *m)
{
    kry_status st = KRY_OK;
    kryi_ranks *R = (kryi_ranks *)comm;

    TRY(kryi_ranks_await(R, &m->pending, true));
    for (kryi_message **at = &R->under_way; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
done:
    return st;
}

static void ranks_defer(kryi_comm *comm, kryi_deferred *what)
{
    kryi_ranks *R = (kryi_ranks *)comm;
    what->next = R->deferred;
    R->deferred = what;
}

static kry_status ranks_watch(kryi_comm *comm, const atomic_uint *number, unsigned value)
{
    return kryi_ranks_watch((kryi_ranks *)comm, number, value);
}

const kryi_comm kryi_ranks_comm = { .apart = true,
                                    .gather = ranks_gather,
                                    .gather_begin = ranks_gather_begin,
                                    .gather_end = ranks_gather_end,
                                    .most_begun = KRY_BROUGHT,
                                    .combine = ranks_combine,
                                    .post = ranks_post,
                                    .take = ranks_take,
                                    .release = ranks_release,
                                    .settle = ranks_settle,
                                    .defer = ranks_defer,
                                    .watch = ranks_watch };

/* ---- runs -------------------------------------------------------------------------------------- */

static kry_status settle_all(kryi_ranks *R)
{
    kry_status st = KRY_OK;
    while (R->under_way) TRY(ranks_settle(&R->comm, R->under_way));
done:
    return st;
}

/* What this rank has of the task. */
static kry_status work(kryi_ranks *R, const kryi_split *split, kryi_task_of_part *task, void *user)
{
    kry_device *part = R->team->part[R->t.rank];
    char why[KRY_SENTENCE];

    R->inside = true;
    R->comm.run++;
    if (R->comm.size > 1) part->layout.comm = &R->comm;
    part->layout.split = split;
    kry_status st = task(user, R->t.rank);
    part->layout.split = NULL;
    snprintf(why, sizeof why, "%s", kry_last_error());
    if (kry_device_finish(part) < 0 && st >= 0)
        st = KRY_ERR_DEVICE;
    else if (st < 0)
        st = kry_fail(st, "%s", why);
    part->layout.comm = &kryi_comm_alone;
    R->inside = false;
    return st;
}

kry_status kryi_ranks_run(kryi_ranks *R, const kryi_split *split, kryi_task_of_part *task,
                          void *user)
{
    kry_status st = KRY_OK;

    if (R->inside)
        return kry_fail(KRY_ERR_ARGUMENT,
                        "called from within a call on several ranks, which has to "
                        "return first");
    kryi_ranks_enter(R, "a call on all ranks", split);
    CHECK(pthread_equal(R->thread, pthread_self()), KRY_ERR_UNSUPPORTED,
          "on ranks all calls come from the thread that made the team");
    if (R->ended) TRY(kryi_ranks_others_failed(R));
    if (!R->met) TRY(meet(R, KRY_OK, NULL, 0));
    st = work(R, split, task, user);
    if (st >= 0) {
        const kry_status settled = settle_all(R);
        if (settled < 0) st = settled;
    }
    if (st < 0 && !R->ended) (void)meet(R, st, NULL, 0);
    while (R->deferred && !R->broken) { /* else the transport may still read them */
        kryi_deferred *d = R->deferred;
        R->deferred = d->next;
        d->release(d);
    }
done:
    return kryi_ranks_leave(R, st);
}

/* ---- public calls ------------------------------------------------------------------------------ */

void kryi_ranks_enter(kryi_ranks *R, const char *call, const kryi_split *split)
{
    if (!pthread_equal(R->thread, pthread_self()) || R->inside) return;
    if (R->depth++ == 0) {
        R->call = call;
        R->given = 0;
        R->met = R->others = R->ended = false;
        memset(R->posted, 0, (size_t)R->t.size * sizeof *R->posted);
        memset(R->taken, 0, (size_t)R->t.size * sizeof *R->taken);
    }
    if (split) kryi_ranks_same(R, &split->mark, sizeof split->mark);
}

void kryi_ranks_same(kryi_ranks *R, const void *given, size_t bytes)
{
    if (!pthread_equal(R->thread, pthread_self()) || R->inside) return;
    R->given = kryi_hash(R->given, given, bytes);
}

kry_status kryi_ranks_leave(kryi_ranks *R, kry_status mine)
{
    if (!pthread_equal(R->thread, pthread_self()))
        return kry_fail(KRY_ERR_UNSUPPORTED,
                        "on ranks all calls come from the thread that made the team");
    if (R->inside || --R->depth > 0) return mine;
    if (!R->ended && !R->broken) (void)meet(R, mine, NULL, 0);
    return R->ended || R->broken ? kryi_ranks_broken(R) : mine;
}
