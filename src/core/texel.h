/*
 * texel.h - images whose texels are single numbers.
 */
#ifndef KRY_TEXEL_H
#define KRY_TEXEL_H

#include "internal.h"

/* A texel that is one number: as it should be, or as four parts of its bytes. */
typedef struct kry_texel {
    cl_image_format format;
    bool bytes; /* the define TEXEL_BYTES */
} kry_texel;

/* How `dev` keeps numbers in an image of this kind, CL_MEM_OBJECT_IMAGE2D, ..., used so. */
kry_status kry_texel_choose(const kry_device *dev, kry_type type, cl_mem_flags flags,
                            cl_mem_object_type image, kry_texel *texel);

/* An image that holds nothing yet; depth 0: two dimensions.
 * Returns  KRY_ERR_MEMORY. */
kry_status kry_texel_image(kry_device *dev, const kry_texel *texel, cl_mem_flags flags,
                           const size_t size[3], cl_mem *image);

#endif
