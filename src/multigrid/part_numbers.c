/*
 * part_numbers.c - the numbers of stencils and weights, from one window of a grid to another, and from all parts to each.
 */
#include "multigrid/part_boxes.h"
#include <stdlib.h>

/* The numbers of one slot: n of them. */
static kry_vec slot_of(kry_device *dev, kry_type type, cl_mem numbers, int64_t n, int slot)
{
    return (kry_vec){
        .dev = dev, .type = type, .n = n, .k = 1, .ld = n, .buffer = numbers, .first = slot * n
    };
}

static kry_vec slot_of_box(const kry_box *A, int slot)
{
    return slot_of(A->dev, A->type, A->numbers, A->grid.n, slot);
}

/* Of rows that are alike only the ends are made: what is between is copied nevertheless. */
static kry_status clear(const kry_box *A)
{
    kry_vec all = slot_of(A->dev, A->type, A->numbers, A->slots * A->grid.n, 0);
    return kry_box_has_ends(&A->grid) ? kry_vec_fill(&all, 0) : KRY_OK;
}

/* to := in its window what `from`, on a window as well, has of each part's own points. Collective. */
static kry_status move_numbers(const kry_box *from, const kry_window *window, const kry_box *to,
                               const kry_shell *shell)
{
    kry_status st = KRY_OK;
    kry_vec *mine = NULL;

    TRY(kry_vec_create(from->dev, from->type, kry_window_points(&shell->own), 1, &mine));
    for (int s = 0; s < to->slots; s++) {
        const kry_vec x = slot_of_box(from, s);
        kry_vec y = slot_of_box(to, s);
        TRY(kry_window_copy(1, &x, window, 0, mine, &shell->own, &shell->own));
        TRY(kry_shell_fill(shell, mine, &y));
    }
done:
    kry_vec_release(&mine);
    return st;
}

/* to := those of the weights that it has room for. */
static kry_status cut_weights(const kry_box_transfer *from, const kry_window *window,
                              const kry_box_transfer *to, const kry_window *near)
{
    kry_status st = KRY_OK;

    for (int w = 0; w < to->weights; w++) {
        const kry_vec x = slot_of(from->dev, from->type, from->numbers, from->coarse.n, w);
        kry_vec y = slot_of(to->dev, to->type, to->numbers, to->coarse.n, w);
        TRY(kry_window_copy(1, &x, window, 0, &y, near, near));
    }
done:
    return st;
}

/* ---- a level and what is around a part's points of it ---------------------------------------------- */

void kry_around_release(kry_around *s)
{
    kry_part_stencil_release(&s->stencil);
    kry_op_release(&s->box);
}

static kry_status take_box(const kry_op *A, const kry_cut *cut, kry_around *s)
{
    kry_status st = KRY_OK;
    const kry_box_grid grid = kry_cut_grid(cut, &s->window);
    const kry_shell *near = kry_part_box_shell(A);
    kry_shell shell = { 0 };

    TRY(kry_box_create(A->dev, A->shape.type, &grid, A->shape.traits, &s->box));
    TRY(kry_shell_create(A->dev, A->shape.type, cut, &s->window, &shell));
    TRY(move_numbers(kry_box_of(kry_box_of_part(A)), &near->window, kry_box_of(s->box), &shell));
    s->source = kry_box_source_of(s->box);
done:
    kry_shell_release(&shell);
    return st;
}

kry_status kry_look_around(const kry_op *A, const kry_cut *cut, kry_around *s)
{
    kry_status st = KRY_OK;
    const bool finest = kry_stencil_here(A) != NULL;

    *s = (kry_around){ .window = kry_cut_wide(cut) };
    if (!finest) TRY(take_box(A, cut, s));
    if (finest) TRY(kry_part_stencil_make(A, cut, &s->window, &s->stencil));
    if (finest) s->source = s->stencil.source;
done:
    return st;
}

/* By way of the numbers on the wider window. */
kry_status kry_part_make_numbers(const kry_around *s, unsigned coarsened, const kry_op *P,
                                 const kry_op *A)
{
    kry_status st = KRY_OK;
    const kry_window window = kry_window_coarser(&s->window, coarsened);
    const kry_shell *near = kry_part_box_shell(A);
    kry_op *wide = NULL, *C = NULL;

    TRY(kry_box_transfer_create(A->dev, A->shape.type, &s->source.grid, coarsened, &wide));
    const kry_box_transfer *W = kry_box_transfer_of(wide);
    TRY(kry_box_create(A->dev, A->shape.type, &W->coarse, A->shape.traits, &C));
    TRY(clear(kry_box_of(C)));
    TRY(kry_box_weigh(&s->source, wide));
    TRY(kry_box_galerkin(&s->source, wide, C));
    TRY(cut_weights(W, &window, kry_box_transfer_of(kry_transfer_of_part(P)), &near->window));
    TRY(move_numbers(kry_box_of(C), &window, kry_box_of(kry_box_of_part(A)), near));
done:
    kry_op_release(&C);
    kry_op_release(&wide);
    return st;
}

/* all := one slot of the whole, of all parts' own points, in the order of rows. Collective. */
static kry_status collect_slot(const kry_op *A, int slot, double *mine, double *all)
{
    kry_status st = KRY_OK;
    const kry_cut *cut = kry_part_box_cut(A);
    const kry_shell *near = kry_part_box_shell(A);
    const kry_vec x = slot_of_box(kry_box_of(kry_box_of_part(A)), slot);
    double *placed = NULL;
    kry_vec *own = NULL;
    size_t count;
    int64_t place = 0;

    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &own));
    TRY(kry_window_copy(1, &x, &near->window, 0, own, &near->own, &near->own));
    TRY(kry_vec_read_doubles(own, mine));
    TRY(kry_layout_collect(&A->dev->layout, mine, (size_t)own->n, sizeof *mine, &placed, &count));
    for (int r = 0; r < kry_layout_size(&A->dev->layout); r++)
        for (int64_t i = 0; i < cut->first[r + 1] - cut->first[r]; i++)
            all[kry_boxes_row(&cut->boxes, r, i)] = placed[place++];
done:
    kry_vec_release(&own);
    free(placed);
    return st;
}

/* ---- all of them, on each part ------------------------------------------------------------------------ */

kry_status kry_collect_box(const kry_op *A, kry_op **whole)
{
    kry_status st = KRY_OK;
    const kry_box_grid *grid = &kry_part_box_cut(A)->grid;
    double *mine = NULL, *all = NULL;

    TRY(kry_alloc((size_t)A->shape.rows, sizeof *mine, &mine));
    TRY(kry_alloc((size_t)grid->n, sizeof *all, &all));
    if (!*whole) TRY(kry_box_create(A->dev, A->shape.type, grid, A->shape.traits, whole));
    const kry_box *B = kry_box_of(*whole);
    for (int s = 0; s < B->slots; s++) {
        kry_vec to = slot_of_box(B, s);
        TRY(collect_slot(A, s, mine, all));
        TRY(kry_vec_write_doubles(&to, all));
    }
done:
    free(all);
    free(mine);
    return st;
}
