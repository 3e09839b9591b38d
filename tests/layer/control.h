/*
 * control.h - how a test program talks to the layer that stands before its OpenCL: the symbol
 * kry_layer_control of the library that OPENCL_LAYERS names is a function that returns this table, or
 * NULL if the loader has not begun with the layer.
 */
#ifndef KRY_LAYER_CONTROL_H
#define KRY_LAYER_CONTROL_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>

/* What is counted: enumerator, word. */
#define LAYER_KIND_LIST(X) \
    X(CONTEXTS, "context") \
    X(QUEUES, "queue")     \
    X(MEMS, "mem")         \
    X(SAMPLERS, "sampler") \
    X(PROGRAMS, "program") \
    X(KERNELS, "kernel")   \
    X(EVENTS, "event")     \
    X(DEVICES, "sub-device")

typedef enum layer_kind {
#define LAYER_KIND_ENUM(name, word) name,
    LAYER_KIND_LIST(LAYER_KIND_ENUM)
#undef LAYER_KIND_ENUM
        KINDS
} layer_kind;

typedef struct layer_control {
    /* From now on every device is this one; "": what it is. False if there is none of that name.
     * Devices and contexts made before stay what they were by chance: open them anew. */
    bool (*device)(const char *name);
    const char *(*device_name)(int i); /* NULL behind the last one */

    /* Call number k from now (1, 2, ...) fails with `error`; only calls of `name` count, all but
     * retain and release if it is NULL. lost: and so does every call after it. k = 0: nothing
     * fails. */
    void (*arm)(const char *name, long k, cl_int error, bool lost);
    const char *(*failed)(void); /* the first call that failed since; NULL: none yet */
    long (*calls)(void);         /* that would have counted, since */
    /* From now until the next arm(), keep from where in the program each call comes. */
    void (*watch)(void);
    /* Of the calls before number k that were watched last, how many came from the place of call k, by all
     * functions on the stack; 0 for every call where no stack can be read. */
    long (*earlier)(long k);

    long (*live)(layer_kind kind); /* objects that were made and not released */
    long (*broken)(void);     /* rules of the device broken so far; each was reported on stderr */
    void (*report)(FILE *to); /* what is live, and who made it */
} layer_control;

typedef const layer_control *layer_control_fn(void);

#endif
