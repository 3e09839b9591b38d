/*
 * jacobi_images.c - k5 to k7: points in images, read as textures and written as surfaces, which a
 * sweep exchanges. Kernels: cl/papers/akhtar.cl.
 *
 * Devices that cannot write three-dimensional images keep the slices side by side in one of two
 * dimensions.
 */
#include "../image.h"
#include "jacobi.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct layout {
    int dimensions;
    cl_int cols; /* two dimensions: slices side by side; 0 in three */
    texel how;
    cl_kernel pack, unpack;
} layout;

static void images_destroy(jacobi *J)
{
    layout *at = J->extra;
    if (at->pack) clReleaseKernel(at->pack);
    if (at->unpack) clReleaseKernel(at->unpack);
}

/* ---- where the points are --------------------------------------------------------------- */

/* As few slices side by side as the height of images allows. */
static kry_status plan_flat(const jacobi *J, layout *at)
{
    kry_status st = KRY_OK;
    const cl_int *n = J->size;
    size_t most[2] = { 0 };

    TRY(image_largest(J->device, most));
    int64_t width = (int64_t)most[0], height = (int64_t)most[1];
    int64_t down = height / n[1] < n[2] ? height / n[1] : n[2];
    int64_t cols = down ? (n[2] + down - 1) / down : 0;
    CHECK(cols && cols * n[0] <= width, KRY_ERR_UNSUPPORTED,
          "%s: %d slices of %d x %d fit into no image of '%s', %lld x %lld at most; use k1 or k3",
          jacobi_kernel_name(J->kernel), n[2], n[0], n[1], kry_device_get_info(J->device)->name,
          (long long)width, (long long)height);
    at->cols = (cl_int)cols;
done:
    return st;
}

/* Writing three-dimensional images takes OpenCL C 1.2 on the drivers that can; OpenCL 1.1 has none
 * of one slice. */
static kry_status plan(const jacobi *J, layout *at)
{
    static const cl_device_info limits[] = { CL_DEVICE_IMAGE3D_MAX_WIDTH,
                                             CL_DEVICE_IMAGE3D_MAX_HEIGHT,
                                             CL_DEVICE_IMAGE3D_MAX_DEPTH };
    kry_status st = KRY_OK;
    const kry_device_info *info = kry_device_get_info(J->device);
    bool deep = info->image3d_writes && info->opencl >= 120 && J->size[2] >= 2;

    CHECK(info->images, KRY_ERR_UNSUPPORTED,
          "%s keeps the points in images, and '%s' has none; use k1 or k3",
          jacobi_kernel_name(J->kernel), info->name);
    for (int a = 0; a < 3; a++) {
        size_t most = 0;
        TRY(paper_check(
            clGetDeviceInfo(kry_device_id(J->device), limits[a], sizeof most, &most, NULL),
            "clGetDeviceInfo"));
        if ((size_t)J->size[a] > most) deep = false;
    }
    at->dimensions = deep ? 3 : 2;
    if (!deep) TRY(plan_flat(J, at));
    TRY(texel_choose(J->device, J->type, CL_MEM_READ_WRITE,
                     deep ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D, &at->how));
done:
    return st;
}

static kry_status create_images(jacobi *J, const layout *at)
{
    kry_status st = KRY_OK;
    size_t size[3] = { (size_t)J->size[0], (size_t)J->size[1], (size_t)J->size[2] };

    if (at->dimensions == 2) {
        size[0] *= (size_t)at->cols;
        size[1] *= (size_t)((J->size[2] + at->cols - 1) / at->cols);
        size[2] = 0;
    }
    for (int i = 0; i < 2; i++)
        TRY(image_create(J->device, &at->how, CL_MEM_READ_WRITE, size, &J->image[i]));
done:
    return st;
}

static kry_status images_build(jacobi *J, const jacobi_box *box)
{
    kry_status st = KRY_OK;
    layout *at = J->extra = calloc(1, sizeof *at);
    bool tiles = jacobi_by_tiles(J->kernel), border = J->kernel == JACOBI_K5;
    char defines[200];

    CHECK(at, KRY_ERR_MEMORY, "jacobi_create: out of memory");
    TRY(plan(J, at));
    TRY(jacobi_make_sides(J, box));
    TRY(create_images(J, at));
    snprintf(defines, sizeof defines, "-DFIELD_IMAGE=%d%s%s%s%s", at->dimensions,
             at->how.bytes ? " -DTEXEL_BYTES" : "", border ? " -DBORDER" : "",
             at->dimensions == 3 ? " -cl-std=CL1.2" : "", jacobi_tile_defines(J->kernel));
    TRY(jacobi_get_kernel(J, "akhtar", defines, tiles ? "akhtar_tiles" : "akhtar_points",
                          &J->step));
    TRY(jacobi_get_kernel(J, "akhtar", defines, "akhtar_pack", &at->pack));
    TRY(jacobi_get_kernel(J, "akhtar", defines, "akhtar_unpack", &at->unpack));
    snprintf(J->variant, sizeof J->variant, "%d-D images%s%s", at->dimensions,
             border ? ", a sampler's border" : "", tiles ? ", tiles in local memory" : "");
done:
    return st;
}

/* ---- using ------------------------------------------------------------------------------ */

static kry_status images_sweep(jacobi *J, int64_t steps)
{
    kry_status st = KRY_OK;
    const layout *at = J->extra;
    cl_mem sides = kry_vec_buffer(J->sides, NULL);

    for (; steps > 0; steps--) {
        const kry_arg args[] = {
            KRY_ARG(J->size[0]),       KRY_ARG(J->size[1]), KRY_ARG(J->size[2]),
            KRY_ARG(at->cols),         KRY_ARG(sides),      KRY_ARG(J->image[J->now]),
            KRY_ARG(J->image[!J->now])
        };
        TRY(kry_device_launch(J->device, J->step, jacobi_groups(J), 0, args, COUNT(args)));
        J->now = !J->now;
    }
done:
    return st;
}

/* Between an image and a vector: `from` to `to`. */
static kry_status transfer(const jacobi *J, cl_kernel kernel, cl_mem from, cl_mem to)
{
    const layout *at = J->extra;
    const kry_arg args[] = { KRY_ARG(J->size[0]), KRY_ARG(J->size[1]), KRY_ARG(J->size[2]),
                             KRY_ARG(at->cols),   KRY_ARG(from),       KRY_ARG(to) };
    return kry_device_launch(J->device, kernel, kry_device_groups(J->device, J->type, J->n), 0,
                             args, COUNT(args));
}

static kry_status images_get(const jacobi *J, int which, kry_vec *points)
{
    const layout *at = J->extra;
    return transfer(J, at->unpack, J->image[which], kry_vec_buffer(points, NULL));
}

static kry_status images_put(jacobi *J, const kry_vec *points)
{
    const layout *at = J->extra;
    return transfer(J, at->pack, kry_vec_buffer(points, NULL), J->image[J->now]);
}

const jacobi_kind jacobi_images = { .build = images_build,
                                    .sweep = images_sweep,
                                    .get = images_get,
                                    .put = images_put,
                                    .destroy = images_destroy };
