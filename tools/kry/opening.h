/*
 * opening.h - a device that is opened while the program does something else: a driver takes long to start.
 */
#ifndef OPENING_H
#define OPENING_H

#include "common.h"
#include <pthread.h>

typedef struct opening {
    const char *spec; /* borrowed until the end */
    kry_device *device;
    kry_status status;
    char message[4096]; /* of a failure: the library's messages belong to threads */
    pthread_t thread;
    bool running;
} opening;

void opening_begin(opening *o, const char *spec);
/* Wait for it. Returns what kry_device_open has returned. */
kry_status opening_end(opening *o, kry_device **device);

#endif
