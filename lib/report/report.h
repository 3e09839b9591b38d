/*
 * report.h - what is kept of a run while it lasts, for its page: times of its devices, residuals.
 */
#ifndef KRY_REPORT_INTERNAL_H
#define KRY_REPORT_INTERNAL_H

#include "page/history.h"
#include "page/recording.h"
#include <kry/team.h>
#include <kry/transport.h>

enum { DEVICES_MOST = 64 }; /* of which times are kept: as many as a team has, at most */

struct kry_report {
    kry_device *device;          /* retained */
    recorder *own[DEVICES_MOST]; /* of each device in this process that keeps times; owned */
    int owned;
    track track;
    kry_report_part part;
    double origin, begun[KRY_REPORT_PARTS], ended; /* seconds, as a recording's */
    /* Seconds of compiling by then, see kry_device_compile_seconds; behind the last part, by the end */
    double compiled[KRY_REPORT_PARTS + 1];
    kry_rank_facts before, after; /* the solve */
    bool over;
};

/* Seconds of a part without those of compiling, and these. */
double kryi_report_seconds(const kry_report *r, kry_report_part part);
double kryi_report_compiling(const kry_report *r, kry_report_part part);

#endif
