/*
 * recording.c - kernels and transfers of a device, added up while they run.
 */
#include "page/recording.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAITING = 16384 };

double kryi_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct recorder {
    recording kept;
    kry_device *device; /* borrowed */
    double origin;      /* now when it began */
    double shift;       /* of the device's clock to seconds since then */
    bool shifted;
    cl_int error; /* the first one */
    struct {
        int kernel;
        kry_report_part part;
        double enqueued; /* seconds */
        cl_event event;
    } waiting[WAITING]; /* a ring */
    int64_t taken, pushed;
};

/* ---- adding up ------------------------------------------------------------------------------- */

static bool is_transfer(const char *name)
{
    return !strcmp(name, "read") || !strcmp(name, "write") || !strcmp(name, "copy");
}

static int kernel_number(recording *r, const char *name)
{
    int i = 0;

    while (i < r->kernels && strcmp(r->kernel[i].name, name)) i++;
    if (i == RECORDED_KERNELS) return RECORDED_KERNELS - 1;
    if (i < r->kernels) return i;
    const bool last = i == RECORDED_KERNELS - 1;
    snprintf(r->kernel[i].name, sizeof r->kernel[i].name, "%s", last ? "others" : name);
    r->kernel[i].transfer = !last && is_transfer(name);
    r->kernels++;
    return i;
}

static void note_event(recording *r, const recorded_event *e, kry_report_part part)
{
    r->kernel[e->kernel].calls[part]++;
    r->kernel[e->kernel].seconds[part] += e->end - e->begin;
    if (part == KRY_REPORT_SOLVE) {
        if (r->events < RECORDED_DETAIL) r->first[r->events] = *e;
        r->last[r->events++ % RECORDED_DETAIL] = *e;
    }
    /* Make bins twice as long. */
    while (e->end >= r->bin_seconds * RECORDED_BINS) {
        for (int i = 0; i < RECORDED_BINS / 2; i++)
            for (int k = 0; k < RECORDED_KERNELS; k++)
                r->busy[i][k] = r->busy[2 * i][k] + r->busy[2 * i + 1][k];
        memset(r->busy[RECORDED_BINS / 2], 0, sizeof r->busy / 2);
        r->bin_seconds *= 2;
    }
    for (int i = e->begin > 0 ? (int)(e->begin / r->bin_seconds) : 0; i < RECORDED_BINS; i++) {
        const double low = i * r->bin_seconds, high = low + r->bin_seconds,
                     from = e->begin > low ? e->begin : low, to = e->end < high ? e->end : high;
        if (from >= to) break;
        r->busy[i][e->kernel] += (float)(to - from);
    }
}

/* The oldest event that waits; waits for it. */
static void take_event(recorder *r)
{
    const int at = (int)(r->taken++ % WAITING);
    cl_ulong queued = 0, from = 0, to = 0;
    cl_event event = r->waiting[at].event;
    cl_int err = clWaitForEvents(1, &event);

    if (!err && !r->shifted)
        err = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued,
                                      NULL);
    if (!err)
        err = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL);
    if (!err) err = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL);
    clReleaseEvent(event);
    if (err || to < from) {
        if (err && !r->error) r->error = err;
        return;
    }
    if (!r->shifted) r->shift = r->waiting[at].enqueued - (double)queued * 1e-9;
    r->shifted = true;
    note_event(&r->kept,
               &(recorded_event){ r->waiting[at].kernel, (double)from * 1e-9 + r->shift,
                                  (double)to * 1e-9 + r->shift },
               r->waiting[at].part);
}

/* Asking for times takes microseconds each, in which a device may run out of work: so it is put off for as long as
 * there is room. */
static void see(void *user, const char *kernel, cl_event event)
{
    recorder *r = user;

    if (r->pushed - r->taken == WAITING)
        for (int i = 0; i < WAITING / 2; i++) take_event(r);
    const int at = (int)(r->pushed++ % WAITING);
    r->waiting[at].kernel = kernel_number(&r->kept, kernel);
    r->waiting[at].part = r->kept.part;
    r->waiting[at].enqueued = kryi_clock() - r->origin;
    r->waiting[at].event = event;
}

/* ---- a recording ----------------------------------------------------------------------------- */

kry_status kryi_recorder_begin(kry_device *device, double origin, recorder **r)
{
    kry_status st = KRY_OK;

    TRY(kryi_allocate(1, sizeof **r, r));
    (*r)->device = device;
    (*r)->origin = origin;
    (*r)->kept.bin_seconds = 1e-5;
    kry_device_set_trace(device, see, *r);
done:
    return st;
}

void kryi_recorder_enter(recorder *r, kry_report_part part)
{
    if (!r) return;
    for (int next = (int)r->kept.part + 1; next <= (int)part;
         next++) /* those between take no time */
        r->kept.begun[next] = kryi_clock() - r->origin;
    r->kept.part = part;
}

kry_status kryi_recorder_end(recorder *r)
{
    if (!r || !r->device) return KRY_OK;
    while (r->taken < r->pushed) take_event(r);
    r->kept.ended = kryi_clock() - r->origin;
    kry_device_set_trace(r->device, NULL, NULL);
    r->device = NULL;
    return r->error == CL_SUCCESS
               ? KRY_OK
               : kry_fail(KRY_ERR_DEVICE, "clGetEventProfilingInfo failed with error %d",
                          (int)r->error);
}

const recording *kryi_recorder_kept(const recorder *r) { return &r->kept; }

void kryi_recorder_release(recorder **r)
{
    if (!*r) return;
    for (; (*r)->taken < (*r)->pushed; (*r)->taken++)
        clReleaseEvent((*r)->waiting[(*r)->taken % WAITING].event);
    if ((*r)->device) kry_device_set_trace((*r)->device, NULL, NULL);
    free(*r);
    *r = NULL;
}

double kryi_recording_seconds(const recording *r, kry_report_part part)
{
    const double end = part < r->part ? r->begun[part + 1] : r->ended;
    return part > r->part ? 0 : end - r->begun[part];
}

double kryi_recording_busy(const recording *r, kry_report_part part, bool transfers)
{
    double seconds = 0;

    for (int k = 0; k < r->kernels; k++)
        if (r->kernel[k].transfer == transfers) seconds += r->kernel[k].seconds[part];
    return seconds;
}

double kryi_recording_of(const recording *r, kry_report_part part, const char *kernel)
{
    for (int k = 0; k < r->kernels; k++)
        if (!strcmp(r->kernel[k].name, kernel)) return r->kernel[k].seconds[part];
    return 0;
}

void kryi_recording_join(recording *r, const recording *more)
{
    for (int k = 0; k < more->kernels; k++) {
        recorded_kernel *to = &r->kernel[kernel_number(r, more->kernel[k].name)];
        for (int part = 0; part < KRY_REPORT_PARTS; part++) {
            to->calls[part] += more->kernel[k].calls[part];
            to->seconds[part] += more->kernel[k].seconds[part];
        }
    }
}
