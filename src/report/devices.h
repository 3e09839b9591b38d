/*
 * devices.h - what each device of a team, or of ranks, did and has.
 */
#ifndef KRY_REPORT_DEVICES_H
#define KRY_REPORT_DEVICES_H

#include "report/report.h"

/* Numbers alone, which ranks send to each other. */
typedef struct device_facts {
    char name[128];
    int64_t rows, entries, slots; /* kry_op_info; entries < 0: not stored */
    double bytes_stored;
    int64_t received, sent;    /* words of a product */
    int64_t neighbours;        /* < 0: these three are not known */
    double kernels, transfers; /* seconds in the solve */
    double waited, bytes_sent; /* of a rank, in the solve */
} device_facts;

typedef struct devices {
    device_facts *facts; /* owned: count, of the devices that have rows */
    int count, all;
    bool ranks;
    const recording *recording[KRY_TEAM_MOST]; /* of these, or of the first one alone; borrowed */
    int recordings;                            /* 0: there are no times */
    recording *received;                       /* owned: of all ranks */
    recording *together; /* owned: the kernels of all of these; NULL: no times */
} devices;

/* *d := the devices of a report that is over, and of the operator that it solved with. Collective on ranks, which all get
 * them. */
kry_status kryi_devices_find(const kry_report *r, const kry_op *A, devices *d);
void kryi_devices_release(devices *d);

#endif
