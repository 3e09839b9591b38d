/* image.c - images whose texels are numbers, and vectors that kernels read as an image. Kernels:
 * cl/image.clh. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS /* clCreateImage2D, for OpenCL 1.1 */
#include "vector/image.h"
#include <stdio.h>
#include <string.h>

/* The first format of each pair is not everywhere (PoCL 3.1 has no CL_RG). Every device with images
 * has the second one (OpenCL 1.1, table 5.8). */
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

/* ---- a vector as an image ------------------------------------------------------------------- */

static kry_status check_images(const kry_device *dev, const char *who, const char *instead)
{
    kry_status st = KRY_OK;
    CHECK(dev->info.images, KRY_ERR_UNSUPPORTED,
          "%s reads x as an image, and '%s' has no images; %s", who, dev->info.name, instead);
done:
    return st;
}

static kry_status largest_image(const kry_device *dev, size_t *width, size_t *height)
{
    kry_status st = KRY_OK;
    TRY_CL(clGetDeviceInfo(dev->id, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof *width, width, NULL));
    TRY_CL(clGetDeviceInfo(dev->id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof *height, height, NULL));
done:
    return st;
}

/* Make the image that x is copied to. */
static kry_status create_rows(kry_image *m, size_t width, size_t height)
{
    kry_status st = KRY_OK;
    const size_t size[3] = { width, height ? height : 1, 0 };

    m->width = width, m->height = height;
    TRY(kry_texel_choose(m->dev, m->type, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, &m->texel));
    TRY(kry_texel_image(m->dev, &m->texel, CL_MEM_READ_ONLY, size, &m->image));
done:
    return st;
}

/* An image as wide as the device allows, or as x is long. Number j of x is at (j % width, j /
 * width). */
static kry_status create_folded(kry_image *m, const char *who, const char *instead)
{
    kry_status st = KRY_OK;
    size_t width = 0, height = 0;

    TRY(largest_image(m->dev, &width, &height));
    while ((size_t)2 << m->log_width <= width && (int64_t)1 << m->log_width < m->n) m->log_width++;
    width = (size_t)1 << m->log_width;
    CHECK(m->n <= (int64_t)(width * height), KRY_ERR_UNSUPPORTED,
          "%s: x of %lld numbers fits into no image of '%s': %lld in one row, %zu x %zu in two "
          "dimensions; %s",
          who, (long long)m->n, m->dev->info.name, (long long)m->texels, width, height, instead);
    TRY(create_rows(m, width, ((size_t)m->n + width - 1) / width));
done:
    return st;
}

kry_status kry_image_create(kry_device *dev, kry_type type, int64_t n, const char *who,
                            const char *instead, kry_image *m)
{
    kry_status st = KRY_OK;
    size_t texels = 0;

    *m = (kry_image){ .dev = dev, .type = type, .n = n };
    TRY(check_images(dev, who, instead));
    if (dev->info.opencl >= 120)
        TRY_CL(clGetDeviceInfo(dev->id, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, sizeof texels, &texels,
                               NULL));
    m->texels = texels < INT32_MAX ? (int64_t)texels : INT32_MAX;
    m->wraps = texels > 0 && n <= m->texels;
    if (m->wraps)
        TRY(kry_texel_choose(dev, type, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE1D_BUFFER, &m->texel));
    else
        TRY(create_folded(m, who, instead));
done:
    return st;
}

kry_status kry_image_create_plane(kry_device *dev, kry_type type, int64_t width, int64_t height,
                                  const char *who, const char *instead, kry_image *m)
{
    kry_status st = KRY_OK;
    size_t most_width = 0, most_height = 0;

    *m = (kry_image){ .dev = dev, .type = type, .n = width * height, .plane = true };
    TRY(check_images(dev, who, instead));
    TRY(largest_image(dev, &most_width, &most_height));
    CHECK(width <= (int64_t)most_width && height <= (int64_t)most_height, KRY_ERR_UNSUPPORTED,
          "%s: a grid of %lld x %lld fits into no image of '%s', %zu x %zu at most; %s", who,
          (long long)width, (long long)height, dev->info.name, most_width, most_height, instead);
    TRY(create_rows(m, (size_t)width, (size_t)height));
done:
    return st;
}

/* Wait first: PoCL 3.1 does not retain the images of enqueued launches, which would read the next
 * image. */
void kry_image_release(kry_image *m)
{
    if (!m->dev || !m->image) return;
    clFinish(m->dev->queue);
    kry_buffer_release(m->dev, &m->image);
}

void kry_image_defines(const kry_image *m, char *text, size_t size)
{
    snprintf(text, size, "-DX_IMAGE=%d%s%s", m->wraps ? 1 : 2,
             m->texel.bytes ? " -DTEXEL_BYTES" : "", m->wraps ? " -cl-std=CL1.2" : "");
}

bool kry_image_reaches(const kry_image *m, const kry_vec *x)
{
    return !m->wraps || x->first + m->n <= m->texels;
}

static kry_status wrap(kry_image *m, const kry_vec *x)
{
    kry_status st = KRY_OK;
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER };
    size_t bytes = 0;
    cl_int err;

    if (m->image && m->x == x->buffer && m->generation == m->dev->generation) return KRY_OK;
    kry_image_release(m);
    TRY_CL(clGetMemObjectInfo(x->buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    desc.image_width = bytes / kry_type_size(m->type);
    if (desc.image_width > (size_t)m->texels) desc.image_width = (size_t)m->texels;
    desc.buffer = x->buffer;
    m->image =
        clCreateImage(m->dev->context, CL_MEM_READ_ONLY, &m->texel.format, &desc, NULL, &err);
    TRY(kry_cl_check(err, __func__, "clCreateImage"));
    m->x = x->buffer;
    m->generation = m->dev->generation;
done:
    return st;
}

/* Copy the whole rows of the image, then the rest. */
static kry_status copy(kry_image *m, const kry_vec *x)
{
    kry_status st = KRY_OK;
    size_t number = kry_type_size(m->type), width = m->width;
    size_t rows = (size_t)m->n / width, rest = (size_t)m->n % width;
    size_t from = (size_t)x->first * number;
    const size_t corner[3] = { 0, 0, 0 }, whole[3] = { width, rows, 1 };
    const size_t below[3] = { 0, rows, 0 }, last[3] = { rest, 1, 1 };

    if (rows)
        TRY_CL(clEnqueueCopyBufferToImage(m->dev->queue, x->buffer, m->image, from, corner, whole,
                                          0, NULL, NULL));
    if (rest)
        TRY_CL(clEnqueueCopyBufferToImage(m->dev->queue, x->buffer, m->image,
                                          from + rows * width * number, below, last, 0, NULL,
                                          NULL));
done:
    return st;
}

kry_status kry_image_take(kry_image *m, const kry_vec *x, cl_int *at)
{
    *at = m->wraps ? (cl_int)x->first : m->log_width;
    return m->wraps ? wrap(m, x) : copy(m, x);
}
