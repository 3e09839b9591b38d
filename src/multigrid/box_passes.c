/*
 * box_passes.c - the passes of a cycle on a grid operator's level: smoothing, residual and restriction at
 * once, prolongation and smoothing at once. For CPUs, whose caches hold what is between. Kernels:
 * cl/stencil_cycle.cl.
 */
#include "multigrid/box_passes.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_STEPS = 4, RING = 4 }; /* as cl/stencil_cycle.cl */

struct kry_box_passes {
    const kry_stencil *A;      /* borrowed */
    const kry_box_transfer *P; /* borrowed */
    kry_sweep down, up;
    cl_mem scratch; /* owned: RING layers for each stage of each group */
};

/* steps: the arguments of the kernels, which have to live as long as the launch takes. */
typedef struct step_args {
    cl_int count;
    kry_scalar step[MOST_STEPS];
} step_args;

static step_args steps_of(const kry_box_passes *p, const kry_sweeps *s)
{
    step_args a = { .count = s->count };
    for (int i = 0; i < MOST_STEPS; i++)
        a.step[i] = kry_scalar_of(p->A->dev, i < s->count ? s->step[i] : 0);
    return a;
}

#define STEP_ARGS(dev, a)                                                 \
    ARG((a).count), ARG_ACC(dev, (a).step[0]), ARG_ACC(dev, (a).step[1]), \
        ARG_ACC(dev, (a).step[2]), ARG_ACC(dev, (a).step[3])

static kry_status go_down(void *self, const kry_sweeps *s, const kry_vec *b, kry_vec *x,
                          kry_vec *coarse)
{
    const kry_box_passes *p = self;
    step_args a = steps_of(p, s);
    const kry_arg rest[] = {
        STEP_ARGS(p->A->dev, a), ARG(p->P->numbers), ARG(p->scratch), ARG_VEC(b), ARG_VEC(x),
        ARG_VEC(coarse)
    };
    return kry_stencil_launch(p->A, &p->down, rest, COUNT(rest));
}

static kry_status go_up(void *self, const kry_sweeps *s, const kry_vec *b, const kry_vec *x,
                        const kry_vec *e, kry_vec *y)
{
    const kry_box_passes *p = self;
    step_args a = steps_of(p, s);
    const kry_arg rest[] = { STEP_ARGS(p->A->dev, a),
                             ARG(p->P->numbers),
                             ARG(p->scratch),
                             ARG_VEC(b),
                             ARG_VEC(x),
                             ARG_VEC(e),
                             ARG_VEC(y) };
    return kry_stencil_launch(p->A, &p->up, rest, COUNT(rest));
}

const kry_passes kry_box_passes_table = { .most = MOST_STEPS, .down = go_down, .up = go_up };

void kry_box_passes_release(kry_box_passes **address)
{
    kry_box_passes *p = *address;
    *address = NULL;
    if (!p) return;
    kry_buffer_release(p->A->dev, &p->scratch);
    free(p);
}

/* Few groups, for each does the layers at its ends twice: a few for each core, of 16 coarse layers or
 * more. */
static int64_t groups_of(const kry_device *dev, int64_t layers)
{
    enum { LAYERS = 16, PER_UNIT = 4 };
    const int64_t units = dev->info.compute_units, most = PER_UNIT * units;
    int64_t groups = layers / LAYERS;

    if (groups < units) groups = units;
    if (groups > most) groups = most;
    return groups < layers ? groups : layers;
}

kry_status kry_box_passes_create(const kry_op *A, const kry_op *P, kry_box_passes **out)
{
    kry_status st = KRY_OK;
    kry_box_passes *p = NULL;
    char defines[64];

    *out = NULL;
    if (!kry_stencil_of(A) || !A->dev->info.cpu_kernels) return KRY_OK;
    TRY(kry_alloc(1, sizeof *p, &p));
    *p = (kry_box_passes){ .A = kry_stencil_of(A), .P = kry_box_transfer_of(P) };
    const unsigned coarsened = p->P->coarsened;
    const int64_t layers = p->P->coarse.size[p->A->axes - 1];
    kry_sweep sweep = { .work = (cl_int)layers, .length = 1, .width = 1 };
    sweep.groups = groups_of(A->dev, layers);
    snprintf(defines, sizeof defines, "-DLANES=1 -DCX=%u -DCY=%u -DCZ=%u%s", coarsened & 1,
             coarsened >> 1 & 1, coarsened >> 2 & 1, kry_box_uniform(&p->P->coarse));
    p->down = p->up = sweep;
    TRY(kry_stencil_kernel(p->A, "stencil_cycle", defines, "stencil_down", &p->down.kernel));
    TRY(kry_stencil_kernel(p->A, "stencil_cycle", defines, "stencil_up", &p->up.kernel));
    const int64_t numbers = sweep.groups * (MOST_STEPS + 1) * RING * p->A->slab.layer;
    TRY(kry_buffer_create(A->dev, (size_t)numbers * kry_type_size(A->shape.type), &p->scratch));
    *out = p;
    p = NULL;
done:
    kry_box_passes_release(&p);
    return st;
}
