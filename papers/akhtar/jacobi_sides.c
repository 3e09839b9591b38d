/* jacobi_sides.c - the values on the sides of the box, as a vector or as an image. */
#include "../image.h"
#include "jacobi.h"
#include <stdlib.h>

static int64_t width_of(const jacobi *J)
{
    return J->size[0] > J->size[1] ? J->size[0] : J->size[1];
}

static int64_t rows_of(const jacobi *J)
{
    return 4 * (int64_t)J->size[2] + 2 * (int64_t)J->size[1];
}

static void put_number(kry_type type, void *numbers, int64_t at, double v)
{
    if (type == KRY_F32)
        ((float *)numbers)[at] = (float)v;
    else
        ((double *)numbers)[at] = v;
}

/* On the host, to be freed. */
static kry_status collect_sides(const jacobi *J, const jacobi_box *box, void **sides)
{
    kry_status st = KRY_OK;
    int64_t width = width_of(J), row = 0;

    *sides = calloc((size_t)(width * rows_of(J)), kry_type_size(J->type));
    CHECK(*sides, KRY_ERR_MEMORY, "jacobi_create: out of memory");
    for (int side = 0; side < SIDES; side++) {
        const double *v = box->side[side];
        int64_t across = J->size[side < 2], down = J->size[side < 4 ? 2 : 1];
        for (int64_t q = 0; v && q < down; q++)
            for (int64_t p = 0; p < across; p++)
                put_number(J->type, *sides, (row + q) * width + p, v[q * across + p]);
        row += down;
    }
done:
    return st;
}

kry_status jacobi_make_sides(jacobi *J, const jacobi_box *box)
{
    kry_status st = KRY_OK;
    void *host = NULL;

    TRY(collect_sides(J, box, &host));
    TRY(kry_vec_create(J->device, J->type, width_of(J) * rows_of(J), 1, &J->sides));
    TRY(kry_vec_write(J->sides, host));
done:
    free(host);
    return st;
}

kry_status jacobi_make_sides_image(jacobi *J, const jacobi_box *box, bool *bytes)
{
    kry_status st = KRY_OK;
    const kry_device_info *info = kry_device_get_info(J->device);
    const char *name = jacobi_kernel_name(J->kernel);
    const size_t size[3] = { (size_t)width_of(J), (size_t)rows_of(J) };
    const size_t corner[3] = { 0 }, region[3] = { size[0], size[1], 1 };
    size_t most[2] = { 0 };
    void *host = NULL;
    texel how;

    CHECK(info->images, KRY_ERR_UNSUPPORTED,
          "%s reads the sides as an image, and '%s' has no images; use k1 or k3", name, info->name);
    TRY(image_largest(J->device, most));
    CHECK(size[0] <= most[0] && size[1] <= most[1], KRY_ERR_UNSUPPORTED,
          "%s: the sides need an image of %zu x %zu, '%s' has %zu x %zu at most; use k1 or k3",
          name, size[0], size[1], info->name, most[0], most[1]);
    TRY(collect_sides(J, box, &host));
    TRY(texel_choose(J->device, J->type, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, &how));
    TRY(image_create(J->device, &how, CL_MEM_READ_ONLY, size, &J->sides_image));
    TRY(paper_check(clEnqueueWriteImage(kry_device_queue(J->device), J->sides_image, CL_TRUE,
                                        corner, region, 0, 0, host, 0, NULL, NULL),
                    "clEnqueueWriteImage"));
    *bytes = how.bytes;
done:
    free(host);
    return st;
}
