/*
 * box_pairs.c - residual and restriction in one pass, prolongation and a smoothing step in another, by tiles of
 * columns, for GPUs. Kernels: cl/pair_cycle.cl.
 */
#include "multigrid/box_pairs.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    GROUP = 256,
    WIDE = 32,
    LEAST = 128
}; /* work-items, and how many of them in a row of a tile */

struct kry_box_pairs {
    const kry_op *A, *prolongation; /* borrowed, as what follows */
    const kry_stencil *stencil;
    const kry_box_transfer *P;
    kry_sweep restrict_, correct;
};

static kry_status restrict_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *coarse)
{
    const kry_box_pairs *t = self;
    const kry_arg rest[] = { ARG(t->P->numbers), ARG_VEC(b), ARG_VEC(x), ARG_VEC(coarse) };
    return kry_stencil_launch(t->stencil, &t->restrict_, rest, COUNT(rest));
}

static kry_status correct(void *self, double step, const kry_vec *b, const kry_vec *x,
                          const kry_vec *e, kry_vec *y)
{
    const kry_box_pairs *t = self;
    kry_scalar by = kry_scalar_of(t->stencil->dev, step);
    const kry_arg rest[] = { ARG_ACC(t->stencil->dev, by),
                             ARG(t->P->numbers),
                             ARG_VEC(b),
                             ARG_VEC(x),
                             ARG_VEC(e),
                             ARG_VEC(y) };
    return kry_stencil_launch(t->stencil, &t->correct, rest, COUNT(rest));
}

/* Down: A, b, x and P with what it makes; up: A, b, x, y and P with what it takes. */
static double bytes_of_both(const void *self)
{
    const kry_box_pairs *t = self;
    const double word = (double)t->P->fine.n * (double)kry_type_size(t->P->type);
    kry_op_info P;

    kry_op_describe(t->prolongation, &P);
    return 5 * word + 2 * (P.bytes_per_apply - word);
}

const kry_passes kry_box_pairs_table = { .restrict_residual = restrict_residual,
                                         .correct = correct,
                                         .bytes = bytes_of_both };

void kry_box_pairs_release(kry_box_pairs **t)
{
    free(*t);
    *t = NULL;
}

/* How a grid is cut into tiles with so many columns of their own, into pieces of which the number of layers is a
 * multiple of `step`. per_unit: groups of NVIDIA's registers, 72 for restriction and 106 for correction. */
static void cut(const kry_box_pairs *t, const kry_box_grid *g, int64_t wide, int64_t tall,
                int per_unit, int step, kry_sweep *s)
{
    const int64_t at_once = kry_groups_at_once(t->stencil->dev, per_unit), layers = g->size[2];
    const int64_t tiles = ((g->size[0] + wide - 1) / wide) * ((g->size[1] + tall - 1) / tall);

    kry_cut_columns(s, layers, tiles, at_once);
    s->length = (s->length + step - 1) / step * step;
    s->work = (cl_int)(tiles * ((layers + s->length - 1) / s->length));
    s->width = WIDE;
    s->groups = s->work < at_once ? s->work : at_once;
}

static kry_status get_kernel(const kry_box_pairs *t, int size, const char *name, kry_sweep *s)
{
    kry_status st = KRY_OK;
    const kry_box_grid *coarse = &t->P->coarse;
    const unsigned coarsened = t->P->coarsened;
    char defines[128];

    snprintf(defines, sizeof defines, "-DLANES=1 -DGROUP=%d -DWIDE=%d -DCX=%u -DCY=%u -DCZ=%u%s%s",
             size, (int)WIDE, coarsened & 1, coarsened >> 1 & 1, coarsened >> 2 & 1,
             kry_box_uniform(coarse), kry_box_along(coarse));
    TRY(kry_stencil_kernel(t->stencil, "pair_cycle", defines, name, &s->kernel));
    TRY(kry_kernel_check_size(t->stencil->dev, s->kernel, size));
    s->size = size;
done:
    return st;
}

/* KRY_ERR_UNSUPPORTED: groups are too small. */
static kry_status make(kry_box_pairs *t)
{
    kry_status st = KRY_OK;
    const unsigned c = t->P->coarsened;
    const kry_device *dev = t->stencil->dev;
    const int size = dev->info.max_group < GROUP ? LEAST : GROUP, tall = size / WIDE;

    TRY(get_kernel(t, size, "pair_restrict", &t->restrict_));
    TRY(get_kernel(t, size, "pair_correct", &t->correct));
    cut(t, &t->P->coarse, c & 1 ? (WIDE - 1) / 2 : WIDE, c & 2 ? (tall - 1) / 2 : tall, 3, 1,
        &t->restrict_);
    cut(t, &t->P->fine, WIDE - 2, tall - 2, 2, 2, &t->correct);
done:
    return st;
}

static bool offers(const kry_op *A)
{
    const kry_stencil *S = kry_stencil_of(A);
    const kry_device *dev = A->dev;
    return S && S->axes == 3 && !S->variable && !kry_stencil_is_slab(S) && !dev->info.cpu_kernels &&
           dev->info.max_group >= LEAST;
}

kry_status kry_box_pairs_create(const kry_op *A, const kry_op *P, kry_box_pairs **out)
{
    kry_status st = KRY_OK;
    kry_box_pairs *t = NULL;

    *out = NULL;
    if (!offers(A)) return KRY_OK;
    TRY(kry_alloc(1, sizeof *t, &t));
    *t = (kry_box_pairs){
        .A = A, .prolongation = P, .stencil = kry_stencil_of(A), .P = kry_box_transfer_of(P)
    };
    st = make(t);
    if (st < 0) goto done;
    *out = t;
    t = NULL;
done:
    kry_box_pairs_release(&t);
    return st == KRY_ERR_UNSUPPORTED ? KRY_OK : st;
}
