/* opencl.c - one OpenCL device as the driver of kry_device. */
#include "device/launch.h"
#include "device/tuning.h"

static kry_status opencl_finish(kry_device *dev)
{
    return kry_cl_check(clFinish(dev->queue), "kry_device_finish", "clFinish");
}

static void opencl_release(kry_device *dev)
{
    kry_programs_release(dev);
    kry_tuning_release(dev);
    if (dev->queue) clReleaseCommandQueue(dev->queue);
    if (dev->context) clReleaseContext(dev->context);
}

static cl_int opencl_create(kry_device *dev, size_t bytes, cl_mem *buffer, char **host)
{
    cl_int err;
    cl_mem_flags flags = CL_MEM_READ_WRITE | (host ? CL_MEM_ALLOC_HOST_PTR : 0);

    *buffer = clCreateBuffer(dev->context, flags, bytes, NULL, &err);
    if (!host || err) return err;
    *host = clEnqueueMapBuffer(dev->queue, *buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                               0, NULL, NULL, &err);
    return err;
}

static cl_int opencl_unmap(kry_device *dev, cl_mem buffer, char *host)
{
    return clEnqueueUnmapMemObject(dev->queue, buffer, host, 0, NULL, NULL);
}

static cl_int opencl_size(cl_mem buffer, size_t *bytes)
{
    return clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof *bytes, bytes, NULL);
}

static cl_int opencl_read(kry_device *dev, bool wait, cl_mem buffer, size_t at, size_t bytes,
                          void *to, cl_event *ended)
{
    cl_int err = clEnqueueReadBuffer(dev->queue, buffer, wait, at, bytes, to, 0, NULL, ended);
    return err || !ended ? err : clFlush(dev->queue);
}

static cl_int opencl_write(kry_device *dev, bool wait, cl_mem buffer, size_t at, size_t bytes,
                           const void *from)
{
    return clEnqueueWriteBuffer(dev->queue, buffer, wait, at, bytes, from, 0, NULL, NULL);
}

static cl_int opencl_copy(kry_device *dev, cl_mem from, size_t from_at, cl_mem to, size_t to_at,
                          size_t bytes)
{
    return clEnqueueCopyBuffer(dev->queue, from, to, from_at, to_at, bytes, 0, NULL, NULL);
}

static cl_int opencl_wait(kry_device *dev, cl_event event)
{
    if (!event) return clFinish(dev->queue);
    cl_int err = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return err;
}

const kry_driver kry_opencl_driver = { .finish = opencl_finish,
                                       .release = opencl_release,
                                       .create = opencl_create,
                                       .unmap = opencl_unmap,
                                       .retain = clRetainMemObject,
                                       .drop = clReleaseMemObject,
                                       .size = opencl_size,
                                       .read = opencl_read,
                                       .write = opencl_write,
                                       .copy = opencl_copy,
                                       .wait = opencl_wait };
