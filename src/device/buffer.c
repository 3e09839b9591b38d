/* buffer.c - memory of a device. */
#include "base/hooks.h"
#include "device/device.h"

/* Drivers that allocate lazily accept a buffer that they cannot hold: write one byte and wait,
 * so that a full device says so here and not in the middle of a solve. */
static kry_status touch(kry_device *dev, cl_mem buffer, size_t bytes)
{
    enum { SMALL = 1 << 20 }; /* below it, waiting costs more than a late error */
    const char zero = 0;
    if (bytes < SMALL) return KRY_OK;
    return kry_cl_check(
        clEnqueueWriteBuffer(dev->queue, buffer, CL_TRUE, bytes - 1, 1, &zero, 0, NULL, NULL),
        "kry_buffer_create", "clEnqueueWriteBuffer");
}

kry_status kry_buffer_create(kry_device *dev, size_t bytes, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    cl_mem mem = NULL;
    cl_int err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    long long most = (long long)dev->info.max_alloc_bytes;

    *buffer = NULL;
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "this cannot be done on several devices ('%s') yet",
          dev->info.name);
    CHECK(bytes <= (size_t)most, KRY_ERR_MEMORY,
          "'%s' cannot hold a buffer of %.3f GB: its largest is %.3f GB", dev->info.name,
          1e-9 * (double)bytes, 1e-9 * (double)most);
    if (!kry_test_fails())
        mem = clCreateBuffer(dev->context, CL_MEM_READ_WRITE, bytes ? bytes : 16, NULL, &err);
    CHECK(err == CL_SUCCESS, KRY_ERR_MEMORY, "'%s' has no room for a buffer of %.6f GB: %s",
          dev->info.name, 1e-9 * (double)bytes, kry_cl_error_name(err));
    if (touch(dev, mem, bytes) < 0)
        TRY(kry_fail(KRY_ERR_MEMORY, "'%s' has no room for a buffer of %.6f GB: %s", dev->info.name,
                     1e-9 * (double)bytes, kry_last_error()));
    *buffer = mem;
    mem = NULL;
done:
    if (mem) clReleaseMemObject(mem);
    return st;
}

/* Counted first: once it is gone, the device's thread may get another buffer with the same handle. */
void kry_buffer_release(kry_device *dev, cl_mem *buffer)
{
    if (!*buffer) return;
    dev->generation++;
    if (!kry_test_keep_buffers) clReleaseMemObject(*buffer);
    *buffer = NULL;
}
