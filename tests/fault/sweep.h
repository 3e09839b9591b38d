/*
 * sweep.h - for tests in which the k-th OpenCL call of a sequence fails, for a sample of k, with KRY_FULL for
 * the first two calls from each place in the program: the call says so, hands out nothing, leaves nothing behind and
 * nothing changed, and the same device does the next thing. Or the device is lost with call k:
 * then everything comes to its end, soon, with an error.
 */
#ifndef KRY_TEST_SWEEP_H
#define KRY_TEST_SWEEP_H

#include "layered.h"
#include <kry/stencil.h>
#include <unistd.h>

/* Poison, so that an output that is not set to NULL shows. */
#define POISONED(type) ((type *)(uintptr_t)0x10)

/* One sequence of calls, from setting up to letting go. */
typedef struct scene {
    const char *name; /* what it is; of solvers the words of kry_solver_create */
    kry_status (*run)(kry_device *dev, const struct scene *s, bool *good);
    kry_type type;
    kry_format format; /* of a stored matrix */
    kry_form form;
    bool grid, on_host; /* an operator on a grid; kept on the host */
    int kind;           /* the test's own */
} scene;

/* The first call that failed since arm(). */
static const char *kept;

static void arm(long k, cl_int error, bool lost)
{
    layer()->arm(NULL, k, error, lost);
    kept = NULL;
}

static const char *failed_call(void) { return kept ? kept : layer()->failed(); }

static void disarm(void)
{
    kept = failed_call();
    layer()->arm(NULL, 0, CL_SUCCESS, false);
}

/* What went wrong besides the call: counted, and told at once. */
static int complaints;
static bool lost; /* the device, so nothing can be looked at */
static const scene *on_stage;
static long at_call;

static void complain(const char *what)
{
    const char *failed = failed_call();
    if (complaints++ < 40)
        print_error("%s, call %ld (%s): %s; last error: %s\n", on_stage->name, at_call,
                    failed ? failed : "none", what, kry_last_error());
}

/* A step that fails has set its output to NULL; a step behind it does not happen. */
#define STEP(call, output)                                              \
    do {                                                                \
        (output) = (void *)POISONED(char);                              \
        st = (call);                                                    \
        if (st < 0 && (output)) complain(#call " hands something out"); \
        if (st < 0) (output) = NULL;                                    \
        if (st < 0) goto done;                                          \
    } while (0)

/* For main(): what hangs is killed, and so fails. */
static void limit_time(void) { alarm(getenv("KRY_FULL") ? 7000 : 1200); }

/* ---- one call fails ---------------------------------------------------------------------- */

static const cl_int errors[] = { CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                                 CL_OUT_OF_HOST_MEMORY, CL_INVALID_COMMAND_QUEUE };

/* The calls that fail: about `samples` of them from a random one on; with KRY_FULL the first two from each place, and
 * about `samples` of the others. */
typedef struct sample {
    long first, stride, calls;
    bool by_place;
} sample;

static long first_call(const sample *of) { return of->by_place ? 1 : of->first; }

static long next_call(const sample *of, long k)
{
    if (!of->by_place) return k + of->stride;
    do k++;
    while (k <= of->calls && layer()->earlier(k) >= 2 && k % of->stride != of->first % of->stride);
    return k;
}

static sample sample_of(const scene *s, long calls, long samples)
{
    sample of = { .stride = calls / samples + 1, .calls = calls, .by_place = getenv("KRY_FULL") };
    long fail = 0;
    of.first = 1 + random_below(of.stride);
    for (long k = first_call(&of); k <= calls; k = next_call(&of, k)) fail++;
    print_message("# %s: of %ld calls %ld fail, every %ld-th from %ld on%s\n", s->name, calls, fail,
                  of.stride, of.first, of.by_place ? " and two from each place" : "");
    return of;
}

/* How many calls it makes, once everything is compiled; -1: the device cannot do it. */
static long calls_of(kry_device *dev, const scene *s)
{
    bool good = false;
    on_stage = s, at_call = 0;
    kry_status st = s->run(dev, s, &good);
    if (st == KRY_ERR_UNSUPPORTED) return -1;
    if (st < 0 || !good) complain("it does not even work");
    arm(0, CL_SUCCESS, false);
    layer()->watch();
    (void)s->run(dev, s, &good);
    return layer()->calls();
}

static void count_live(long live[KINDS])
{
    for (int k = 0; k < KINDS; k++) live[k] = layer()->live((layer_kind)k);
}

/* Programs and their kernels stay with a device that goes on. */
static void check_live(const long before[KINDS], bool programs_stay)
{
    long now[KINDS];
    char what[80];
    count_live(now);
    for (int k = 0; k < KINDS; k++) {
        bool stays = programs_stay && (k == PROGRAMS || k == KERNELS);
        if (now[k] == before[k] || (stays && now[k] > before[k])) continue;
        snprintf(what, sizeof what, "%ld of kind %d are live, %ld were", now[k], k, before[k]);
        complain(what);
        if (complaints == 1) layer()->report(stderr);
    }
}

/* The message names the call, or the error, or CLBlast's of its own. */
static void check_message(cl_int error)
{
    const char *said = kry_last_error(), *failed = failed_call();
    if (!strstr(said, cl_error_name(error)) && !(failed && strstr(said, failed)) &&
        !strstr(said, "CLBlast returned an error of its own"))
        complain("the message names neither the call nor its error");
}

/* Call k of the scene fails; false: there are not as many. */
static bool fails_cleanly(kry_device *dev, const scene *s, long k)
{
    const cl_int error = errors[k % (long)COUNT(errors)];
    long before[KINDS];
    bool good = false;
    int refs = device_references(dev);

    on_stage = s, at_call = k;
    count_live(before);
    arm(k, error, false);
    kry_status st = s->run(dev, s, &good);
    bool reached = failed_call() != NULL;
    if (st < 0 && !reached) complain("it failed by itself");
    if (st < 0 && reached) check_message(error);
    if (st >= 0 && !good) complain("it went on, but the result is wrong");
    disarm();
    if (device_references(dev) != refs) complain("references to the device are left");
    check_live(before, true);
    if (!reached) return false;
    good = false;
    arm(0, CL_SUCCESS, false);
    st = s->run(dev, s, &good); /* the next thing on the same device */
    if (st < 0 || !good) complain("the device does not go on");
    return true;
}

static void sweep(kry_device *dev, const scene *s)
{
    const long calls = calls_of(dev, s);
    if (calls < 0) return;
    sample of = sample_of(s, calls, 6);
    long k = first_call(&of);
    while (fails_cleanly(dev, s, k)) k = next_call(&of, k);
    assert_true(k >= calls - of.stride - calls / 10); /* tests for the end come when they come */
}

/* ---- the device is lost ------------------------------------------------------------------ */

/* The scene comes to its end with an error, soon, and gives back what it has. */
static bool loses_cleanly(kry_device *dev, const scene *s, long k)
{
    long before[KINDS];
    bool good = false;
    double start = seconds_now();

    on_stage = s, at_call = k;
    count_live(before);
    arm(k, CL_DEVICE_NOT_AVAILABLE, true);
    kry_status st = s->run(dev, s, &good);
    bool reached = failed_call() != NULL;
    if (reached && st >= 0 && !good) complain("the device is lost, and nobody says so");
    if (st < 0) check_message(CL_DEVICE_NOT_AVAILABLE);
    disarm();
    check_live(before, true);
    if (seconds_now() - start > 30) complain("it took more than 30 seconds");
    return reached;
}

static void lose(kry_device *dev, const scene *s)
{
    const long calls = calls_of(dev, s);
    if (calls < 0) return;
    sample of = sample_of(s, calls, 5);
    lost = true;
    for (long k = first_call(&of); loses_cleanly(dev, s, k);) k = next_call(&of, k);
    lost = false;
}

#endif
