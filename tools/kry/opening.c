/* opening.c - a thread that opens a device. */
#include "opening.h"
#include <stdio.h>

static void *run(void *opened)
{
    opening *o = opened;

    o->status = kry_device_open(o->spec, &o->device);
    if (o->status < 0) snprintf(o->message, sizeof o->message, "%s", kry_last_error());
    return NULL;
}

void opening_begin(opening *o, const char *spec)
{
    *o = (opening){ .spec = spec };
    o->running = !pthread_create(&o->thread, NULL, run, o);
}

kry_status opening_end(opening *o, kry_device **device)
{
    if (o->running)
        pthread_join(o->thread, NULL);
    else
        run(o); /* there was no thread to be had */
    *device = o->device;
    return o->status < 0 ? kry_fail(o->status, "%s", o->message) : o->status;
}
