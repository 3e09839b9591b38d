/*
 * layer.c - an OpenCL layer for tests: it stands between a program and its OpenCL (OPENCL_LAYERS,
 * ocl-icd 2.3.1 or newer), makes the device look like another one, lets calls fail on request, and
 * counts what is not released.
 *
 *   KRY_LAYER_DEVICE=tesla-c1060      the device (profiles.c); ",no-fp64" behind it: without double
 *   KRY_LAYER_FAIL="CALL K ERROR"     the K-th call of that name ("any") fails; " lost": all after it
 *   KRY_LAYER_REPORT=FILE             at exit, what is live and how many rules were broken; -: stderr
 *   KRY_LAYER_STRICT=1                exit status 97 if a rule of the device was broken
 *   KRY_LAYER_PROGRAMS=FOLDER         keeps options and text of what a made-up device is to build
 *
 * Test programs have control.h. Every entry point of calls.h goes through layer_enter, then to what
 * the list says, and its objects are counted.
 */
#define _POSIX_C_SOURCE 200809L
#include "layer.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cl_icd_dispatch *next;

static pthread_mutex_t lock;

void layer_lock(void) { pthread_mutex_lock(&lock); }
void layer_unlock(void) { pthread_mutex_unlock(&lock); }

/* ---- the entry points -------------------------------------------------------------------- */

#define PLAIN(name, version, via, parameters, arguments) \
    static cl_int CL_API_CALL my_##name parameters       \
    {                                                    \
        cl_int error = layer_enter(#name, version);      \
        return error ? error : via arguments;            \
    }
LAYER_PLAIN(PLAIN)

#define EVENT(name, version, via, parameters, arguments)        \
    static cl_int CL_API_CALL my_##name parameters              \
    {                                                           \
        cl_int error = layer_enter(#name, version);             \
        if (!error) error = via arguments;                      \
        if (!error && event) layer_made(EVENTS, *event, #name); \
        return error;                                           \
    }
LAYER_EVENT(EVENT)

/* Callers may leave out where the error goes. */
#define MAKES(type, kind, name, version, via, parameters, arguments) \
    static type CL_API_CALL my_##name parameters                     \
    {                                                                \
        cl_int unasked;                                              \
        if (!err) err = &unasked;                                    \
        if ((*err = layer_enter(#name, version))) return NULL;       \
        type made = via arguments;                                   \
        if (made && !*err) layer_made(kind, made, #name);            \
        return made;                                                 \
    }
LAYER_MAKES(MAKES)

#define MAPS(name, version, parameters, arguments)             \
    static void *CL_API_CALL my_##name parameters              \
    {                                                          \
        cl_int unasked;                                        \
        if (!err) err = &unasked;                              \
        if ((*err = layer_enter(#name, version))) return NULL; \
        void *mapped = next->name arguments;                   \
        if (!*err && event) layer_made(EVENTS, *event, #name); \
        return mapped;                                         \
    }
LAYER_MAPS(MAPS)

/* A release never fails: a program could do nothing about it. */
#define KEEPS(type, kind, noun)                          \
    static cl_int CL_API_CALL my_clRetain##noun(type o)  \
    {                                                    \
        cl_int error = next->clRetain##noun(o);          \
        if (!error) layer_retained(kind, o);             \
        return error;                                    \
    }                                                    \
    static cl_int CL_API_CALL my_clRelease##noun(type o) \
    {                                                    \
        layer_released(kind, o);                         \
        return next->clRelease##noun(o);                 \
    }
LAYER_KEEPS(KEEPS)

static cl_int CL_API_CALL my_clCreateKernelsInProgram(cl_program p, cl_uint most, cl_kernel *kernel,
                                                      cl_uint *count)
{
    cl_uint made = 0;
    cl_int error = layer_enter("clCreateKernelsInProgram", 10);
    if (!error) error = next->clCreateKernelsInProgram(p, most, kernel, &made);
    for (cl_uint i = 0; !error && kernel && i < made; i++)
        layer_made(KERNELS, kernel[i], "clCreateKernelsInProgram");
    if (count) *count = made;
    return error;
}

static cl_int CL_API_CALL my_clCreateSubDevices(cl_device_id d,
                                                const cl_device_partition_property *how,
                                                cl_uint most, cl_device_id *id, cl_uint *count)
{
    cl_uint made = 0;
    cl_int error = layer_enter("clCreateSubDevices", 12);
    if (!error) error = next->clCreateSubDevices(d, how, most, id, &made);
    for (cl_uint i = 0; !error && id && i < made && i < most; i++)
        layer_made(DEVICES, id[i], "clCreateSubDevices");
    if (count) *count = made;
    return error;
}

/* Where it fails as well nothing is under way afterwards, as on a device that is lost: what commands read
 * from memory of the host may be released. */
static cl_int CL_API_CALL my_clFinish(cl_command_queue q)
{
    cl_int told = layer_enter("clFinish", 10), error = next->clFinish(q);
    return told ? told : error;
}

/* Devices that are not cut out of others are nobody's. */
static cl_int CL_API_CALL my_clRetainDevice(cl_device_id d)
{
    cl_int error = next->clRetainDevice(d);
    if (!error) layer_retained(DEVICES, d);
    return error;
}

static cl_int CL_API_CALL my_clReleaseDevice(cl_device_id d)
{
    layer_released(DEVICES, d);
    return next->clReleaseDevice(d);
}

/* ---- what the loader calls --------------------------------------------------------------- */

static void install(cl_icd_dispatch *table)
{
#define PUT_PLAIN(name, version, via, parameters, arguments)             table->name = my_##name;
#define PUT_MAKES(type, kind, name, version, via, parameters, arguments) table->name = my_##name;
#define PUT_MAPS(name, version, parameters, arguments)                   table->name = my_##name;
#define PUT_KEEPS(type, kind, noun)            \
    table->clRetain##noun = my_clRetain##noun; \
    table->clRelease##noun = my_clRelease##noun;
#define PUT_OTHERS(name, version) table->name = my_##name;
    LAYER_PLAIN(PUT_PLAIN)
    LAYER_EVENT(PUT_PLAIN)
    LAYER_MAKES(PUT_MAKES)
    LAYER_MAPS(PUT_MAPS)
    LAYER_KEEPS(PUT_KEEPS)
    LAYER_OTHERS(PUT_OTHERS)
}

static void at_exit(void)
{
    const char *file = getenv("KRY_LAYER_REPORT"), *strict = getenv("KRY_LAYER_STRICT");
    FILE *to = !file || !*file ? NULL : strcmp(file, "-") ? fopen(file, "w") : stderr;

    if (to) layer_report(to);
    if (to && to != stderr) fclose(to);
    if (strict && *strict && layer_broken()) {
        fflush(NULL);
        _exit(97);
    }
}

static cl_int answer_to(const void *answer, size_t bytes, size_t size, void *value, size_t *got)
{
    if (got) *got = bytes;
    if (value && size < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, answer, bytes);
    return CL_SUCCESS;
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED cl_int CL_API_CALL clGetLayerInfo(ASKS_(cl_layer_info what))
{
    static const char name[] = "kry's tests";
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

    if (what == CL_LAYER_NAME) return answer_to(name, sizeof name, size, value, got);
    if (what == CL_LAYER_API_VERSION) return answer_to(&version, sizeof version, size, value, got);
    return CL_INVALID_VALUE;
}

EXPORTED cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                        cl_uint *count, const cl_icd_dispatch **table)
{
    static cl_icd_dispatch mine;
    const char *device = getenv("KRY_LAYER_DEVICE"), *fail = getenv("KRY_LAYER_FAIL");
    pthread_mutexattr_t again;

    if (!target || !count || !table || entries < sizeof mine / sizeof mine.clGetPlatformIDs)
        return CL_INVALID_VALUE;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &again);
    pthread_mutexattr_destroy(&again);
    next = target;
    mine = *target;
    install(&mine);
    if (device && !layer_device(device)) {
        fprintf(stderr, "layer: KRY_LAYER_DEVICE: there is no '%s', but:", device);
        for (int i = 0; layer_device_name(i); i++) fprintf(stderr, " %s", layer_device_name(i));
        fprintf(stderr, "\n");
        _exit(98); /* nothing that runs now would be what was asked for */
    }
    if (fail && *fail) layer_fail_as_told(fail);
    atexit(at_exit);
    *table = &mine;
    *count = sizeof mine / sizeof mine.clGetPlatformIDs;
    return CL_SUCCESS;
}

EXPORTED const layer_control *kry_layer_control(void);
const layer_control *kry_layer_control(void)
{
    static const layer_control control = {
        .device = layer_device,
        .device_name = layer_device_name,
        .arm = layer_fail,
        .failed = layer_failed,
        .calls = layer_calls,
        .watch = layer_watch,
        .earlier = layer_earlier,
        .live = layer_live,
        .broken = layer_broken,
        .report = layer_report,
    };
    return next ? &control : NULL; /* a loader that knows no layers has not begun with it */
}
