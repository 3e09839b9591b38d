/* texel.c - images whose texels are single numbers. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS /* clCreateImage2D, for devices that have no other */
#include "texel.h"
#include <string.h>

/* The second of each pair is for devices without the first (PoCL 3.1 has no CL_RG): every device
 * with images has it (OpenCL 1.1, table 5.8). */
kry_status kry_texel_choose(const kry_device *dev, kry_type type, cl_mem_flags flags,
                            cl_mem_object_type image, kry_texel *texel)
{
    enum { MOST = 256 };
    static const cl_image_format single[] = { { CL_R, CL_FLOAT }, { CL_RGBA, CL_UNSIGNED_INT8 } },
                                 twofold[] = { { CL_RG, CL_UNSIGNED_INT32 },
                                               { CL_RGBA, CL_UNSIGNED_INT16 } };
    kry_status st = KRY_OK;
    const cl_image_format *wanted = type == KRY_F32 ? single : twofold;
    cl_image_format known[MOST];
    cl_uint count = 0;

    TRY_CL(clGetSupportedImageFormats(dev->context, flags, image, MOST, known, &count));
    texel->bytes = true;
    for (cl_uint i = 0; i < count && i < MOST; i++)
        if (!memcmp(&known[i], wanted, sizeof *wanted)) texel->bytes = false;
    texel->format = wanted[texel->bytes];
done:
    return st;
}

kry_status kry_texel_image(kry_device *dev, const kry_texel *texel, cl_mem_flags flags,
                           const size_t size[3], cl_mem *image)
{
    kry_status st = KRY_OK;
    cl_int err;

    if (size[2])
        *image = clCreateImage3D(dev->context, flags, &texel->format, size[0], size[1], size[2], 0,
                                 0, NULL, &err);
    else
        *image =
            clCreateImage2D(dev->context, flags, &texel->format, size[0], size[1], 0, NULL, &err);
    if (err != CL_SUCCESS) *image = NULL;
    CHECK(err == CL_SUCCESS, KRY_ERR_MEMORY, "'%s' has no room for an image of %zu x %zu x %zu: %s",
          dev->info.name, size[0], size[1], size[2] ? size[2] : 1, kry_cl_error_name(err));
done:
    return st;
}
