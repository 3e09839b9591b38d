/* laplace_buffers.c - k1 to k4: points in buffers, sides in a buffer or an image, neighbours from
 * global or from local memory. Kernels: cl/laplace.cl. */
#include "grid/laplace.h"
#include <stdio.h>

static bool by_tiles(const kry_laplace *L)
{
    return L->kernel == KRY_LAPLACE_K3 || L->kernel == KRY_LAPLACE_K4;
}
static bool by_texture(const kry_laplace *L)
{
    return L->kernel == KRY_LAPLACE_K2 || L->kernel == KRY_LAPLACE_K4;
}

static kry_status buffers_build(kry_laplace *L, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    kry_texel texel = { .bytes = false };
    char defines[160] = "";

    if (by_texture(L))
        TRY(kry_laplace_faces_image(L, params, &texel));
    else
        TRY(kry_laplace_faces_buffer(L, params));
    for (int i = 0; i < 2; i++) TRY(kry_vec_create(L->dev, L->type, L->n, 1, &L->w[i]));
    int used = snprintf(defines, sizeof defines, "%s%s", by_texture(L) ? " -DFACES_IMAGE" : "",
                        texel.bytes ? " -DTEXEL_BYTES" : "");
    if (by_tiles(L))
        snprintf(defines + used, sizeof defines - (size_t)used,
                 " -DTILE_X=%d -DTILE_Y=%d -DTILE_Z=%d", KRY_LAPLACE_TILE_X, KRY_LAPLACE_TILE_Y,
                 KRY_LAPLACE_TILE_Z);
    snprintf(L->variant, sizeof L->variant, "%s, sides in %s",
             by_tiles(L) ? "tiles in local memory" : "global memory",
             by_texture(L) ? "an image" : "global memory");
    TRY(kry_kernel_get(L->dev, "laplace", L->type, defines,
                       by_tiles(L) ? "laplace_tile" : "laplace_point", &L->kernel_sweep));
    TRY(kry_kernel_get(L->dev, "laplace", L->type, defines, "laplace_change", &L->kernel_change));
done:
    return st;
}

static int64_t groups_of(const kry_laplace *L)
{
    enum { MOST = 65535 }; /* that devices before Kepler take */
    int64_t size = kry_group_size(L->dev), points = (L->n + size - 1) / size;
    int64_t groups = by_tiles(L) ? kry_laplace_tiles(L) : points;
    if (L->dev->info.cpu_kernels) return kry_groups_for(L->dev, L->type, L->n);
    return groups < MOST ? groups : MOST;
}

static kry_status buffers_sweep(kry_laplace *L, int64_t steps)
{
    kry_status st = KRY_OK;
    const cl_int cols = 0;

    for (; steps > 0; steps--) {
        const kry_arg args[] = {
            ARG(L->size[0]), ARG(L->size[1]),           ARG(L->size[2]),           ARG(cols),
            ARG(L->faces),   ARG(L->w[L->now]->buffer), ARG(L->w[!L->now]->buffer)
        };
        TRY(kry_launch(L->dev, L->kernel_sweep, groups_of(L), args, COUNT(args)));
        L->now = !L->now;
    }
done:
    return st;
}

const kry_laplace_table kry_laplace_buffers = { .build = buffers_build,
                                                .sweep = buffers_sweep,
                                                .change = kry_laplace_change_of_vectors,
                                                .transfer = kry_laplace_transfer_vector };
