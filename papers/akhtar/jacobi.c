/* jacobi.c - Jacobi's iteration for the Laplace equation: names, and what all kinds of iterations
 * have in common. */
#include "jacobi.h"
#include "../image.h"
#include <stdio.h>
#include <stdlib.h>

static const struct way {
    const char *name;
    const jacobi_kind *kind;
    bool tiles, texture;
} ways[JACOBI_KERNEL_COUNT] = {
    [JACOBI_STREAM] = { "stream", &jacobi_march, false, false },
    [JACOBI_BLOCK] = { "block", &jacobi_march, false, false },
    [JACOBI_K1] = { "k1", &jacobi_buffers, false, false },
    [JACOBI_K2] = { "k2", &jacobi_buffers, false, true },
    [JACOBI_K3] = { "k3", &jacobi_buffers, true, false },
    [JACOBI_K4] = { "k4", &jacobi_buffers, true, true },
    [JACOBI_K5] = { "k5", &jacobi_images, false, false },
    [JACOBI_K6] = { "k6", &jacobi_images, false, false },
    [JACOBI_K7] = { "k7", &jacobi_images, true, false },
    [JACOBI_K8] = { "k8", &jacobi_matrix, false, false },
    [JACOBI_K1A] = { "k1a", &jacobi_buffers, false, false },
    [JACOBI_K2A] = { "k2a", &jacobi_buffers, false, true },
    [JACOBI_K3A] = { "k3a", &jacobi_buffers, true, false },
    [JACOBI_K4A] = { "k4a", &jacobi_buffers, true, true },
};

const char *jacobi_kernel_name(jacobi_kernel kernel) { return ways[kernel].name; }
bool jacobi_by_tiles(jacobi_kernel kernel) { return ways[kernel].tiles; }
bool jacobi_by_texture(jacobi_kernel kernel) { return ways[kernel].texture; }

/* ---- making --------------------------------------------------------------------------- */

static kry_status start_from_zero(jacobi *J)
{
    kry_status st = KRY_OK;
    kry_vec *zero = NULL;

    TRY(kry_vec_create(J->device, J->type, J->n, 1, &zero));
    TRY(J->kind->put(J, zero));
done:
    kry_vec_release(&zero);
    return st;
}

kry_status jacobi_create(kry_device *device, kry_type type, jacobi_kernel kernel,
                         const jacobi_box *box, jacobi **out)
{
    kry_status st = KRY_OK;
    jacobi *J = calloc(1, sizeof *J);

    *out = NULL;
    CHECK(J, KRY_ERR_MEMORY, "jacobi_create: out of memory");
    *J = (jacobi){ .device = kry_device_retain(device),
                   .type = type,
                   .kernel = kernel,
                   .kind = ways[kernel].kind,
                   .n = box->size[0] * box->size[1] * box->size[2],
                   .launches_per_sweep = 1 };
    for (int a = 0; a < 3; a++) J->size[a] = (cl_int)box->size[a];
    TRY(J->kind->build(J, box));
    TRY(start_from_zero(J));
    *out = J;
    J = NULL;
done:
    jacobi_release(&J);
    return st;
}

void jacobi_release(jacobi **released)
{
    jacobi *J = *released;
    *released = NULL;
    if (!J) return;
    if (J->extra && J->kind->destroy) J->kind->destroy(J);
    free(J->extra);
    if (J->step) clReleaseKernel(J->step);
    for (int i = 0; i < 2; i++) {
        kry_vec_release(&J->w[i]);
        image_release(J->device, &J->image[i]);
    }
    image_release(J->device, &J->sides_image);
    kry_vec_release(&J->sides);
    kry_device_release(&J->device);
    free(J);
}

/* ---- using ---------------------------------------------------------------------------- */

static kry_status change_of(const jacobi *J, double *change2)
{
    kry_status st = KRY_OK;
    kry_vec *v[2] = { NULL };

    for (int i = 0; i < 2; i++) {
        TRY(kry_vec_create(J->device, J->type, J->n, 1, &v[i]));
        TRY(J->kind->get(J, i ? !J->now : J->now, v[i]));
    }
    TRY(kry_vec_axpby(-1, v[1], 1, v[0]));
    TRY(kry_vec_dot(v[0], v[0], change2));
done:
    for (int i = 0; i < 2; i++) kry_vec_release(&v[i]);
    return st;
}

/* The last sweep is made alone if its change is asked for, since one launch may make several. */
kry_status jacobi_run(jacobi *J, int64_t steps, double *change2)
{
    kry_status st = KRY_OK;

    if (change2) *change2 = 0;
    if (steps == 0) return KRY_OK;
    if (change2 && steps > 1) TRY(J->kind->sweep(J, steps - 1));
    TRY(J->kind->sweep(J, change2 ? 1 : steps));
    if (change2) TRY(change_of(J, change2));
done:
    return st;
}

kry_status jacobi_read(const jacobi *J, void *host)
{
    kry_status st = KRY_OK;
    kry_vec *points = NULL;

    TRY(kry_vec_create(J->device, J->type, J->n, 1, &points));
    TRY(J->kind->get(J, J->now, points));
    TRY(kry_vec_read(points, host));
done:
    kry_vec_release(&points);
    return st;
}

kry_status jacobi_write(jacobi *J, const void *host)
{
    kry_status st = KRY_OK;
    kry_vec *points = NULL;

    TRY(kry_vec_create(J->device, J->type, J->n, 1, &points));
    TRY(kry_vec_write(points, host));
    TRY(J->kind->put(J, points));
done:
    kry_vec_release(&points);
    return st;
}

/* ---- what several kinds need ---------------------------------------------------------- */

const char *jacobi_tile_defines(jacobi_kernel kernel)
{
    return jacobi_by_tiles(kernel) ? " -DTILE_X=32 -DTILE_Y=4 -DTILE_Z=4" : "";
}

static int64_t tiles_of(const jacobi *J)
{
    static const int64_t tile[] = { 32, 4, 4 }; /* as in the defines */
    int64_t tiles = 1;
    for (int a = 0; a < 3; a++) tiles *= (J->size[a] + tile[a] - 1) / tile[a];
    return tiles;
}

/* 65535 is the most that devices before Kepler take. */
int64_t jacobi_groups(const jacobi *J)
{
    int64_t tiles = tiles_of(J);
    if (!jacobi_by_tiles(J->kernel) || kry_device_get_info(J->device)->cpu_kernels)
        return kry_device_groups(J->device, J->type, J->n);
    return tiles < 65535 ? tiles : 65535;
}

kry_status jacobi_get_kernel(const jacobi *J, const char *stem, const char *defines,
                             const char *name, cl_kernel *kernel)
{
    return kry_device_kernel(J->device, J->type, stem, NULL, defines, name, kernel);
}
