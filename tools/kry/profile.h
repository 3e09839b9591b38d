/*
 * profile.h - where the time of a device goes: its kernels and transfers by OpenCL's profiling events, in parts of a
 * run, along the time, and one by one at the beginning and the end of a solve.
 */
#ifndef KRY_PROFILE_H
#define KRY_PROFILE_H

#include "common.h"

/* Open a device as kry_device_open does, but so that its queues keep times; several as one, too. Sums keep their
 * order. The host device has no events, and is opened as it is. */
kry_status profile_open_device(const char *spec, kry_device **device);

typedef enum profile_phase {
    PHASE_READ,
    PHASE_MATRIX,
    PHASE_SETUP,
    PHASE_SOLVE,
    PROFILE_PHASES
} profile_phase;

enum { PROFILE_KERNELS = 64, PROFILE_BINS = 240, PROFILE_DETAIL = 300, PROFILE_WAITING = 16384 };

typedef struct profile_kernel {
    char name[48];
    bool transfer; /* between host and device, or a copy on it */
    int64_t calls[PROFILE_PHASES];
    double seconds[PROFILE_PHASES];
} profile_kernel;

/* Seconds since the profile began, on the host's clock. */
typedef struct profile_event {
    int kernel;
    double begin, end;
} profile_event;

/* Of one device. */
typedef struct profile {
    kry_device *device; /* borrowed */
    double origin;      /* now() when it began */
    double shift;       /* of the device's clock to seconds since then */
    bool shifted;
    cl_int error; /* the first one */
    profile_phase phase;
    double begun[PROFILE_PHASES], ended;    /* seconds; an entered phase lasts until the next one */
    profile_kernel kernel[PROFILE_KERNELS]; /* the last one, if there are so many: "others" */
    int kernels;
    double bin_seconds;                        /* bin i is the time from i bin_seconds on: */
    float busy[PROFILE_BINS][PROFILE_KERNELS]; /* seconds of each kernel in it */
    profile_event first[PROFILE_DETAIL];       /* of the solve, */
    profile_event last[PROFILE_DETAIL];        /* number k of it at k % PROFILE_DETAIL, */
    int64_t events;                            /* of so many */
    struct {
        int kernel;
        profile_phase phase;
        double enqueued; /* seconds */
        cl_event event;
    } waiting[PROFILE_WAITING]; /* a ring */
    int64_t taken, pushed;
} profile;

/* Begin, in PHASE_READ: all kernels of the device are traced until profile_end. */
kry_status profile_begin(kry_device *device, profile **p);
void profile_enter(profile *p, profile_phase phase); /* NULL is fine here and below */
/* Wait for what is under way; nothing more is traced. Returns  KRY_ERR_DEVICE if times could not be had. */
kry_status profile_end(profile *p);
void profile_release(profile **p); /* once it has ended */

double profile_phase_seconds(const profile *p, profile_phase phase);
/* Of kernels, or of transfers, in a phase. */
double profile_busy(const profile *p, profile_phase phase, bool transfers);

#endif
