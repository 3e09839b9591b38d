/*
 * box_correct.c - the correction from the next coarser grid and a smoothing step in one pass, by tiles of columns,
 * for GPUs. Kernel: cl/multigrid/correct.cl.
 */
#include "mg/box_correct.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    GROUP = 256,
    WIDE = 32,
    LEAST = 128
}; /* work-items, and how many of them in a row of a tile */

struct kryi_box_correct {
    const kry_op *prolongation; /* borrowed, as what follows */
    const kryi_stencil *stencil;
    const kryi_box_transfer *P;
    kryi_sweep sweep;
};

static kry_status correct(void *self, double step, const kry_vec *b, const kry_vec *x,
                          const kry_vec *e, kry_vec *y)
{
    const kryi_box_correct *c = self;
    kryi_scalar by = kryi_scalar_of(c->stencil->dev, step);
    const kry_arg rest[] = { ARG_ACC(c->stencil->dev, by),
                             ARG(c->P->numbers),
                             ARG_VEC(b),
                             ARG_VEC(x),
                             ARG_VEC(e),
                             ARG_VEC(y) };
    return kryi_stencil_launch(c->stencil, &c->sweep, rest, COUNT(rest));
}

/* b, x, y, and P with what it takes. */
static double bytes_of(const void *self)
{
    const kryi_box_correct *c = self;
    const double word = (double)c->P->fine.n * (double)kry_type_size(c->P->type);
    kry_op_info P;

    kry_op_describe(c->prolongation, &P);
    return 2 * word + P.bytes_per_apply;
}

const kryi_passes kryi_box_correct_table = { .correct = correct, .bytes = bytes_of };

void kryi_box_correct_release(kryi_box_correct **c)
{
    free(*c);
    *c = NULL;
}

/* Cut the grid into tiles, of which the columns at the edges are others', and these into pieces of an even number of
 * layers. */
static void cut(const kryi_box_correct *c, kryi_sweep *s)
{
    enum { PER_UNIT = 2 }; /* 106 of NVIDIA's registers */
    const int64_t *size = c->P->fine.size, wide = WIDE - 2, tall = s->size / WIDE - 2;
    const int64_t at_once = kryi_groups_at_once(c->stencil->dev, PER_UNIT);
    const int64_t tiles = ((size[0] + wide - 1) / wide) * ((size[1] + tall - 1) / tall);

    kryi_cut_columns(s, size[2], tiles, at_once);
    s->length += s->length % 2;
    s->work = (cl_int)(tiles * ((size[2] + s->length - 1) / s->length));
    s->width = WIDE;
    s->groups = s->work < at_once ? s->work : at_once;
}

/* KRY_ERR_UNSUPPORTED: groups are too small. */
static kry_status make(kryi_box_correct *c)
{
    kry_status st = KRY_OK;
    const kryi_box_grid *coarse = &c->P->coarse;
    const unsigned coarsened = c->P->coarsened;
    kry_device *dev = c->stencil->dev;
    kryi_sweep *s = &c->sweep;
    char defines[128];

    s->size = dev->info.max_group < GROUP ? LEAST : GROUP;
    snprintf(defines, sizeof defines, "-DLANES=1 -DGROUP=%d -DWIDE=%d -DCX=%u -DCY=%u -DCZ=%u%s%s",
             s->size, (int)WIDE, coarsened & 1, coarsened >> 1 & 1, coarsened >> 2 & 1,
             kryi_box_uniform(coarse), kryi_box_along(coarse));
    TRY(kryi_stencil_kernel(c->stencil, "correct", defines, "correct_and_step", &s->kernel));
    TRY(kryi_kernel_check_size(dev, s->kernel, s->size));
    cut(c, s);
done:
    return st;
}

static bool offers(const kry_op *A)
{
    const kryi_stencil *S = kryi_stencil_of(A);
    return S && S->axes == 3 && !S->variable && !kryi_stencil_is_slab(S) &&
           !A->dev->info.cpu_kernels && A->dev->info.max_group >= LEAST;
}

kry_status kryi_box_correct_create(const kry_op *A, const kry_op *P, kryi_box_correct **out)
{
    kry_status st = KRY_OK;
    kryi_box_correct *c = NULL;

    *out = NULL;
    if (!offers(A)) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *c, &c));
    *c = (kryi_box_correct){ .prolongation = P,
                             .stencil = kryi_stencil_of(A),
                             .P = kryi_box_transfer_of(P) };
    TRY(make(c));
    *out = c;
    c = NULL;
done:
    kryi_box_correct_release(&c);
    return st == KRY_ERR_UNSUPPORTED ? KRY_OK : st;
}
