/*
 * image.h - images whose texels are single numbers; cl/common/image.clh reads and writes them.
 */
#ifndef KRY_PAPER_IMAGE_H
#define KRY_PAPER_IMAGE_H

#include "paper.h"

/* A texel that is one number: as it should be, or as four parts of its bytes. */
typedef struct texel {
    cl_image_format format;
    bool bytes; /* the define TEXEL_BYTES */
} texel;

/* How the device keeps numbers in an image of this kind, CL_MEM_OBJECT_IMAGE2D, ..., used so. */
kry_status texel_choose(const kry_device *device, kry_type type, cl_mem_flags flags,
                        cl_mem_object_type kind, texel *how);

/* An image that holds nothing yet; depth 0: of two dimensions. The caller's (clReleaseMemObject).
 * Returns  KRY_ERR_MEMORY. */
kry_status image_create(const kry_device *device, const texel *how, cl_mem_flags flags,
                        const size_t size[3], cl_mem *image);

/* Width and height of the largest image of two dimensions. */
kry_status image_largest(const kry_device *device, size_t largest[2]);

/* Release an image after all launches that use it: PoCL 3.1 does not hold on to it for them. */
void image_release(const kry_device *device, cl_mem *image);

#endif
