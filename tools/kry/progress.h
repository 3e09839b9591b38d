/*
 * progress.h - one line on the terminal that shows how far a solve has come.
 */
#ifndef KRY_PROGRESS_H
#define KRY_PROGRESS_H

#include <kry/kry.h>
#include <pthread.h>
#include <stdatomic.h>

enum { PROGRESS_LINE = 80 }; /* bytes of a line, which fits on a terminal of 80 columns */

typedef struct progress {
    double last_shown; /* seconds into the solve */
    bool on_screen;
    double first_log; /* of the first residual that was shown */
    bool begun;
} progress;

bool progress_wanted(void);                                /* is stderr a terminal? */
int progress_monitor(void *user, const kry_iteration *it); /* a kry_monitor; user: progress */
void progress_erase(progress *p);

/* The line: iterations, residual, target, and once a part of the way is behind it how long the rest will
 * take, the residual falling on as it did on average. */
void progress_line(const progress *p, const kry_iteration *it, char text[PROGRESS_LINE]);

/* A thread that says on the terminal how many programs a device has compiled, from the second on that compiling has taken
 * and as long as it goes on. */
typedef struct compiling {
    const kry_device *device; /* borrowed */
    pthread_t thread;
    atomic_bool stop;
    bool runs;
} compiling;

/* Begin to look; without a terminal nothing happens. It is no error if there is no thread for it. */
void compiling_begin(compiling *c, const kry_device *device);
/* End it, if it has begun, and erase the line. */
void compiling_end(compiling *c);

#endif
