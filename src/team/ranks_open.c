/* ranks_open.c - making a team of ranks: what they have together, and whether they agree. */
#include "team/ranks.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What the ranks tell each other of their devices. */
typedef struct portrait {
    kry_device_info info;
    double share, timeout;
    int32_t reproducible, unoptimised;
} portrait;

/* ---- calls ------------------------------------------------------------------------------------- */

static kryi_ranks *ranks_of(const kry_device *dev)
{
    return dev && dev->team ? dev->team->ranks : NULL;
}

void kryi_team_enter(const kry_device *dev, const char *call, const kryi_split *split)
{
    if (ranks_of(dev)) kryi_ranks_enter(ranks_of(dev), call, split);
}

kry_status kryi_team_leave(const kry_device *dev, kry_status mine)
{
    return ranks_of(dev) ? kryi_ranks_leave(ranks_of(dev), mine) : mine;
}

void kryi_team_same(const kry_device *dev, const void *given, size_t bytes)
{
    if (ranks_of(dev)) kryi_ranks_same(ranks_of(dev), given, bytes);
}

bool kry_team_is_ranks(const kry_device *dev) { return ranks_of(dev) != NULL; }

kry_status kryi_team_sum(const kry_device *dev, const kryi_split *split, kryi_task_of_part *task,
                         void *user)
{
    kryi_ranks *R = ranks_of(dev);
    return R->inside ? task(user, R->t.rank) : kryi_ranks_run(R, split, task, user);
}

int kry_team_rank(const kry_device *dev) { return ranks_of(dev) ? ranks_of(dev)->t.rank : 0; }

void kry_team_rank_facts(const kry_device *dev, kry_rank_facts *facts)
{
    if (facts) *facts = ranks_of(dev) ? ranks_of(dev)->facts : (kry_rank_facts){ 0 };
}

/* ---- memory and checks of one rank ------------------------------------------------------------- */

void kryi_ranks_release(kryi_ranks **ranks)
{
    kryi_ranks *R = *ranks;

    *ranks = NULL;
    if (!R) return;
    if (R->t.release) R->t.release(R->t.user);
    free(R->word);
    free(R->count);
    free(R->taken);
    free(R->posted);
    free(R->sentence);
    free(R->all);
    free(R);
}

static kry_status check_transport(const kry_transport *t)
{
    kry_status st = KRY_OK;

    CHECK(t->gather && t->send && t->test && t->probe && t->receive, KRY_ERR_ARGUMENT,
          "kry_team_of_transport: the transport lacks one of gather, send, test, probe, receive");
    CHECK(t->size >= 1 && t->rank >= 0 && t->rank < t->size, KRY_ERR_ARGUMENT,
          "kry_team_of_transport: rank %d of %d", t->rank, t->size);
    CHECK(t->size <= KRY_RANKS_MOST, KRY_ERR_UNSUPPORTED,
          "kry_team_of_transport: %d ranks, more than %d", t->size, (int)KRY_RANKS_MOST);
done:
    return st;
}

static kry_status check(const kry_transport *t, const kry_device *part,
                        const kry_team_params *params)
{
    static const char who[] = "kry_team_of_transport";
    kry_status st = KRY_OK;

    CHECK(part, KRY_ERR_ARGUMENT, "%s: device is NULL", who);
    CHECK(!params->by_graph, KRY_ERR_UNSUPPORTED,
          "%s: by_graph is for the devices of one process; rows are where their ranks bring them",
          who);
    CHECK(params->timeout >= 0, KRY_ERR_ARGUMENT, "%s: timeout = %g is negative", who,
          params->timeout);
    CHECK(!part->team && !part->in_team, KRY_ERR_ARGUMENT, "%s: '%s' is in a team already", who,
          part->info.name);
    for (int r = 0; params->shares && r < t->size; r++)
        CHECK(params->shares[r] > 0 && params->shares[r] < 1e30, KRY_ERR_ARGUMENT,
              "%s: the share of rank %d is %g", who, r, params->shares[r]);
done:
    return st;
}

static kry_status ranks_new(const kry_transport *t, double timeout, kryi_ranks **ranks)
{
    kry_status st = KRY_OK;
    kryi_ranks *R = NULL;
    const size_t n = (size_t)t->size;

    TRY(kryi_alloc(1, sizeof *R, &R));
    R->comm = kryi_ranks_comm;
    R->comm.rank = t->rank, R->comm.size = t->size;
    R->t = *t;
    R->t.release = NULL; /* the caller's, until all have agreed */
    R->thread = pthread_self();
    R->timeout = timeout;
    R->call = "kry_team_of_transport";
    TRY(kryi_alloc(n, sizeof *R->all, &R->all));
    TRY(kryi_alloc(n, KRY_SENTENCE, &R->sentence));
    TRY(kryi_alloc(n, sizeof *R->posted, &R->posted));
    TRY(kryi_alloc(n, sizeof *R->taken, &R->taken));
    TRY(kryi_alloc(n, sizeof *R->count, &R->count));
    TRY(kryi_alloc(n, sizeof *R->word, &R->word));
    *ranks = R;
    R = NULL;
done:
    kryi_ranks_release(&R);
    return st;
}

/* Everything that needs no other rank. */
static kry_status prepare(const kry_transport *t, kry_device *part, const kry_team_params *params,
                          kry_device **device)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    const int here = t->rank;

    TRY(check(t, part, params));
    TRY(kryi_team_new(t->size, params, &dev));
    struct kryi_team *team = dev->team;
    TRY(ranks_new(t, params->timeout, &team->ranks));
    team->ranks->team = team;
    team->use_all = true;
    team->fp64[here] = part->info.fp64, team->shape[here] = part->shape;
    team->part[here] = kry_device_retain(part);
    part->in_team = true;
    TRY(kryi_team_take_shape(team, here));
    if (params->reproducible) {
        part->layout.reproducible = true;
        TRY(kryi_order_check(part));
    }
    *device = dev;
    dev = NULL;
done:
    kry_device_release(&dev);
    return st;
}

/* Before there is memory for packets: whether all ranks are ready, by their statuses alone. */
static kry_status all_ready(const kry_transport *t, kry_status mine)
{
    kry_status st = mine;
    int32_t own = (int32_t)mine, all[KRY_RANKS_MOST];
    void *pending = NULL;
    int ended = 0;

    if (t->gather(t->user, &own, sizeof own, all, &pending))
        return kry_fail(KRY_ERR_DEVICE, "kry_team_of_transport: the transport failed in 'gather'");
    while (pending && !ended)
        if (t->test(t->user, &pending, &ended))
            return kry_fail(KRY_ERR_DEVICE,
                            "kry_team_of_transport: the transport failed in 'test'");
    for (int r = 0; r < t->size && mine >= 0; r++)
        CHECK(all[r] >= 0, (kry_status)all[r], "rank %d of %d: kry_team_of_transport: %s", r,
              t->size, kry_status_text((kry_status)all[r]));
done:
    return st;
}

/* ---- what they have together ------------------------------------------------------------------- */

static bool alike(const portrait *all, int size)
{
    for (int r = 1; r < size; r++)
        if (strcmp(all[0].info.name, all[r].info.name) ||
            all[0].info.compute_units != all[r].info.compute_units)
            return false;
    return true;
}

/* They have double precision only if all of them do. */
static void take_info(kry_device *dev, const portrait *all, bool same)
{
    const int size = dev->team->size;
    kry_device_info *info = &dev->info;

    *info = all[0].info;
    for (int r = 1; r < size; r++) {
        const kry_device_info *p = &all[r].info;
        info->fp64 = info->fp64 && p->fp64;
        info->gpu = info->gpu && p->gpu;
        info->compute_units += p->compute_units;
        info->global_bytes += p->global_bytes;
    }
    snprintf(info->name, sizeof info->name, "%d ranks x %.100s%s", size, all[0].info.name,
             same ? "" : " and others");
    kry_device_info *mine = &dev->team->part[dev->team->ranks->t.rank]->info;
    mine->fp64 = info->fp64;
    info->kind = mine->kind; /* an address, of this process */
}

static kry_status describe(struct kryi_team *team, const kry_team_params *params, portrait *mine)
{
    kry_status st = KRY_OK;
    const int here = team->ranks->t.rank;
    kry_device *part = team->part[here];

    *mine = (portrait){ .info = part->info,
                        .share = params->shares ? params->shares[here] : 0,
                        .timeout = params->timeout,
                        .reproducible = params->reproducible,
                        .unoptimised = part->layout.unoptimised };
    if (!params->shares) TRY(kryi_team_measure(part, &mine->share));
done:
    return st;
}

static kry_status get_acquainted(kry_device *dev, const kry_team_params *params)
{
    kry_status st = KRY_OK;
    struct kryi_team *team = dev->team;
    kryi_layout *layout = &team->part[team->ranks->t.rank]->layout;
    portrait mine, *all = NULL;

    TRY(describe(team, params, &mine));
    TRY(kryi_alloc((size_t)team->size, sizeof *all, &all));
    TRY(kryi_ranks_gather(team->ranks, &mine, sizeof mine, all));
    const bool same = alike(all, team->size);
    take_info(dev, all, same);
    TRY(kryi_team_check_hosts(dev));
    for (int r = 0; r < team->size; r++) {
        CHECK(all[r].reproducible == mine.reproducible, KRY_ERR_ARGUMENT,
              "kry_team_of_transport: reproducible on some ranks only");
        team->share[r] = same && !params->shares ? all[0].share : all[r].share;
        if (same && all[r].unoptimised) layout->unoptimised = true;
    }
done:
    free(all);
    return st;
}

kry_status kry_team_of_transport(const kry_transport *transport, kry_device *device,
                                 const kry_team_params *params, kry_device **team)
{
    static const char who[] = "kry_team_of_transport";
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    kry_transport t = { 0 }; /* with all fields of this version */
    kry_team_params mine;

    if (team) *team = NULL;
    TRY(GIVEN(transport, team));
    TRY(kryi_params_take(who, "sizeof(kry_transport)", transport, &t, sizeof t));
    TRY(check_transport(&t));
    st = kryi_params_take(who, "KRY_TEAM", params, &mine, sizeof mine);
    if (st >= 0) st = prepare(&t, device, &mine, &dev);
    TRY(all_ready(&t, st));
    assert(dev); /* prepared */
    kryi_team_enter(dev, who, NULL);
    TRY(kryi_team_leave(dev, get_acquainted(dev, &mine)));
    dev->team->ranks->t.release = t.release;
    *team = dev;
    dev = NULL;
done:
    kry_device_release(&dev);
    if (st < 0 && t.release) t.release(t.user);
    return st;
}
