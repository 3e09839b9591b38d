/*
 * image.h - images whose texels are single numbers; a vector as one of them.
 */
#ifndef KRY_IMAGE_H
#define KRY_IMAGE_H

#include "vector/vec.h"

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

/* ---- a vector that kernels read as an image: GET_TEXEL(j) in cl/image.clh ---- */

/*
 * One row, made of the vector's own buffer, where OpenCL 1.2 and the device allow that; else rows
 * of equal length that it is copied to. A plane has the rows of a grid.
 */
typedef struct kry_image {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t n; /* numbers of a vector */
    bool wraps, plane;
    kry_texel texel;
    int64_t texels;       /* of an image of one row at most */
    int log_width;        /* of rows that are no plane */
    size_t width, height; /* of one that is copied to */
    cl_mem image;         /* owned */
    cl_mem x;             /* whose buffer that is, not retained; compared only */
    unsigned generation;  /* of the device at the time: later, x may be another buffer */
} kry_image;

/* For vectors of n numbers; or of width x height. `who` begins the message of a refusal,
 * `instead` ends it: what works without images.
 * Returns  KRY_ERR_UNSUPPORTED on devices without images, or with too small ones. */
kry_status kry_image_create(kry_device *dev, kry_type type, int64_t n, const char *who,
                            const char *instead, kry_image *image);
kry_status kry_image_create_plane(kry_device *dev, kry_type type, int64_t width, int64_t height,
                                  const char *who, const char *instead, kry_image *image);
void kry_image_release(kry_image *image);
/* The defines for image.clh. */
void kry_image_defines(const kry_image *image, char *text, size_t size);
/* Whether x can be read so: an image of its buffer may end before x does. */
bool kry_image_reaches(const kry_image *image, const kry_vec *x);
/* Make image->image one of x; *at is x_at in image.clh. It may hold on to the buffer until the
 * next call with another x, or the end. */
kry_status kry_image_take(kry_image *image, const kry_vec *x, cl_int *at);

#endif
