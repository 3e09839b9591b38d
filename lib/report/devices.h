/*
 * devices.h - what each device of a team, or of ranks, did and has.
 */
#ifndef KRY_REPORT_DEVICES_H
#define KRY_REPORT_DEVICES_H

#include "report/report.h"

/* Numbers alone, which ranks send to each other. */
typedef struct device_facts {
    char name[128];
    kry_part_volume volume;
    int64_t slots; /* this and bytes_stored of kry_op_info; of a rank */
    double bytes_stored;
    bool keeps_times;
    double kernels, transfers; /* seconds in the solve */
    double waited, bytes_sent; /* of a rank, in the solve */
} device_facts;

typedef struct devices {
    device_facts *facts; /* owned: count, of the devices that have rows */
    int count, all;
    bool ranks;
    const recording *recording[DEVICES_MOST]; /* of these, or of the first one alone; borrowed */
    int recordings;                           /* 0: there are no times */
    recording *
        received; /* owned: room for those of all ranks; NULL: they are too many, or keep no times */
    recording *together; /* owned: the kernels of all of these; of no use if recordings is 0 */
} devices;

/* *d := the devices of a report that is over, and of the operator that it solved with, as far as they are in this process. To be
 * released, whatever this returns. */
kry_status kryi_devices_find(const kry_report *r, const kry_op *A, devices *d);
/* Then bring the numbers of all ranks together. Collective. */
kry_status kryi_devices_gather(const kry_report *r, devices *d);
void kryi_devices_release(devices *d);

#endif
