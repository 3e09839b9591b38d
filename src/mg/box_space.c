/*
 * box_space.c - passes between a grid operator in space and the next coarser level, by tiles of columns, for GPUs: a residual
 * and its restriction; the correction from the coarser level and a smoothing step. Kernels: cl/multigrid/descend.cl, correct.cl.
 */
#include "mg/box_space.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    GROUP = 256,
    WIDE = 32,
    LEAST = 128
}; /* work-items of a group; columns in a row of a tile; work-items on devices that take fewer than GROUP */

struct kryi_box_space {
    const kry_op *prolongation; /* borrowed, as what follows */
    const kryi_stencil *stencil;
    const kryi_box_transfer *P;
    kryi_sweep down, up; /* down.kernel NULL: there is none */
};

kry_status kryi_box_space_descend(void *self, const kry_vec *b, const kry_vec *x, kry_vec *coarse)
{
    const kryi_box_space *s = self;
    const kry_arg rest[] = { ARG(s->P->numbers), ARG_VEC(b), ARG_VEC(x), ARG_VEC(coarse) };
    return kryi_stencil_launch(s->stencil, &s->down, rest, COUNT(rest));
}

kry_status kryi_box_space_correct(void *self, double step, const kry_vec *b, const kry_vec *x,
                                  const kry_vec *e, kry_vec *y)
{
    const kryi_box_space *s = self;
    kryi_scalar by = kryi_scalar_of(s->stencil->dev, step);
    const kry_arg rest[] = { ARG_ACC(s->stencil->dev, by),
                             ARG(s->P->numbers),
                             ARG_VEC(b),
                             ARG_VEC(x),
                             ARG_VEC(e),
                             ARG_VEC(y) };
    return kryi_stencil_launch(s->stencil, &s->up, rest, COUNT(rest));
}

/* Down: b, x and the weights are read, the coarse vector is written; without a pass for it a residual is written and read
 * besides. Up: b, x, the weights and the coarse vector are read, y is written. P's bytes count one fine vector. */
double kryi_box_space_bytes(const void *self)
{
    const kryi_box_space *s = self;
    const double word = (double)s->P->fine.n * (double)kry_type_size(s->P->type);
    kry_op_info P;

    kry_op_describe(s->prolongation, &P);
    return (kryi_box_space_descends(s) ? 1 : 3) * word + 2 * word + 2 * P.bytes_per_apply;
}

bool kryi_box_space_descends(const kryi_box_space *s) { return s->down.kernel; }

const kryi_passes *kryi_box_space_passes(const kryi_box_space *s)
{
    static const kryi_passes both = { .descend = kryi_box_space_descend,
                                      .correct = kryi_box_space_correct,
                                      .bytes = kryi_box_space_bytes },
                             up = { .correct = kryi_box_space_correct,
                                    .bytes = kryi_box_space_bytes };
    return kryi_box_space_descends(s) ? &both : &up;
}

void kryi_box_space_release(kryi_box_space **s)
{
    free(*s);
    *s = NULL;
}

/* Cut the grid into tiles, of which `margin` columns at each edge are others', and these into pieces of so many of `layers`
 * that they are a multiple of `step`. */
static void cut(const kryi_box_space *s, int margin, int64_t layers, int step, kryi_sweep *to)
{
    enum { PER_UNIT = 3 }; /* with 80 of NVIDIA's registers */
    const int64_t *size = s->P->fine.size;
    const int64_t wide = WIDE - 2 * margin, tall = 2 * (to->size / WIDE) - 2 * margin;
    const int64_t at_once = kryi_groups_at_once(s->stencil->dev, PER_UNIT);
    const int64_t tiles = kryi_pieces_of(size[0], wide) * kryi_pieces_of(size[1], tall);

    kryi_cut_columns(to, layers, tiles, at_once);
    to->length = (cl_int)(kryi_pieces_of(to->length, step) * step);
    to->work = (cl_int)(tiles * kryi_pieces_of(layers, to->length));
    to->width = WIDE;
    to->groups = to->work < at_once ? to->work : at_once;
}

/* KRY_ERR_UNSUPPORTED: groups are too small. */
static kry_status get_kernel(const kryi_box_space *s, const char *stem, const char *name,
                             kryi_sweep *to)
{
    kry_status st = KRY_OK;
    const kryi_box_grid *coarse = &s->P->coarse;
    const unsigned coarsened = s->P->coarsened;
    kry_device *dev = s->stencil->dev;
    char defines[128];

    to->size = dev->info.max_group < GROUP ? LEAST : GROUP;
    snprintf(defines, sizeof defines, "-DLANES=1 -DGROUP=%d -DWIDE=%d -DCX=%u -DCY=%u -DCZ=%u%s%s",
             to->size, (int)WIDE, coarsened & 1, coarsened >> 1 & 1, coarsened >> 2 & 1,
             kryi_box_uniform(coarse), kryi_box_along(coarse));
    TRY(kryi_stencil_kernel(s->stencil, stem, defines, name, &to->kernel));
    TRY(kryi_kernel_check_size(dev, to->kernel, to->size));
done:
    return st;
}

static kry_status make(kryi_box_space *s)
{
    enum { ALL = 7 };
    kry_status st = KRY_OK;

    TRY(get_kernel(s, "correct", "correct_and_step", &s->up));
    cut(s, 1, s->P->fine.size[2], 2, &s->up);
    if (s->P->coarsened != ALL) goto done;
    st = get_kernel(s, "descend", "residual_and_restrict", &s->down);
    if (st == KRY_ERR_UNSUPPORTED) s->down.kernel = NULL, st = KRY_OK;
    if (st == KRY_OK && s->down.kernel) cut(s, 2, s->P->coarse.size[2], 1, &s->down);
done:
    return st;
}

static bool offers(const kry_op *A)
{
    const kryi_stencil *S = kryi_stencil_of(A);
    return S && S->axes == 3 && !S->variable && !kryi_stencil_is_slab(S) &&
           !A->dev->info.cpu_kernels && A->dev->info.max_group >= LEAST;
}

kry_status kryi_box_space_create(const kry_op *A, const kry_op *P, kryi_box_space **out)
{
    kry_status st = KRY_OK;
    kryi_box_space *s = NULL;

    *out = NULL;
    if (!offers(A)) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *s, &s));
    *s = (kryi_box_space){ .prolongation = P,
                           .stencil = kryi_stencil_of(A),
                           .P = kryi_box_transfer_of(P) };
    TRY(make(s));
    *out = s;
    s = NULL;
done:
    kryi_box_space_release(&s);
    return st == KRY_ERR_UNSUPPORTED ? KRY_OK : st;
}
