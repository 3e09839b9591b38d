/*
 * part_numbers.c - the numbers of stencils and weights, from one window of a grid to another, and from all parts to each.
 */
#include "mg/part_boxes.h"
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

/* to, on the shell's window, := what `from`, on another, has of each part's own points. Collective. */
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

kry_box_source kry_part_source(const kry_op *A, const kry_cut *cut)
{
    const kry_window window = kry_cut_wide(cut);
    kry_box_source s = kry_box_source_of(A);

    s.grid = kry_cut_grid(cut, &window);
    return s;
}

/* By way of the coarse points that lie in the fine window. */
kry_status kry_part_make_numbers(const kry_box_source *s, const kry_op *P, const kry_shell *shell,
                                 kry_op *A)
{
    kry_status st = KRY_OK;
    kry_op *inner = kry_transfer_of_part(P);
    kry_shell all = { 0 };
    kry_op *C = NULL;

    TRY(kry_box_create(A->dev, A->shape.type, &kry_box_transfer_of(inner)->coarse, A->shape.traits,
                       &C));
    TRY(kry_shell_create(A->dev, A->shape.type, shell->cut, &shell->window, &shell->window, &all));
    TRY(clear(kry_box_of(C)));
    TRY(kry_box_weigh(s, inner));
    TRY(kry_box_galerkin(s, inner, C));
    TRY(move_numbers(kry_box_of(C), kry_inner_window_of_part(P), kry_box_of(A), &all));
done:
    kry_shell_release(&all);
    kry_op_release(&C);
    return st;
}

/* all := one slot of the whole, of all parts' own points, in the order of rows. Collective. */
static kry_status collect_slot(const kry_op *A, const kry_shell *shell, int slot, double *mine,
                               double *all)
{
    kry_status st = KRY_OK;
    const kry_cut *cut = shell->cut;
    const kry_vec x = slot_of_box(kry_box_of(A), slot);
    double *placed = NULL;
    kry_vec *own = NULL;
    size_t count;
    int64_t place = 0;

    TRY(kry_vec_create(A->dev, A->shape.type, kry_window_points(&shell->own), 1, &own));
    TRY(kry_window_copy(1, &x, &shell->window, 0, own, &shell->own, &shell->own));
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

kry_status kry_collect_box(const kry_op *A, const kry_shell *shell, kry_op **whole)
{
    kry_status st = KRY_OK;
    const kry_box_grid *grid = &shell->cut->grid;
    double *mine = NULL, *all = NULL;

    TRY(kry_alloc((size_t)kry_window_points(&shell->own), sizeof *mine, &mine));
    TRY(kry_alloc((size_t)grid->n, sizeof *all, &all));
    if (!*whole) TRY(kry_box_create(A->dev, A->shape.type, grid, A->shape.traits, whole));
    const kry_box *B = kry_box_of(*whole);
    for (int s = 0; s < B->slots; s++) {
        kry_vec to = slot_of_box(B, s);
        TRY(collect_slot(A, shell, s, mine, all));
        TRY(kry_vec_write_doubles(&to, all));
    }
done:
    free(all);
    free(mine);
    return st;
}
