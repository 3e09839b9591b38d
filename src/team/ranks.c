/* ranks.c - comm.h between processes, runs of all ranks, and how public calls begin and end (team/ranks.h). */
#include "team/ranks.h"
#include <string.h>

/* ---- comm.h ------------------------------------------------------------------------------------ */

kry_status kry_ranks_gather(kry_ranks *R, const void *mine, size_t bytes, void *all)
{
    kry_status st = KRY_OK;

    if (R->ended) return kry_ranks_others_failed(R);
    TRY(kry_ranks_meet(R, KRY_OK, mine, bytes));
    /* All are here, and nothing can fail before the large gather. */
    if (bytes > sizeof R->all->data) return kry_ranks_exchange(R, mine, bytes, all);
    for (int r = 0; r < R->t.size; r++)
        memcpy((char *)all + (size_t)r * bytes, R->all[r].data, bytes);
done:
    return st;
}

static kry_status ranks_gather(kry_comm *comm, const void *mine, size_t bytes, void *all)
{
    return kry_ranks_gather((kry_ranks *)comm, mine, bytes, all);
}

static kry_status ranks_gather_begin(kry_comm *comm, const void *mine, size_t bytes, void *all)
{
    return kry_ranks_meet_begin((kry_ranks *)comm, mine, bytes, all);
}

static kry_status ranks_gather_end(kry_comm *comm) { return kry_ranks_meet_end((kry_ranks *)comm); }

static kry_status ranks_post(kry_comm *comm, int to, kry_message *m)
{
    kry_ranks *R = (kry_ranks *)comm;

    if (R->t.send(R->t.user, to, KRY_DATA, m->bytes, m->size, &m->pending))
        return kry_ranks_break(R, "send");
    R->posted[to]++;
    R->facts.sent += (int64_t)(m->size + m->beside);
    m->next = R->under_way, R->under_way = m;
    return KRY_OK;
}

static kry_status ranks_take(kry_comm *comm, int from, kry_message *room, kry_message **message)
{
    kry_status st = KRY_OK;
    kry_ranks *R = (kry_ranks *)comm;
    size_t bytes = 0;

    TRY(kry_ranks_probe(R, from, true, &bytes));
    CHECK(bytes == room->size, KRY_ERR_SHAPE, "%s: rank %d sends %zu bytes, and %zu are expected",
          R->call, from, bytes, room->size);
    TRY(kry_ranks_receive(R, from, room->bytes, bytes));
    *message = room;
done:
    return st;
}

static void ranks_release(kry_comm *comm, kry_message *m) { (void)comm, (void)m; }

static kry_status ranks_settle(kry_comm *comm, kry_message *m)
{
    kry_status st = KRY_OK;
    kry_ranks *R = (kry_ranks *)comm;

    TRY(kry_ranks_await(R, &m->pending, true));
    for (kry_message **at = &R->under_way; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
done:
    return st;
}

static void ranks_defer(kry_comm *comm, kry_deferred *what)
{
    kry_ranks *R = (kry_ranks *)comm;
    what->next = R->deferred;
    R->deferred = what;
}

static kry_status ranks_watch(kry_comm *comm, const atomic_uint *number, unsigned value)
{
    return kry_ranks_watch((kry_ranks *)comm, number, value);
}

const kry_comm kry_ranks_comm = { .size = 1,
                                  .apart = true,
                                  .gather = ranks_gather,
                                  .gather_begin = ranks_gather_begin,
                                  .gather_end = ranks_gather_end,
                                  .most_begun = KRY_BROUGHT,
                                  .combine = kry_ranks_combine,
                                  .post = ranks_post,
                                  .take = ranks_take,
                                  .release = ranks_release,
                                  .settle = ranks_settle,
                                  .defer = ranks_defer,
                                  .watch = ranks_watch };

/* ---- runs -------------------------------------------------------------------------------------- */

static kry_status settle_all(kry_ranks *R)
{
    kry_status st = KRY_OK;
    while (R->under_way) TRY(ranks_settle(&R->comm, R->under_way));
done:
    return st;
}

/* What this rank has of the task. */
static kry_status work(kry_ranks *R, const kry_split *split, kry_task_of_part *task, void *user)
{
    kry_device *part = R->team->part[R->t.rank];
    char why[KRY_SENTENCE];

    R->inside = true;
    R->comm.size = R->t.size;
    R->comm.run++;
    part->layout.split = split;
    kry_status st = task(user, R->t.rank);
    part->layout.split = NULL;
    snprintf(why, sizeof why, "%s", kry_last_error());
    if (kry_device_finish(part) < 0 && st >= 0)
        st = KRY_ERR_DEVICE;
    else if (st < 0)
        st = kry_fail(st, "%s", why);
    R->comm.size = 1;
    R->inside = false;
    return st;
}

kry_status kry_ranks_run(kry_ranks *R, const kry_split *split, kry_task_of_part *task, void *user)
{
    kry_status st = KRY_OK;

    if (R->inside)
        return kry_fail(KRY_ERR_ARGUMENT,
                        "called from within a call on several ranks, which has to "
                        "return first");
    kry_ranks_enter(R, "a call on all ranks", split);
    CHECK(pthread_equal(R->thread, pthread_self()), KRY_ERR_UNSUPPORTED,
          "on ranks all calls come from the thread that made the team");
    if (R->ended) TRY(kry_ranks_others_failed(R));
    if (!R->met) TRY(kry_ranks_meet(R, KRY_OK, NULL, 0));
    st = work(R, split, task, user);
    if (st >= 0) {
        const kry_status settled = settle_all(R);
        if (settled < 0) st = settled;
    }
    if (st < 0 && !R->ended) (void)kry_ranks_meet(R, st, NULL, 0);
    while (R->deferred && !R->broken) { /* else the transport may still read them */
        kry_deferred *d = R->deferred;
        R->deferred = d->next;
        d->release(d);
    }
done:
    return kry_ranks_leave(R, st);
}

/* ---- public calls ------------------------------------------------------------------------------ */

void kry_ranks_enter(kry_ranks *R, const char *call, const kry_split *split)
{
    if (!pthread_equal(R->thread, pthread_self()) || R->inside) return;
    if (R->depth++ == 0) {
        R->call = call;
        R->given = 0;
        R->met = R->others = R->ended = false;
        memset(R->posted, 0, (size_t)R->t.size * sizeof *R->posted);
        memset(R->taken, 0, (size_t)R->t.size * sizeof *R->taken);
    }
    if (split) kry_ranks_same(R, &split->mark, sizeof split->mark);
}

void kry_ranks_same(kry_ranks *R, const void *given, size_t bytes)
{
    if (!pthread_equal(R->thread, pthread_self()) || R->inside) return;
    R->given = kry_hash(R->given, given, bytes);
}

kry_status kry_ranks_leave(kry_ranks *R, kry_status mine)
{
    if (!pthread_equal(R->thread, pthread_self()))
        return kry_fail(KRY_ERR_UNSUPPORTED,
                        "on ranks all calls come from the thread that made the team");
    if (R->inside || --R->depth > 0) return mine;
    if (!R->ended && !R->broken) (void)kry_ranks_meet(R, mine, NULL, 0);
    return R->ended || R->broken ? kry_ranks_broken(R) : mine;
}
