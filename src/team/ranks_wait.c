/* ranks_wait.c - waiting for other ranks: for gathers, messages and what was sent to arrive. */
#include "team/ranks.h"
#include <sched.h>
#include <string.h>
#include <time.h>

kry_status kryi_ranks_broken(const kryi_ranks *R) { return kry_fail(R->status, "%s", R->why); }

kry_status kryi_ranks_break(kryi_ranks *R, const char *what)
{
    if (R->broken) return kryi_ranks_broken(R);
    R->broken = true, R->status = KRY_ERR_DEVICE;
    snprintf(R->why, sizeof R->why, "rank %d of %d: %s: the transport failed in '%s'", R->t.rank,
             R->t.size, R->call, what);
    return kryi_ranks_broken(R);
}

kry_status kryi_ranks_others_failed(kryi_ranks *R)
{
    R->others = true;
    return kry_fail(KRY_ERR_DEVICE, "another rank failed");
}

/* ---- too late ---------------------------------------------------------------------------------- */

/* Take the words of ranks that wait as well: count[r] := 1. */
static kry_status hear_late(kryi_ranks *R)
{
    for (int r = 0; r < R->t.size; r++) {
        int there = 0;
        size_t bytes;
        if (r == R->t.rank) continue;
        if (R->t.probe(R->t.user, r, KRY_LATE, &bytes, &there)) return kryi_ranks_break(R, "probe");
        if (!there) continue;
        if (R->t.receive(R->t.user, r, KRY_LATE, NULL, 0)) return kryi_ranks_break(R, "receive");
        R->count[r] = 1;
    }
    return KRY_OK;
}

/* Who waits says so to all others, and they to it. Those that are silent for a while are not in a call, or
 * do not come back from their device: they are who everybody waits for. */
static kry_status too_late(kryi_ranks *R, double waited)
{
    enum { GRACE_MS = 500 };
    kry_status st = KRY_OK;
    const double start = kryi_now();
    size_t at;
    int silent = 0;

    memset(R->count, 0, (size_t)R->t.size * sizeof *R->count);
    memset(R->word, 0, (size_t)R->t.size * sizeof *R->word);
    for (int r = 0; r < R->t.size; r++)
        if (r != R->t.rank && R->t.send(R->t.user, r, KRY_LATE, NULL, 0, &R->word[r]))
            return kryi_ranks_break(R, "send");
    while (kryi_now() - start < GRACE_MS / 1e3) {
        int ended;
        TRY(hear_late(R));
        for (int r = 0; r < R->t.size; r++)
            if (R->word[r] && R->t.test(R->t.user, &R->word[r], &ended))
                return kryi_ranks_break(R, "test");
        sched_yield();
    }
    R->broken = true, R->status = KRY_ERR_DEVICE;
    at = (size_t)kryi_print(R->why, sizeof R->why, "%s: waited %.3g s for rank", R->call, waited);
    for (int r = 0; r < R->t.size && at < sizeof R->why - 24; r++)
        if (r != R->t.rank && !R->count[r])
            at +=
                (size_t)snprintf(R->why + at, sizeof R->why - at, "%s%d", silent++ ? ", " : " ", r);
    snprintf(R->why + at, sizeof R->why - at, "%s of %d", silent ? "" : "s in other calls",
             R->t.size);
    return kryi_ranks_broken(R);
done:
    return st;
}

/* Between two looks. `since`: when the wait began. Whom another rank keeps waiting for long, since it compiles or reads
 * a file, leaves its core to others, and comes at most a hundredth late. */
static kry_status pause_for(kryi_ranks *R, double since)
{
    static const double long_wait = 0.1; /* seconds */
    const struct timespec millisecond = { .tv_nsec = 1000000 };
    const double waited = kryi_now() - since;
    size_t bytes;
    int there = 0;

    if (waited > long_wait)
        nanosleep(&millisecond, NULL);
    else
        sched_yield();
    if (R->timeout <= 0) return KRY_OK;
    if (R->t.probe(R->t.user, -1, KRY_LATE, &bytes, &there)) return kryi_ranks_break(R, "probe");
    return waited > R->timeout || there ? too_late(R, waited) : KRY_OK;
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static kry_status hear(kryi_ranks *R)
{
    size_t bytes;
    int there = 0;

    if (R->t.probe(R->t.user, -1, KRY_WORD, &bytes, &there)) return kryi_ranks_break(R, "probe");
    return there ? kryi_ranks_others_failed(R) : KRY_OK;
}

kry_status kryi_ranks_await(kryi_ranks *R, void **pending, bool hears)
{
    kry_status st = KRY_OK;
    const double start = kryi_now();

    while (*pending) {
        int ended = 0;
        if (R->t.test(R->t.user, pending, &ended)) return kryi_ranks_break(R, "test");
        if (ended) break;
        if (hears) TRY(hear(R));
        TRY(pause_for(R, start));
    }
done:
    R->facts.waited += kryi_now() - start;
    return st;
}

kry_status kryi_ranks_watch(kryi_ranks *R, const atomic_uint *number, unsigned value)
{
    kry_status st = KRY_OK;
    const double start = kryi_now();

    while (atomic_load(number) != value) {
        TRY(hear(R));
        TRY(pause_for(R, start));
    }
done:
    R->facts.waited += kryi_now() - start;
    return st;
}

kry_status kryi_ranks_exchange(kryi_ranks *R, const void *mine, size_t bytes, void *all)
{
    void *pending = NULL;

    if (R->t.gather(R->t.user, mine, bytes, all, &pending)) return kryi_ranks_break(R, "gather");
    return kryi_ranks_await(R, &pending, false);
}

kry_status kryi_ranks_probe(kryi_ranks *R, int from, bool hears, size_t *bytes)
{
    kry_status st = KRY_OK;
    const double start = kryi_now();

    for (int there = 0;;) {
        if (R->t.probe(R->t.user, from, KRY_DATA, bytes, &there))
            return kryi_ranks_break(R, "probe");
        if (there) break;
        if (hears) TRY(hear(R));
        TRY(pause_for(R, start));
    }
done:
    R->facts.waited += kryi_now() - start;
    return st;
}

kry_status kryi_ranks_receive(kryi_ranks *R, int from, void *room, size_t bytes)
{
    if (R->t.receive(R->t.user, from, KRY_DATA, room, bytes)) return kryi_ranks_break(R, "receive");
    R->taken[from]++;
    return KRY_OK;
}
