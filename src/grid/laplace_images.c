/*
 * laplace_images.c - k5 to k7: points in images, read as textures and written as surfaces, which a
 * sweep exchanges. Kernels: cl/laplace.cl.
 *
 * Devices that cannot write three-dimensional images keep the slices side by side in one of two
 * dimensions.
 */
#include "grid/laplace.h"
#include <stdio.h>

typedef struct layout {
    int dimensions;
    cl_int cols; /* 2: slices side by side; 0 in three dimensions */
    kry_texel texel;
    kry_kernel *clear;
} layout;

static bool by_tiles(const kry_laplace *L) { return L->kernel == KRY_LAPLACE_K7; }

/* ---- where the points are --------------------------------------------------------------- */

static kry_status image_limit(const kry_laplace *L, cl_device_info what, int64_t *limit)
{
    size_t most = 0;
    kry_status st = kry_cl_check(clGetDeviceInfo(L->dev->id, what, sizeof most, &most, NULL),
                                 "kry_laplace_create", "clGetDeviceInfo");
    *limit = most < INT32_MAX ? (int64_t)most : INT32_MAX;
    return st;
}

/* As few slices side by side as the height of images allows. */
static kry_status plan_flat(const kry_laplace *L, layout *at)
{
    kry_status st = KRY_OK;
    const cl_int *n = L->size;
    int64_t width, height;

    TRY(image_limit(L, CL_DEVICE_IMAGE2D_MAX_WIDTH, &width));
    TRY(image_limit(L, CL_DEVICE_IMAGE2D_MAX_HEIGHT, &height));
    int64_t down = height / n[1] < n[2] ? height / n[1] : n[2];
    int64_t cols = down ? (n[2] + down - 1) / down : 0;
    CHECK(cols && cols * n[0] <= width, KRY_ERR_UNSUPPORTED,
          "%s: %d slices of %d x %d fit into no image of '%s', %lld x %lld at most; use k1 or k3",
          kry_laplace_kernel_name(L->kernel), n[2], n[0], n[1], L->dev->info.name, (long long)width,
          (long long)height);
    at->cols = (cl_int)cols;
    at->dimensions = 2;
done:
    return st;
}

static kry_status plan(const kry_laplace *L, layout *at)
{
    static const cl_device_info limits[] = { CL_DEVICE_IMAGE3D_MAX_WIDTH,
                                             CL_DEVICE_IMAGE3D_MAX_HEIGHT,
                                             CL_DEVICE_IMAGE3D_MAX_DEPTH };
    kry_status st = KRY_OK;
    const kry_device_info *info = &L->dev->info;

    CHECK(info->images, KRY_ERR_UNSUPPORTED,
          "%s keeps the points in images, and '%s' has none; use k1 or k3",
          kry_laplace_kernel_name(L->kernel), info->name);
    /* Writing them takes OpenCL C 1.2 on the drivers that can. */
    at->dimensions = info->image3d_writes && info->opencl >= 120 ? 3 : 2;
    for (int a = 0; a < 3; a++) {
        int64_t most;
        TRY(image_limit(L, limits[a], &most));
        if (L->size[a] > most) at->dimensions = 2;
    }
    if (L->size[2] < 2) at->dimensions = 2; /* no image of one slice, says OpenCL 1.1 */
    if (at->dimensions == 2) TRY(plan_flat(L, at));
    TRY(kry_texel_choose(L->dev, L->type, CL_MEM_READ_WRITE,
                         at->dimensions == 3 ? CL_MEM_OBJECT_IMAGE3D : CL_MEM_OBJECT_IMAGE2D,
                         &at->texel));
done:
    return st;
}

static kry_status create_images(kry_laplace *L, const layout *at)
{
    kry_status st = KRY_OK;
    size_t size[3] = { (size_t)L->size[0], (size_t)L->size[1], (size_t)L->size[2] };

    if (at->dimensions == 2) {
        size[0] *= (size_t)at->cols;
        size[1] *= (size_t)((L->size[2] + at->cols - 1) / at->cols);
        size[2] = 0;
    }
    for (int i = 0; i < 2; i++)
        TRY(kry_texel_image(L->dev, &at->texel, CL_MEM_READ_WRITE, size, &L->image[i]));
done:
    return st;
}

/* ---- kernels ---------------------------------------------------------------------------- */

static kry_status get_kernels(kry_laplace *L, layout *at)
{
    kry_status st = KRY_OK;
    char defines[200];
    int used = snprintf(defines, sizeof defines, "-DFIELD_IMAGE=%d%s%s%s", at->dimensions,
                        at->texel.bytes ? " -DTEXEL_BYTES" : "",
                        L->kernel == KRY_LAPLACE_K5 ? " -DBORDER" : "",
                        at->dimensions == 3 ? " -cl-std=CL1.2" : "");

    if (by_tiles(L))
        snprintf(defines + used, sizeof defines - (size_t)used,
                 " -DTILE_X=%d -DTILE_Y=%d -DTILE_Z=%d", KRY_LAPLACE_TILE_X, KRY_LAPLACE_TILE_Y,
                 KRY_LAPLACE_TILE_Z);
    TRY(kry_kernel_get(L->dev, "laplace", L->type, defines,
                       by_tiles(L) ? "laplace_tile" : "laplace_point", &L->kernel_sweep));
    TRY(kry_kernel_get(L->dev, "laplace", L->type, defines, "laplace_change", &L->kernel_change));
    TRY(kry_kernel_get(L->dev, "laplace", L->type, defines, "laplace_clear", &at->clear));
    snprintf(L->variant, sizeof L->variant, "%d-D images%s%s", at->dimensions,
             L->kernel == KRY_LAPLACE_K5 ? ", a sampler's border" : "",
             by_tiles(L) ? ", tiles in local memory" : "");
done:
    return st;
}

static kry_status images_build(kry_laplace *L, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    layout *at;

    TRY(kry_alloc(1, sizeof *at, &at));
    L->extra = at;
    TRY(plan(L, at));
    TRY(kry_laplace_faces_buffer(L, params));
    TRY(create_images(L, at));
    TRY(get_kernels(L, at));
    const kry_arg args[] = { ARG(L->size[0]), ARG(L->size[1]), ARG(L->size[2]), ARG(at->cols),
                             ARG(L->image[0]) };
    TRY(kry_launch(L->dev, at->clear, kry_groups_for(L->dev, L->type, L->n), args, COUNT(args)));
done:
    return st;
}

static kry_status images_sweep(kry_laplace *L, int64_t steps)
{
    kry_status st = KRY_OK;
    const layout *at = L->extra;
    int64_t groups = kry_groups_for(L->dev, L->type, L->n), tiles = kry_laplace_tiles(L);

    if (by_tiles(L) && !L->dev->info.cpu_kernels) groups = tiles < 65535 ? tiles : 65535;
    for (; steps > 0; steps--) {
        const kry_arg args[] = { ARG(L->size[0]),       ARG(L->size[1]), ARG(L->size[2]),
                                 ARG(at->cols),         ARG(L->faces),   ARG(L->image[L->now]),
                                 ARG(L->image[!L->now]) };
        TRY(kry_launch(L->dev, L->kernel_sweep, groups, args, COUNT(args)));
        L->now = !L->now;
    }
done:
    return st;
}

static kry_status images_change(kry_laplace *L, double *change2)
{
    kry_status st = KRY_OK;
    const layout *at = L->extra;
    int64_t groups = kry_groups_for_sums(L->dev, L->type, L->n);
    const kry_arg args[] = { ARG(L->size[0]),    ARG(L->size[1]),       ARG(L->size[2]),
                             ARG(at->cols),      ARG(L->image[L->now]), ARG(L->image[!L->now]),
                             ARG(L->sum->buffer) };

    TRY(kry_launch(L->dev, L->kernel_change, groups, args, COUNT(args)));
    L->sum->count = (cl_int)groups;
    TRY(kry_sum_read(&L->dev->layout, L->sum, change2));
done:
    return st;
}

/* ---- to and from the host --------------------------------------------------------------- */

static kry_status transfer_region(const kry_laplace *L, const size_t corner[3],
                                  const size_t region[3], void *host, bool write)
{
    cl_mem image = L->image[L->now];
    cl_int err = write ? clEnqueueWriteImage(L->dev->queue, image, CL_TRUE, corner, region, 0, 0,
                                             host, 0, NULL, NULL)
                       : clEnqueueReadImage(L->dev->queue, image, CL_TRUE, corner, region, 0, 0,
                                            host, 0, NULL, NULL);
    return kry_cl_check(err, "kry_laplace", write ? "clEnqueueWriteImage" : "clEnqueueReadImage");
}

static kry_status images_transfer(const kry_laplace *L, void *host, bool write)
{
    kry_status st = KRY_OK;
    const layout *at = L->extra;
    size_t nx = (size_t)L->size[0], ny = (size_t)L->size[1], slices = (size_t)L->size[2];
    size_t slice_bytes = nx * ny * kry_type_size(L->type);
    const size_t corner[3] = { 0 }, all[3] = { nx, ny, slices }, slice[3] = { nx, ny, 1 };

    if (at->dimensions == 3) return transfer_region(L, corner, all, host, write);
    for (size_t k = 0, cols = (size_t)at->cols; k < slices; k++) {
        const size_t from[3] = { k % cols * nx, k / cols * ny, 0 };
        TRY(transfer_region(L, from, slice, (char *)host + k * slice_bytes, write));
    }
done:
    return st;
}

const kry_laplace_table kry_laplace_images = { .build = images_build,
                                               .sweep = images_sweep,
                                               .change = images_change,
                                               .transfer = images_transfer };
