/* opencl.c - one OpenCL device as the driver of kry_device. */
#include "device/launch.h"
#include <string.h>

static kry_status opencl_finish(kry_device *dev)
{
    if (kryi_opencl_lost) return kryi_opencl_begin();
    return kryi_cl_check(clFinish(dev->queue), "kry_device_finish", "clFinish");
}

static void opencl_release(kry_device *dev)
{
    kryi_programs_release(dev);
    kryi_tuning_release(dev);
    if (kryi_opencl_lost) return;
    if (dev->queue) clReleaseCommandQueue(dev->queue);
    if (dev->context) clReleaseContext(dev->context);
}

/* CPUs: of the memory that the driver has for it, which is the host's. */
static cl_int ask_for_large_pages(kry_device *dev, cl_mem buffer, size_t bytes)
{
    cl_int err;
    void *p = clEnqueueMapBuffer(dev->queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL,
                                 &err);
    if (err) return err;
    kryi_ask_for_large_pages(p, bytes);
    return clEnqueueUnmapMemObject(dev->queue, buffer, p, 0, NULL, NULL);
}

static cl_int opencl_create(kry_device *dev, size_t bytes, cl_mem *buffer, char **host)
{
    cl_int err;
    void *given = host ? *host : NULL;
    cl_mem_flags flags = CL_MEM_READ_WRITE | (given  ? CL_MEM_USE_HOST_PTR
                                              : host ? CL_MEM_ALLOC_HOST_PTR
                                                     : 0);

    if (kryi_opencl_lost) return CL_DEVICE_NOT_AVAILABLE;
    *buffer = clCreateBuffer(dev->context, flags, bytes, given, &err);
    if (!err && !given && bytes >= KRY_LARGE_ARRAY && !strcmp(dev->info.kind, "cpu"))
        err = ask_for_large_pages(dev, *buffer, bytes);
    if (!host || err) return err;
    *host = clEnqueueMapBuffer(dev->queue, *buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                               0, NULL, NULL, &err);
    return err;
}

static cl_int opencl_unmap(kry_device *dev, cl_mem buffer, char *host)
{
    if (kryi_opencl_lost) return CL_DEVICE_NOT_AVAILABLE;
    return clEnqueueUnmapMemObject(dev->queue, buffer, host, 0, NULL, NULL);
}

static cl_int opencl_retain(cl_mem buffer)
{
    return kryi_opencl_lost ? CL_SUCCESS : clRetainMemObject(buffer);
}

static cl_int opencl_drop(cl_mem buffer)
{
    return kryi_opencl_lost ? CL_SUCCESS : clReleaseMemObject(buffer);
}

static cl_int opencl_size(cl_mem buffer, size_t *bytes)
{
    return clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof *bytes, bytes, NULL);
}

static cl_int opencl_owners(cl_mem buffer, cl_uint *count)
{
    return clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof *count, count, NULL);
}

/* Tell of a transfer, if anybody wants to hear. The event stays the caller's as well where `kept`. */
static void tell(kry_device *dev, const char *what, cl_event event, bool kept)
{
    if (!event) return;
    if (kept) clRetainEvent(event);
    dev->trace(dev->trace_user, what, event);
}

static cl_int opencl_read(kry_device *dev, bool wait, cl_mem buffer, size_t at, size_t bytes,
                          void *to, cl_event *ended)
{
    cl_event event = NULL, *wanted = ended ? ended : dev->trace ? &event : NULL;

    if (kryi_opencl_lost) return CL_DEVICE_NOT_AVAILABLE;
    cl_int err = clEnqueueReadBuffer(dev->queue, buffer, wait, at, bytes, to, 0, NULL, wanted);
    if (!err && dev->trace) tell(dev, "read", *wanted, ended != NULL);
    return err || !ended ? err : clFlush(dev->queue);
}

static cl_int opencl_write(kry_device *dev, bool wait, const kryi_transfer *t, cl_event *ended)
{
    cl_event event = NULL, *wanted = ended ? ended : dev->trace ? &event : NULL;

    if (kryi_opencl_lost) return CL_DEVICE_NOT_AVAILABLE;
    cl_int err = clEnqueueWriteBuffer(dev->queue, t->buffer, wait, t->at, t->bytes, t->from, 0,
                                      NULL, wanted);
    if (!err && dev->trace) tell(dev, "write", *wanted, ended != NULL);
    return err || !ended ? err : clFlush(dev->queue);
}

static cl_int opencl_copy(kry_device *dev, cl_mem from, size_t from_at, cl_mem to, size_t to_at,
                          size_t bytes)
{
    cl_event event = NULL;

    if (kryi_opencl_lost) return CL_DEVICE_NOT_AVAILABLE;
    cl_int err = clEnqueueCopyBuffer(dev->queue, from, to, from_at, to_at, bytes, 0, NULL,
                                     dev->trace ? &event : NULL);
    tell(dev, "copy", event, false);
    return err;
}

static cl_int opencl_wait(kry_device *dev, cl_event event)
{
    if (kryi_opencl_lost) return CL_DEVICE_NOT_AVAILABLE;
    if (!event) return clFinish(dev->queue);
    cl_int err = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return err;
}

static void drop_event(cl_event event)
{
    if (!kryi_opencl_lost) clReleaseEvent(event);
}

static void drain_queue(cl_command_queue queue)
{
    if (!kryi_opencl_lost) clFinish(queue);
}

static void drop_queue(cl_command_queue queue)
{
    if (!kryi_opencl_lost) clReleaseCommandQueue(queue);
}

static kry_status opencl_kernel(cl_program program, const kryi_wanted *w, const char *name,
                                cl_kernel *kernel)
{
    kry_status st = KRY_OK;
    cl_int err;

    (void)w;
    *kernel = clCreateKernel(program, name, &err);
    CHECK(err == CL_SUCCESS, KRY_ERR_BUILD, "kernel '%s': %s", name, kryi_cl_error_name(err));
done:
    return st;
}

static void drop_program(cl_program program)
{
    if (!kryi_opencl_lost) clReleaseProgram(program);
}

static void drop_kernel(cl_kernel kernel)
{
    if (!kryi_opencl_lost) clReleaseKernel(kernel);
}

/* Wait for a first launch, on devices that are no GPUs. PoCL's queues go on after a kernel that its linker refused, as
 * if it had run; only its event knows. The event is released. */
static kry_status first_launch_ended(kry_device *dev, const kryi_kernel *kernel, cl_event *event)
{
    kry_status st = KRY_OK;
    cl_int status = CL_COMPLETE;

    TRY_CL(clFinish(dev->queue));
    TRY_CL(clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    CHECK(status >= 0, KRY_ERR_DEVICE,
          "kernel %s: '%s', driver %s, took it and then did not run it: %s (%d)", kernel->name,
          dev->info.name, dev->info.driver, kryi_cl_error_name(status), status);
done:
    clReleaseEvent(*event);
    *event = NULL;
    return st;
}

/* Arguments are set only when they change: setting twenty of them costs as much as a launch. */
static kry_status opencl_launch(kry_device *dev, kryi_kernel *kernel, const kryi_range *range,
                                const kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;
    const size_t local[] = { (size_t)range->size, 1 };
    const size_t global[] = { (size_t)range->groups * local[0], (size_t)range->columns };
    const cl_uint dimensions = range->columns > 1 ? 2 : 1;
    bool first = false, compiling = false, waits;
    int lock = -1;
    cl_event event = NULL;
    kryi_kernel *const wanted = kernel;

    kernel = NULL;
    TRY(kryi_kernel_take(dev, wanted, &kernel));
    first = !kernel->launched;
    /* A new buffer may get the handle of one that is gone, but not its memory. */
    unsigned generation = dev->generation;
    if (kernel->generation != generation) memset(kernel->last_size, 0, KRY_MAX_ARGS);
    kernel->generation = generation;
    for (cl_uint i = 0; i < count; i++) {
        if (kernel->last_size[i] == args[i].size && args[i].value &&
            !memcmp(kernel->last[i], args[i].value, args[i].size))
            continue;
        kernel->last_size[i] = 0; /* until the call below has succeeded */
        cl_int err = clSetKernelArg(kernel->handle, i, args[i].size, args[i].value);
        CHECK(err == CL_SUCCESS, KRY_ERR_DEVICE, "kernel %s: argument %u of %zu bytes: %s",
              kernel->name, i, args[i].size, kryi_cl_error_name(err));
        if (!args[i].value) continue; /* local memory */
        memcpy(kernel->last[i], args[i].value, args[i].size);
        kernel->last_size[i] = (unsigned char)args[i].size;
    }
    waits = first && !dev->info.gpu; /* see kryi_compiling_begin */
    if (first) kryi_first_launch_begin(dev, kernel, range->size, &lock), compiling = true;
    const double start = kryi_now();
    cl_int err = clEnqueueNDRangeKernel(dev->queue, kernel->handle, dimensions, NULL, global, local,
                                        0, NULL, dev->trace || waits ? &event : NULL);
    if (err == CL_INVALID_WORK_GROUP_SIZE) TRY(kryi_shape_shrink(dev, kernel, range->size));
    CHECK(err == CL_SUCCESS,
          err == CL_MEM_OBJECT_ALLOCATION_FAILURE ? KRY_ERR_MEMORY : KRY_ERR_DEVICE,
          "kernel %s: launch of %zu groups of %zu failed with %s (%d)", kernel->name,
          (size_t)(range->groups * range->columns), local[0], kryi_cl_error_name(err), err);
    if (dev->trace && waits) clRetainEvent(event);
    if (dev->trace) dev->trace(dev->trace_user, kernel->name, event);
    if (waits) TRY(first_launch_ended(dev, kernel, &event));
    if (waits && !kernel->persistent) kryi_compiling_count(dev, start);
    kernel->launched = true;
done:
    if (compiling) kryi_first_launch_end(dev, kernel, range->size, lock);
    kryi_kernel_give_back(kernel);
    return st;
}

const kryi_driver kryi_opencl_driver = { .finish = opencl_finish,
                                         .release = opencl_release,
                                         .create = opencl_create,
                                         .unmap = opencl_unmap,
                                         .retain = opencl_retain,
                                         .drop = opencl_drop,
                                         .size = opencl_size,
                                         .owners = opencl_owners,
                                         .read = opencl_read,
                                         .write = opencl_write,
                                         .copy = opencl_copy,
                                         .wait = opencl_wait,
                                         .drop_event = drop_event,
                                         .drain_queue = drain_queue,
                                         .drop_queue = drop_queue,
                                         .build = kryi_opencl_build,
                                         .kernel = opencl_kernel,
                                         .drop_program = drop_program,
                                         .drop_kernel = drop_kernel,
                                         .launch = opencl_launch };
