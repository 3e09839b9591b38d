/* paths.c - the product with the five-point Laplacian by the memory paths of Wang et al.
 * Kernels: cl/papers/wang.cl. */
#include "paths.h"
#include "../image.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const names[WANG_PATH_COUNT] = { "global", "local", "texture1d", "texture2d" };
static const char instead[] = "use path march, global or local";

const char *wang_path_name(wang_path path) { return names[path]; }

typedef struct laplacian {
    kry_device *device; /* borrowed: the operator holds it */
    wang_path path;
    cl_int n;
    cl_kernel kernel;
    /* texture paths */
    cl_mem image;
    texel how;
    bool wraps; /* image is made of a vector's own buffer; else x is copied to it */
    cl_mem x;   /* that buffer, retained; NULL: none yet */
    cl_int log_width;
    size_t size[3]; /* of an image that x is copied to */
} laplacian;

static void let_go_of_x(laplacian *A)
{
    if (A->wraps) image_release(A->device, &A->image);
    if (A->x) clReleaseMemObject(A->x);
    A->x = NULL;
}

static void destroy(void *self)
{
    laplacian *A = self;
    if (!A) return;
    let_go_of_x(A);
    image_release(A->device, &A->image);
    if (A->kernel) clReleaseKernel(A->kernel);
    free(A);
}

/* ---- x as an image ---------------------------------------------------------------------------- */

static kry_status wrap(laplacian *A, cl_mem x)
{
    kry_status st = KRY_OK;
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .buffer = x };
    size_t bytes = 0;
    cl_int err;

    if (x == A->x) return KRY_OK;
    let_go_of_x(A);
    TRY(paper_check(clGetMemObjectInfo(x, CL_MEM_SIZE, sizeof bytes, &bytes, NULL),
                    "clGetMemObjectInfo"));
    desc.image_width = bytes / sizeof(double);
    A->image = clCreateImage(kry_device_context(A->device), CL_MEM_READ_ONLY, &A->how.format, &desc,
                             NULL, &err);
    if (err) A->image = NULL;
    TRY(paper_check(err, "clCreateImage"));
    TRY(paper_check(clRetainMemObject(x), "clRetainMemObject")); /* while its handle is compared */
    A->x = x;
done:
    return st;
}

/* Whole rows of the image, then what is left. */
static kry_status copy(const laplacian *A, cl_mem x, int64_t first)
{
    kry_status st = KRY_OK;
    cl_command_queue queue = kry_device_queue(A->device);
    size_t count = (size_t)A->n * (size_t)A->n, width = A->size[0];
    size_t rows = count / width, rest = count % width, from = (size_t)first * sizeof(double);
    const size_t corner[3] = { 0, 0, 0 }, whole[3] = { width, rows, 1 };
    const size_t below[3] = { 0, rows, 0 }, last[3] = { rest, 1, 1 };

    if (rows)
        TRY(paper_check(
            clEnqueueCopyBufferToImage(queue, x, A->image, from, corner, whole, 0, NULL, NULL),
            "clEnqueueCopyBufferToImage"));
    if (rest)
        TRY(paper_check(clEnqueueCopyBufferToImage(queue, x, A->image,
                                                   from + rows * width * sizeof(double), below,
                                                   last, 0, NULL, NULL),
                        "clEnqueueCopyBufferToImage"));
done:
    return st;
}

/* ---- the operator ----------------------------------------------------------------------------- */

static kry_status apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    laplacian *A = self;
    int64_t x_at, y_at;
    cl_mem from = kry_vec_buffer(x, &x_at), to = kry_vec_buffer(y, &y_at);
    cl_long at = x_at, y_first = y_at;
    cl_int texel_at = A->wraps ? (cl_int)x_at : A->log_width;
    bool texture = A->path >= WANG_TEXTURE1D;
    int64_t groups = kry_device_groups(A->device, KRY_F64, (int64_t)A->n * A->n);

    if (texture) TRY(A->wraps ? wrap(A, from) : copy(A, from, x_at));
    const kry_arg args[] = { KRY_ARG(A->n),
                             KRY_ARG(alpha),
                             { sizeof from, texture ? &A->image : &from },
                             { texture ? sizeof texel_at : sizeof at,
                               texture ? (const void *)&texel_at : &at },
                             KRY_ARG(beta),
                             KRY_ARG(to),
                             KRY_ARG(y_first) };
    TRY(kry_device_launch(A->device, A->kernel, groups, 0, args, COUNT(args)));
done:
    return st;
}

static void describe(void *self, kry_op_info *info)
{
    const laplacian *A = self;
    double points = (double)A->n * A->n;

    info->variant = A->path == WANG_TEXTURE1D && !A->wraps ? "texture1d, x copied to a 2-D image"
                                                           : names[A->path];
    info->nnz = 5 * (int64_t)A->n * A->n - 4 * (int64_t)A->n;
    info->bytes_per_apply = 2 * points * sizeof(double);
    if (A->path >= WANG_TEXTURE1D && !A->wraps) info->bytes_per_apply *= 2;
}

static const kry_op_table table = { .struct_size = sizeof(kry_op_table),
                                    .kind = "wang",
                                    .apply = apply,
                                    .apply_transpose = apply,
                                    .describe = describe,
                                    .destroy = destroy };

/* ---- making one ------------------------------------------------------------------------------- */

/* One row, made of the vector's buffer, where OpenCL 1.2 and the device allow that; else rows of
 * 2^log_width numbers. Wang's vectors begin and end with their buffers. */
static kry_status plan_texture1d(laplacian *A, const kry_device_info *info)
{
    kry_status st = KRY_OK;
    size_t texels = 0, largest[2], count = (size_t)A->n * (size_t)A->n;

    if (info->opencl >= 120)
        TRY(paper_check(clGetDeviceInfo(kry_device_id(A->device), CL_DEVICE_IMAGE_MAX_BUFFER_SIZE,
                                        sizeof texels, &texels, NULL),
                        "clGetDeviceInfo"));
    A->wraps = count <= texels;
    if (A->wraps) goto done;
    TRY(image_largest(A->device, largest));
    while ((size_t)2 << A->log_width <= largest[0] && (size_t)1 << A->log_width < count)
        A->log_width++;
    A->size[0] = (size_t)1 << A->log_width;
    A->size[1] = (count + A->size[0] - 1) / A->size[0];
    CHECK(A->size[1] <= largest[1], KRY_ERR_UNSUPPORTED,
          "path texture1d: x of %zu numbers fits into no image of '%s': %zu in one row, %zu x %zu "
          "in two dimensions; %s",
          count, info->name, texels, largest[0], largest[1], instead);
done:
    return st;
}

static kry_status plan_texture2d(laplacian *A, const kry_device_info *info)
{
    kry_status st = KRY_OK;
    size_t largest[2], n = (size_t)A->n;

    TRY(image_largest(A->device, largest));
    CHECK(n <= largest[0] && n <= largest[1], KRY_ERR_UNSUPPORTED,
          "path texture2d: a grid of %zu x %zu fits into no image of '%s', %zu x %zu at most; %s",
          n, n, info->name, largest[0], largest[1], instead);
    A->size[0] = A->size[1] = n;
done:
    return st;
}

static kry_status make_image(laplacian *A)
{
    kry_status st = KRY_OK;
    const kry_device_info *info = kry_device_get_info(A->device);

    CHECK(info->images, KRY_ERR_UNSUPPORTED,
          "path %s reads x as an image, and '%s' has no images; %s", names[A->path], info->name,
          instead);
    TRY(A->path == WANG_TEXTURE1D ? plan_texture1d(A, info) : plan_texture2d(A, info));
    TRY(texel_choose(A->device, KRY_F64, CL_MEM_READ_ONLY,
                     A->wraps ? CL_MEM_OBJECT_IMAGE1D_BUFFER : CL_MEM_OBJECT_IMAGE2D, &A->how));
    if (!A->wraps) TRY(image_create(A->device, &A->how, CL_MEM_READ_ONLY, A->size, &A->image));
done:
    return st;
}

kry_status wang_create(kry_device *device, wang_path path, int64_t n, kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_op_shape shape = { n * n, n * n, KRY_F64, KRY_POSITIVE };
    laplacian *A = calloc(1, sizeof *A);
    char options[64];

    *op = NULL;
    CHECK(A, KRY_ERR_MEMORY, "wang_create: out of memory");
    *A = (laplacian){ .device = device, .path = path, .n = (cl_int)n };
    if (path >= WANG_TEXTURE1D) TRY(make_image(A));
    snprintf(options, sizeof options, "%s%s",
             path == WANG_LOCAL       ? "-DTILES"
             : path == WANG_TEXTURE2D ? "-DX_PLANE"
             : path == WANG_GLOBAL    ? ""
             : A->wraps               ? "-DX_IMAGE=1 -cl-std=CL1.2"
                                      : "-DX_IMAGE=2",
             A->how.bytes ? " -DTEXEL_BYTES" : "");
    TRY(kry_device_kernel(device, KRY_F64, "wang", NULL, options, "wang_apply", &A->kernel));
    TRY(kry_op_create(device, &table, A, &shape, op));
    A = NULL;
done:
    destroy(A);
    return st;
}
