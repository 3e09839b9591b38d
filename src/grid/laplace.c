/* laplace.c - Jacobi's iteration for the Laplace equation: names, checks, and the front doors of
 * all kinds of iterations. */
#include "grid/laplace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[KRY_LAPLACE_KERNEL_COUNT] = {
#define X(name, word) [name] = word,
    KRY_LAPLACE_KERNEL_LIST(X)
#undef X
};

static const kry_laplace_table *const tables[KRY_LAPLACE_KERNEL_COUNT] = {
    [KRY_LAPLACE_STREAM] = &kry_laplace_march, [KRY_LAPLACE_BLOCK] = &kry_laplace_march,
    [KRY_LAPLACE_K1] = &kry_laplace_buffers,   [KRY_LAPLACE_K2] = &kry_laplace_buffers,
    [KRY_LAPLACE_K3] = &kry_laplace_buffers,   [KRY_LAPLACE_K4] = &kry_laplace_buffers,
    [KRY_LAPLACE_K5] = &kry_laplace_images,    [KRY_LAPLACE_K6] = &kry_laplace_images,
    [KRY_LAPLACE_K7] = &kry_laplace_images,    [KRY_LAPLACE_K8] = &kry_laplace_matrix,
    [KRY_LAPLACE_K1A] = &kry_laplace_resident, [KRY_LAPLACE_K2A] = &kry_laplace_resident,
    [KRY_LAPLACE_K3A] = &kry_laplace_resident, [KRY_LAPLACE_K4A] = &kry_laplace_resident,
};

const char *kry_laplace_kernel_name(kry_laplace_kernel kernel)
{
    return (unsigned)kernel < KRY_LAPLACE_KERNEL_COUNT ? names[kernel] : "?";
}

kry_status kry_laplace_kernel_parse(const char *word, kry_laplace_kernel *kernel)
{
    kry_status st = KRY_OK;
    char all[200] = "";
    size_t used = 0;

    for (int i = 0; i < KRY_LAPLACE_KERNEL_COUNT; i++) {
        if (word && !strcmp(word, names[i])) return *kernel = (kry_laplace_kernel)i, KRY_OK;
        used += (size_t)snprintf(all + used, sizeof all - used, " %s", names[i]);
    }
    *kernel = KRY_LAPLACE_STREAM;
    CHECK(false, KRY_ERR_PARSE, "kry_laplace_kernel_parse: \"%s\" is none of%s", word ? word : "",
          all);
done:
    return st;
}

/* ---- making --------------------------------------------------------------------------- */

static kry_status check_params(const kry_device *dev, kry_type type, const kry_laplace_params *p)
{
    kry_status st = KRY_OK;
    const int64_t *size = p->size, most = INT32_MAX;

    TRY(kry_type_check("kry_laplace_create", dev, type));
    CHECK((unsigned)p->kernel < KRY_LAPLACE_KERNEL_COUNT, KRY_ERR_ARGUMENT,
          "kry_laplace_create: %d is no kernel", (int)p->kernel);
    CHECK(size[0] >= 1 && size[1] >= 1 && size[2] >= 1, KRY_ERR_ARGUMENT,
          "kry_laplace_create: %lld x %lld x %lld points are no box", (long long)size[0],
          (long long)size[1], (long long)size[2]);
    CHECK(size[0] <= most && size[1] <= most / size[0] && size[2] <= most / (size[0] * size[1]),
          KRY_ERR_ARGUMENT, "kry_laplace_create: %lld x %lld x %lld are 2^31 points or more",
          (long long)size[0], (long long)size[1], (long long)size[2]);
done:
    return st;
}

kry_status kry_laplace_create(kry_device *dev, kry_type type, const kry_laplace_params *params,
                              kry_laplace **laplace)
{
    kry_status st = KRY_OK;
    kry_laplace *L = NULL;

    *laplace = NULL;
    CHECK(dev && params, KRY_ERR_ARGUMENT, "kry_laplace_create: NULL");
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT,
          "kry_laplace_create: struct_size is %zu instead of %zu; use KRY_LAPLACE()",
          params->struct_size, sizeof *params);
    TRY(check_params(dev, type, params));
    TRY(kry_alloc(1, sizeof *L, &L));
    *L = (kry_laplace){ .refs = 1,
                        .dev = kry_device_retain(dev),
                        .type = type,
                        .kernel = params->kernel,
                        .table = tables[params->kernel],
                        .launches_per_sweep = 1 };
    for (int a = 0; a < 3; a++) L->size[a] = (cl_int)params->size[a];
    L->n = params->size[0] * params->size[1] * params->size[2];
    L->bytes_per_sweep = 2.0 * (double)L->n * (double)kry_type_size(type);
    TRY(kry_sum_create(dev, 1, &L->sum));
    TRY(L->table->build(L, params));
    *laplace = L;
    L = NULL;
done:
    kry_laplace_release(&L);
    return st;
}

kry_laplace *kry_laplace_retain(kry_laplace *L)
{
    L->refs++;
    return L;
}

void kry_laplace_release(kry_laplace **laplace)
{
    kry_laplace *L = *laplace;
    *laplace = NULL;
    if (!L || --L->refs) return;
    if (L->table->destroy) L->table->destroy(L);
    free(L->extra);
    for (int i = 0; i < 2; i++) {
        kry_vec_release(&L->w[i]);
        kry_buffer_release(L->dev, &L->image[i]);
    }
    kry_buffer_release(L->dev, &L->faces);
    kry_sum_release(&L->sum);
    kry_device_release(&L->dev);
    free(L);
}

/* ---- using ---------------------------------------------------------------------------- */

kry_status kry_laplace_run(kry_laplace *L, int64_t steps, double *change2)
{
    kry_status st = KRY_OK;

    if (change2) *change2 = 0;
    CHECK(L, KRY_ERR_ARGUMENT, "kry_laplace_run: NULL");
    CHECK(steps >= 0, KRY_ERR_ARGUMENT, "kry_laplace_run: %lld sweeps", (long long)steps);
    if (steps == 0) return KRY_OK;
    /* The last sweep alone, where one launch makes several: the sum is over its updates. */
    if (change2 && steps > 1) TRY(L->table->sweep(L, steps - 1));
    TRY(L->table->sweep(L, change2 ? 1 : steps));
    if (change2) TRY(L->table->change(L, change2));
done:
    return st;
}

kry_status kry_laplace_read(const kry_laplace *L, void *host)
{
    if (!L || !host) return kry_fail(KRY_ERR_ARGUMENT, "kry_laplace_read: NULL");
    return L->table->transfer(L, host, false);
}

kry_status kry_laplace_write(kry_laplace *L, const void *host)
{
    if (!L || !host) return kry_fail(KRY_ERR_ARGUMENT, "kry_laplace_write: NULL");
    return L->table->transfer(L, (void *)host, true);
}

void kry_laplace_describe(const kry_laplace *L, kry_laplace_info *info)
{
    *info = (kry_laplace_info){ .kernel = L->kernel,
                                .type = L->type,
                                .size = { L->size[0], L->size[1], L->size[2] },
                                .variant = L->variant,
                                .bytes_per_sweep = L->bytes_per_sweep,
                                .launches_per_sweep = L->launches_per_sweep };
}

/* ---- what several kinds need ---------------------------------------------------------- */

kry_status kry_laplace_change_of_vectors(kry_laplace *L, double *change2)
{
    kry_status st = KRY_OK;
    int64_t n = L->w[0]->n, groups = kry_groups_for_sums(L->dev, L->type, n);
    const kry_arg args[] = { ARG(n), ARG(L->w[L->now]->buffer), ARG(L->w[!L->now]->buffer),
                             ARG(L->sum->buffer) };

    TRY(kry_launch(L->dev, L->kernel_change, groups, args, COUNT(args)));
    L->sum->count = (cl_int)groups;
    TRY(kry_sum_read(&L->dev->layout, L->sum, change2));
done:
    return st;
}

kry_status kry_laplace_transfer_vector(const kry_laplace *L, void *host, bool write)
{
    return write ? kry_vec_write(L->w[L->now], host) : kry_vec_read(L->w[L->now], host);
}

int64_t kry_laplace_tiles(const kry_laplace *L)
{
    static const int64_t tile[] = { KRY_LAPLACE_TILE_X, KRY_LAPLACE_TILE_Y, KRY_LAPLACE_TILE_Z };
    int64_t tiles = 1;
    for (int a = 0; a < 3; a++) tiles *= (L->size[a] + tile[a] - 1) / tile[a];
    return tiles;
}
