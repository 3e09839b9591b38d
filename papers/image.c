/* image.c - images whose texels are single numbers. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS /* clCreateImage2D, for devices that have no other */
#include "image.h"
#include <string.h>

/* The second of each pair is for devices without the first (PoCL 3.1 has no CL_RG): every device
 * with images has it (OpenCL 1.1, table 5.8). */
kry_status texel_choose(const kry_device *device, kry_type type, cl_mem_flags flags,
                        cl_mem_object_type kind, texel *how)
{
    enum { MOST = 256 };
    static const cl_image_format single[] = { { CL_R, CL_FLOAT }, { CL_RGBA, CL_UNSIGNED_INT8 } },
                                 twofold[] = { { CL_RG, CL_UNSIGNED_INT32 },
                                               { CL_RGBA, CL_UNSIGNED_INT16 } };
    const cl_image_format *wanted = type == KRY_F32 ? single : twofold;
    cl_image_format known[MOST];
    cl_uint count = 0;
    kry_status st = paper_check(
        clGetSupportedImageFormats(kry_device_context(device), flags, kind, MOST, known, &count),
        "clGetSupportedImageFormats");

    how->bytes = true;
    for (cl_uint i = 0; st == KRY_OK && i < count && i < MOST; i++)
        if (!memcmp(&known[i], wanted, sizeof *wanted)) how->bytes = false;
    how->format = wanted[how->bytes];
    return st;
}

kry_status image_create(const kry_device *device, const texel *how, cl_mem_flags flags,
                        const size_t size[3], cl_mem *image)
{
    kry_status st = KRY_OK;
    cl_context context = kry_device_context(device);
    cl_int err;

    *image = size[2]
                 ? clCreateImage3D(context, flags, &how->format, size[0], size[1], size[2], 0, 0,
                                   NULL, &err)
                 : clCreateImage2D(context, flags, &how->format, size[0], size[1], 0, NULL, &err);
    if (err != CL_SUCCESS) *image = NULL;
    CHECK(err == CL_SUCCESS, KRY_ERR_MEMORY,
          "'%s' has no room for an image of %zu x %zu x %zu: %s: OpenCL error %d",
          kry_device_get_info(device)->name, size[0], size[1], size[2] ? size[2] : 1,
          size[2] ? "clCreateImage3D" : "clCreateImage2D", err);
done:
    return st;
}

kry_status image_largest(const kry_device *device, size_t largest[2])
{
    static const cl_device_info limits[] = { CL_DEVICE_IMAGE2D_MAX_WIDTH,
                                             CL_DEVICE_IMAGE2D_MAX_HEIGHT };
    kry_status st = KRY_OK;

    for (int a = 0; a < 2; a++)
        TRY(paper_check(
            clGetDeviceInfo(kry_device_id(device), limits[a], sizeof largest[a], &largest[a], NULL),
            "clGetDeviceInfo"));
done:
    return st;
}

void image_release(const kry_device *device, cl_mem *image)
{
    if (!*image) return;
    clFinish(kry_device_queue(device));
    clReleaseMemObject(*image);
    *image = NULL;
}
