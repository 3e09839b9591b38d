/* texture.c - a vector that kernels read as an image. */
#include "texture.h"

/* As wide as the device allows, or as the vector is long. */
static kry_status create_folded(texture *t)
{
    kry_status st = KRY_OK;
    size_t largest[2], size[3] = { 0, 1, 0 };

    TRY(image_largest(t->device, largest));
    while ((size_t)2 << t->log_width <= largest[0] && (int64_t)1 << t->log_width < t->n)
        t->log_width++;
    size[0] = (size_t)1 << t->log_width;
    CHECK(t->n <= (int64_t)(size[0] * largest[1]), KRY_ERR_UNSUPPORTED,
          "jds:texture: x of %lld numbers fits into no image of '%s': %lld in one row, %zu x %zu "
          "in two dimensions",
          (long long)t->n, kry_device_get_info(t->device)->name, (long long)t->most, size[0],
          largest[1]);
    if (t->n) size[1] = ((size_t)t->n + size[0] - 1) / size[0];
    TRY(texel_choose(t->device, t->type, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, &t->how));
    TRY(image_create(t->device, &t->how, CL_MEM_READ_ONLY, size, &t->image));
done:
    return st;
}

kry_status texture_create(kry_device *device, kry_type type, int64_t n, texture *t)
{
    kry_status st = KRY_OK;
    size_t texels = 0;
    const kry_device_info *info = kry_device_get_info(device);

    *t = (texture){ .device = device, .type = type, .n = n };
    CHECK(info->images, KRY_ERR_UNSUPPORTED,
          "jds:texture reads x as an image, and '%s' has no images", info->name);
    if (info->opencl >= 120)
        TRY(paper_check(clGetDeviceInfo(kry_device_id(device), CL_DEVICE_IMAGE_MAX_BUFFER_SIZE,
                                        sizeof texels, &texels, NULL),
                        "clGetDeviceInfo"));
    t->most = texels < INT32_MAX ? (int64_t)texels : INT32_MAX;
    t->wraps = texels > 0 && n <= t->most;
    if (t->wraps)
        TRY(texel_choose(device, type, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE1D_BUFFER, &t->how));
    else
        TRY(create_folded(t));
done:
    return st;
}

void texture_release(texture *t)
{
    if (t->image) image_release(t->device, &t->image);
    if (t->wrapped) clReleaseMemObject(t->wrapped);
    t->wrapped = NULL;
}

static kry_status wrap(texture *t, cl_mem buffer)
{
    kry_status st = KRY_OK;
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER };
    size_t bytes = 0;
    cl_int err;

    if (t->wrapped == buffer) return KRY_OK;
    texture_release(t);
    TRY(paper_check(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL),
                    "clGetMemObjectInfo"));
    desc.image_width = bytes / kry_type_size(t->type);
    if (desc.image_width > (size_t)t->most) desc.image_width = (size_t)t->most;
    desc.buffer = buffer;
    t->image = clCreateImage(kry_device_context(t->device), CL_MEM_READ_ONLY, &t->how.format, &desc,
                             NULL, &err);
    if (err != CL_SUCCESS) t->image = NULL;
    TRY(paper_check(err, "clCreateImage"));
    TRY(paper_check(clRetainMemObject(buffer), "clRetainMemObject"));
    t->wrapped = buffer;
done:
    return st;
}

/* Whole rows of the image, then what is left. */
static kry_status copy(texture *t, cl_mem buffer, int64_t first)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(t->type), width = (size_t)1 << t->log_width,
                 rows = (size_t)t->n / width, rest = (size_t)t->n % width;
    const size_t from[2] = { (size_t)first, (size_t)first + rows * width },
                 corner[2][3] = { { 0, 0, 0 }, { 0, rows, 0 } },
                 size[2][3] = { { width, rows, 1 }, { rest, 1, 1 } };

    for (int i = 0; i < 2; i++)
        if (size[i][0] && size[i][1])
            TRY(paper_check(clEnqueueCopyBufferToImage(kry_device_queue(t->device), buffer,
                                                       t->image, from[i] * word, corner[i], size[i],
                                                       0, NULL, NULL),
                            "clEnqueueCopyBufferToImage"));
done:
    return st;
}

kry_status texture_take(texture *t, cl_mem buffer, int64_t first, cl_int *at)
{
    kry_status st = KRY_OK;

    *at = (cl_int)(t->wraps ? first : t->log_width);
    CHECK(!t->wraps || first + t->n <= t->most, KRY_ERR_UNSUPPORTED,
          "jds:texture: x begins too far inside of its buffer for an image of %lld texels",
          (long long)t->most);
    TRY(t->wraps ? wrap(t, buffer) : copy(t, buffer, first));
done:
    return st;
}
