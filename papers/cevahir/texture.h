/*
 * texture.h - a vector that kernels read as an image (cl/common/image.clh).
 */
#ifndef KRY_TEXTURE_H
#define KRY_TEXTURE_H

#include "image.h"

/* One row, made of the vector's own buffer, where OpenCL 1.2 and the device allow that; else rows of
 * 2^log_width numbers that the vector is copied to: number j is at (j % width, j / width). */
typedef struct texture {
    kry_device *device; /* borrowed */
    kry_type type;
    int64_t n; /* numbers of the vector */
    bool wraps;
    int64_t most; /* texels of an image of one row */
    int log_width;
    texel how;
    cl_mem image;   /* owned */
    cl_mem wrapped; /* the buffer that it is made of; retained */
} texture;

/* Returns  KRY_ERR_UNSUPPORTED on devices without images, or with images too small for n numbers. */
kry_status texture_create(kry_device *device, kry_type type, int64_t n, texture *t);
/* Make t->image one of the n numbers from `first` on. *at: where number 0 is in the image if it
 * wraps, else log_width.
 * Returns  KRY_ERR_UNSUPPORTED if they lie too far inside of the buffer for an image of it. */
kry_status texture_take(texture *t, cl_mem buffer, int64_t first, cl_int *at);
void texture_release(texture *t); /* one of zeros, too */

#endif
