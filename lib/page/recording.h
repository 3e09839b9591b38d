/*
 * recording.h - where the time of a device goes: its kernels and transfers by OpenCL's profiling events, in parts of a
 * run, along the time, and one by one at the beginning and the end of a solve.
 */
#ifndef KRY_RECORDING_H
#define KRY_RECORDING_H

#include "page/page.h"
#include <kry/opencl.h>
#include <kry/report.h>

enum { RECORDED_KERNELS = 64, RECORDED_BINS = 240, RECORDED_DETAIL = 300 };

typedef struct recorded_kernel {
    char name[48];
    bool transfer; /* between host and device, or a copy on it */
    int64_t calls[KRY_REPORT_PARTS];
    double seconds[KRY_REPORT_PARTS];
} recorded_kernel;

/* Seconds since the recording began, on the host's clock. */
typedef struct recorded_event {
    int kernel;
    double begin, end;
} recorded_event;

/* What one device did: numbers alone, which may be sent to another process. */
typedef struct recording {
    kry_report_part part;
    double begun[KRY_REPORT_PARTS], ended;    /* seconds; a part lasts until the next one */
    recorded_kernel kernel[RECORDED_KERNELS]; /* the last one, if there are so many: "others" */
    int kernels;
    double bin_seconds;                          /* bin i is the time from i bin_seconds on: */
    float busy[RECORDED_BINS][RECORDED_KERNELS]; /* seconds of each kernel in it */
    recorded_event first[RECORDED_DETAIL];       /* of the solve, */
    recorded_event last[RECORDED_DETAIL];        /* number k of it at k % RECORDED_DETAIL, */
    int64_t events;                              /* of so many */
} recording;

double kryi_recording_seconds(const recording *r, kry_report_part part);
/* Seconds in which kernels, or transfers, kept the device busy in `part`. */
double kryi_recording_busy(const recording *r, kry_report_part part, bool transfers);

/* Seconds of the kernel of this name in `part`. */
double kryi_recording_of(const recording *r, kry_report_part part, const char *kernel);
/* Add the kernels of another device, by their names; the rest of r stays. */
void kryi_recording_join(recording *r, const recording *more);

/* What makes one. */
typedef struct recorder recorder;

double kryi_clock(void); /* seconds, from a clock that only goes forward */
/* Begin, in KRY_REPORT_READ: all kernels of the device are traced until kryi_recorder_end. origin: what the clock said
 * when the run began. */
kry_status kryi_recorder_begin(kry_device *device, double origin, recorder **r);
void kryi_recorder_enter(recorder *r, kry_report_part part); /* NULL is fine here and below */
/* Wait for what is under way; nothing more is traced. Returns  KRY_ERR_DEVICE if times could not be had. */
kry_status kryi_recorder_end(recorder *r);
/* Its own, whole once it has ended. */
const recording *kryi_recorder_kept(const recorder *r);
void kryi_recorder_release(recorder **r);

#endif
