/*
 * progress.h - one line on the terminal that shows how far a solve has come.
 */
#ifndef KRY_PROGRESS_H
#define KRY_PROGRESS_H

#include <kry/kry.h>

enum { PROGRESS_SAMPLES = 256 };

typedef struct progress {
    double last_shown; /* seconds into the solve */
    bool on_screen;
    int count, every; /* samples kept; one is taken at every `every`-th look */
    int64_t looks;
    double log_residual[PROGRESS_SAMPLES];
    int64_t iteration[PROGRESS_SAMPLES];
} progress;

bool progress_wanted(void);                                /* is stderr a terminal? */
int progress_monitor(void *user, const kry_iteration *it); /* a kry_monitor; user: progress */
void progress_erase(progress *p);

/* Iterations still to go, the residual falling on as it did in the second half so far; -1 if it
 * hardly falls. */
double progress_remaining(const progress *p, const kry_iteration *it);

#endif
