/*
 * image.h - images whose texels are numbers, and vectors that kernels read as an image.
 */
#ifndef KRY_IMAGE_H
#define KRY_IMAGE_H

#include "vector/vec.h"

/* How a texel holds a number: in one channel, or cut into four channels of bytes. */
typedef struct kry_texel {
    cl_image_format format;
    bool bytes; /* four channels: the define TEXEL_BYTES */
} kry_texel;

/* Choose a format that `dev` has for images of this kind (CL_MEM_OBJECT_IMAGE2D ...) with these
 * flags. */
kry_status kry_texel_choose(const kry_device *dev, kry_type type, cl_mem_flags flags,
                            cl_mem_object_type image, kry_texel *texel);

/* Create an image. size[2] = 0: of two dimensions.
 * Returns  KRY_ERR_MEMORY. */
kry_status kry_texel_image(kry_device *dev, const kry_texel *texel, cl_mem_flags flags,
                           const size_t size[3], cl_mem *image);

/* ---- a vector that kernels read as an image: GET_TEXEL(j) in cl/image.clh ---- */

/*
 * If OpenCL 1.2 and the device allow it, the image has one row and is made of the vector's own
 * buffer. Otherwise the vector is copied to an image with rows of equal length; a plane has the
 * rows of a grid.
 */
typedef struct kry_image {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t n; /* length of the vector */
    bool wraps, plane;
    kry_texel texel;
    int64_t texels;       /* the device's limit for an image of one row */
    int log_width;        /* log2(width), if it is no plane */
    size_t width, height; /* of an image that x is copied to */
    cl_mem image;         /* owned */
    cl_mem x;             /* the buffer that it is made of; not retained, only compared */
    unsigned generation;  /* of the device at that time: a later buffer may have the same handle */
} kry_image;

/* An image for vectors of n numbers, or for planes of width x height.
 *
 *   who      the beginning of an error message
 *   instead  its end: what works without images
 * Returns  KRY_ERR_UNSUPPORTED if the device has no images, or none of that size. */
kry_status kry_image_create(kry_device *dev, kry_type type, int64_t n, const char *who,
                            const char *instead, kry_image *image);
kry_status kry_image_create_plane(kry_device *dev, kry_type type, int64_t width, int64_t height,
                                  const char *who, const char *instead, kry_image *image);
void kry_image_release(kry_image *image);
/* Print the defines for image.clh. */
void kry_image_defines(const kry_image *image, char *text, size_t size);
/* Whether the image can hold all of x: one that is made of its buffer has a largest length. */
bool kry_image_reaches(const kry_image *image, const kry_vec *x);
/* Make image->image an image of x; *at is the argument x_at of image.clh. The image may retain x's
 * buffer until the next call with another x, or until it is released. */
kry_status kry_image_take(kry_image *image, const kry_vec *x, cl_int *at);

#endif
