/* laplace_faces.c - the values on the sides of the box, as a buffer or as an image. */
#include "grid/laplace.h"
#include <math.h>
#include <stdlib.h>

static const char *const side_names[KRY_SIDES] = { "x low",  "x high", "y low",
                                                   "y high", "z low",  "z high" };

int64_t kry_laplace_face_width(const kry_laplace *L)
{
    return L->size[0] > L->size[1] ? L->size[0] : L->size[1];
}

int64_t kry_laplace_face_rows(const kry_laplace *L)
{
    return 4 * (int64_t)L->size[2] + 2 * (int64_t)L->size[1];
}

/* One number at `at`, in the type of L; false if that has no such number. */
static bool put(const kry_laplace *L, void *faces, int64_t at, double v)
{
    kry_number_put(L->type, faces, at, v);
    return isfinite(kry_number_at(L->type, faces, at));
}

static kry_status put_side(const kry_laplace *L, int side, const double *v, int64_t row,
                           void *faces)
{
    kry_status st = KRY_OK;
    int64_t across = side < 2 ? L->size[1] : L->size[0], down = side < 4 ? L->size[2] : L->size[1];
    int64_t width = kry_laplace_face_width(L);

    for (int64_t q = 0; q < down; q++)
        for (int64_t p = 0; p < across; p++)
            CHECK(put(L, faces, (row + q) * width + p, v[q * across + p]), KRY_ERR_ARGUMENT,
                  "kry_laplace_create: face '%s' has %g at (%lld, %lld), no finite number in %s",
                  side_names[side], v[q * across + p], (long long)p, (long long)q,
                  kry_type_name(L->type));
done:
    return st;
}

kry_status kry_laplace_faces(const kry_laplace *L, const kry_laplace_params *params, void **faces)
{
    kry_status st = KRY_OK;
    int64_t row = 0;

    TRY(kry_alloc((size_t)(kry_laplace_face_width(L) * kry_laplace_face_rows(L)),
                  kry_type_size(L->type), faces));
    for (int side = 0; side < KRY_SIDES; side++) {
        if (params->face[side]) TRY(put_side(L, side, params->face[side], row, *faces));
        row += side < 4 ? L->size[2] : L->size[1];
    }
done:
    if (st < 0) free(*faces), *faces = NULL;
    return st;
}

kry_status kry_laplace_faces_buffer(kry_laplace *L, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    size_t bytes =
        (size_t)(kry_laplace_face_width(L) * kry_laplace_face_rows(L)) * kry_type_size(L->type);
    void *host = NULL;

    TRY(kry_laplace_faces(L, params, &host));
    TRY(kry_buffer_create(L->dev, bytes, &L->faces));
    TRY_CL(clEnqueueWriteBuffer(L->dev->queue, L->faces, CL_TRUE, 0, bytes, host, 0, NULL, NULL));
done:
    free(host);
    return st;
}

kry_status kry_laplace_faces_image(kry_laplace *L, const kry_laplace_params *params,
                                   kry_texel *texel)
{
    kry_status st = KRY_OK;
    const kry_device_info *info = &L->dev->info;
    const char *name = kry_laplace_kernel_name(L->kernel);
    const size_t size[3] = { (size_t)kry_laplace_face_width(L), (size_t)kry_laplace_face_rows(L) };
    const size_t corner[3] = { 0 }, region[3] = { size[0], size[1], 1 };
    size_t most[2] = { 0 };
    void *host = NULL;

    CHECK(info->images, KRY_ERR_UNSUPPORTED,
          "%s reads the sides as an image, and '%s' has no images; use k1 or k3", name, info->name);
    TRY_CL(
        clGetDeviceInfo(L->dev->id, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof most[0], &most[0], NULL));
    TRY_CL(
        clGetDeviceInfo(L->dev->id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof most[1], &most[1], NULL));
    CHECK(size[0] <= most[0] && size[1] <= most[1], KRY_ERR_UNSUPPORTED,
          "%s: the sides need an image of %zu x %zu, '%s' has %zu x %zu at most; use k1 or k3",
          name, size[0], size[1], info->name, most[0], most[1]);
    TRY(kry_laplace_faces(L, params, &host));
    TRY(kry_texel_choose(L->dev, L->type, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, texel));
    TRY(kry_texel_image(L->dev, texel, CL_MEM_READ_ONLY, size, &L->faces));
    TRY_CL(clEnqueueWriteImage(L->dev->queue, L->faces, CL_TRUE, corner, region, 0, 0, host, 0,
                               NULL, NULL));
done:
    free(host);
    return st;
}
