/*
 * look.h - what is kept of a run while it lasts, for its page: times of its devices, residuals.
 */
#ifndef KRY_LOOK_ON_H
#define KRY_LOOK_ON_H

#include "history.h"
#include "profile.h"

enum { LOOK_PARTS = 64 };

typedef struct look {
    profile *part[LOOK_PARTS]; /* of each device; owned */
    int parts;                 /* 0: the host device, which keeps no times */
    track track;
    double origin, begun[PROFILE_PHASES], ended; /* seconds, as a profile's */
} look;

kry_status look_begin(kry_device *device,
                      look **l);               /* in PHASE_READ; opened by profile_open_device */
void look_enter(look *l, profile_phase phase); /* NULL is fine here and below */
kry_status look_end(look *l);
void look_release(look **l);

double look_seconds(const look *l, profile_phase phase);

#endif
