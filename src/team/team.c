/* team.c - making a team of devices: what it has together, and how fast its parts are. */
#include "team/team.h"
#include "host/host.h"
#include "team/ranks.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kry_team_size(const kry_device *dev) { return dev && dev->team ? dev->team->size : 1; }

kry_device *kry_team_part(const kry_device *dev, int i)
{
    if (!dev || !dev->team) return i == 0 ? (kry_device *)dev : NULL;
    return i >= 0 && i < dev->team->size ? dev->team->part[i] : NULL;
}

double kry_device_compile_seconds(const kry_device *device, int64_t *programs)
{
    int64_t longest = 0, most = 0;

    for (int i = 0; i < kry_team_size(device); i++) {
        kry_device *part = kry_team_part(device, i);
        if (!part) continue;
        const int64_t ns = atomic_load(&part->compile_ns), count = atomic_load(&part->compiled);
        if (ns > longest) longest = ns;
        if (count > most) most = count;
    }
    if (programs) *programs = most;
    return 1e-9 * (double)longest;
}

double kryi_work_clock(const kry_device *dev)
{
    return kryi_now() - kry_device_compile_seconds(dev, NULL);
}

kryi_stopwatch kryi_stopwatch_begin(const kry_device *dev)
{
    kryi_stopwatch w = { .device = dev, .start = kryi_now() };

    w.compile_seconds = kry_device_compile_seconds(dev, &w.programs);
    return w;
}

kryi_spent kryi_stopwatch_end(const kryi_stopwatch *w)
{
    int64_t programs;
    const double all = kryi_now() - w->start,
                 compiling = kry_device_compile_seconds(w->device, &programs) - w->compile_seconds;

    return (kryi_spent){ compiling < all ? all - compiling : 0, compiling, programs - w->programs };
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The best of a few times; the arrays exceed the caches of most CPUs. */
kry_status kryi_team_measure(kry_device *dev, double *speed)
{
    enum { BYTES = 1 << 25, TIMES = 3 };
    kry_status st = KRY_OK;
    cl_mem x = NULL, y = NULL;
    /* Most solves want these kernels, too. */
    const kry_type type = kryi_acc_type(dev);
    const int64_t n = BYTES / (int64_t)kry_type_size(type), first = 0;

    *speed = 0;
    TRY(kryi_buffer_create(dev, BYTES, &x));
    TRY(kryi_buffer_create(dev, BYTES, &y));
    const kry_arg args[] = { ARG(n), ARG(x), ARG(first), ARG(y), ARG(first) };
    for (int i = 0; i <= TIMES; i++) { /* the first one compiles */
        TRY(kry_device_finish(dev));
        double start = kryi_now();
        TRY(kryi_run(dev, "vec", type, "", "vec_copy", kryi_groups_for(dev, type, n), args,
                     COUNT(args)));
        TRY(kry_device_finish(dev));
        double now = 2.0 * BYTES / (kryi_now() - start);
        if (i && now > *speed) *speed = now;
    }
done:
    kryi_buffer_release(dev, &y);
    kryi_buffer_release(dev, &x);
    return st;
}

/* Measure a sum over all parts: each reads a partial sum, they add up, each writes the total. */
static kry_status time_sums(void *user, int rank)
{
    enum { TIMES = 20 };
    struct kryi_team *team = user;
    kry_status st = KRY_OK;
    kry_device *dev = team->part[rank];
    cl_mem partial = NULL;
    double start = 0, sum = 0;

    TRY(kryi_buffer_create(dev, sizeof sum, &partial));
    TRY(kryi_buffer_write(dev, partial, 0, sizeof sum, &sum));
    for (int i = 0; i <= TIMES; i++) {
        if (i == 1) start = kryi_now();
        TRY(kryi_buffer_read(dev, partial, 0, sizeof sum, &sum));
        TRY(kryi_layout_combine(&dev->layout, KRY_ADD, &sum, 1));
        TRY(kryi_buffer_write_later(dev, partial, 0, sizeof sum, &sum));
    }
    if (rank == 0) team->sum_seconds = (kryi_now() - start) / TIMES;
    TRY(kry_device_finish(dev));
done:
    kryi_buffer_release(dev, &partial);
    return st;
}

static bool alike(const struct kryi_team *team)
{
    const kry_device_info *a = &team->part[0]->info;
    for (int i = 1; i < team->size; i++) {
        const kry_device_info *b = &team->part[i]->info;
        if (strcmp(a->name, b->name) || a->compute_units != b->compute_units) return false;
    }
    return true;
}

/* Devices of one kind count as equally fast, whatever a measurement would say. */
static kry_status take_shares(struct kryi_team *team, const double *shares)
{
    kry_status st = KRY_OK;
    bool equal = alike(team);
    double sum = 0, first;

    for (int i = 0; i < team->size; i++)
        CHECK(!shares || (shares[i] > 0 && shares[i] < 1e30), KRY_ERR_ARGUMENT,
              "kry_team_create: the share of part %d is %g", i, shares[i]);
    TRY(kryi_team_measure(team->part[0], &first));
    for (int i = 0; i < team->size; i++) {
        team->share[i] = first;
        if (!equal && i > 0 && !shares) TRY(kryi_team_measure(team->part[i], &team->share[i]));
        sum += shares ? shares[i] : 0;
    }
    for (int i = 0; shares && i < team->size; i++)
        team->share[i] = first * team->size * shares[i] / sum;
done:
    return st;
}

/* ---- making one --------------------------------------------------------------------------- */

static kry_status check_parts(kry_device *const *parts, int count)
{
    kry_status st = KRY_OK;

    CHECK(parts && count >= 1 && count <= KRY_TEAM_MOST, KRY_ERR_ARGUMENT,
          "kry_team_create: %d devices, not 1 to %d", count, (int)KRY_TEAM_MOST);
    for (int i = 0; i < count; i++) {
        CHECK(parts[i], KRY_ERR_ARGUMENT, "kry_team_create: device %d is NULL", i);
        CHECK(!parts[i]->team && !parts[i]->in_team, KRY_ERR_ARGUMENT,
              "kry_team_create: device %d, '%s', is %s", i, parts[i]->info.name,
              parts[i]->team ? "a team itself" : "in a team already");
        for (int j = 0; j < i; j++)
            CHECK(parts[i] != parts[j], KRY_ERR_ARGUMENT,
                  "kry_team_create: device %d is device %d once more", i, j);
    }
done:
    return st;
}

/* Host devices of one process share out its threads, for they launch at the same time. */
static kry_status share_out_threads(struct kryi_team *team)
{
    kry_status st = KRY_OK;
    int hosts = 0;

    for (int i = 0; i < team->size; i++) hosts += kryi_device_is_host(team->part[i]);
    for (int i = 0; i < team->size && hosts > 1; i++) {
        kry_device *part = team->part[i];
        const int threads = part->info.compute_units / hosts;
        if (kryi_device_is_host(part)) TRY(kryi_host_take_threads(part, threads ? threads : 1));
    }
done:
    return st;
}

/* What the parts have together. They have double precision only if all of them do. */
static void take_info(kry_device *dev, struct kryi_team *team)
{
    kry_device_info *info = &dev->info;
    const kry_device_info *first = &team->part[0]->info;

    *info = *first;
    for (int i = 1; i < team->size; i++) {
        const kry_device_info *p = &team->part[i]->info;
        info->fp64 = info->fp64 && p->fp64;
        info->gpu = info->gpu && p->gpu;
        info->compute_units += p->compute_units;
        info->global_bytes += p->global_bytes;
    }
    if (alike(team)) {
        snprintf(info->name, sizeof info->name, "%d x %.110s", team->size, first->name);
    } else {
        size_t at = 0;
        for (int i = 0; i < team->size && at < sizeof info->name; i++)
            at += (size_t)snprintf(info->name + at, sizeof info->name - at, "%s%s", i ? " + " : "",
                                   team->part[i]->info.name);
    }
    for (int i = 0; i < team->size; i++) {
        team->part[i]->info.fp64 = info->fp64;
    }
}

kry_status kryi_team_check_hosts(const kry_device *dev)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < dev->team->size; i++) {
        const kry_device *part = dev->team->part[i];
        CHECK(!part || !kryi_device_is_host(part) || dev->info.fp64, KRY_ERR_UNSUPPORTED,
              "'%s' computes in double, and another device of the team, %s, does not",
              part->info.name, dev->info.name);
    }
done:
    return st;
}

/* Parts that are alike have the same compiler. */
static kry_status check_order(kry_device *dev, struct kryi_team *team)
{
    kry_status st = KRY_OK;
    const bool same = alike(team);
    bool unoptimised = false;

    for (int i = 0; i < team->size; i++) {
        kryi_layout *layout = &team->part[i]->layout;
        layout->reproducible = true;
        layout->unoptimised = i > 0 && same && unoptimised;
        if (i == 0 || !same) TRY(kryi_order_check(team->part[i]));
        unoptimised |= layout->unoptimised;
    }
    if (unoptimised)
        strncat(dev->info.name, ", kernels not optimised",
                sizeof dev->info.name - strlen(dev->info.name) - 1);
done:
    return st;
}

/* In reproducible teams all parts sum with groups of one size, whatever was tuned for each. */
kry_status kryi_team_take_shape(struct kryi_team *team, int i)
{
    enum { GROUP = 128 }; /* of kryi_shape_default */
    kry_status st = KRY_OK;
    const kry_device_info *info = &team->part[i]->info;
    const kry_launch_shape usual = kryi_shape_default(team->part[i]);

    if (!team->reproducible) return KRY_OK;
    CHECK(info->cpu_kernels || usual.group == GROUP, KRY_ERR_UNSUPPORTED,
          "kry_team_create: reproducible sums are over groups of %d work-items, and '%s' takes "
          "%d at most",
          (int)GROUP, info->name, info->max_group);
    team->part[i]->shape = usual;
done:
    return st;
}

/* ---- the driver ----------------------------------------------------------------------------- */

static kry_status team_finish(kry_device *dev)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < dev->team->size; i++)
        if (dev->team->part[i]) TRY(kry_device_finish(dev->team->part[i]));
done:
    return st;
}

static void team_release(kry_device *dev)
{
    struct kryi_team *team = dev->team;

    if (!team) return;
    kryi_crew_release(team);
    kryi_tuning_release(dev); /* a team has no file, but was perhaps asked for a value */
    for (int i = 0; team->part && i < team->size; i++) {
        if (!team->part[i]) continue;
        kryi_layout *layout = &team->part[i]->layout;
        free(layout->scratch);
        kryi_layout_init(layout, team->part[i]);
        team->part[i]->in_team = false;
        team->part[i]->info.fp64 = team->fp64[i];
        team->part[i]->shape = team->shape[i];
        if (kryi_device_is_host(team->part[i])) kryi_host_share_threads(team->part[i]);
        kry_device_release(&team->part[i]);
    }
    kryi_ranks_release(&team->ranks);
    free(team->shape);
    free(team->fp64);
    free(team->share);
    free(team->part);
    free(team);
}

static const kryi_driver team_driver = { .finish = team_finish, .release = team_release };

kry_status kryi_team_new(int size, const kry_team_params *params, kry_device **device)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    struct kryi_team *team;
    const size_t count = (size_t)size;

    *device = NULL;
    TRY(kryi_device_new(&team_driver, &dev));
    TRY(kryi_alloc(1, sizeof *team, &dev->team));
    team = dev->team;
    team->size = size;
    team->use_all = params->use_all;
    team->by_graph = params->by_graph;
    team->reproducible = params->reproducible;
    TRY(kryi_alloc(count, sizeof *team->part, &team->part));
    TRY(kryi_alloc(count, sizeof *team->share, &team->share));
    TRY(kryi_alloc(count, sizeof *team->fp64, &team->fp64));
    TRY(kryi_alloc(count, sizeof *team->shape, &team->shape));
    *device = dev;
    dev = NULL;
done:
    kry_device_release(&dev);
    return st;
}

kry_status kry_team_create(kry_device *const *parts, int count, const kry_team_params *params,
                           kry_device **device)
{
    kry_status st = KRY_OK;
    kry_team_params mine;
    kry_device *dev = NULL;
    bool spin = true;

    if (device) *device = NULL;
    TRY(GIVEN(device, parts));
    TAKE_PARAMS(params, mine, "kry_team_create", "KRY_TEAM");
    CHECK(!params->by_graph || !params->reproducible, KRY_ERR_ARGUMENT,
          "kry_team_create: by_graph moves rows around, and sums with them: it cannot be "
          "reproducible");
    TRY(check_parts(parts, count));
    CHECK(!params->timeout, KRY_ERR_UNSUPPORTED,
          "kry_team_create: timeout = %g is for teams of ranks (kry_team_of_transport)",
          params->timeout);
    TRY(kryi_team_new(count, params, &dev));
    struct kryi_team *team = dev->team;
    for (int i = 0; i < count; i++) {
        team->part[i] = kry_device_retain(parts[i]);
        team->fp64[i] = parts[i]->info.fp64, team->shape[i] = parts[i]->shape;
        if (parts[i]->info.cpu_kernels || !parts[i]->info.gpu)
            spin = false; /* its kernels need the cores */
    }
    TRY(share_out_threads(team));
    take_info(dev, team);
    TRY(kryi_team_check_hosts(dev));
    for (int i = 0; i < count; i++) TRY(kryi_team_take_shape(team, i));
    TRY(take_shares(team, params->shares));
    TRY(kryi_crew_create(team, spin));
    if (params->reproducible) TRY(check_order(dev, team));
    TRY(kryi_team_run(team, NULL, time_sums, team));
    assert(device);
    *device = dev;
    dev = NULL;
done:
    kry_device_release(&dev);
    return st;
}
