/*
 * part_transfer.c - between two grids of which each part of a team has a box: the interpolation, and passes of a cycle with
 * it. They are those of grids in one piece, of a part's window of the fine grid, and of the coarse points that lie in it.
 *
 * Exchanged  with each restriction what the coarse grid's window has of other parts
 * Moves      what these points have, if they do not follow each other in the coarse grid's window, once more
 */
#include "mg/box_passes.h"
#include "mg/box_space.h"
#include "mg/part_boxes.h"
#include "multigrid/smoother.h"
#include <stdlib.h>

typedef struct part_transfer {
    kry_op *P;
    kryi_window inner;        /* the coarse points that it knows */
    const kryi_shell *coarse; /* borrowed */
    kry_vec *room; /* owned: for their numbers, if they do not follow each other; else NULL */
} part_transfer;

/* Where the numbers of the inner points are written or read: in a vector of the coarse window, or in the room. */
static kry_vec place_of(const part_transfer *t, const kry_vec *all)
{
    return t->room ? kryi_vec_borrow(t->room)
                   : kryi_window_view(&t->coarse->window, &t->inner, all);
}

/* *e := the inner points' numbers of `all` */
static kry_status take(const part_transfer *t, const kry_vec *all, kry_vec *e)
{
    *e = place_of(t, all);
    if (!t->room) return KRY_OK;
    return kryi_window_copy(all, &t->coarse->window, e, &t->inner, &t->inner);
}

/* all := what inner points are given, and the other parts' numbers. Collective among neighbours. */
static kry_status complete(const part_transfer *t, const kry_vec *given, kry_vec *all)
{
    kry_status st = KRY_OK;
    const kryi_shell *c = t->coarse;

    if (t->room) TRY(kryi_window_copy(given, &t->inner, all, &c->window, &c->own));
    TRY(kryi_shell_refresh(c, all));
done:
    return st;
}

/* ---- the operator --------------------------------------------------------------------------------- */

static kry_status transfer_apply(void *self, double alpha, const kry_vec *x, double beta,
                                 kry_vec *y)
{
    kry_status st = KRY_OK;
    const part_transfer *t = self;
    kry_vec e;

    TRY(take(t, x, &e));
    TRY(t->P->table->apply(t->P->self, alpha, &e, beta, y));
done:
    return st;
}

static kry_status restrict_all(void *self, const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;
    const part_transfer *t = self;
    kry_vec inner = place_of(t, y);

    TRY(t->P->table->apply_transpose(t->P->self, 1, x, 0, &inner));
    TRY(complete(t, &inner, y));
done:
    return st;
}

static kry_status transfer_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                           kry_vec *y)
{
    return kryi_op_apply_by(restrict_all, self, alpha, x, beta, y);
}

static void transfer_describe(void *self, kry_op_info *info)
{
    const part_transfer *t = self;
    kry_op_describe(t->P, info);
}

static void transfer_destroy(void *self)
{
    part_transfer *t = self;
    if (!t) return;
    kry_vec_release(&t->room);
    kry_op_release(&t->P);
    free(t);
}

static const kry_op_table transfer_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "part-transfer",
    .apply = transfer_apply,
    .apply_transpose = transfer_apply_transpose,
    .describe = transfer_describe,
    .destroy = transfer_destroy,
};

static const part_transfer *part_transfer_of(const kry_op *P) { return P->self; }

kry_op *kryi_transfer_of_part(const kry_op *P) { return part_transfer_of(P)->P; }
const kryi_window *kryi_inner_window_of_part(const kry_op *P)
{
    return &part_transfer_of(P)->inner;
}

kry_status kryi_part_transfer_create(kry_device *dev, kry_type type, const kryi_cut *fine,
                                     unsigned coarsened, const kryi_shell *coarse, kry_op **out)
{
    kry_status st = KRY_OK;
    const kryi_window window = kryi_cut_wide(fine);
    const kryi_box_grid grid = kryi_cut_grid(fine, &window);
    const kry_op_shape shape = { grid.n, kryi_window_points(&coarse->window), type, 0 };
    part_transfer *t = NULL;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *t, &t));
    t->coarse = coarse, t->inner = kryi_window_coarser(&window, coarsened);
    if (!kryi_window_is_in_one(&coarse->window, &t->inner))
        TRY(kry_vec_create(dev, type, kryi_window_points(&t->inner), 1, &t->room));
    TRY(kryi_box_transfer_create(dev, type, &grid, coarsened, &t->P));
    TRY(kry_op_create(dev, &transfer_table, t, &shape, out));
    t = NULL;
done:
    transfer_destroy(t);
    return st;
}

/* ---- passes --------------------------------------------------------------------------------------- */

struct kryi_part_passes {
    const part_transfer *t; /* borrowed */
    kryi_box_passes *fused; /* owned; NULL: none, */
    kryi_box_space *space;  /* or one of the two is not there */
};

static kry_status go_down(void *self, const kryi_sweeps *s, const kry_vec *b, kry_vec *x,
                          kry_vec *coarse)
{
    kry_status st = KRY_OK;
    const kryi_part_passes *p = self;
    kry_vec inner = place_of(p->t, coarse);

    TRY(kryi_box_passes_table.down(p->fused, s, b, x, &inner));
    TRY(complete(p->t, &inner, coarse));
done:
    return st;
}

static kry_status go_up(void *self, const kryi_sweeps *s, const kry_vec *b, const kry_vec *x,
                        const kry_vec *e, kry_vec *y)
{
    kry_status st = KRY_OK;
    const kryi_part_passes *p = self;
    kry_vec inner;

    TRY(take(p->t, e, &inner));
    TRY(kryi_box_passes_table.up(p->fused, s, b, x, &inner, y));
done:
    return st;
}

static kry_status descend(void *self, const kry_vec *b, const kry_vec *x, kry_vec *coarse)
{
    kry_status st = KRY_OK;
    const kryi_part_passes *p = self;
    kry_vec inner = place_of(p->t, coarse);

    TRY(kryi_box_space_descend(p->space, b, x, &inner));
    TRY(complete(p->t, &inner, coarse));
done:
    return st;
}

static kry_status correct(void *self, double step, const kry_vec *b, const kry_vec *x,
                          const kry_vec *e, kry_vec *y)
{
    kry_status st = KRY_OK;
    const kryi_part_passes *p = self;
    kry_vec inner;

    TRY(take(p->t, e, &inner));
    TRY(kryi_box_space_correct(p->space, step, b, x, &inner, y));
done:
    return st;
}

static double bytes_of_both(const void *self)
{
    return kryi_box_passes_table.bytes(((const kryi_part_passes *)self)->fused);
}

static double bytes_of_space(const void *self)
{
    return kryi_box_space_bytes(((const kryi_part_passes *)self)->space);
}

void kryi_part_passes_release(kryi_part_passes **address)
{
    kryi_part_passes *p = *address;
    *address = NULL;
    if (!p) return;
    kryi_box_space_release(&p->space);
    kryi_box_passes_release(&p->fused);
    free(p);
}

kry_status kryi_part_passes_create(const kry_op *A, const kry_op *P, int steps, kryi_level *level,
                                   kryi_part_passes **out)
{
    static const kryi_passes fused = { .most = KRY_SMOOTHER_APART,
                                       .down = go_down,
                                       .up = go_up,
                                       .bytes = bytes_of_both },
                             space = { .descend = descend,
                                       .correct = correct,
                                       .bytes = bytes_of_space },
                             corrects = { .correct = correct, .bytes = bytes_of_space };
    kry_status st = KRY_OK;
    kryi_part_passes *p = NULL;

    TRY(kryi_alloc(1, sizeof *p, &p));
    p->t = part_transfer_of(P);
    TRY(kryi_box_passes_create(A, p->t->P, steps, false, &p->fused));
    if (!p->fused) TRY(kryi_box_space_create(A, p->t->P, &p->space));
    if (!p->fused && !p->space) goto done;
    level->passes = p->fused ? &fused : kryi_box_space_descends(p->space) ? &space : &corrects;
    level->self = p;
    *out = p, p = NULL;
done:
    kryi_part_passes_release(&p);
    return st;
}
