/* faults.c - calls that fail on request. */
#define _POSIX_C_SOURCE 200809L
#include "layer.h"
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

static struct {
    char name[64]; /* "": any */
    long k;        /* 0: none */
    cl_int error;
    bool lost;
    const char *failed; /* the first */
    long calls;         /* that counted */
} fault;

enum { MOST_WATCHED = 100000 };
static struct {
    bool on;
    long count;
    uint64_t place[MOST_WATCHED]; /* a hash of the addresses on the stack, of each call */
} watched;

void layer_watch(void)
{
    layer_lock();
    watched.on = true, watched.count = 0;
    layer_unlock();
}

long layer_earlier(long k)
{
    long same = 0;

    layer_lock();
    for (long i = 0; i < k - 1 && k <= watched.count; i++)
        same += watched.place[i] == watched.place[k - 1];
    layer_unlock();
    return same;
}

/* FNV-1a of the addresses that the functions on the stack return to. */
static uint64_t place_of_call(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);
#ifdef __GLIBC__
    void *address[64];
    const int depth = backtrace(address, (int)COUNT(address));

    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)address[i]) * UINT64_C(1099511628211);
#else
    hash += (uint64_t)watched.count;
#endif
    return hash;
}

static void watch_call(void)
{
    if (watched.on && watched.count < MOST_WATCHED)
        watched.place[watched.count++] = place_of_call();
}

void layer_fail(const char *name, long k, cl_int error, bool lost)
{
    layer_lock();
    watched.on = false;
    memset(&fault, 0, sizeof fault);
    snprintf(fault.name, sizeof fault.name, "%s", name ? name : "");
    fault.k = k, fault.error = error, fault.lost = lost;
    layer_unlock();
}

void layer_fail_as_told(const char *text)
{
    char name[64], lost[8] = "";
    long k;
    int error;
    if (sscanf(text, "%63s %ld %d %7s", name, &k, &error, lost) < 3 || k < 1 || error >= 0) {
        fprintf(stderr, "layer: KRY_LAYER_FAIL: '%s' is not CALL K ERROR\n", text);
        exit(98);
    }
    layer_fail(strcmp(name, "any") ? name : NULL, k, error, !strcmp(lost, "lost"));
}

const char *layer_failed(void)
{
    layer_lock();
    const char *name = fault.failed;
    layer_unlock();
    return name;
}

long layer_calls(void)
{
    layer_lock();
    long calls = fault.calls;
    layer_unlock();
    return calls;
}

/* A device that is lost fails all calls, whatever they are called. */
static bool is_to_fail(const char *name)
{
    if (fault.lost && fault.failed) return true;
    if (*fault.name && strcmp(fault.name, name)) return false;
    watch_call();
    return ++fault.calls == fault.k;
}

cl_int layer_enter(const char *name, int version)
{
    cl_int error = CL_SUCCESS;

    layer_lock();
    if (is_to_fail(name)) {
        error = fault.error;
        if (!fault.failed) fault.failed = name;
    } else if (version > layer_version()) {
        layer_broke("%s is of OpenCL %d.%d, the device has %d.%d", name, version / 10, version % 10,
                    layer_version() / 10, layer_version() % 10);
        error = CL_INVALID_OPERATION;
    }
    layer_unlock();
    return error;
}
