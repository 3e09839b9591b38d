/*
 * profile.c - kernels and transfers of a device, added up while they run.
 */
#include "profile.h"
#include <kry/team.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices that keep times ----------------------------------------------------------------- */

static kry_status check_cl(cl_int err, const char *call)
{
    return err == CL_SUCCESS ? KRY_OK
                             : kry_fail(KRY_ERR_DEVICE, "%s failed with error %d", call, (int)err);
}

/* The same device with a queue that keeps times. */
static kry_status with_times(const kry_device *device, kry_device **timed)
{
    kry_status st = KRY_OK;
    cl_int err;
    cl_context context = kry_device_context(device);
    cl_command_queue queue =
        clCreateCommandQueue(context, kry_device_id(device), CL_QUEUE_PROFILING_ENABLE, &err);
    TRY(check_cl(err, "clCreateCommandQueue"));
    TRY(kry_device_wrap(context, kry_device_id(device), queue, timed));
done:
    if (queue) clReleaseCommandQueue(queue);
    return st;
}

/* The options behind a team's name, as kry_device_open reads them. */
static bool has_option(const char *spec, const char *word)
{
    const char *comma = spec ? strchr(spec, ',') : NULL;
    for (size_t length = strlen(word); comma; comma = strchr(comma + 1, ','))
        if (!strncmp(comma + 1, word, length) && (!comma[length + 1] || comma[length + 1] == ','))
            return true;
    return false;
}

kry_status profile_open_device(const char *spec, kry_device **device)
{
    enum { MOST = 64 };
    kry_status st = KRY_OK;
    kry_device *plain = NULL, *part[MOST] = { NULL };
    int count = 0;

    *device = NULL;
    TRY(kry_device_open(spec, &plain));
    const bool host = !strcmp(kry_device_get_info(plain)->kind, "host"),
               team = !host && !kry_device_context(plain);
    if (!spec || !*spec) spec = getenv("KRY_DEVICE");
    if (!host && !team) TRY(with_times(plain, device));
    for (; team && count < kry_team_size(plain); count++)
        TRY(with_times(kry_team_part(plain, count), &part[count]));
    if (team)
        TRY(kry_team_create(part, count,
                            KRY_TEAM(.use_all = has_option(spec, "use-all"),
                                     .by_graph = has_option(spec, "graph"),
                                     .reproducible = has_option(spec, "reproducible")),
                            device));
    if (host) *device = kry_device_retain(plain);
done:
    for (int i = 0; i < count; i++) kry_device_release(&part[i]);
    kry_device_release(&plain);
    return st;
}

/* ---- adding up ------------------------------------------------------------------------------- */

static bool is_transfer(const char *name)
{
    return !strcmp(name, "read") || !strcmp(name, "write") || !strcmp(name, "copy");
}

static int kernel_number(profile *p, const char *name)
{
    int i = 0;

    while (i < p->kernels && strcmp(p->kernel[i].name, name)) i++;
    if (i == PROFILE_KERNELS) return PROFILE_KERNELS - 1;
    if (i < p->kernels) return i;
    const bool last = i == PROFILE_KERNELS - 1;
    snprintf(p->kernel[i].name, sizeof p->kernel[i].name, "%s", last ? "others" : name);
    p->kernel[i].transfer = !last && is_transfer(name);
    p->kernels++;
    return i;
}

/* Bins twice as long. */
static void merge_bins(profile *p)
{
    for (int i = 0; i < PROFILE_BINS / 2; i++)
        for (int k = 0; k < PROFILE_KERNELS; k++)
            p->busy[i][k] = p->busy[2 * i][k] + p->busy[2 * i + 1][k];
    memset(p->busy[PROFILE_BINS / 2], 0, sizeof p->busy / 2);
    p->bin_seconds *= 2;
}

static void note_event(profile *p, const profile_event *e, profile_phase phase)
{
    p->kernel[e->kernel].calls[phase]++;
    p->kernel[e->kernel].seconds[phase] += e->end - e->begin;
    if (phase == PHASE_SOLVE) {
        if (p->events < PROFILE_DETAIL) p->first[p->events] = *e;
        p->last[p->events++ % PROFILE_DETAIL] = *e;
    }
    while (e->end >= p->bin_seconds * PROFILE_BINS) merge_bins(p);
    for (int i = e->begin > 0 ? (int)(e->begin / p->bin_seconds) : 0; i < PROFILE_BINS; i++) {
        const double low = i * p->bin_seconds, high = low + p->bin_seconds,
                     from = e->begin > low ? e->begin : low, to = e->end < high ? e->end : high;
        if (from >= to) break;
        p->busy[i][e->kernel] += (float)(to - from);
    }
}

/* The oldest event that waits; waits for it. */
static void take_event(profile *p)
{
    const int at = (int)(p->taken++ % PROFILE_WAITING);
    cl_ulong queued = 0, from = 0, to = 0;
    cl_event event = p->waiting[at].event;
    cl_int err = clWaitForEvents(1, &event);

    if (!err && !p->shifted)
        err = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued,
                                      NULL);
    if (!err)
        err = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL);
    if (!err) err = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL);
    clReleaseEvent(event);
    if (err || to < from) {
        if (err && !p->error) p->error = err;
        return;
    }
    if (!p->shifted) p->shift = p->waiting[at].enqueued - (double)queued * 1e-9;
    p->shifted = true;
    note_event(p,
               &(profile_event){ p->waiting[at].kernel, (double)from * 1e-9 + p->shift,
                                 (double)to * 1e-9 + p->shift },
               p->waiting[at].phase);
}

/* Asking for times takes microseconds each, in which a device may run out of work: so it is put off for as long as
 * there is room. */
static void see(void *user, const char *kernel, cl_event event)
{
    profile *p = user;

    if (p->pushed - p->taken == PROFILE_WAITING)
        for (int i = 0; i < PROFILE_WAITING / 2; i++) take_event(p);
    const int at = (int)(p->pushed++ % PROFILE_WAITING);
    p->waiting[at].kernel = kernel_number(p, kernel);
    p->waiting[at].phase = p->phase;
    p->waiting[at].enqueued = now() - p->origin;
    p->waiting[at].event = event;
}

/* ---- a profile ------------------------------------------------------------------------------- */

kry_status profile_begin(kry_device *device, profile **p)
{
    kry_status st = KRY_OK;

    TRY(allocate(1, sizeof **p, p));
    (*p)->device = device;
    (*p)->origin = now();
    (*p)->bin_seconds = 1e-5;
    kry_device_set_trace(device, see, *p);
done:
    return st;
}

void profile_enter(profile *p, profile_phase phase)
{
    if (!p) return;
    p->phase = phase;
    p->begun[phase] = now() - p->origin;
}

kry_status profile_end(profile *p)
{
    if (!p) return KRY_OK;
    while (p->taken < p->pushed) take_event(p);
    p->ended = now() - p->origin;
    kry_device_set_trace(p->device, NULL, NULL);
    return check_cl(p->error, "clGetEventProfilingInfo");
}

void profile_release(profile **p)
{
    if (!*p) return;
    for (; (*p)->taken < (*p)->pushed; (*p)->taken++)
        clReleaseEvent((*p)->waiting[(*p)->taken % PROFILE_WAITING].event);
    kry_device_set_trace((*p)->device, NULL, NULL);
    free(*p);
    *p = NULL;
}

double profile_phase_seconds(const profile *p, profile_phase phase)
{
    const double end = phase < p->phase ? p->begun[phase + 1] : p->ended;
    return phase > p->phase ? 0 : end - p->begun[phase];
}

double profile_busy(const profile *p, profile_phase phase, bool transfers)
{
    double seconds = 0;

    for (int k = 0; k < p->kernels; k++)
        if (p->kernel[k].transfer == transfers) seconds += p->kernel[k].seconds[phase];
    return seconds;
}
