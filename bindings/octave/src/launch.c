/*
 * launch.c - starts the toolbox's own kernels (kernels.h), on the queue's thread alone.
 */
#include "launch.h"
#include "kernels.h"

static cl_kernel kernels[KERNEL_COUNT][3]; /* by kry_type */

/* Marks in the device's queue, one behind each of the last few tasks. */
enum { AHEAD = 4 };
static cl_event marks[AHEAD];
static unsigned next_mark;

/* Tasks only enqueue work. If they ran far ahead of the device, Ctrl-C would have to wait for all of
 * it, and dropped results would keep their memory until then. */
kry_status keep_pace(void)
{
    kry_status st = KRY_OK;
    cl_command_queue queue = kry_device_queue(the_device());
    cl_event *mark = &marks[next_mark++ % AHEAD];
    cl_int err = CL_SUCCESS;

    if (!queue) { /* several devices as one have no queue to mark */
        if (mark == marks) TRY(kry_device_finish(the_device()));
        return st;
    }
    if (*mark) {
        err = clWaitForEvents(1, mark);
        clReleaseEvent(*mark);
        *mark = NULL;
    }
    if (!err) err = clEnqueueMarkerWithWaitList(queue, 0, NULL, mark);
    CHECK(!err, KRY_ERR_DEVICE, "gpuMatrix: OpenCL error %d in work that was queued", err);
done:
    return st;
}

void kernels_forget(void)
{
    for (int i = 0; i < AHEAD; i++) {
        if (marks[i]) clReleaseEvent(marks[i]);
        marks[i] = NULL;
    }
    for (int k = 0; k < KERNEL_COUNT; k++)
        for (int t = 0; t < 3; t++) {
            if (kernels[k][t]) clReleaseKernel(kernels[k][t]);
            kernels[k][t] = NULL;
        }
}

kry_status kernel_get(enum kernel_name which, kry_type type, cl_kernel *kernel)
{
    static const char *const names[] = { "elements",        "elements_pick",   "elements_put",
                                         "elements_reduce", "elements_finish", "elements_convert" };
    kry_status st = KRY_OK;
    bool from_double = type == KRY_F32 && kry_device_get_info(the_device())->fp64;

    if (!kernels[which][type])
        TRY(kry_device_kernel(the_device(), type, "gpuMatrix", kernel_text,
                              from_double ? "-DFROM=double" : "-DFROM=float", names[which],
                              &kernels[which][type]));
    *kernel = kernels[which][type];
done:
    return st;
}

kry_status launch(cl_kernel kernel, int64_t items, const arg *args, size_t count)
{
    kry_status st = KRY_OK;
    size_t local = 64, most = (size_t)kry_device_get_info(the_device())->compute_units * 4096;
    size_t global = ((size_t)items + local - 1) / local * local;
    cl_int err = CL_SUCCESS;

    if (global > most) global = most;
    for (size_t i = 0; i < count && !err; i++)
        err = clSetKernelArg(kernel, (cl_uint)i, args[i].size, args[i].value);
    if (!err)
        err = clEnqueueNDRangeKernel(kry_device_queue(the_device()), kernel, 1, NULL, &global,
                                     &local, 0, NULL, NULL);
    CHECK(!err, KRY_ERR_DEVICE, "gpuMatrix: OpenCL error %d at the start of a kernel", err);
done:
    return st;
}

arg acc_arg(double number, acc *room)
{
    if (kry_device_get_info(the_device())->fp64) {
        room->f64 = number;
        return (arg){ sizeof(double), &room->f64 };
    }
    room->f32 = (float)number;
    return (arg){ sizeof(float), &room->f32 };
}

kry_status buffer_of(const kry_vec *x, cl_mem *buffer, cl_long *first)
{
    kry_status st = KRY_OK;
    int64_t at;

    *buffer = kry_vec_buffer(x, &at);
    *first = at;
    CHECK(*buffer && kry_device_queue(the_device()), KRY_ERR_UNSUPPORTED,
          "gpuMatrix: arithmetic needs one OpenCL device: several as one, and the host, have "
          "products "
          "and solves only");
done:
    return st;
}
