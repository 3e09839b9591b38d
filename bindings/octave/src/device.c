/*
 * device.c - the device in use and its queue; work for it; waiting for that work, which Ctrl-C ends.
 */
#include "kry_mex.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static kry_device *device;
static kry_queue *queue;

/* Without a name one of OpenCL, which compiles kernels of ours. */
static kry_status open_device(const char *spec, kry_device **opened)
{
    const char *given = getenv("KRY_DEVICE");

    if (!*spec) spec = given && *given ? given : "opencl";
    return kry_device_open(spec, opened);
}

kry_status the_queue(kry_queue **q)
{
    kry_status st = KRY_OK;

    if (!queue) {
        st = open_device("", &device);
        if (st < 0) return fail_as("kry:device", st, "%s", kry_last_error());
        TRY(kry_queue_create(device, NULL, &queue));
    }
    *q = queue;
done:
    if (st < 0) kry_device_release(&device);
    return st;
}

kry_device *the_device(void) { return device; }

void device_close(void)
{
    kry_queue_release(&queue);
    kernels_forget();
    kry_device_release(&device);
}

/* ---- work ---- */

kry_status submit_owning(const char *name, job_fn *run, const void *params, size_t size,
                         void (*destroy)(void *), kry_task *const *inputs, int count,
                         kry_task **task)
{
    kry_status st = KRY_OK;
    kry_queue *q;
    void *copy = malloc(size ? size : 1);

    *task = NULL;
    CHECK(copy, KRY_ERR_MEMORY, "kry_mex: no memory for a task");
    memcpy(copy, params, size);
    TRY(the_queue(&q));
    TRY(kry_task_submit(q, KRY_JOB(.name = name, .run = run, .destroy = destroy, .user = copy),
                        inputs, count, task));
    copy = NULL;
done:
    free(copy);
    return st;
}

kry_status submit(const char *name, job_fn *run, const void *params, size_t size,
                  kry_task *const *inputs, int count, kry_task **task)
{
    return submit_owning(name, run, params, size, free, inputs, count, task);
}

/* ---- Ctrl-C ---- */

/* MATLAB has a function that tells whether Ctrl-C was pressed. Octave looks at its next statement only, so
 * the signal is caught here; if one of Octave's threads caught it first, its flag for the next statement
 * tells. */
#if defined(__GNUC__)
extern bool utIsInterruptPending(void) __attribute__((weak));
extern bool utSetInterruptPending(bool) __attribute__((weak));
#define IN_MATLAB (utIsInterruptPending != NULL)
extern sig_atomic_t octave_interrupt_state __attribute__((weak)); /* octave/quit.h: > 0: pending */
extern volatile sig_atomic_t octave_signal_caught __attribute__((weak));
#define IN_OCTAVE (&octave_interrupt_state != NULL && &octave_signal_caught != NULL)
#endif

static volatile sig_atomic_t interrupted;
static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static bool ctrl_c(void)
{
#ifdef IN_MATLAB
    if (IN_MATLAB && utIsInterruptPending()) {
        if (utSetInterruptPending) utSetInterruptPending(false);
        return true;
    }
    if (IN_OCTAVE && *(volatile sig_atomic_t *)&octave_interrupt_state > 0) {
        octave_interrupt_state = octave_signal_caught = 0;
        return true;
    }
#endif
    return interrupted;
}

static kry_status wait_in_slices(kry_task *task)
{
    kry_status st = KRY_OK;
    bool ended = false;
    double slice = 0.001;

    while (!ended && !ctrl_c()) {
        st = kry_task_wait_for(task, slice, &ended);
        slice = 0.02;
    }
    if (ended) return st;
    kry_queue_cancel(queue);
    (void)!kry_task_wait(task);
    return fail_as("kry:interrupted", KRY_ERR_CANCELLED,
                   "kry: interrupted; what was queued and not computed yet is cancelled");
}

kry_status wait_for(kry_task *task)
{
    struct sigaction ours = { .sa_handler = on_interrupt }, theirs;
    bool ended = false;
    kry_status st = kry_task_wait_for(task, 0, &ended);

    if (ended) return st;
    interrupted = 0;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGINT, &ours, &theirs);
    st = wait_in_slices(task);
    sigaction(SIGINT, &theirs, NULL);
    return st;
}

/* ---- commands ---- */

static mxArray *describe(const kry_device_info *info)
{
    static const char *const names[] = { "name", "vendor", "platform", "driver",
                                         "gpu",  "double", "units",    "bytes" };
    mxArray *s = mxCreateStructMatrix(1, 1, COUNT(names), (const char **)names);

    mxSetField(s, 0, "name", mxCreateString(info->name));
    mxSetField(s, 0, "vendor", mxCreateString(info->vendor));
    mxSetField(s, 0, "platform", mxCreateString(info->platform));
    mxSetField(s, 0, "driver", mxCreateString(info->driver));
    mxSetField(s, 0, "gpu", mxCreateLogicalScalar(info->gpu));
    mxSetField(s, 0, "double", mxCreateLogicalScalar(info->fp64));
    mxSetField(s, 0, "units", mxCreateDoubleScalar(info->compute_units));
    mxSetField(s, 0, "bytes", mxCreateDoubleScalar((double)info->global_bytes));
    return s;
}

/* kry_mex ('device') tells about it; kry_mex ('device', spec) opens another, and forgets all values
 */
kry_status command_device(call *c)
{
    kry_status st = KRY_OK;
    char spec[256];
    kry_queue *q = NULL, *new_queue = NULL;
    kry_device *opened = NULL;

    TRY(take_count(c, 0, 1));
    if (c->in_count) {
        TRY(take_text(c->in[0], "kry_device: the device", spec, sizeof spec));
        st = open_device(spec, &opened);
        if (st < 0) return fail_as("kry:device", st, "%s", kry_last_error());
        TRY(kry_queue_create(opened, NULL, &new_queue));
        values_clear();
        device_close();
        device = opened, queue = new_queue;
        opened = NULL, new_queue = NULL;
    }
    TRY(the_queue(&q));
    c->out[0] = describe(kry_device_get_info(device));
done:
    kry_queue_release(&new_queue);
    kry_device_release(&opened);
    return st;
}

/* kry_mex ('devices'): a cell array of them all */
kry_status command_devices(call *c)
{
    kry_device_info *info = NULL;
    int count = 0;
    kry_status st = kry_device_list(&info, &count);

    if (st < 0) return fail_as("kry:device", st, "%s", kry_last_error());
    c->out[0] = mxCreateCellMatrix(1, (mwSize)count);
    for (int i = 0; i < count; i++) mxSetCell(c->out[0], (mwIndex)i, describe(&info[i]));
    free(info);
    return st;
}

static kry_status run_nothing(void *params, kry_task *self)
{
    (void)params;
    (void)self;
    return KRY_OK;
}

/* kry_mex ('finish'): wait until all that was asked for is done, the device's own part too */
kry_status command_finish(call *c)
{
    kry_status st = KRY_OK;
    kry_task *last = NULL;
    kry_queue *q;

    (void)c;
    TRY(submit("finish", run_nothing, "", 0, NULL, 0, &last));
    TRY(wait_for(last));
    TRY(the_queue(&q));
    TRY(kry_queue_finish(q));
    TRY(kry_device_finish(device));
done:
    kry_task_release(&last);
    return st;
}
