/*
 * report.c - what is kept of a run while it lasts.
 */
#include "report/report.h"
#include <kry/opencl.h>
#include <stdlib.h>

static bool keeps_times(const kry_device *dev)
{
    const cl_command_queue queue = kry_device_queue(dev);
    cl_command_queue_properties is = 0;

    return queue &&
           clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof is, &is, NULL) == CL_SUCCESS &&
           (is & CL_QUEUE_PROFILING_ENABLE);
}

/* The devices of this process, if all of them keep times. */
static kry_status begin_recorders(kry_report *r)
{
    kry_status st = KRY_OK;
    const int count = kry_team_size(r->device);
    bool all = true;

    for (int i = 0; i < count && all; i++) {
        kry_device *part = kry_team_part(r->device, i);
        all = !part || keeps_times(part);
    }
    for (int i = 0; i < count && all; i++) {
        kry_device *part = kry_team_part(r->device, i);
        if (part) TRY(kryi_recorder_begin(part, r->origin, &r->own[r->owned++]));
    }
done:
    return st;
}

kry_status kry_report_begin(kry_device *device, kry_report **report)
{
    kry_status st = KRY_OK;
    kry_report *r = NULL;

    if (report) *report = NULL;
    NOT_NULL(device);
    NOT_NULL(report);
    TRY(kryi_allocate(1, sizeof *r, &r));
    r->device = kry_device_retain(device);
    r->origin = kryi_clock();
    r->compiled[0] = kry_device_compile_seconds(device, NULL);
    TRY(begin_recorders(r));
    *report = r;
    r = NULL;
done:
    kry_report_release(&r);
    return st;
}

void kry_report_enter(kry_report *r, kry_report_part part)
{
    if (!r || r->over || part < r->part || part >= KRY_REPORT_PARTS) return;
    for (int next = (int)r->part + 1; next <= (int)part; next++) { /* those between take no time */
        r->begun[next] = kryi_clock() - r->origin;
        r->compiled[next] = kry_device_compile_seconds(r->device, NULL);
    }
    r->part = part;
    if (part == KRY_REPORT_SOLVE) kry_team_rank_facts(r->device, &r->before);
    for (int i = 0; i < r->owned; i++) kryi_recorder_enter(r->own[i], part);
}

int kry_report_monitor(void *report, const kry_iteration *it)
{
    kry_report *r = report;

    if (r && it) kryi_track_add(&r->track, it->iteration, it->residual);
    return 0;
}

kry_status kry_report_end(kry_report *r)
{
    kry_status st = KRY_OK;

    CHECK(r, KRY_ERR_ARGUMENT, "kry_report_end: report is NULL");
    if (r->over) goto done;
    r->over = true;
    r->ended = kryi_clock() - r->origin;
    for (int next = (int)r->part + 1; next <= KRY_REPORT_PARTS; next++)
        r->compiled[next] = kry_device_compile_seconds(r->device, NULL);
    kry_team_rank_facts(r->device, &r->after);
    for (int i = 0; i < r->owned; i++) TRY(kryi_recorder_end(r->own[i]));
done:
    return st;
}

void kry_report_release(kry_report **report)
{
    if (!report || !*report) return;
    for (int i = 0; i < (*report)->owned; i++) kryi_recorder_release(&(*report)->own[i]);
    kry_device_release(&(*report)->device);
    free(*report);
    *report = NULL;
}

double kryi_report_seconds(const kry_report *r, kry_report_part part)
{
    if (part > r->part) return 0;
    return (part < r->part ? r->begun[part + 1] : r->ended) - r->begun[part] -
           kryi_report_compiling(r, part);
}

double kryi_report_compiling(const kry_report *r, kry_report_part part)
{
    return part > r->part ? 0 : r->compiled[part + 1] - r->compiled[part];
}
