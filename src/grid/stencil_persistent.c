/*
 * stencil_persistent.c - the product of a grid in a persistent kernel: which shape of groups holds its vectors
 * in registers and local memory. Kernels: cl/grid/resident.cl, cl/grid/resident_pipe.cl. What runs them is
 * src/operator/resident.c.
 */
#include "grid/stencil.h"
#include "operator/resident.h"
#include <stdio.h>

/* Work-items per group, unknowns per work-item, and whether groups keep what is multiplied in local memory; they
 * do where conjugate gradients are pipelined. */
typedef struct shape {
    int group, per, shared, pipelined;
} shape;

/* ---- shapes -------------------------------------------------------------------------------
 *
 * About one group per compute unit. Barriers within small groups are cheap, and so are barriers
 * among few groups. The order is by speed on an H200. No group is larger than
 * 512, so that of 65536 registers each work-item has 128. */

static const shape gpu_shapes[] = { { 128, 1, 1, 1 }, { 256, 1, 1, 1 }, { 256, 2, 1, 1 },
                                    { 256, 4, 1, 1 }, { 512, 4, 1, 1 }, { 256, 16, 1, 0 },
                                    { 512, 8, 1, 0 }, { 512, 16, 1, 0 } };
static const shape cpu_shapes[] = {
    { 16, 1, 1, 1 }, { 32, 2, 1, 1 }, { 64, 4, 1, 0 }, { 64, 16, 1, 0 }
};

/* The local memory that a group needs. */
static int64_t local_bytes(const kryi_stencil *A, shape s)
{
    int64_t pair = 2 * (int64_t)sizeof(kryi_partial), slack = 512;
    return (s.group + 32) * pair + (int64_t)s.shared * s.group * s.per * kry_type_size(A->type) +
           slack;
}

/* A shape for experiments, from the tuning file: resident/shape group=256 per-item=2 shared=1 pipelined=1 */
static bool given_shape(kry_device *dev, shape *s)
{
    char text[64];
    s->pipelined = 0;
    return kryi_tuning_get(dev, "resident/shape", text, sizeof text) &&
           sscanf(text, "group=%d per-item=%d shared=%d pipelined=%d", &s->group, &s->per,
                  &s->shared, &s->pipelined) >= 3 &&
           s->group >= 8 && !(s->group & (s->group - 1)) && s->per >= 1 && s->per <= 16;
}

enum { MOST_IN_SPACE = 4096 }; /* unknowns of a group on three axes */

/* Whether groups of this shape, one per compute unit, can hold the grid. */
static bool fits(const kryi_stencil *A, shape s)
{
    const kry_device_info *info = &A->dev->info;
    /* In space so many planes lie between groups that an H100 took 13.4 us for 100^3 points in single, and launches 12.9. */
    if (A->axes == 3 && (int64_t)s.group * s.per > MOST_IN_SPACE) return false;
    return s.group <= info->max_group && local_bytes(A, s) <= info->local_bytes &&
           (int64_t)s.group * s.per * info->compute_units >= A->n;
}

static void defines(const kryi_stencil *A, shape s, char *text, size_t size)
{
    size_t used =
        (size_t)snprintf(text, size, "-DGROUP=%d -DPER=%d -DAXES=%d%s%s", s.group, s.per, A->axes,
                         s.shared ? " -DSHARED" : "", A->face[0] ? " -DCOEFFICIENT" : "");
    for (int a = 0; a < A->axes; a++)
        used += (size_t)snprintf(text + used, size - used, " -DWRAP%d=%d -DLOW%d=%d -DHIGH%d=%d", a,
                                 A->low[a] == KRY_PERIODIC, a, kryi_ghost(A->low[a]), a,
                                 kryi_ghost(A->high[a]));
}

/* ---- the plug ----------------------------------------------------------------------- */

static void add_grid(const kryi_stencil *A, kryi_plug *plug)
{
    size_t word = kry_type_size(A->type);

    for (int a = 0; a < 3; a++) {
        const cl_int size = (cl_int)A->size[a];
        PLUG(plug, size);
    }
    for (int a = 0; a < 3; a++) {
        kryi_scalar weight;
        kryi_number_put(A->type, &weight, 0, A->weight[a]);
        kryi_plug_add(plug, &weight, word);
    }
    const cl_mem cells = A->face[0] ? *kryi_stencil_cells(A) : NULL;
    PLUG(plug, cells);
    for (int a = 0; a < 3; a++) PLUG(plug, A->face[a]);
}

/* Use groups of this shape if enough of them can wait for each other. */
static kry_status try_shape(const kryi_stencil *A, shape s, kryi_resident_cg **R)
{
    kry_status st = KRY_OK;
    char text[300];
    const int64_t per_group = (int64_t)s.group * s.per;
    kryi_plug plug = { .size = s.group,
                       .groups = (int)((A->n + per_group - 1) / per_group),
                       .shown = 2 };

    defines(A, s, text, sizeof text);
    TRY(kryi_kernel_get(A->dev, s.pipelined ? "resident_pipe" : "resident", A->type, text,
                        s.pipelined ? "resident_pipe" : "resident_cg", &plug.kernel));
    add_grid(A, &plug);
    TRY(kryi_resident_create(A->dev, A->type, A->n, &plug, R));
done:
    return st;
}

/* Take the first shape that fits and that the device can run. */
kry_status kryi_stencil_make_resident(void *self, const kry_op *M, kryi_resident_cg **R)
{
    const kryi_stencil *A = self;
    const bool gpu = A->dev->info.gpu;
    const shape *shapes = gpu ? gpu_shapes : cpu_shapes;
    size_t count = gpu ? COUNT(gpu_shapes) : COUNT(cpu_shapes);
    kry_status st = KRY_ERR_UNSUPPORTED;
    shape given;

    *R = NULL;
    if (M) return kry_fail(st, "grids are solved in one kernel without a preconditioner only");
    if (given_shape(A->dev, &given)) shapes = &given, count = 1;
    kry_fail(st, "%lld unknowns do not fit on the chip", (long long)A->n);
    for (size_t i = 0; i < count && st != KRY_OK && st != KRY_ERR_MEMORY; i++) {
        if (shapes != &given && !fits(A, shapes[i])) continue;
        shape s = shapes[i];
        /* In single, pipelined recurrences take up to a fifth more iterations, which is what a wait costs. */
        if (shapes != &given && A->type == KRY_F32) s.pipelined = 0;
        st = try_shape(A, s, R);
    }
    return st;
}
