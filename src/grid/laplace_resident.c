/*
 * laplace_resident.c - k1a to k4a: k1 to k4 with all sweeps in one launch, in which the groups wait
 * for each other (cl/barrier.clh). Kernels: cl/laplace.cl.
 *
 * A launch that was aborted leaves points of several sweeps. So each begins with a copy of the
 * points, from which an iteration of the plain kind, made beforehand, goes on; it stays with that.
 *
 * Source  S. Xiao, W. Feng, Inter-block GPU communication via fast barrier synchronization,
 *         IPDPS 2010.
 */
#include "device/barrier.h"
#include "grid/laplace.h"
#include <stdio.h>
#include <stdlib.h>

/* Sweeps in one launch, so that none takes so long that a driver ends it. */
enum { MOST_SWEEPS = 1000 };

typedef struct resident {
    kry_laplace *plain; /* k1 to k4 for k1a to k4a; its w and faces are used */
    kry_vec *kept;      /* the points before a launch */
    kry_barrier *barrier;
    bool by_tiles;
} resident;

static const struct {
    kry_laplace_kernel plain;
    bool by_tiles, by_texture;
} ways[KRY_LAPLACE_KERNEL_COUNT] = {
    [KRY_LAPLACE_K1A] = { KRY_LAPLACE_K1, false, false },
    [KRY_LAPLACE_K2A] = { KRY_LAPLACE_K2, false, true },
    [KRY_LAPLACE_K3A] = { KRY_LAPLACE_K3, true, false },
    [KRY_LAPLACE_K4A] = { KRY_LAPLACE_K4, true, true },
};

static void resident_destroy(kry_laplace *L)
{
    resident *r = L->extra;
    if (!r) return;
    kry_barrier_release(&r->barrier);
    kry_vec_release(&r->kept);
    kry_laplace_release(&r->plain);
}

/* ---- making ----------------------------------------------------------------------------- */

enum { ARGS = 9 };

/* The first is the barrier's. */
static void arguments(const kry_laplace *p, const cl_int *cols, const cl_int *steps,
                      kry_arg args[ARGS])
{
    const kry_arg all[ARGS] = {
        { 0 },      ARG(p->size[0]), ARG(p->size[1]),           ARG(p->size[2]),
        ARG(*cols), ARG(p->faces),   ARG(p->w[p->now]->buffer), ARG(p->w[!p->now]->buffer),
        ARG(*steps)
    };
    for (int i = 0; i < ARGS; i++) args[i] = all[i];
}

static kry_status get_kernel(kry_laplace *L, const resident *r)
{
    kry_status st = KRY_OK;
    kry_texel texel = { .bytes = false };
    char defines[160];

    if (ways[L->kernel].by_texture)
        TRY(kry_texel_choose(L->dev, L->type, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, &texel));
    int used = snprintf(defines, sizeof defines, "-DRESIDENT%s%s",
                        ways[L->kernel].by_texture ? " -DFACES_IMAGE" : "",
                        texel.bytes ? " -DTEXEL_BYTES" : "");
    if (r->by_tiles)
        snprintf(defines + used, sizeof defines - (size_t)used,
                 " -DTILE_X=%d -DTILE_Y=%d -DTILE_Z=%d", KRY_LAPLACE_TILE_X, KRY_LAPLACE_TILE_Y,
                 KRY_LAPLACE_TILE_Z);
    TRY(kry_kernel_get(L->dev, "laplace", L->type, defines,
                       r->by_tiles ? "laplace_tile_resident" : "laplace_point_resident",
                       &L->kernel_sweep));
done:
    return st;
}

static kry_status get_barrier(kry_laplace *L, resident *r)
{
    kry_status st = KRY_OK;
    const cl_int cols = 0, steps = 1;
    const char *plain = kry_laplace_kernel_name(r->plain->kernel);
    kry_arg args[ARGS];

    arguments(r->plain, &cols, &steps, args);
    TRY(kry_barrier_create(L->dev, L->kernel_sweep, kry_group_size(L->dev), args, ARGS,
                           &r->barrier));
    CHECK(kry_barrier_groups(r->barrier) > 0, KRY_ERR_UNSUPPORTED,
          "%s: groups of '%s' do not pass each other messages reliably; use %s",
          kry_laplace_kernel_name(L->kernel), L->dev->info.name, plain);
    snprintf(L->variant, sizeof L->variant, "%.50s, %d groups wait for each other",
             r->plain->variant, kry_barrier_groups(r->barrier));
done:
    return st;
}

static kry_status resident_build(kry_laplace *L, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    kry_laplace_params plain = *params;
    resident *r;

    plain.kernel = ways[L->kernel].plain;
    /* A core runs one group at a time: a group that waits keeps it from the others. */
    CHECK(!L->dev->info.cpu_kernels, KRY_ERR_UNSUPPORTED,
          "%s: groups do not wait for each other on '%s', a CPU; use %s",
          kry_laplace_kernel_name(L->kernel), L->dev->info.name,
          kry_laplace_kernel_name(plain.kernel));
    TRY(kry_alloc(1, sizeof *r, &r));
    L->extra = r;
    r->by_tiles = ways[L->kernel].by_tiles;
    TRY(kry_laplace_create(L->dev, L->type, &plain, &r->plain));
    TRY(kry_vec_create(L->dev, L->type, L->n, 1, &r->kept));
    TRY(get_kernel(L, r));
    TRY(get_barrier(L, r));
    L->launches_per_sweep = 0;
done:
    return st;
}

/* ---- sweeping --------------------------------------------------------------------------- */

static int groups_of(const kry_laplace *L)
{
    const resident *r = L->extra;
    int64_t size = kry_group_size(L->dev), points = (L->n + size - 1) / size;
    int64_t useful = r->by_tiles ? kry_laplace_tiles(L) : points;
    int most = kry_barrier_groups(r->barrier);
    return useful < most ? (int)useful : most;
}

/* false: aborted; the points are as they were. Waits. */
static kry_status launch(kry_laplace *L, cl_int steps, bool *finished)
{
    kry_status st = KRY_OK;
    resident *r = L->extra;
    kry_laplace *p = r->plain;
    const cl_int cols = 0;
    kry_arg args[ARGS];

    TRY(kry_vec_copy(p->w[p->now], r->kept));
    arguments(p, &cols, &steps, args);
    TRY(kry_barrier_launch(r->barrier, groups_of(L), args, ARGS));
    TRY(kry_barrier_finished(r->barrier, finished));
    if (*finished)
        p->now = steps % 2 ? !p->now : p->now;
    else
        TRY(kry_vec_copy(r->kept, p->w[p->now]));
done:
    return st;
}

static kry_status resident_sweep(kry_laplace *L, int64_t steps)
{
    kry_status st = KRY_OK;
    resident *r = L->extra;
    bool finished = true;

    while (steps > 0 && finished && kry_barrier_groups(r->barrier) > 0) {
        cl_int share = steps < MOST_SWEEPS ? (cl_int)steps : MOST_SWEEPS;
        TRY(launch(L, share, &finished));
        if (finished) steps -= share;
    }
    if (steps > 0) {
        TRY(r->plain->table->sweep(r->plain, steps));
        L->launches_per_sweep = 1;
        snprintf(L->variant, sizeof L->variant, "%.50s, after a wait that did not end",
                 r->plain->variant);
    }
done:
    return st;
}

static kry_status resident_change(kry_laplace *L, double *change2)
{
    resident *r = L->extra;
    return r->plain->table->change(r->plain, change2);
}

static kry_status resident_transfer(const kry_laplace *L, void *host, bool write)
{
    const resident *r = L->extra;
    return r->plain->table->transfer(r->plain, host, write);
}

const kry_laplace_table kry_laplace_resident = { .build = resident_build,
                                                 .sweep = resident_sweep,
                                                 .change = resident_change,
                                                 .transfer = resident_transfer,
                                                 .destroy = resident_destroy };
